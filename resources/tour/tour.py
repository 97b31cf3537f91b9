#!/usr/bin/env python3
"""Does the main job of Rematlas, end to end, on two example models.

For a ResNet-50 and a 12-layer GPT, this script exports the model to TorchScript, captures and inspects its
training step, sweeps time against memory, solves at 60 % of the peak without recomputation, checks the plan,
trains two steps with verification, and draws pictures. All files are written to out/. With a display, the
explorer opens on the result.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODELS = ["resnet50", "gpt12"]
SOLVERS = "atlas,rotor,dtr,chen-greedy,chen-sqrt"


class Tour:
    def __init__(self, programs: Path, out: Path):
        self.programs = programs
        self.out = out

    def run(self, *arguments: object, quiet: bool = False) -> str:
        """Runs one of our commands and prints it. Stops the tour if the command fails."""
        command = [str(a) for a in arguments]
        print("  $ " + " ".join(Path(c).name if c.startswith("/") else c for c in command), flush=True)
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=self.out)
        if done.stdout and not quiet:
            print("".join(f"    {line}\n" for line in done.stdout.rstrip().splitlines()), end="", flush=True)
        if done.returncode != 0:
            sys.exit(f"tour: this command ended with status {done.returncode}: {' '.join(command)}")
        return done.stdout

    def rematlas(self, *arguments: object, quiet: bool = False) -> str:
        return self.run(self.programs / "rematlas", *arguments, quiet=quiet)

    def export(self, name: str) -> list[str]:
        """Exports the model. Returns its input specifications."""
        self.run(sys.executable, ROOT / "resources/models/export.py", self.out, "--only", name)
        specs = json.loads((self.out / f"{name}.json").read_text())
        return specs["inputs"] if isinstance(specs, dict) else specs

    def model(self, name: str) -> dict:
        print(f"\n{name}", flush=True)
        inputs = [word for spec in self.export(name) for word in ("--input", spec)]
        graph, schedule, plan, sweep = (
            f"{name}.{kind}" for kind in ("graph.json", "schedule.json", "plan", "sweep.json")
        )
        self.rematlas("capture", f"{name}.pt", *inputs, "-o", graph)
        inspected = json.loads(self.rematlas("inspect", graph, "--json", quiet=True))
        self.rematlas("inspect", graph)
        self.rematlas(
            "sweep",
            graph,
            "--solver",
            SOLVERS,
            "--budgets",
            8,
            "--time-limit",
            "25s",
            "-o",
            sweep,
            quiet=True,
        )
        self.rematlas("solve", graph, "--budget", "60%", "--time-limit", "5s", "-o", schedule)
        self.rematlas("check", graph, schedule)
        self.rematlas("export", schedule, "-o", plan)
        ran = json.loads(
            self.rematlas("run", f"{name}.pt", plan, "--steps", 2, "--verify", "--json", quiet=True)
        )
        pictures = {"tradeoff": [sweep], "memory": [schedule], "blocks": [graph, "--schedule", schedule]}
        for picture, arguments in pictures.items():
            for form in ("svg", "png"):
                self.rematlas("draw", *arguments, "-o", f"{name}.{picture}.{form}")
        return {"name": name, "before": inspected["keep_all_peak_bytes"], "ran": ran}


def mib(count: int) -> str:
    return f"{count / 2**20:,.0f} MiB"


def print_table(rows: list[dict]) -> bool:
    print(
        f"\n{'model':10} {'peak before':>12} {'budget':>11} {'peak after':>11} {'predicted':>11}"
        f" {'overhead':>9} {'measured':>9}  verified"
    )
    for row in rows:
        ran = row["ran"]
        print(
            f"{row['name']:10} {mib(row['before']):>12} {mib(ran['budget_bytes']):>11}"
            f" {mib(ran['measured_peak_bytes']):>11} {mib(ran['predicted_peak_bytes']):>11}"
            f" {ran['overhead_predicted']:>9.3f} {ran['overhead_measured']:>9.3f} "
            f" {'yes, bit by bit' if ran['verified'] else 'NO'}"
        )
    return all(row["ran"]["verified"] for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=Path, required=True, help="where the programs were built")
    parser.add_argument("--out", type=Path, default=ROOT / "out", help="where the files go")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    tour = Tour(options.bin.resolve(), options.out.resolve())
    verified = print_table([tour.model(name) for name in MODELS])
    print(
        f"\nfiles in {os.path.relpath(options.out)}/: per model .pt .graph.json .sweep.json .schedule.json"
        " .plan, and"
    )
    print("pictures .tradeoff .memory .blocks as .svg and .png")
    print(f"took {time.monotonic() - started:.0f} s")
    explorer = tour.programs / "rematlas-explorer"
    if explorer.exists() and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        files = [tour.out / f"{MODELS[-1]}.schedule.json", tour.out / f"{MODELS[-1]}.sweep.json"]
        subprocess.Popen([str(explorer), *map(str, files)], start_new_session=True)
        print("the explorer is opening")
    sys.exit(0 if verified else 1)


if __name__ == "__main__":
    main()
