"""Models of diffusers, trained as in its examples: the loop draws noise, which the model predicts."""

import diffusers
import torch
from torch.nn.functional import mse_loss

from case import Batch, Case, entry
from inputs import classes, generator, normal


def times(step: int, batch: int) -> torch.Tensor:
    return torch.randint(1000, (batch,), generator=generator(step + 400))


def denoise(output, target) -> torch.Tensor:
    return mse_loss(output.sample, target)


SMALL_UNET = dict(sample_size=16, block_out_channels=(16, 32), layers_per_block=1, norm_num_groups=8)


def unet() -> torch.nn.Module:
    return diffusers.UNet2DModel(
        **SMALL_UNET,
        in_channels=3,
        out_channels=3,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=8,
    )


def noisy_images(step: int) -> Batch:
    return Batch(args=(normal(step, 8, 3, 16, 16), times(step, 8)), target=normal(step + 50, 8, 3, 16, 16))


@entry("unet")
def plain_unet():
    return Case(unet(), noisy_images, denoise)


@entry("unet_checkpointed")
def unet_checkpointed():
    model = unet()
    model.enable_gradient_checkpointing()
    return Case(model, noisy_images, denoise)


def condition_unet() -> torch.nn.Module:
    return diffusers.UNet2DConditionModel(
        **SMALL_UNET,
        in_channels=4,
        out_channels=4,
        cross_attention_dim=32,
        attention_head_dim=4,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )


def noisy_latents(step: int) -> Batch:
    kwargs = {"encoder_hidden_states": normal(step + 70, 4, 12, 32)}
    return Batch(
        args=(normal(step, 4, 4, 16, 16), times(step, 4)),
        kwargs=kwargs,
        target=normal(step + 50, 4, 4, 16, 16),
    )


@entry("unet_condition")
def unet_condition():
    """The U-Net of Stable Diffusion. The text's embeddings are passed by keyword."""
    return Case(condition_unet(), noisy_latents, denoise)


@entry("unet_condition_tuple")
def unet_condition_tuple():
    """The U-Net in bfloat16 by autocast. It returns a tuple, as in the training scripts of diffusers."""

    def batch(step):
        made = noisy_latents(step)
        return Batch(
            args=(*made.args, made.kwargs["encoder_hidden_states"]),
            kwargs={"return_dict": False},
            target=made.target,
        )

    def loss(output, target):
        return mse_loss(output[0].float(), target)

    return Case(condition_unet(), batch, loss, context=lambda: torch.autocast("cpu", dtype=torch.bfloat16))


@entry("autoencoder")
def autoencoder():
    """An autoencoder that samples its latents from torch's generator."""
    model = diffusers.AutoencoderKL(
        block_out_channels=(8, 16),
        layers_per_block=1,
        norm_num_groups=4,
        latent_channels=4,
        sample_size=32,
        down_block_types=("DownEncoderBlock2D", "DownEncoderBlock2D"),
        up_block_types=("UpDecoderBlock2D", "UpDecoderBlock2D"),
    )

    def images(step):
        image = normal(step, 4, 3, 32, 32)
        return Batch(args=(image,), kwargs={"sample_posterior": True}, target=image)

    return Case(model, images, denoise)


@entry("vector_quantizer")
def vector_quantizer():
    """An autoencoder that replaces its latents by the nearest vectors of a table."""
    model = diffusers.VQModel(
        block_out_channels=(8, 16),
        layers_per_block=1,
        norm_num_groups=4,
        latent_channels=4,
        num_vq_embeddings=32,
        sample_size=32,
        down_block_types=("DownEncoderBlock2D", "DownEncoderBlock2D"),
        up_block_types=("UpDecoderBlock2D", "UpDecoderBlock2D"),
    )

    def images(step):
        image = normal(step, 4, 3, 32, 32)
        return Batch(args=(image,), target=image)

    return Case(
        model, images, lambda output, target: mse_loss(output.sample, target) + output.commit_loss.mean()
    )


@entry("dit")
def dit():
    """A diffusion transformer conditioned on a class, which is dropped at random."""
    model = diffusers.DiTTransformer2DModel(
        num_attention_heads=4,
        attention_head_dim=16,
        in_channels=4,
        out_channels=4,
        num_layers=2,
        sample_size=16,
        patch_size=2,
        num_embeds_ada_norm=1000,
        norm_num_groups=8,
        dropout=0.1,
    )

    def latents(step):
        kwargs = {"timestep": times(step, 8), "class_labels": classes(step, 8)}
        return Batch(
            args=(normal(step, 8, 4, 16, 16),), kwargs=kwargs, target=normal(step + 50, 8, 4, 16, 16)
        )

    return Case(model, latents, denoise)


@entry("stable_diffusion_3")
def stable_diffusion_3():
    """The transformer of Stable Diffusion 3, in which images and texts attend to each other."""
    model = diffusers.SD3Transformer2DModel(
        sample_size=16,
        patch_size=2,
        in_channels=4,
        out_channels=4,
        num_layers=2,
        attention_head_dim=8,
        num_attention_heads=4,
        joint_attention_dim=32,
        caption_projection_dim=32,
        pooled_projection_dim=32,
        pos_embed_max_size=16,
    )

    def latents(step):
        kwargs = {
            "hidden_states": normal(step, 4, 4, 16, 16),
            "encoder_hidden_states": normal(step + 70, 4, 12, 32),
            "pooled_projections": normal(step + 80, 4, 32),
            "timestep": times(step, 4),
        }
        return Batch(kwargs=kwargs, target=normal(step + 50, 4, 4, 16, 16))

    return Case(model, latents, denoise)
