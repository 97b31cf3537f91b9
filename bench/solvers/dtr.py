#!/usr/bin/env python3
"""Compares online eviction on the published logs with the results of the published simulator.

    dtr.py BIN LOGS [--only NAME] [--deallocation eager]

LOGS holds NAME.log files and reference.json. Prints CSV (name,run,value,unit): overhead, difference from the
published overhead in points, and seconds of each run; at the end, how many runs differ by at most 2 points.
If the published simulator did not complete a run, our run must end in the same way to count. Runs with the
random heuristic do not count.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

FLAGS = {
    "DTR": "dtr",
    "DTREqClass": "dtr-eq",
    "DTRLocal": "local",
    "MSPS": "msps",
    "LRU": "lru",
    "LargestStorage": "size",
    "RandomStorage": "random",
}


def simulate(rematlas: Path, log: Path, heuristic: str, ratios: list[float], deallocation: str) -> list[dict]:
    command = [
        rematlas,
        "dtr",
        log,
        "--heuristic",
        heuristic,
        "--ratio",
        ",".join(map(str, ratios)),
        "--deallocation",
        deallocation,
        "--json",
    ]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode == 2:
        sys.exit(done.stderr.strip())
    answer = json.loads(done.stdout)
    return answer.get("points", [answer])


def print_row(name: str, run: str, value: float, unit: str) -> None:
    print(f"{name},{run},{value:.6g},{unit}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bin", type=Path)
    parser.add_argument("logs", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--deallocation", default="eager")
    options = parser.parse_args()
    reference = json.loads((options.logs / "reference.json").read_text())["logs"]
    compared = agreeing = 0
    worst, worst_run, slowest = 0.0, "", 0.0
    print("name,run,value,unit")
    for name, heuristics in reference.items():
        if options.only not in name:
            continue
        for published, flag in FLAGS.items():
            entries = heuristics.get(published, [])
            if not entries:
                continue
            points = simulate(
                options.bin / "rematlas",
                options.logs / f"{name}.log",
                flag,
                [e["ratio"] for e in entries],
                options.deallocation,
            )
            for entry, point in zip(entries, points):
                run = f"{flag}@{entry['ratio']}"
                slowest = max(slowest, point["seconds"])
                if point["status"] != "ok":
                    run += f" {point['status']}"
                print_row(name, run, point["overhead"], "overhead")
                print_row(name, run, point["seconds"], "s")
                difference = 100 * (point["overhead"] - entry["overhead"])
                same_end = point["status"] == entry["status"].lower()
                if entry["status"] == "ok" and same_end:
                    print_row(name, run, difference, "points from published")
                elif not same_end:
                    print_row(
                        name, f"{run} (published: {entry['status']})", difference, "points from published"
                    )
                if flag == "random":
                    continue
                compared += 1
                agreeing += same_end and (entry["status"] != "ok" or abs(difference) <= 2)
                if entry["status"] == "ok" and same_end and abs(difference) > worst:
                    worst, worst_run = abs(difference), f"{name} {run}"
    print_row("all", "slowest run", slowest, "s")
    print_row("all", f"worst difference ({worst_run})", worst, "points")
    print_row("all", "runs compared", compared, "runs")
    print_row("all", "runs within 2 points", agreeing, "runs")


if __name__ == "__main__":
    main()
