#!/usr/bin/env python3
"""Kills the explorer at random moments, and opens its session again: CSV of name,run,value,unit.

    sessions.py [--kills N] [--seed N] [--bin FOLDER] [--output FILE]

Each process plays the random clicks of tests/app/explorer/random_walk_test.cpp with another seed, until
SIGKILL ends it. Afterwards each line of the session file but the last must be whole JSON. Then the explorer
opens the graph again, draws its window and ends by itself. The session file must still have the same plans.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from rows import HEAD, write

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAPHS = ("Chain", "Transformer", "ConvolutionalNetwork")
LIMIT = 120  # seconds after which a program counts as hanging


def plans(session) -> set:
    """Returns the keys of the plans that the lines of a session file have added and not removed."""
    keys = set()
    for line in session.read_text().splitlines():
        try:
            note = json.loads(line)
        except ValueError:
            continue
        if "schedule" in note:
            keys.add(note["plan"])
        elif note.get("removed"):
            keys.discard(note["plan"])
    return keys


def kill(program, graph, seed, folder, seconds) -> bool:
    """Plays a walk in `folder` and kills it. Says whether it was still running."""
    surroundings = os.environ | {"QT_QPA_PLATFORM": "offscreen", "REMATLAS_CACHE": "", "TMPDIR": folder}
    surroundings |= {"HOME": folder, "REMATLAS_EVENTS": "1000000", "REMATLAS_SEED": str(seed)}
    command = [program, f"--gtest_filter=RandomWalks.*{graph}*"]
    with subprocess.Popen(
        command, env=surroundings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        time.sleep(seconds)
        was_running = process.poll() is None
        process.kill()
    return was_running


def faults_of(session, explorer, folder):
    """Yields what is wrong with the session of a killed explorer."""
    for line in session.read_text().splitlines()[:-1]:
        try:
            json.loads(line)
        except ValueError:
            yield f"a line that is not whole: {line[:80]}"
    before = plans(session)
    graph = session.with_name(session.name.replace(".session.jsonl", ".graph.json"))
    picture = pathlib.Path(folder) / "window.png"
    surroundings = os.environ | {"QT_QPA_PLATFORM": "offscreen", "REMATLAS_CACHE": "", "HOME": folder}
    try:
        done = subprocess.run(
            [explorer, graph, "--screenshot", picture],
            env=surroundings,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        yield "the explorer does not open it"
        return
    if done.returncode or not picture.exists():
        yield f"the explorer ends with status {done.returncode}: {done.stderr.strip()[-200:]}"
    if lost := before - plans(session):
        yield f"{len(lost)} of {len(before)} plans are lost"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--output")
    options = parser.parse_args()
    choices, counts = random.Random(options.seed), collections.Counter(kills=0, sessions=0, plans=0, faults=0)
    for number in range(options.kills):
        with tempfile.TemporaryDirectory() as folder:
            graph = choices.choice(GRAPHS)
            walk = options.bin / "explorer_test"
            counts["kills"] += kill(walk, graph, options.seed + number, folder, choices.uniform(0.3, 6))
            for session in pathlib.Path(folder).rglob("*.session.jsonl"):
                counts["sessions"] += 1
                counts["plans"] += len(plans(session))
                for fault in faults_of(session, options.bin / "rematlas-explorer", folder):
                    counts["faults"] += 1
                    print(f"{graph}, seed {options.seed + number}: {fault}", file=sys.stderr, flush=True)
    rows = [HEAD, *((f"sessions: {name}", 1, count, "") for name, count in counts.items())]
    for row in rows:
        print(",".join(map(str, row)))
    write(rows, options.output)
    sys.exit(1 if counts["faults"] else 0)


if __name__ == "__main__":
    main()
