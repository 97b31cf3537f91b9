"""A model of the table (table.py): its construction, the inputs that a user passes to it, and its loss."""

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from registry import Registry


@dataclasses.dataclass
class Batch:
    """The arguments of one forward. `target` is passed only to the loss."""

    args: tuple = ()
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    target: Any = None


def own_loss(output, _target) -> torch.Tensor:
    """Returns the loss that the model itself has computed from its labels."""
    return output.loss


@dataclasses.dataclass
class Case:
    """A model with its inputs and its loss.

    `batch(step)` returns the same shapes in every step. It draws from its own generator, so only the model
    uses the global generator. `context` makes the context manager in which forward and loss run, such as
    autocast.
    """

    model: nn.Module
    batch: Callable[[int], Batch]
    loss: Callable[[Any, Any], torch.Tensor] = own_loss
    context: Callable[[], contextlib.AbstractContextManager] = contextlib.nullcontext


# Essential entries need no libraries except transformers, timm and torchvision.
ENTRIES = Registry()
entry = ENTRIES.register
