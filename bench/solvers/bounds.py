#!/usr/bin/env python3
"""Proves lower bounds on the overhead for every budget of a reference file. Each call runs atlas first and
then spends more time on the bound, on one thread.

    bounds.py BIN PROBLEMS [--seconds 4] [--bound-seconds 5] [--only NAME]

PROBLEMS holds NAME.graph.json files and reference.json. Prints CSV (name,run,value,unit). For each budget the
rows have the bound, its gap to the schedule of the same call, its gap to the best known schedule (from the
reference file or this call), the seconds of the whole call, and 1 if the schedule is proven optimal over all
orders and reruns. The last rows count the budgets. The exit status is 1 if a bound is above the overhead of a
known schedule.
"""

import argparse
import json
import sys
from pathlib import Path

from reference import call, print_row


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bin", type=Path)
    parser.add_argument("problems", type=Path)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--bound-seconds", type=float, default=5)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    reference = json.loads((options.problems / "reference.json").read_text())
    gaps, to_best, optimal, wrong = [], [], 0, 0
    print("name,run,value,unit")
    for name, entries in reference.items():
        graph = options.problems / f"{name}.graph.json"
        if not isinstance(entries, list) or not graph.exists() or options.only not in name:
            continue
        for entry in entries:
            command = [
                options.bin / "rematlas",
                "solve",
                graph,
                "--budget",
                entry["budget_bytes"],
                "--time-limit",
                f"{options.seconds}s",
                "--bound-time",
                f"{options.bound_seconds}s",
                "--json",
            ]
            done = call(*command)
            if done.returncode != 0:
                sys.exit(f"{name} at {entry['fraction']}: {done.stderr.strip()}")
            answer = json.loads(done.stdout)
            best = min(answer["overhead"], entry.get("best_known_overhead") or float("inf"))
            run = f"fraction {entry['fraction']}"
            print_row(name, run, answer["overhead"], "overhead")
            print_row(name, run, answer["bound"], "bound")
            print_row(name, run, 100 * answer["gap"], "% gap")
            print_row(name, run, 100 * (best / answer["bound"] - 1), "% gap to best known")
            print_row(name, run, answer["solve_seconds"], "s")
            print_row(name, run, answer["status"] == "optimal", "proven optimal")
            gaps.append(answer["gap"])
            to_best.append(best / answer["bound"] - 1)
            optimal += answer["status"] == "optimal"
            wrong += answer["bound"] > best * (1 + 1e-8)
    print_row("all", "entries", len(gaps), "entries")
    print_row("all", "gap at most 0.2 %", sum(gap <= 0.002 for gap in gaps), "entries")
    print_row("all", "gap at most 3 %", sum(gap <= 0.03 for gap in gaps), "entries")
    print_row("all", "proven optimal over all orders and reruns", optimal, "entries")
    print_row("all", "bound above a known schedule", wrong, "entries")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
