"""A situation of the table: a program that trains, like those in tutorials, discussions and issues."""

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from registry import Registry

AfterStep = Callable[[Any], None]


@dataclasses.dataclass
class Situation:
    """A program that trains.

    `step(number)` runs one step of the training; the first number is 0. It returns a value that is compared
    in addition to the state, for example the loss. A program with its own loop sets `loop` instead. `loop`
    gets the number of steps and a function. After each step it must call this function with a value to
    compare.

    `planned`: the modules that are passed to `rematlas.apply`, each with `options` as keyword arguments. None
    means the model alone.

    `in_bytes`: None, or a number from 0 to 1, for a budget in bytes. Let `left` be the most bytes that plain
    training holds after a step, and `peak` its peak. The budget is then left + in_bytes * (peak - left). If
    `in_bytes` is None, the budget is the string `budget`, a share of each step's own peak.
    """

    model: nn.Module
    step: Callable[[int], Any] | None = None
    optimizers: list[torch.optim.Optimizer] = dataclasses.field(default_factory=list)
    loop: Callable[[int, AfterStep], None] | None = None
    planned: list[nn.Module] | None = None
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    budget: str = "85% of activations"
    in_bytes: float | None = None
    steps: int = 10
    observed: Callable[[], Any] = tuple  # returns further state to compare after each step

    def modules(self) -> list[nn.Module]:
        return [self.model] if self.planned is None else self.planned

    def run(self, after_step: AfterStep) -> None:
        if self.loop is not None:
            self.loop(self.steps, after_step)
            return
        for number in range(self.steps):
            after_step(self.step(number))


SITUATIONS = Registry()
situation = SITUATIONS.register
