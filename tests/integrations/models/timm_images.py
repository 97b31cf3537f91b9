"""Image classifiers of timm, made by `create_model`: full architectures with fewer layers and channels."""

import timm
from torch.nn.functional import cross_entropy

from case import Batch, Case, entry
from inputs import classes, normal


def image_case(model, size: int = 32, batch: int = 8) -> Case:
    def images(step):
        return Batch(args=(normal(step, batch, 3, size, size),), target=classes(step, batch))

    return Case(model, images, cross_entropy)


@entry("timm_convnext", essential=True)
def convnext():
    """ConvNeXt, with layer scale and drop path."""
    return image_case(
        timm.create_model(
            "convnext_atto", num_classes=10, depths=(1, 1, 2, 1), dims=(16, 24, 32, 48), drop_path_rate=0.2
        ),
        size=64,
    )


@entry("timm_resnet", expected="either", reason="its weights leave little to save")
def resnet():
    """ResNet, with BatchNorm and drop path."""
    model = timm.create_model(
        "resnet18", num_classes=10, layers=(2, 1, 1, 1), channels=(16, 24, 32, 48), drop_path_rate=0.2
    )
    return image_case(model, size=64)


@entry("timm_efficientnet")
def efficientnet():
    """EfficientNet, with squeeze-and-excitation and depthwise convolutions."""
    return image_case(
        timm.create_model("test_efficientnet", num_classes=10, drop_rate=0.2, drop_path_rate=0.2), size=64
    )


@entry("timm_mobilenet")
def mobilenet():
    return image_case(timm.create_model("mobilenetv3_small_050", num_classes=10), size=64, batch=16)


@entry("timm_densenet")
def densenet():
    return image_case(
        timm.create_model("densenet121", num_classes=10, growth_rate=8, block_config=(2, 2, 2, 2)), size=64
    )


@entry("timm_densenet_checkpointed", expected="either", reason="a BatchNorm within its checkpoints")
def densenet_checkpointed():
    """A DenseNet that recomputes its layers itself."""
    model = timm.create_model(
        "densenet121", num_classes=10, growth_rate=8, block_config=(2, 2, 2), memory_efficient=True
    )
    return image_case(model, size=64)


@entry("timm_nfnet")
def nfnet():
    """NFNet, which standardizes its weights in every forward."""
    return image_case(timm.create_model("test_nfnet", num_classes=10, drop_path_rate=0.1), size=64)


@entry("timm_swin")
def swin():
    model = timm.create_model(
        "swin_tiny_patch4_window7_224",
        num_classes=10,
        img_size=32,
        patch_size=2,
        window_size=4,
        embed_dim=24,
        depths=(2, 2),
        num_heads=(2, 4),
        drop_path_rate=0.2,
    )
    return image_case(model)


SMALL_VIT = dict(num_classes=10, img_size=32, patch_size=4, embed_dim=64, depth=2, num_heads=4, mlp_ratio=2.0)


@entry("timm_vit")
def vit():
    return image_case(
        timm.create_model("vit_tiny_patch16_224", **SMALL_VIT, drop_rate=0.1, drop_path_rate=0.1)
    )


@entry("timm_vit_patch_dropout")
def vit_patch_dropout():
    """A ViT that keeps a random half of the patches."""
    return image_case(timm.create_model("vit_tiny_patch16_224", **SMALL_VIT, patch_drop_rate=0.5))


@entry("timm_vit_checkpointed")
def vit_checkpointed():
    model = timm.create_model("vit_tiny_patch16_224", **SMALL_VIT, drop_path_rate=0.1)
    model.set_grad_checkpointing(True)
    return image_case(model)


@entry("timm_mixer")
def mixer():
    return image_case(
        timm.models.MlpMixer(
            num_classes=10, img_size=32, patch_size=4, num_blocks=2, embed_dim=64, drop_path_rate=0.1
        )
    )


@entry("timm_mambaout")
def mambaout():
    return image_case(timm.create_model("test_mambaout", num_classes=10), size=64)
