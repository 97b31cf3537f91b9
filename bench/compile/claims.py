#!/usr/bin/env python3
"""Says which rows of a table that compile.py wrote contradict our claims: claims.py FILE.csv

- Peaks are within their budgets.
- The error of gradients, compared with plain compilation, is at most TOLERANCE, or at most the error of plain
  compilation compared with double precision if that is larger.
- No row of torch's memory budget with such gradients needs at most as much memory as a row of ours, and is
  faster by NOISE or more.
- A step with a larger budget is not slower by more than NOISE. Smaller differences are ignored, because
  times vary.
- Planning takes at most HALF of the time of plain compilation.
"""

import csv
import itertools
import sys
from collections import defaultdict

NOISE = 0.03
TOLERANCE = 1e-6  # smaller differences of gradients are allowed
HALF = 0.5


def tables(path) -> dict:
    """Returns the values of the table as a nested dictionary: found[model][run][what]."""
    found = defaultdict(lambda: defaultdict(dict))
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            model, what = row["name"].rsplit(", ", 1)
            found[model][row["run"]][what] = row["value"]
    return found


def numbers(run) -> tuple[float, float]:
    return float(run["peak"]), float(run["time"])


def contradictions(runs) -> list[str]:
    ours = {name: run for name, run in runs.items() if name.endswith("%") and "peak" in run}
    torchs = {name: run for name, run in runs.items() if name.startswith("torch ") and "time" in run}
    tolerance = max(TOLERANCE, float(runs["plain"].get("rounding", 0)))
    compilation = float(runs["plain"]["first step"])
    found = []
    for name, run in ours.items():
        peak, time = numbers(run)
        if run["kept"] != "1":
            found.append(f"{name}: a peak of {peak} MiB of {run['budget']}")
        if not float(run["gradients"]) <= tolerance:
            found.append(f"{name}: gradients are {run['gradients']} apart")
        if float(run["planning"]) > HALF * compilation:
            found.append(f"{name}: planning takes {run['planning']} s, plain compilation {compilation} s")
        for other, theirs in torchs.items():
            their_peak, their_time = numbers(theirs)
            if their_peak <= peak and their_time <= time - NOISE and float(theirs["gradients"]) <= tolerance:
                found.append(f"{name}: {peak} MiB at x{time}, {other}: {their_peak} MiB at x{their_time}")
    by_budget = sorted(ours.items(), key=lambda pair: float(pair[1]["budget"]))
    for (smaller, less), (larger, more) in itertools.pairwise(by_budget):
        if numbers(more)[1] > numbers(less)[1] + NOISE:
            found.append(f"{larger} takes x{more['time']}, {smaller} x{less['time']}")
    return found


def main() -> int:
    (path,) = sys.argv[1:]
    is_wrong = False
    for model, runs in tables(path).items():
        refused = sum("refused" in run for run in runs.values())
        kept = sum(run.get("kept") == "1" for run in runs.values())
        found = contradictions(runs)
        is_wrong |= bool(found)
        print(f"{model}: {kept} budgets kept, {refused} refused" + "".join(f"\n  {line}" for line in found))
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
