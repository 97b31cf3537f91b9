#!/usr/bin/env python3
"""Runs the tests on the stand-in for a GPU in other random orders: CSV of name,run,value,unit.

    orders.py [--seeds N] [--first SEED] [--tests REGEX] [--build FOLDER] [--output FILE]

The stand-in (tests/simgpu) runs some of the work of its streams at each call; the seed chooses which. The
tests of ctest have one seed. This program runs every test of the label `simgpu` with other seeds. A test
fails if its program ends with another status than 0; its output is then written to standard error.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

from rows import HEAD, write

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 3000  # seconds after which a test counts as hanging
# This test breaks the stand-in, and wants its program to fail.
LEFT_OUT = "simgpu.gpu.broken_generator"


def tests_of(build, wanted) -> dict:
    """Returns the tests of the label `simgpu` by name, with their properties. Of tests that differ only in
    the order, returns one."""
    command = ["ctest", "--test-dir", build, "-L", "simgpu", "--show-only=json-v1"]
    listed = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)["tests"]
    tests, commands = {}, set()
    for test in listed:
        properties = {one["name"]: one["value"] for one in test["properties"]}
        name = re.sub(r"\.(eager|lazy|seeded:\d+)$", "", test["name"])
        has_order = any(entry.startswith("SIMGPU_ORDER=") for entry in properties.get("ENVIRONMENT", []))
        key = (*test["command"], *properties.get("ENVIRONMENT_MODIFICATION", []))
        if not has_order or name == LEFT_OUT or key in commands or not re.search(wanted, name):
            continue
        commands.add(key)
        tests[name] = properties | {"command": test["command"]}
    return tests


def surroundings(properties, seed) -> dict:
    """Returns the environment of the test, with the order of the seed."""
    made = os.environ | dict(entry.split("=", 1) for entry in properties["ENVIRONMENT"])
    for change in properties.get("ENVIRONMENT_MODIFICATION", []):
        name, path = change.split("=path_list_prepend:", 1)
        made[name] = path + (":" + made[name] if made.get(name) else "")
    return made | {"SIMGPU_ORDER": f"seeded:{seed}"}


def passes(name, properties, seed) -> bool:
    try:
        done = subprocess.run(
            properties["command"],
            env=surroundings(properties, seed),
            cwd=properties["WORKING_DIRECTORY"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"{name}, seed {seed}: does not end", file=sys.stderr, flush=True)
        return False
    if done.returncode:
        print(
            f"{name}, seed {seed}: status {done.returncode}\n{done.stdout[-4000:]}",
            file=sys.stderr,
            flush=True,
        )
    return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=100)
    parser.add_argument("--tests", default="", help="only tests whose names match this regular expression")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--output")
    options = parser.parse_args()
    # Some tests read models that other tests of ctest write.
    models = ["ctest", "--test-dir", options.build, "-R", "^runtime_(models|modules|whole_models)$"]
    subprocess.run(models, stdout=subprocess.DEVNULL, check=True)
    tests, begin, failures, done = tests_of(options.build, options.tests), time.monotonic(), 0, 0
    rows = [HEAD]
    for seed in range(options.first, options.first + options.seeds):
        failed = [name for name, properties in tests.items() if not passes(name, properties, seed)]
        failures, done = failures + len(failed), done + 1
        print(f"seed {seed}: {len(tests) - len(failed)} of {len(tests)} tests passed", flush=True)
        rows[1:] = [
            ("orders: seeds", 1, done, ""),
            ("orders: tests", 1, len(tests), ""),
            ("orders: failures", 1, failures, ""),
            ("orders: time", 1, round(time.monotonic() - begin), "seconds"),
        ]
        write(rows, options.output)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
