"""Autoencoders and diffusion."""

import torch
from diffusers import DDPMScheduler, UNet2DModel
from diffusers.training_utils import EMAModel
from torch import nn
from torch.nn.functional import mse_loss, one_hot

from inputs import normal
from situation import Situation, situation
from situations.networks import adamw, minimize, perceptron


@situation("variational_autoencoder")
def variational_autoencoder():
    """PyTorch's example: the loss is reconstruction and divergence, and the forward draws noise."""

    class Autoencoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.decode = perceptron(196, 128, 64, 32), perceptron(16, 64, 128, 196)

        def forward(self, x):
            mean, spread = self.encode(x).chunk(2, 1)
            z = mean + torch.randn_like(spread) * (0.5 * spread).exp()
            return self.decode(z).sigmoid(), mean, spread

    model = Autoencoder()
    optimizer = adamw(model)

    def step(number):
        x = normal(number, 512, 196).sigmoid()

        def loss():
            found, mean, spread = model(x)
            likely = nn.functional.binary_cross_entropy(found, x, reduction="sum")
            return likely - 0.5 * (1 + spread - mean.square() - spread.exp()).sum()

        return minimize(optimizer, loss)

    return Situation(model, step, [optimizer])


@situation("codebook_by_averages")
def codebook_by_averages():
    """VQ-VAE. The forward updates the codebook by averages of the encodings. The averages are kept in
    buffers."""

    class Codebook(nn.Module):
        def __init__(self, count=32, width=16):
            super().__init__()
            self.register_buffer("codes", normal(0, count, width))
            self.register_buffer("counts", torch.ones(count))
            self.register_buffer("sums", self.codes.clone())

        def forward(self, z):
            flat = z.permute(0, 2, 3, 1).reshape(-1, z.shape[1])
            chosen = torch.cdist(flat, self.codes).argmin(1)
            if self.training:
                with torch.no_grad():
                    places = one_hot(chosen, len(self.codes)).to(z.dtype)
                    self.counts.mul_(0.95).add_(places.sum(0), alpha=0.05)
                    self.sums.mul_(0.95).add_(places.T @ flat, alpha=0.05)
                    self.codes.copy_(self.sums / self.counts.clamp(min=1e-3).unsqueeze(1))
            found = self.codes[chosen].view(len(z), *z.shape[2:], -1).permute(0, 3, 1, 2)
            return z + (found - z).detach(), mse_loss(z, found.detach())

    class Autoencoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Sequential(
                nn.Conv2d(3, 16, 4, 2, 1),
                nn.ReLU(),
                nn.Conv2d(16, 16, 3, 1, 1),
                nn.ReLU(),
                nn.Conv2d(16, 16, 1),
            )
            self.codebook = Codebook()
            self.decoder = nn.Sequential(
                nn.Conv2d(16, 16, 3, 1, 1), nn.ReLU(), nn.ConvTranspose2d(16, 3, 4, 2, 1)
            )

        def forward(self, x):
            found, commitment = self.codebook(self.encoder(x))
            return self.decoder(found), commitment

    model = Autoencoder()
    optimizer = adamw(model)

    def step(number):
        x = normal(number, 16, 3, 32, 32)

        def loss():
            found, commitment = model(x)
            return mse_loss(found, x) + 0.25 * commitment

        return minimize(optimizer, loss)

    return Situation(model, step, [optimizer], in_bytes=0.85)


@situation("denoising_diffusion")
def denoising_diffusion():
    """The training example of diffusers: the loop draws noise and times, and keeps an average of the
    weights."""
    model = UNet2DModel(
        sample_size=16,
        in_channels=3,
        out_channels=3,
        layers_per_block=1,
        block_out_channels=(16, 32),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        norm_num_groups=8,
        attention_head_dim=8,
    )
    optimizer = adamw(model)
    noising = DDPMScheduler(num_train_timesteps=100)
    average = EMAModel(model.parameters(), decay=0.99, use_ema_warmup=True)

    def step(number):
        clean = normal(number, 8, 3, 16, 16)
        noise, times = torch.randn_like(clean), torch.randint(0, 100, (8,))
        noisy = noising.add_noise(clean, noise, times)
        optimizer.zero_grad()
        loss = mse_loss(model(noisy, times, return_dict=False)[0], noise)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        average.step(model.parameters())
        return loss

    return Situation(model, step, [optimizer], in_bytes=0.8, observed=lambda: average.shadow_params)
