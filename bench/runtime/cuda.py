#!/usr/bin/env python3
"""Measures training under a plan on a device, for models of realistic size.

    cuda.py BIN [--models resnet101,unet] [--pairs 5] [--output bench/results/cuda.csv]
    cuda.py BIN --device cpu --small          the same commands on small models, to try them out

Captures, solves and runs each model with verification, once without and once with CUDA graphs. Prints CSV
(name,run,value,unit): the time of replay over the time of eager execution (median of `pairs` pairs, measured
alternately in one process), the predicted and the measured overhead, and three peaks: predicted, measured,
and computed by the model of the allocator. If there is no device, prints a message and ends with status 1.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "resources/models/bench_models.py"


class Bench:
    def __init__(self, programs: Path, folder: Path, options: argparse.Namespace):
        self.rematlas = programs / "rematlas"
        self.folder = folder
        self.options = options
        self.rows = ["name,run,value,unit"]
        self.failed = False
        print(self.rows[0], flush=True)

    def row(self, name: str, run: str, value: float, unit: str) -> None:
        self.rows.append(f"{name},{run},{value:.9g},{unit}")
        print(self.rows[-1], flush=True)

    def call(self, *command: object) -> tuple[dict, float] | None:
        """Runs a command. Returns the JSON that the command prints, and the seconds that it took. If it
        fails, prints the error and returns None."""
        started = time.monotonic()
        done = subprocess.run(
            [str(c) for c in command],
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        seconds = time.monotonic() - started
        if done.stdout.startswith("{"):
            return json.loads(done.stdout), seconds
        self.failed = True
        print(
            f"cuda.py: status {done.returncode}: {' '.join(map(str, command))}: {done.stderr.strip()}",
            file=sys.stderr,
            flush=True,
        )
        return None

    def model(self, name: str) -> None:
        small = ["--small"] if self.options.small else []
        subprocess.run(
            [sys.executable, MODELS, self.folder, "--only", name, *small],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        about = json.loads((self.folder / f"{name}.json").read_text())
        inputs = [word for spec in about["inputs"] for word in ("--input", spec)]
        graph, schedule = f"{name}.graph.json", f"{name}.schedule.json"
        captured = self.call(
            self.rematlas,
            "capture",
            f"{name}.pt",
            *inputs,
            "--device",
            self.options.device,
            "-o",
            graph,
            "--json",
        )
        if not captured:
            return
        self.row(name, "capture", captured[1], "s")
        self.row(name, "peak without recomputation", captured[0]["peak_bytes"], "bytes")
        for budget in ("100%", about["budget"]):
            solved = self.call(
                self.rematlas,
                "solve",
                graph,
                "--budget",
                budget,
                "--time-limit",
                self.options.time_limit,
                "-o",
                schedule,
                "--json",
            )
            if not solved:
                continue
            if "overhead" not in solved[0]:
                self.failed = True
                print(f"cuda.py: {name}: no schedule within {budget} was found", file=sys.stderr, flush=True)
                continue
            self.row(name, f"solve {budget}", solved[1], "s")
            self.check(name, budget, graph, schedule)
            self.run(name, budget, schedule, [])
            if self.options.device == "cuda":
                self.run(name, budget, schedule, ["--cuda-graphs"])

    def check(self, name: str, budget: str, graph: str, schedule: str) -> None:
        checked = self.call(self.rematlas, "check", graph, schedule, "--json")
        if not checked:
            return
        for key, what in (
            ("arena_bytes", "arena planned"),
            ("allocated_peak_bytes", "allocated predicted"),
            ("reserved_peak_bytes", "reserved predicted"),
        ):
            if checked[0].get(key) is not None:
                self.row(name, f"run {budget} {what}", checked[0][key], "bytes")

    def run(self, name: str, budget: str, schedule: str, flags: list[str]) -> None:
        ran = self.call(
            self.rematlas,
            "run",
            f"{name}.pt",
            schedule,
            "--device",
            self.options.device,
            "--steps",
            self.options.pairs,
            "--verify",
            "--json",
            *flags,
        )
        if not ran:
            return
        what = f"run {budget}" + (" graphs" if flags else "")
        result = ran[0]
        self.failed |= not result["verified"]
        if flags and not result.get("cuda_graphs"):
            print(
                f"cuda.py: {name}: plain replay: {result['why_no_cuda_graphs']}", file=sys.stderr, flush=True
            )
        self.row(name, f"{what} verified", result["verified"], "bool")
        self.row(name, f"{what} time", result["time_ratio_to_eager"], "of eager")
        if not flags:  # ops cannot be timed within a CUDA graph
            self.row(name, f"{what} overhead predicted", result["overhead_predicted"], "of keep-all")
            self.row(name, f"{what} overhead measured", result["overhead_measured"], "of keep-all")
        self.row(name, f"{what} peak predicted", result["predicted_peak_bytes"], "bytes")
        self.row(name, f"{what} peak measured", result["measured_peak_bytes"], "bytes")
        self.row(name, f"{what} peak of the original", result["original_peak_bytes"], "bytes")
        for key, of in (("reserved_peak_bytes", "reserved predicted"), ("device_bytes", "device needed")):
            if key in result:
                self.row(name, f"{what} {of}", result[key], "bytes")


def has_device() -> bool:
    import torch

    return torch.cuda.is_available()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bin", type=Path)
    parser.add_argument("--models", default="resnet101,gpt2_medium,unet,transformer,resnet1202")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--small", action="store_true", help="shallow and narrow models")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--time-limit", default="10s", help="of each solve")
    parser.add_argument("--output", type=Path, help="CSV file to write as well")
    options = parser.parse_args()
    if options.device == "cuda" and not has_device():
        print(
            "cuda.py: no CUDA device, or no driver: nothing to measure"
            " (--device cpu --small tries the commands out)",
            file=sys.stderr,
        )
        return 1
    with tempfile.TemporaryDirectory(prefix="rematlas-bench-") as folder:
        bench = Bench(options.bin.resolve(), Path(folder), options)
        for name in options.models.split(","):
            bench.model(name)
    if options.output:
        options.output.write_text("\n".join(bench.rows) + "\n")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
