"""What a model of the table is: how it is built, what a user passes to it, and what it is trained for."""

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from registry import Registry


@dataclasses.dataclass
class Batch:
    """The arguments of one forward; `target` goes to the loss alone."""

    args: tuple = ()
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    target: Any = None


def own_loss(output, _target) -> torch.Tensor:
    """Of models that are given labels and return their loss."""
    return output.loss


@dataclasses.dataclass
class Case:
    """`batch(step)` gives the same shapes in every step and draws from a generator of its own: the global one
    is left to the model.

    `context` makes the context in which forward and loss run, such as autocast.
    """

    model: nn.Module
    batch: Callable[[int], Batch]
    loss: Callable[[Any, Any], torch.Tensor] = own_loss
    context: Callable[[], contextlib.AbstractContextManager] = contextlib.nullcontext


# Essential entries need transformers, timm and torchvision only.
ENTRIES = Registry()
entry = ENTRIES.register
