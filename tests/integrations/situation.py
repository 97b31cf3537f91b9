"""What a situation is: a program that trains, as people describe them in tutorials, threads and issues."""

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from registry import Registry

AfterStep = Callable[[Any], None]


@dataclasses.dataclass
class Situation:
    """`step(number)` is one step of the training, the first is 0; it returns what is to be compared beside
    the state, such as the loss. A program that has a loop of its own gives `loop` instead: it is called with
    the number of steps and with what it is to call after each of them, with the same.

    `planned`: the modules that `rematlas.apply` is given, with `options`; the model where none are named.
    `in_bytes`: the budget is one in bytes, and so large that this share of what steps take beside what they
    leave behind fits; None: it is `budget`, a share of each step.
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
    observed: Callable[[], Any] = tuple  # what else must be the same after each step

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
