"""Small trainings, called courses, for tests. They run with and without online eviction, and the results are
compared bit by bit."""

import contextlib
import dataclasses
import gc
import re
from collections.abc import Callable

import torch
from torch import nn

import models  # noqa: F401, which chooses the device
import rematlas
from rematlas.library import ops
from traps import digest

THRASHES = re.compile(r"rematlas: eviction thrashes at \S")
MESSAGE = re.compile(
    r"rematlas: (\S.*) needs (\d+) bytes more within a budget of (\d+): (\d+) bytes are missing"
)
# Costs are computed from bytes, so each run of a test evicts the same tensors.
SAME = dict(costs_from_bytes=True)


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9)


def train_one(course: "Course", number: int) -> torch.Tensor:
    loss = course.loss(course.module, number)
    loss.backward()
    return loss


@dataclasses.dataclass
class Course:
    """A training: a module, the loss of each step, and the optimizer that updates the module."""

    module: nn.Module
    loss: Callable[[nn.Module, int], torch.Tensor]
    optimizer: Callable = sgd
    step: Callable[["Course", int], torch.Tensor] = train_one  # runs forward and backward; returns the loss
    update: Callable[[torch.optim.Optimizer, nn.Module], None] = lambda optimizer, module: optimizer.step()
    keeps_gradients: bool = False  # gradients are zeroed, not set to None

    def __post_init__(self):
        self.module.train()
        self.trained = self.optimizer([p for p in self.module.parameters() if p.requires_grad])

    def run(self, number: int) -> dict:
        """Runs a step. Returns digests of all tensors that exist after the step."""
        self.trained.zero_grad(set_to_none=not self.keeps_gradients)
        loss = self.step(self, number)
        found = {"loss": digest(loss)}
        found |= {
            f"gradient of {name}": None if p.grad is None else digest(p.grad)
            for name, p in self.module.named_parameters()
        }
        self.update(self.trained, self.module)
        found |= {name: digest(value) for name, value in self.module.state_dict().items()}
        for position, state in enumerate(self.trained.state.values()):
            found |= {
                f"{position}.{name}": digest(value)
                for name, value in state.items()
                if isinstance(value, torch.Tensor)
            }
        return found | {"generator": digest(torch.get_rng_state())}

    def snapshot(self) -> tuple:
        """Returns a copy of all state that a step may change. The copy is in numpy arrays, whose memory is
        not counted."""
        kept = [(value, value.detach().numpy().copy()) for value in self.lasting()]
        return kept, {p: dict(state) for p, state in self.trained.state.items()}, torch.get_rng_state()

    def lasting(self) -> list[torch.Tensor]:
        of_optimizer = [
            value
            for state in self.trained.state.values()
            for value in state.values()
            if isinstance(value, torch.Tensor)
        ]
        return [*self.module.state_dict().values(), *of_optimizer]

    def restore(self, snapshot: tuple) -> None:
        kept, states, generator = snapshot
        for value, was in kept:
            value.detach().numpy()[...] = was
        self.trained.state.clear()
        self.trained.state.update(states)
        torch.set_rng_state(generator)


@dataclasses.dataclass
class Eager:
    records: list[dict]
    lasting: int  # bytes that exist between steps, minus the bytes that existed before the course
    peak: int


def first_difference(one: list[dict], other: list[dict]) -> str | None:
    for number, (a, b) in enumerate(zip(one, other, strict=True)):
        for name in a | b:
            if a.get(name) != b.get(name):
                return f"step {number}: {name}"
    return None


def eagerly(build: Callable[[], Course], steps: int) -> Eager:
    gc.collect()
    before = ops.counted_bytes()
    torch.manual_seed(1)
    course = build()
    torch.manual_seed(2)
    ops.reset_counted_peak()
    records = [course.run(number) for number in range(steps)]
    peak = ops.counted_peak_bytes() - before
    course.trained.zero_grad()
    return Eager(records, ops.counted_bytes() - before, peak)


@dataclasses.dataclass
class Evicted:
    records: list[dict]
    budget: int
    peak: int
    # The error message of a step that did not fit in the budget. That step was then run again without
    # eviction.
    failed: str | None = None
    evictions: int = 0
    reruns: int = 0


def evicting(build: Callable[[], Course], eager: Eager, share: float, **options) -> Evicted:
    """Runs the same steps as `eager`, within `share` of the evictable bytes. The first step that does not
    fit, and all later steps, run without eviction."""
    gc.collect()
    before = ops.counted_bytes()
    torch.manual_seed(1)
    course = build()
    torch.manual_seed(2)
    budget = before + eager.lasting + int(share * (eager.peak - eager.lasting))
    found = Evicted([], budget, 0)
    ops.reset_counted_peak()
    saved = course.snapshot()
    # When the context ends, all evicted tensors are recomputed, even beyond the budget. So the peak is read
    # before that.
    context = rematlas.evict(course.module, budget, **(SAME | options))
    with context:
        try:
            while len(found.records) < len(eager.records):
                found.records.append(course.run(len(found.records)))
                saved = course.snapshot()
        except RuntimeError as error:
            found.failed = str(error).splitlines()[0]
            if not isinstance(error, torch.OutOfMemoryError) and not THRASHES.match(found.failed):
                raise
        found.peak = ops.counted_peak_bytes()
        status = context.status()
    found.evictions, found.reruns = status.evictions, status.rematerializations
    if found.failed:
        course.restore(saved)
        while len(found.records) < len(eager.records):
            found.records.append(course.run(len(found.records)))
    return found


@contextlib.contextmanager
def unlimited(model=None, **options):
    """A context of eviction whose budget is so large that nothing is evicted."""
    with rematlas.evict(model, 1 << 40, **options) as context:
        yield context


def expect_as_eager(
    test,
    build: Callable[[], Course],
    shares,
    fits: float,
    steps: int = 3,
    eager: Eager | None = None,
    **options,
):
    """Trains the course once for each share of the evictable bytes, and checks that the results are those of
    eager training. With the share `fits` or a larger one, all steps must fit in the budget."""
    eager = eager or eagerly(build, steps)
    found = []
    for share in shares:
        with test.subTest(share=share, **options):
            ours = evicting(build, eager, share, **options)
            found.append(ours)
            test.assertIsNone(first_difference(eager.records, ours.records), ours.failed)
            test.assertLessEqual(ours.peak, ours.budget)
            if ours.failed:
                test.assertLess(share, fits, ours.failed)
                if THRASHES.match(ours.failed):
                    continue
                told = MESSAGE.match(ours.failed)
                test.assertTrue(told, ours.failed)
                test.assertEqual(int(told[3]), ours.budget)
                test.assertGreater(int(told[2]), 0)
    return found
