"""Generators and discriminators, each with its own optimizer."""

import random

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, softplus
from torch.nn.utils.parametrizations import spectral_norm

from inputs import normal
from situation import Situation, situation


def convolved(channels: int) -> list[nn.Module]:
    return [nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(True)]


def generator(noise: int = 16, channels: int = 16) -> nn.Sequential:
    """Returns the generator of DCGAN, for images of 16 by 16."""
    return nn.Sequential(
        nn.ConvTranspose2d(noise, 2 * channels, 4, bias=False),
        nn.BatchNorm2d(2 * channels),
        nn.ReLU(True),
        nn.ConvTranspose2d(2 * channels, channels, 4, 2, 1, bias=False),
        nn.BatchNorm2d(channels),
        nn.ReLU(True),
        nn.ConvTranspose2d(channels, channels, 4, 2, 1, bias=False),
        *(layer for _ in range(2) for layer in convolved(channels)),
        nn.Conv2d(channels, 3, 3, padding=1),
        nn.Tanh(),
    )


def discriminator(channels: int = 16, wrapped=lambda layer: layer, normed: bool = True) -> nn.Sequential:
    norm = nn.BatchNorm2d(2 * channels) if normed else nn.Identity()
    return nn.Sequential(
        wrapped(nn.Conv2d(3, channels, 3, 1, 1)),
        nn.LeakyReLU(0.2, inplace=True),
        wrapped(nn.Conv2d(channels, channels, 3, 1, 1)),
        nn.LeakyReLU(0.2, inplace=True),
        wrapped(nn.Conv2d(channels, channels, 4, 2, 1)),
        nn.LeakyReLU(0.2, inplace=True),
        wrapped(nn.Conv2d(channels, 2 * channels, 4, 2, 1)),
        norm,
        nn.LeakyReLU(0.2, inplace=True),
        wrapped(nn.Conv2d(2 * channels, 1, 4)),
        nn.Flatten(0),
    )


def adam(module: nn.Module) -> torch.optim.Adam:
    return torch.optim.Adam(module.parameters(), lr=2e-4, betas=(0.5, 0.999))


def says(found: torch.Tensor, real: bool) -> torch.Tensor:
    return binary_cross_entropy_with_logits(found, torch.full_like(found, float(real)))


def both(g: nn.Module, d: nn.Module, step_of, **options) -> Situation:
    """Returns a situation that trains both networks. `step_of(g, d, optimizers, real, noise)` runs a step."""
    optimizers = [adam(g), adam(d)]

    def step(number):
        real, noise = normal(number, 32, 3, 16, 16).tanh(), normal(number + 50, 32, 16, 1, 1)
        return step_of(g, d, optimizers, real, noise)

    model = nn.ModuleDict({"g": g, "d": d})
    return Situation(model, step, optimizers, **{"planned": [g, d]} | options)


def dcgan_step(g, d, optimizers, real, noise):
    """Runs the step of PyTorch's tutorial: two backwards for the discriminator, then one through the
    discriminator for the generator."""
    d.zero_grad()
    on_real = says(d(real), True)
    on_real.backward()
    fake = g(noise)
    on_fake = says(d(fake.detach()), False)
    on_fake.backward()
    optimizers[1].step()
    g.zero_grad()
    loss = says(d(fake), True)
    loss.backward()
    optimizers[0].step()
    return on_real, on_fake, loss


@situation("dcgan")
def dcgan():
    """The loop of PyTorch's DCGAN tutorial, with a plan for each of the two networks."""
    return both(generator(), discriminator(), dcgan_step, steps=14, in_bytes=0.98)


@situation("dcgan_of_one_loss")
def dcgan_of_one_loss():
    """Both losses of the discriminator are added, so two of its forwards are open at the same time."""

    def step(g, d, optimizers, real, noise):
        fake = g(noise)
        optimizers[1].zero_grad()
        loss_d = says(d(real), True) + says(d(fake.detach()), False)
        loss_d.backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        loss_g = says(d(fake), True)
        loss_g.backward()
        optimizers[0].step()
        return loss_d, loss_g

    return both(generator(), discriminator(), step, steps=14)


@situation("wasserstein_clipped")
def wasserstein_clipped():
    """The critic's weights are clipped after each of its steps. The generator takes a step after every
    third step of the critic."""
    count = iter(range(10**6))

    def step(g, d, optimizers, real, noise):
        optimizers[1].zero_grad()
        loss = d(g(noise).detach()).mean() - d(real).mean()
        loss.backward()
        optimizers[1].step()
        for parameter in d.parameters():
            parameter.data.clamp_(-0.05, 0.05)
        if next(count) % 3 == 2:
            optimizers[0].zero_grad()
            (-d(g(noise)).mean()).backward()
            optimizers[0].step()
        return loss

    return both(generator(), discriminator(normed=False), step, steps=30)


@situation("wasserstein_with_penalty")
def wasserstein_with_penalty():
    """WGAN-GP. The critic's loss has a penalty: the critic runs on mixtures of real and fake images, where
    the norm of its gradient should be 1. On the mixtures the original runs the critic, not the plan."""

    def step(g, d, optimizers, real, noise):
        fake = g(noise).detach()
        share = torch.rand(len(real), 1, 1, 1)
        between = (share * real + (1 - share) * fake).requires_grad_(True)
        (gradient,) = torch.autograd.grad(d(between).sum(), between, create_graph=True)
        penalty = (gradient.flatten(1).norm(dim=1) - 1).square().mean()
        optimizers[1].zero_grad()
        loss = d(fake).mean() - d(real).mean() + 10 * penalty
        loss.backward()
        optimizers[1].step()
        return loss

    g, d = generator(), discriminator(normed=False)
    return both(g, d, step, planned=[d])


@situation("spectral_hinge")
def spectral_hinge():
    """The discriminator has spectral norms as parametrizations. Its hinge loss takes real and fake images in
    one batch."""

    def step(g, d, optimizers, real, noise):
        optimizers[1].zero_grad()
        on_real, on_fake = d(torch.cat([real, g(noise).detach()])).chunk(2)
        loss = (1 - on_real).relu().mean() + (1 + on_fake).relu().mean()
        loss.backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        (-d(g(noise)).mean()).backward()
        optimizers[0].step()
        return loss

    return both(
        generator(),
        discriminator(wrapped=spectral_norm, normed=False),
        step,
        steps=14,
        budget="97% of activations",
    )


@situation("images_translated")
def images_translated():
    """pix2pix. The discriminator sees source and target, and the generator also has an L1 loss. While the
    generator trains, the discriminator does not accumulate gradients."""

    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.InstanceNorm2d(16), nn.LeakyReLU(0.2))
            self.middle = nn.Sequential(nn.Conv2d(16, 16, 3, 1, 1), nn.ReLU(), nn.Dropout(0.5))
            self.up = nn.Sequential(nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())

        def forward(self, x):
            down = self.down(x)
            return self.up(torch.cat([down, self.middle(down)], 1))

    g, d = Translator(), nn.Sequential(nn.Conv2d(6, 16, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(16, 1, 4))
    optimizers = [adam(g), adam(d)]

    def step(number):
        source, target = normal(number, 16, 3, 16, 16), normal(number + 50, 16, 3, 16, 16).tanh()
        fake = g(source)
        d.requires_grad_(True)
        optimizers[1].zero_grad()
        pairs = torch.cat([source, target], 1), torch.cat([source, fake], 1)
        loss_d = (says(d(pairs[0]), True) + says(d(pairs[1].detach()), False)) / 2
        loss_d.backward()
        optimizers[1].step()
        d.requires_grad_(False)
        optimizers[0].zero_grad()
        loss_g = says(d(pairs[1]), True) + 100 * (fake - target).abs().mean()
        loss_g.backward()
        optimizers[0].step()
        return loss_d, loss_g

    return Situation(nn.ModuleDict({"g": g, "d": d}), step, optimizers, planned=[g], steps=14, in_bytes=0.9)


@situation("pool_of_fakes")
def pool_of_fakes():
    """When the pool is full, about half of the fake images that the discriminator sees come from the pool,
    which keeps images of earlier steps. Python's random generator chooses them."""
    pool = []

    def pooled(fakes):
        chosen = []
        for fake in fakes:
            if len(pool) < 40:
                pool.append(fake)
                chosen.append(fake)
            elif random.random() > 0.5:
                place = random.randrange(len(pool))
                chosen.append(pool[place])
                pool[place] = fake
            else:
                chosen.append(fake)
        return torch.stack(chosen)

    def step(g, d, optimizers, real, noise):
        fake = g(noise)
        optimizers[0].zero_grad()
        loss_g = softplus(-d(fake)).mean()
        loss_g.backward()
        optimizers[0].step()
        optimizers[1].zero_grad()
        loss_d = softplus(-d(real)).mean()
        loss_d.backward()
        softplus(d(pooled(fake.detach()))).mean().backward()
        optimizers[1].step()
        return loss_g, loss_d

    return both(generator(), discriminator(), step, steps=14, in_bytes=1.0)
