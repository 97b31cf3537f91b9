#!/usr/bin/env python3
"""Runs every solver on every budget of a reference file, through the command line, and checks every answer.

    reference.py BIN PROBLEMS [--solvers a,b] [--seconds 5] [--only NAME]

PROBLEMS holds NAME.graph.json files and reference.json. Prints CSV (name,run,value,unit): overhead, peak and
seconds of each answer, its bound and gap, the known values of the reference file, and the worst ratios of
atlas's overhead to the best known overhead and to that of every other solver. The exit status is 1 if the
independent checker refuses an answer.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SOLVERS = "atlas,checkmate,checkmate-lp,rotor,revolve,dtr,chen-greedy,chen-sqrt,keep-all"


def call(*command: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(c) for c in command], capture_output=True, text=True)


def print_row(name: str, run: str, value: float, unit: str) -> None:
    print(f"{name},{run},{value:.9g},{unit}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bin", type=Path)
    parser.add_argument("problems", type=Path)
    parser.add_argument("--solvers", default=SOLVERS)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    rematlas = options.bin / "rematlas"
    reference = json.loads((options.problems / "reference.json").read_text())
    worst, against, failures, answers = 0.0, 0.0, 0, 0
    print("name,run,value,unit")
    with tempfile.TemporaryDirectory() as folder:
        schedule = Path(folder) / "s.schedule.json"
        for name, entries in reference.items():
            graph = options.problems / f"{name}.graph.json"
            if not isinstance(entries, list) or not graph.exists() or options.only not in name:
                continue
            for entry in entries:
                best, others = None, []
                for key in ("best_known_overhead", "lower_bound"):
                    if entry.get(key):
                        print_row(name, f"reference@{entry['fraction']}", entry[key], key.replace("_", " "))
                for solver in options.solvers.split(","):
                    run = f"{solver}@{entry['fraction']}"
                    done = call(
                        rematlas,
                        "solve",
                        graph,
                        "--budget",
                        entry["budget_bytes"],
                        "--solver",
                        solver,
                        "--time-limit",
                        f"{options.seconds}s",
                        "--json",
                        "-o",
                        schedule,
                    )
                    answer = json.loads(done.stdout) if done.stdout else {"status": "failed"}
                    if answer["status"] == "infeasible":
                        if solver == "atlas" and entry.get("best_known_overhead"):
                            worst = float("inf")
                            print_row(name, run, float("inf"), "overhead")
                        continue
                    answers += 1
                    if (
                        done.returncode != 0
                        or call(
                            rematlas, "check", graph, schedule, "--budget", entry["budget_bytes"]
                        ).returncode
                        != 0
                    ):
                        failures += 1
                        print(f"{name} {run}: refused: {done.stderr.strip()}", file=sys.stderr)
                        continue
                    print_row(name, run, answer["overhead"], "overhead")
                    print_row(name, run, answer["peak_bytes"], "bytes")
                    if solver == "atlas":
                        best = answer["overhead"]
                    else:
                        others.append(answer["overhead"])
                    print_row(name, run, answer["solve_seconds"], "s")
                    if answer["bound"]:
                        print_row(name, run, answer["bound"], "bound")
                        print_row(name, run, answer["gap"], "gap")
                    if solver == "atlas" and entry.get("best_known_overhead"):
                        ratio = answer["overhead"] / entry["best_known_overhead"]
                        worst = max(worst, ratio)
                        print_row(name, run, ratio, "to best known")
                if best and others:
                    against = max(against, best / min(others))
    print_row("all", "answers checked", answers, "answers")
    print_row("all", "answers refused", failures, "answers")
    print_row("all", "atlas worst", worst, "to best known")
    print_row("all", "atlas worst", against, "to best other solver")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
