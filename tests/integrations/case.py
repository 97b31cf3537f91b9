"""A model of the table: how it is built, the inputs that a user passes to it, and its loss."""

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from registry import Registry


@dataclasses.dataclass
class Batch:
    """The arguments of one forward. Only the loss gets `target`."""

    args: tuple = ()
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    target: Any = None


def own_loss(output, _target) -> torch.Tensor:
    """Returns the loss of a model that gets labels and returns its loss."""
    return output.loss


@dataclasses.dataclass
class Case:
    """A model with its inputs and its loss.

    `batch(step)` gives the same shapes in every step. It draws from a generator of its own, because only the
    model draws from the global one. `context` makes the context in which forward and loss run, such as
    autocast.
    """

    model: nn.Module
    batch: Callable[[int], Batch]
    loss: Callable[[Any, Any], torch.Tensor] = own_loss
    context: Callable[[], contextlib.AbstractContextManager] = contextlib.nullcontext


# Essential entries need transformers, timm and torchvision only.
ENTRIES = Registry()
entry = ENTRIES.register
