"""Trains a denoising U-Net of diffusers with Lightning, with validation after each epoch.

Run it with `python lightning_trainer.py`, and once more with `--plain` to train without rematlas: both print
the same digest.
"""

import lightning
import torch
from diffusers import DDPMScheduler, UNet2DModel
from torch.utils.data import DataLoader

import common


class Denoiser(lightning.LightningModule):
    def __init__(self, unet, options):
        super().__init__()
        self.unet, self.options, self.losses = unet, options, []
        self.noising = DDPMScheduler(num_train_timesteps=100)

    def loss(self, images):
        noise, times = torch.randn_like(images), torch.randint(100, (len(images),))
        noisy = self.noising.add_noise(images, noise, times)
        return torch.nn.functional.mse_loss(self.unet(noisy, times).sample, noise)

    def training_step(self, images, index):
        loss = self.loss(images)
        self.losses.append(loss.item())
        return loss

    def on_train_batch_end(self, *_):
        if self.global_step == 5:
            common.wait_for_plan(self.options, self.unet)

    def validation_step(self, images, index):
        self.log("validation", self.loss(images), batch_size=len(images))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def main():
    options = common.options(__doc__)
    sizes = {
        "sample_size": 16,
        "in_channels": 1,
        "out_channels": 1,
        "block_out_channels": (16, 32),
        "layers_per_block": 1,
    }
    blocks = {
        "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
        "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
    }
    unet = UNet2DModel(**sizes, **blocks, norm_num_groups=8, attention_head_dim=8, dropout=0.1)
    if not options.plain:
        import rematlas

        # Plan the inner network: Lightning trains through training_step, not through forward
        rematlas.apply(unet, options.budget)
    model = Denoiser(unet, options)
    stripes = torch.randn(72, 1, 16, 1).expand(-1, -1, -1, 16).contiguous()
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        gradient_clip_val=1.0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(
        model, DataLoader(stripes[:64], batch_size=8, shuffle=True), DataLoader(stripes[64:], batch_size=8)
    )
    common.report(options, model, model.losses, unet)


if __name__ == "__main__":
    main()
