#!/usr/bin/env python3
"""Measures capture, solve and replay of the example models, through the command line.

    replay.py BIN [--models resnet50,gpt12 | --whole] [--budgets 100%,60%] [--pairs 5]

Prints CSV (name,run,value,unit): the seconds of capture and solve; the time of replay over the time of eager
execution (median of `pairs` pairs, measured alternately in one process), and the median of these ratios over
the models; the number of allocations from the system in each step after the first steps; predicted and
measured peak and overhead. `--whole` measures the architectures of resources/models/whole_models.py.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def call(*command: object, cwd: Path) -> tuple[str, float]:
    started = time.monotonic()
    done = subprocess.run([str(c) for c in command], cwd=cwd, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"replay.py: status {done.returncode}: {' '.join(map(str, command))}")
    return done.stdout, time.monotonic() - started


def print_row(name: str, run: str, value: float, unit: str) -> None:
    print(f"{name},{run},{value:.9g},{unit}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bin", type=Path)
    parser.add_argument("--models", default="resnet50,gpt12")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--budgets", default="100%,60%")
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    rematlas = options.bin.resolve() / "rematlas"
    print("name,run,value,unit")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = ["*_scripted"] if options.whole else options.models.split(",")
        script = ROOT / "resources/models" / ("whole_models.py" if options.whole else "export.py")
        for model in models:
            call(sys.executable, script, folder, *([] if options.whole else ["--only", model]), cwd=folder)
        ratios = {budget: [] for budget in options.budgets.split(",")}
        for described in sorted(path for model in models for path in folder.glob(f"{model}.json")):
            model = described.stem
            inputs = [
                word for spec in json.loads(described.read_text())["inputs"] for word in ("--input", spec)
            ]
            print_row(
                model,
                "capture",
                call(rematlas, "capture", f"{model}.pt", *inputs, "-o", f"{model}.graph.json", cwd=folder)[1],
                "s",
            )
            for budget in ratios:
                solved = call(
                    rematlas,
                    "solve",
                    f"{model}.graph.json",
                    "--budget",
                    budget,
                    "--time-limit",
                    "5s",
                    "-o",
                    "s.schedule.json",
                    "--json",
                    cwd=folder,
                )[0]
                print_row(model, f"solve {budget}", json.loads(solved)["solve_seconds"], "s")
                ran = json.loads(
                    call(
                        rematlas,
                        "run",
                        f"{model}.pt",
                        "s.schedule.json",
                        "--steps",
                        options.pairs,
                        "--verify",
                        "--json",
                        cwd=folder,
                    )[0]
                )
                print_row(model, f"run {budget} verified", ran["verified"], "bool")
                print_row(model, f"run {budget} time", ran["time_ratio_to_eager"], "of eager")
                ratios[budget].append(ran["time_ratio_to_eager"])
                print_row(model, f"run {budget} overhead predicted", ran["overhead_predicted"], "of keep-all")
                print_row(
                    model, f"run {budget} system allocations", ran["system_allocations_per_step"], "a step"
                )
                print_row(model, f"run {budget} peak predicted", ran["predicted_peak_bytes"], "bytes")
                print_row(model, f"run {budget} peak measured", ran["measured_peak_bytes"], "bytes")
        for budget, measured in ratios.items():
            print_row("all", f"run {budget} median time", statistics.median(measured), "of eager")


if __name__ == "__main__":
    main()
