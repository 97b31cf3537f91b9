"""Segmentation networks of segmentation-models-pytorch on small encoders, with the library's own losses."""

import segmentation_models_pytorch as smp

from case import Batch, Case, entry
from inputs import classes, normal

ENCODER = dict(encoder_name="tu-mobilenetv3_small_050", encoder_weights=None, classes=1)


def masks(model) -> Case:
    loss = smp.losses.DiceLoss("binary")

    def batch(step):
        return Batch(args=(normal(step, 4, 3, 64, 64),), target=classes(step, (4, 1, 64, 64), 2).float())

    return Case(model, batch, lambda output, target: loss(output, target))


@entry("smp_unet")
def unet():
    return masks(smp.Unet(**ENCODER, decoder_channels=(32, 24, 16, 8, 8)))


@entry("smp_unet_plus_plus")
def unet_plus_plus():
    return masks(smp.UnetPlusPlus(**ENCODER, decoder_channels=(32, 24, 16, 8, 8)))


@entry("smp_fpn")
def fpn():
    return masks(smp.FPN(**ENCODER, decoder_pyramid_channels=32, decoder_segmentation_channels=32))


@entry("smp_deeplab")
def deeplab():
    """A model with dilated convolutions. Its pooled branch has BatchNorm over one pixel per image."""
    return masks(smp.DeepLabV3Plus(**ENCODER, decoder_channels=32))


@entry("smp_unet_with_class")
def unet_with_class():
    """A U-Net with a second output, the class of the whole image."""
    model = smp.Unet(**ENCODER, decoder_channels=(32, 24, 16, 8, 8), aux_params=dict(classes=4, dropout=0.2))
    mask_loss, class_loss = smp.losses.JaccardLoss("binary"), smp.losses.FocalLoss("multiclass")

    def batch(step):
        return Batch(
            args=(normal(step, 4, 3, 64, 64),),
            target=(classes(step, (4, 1, 64, 64), 2).float(), classes(step, 4, 4)),
        )

    def loss(output, target):
        return mask_loss(output[0], target[0]) + class_loss(output[1], target[1])

    return Case(model, batch, loss)
