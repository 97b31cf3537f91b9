"""Models of torchvision: full architectures, with fewer layers and channels if their classes allow it."""

import functools

import torch
import torchvision
from torch import nn
from torch.nn.functional import cross_entropy
from torchvision.models.mobilenetv3 import InvertedResidualConfig
from torchvision.models.video.mvit import MSBlockConfig

from case import Batch, Case, entry
from inputs import classes, normal


def image_case(model, size: int = 64, batch: int = 8, loss=cross_entropy) -> Case:
    def images(step):
        return Batch(args=(normal(step, batch, 3, size, size),), target=classes(step, batch))

    return Case(model, images, loss)


class NarrowBottleneck(torchvision.models.resnet.Bottleneck):
    """A bottleneck block whose output is as wide as its inner layers, not four times as wide."""

    expansion = 1


@entry("torchvision_resnet", essential=True)
def resnet():
    return image_case(
        torchvision.models.ResNet(NarrowBottleneck, [1, 1, 1, 1], num_classes=10, width_per_group=32)
    )


@entry("torchvision_mobilenet_v2")
def mobilenet_v2():
    """MobileNetV2, with in-place ReLU6, BatchNorm, and dropout before the classifier."""
    settings = [[1, 8, 1, 1], [6, 16, 2, 2], [6, 24, 2, 2], [6, 32, 2, 2]]
    return image_case(
        torchvision.models.MobileNetV2(num_classes=10, width_mult=0.5, inverted_residual_setting=settings)
    )


@entry("torchvision_mobilenet_v3")
def mobilenet_v3():
    layer = functools.partial(InvertedResidualConfig, width_mult=1.0)
    settings = [
        layer(16, 3, 16, 16, True, "RE", 2, 1),
        layer(16, 3, 48, 24, False, "RE", 2, 1),
        layer(24, 5, 72, 32, True, "HS", 2, 1),
    ]
    return image_case(torchvision.models.MobileNetV3(settings, last_channel=128, num_classes=10))


@entry("torchvision_densenet")
def densenet():
    return image_case(
        torchvision.models.DenseNet(
            growth_rate=8, block_config=(2, 2, 2, 2), num_init_features=16, drop_rate=0.1, num_classes=10
        )
    )


@entry("torchvision_efficientnet")
def efficientnet():
    """EfficientNet, with stochastic depth."""
    layer = functools.partial(torchvision.models.efficientnet.MBConvConfig, width_mult=0.5, depth_mult=0.5)
    settings = [
        layer(1, 3, 1, 32, 16, 1),
        layer(6, 3, 2, 16, 24, 4),
        layer(6, 5, 2, 24, 40, 2),
        layer(6, 3, 2, 40, 80, 2),
    ]
    return image_case(
        torchvision.models.EfficientNet(settings, dropout=0.2, stochastic_depth_prob=0.2, num_classes=10)
    )


@entry("torchvision_swin")
def swin():
    """Swin, with shifted windows and masks that are made in the forward."""
    model = torchvision.models.SwinTransformer(
        patch_size=[2, 2],
        embed_dim=24,
        depths=[2, 2],
        num_heads=[2, 4],
        window_size=[4, 4],
        stochastic_depth_prob=0.2,
        num_classes=10,
    )
    return image_case(model, size=32)


@entry("torchvision_vit")
def vit():
    """A ViT, which uses `nn.MultiheadAttention` with dropout."""
    model = torchvision.models.VisionTransformer(
        image_size=32,
        patch_size=4,
        num_layers=2,
        num_heads=4,
        hidden_dim=64,
        mlp_dim=128,
        dropout=0.1,
        attention_dropout=0.1,
        num_classes=10,
    )
    return image_case(model, size=32)


@entry("torchvision_googlenet")
def googlenet():
    """GoogLeNet. In training it returns a named tuple: the logits, and those of two auxiliary heads."""

    def loss(output, target):
        return cross_entropy(output.logits, target) + 0.3 * (
            cross_entropy(output.aux_logits1, target) + cross_entropy(output.aux_logits2, target)
        )

    model = torchvision.models.GoogLeNet(num_classes=10, aux_logits=True, init_weights=False)
    return image_case(model, size=96, batch=8, loss=loss)


@entry("torchvision_segmentation")
def segmentation():
    """A segmentation network that returns a dictionary."""
    model = torchvision.models.segmentation.lraspp_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=5
    )

    def images(step):
        return Batch(args=(normal(step, 4, 3, 96, 96),), target=classes(step, (4, 96, 96), 5))

    return Case(model, images, lambda output, target: cross_entropy(output["out"], target))


@entry("torchvision_video")
def video():
    """A video network with attention over space and time, pooled by three-dimensional convolutions."""

    def layer(heads, before, after, stride):
        return MSBlockConfig(
            heads,
            before,
            after,
            kernel_q=[3, 3, 3],
            kernel_kv=[3, 3, 3],
            stride_q=[1, stride, stride],
            stride_kv=[1, 2, 2],
        )

    model = torchvision.models.video.MViT(
        spatial_size=(32, 32),
        temporal_size=4,
        block_setting=[layer(1, 16, 32, 1), layer(2, 32, 32, 2)],
        residual_pool=True,
        residual_with_cls_embed=False,
        rel_pos_embed=True,
        proj_after_attn=True,
        stochastic_depth_prob=0.1,
        num_classes=10,
    )

    def clips(step):
        return Batch(args=(normal(step, 8, 3, 4, 32, 32),), target=classes(step))

    return Case(model, clips, cross_entropy)


@entry(
    "torchvision_fcos",
    expected="either",
    reason="the loss indexes with booleans those predicted boxes that overlap their targets",
)
def fcos():
    """A detector. It takes lists of images and of dictionaries, and returns a dictionary of losses.

    The boxes stay the same, so that the same anchors match them. The model scales an image to a size that it
    draws at random from a list, but the list has one size here.
    """
    backbone = nn.Sequential(
        *(
            nn.Sequential(nn.Conv2d(a, b, 3, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True))
            for a, b in [(3, 16), (16, 32), (32, 64)]
        )
    )
    backbone.out_channels = 64
    anchors = torchvision.models.detection.anchor_utils.AnchorGenerator(
        sizes=((8,),), aspect_ratios=((1.0,),)
    )
    model = torchvision.models.detection.FCOS(
        backbone, num_classes=4, anchor_generator=anchors, min_size=128, max_size=128
    )

    def scenes(step):
        boxes = torch.tensor([[8.0, 8.0, 80.0, 80.0], [40.0, 24.0, 120.0, 100.0]])
        targets = [{"boxes": boxes + image, "labels": classes(step + image, 2, 4)} for image in range(4)]
        return Batch(args=(list(normal(step, 4, 3, 128, 128)), targets))

    return Case(model, scenes, lambda output, _: sum(output.values()))
