#!/usr/bin/env python3
"""Compares the arena (the block of memory in which all tensors of a step get addresses) with the peak of the
tensors alive, over graphs and budgets, through the command line.

    arena.py BIN GRAPH.graph.json... [--budgets 100%,80%,60%,40%] [--time-limit 2s]

Prints CSV (name,run,value,unit): the ratio of the arena, as `check --arena` plans it, to the live peak, and
the seconds that the check took. For budgets below 100% it also prints two overheads: one of a schedule whose
live peak is within the budget, and one of a schedule whose arena is within the budget. A budget for which no
schedule is found has no rows.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def call(*command: object) -> dict | None:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode == 2:
        sys.exit(f"arena.py: {' '.join(map(str, command))}: {done.stderr.strip()}")
    return json.loads(done.stdout) if done.returncode == 0 else None


def print_row(name: str, run: str, value: float, unit: str) -> None:
    print(f"{name},{run},{value:.6g},{unit}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bin", type=Path)
    parser.add_argument("graphs", type=Path, nargs="+")
    parser.add_argument("--budgets", default="100%,80%,60%,40%")
    parser.add_argument("--time-limit", default="2s")
    options = parser.parse_args()
    rematlas = options.bin.resolve() / "rematlas"
    print("name,run,value,unit")
    worst = []
    with tempfile.TemporaryDirectory() as folder:
        schedule = Path(folder) / "s.schedule.json"
        for graph in options.graphs:
            name = graph.name.removesuffix(".graph.json")
            for budget in options.budgets.split(","):
                solve = (
                    rematlas,
                    "solve",
                    graph,
                    "--budget",
                    budget,
                    "--time-limit",
                    options.time_limit,
                    "--json",
                )
                solved = call(*solve, "-o", schedule)
                if not solved:
                    continue
                started = time.monotonic()
                checked = call(rematlas, "check", graph, schedule, "--budget", 2**50, "--arena", "--json")
                print_row(name, f"{budget} check", time.monotonic() - started, "s")
                worst.append(checked["arena_bytes"] / checked["peak_bytes"])
                print_row(name, f"{budget} arena", worst[-1], "of live peak")
                if budget == "100%":
                    continue
                print_row(name, f"{budget} live", solved["overhead"], "overhead")
                if fits := call(*solve, "--arena"):
                    print_row(name, f"{budget} in arena", fits["overhead"], "overhead")
    print_row("all", "largest", max(worst), "of live peak")


if __name__ == "__main__":
    main()
