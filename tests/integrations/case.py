"""What a model of the table is: how it is built, what a user passes to it, and what it is trained for."""

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import nn


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


@dataclasses.dataclass
class Entry:
    name: str
    builder: Callable[[], Case]
    expected: str
    reason: str
    essential: bool

    def build(self) -> Case:
        """The same weights every time."""
        torch.manual_seed(0)
        return self.builder()


ENTRIES: dict[str, Entry] = {}


def entry(name: str, expected: str = "planned", reason: str = "", essential: bool = False):
    """Registers a function that builds a case.

    `expected` is "planned", "refused", or "either" where both would be right; `reason` says why it need not
    be planned. Essential entries need transformers, timm and torchvision only, and are quick.
    """
    if expected not in ("planned", "refused", "either") or (expected == "planned") == bool(reason):
        raise ValueError(f"{name}: expected is planned, or else it has a reason")

    def register(builder: Callable[[], Case]) -> Callable[[], Case]:
        if name in ENTRIES:
            raise ValueError(f"two entries are called {name}")
        ENTRIES[name] = Entry(name, builder, expected, reason, essential)
        return builder

    return register
