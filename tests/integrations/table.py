#!/usr/bin/env python3
"""Trains models of other libraries without and with `rematlas.apply`, and compares every bit.

    table.py [--only NAME...] [--essential] [--budget 80%] [--steps 7] [--csv FILE]
    table.py --plain        # only whether plain training is the same twice; needs no rematlas

The libraries are in requirements.txt; those that are not installed are skipped. `rematlas` is imported from
PYTHONPATH. Each model is built and trained in its own process: plainly, plainly again, and under a plan.
The column `from_shapes` says whether the first step, recorded from shapes before it runs, has the same ops
on the same tensors. The exit status is 1 in each of these cases: a bit differs; a model that is expected to
be planned is not planned; all models ran, but fewer than 45 are planned, or fewer than 70 are the same from
shapes.
"""

import argparse
import math
import sys
import time

import models
from case import ENTRIES
from registry import Entry
from rows import rows_of, write_csv
from training import first_difference, train

LEAST_PLANNED = 45
LEAST_FROM_SHAPES = 70  # least number of models whose two recordings must be equal
COLUMNS = [
    "name",
    "ops",
    "state",
    "replayed",
    "original",
    "predicted",
    "measured",
    "identical",
    "from_shapes",
    "seconds",
    "reason",
]
PLAIN_COLUMNS = ["name", "parameters", "identical", "seconds", "reason"]


def mebibytes(count: int | None) -> str:
    return "" if count is None else f"{count / 2**20:.2f}"


def train_plainly(entry: Entry, options) -> tuple[list, dict]:
    """Trains twice without rematlas. If the two runs differ, the model has failed, and no planned run
    follows."""
    started = time.monotonic()
    case = entry.build()
    steps = train(case, options.steps)
    seconds = time.monotonic() - started
    difference = first_difference(steps, train(entry.build(), options.steps))
    row = {
        "parameters": mebibytes(sum(p.nbytes for p in case.model.parameters())),
        "seconds": f"{seconds:.2f}",
        "identical": "yes",
    }
    if difference:
        row |= {"identical": "no", "reason": f"two plain runs differ at {difference}"}
    if not all(math.isfinite(step.loss) for step in steps):
        row |= {"identical": "no", "reason": "the loss is not finite"}
    return steps, row


def train_planned(entry: Entry, options, plain: list) -> dict:
    """Returns the row of a run under `rematlas.apply`, compared with the plain run."""
    import rematlas
    from first_step import FirstStep

    case, comparison = entry.build(), FirstStep()

    def apply(model):
        rematlas.apply(model, options.budget, time_limit=options.planning_time, on_refuse="warn")
        return rematlas.status(model)

    started = time.monotonic()
    steps = train(case, options.steps, apply)
    seconds = time.monotonic() - started
    status = rematlas.status(case.model)
    plan = status.plans[-1] if status.plans else None
    difference = first_difference(plain, steps)
    return {
        "ops": getattr(plan, "ops", getattr(status, "ops", "")),
        "state": status.state,
        "replayed": status.replayed,
        "original": status.original,
        "predicted": mebibytes(getattr(plan, "peak_bytes", None)),
        "measured": mebibytes(
            getattr(plan, "measured_peak_bytes", getattr(status, "measured_peak_bytes", None))
        ),
        "identical": "no" if difference else "yes",
        "from_shapes": comparison.verdict,
        "seconds": f"{seconds:.2f}",
        "reason": f"differs at {difference}"
        if difference
        else status.reason or (comparison.why and f"from shapes: {comparison.why}"),
    }


def row_of(entry: Entry, options) -> dict:
    plain, row = train_plainly(entry, options)
    if row["identical"] == "yes" and not options.plain:
        row = train_planned(entry, options, plain)
    return row


def failure_of(entry: Entry, row: dict, options) -> bool:
    if row["identical"] != "yes":
        return True
    return not options.plain and entry.expected == "planned" and row["state"] != "planned"


def chosen_entries(options, parser) -> list[Entry]:
    for line in models.load(options.essential):
        print(line, file=sys.stderr)
    chosen = [entry for entry in ENTRIES.chosen(options, parser) if entry.essential or not options.essential]
    return chosen or parser.error("no model is left to train")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--essential", action="store_true", help="only those of the quick tests")
    parser.add_argument("--plain", action="store_true", help="train plainly only, twice")
    parser.add_argument("--budget", default="80%", help="as of rematlas.apply")
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--planning-time", type=float, default=10, help="seconds that a solver may take")
    parser.add_argument("--time-limit", type=float, default=300, help="seconds for one model")
    parser.add_argument("--csv", metavar="FILE")
    options = parser.parse_args()

    entries = chosen_entries(options, parser)
    columns = PLAIN_COLUMNS if options.plain else COLUMNS
    rows, failed = [], []
    for entry, row in rows_of(entries, lambda entry: row_of(entry, options), columns, options.time_limit):
        rows.append(row)
        if failure_of(entry, row, options):
            failed.append(entry.name)
        elif entry.expected == "refused" and row.get("state") == "planned":
            print(f"    was expected to be refused: {entry.reason}")
    if options.csv:
        write_csv(options.csv, rows, columns)

    planned = sum(row.get("state") == "planned" for row in rows)
    told = [f"{len(rows)} models", f"{len(failed)} failed" + (f": {', '.join(failed)}" if failed else "")]
    if not options.plain:
        told.insert(1, f"{planned} planned")
        if not options.only and not options.essential and planned < LEAST_PLANNED:
            told.append(f"at least {LEAST_PLANNED} should be planned")
            failed.append("")
        same = sum(row.get("from_shapes") == "same" for row in rows)
        told.insert(2, f"{same} the same from shapes")
        if not options.only and not options.essential and same < LEAST_FROM_SHAPES:
            told.append(f"at least {LEAST_FROM_SHAPES} should be the same from shapes")
            failed.append("")
    print("; ".join(told))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
