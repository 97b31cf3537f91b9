"""Image models of the papers' tables as functions. The models are on the meta device, so they hold no data.

    rematlas capture image_models:resnet101 --device meta --device-profile v100 --set batch=32 -o x.graph.json

Each function returns (model, args, kwargs) for one training step; the model computes its loss. If a paper and
its code do not say a size, the function's docstring says which size is used.
"""

import timm
import torch
import torchvision
from torch import Tensor, nn
from torch.nn import functional


class SumOf(nn.Module):
    """A model whose loss is the sum of its outputs, as in the experiments of Rockmate and HiRemate."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, *inputs: Tensor) -> Tensor:
        made = self.model(*inputs)
        return getattr(made, "logits", made).sum()


class WithLoss(nn.Module):
    """An image model with its loss, for example the cross entropy of classes of images or of pixels."""

    def __init__(self, model: nn.Module, loss=functional.cross_entropy):
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, image: Tensor, target: Tensor) -> Tensor:
        return self.loss(self.model(image).float(), target)


def images(model: nn.Module, batch: int, height: int, width: int | None = None, pixels: bool = False):
    """Returns the step of a classifier. With `pixels`, each pixel has a class."""
    width = width or height
    target = (batch, height, width) if pixels else (batch,)
    with torch.device("meta"):
        args = torch.zeros(batch, 3, height, width), torch.zeros(target, dtype=torch.int64)
    return WithLoss(model).to("meta"), args, {}


def of_timm(name: str, batch: int, size: int = 224):
    """Returns the step of a timm model. Its attention is computed by separate ops, as in timm before fused
    kernels."""
    timm.layers.set_fused_attn(False)
    with torch.device("meta"):
        return images(timm.create_model(name), batch, size)


def of_torchvision(name: str, batch: int, size: int = 224, **options):
    with torch.device("meta"):
        return images(getattr(torchvision.models, name)(**options), batch, size)


def resnet50(batch: int = 1):
    return of_torchvision("resnet50", batch)


def vgg16(batch: int = 1):
    return of_torchvision("vgg16", batch)


def vgg19(batch: int = 1):
    return of_torchvision("vgg19", batch)


def densenet121(batch: int = 84):
    return of_torchvision("densenet121", batch)


def summed(model: nn.Module, batch: int, size: int):
    with torch.device("meta"):
        return SumOf(model).to("meta"), (torch.zeros(batch, 3, size, size),), {}


def resnet101(batch: int = 64):
    """ResNet-101 as in HiRemate's experiments: 256 by 256."""
    with torch.device("meta"):
        return summed(torchvision.models.resnet101(), batch, 256)


def regnet_x_32(batch: int = 23):
    """RegNetX-32GF as in HiRemate's experiments: 256 by 256. It is built on the CPU, because torchvision
    computes its widths with tensors that need values."""
    return summed(torchvision.models.regnet_x_32gf(), batch, 256)


def regnet_y_32(batch: int = 16):
    """RegNetY-32GF with images of 224 by 224. It is built on the CPU, as RegNetX is."""
    return images(torchvision.models.regnet_y_32gf(), batch, 224)


def mixer_b16(batch: int = 32):
    return of_timm("mixer_b16_224", batch)


def mixer_512(batch: int = 100):
    """The MLP-Mixer of HiRemate's experiments: width 512, 12 blocks, 256 by 256."""
    with torch.device("meta"):
        mixer = timm.models.mlp_mixer.MlpMixer(
            img_size=256, patch_size=16, num_blocks=12, embed_dim=512, mlp_ratio=(2.0, 0.5)
        )
        return summed(mixer, batch, 256)


def inception_v4(batch: int = 64):
    return of_timm("inception_v4", batch, 299)


class MobileNet(nn.Sequential):
    """MobileNet of width 1 (Howard et al., 2017, table 1): a convolution, 13 depthwise separable
    convolutions, and a classifier."""

    def __init__(self):
        def unit(into, out, kernel, stride=1, groups=1):
            convolution = nn.Conv2d(into, out, kernel, stride, kernel // 2, groups=groups, bias=False)
            return [convolution, nn.BatchNorm2d(out), nn.ReLU6(inplace=True)]

        layers = unit(3, 32, 3, 2)
        width = 32
        wide = [
            (64, 1),
            (128, 2),
            (128, 1),
            (256, 2),
            (256, 1),
            (512, 2),
            *[(512, 1)] * 5,
            (1024, 2),
            (1024, 1),
        ]
        for out, stride in wide:
            layers += unit(width, width, 3, stride, width) + unit(width, out, 1)
            width = out
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 1000))


def mobilenet(batch: int = 1):
    with torch.device("meta"):
        return images(MobileNet(), batch, 224)


def relu_of_2020(x: Tensor) -> Tensor:
    """The ReLU of PyTorch in 2020. Its backward reads its input, so the input is kept besides the output."""
    return functional.threshold(x, 0, 0)


class CifarBlock(nn.Module):
    """Two convolutions with a shortcut without parameters (He et al., 2016, option A)."""

    def __init__(self, into: int, out: int, stride: int, relu):
        super().__init__()
        self.relu = relu
        self.stride, self.more = stride, out - into
        self.conv1 = nn.Conv2d(into, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        if self.more:
            x = functional.pad(
                x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.more // 2, self.more // 2)
            )
        return self.relu(y + x)


def resnet1202(batch: int = 64, relu=relu_of_2020):
    """ResNet-1202 for images of 32 by 32 (He et al., 2016, section 4.2): three stages of 200 blocks."""
    with torch.device("meta"):
        blocks, into = [], 16
        for out in (16, 32, 64):
            blocks += [CifarBlock(into, out, 2 if out > into else 1, relu)]
            blocks += [CifarBlock(out, out, 1, relu) for _ in range(199)]
            into = out
        first = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
        last = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)]
        return images(nn.Sequential(*first, *blocks, *last), batch, 32)


def convolutions(into: int, out: int, number: int = 2, norm: bool = True) -> nn.Sequential:
    layers = []
    for _ in range(number):
        layers += [nn.Conv2d(into, out, 3, padding=1)]
        layers += [nn.BatchNorm2d(out)] if norm else []
        layers += [nn.ReLU(inplace=True)]
        into = out
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """U-Net (Ronneberger et al., 2015, figure 1) with padded convolutions and batch norms. With `bilinear`,
    images are upsampled by interpolation instead of convolutions, and the bottom has half as many
    channels."""

    def __init__(self, classes: int, bilinear: bool = False, first: int = 64):
        super().__init__()
        widths = (first, 2 * first, 4 * first, 8 * first, 8 * first if bilinear else 16 * first)
        self.down = nn.ModuleList(convolutions(i, o) for i, o in zip((3, *widths), widths))
        self.pool = nn.MaxPool2d(2)
        if bilinear:
            grow = [nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True) for _ in range(4)]
            up = [convolutions(i, o) for i, o in zip((1024, 512, 256, 128), (256, 128, 64, 64))]
        else:
            grow = [nn.ConvTranspose2d(w, w // 2, 2, stride=2) for w in widths[:0:-1]]
            up = [convolutions(w, w // 2) for w in widths[:0:-1]]
        self.grow, self.up = nn.ModuleList(grow), nn.ModuleList(up)
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for i, block in enumerate(self.down):
            x = block(x if i == 0 else self.pool(x))
            kept.append(x)
        kept.pop()
        for grow, block in zip(self.grow, self.up):
            x = block(torch.cat([kept.pop(), grow(x)], dim=1))
        return self.head(x)


def unet_512(batch: int = 4):
    """U-Net with images of 512 by 512 and two classes."""
    with torch.device("meta"):
        return images(UNet(2), batch, 512, pixels=True)


def unet_original(batch: int = 1):
    """U-Net with images of 416 by 608 and two classes."""
    with torch.device("meta"):
        return images(UNet(2), batch, 416, 608, pixels=True)


def unet_32(batch: int = 50):
    """The U-Net of HiRemate's experiments: 32 channels at its top, 256 by 256."""
    with torch.device("meta"):
        return summed(nn.Sequential(UNet(1, first=32), nn.Sigmoid()), batch, 256)


def unet_bilinear(batch: int = 6):
    """U-Net as in DTR's experiments: 416 by 608, one class."""
    with torch.device("meta"):
        model, (image, _), _ = images(UNet(1, bilinear=True), batch, 416, 608, pixels=True)
        target = torch.zeros(batch, 1, 416, 608)
    return WithLoss(model.model, functional.binary_cross_entropy_with_logits), (image, target), {}


VGG16 = (64, 128, 256, 512, 512), (2, 2, 3, 3, 3)  # widths and numbers of convolutions


class VggUNet(nn.Module):
    """The U-Net of Checkmate's experiments. Its encoder is the first four blocks of VGG16. Its decoder has
    one convolution at each size, also reads the outputs of the encoder's pools, and ends at half the size of
    the image."""

    def __init__(self, classes: int):
        super().__init__()
        widths, numbers = (part[:4] for part in VGG16)
        self.down = nn.ModuleList(
            nn.Sequential(convolutions(i, o, n, norm=False), nn.MaxPool2d(2))
            for i, o, n in zip((3, *widths), widths, numbers)
        )
        self.grow = nn.Upsample(scale_factor=2)
        self.up = nn.ModuleList(
            nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o))
            for i, o in ((512, 512), (512 + 256, 256), (256 + 128, 128), (128 + 64, 64))
        )
        self.head = nn.Conv2d(64, classes, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for block in self.down:
            x = block(x)
            kept.append(x)
        x = self.up[0](kept.pop())
        for block in self.up[1:]:
            x = block(torch.cat([self.grow(x), kept.pop()], dim=1))
        return self.head(x)


def unet(batch: int = 1):
    """The U-Net of Checkmate with images of 416 by 608 and 12 classes."""
    with torch.device("meta"):
        model, (image, _), _ = images(VggUNet(12), batch, 416, 608)
        target = torch.zeros(batch, 208, 304, dtype=torch.int64)
    return model, (image, target), {}


class SegNet(nn.Module):
    """SegNet (Badrinarayanan et al., 2017, figure 2): the convolutions of VGG16, and a decoder that unpools
    at the places of the maxima."""

    def __init__(self, classes: int):
        super().__init__()
        widths, numbers = VGG16
        self.down = nn.ModuleList(convolutions(i, o, n) for i, o, n in zip((3, *widths), widths, numbers))
        self.pool = nn.MaxPool2d(2, return_indices=True)
        self.unpool = nn.MaxUnpool2d(2)
        outs = (512, 256, 128, 64, 64)
        self.up = nn.ModuleList(
            nn.Sequential(convolutions(w, w, n - 1), convolutions(w, o, 1))
            for w, o, n in zip(widths[::-1], outs, numbers[::-1])
        )
        self.head = nn.Conv2d(64, classes, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        places = []
        for block in self.down:
            x, place = self.pool(block(x))
            places.append(place)
        for block in self.up:
            x = block(self.unpool(x, places.pop()))
        return self.head(x)


def segnet(batch: int = 1):
    """SegNet with images of 416 by 608 and 12 classes."""
    with torch.device("meta"):
        return images(SegNet(12), batch, 416, 608, pixels=True)


class Fcn8(nn.Module):
    """FCN-8s on VGG16 (Long et al., 2015, section 4.2)."""

    def __init__(self, classes: int):
        super().__init__()
        widths, numbers = VGG16
        self.down = nn.ModuleList(
            nn.Sequential(convolutions(i, o, n, norm=False), nn.MaxPool2d(2))
            for i, o, n in zip((3, *widths), widths, numbers)
        )
        full = [nn.Conv2d(512, 4096, 7, padding=3), nn.ReLU(inplace=True), nn.Dropout()]
        full += [nn.Conv2d(4096, 4096, 1), nn.ReLU(inplace=True), nn.Dropout(), nn.Conv2d(4096, classes, 1)]
        self.full = nn.Sequential(*full)
        self.scores = nn.ModuleList(nn.Conv2d(w, classes, 1) for w in (512, 256))
        self.grow = nn.ModuleList(
            nn.ConvTranspose2d(classes, classes, 2 * s, s, s // 2, bias=False) for s in (2, 2, 8)
        )

    def forward(self, x: Tensor) -> Tensor:
        pooled = []
        for block in self.down:
            x = block(x)
            pooled.append(x)
        x = self.grow[0](self.full(x)) + self.scores[0](pooled[3])
        x = self.grow[1](x) + self.scores[1](pooled[2])
        return self.grow[2](x)


def fcn8(batch: int = 1):
    """FCN-8s with images of 416 by 608 and 21 classes."""
    with torch.device("meta"):
        return images(Fcn8(21), batch, 416, 608, pixels=True)
