#!/usr/bin/env python3
"""Drives the explorer with random clicks, keys and drags for a long time: CSV of name,run,value,unit.

    explorer.py [--events N] [--seeds N] [--bin FOLDER] [--output FILE]

Each walk is a process of its own, which opens one graph in a window and plays the events of
tests/app/explorer/random_walk_test.cpp. A walk fails if the program crashes, if it waits for a job without
end, or if two places of the window give different figures for one question. `growth`: the slope, in bytes an
event, of a line through the resident memory of the process. The memory is noted every second, and the first
fifth of the notes is left out.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from memory import resident, slope
from rows import HEAD, write

ROOT = pathlib.Path(__file__).resolve().parents[2]
WALKS = ("Chain", "Transformer", "ConvolutionalNetwork")


def walk(program, graph, events, seed) -> dict:
    """Runs the explorer with one random sequence of user events (a walk). Returns the measurements."""
    memory, begin = [], time.monotonic()
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryFile("w+") as said:
        surroundings = os.environ | {
            "QT_QPA_PLATFORM": "offscreen",
            "REMATLAS_CACHE": "",
            "REMATLAS_EVENTS": str(events),
            "REMATLAS_SEED": str(seed),
            "MALLOC_ARENA_MAX": "2",  # as app/explorer/main.cpp sets it
            "HOME": home,
        }
        command = [program, f"--gtest_filter=RandomWalks.*{graph}*"]
        with subprocess.Popen(command, env=surroundings, stdout=said, stderr=subprocess.STDOUT) as process:
            while process.poll() is None:
                time.sleep(1)
                memory.append(resident(process.pid))
        said.seek(0)
        failed = process.returncode != 0
        if failed:
            print(f"{graph}, seed {seed}: status {process.returncode}", file=sys.stderr)
            print("".join(said.readlines()[-20:]), file=sys.stderr)
    seconds = time.monotonic() - begin
    memory = [bytes for bytes in memory if bytes]
    kept = memory[len(memory) // 5 :]
    growth = slope(kept, events / len(memory)) if len(kept) > 2 else 0
    return {
        "failed": int(failed),
        "growth": round(growth, 1),
        "most": max(memory, default=0),
        "seconds": round(seconds),
    }


UNITS = {"events": "", "failed": "", "growth": "bytes an event", "most": "bytes", "seconds": "seconds"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--bin", default=str(ROOT / "build" / "release" / "bin"))
    parser.add_argument("--output")
    options = parser.parse_args()
    rows = [HEAD]
    for graph in WALKS:
        for seed in range(1, options.seeds + 1):
            program = str(pathlib.Path(options.bin) / "explorer_test")
            figures = {"events": options.events} | walk(program, graph, options.events, seed)
            for what, value in figures.items():
                rows.append((f"{graph}: {what}", seed, value, UNITS[what]))
                print(",".join(map(str, rows[-1])), flush=True)
    write(rows, options.output)


if __name__ == "__main__":
    main()
