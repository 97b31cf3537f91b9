"""Functions that make models for the command line. The module imports only torch, so a process that imports
it starts fast."""

import torch
from torch import nn


def wide(batch=256, width=256):
    """A chain whose memory is mostly activations."""
    with torch.device("meta"):
        model = nn.Sequential(*(nn.Sequential(nn.Linear(width, width), nn.GELU()) for _ in range(12)))
        return model, (torch.zeros(batch, width),)


def limited(batch=16):
    """A model that fails for batches over 100."""
    if batch > 100:
        raise IndexError(f"{batch} is too many")
    return wide(batch)
