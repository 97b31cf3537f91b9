#!/usr/bin/env python3
"""Trains in everyday situations without rematlas, once more without it, and under `rematlas.apply`, and
compares every bit.

    situations_table.py [--only NAME...] [--csv FILE]

A situation is a whole training program: its loop, its optimizers, and what it does between steps. Each runs
in its own process. About half of the situations have a budget in bytes. The column `kept` says whether this
budget was kept in every step; it is "told" if the budget was not kept and a warning said so. The exit
status is 1 in each of these cases: a bit differs; a situation that is expected to be planned is not planned;
a situation is not planned, or a budget not kept, without a warning; all situations ran, but fewer than 60 are
planned.
"""

import argparse
import contextlib
import dataclasses
import gc
import logging
import random
import sys
import time
import warnings

import numpy
import torch

import situations
from registry import Entry
from rows import rows_of, write_csv
from situation import SITUATIONS, Situation
from training import Step, digest, first_difference, generators, tensors_in

LEAST_PLANNED = 60
COLUMNS = [
    "name",
    "state",
    "replayed",
    "original",
    "identical",
    "budget",
    "measured",
    "kept",
    "seconds",
    "reason",
]
# The search ends after this many moves, so plans are the same on every machine.
SEARCH = {"format": "rematlas.config", "version": 1, "type": "atlas", "options": {"max_moves": 1000}}


class Told(logging.Handler):
    """Collects the messages to the user: warnings, and the log."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())

    @contextlib.contextmanager
    def listening(self):
        log = logging.getLogger("rematlas")
        log.addHandler(self)
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = lambda message, *_: self.lines.append(str(message))
            yield self
        log.removeHandler(self)

    def of_budget(self) -> bool:
        """Says whether a message warns that a step exceeds the budget, or perhaps exceeds it."""
        return any("beyond" in line for line in self.of_rematlas())

    def of_rematlas(self) -> list[str]:
        return [line for line in self.lines if line.startswith("rematlas: ")]


@dataclasses.dataclass
class Training:
    """The record of a training. `peak`: the most bytes of all tensors during any step. `left`: the most bytes
    after any step."""

    steps: list[Step] = dataclasses.field(default_factory=list)
    peak: int = 0
    left: int = 0
    broken: bool = False  # whether the last step broke a budget in bytes
    broke_silently: bool = False

    def note_peak(self, peak: int, budget: int | None, told: Told) -> None:
        self.note_broken(told)
        self.broken = budget is not None and peak > budget

    def note_broken(self, told: Told) -> None:
        self.broke_silently = self.broke_silently or (self.broken and not told.of_budget())


def state_of(situation: Situation):
    """Yields the tensors that a step leaves behind, with their names."""
    for name, parameter in situation.model.named_parameters():
        yield f"parameter {name}", parameter
        if parameter.grad is not None:
            yield f"gradient of {name}", parameter.grad
    for name, buffer in situation.model.named_buffers():
        yield f"buffer {name}", buffer
    for number, optimizer in enumerate(situation.optimizers):
        yield from tensors_in(optimizer.state_dict()["state"], f"state of optimizer {number}")
    yield from tensors_in(situation.observed(), "observed")


def train(situation: Situation, budget: int | None = None, told: Told | None = None) -> Training:
    """Trains for the situation's steps. If `told` is given, waits for planning after each step. If a step
    breaks a budget in bytes, a message must report this by the end of the next step."""
    from rematlas import status
    from rematlas.library import ops

    training = Training()

    def after_step(result) -> None:
        peak, left = ops.counted_peak_bytes(), ops.counted_bytes()
        training.peak, training.left = max(training.peak, peak), max(training.left, left)
        record = {name: digest(tensor) for name, tensor in tensors_in(result, "result")}
        record |= {name: digest(tensor) for name, tensor in state_of(situation)}
        training.steps.append(Step(0.0, record | generators()))
        if told is not None:
            for module in situation.modules():
                status(module).wait()
            training.note_peak(peak, budget, told)
        ops.reset_counted_peak()

    torch.manual_seed(7), numpy.random.seed(7), random.seed(7)
    ops.reset_counted_peak()
    situation.run(after_step)
    if told is not None:
        for module in situation.modules():
            str(status(module))  # computing the status also measures the last step
        training.note_broken(told)
    return training


def train_planned(entry: Entry, plain: Training, before: int) -> dict:
    """Returns the row of a run under `rematlas.apply`, compared with the plain run. `before`: the bytes of
    all tensors when the plain run began."""
    import rematlas
    from rematlas.library import ops

    gc.collect()
    others = ops.counted_bytes() - before
    situation, told = entry.build(), Told()
    budget = None
    if situation.in_bytes is not None:
        budget = others + plain.left + int(situation.in_bytes * (plain.peak - plain.left))
    started = time.monotonic()
    with told.listening():
        for module in situation.modules():
            rematlas.apply(
                module.train(), budget or situation.budget, **{"config": SEARCH} | situation.options
            )
        ours = train(situation, budget, told)
    statuses = [rematlas.status(module) for module in situation.modules()]
    furthest = next((status for status in statuses if status.state != "planned"), statuses[0])
    difference = first_difference(plain.steps, ours.steps)
    lines = told.of_rematlas()
    why = [f"differs at {difference}"] if difference else []
    if furthest.state != "planned" and not lines:
        why.append("no warning says that it is not planned")
    if ours.broke_silently:
        why.append("the budget was not kept, and no warning says so")
    return {
        "state": furthest.state,
        "replayed": sum(status.replayed for status in statuses),
        "original": sum(status.original for status in statuses),
        "identical": "no" if difference else "yes",
        "budget": budget or "",
        "measured": ours.peak if budget else "",
        "kept": "" if budget is None else kept(ours, budget),
        "seconds": f"{time.monotonic() - started:.2f}",
        "reason": "; ".join(why) or furthest.reason or (lines[-1] if lines and furthest.original else ""),
        "failed": bool(why),
    }


def kept(training: Training, budget: int) -> str:
    if training.broke_silently:
        return "no"
    return "yes" if training.peak <= budget else "told"


def row_of(entry: Entry) -> dict:
    from rematlas.library import ops

    first = train(entry.build())
    gc.collect()
    before = ops.counted_bytes()
    plain = train(entry.build())
    difference = first_difference(first.steps, plain.steps)
    if difference:
        return {"identical": "no", "reason": f"two plain runs differ at {difference}"}
    return train_planned(entry, plain, before)


def failure_of(entry: Entry, row: dict) -> bool:
    if row["identical"] != "yes" or row["failed"]:
        return True
    return entry.expected == "planned" and (row["state"] != "planned" or not row["replayed"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--time-limit", type=float, default=120, help="seconds for one situation")
    parser.add_argument("--csv", metavar="FILE")
    options = parser.parse_args()

    for line in situations.load():
        print(line, file=sys.stderr)
    rows, failed = [], []
    for entry, row in rows_of(SITUATIONS.chosen(options, parser), row_of, COLUMNS, options.time_limit):
        rows.append(row)
        if failure_of(entry, row):
            failed.append(entry.name)
        elif entry.expected == "refused" and row["state"] == "planned":
            print(f"    was expected to be refused: {entry.reason}")
    if options.csv:
        write_csv(options.csv, rows, COLUMNS)
    planned = sum(row.get("state") == "planned" for row in rows)
    told = [f"{len(rows)} situations", f"{planned} planned"]
    told.append(f"{sum(bool(row.get('budget')) for row in rows)} with a budget in bytes")
    told.append(f"{len(failed)} failed" + (f": {', '.join(failed)}" if failed else ""))
    if not options.only and planned < LEAST_PLANNED:
        told.append(f"at least {LEAST_PLANNED} should be planned")
        failed.append("")
    print("; ".join(told))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
