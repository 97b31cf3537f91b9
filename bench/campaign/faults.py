#!/usr/bin/env python3
"""Kills the command line at random moments, and makes each of its calls fail: CSV of name,run,value,unit.

    faults.py [kills] [calls] [--output FILE] [--kills N] [--each N] [--seed N]

`kills`: SIGKILL ends a command after a random part of its usual running time. Afterwards the output must be
either the old file or a complete new one. After every seventh kill the same command runs again on the same
cache, and must give a complete answer.
`calls`: the library failing_calls.c makes the first call of `open`, `write`, `fsync`, `rename`, `mmap` or
`malloc` fail; in the next run the second call fails, and so on. If a command calls a function much more than
`--each` times, only a random sample of these calls fails. The command must give the complete answer, or end
with status 1, 2 or 3 and one line on stderr. Its output must then be the old file or a complete new one.

REMATLAS_PROGRAMS names the folder of the programs. One line for each wrong reaction is written to stderr.
"""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from rows import HEAD, write

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("REMATLAS_PROGRAMS", ROOT / "build" / "release" / "bin")) / "rematlas"
GRAPHS = ROOT / "resources" / "graphs"
LIMIT = 60  # seconds after which a command counts as hanging
# The number is the errno with which the function fails.
CALLS = {"open": 28, "write": 28, "fsync": 5, "rename": 30, "mmap": 12, "malloc": 12}
OLD = b"the old file\n"


@dataclasses.dataclass
class Command:
    """`words`: the command line without the program's name. {out} stands for the output, {folder} for the
    folder with the graphs, the schedule and the sweep. If the first word is `python`, Python runs the script
    that follows."""

    name: str
    words: str
    ending: str
    imports_torch: bool = False  # such a command takes seconds, so only `kills` runs it

    def line(self, folder, out):
        words = [word.format(out=out, folder=folder) for word in self.words.split()]
        return [sys.executable, *words[1:]] if words[0] == "python" else [str(PROGRAM), *words]


COMMANDS = [
    Command("solve", "solve {folder}/gpt.graph.json --budget 80% --time-limit 10s -o {out}", ".json"),
    Command("sweep", "sweep {folder}/mlp.graph.json --solver dtr,chen-greedy --budgets 4 -o {out}", ".json"),
    Command("export", "export {folder}/gpt.schedule.json -o {out}", ".plan"),
    Command("report", "report {folder}/mlp.graph.json {folder}/mlp.sweep.json -o {out}", ".html"),
    Command("draw", "draw {folder}/mlp.graph.json -o {out}", ".svg"),
    Command("check", "check {folder}/gpt.graph.json {folder}/gpt.schedule.json --json", ""),
    Command("policy", "export {folder}/gpt.schedule.json --format policy -o {out}", ".json"),
    Command("capture", "capture trained:step -o {out}", ".json", imports_torch=True),
    Command("training", "python {folder}/trained.py {out}", ".plan", imports_torch=True),
]


class Commands:
    """A folder with the files that the commands read, and a cache that all of them share."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.cache = self.folder / "cache"
        self.environment = os.environ | {"REMATLAS_CACHE": str(self.cache)}
        self.environment |= {"PYTHONPATH": str(ROOT / "runtime" / "python"), "VIRTUAL_ENV": sys.prefix}
        shutil.copy(pathlib.Path(__file__).with_name("trained.py"), self.folder)
        for graph in GRAPHS.glob("*.json"):
            shutil.copy(graph, self.folder)
        self.must("solve gpt.graph.json --budget 80% --time-limit 10s -o gpt.schedule.json")
        self.must("sweep mlp.graph.json --solver dtr --budgets 4 -o mlp.sweep.json")
        self.all = [command for command in COMMANDS if self.works(command)]
        self.commands = [command for command in self.all if not command.imports_torch]

    def must(self, words):
        subprocess.run(
            [PROGRAM, *words.split()], cwd=self.folder, env=self.environment, check=True, capture_output=True
        )

    def works(self, command):
        """Says whether the command can be run here, and notes how long it takes."""
        out = self.folder / ("wanted" + command.ending)
        shutil.rmtree(self.cache, ignore_errors=True)
        begin = time.monotonic()
        done = self.run(command, out)
        command.seconds = time.monotonic() - begin
        command.wanted = self.answer(command, out, done)
        if done.returncode:
            print(f"left out: {command.name}: {done.stderr.strip()}", file=sys.stderr)
        return done.returncode == 0

    def run(self, command, out, more=None):
        return subprocess.run(
            command.line(self.folder, out),
            env=self.environment | (more or {}),
            capture_output=True,
            text=True,
            timeout=5 * LIMIT if command.imports_torch else LIMIT,
            cwd=self.folder,
        )

    def answer(self, command, out, done):
        """Says whether the command has given a complete answer."""
        if not command.ending:
            return bool(done.stdout.strip())
        return out.exists() and self.is_whole(out)

    def is_whole(self, out):
        text = out.read_bytes()
        if out.suffix == ".json":
            try:
                return bool(json.loads(text))
            except ValueError:
                return False
        if out.suffix == ".plan":
            again = [PROGRAM, "draw", out, "-o", self.folder / "again.svg"]
            checked = subprocess.run(again, capture_output=True, env=self.environment)
            return checked.returncode == 0
        return text.rstrip().endswith((b"</html>", b"</svg>"))

    def strays(self, out):
        """Returns the names of the files that a command has left beside its output."""
        return [path.name for path in out.parent.iterdir() if path != out]


class Faults:
    def __init__(self, options, commands):
        self.options, self.commands = options, commands
        self.counts, self.bad = collections.Counter(), collections.Counter()
        self.random = random.Random(options.seed)

    def tell(self, what, command, text):
        self.bad[what] += 1
        print(f"{what}: {command.name}: {text}", file=sys.stderr, flush=True)

    def output(self, command):
        folder = self.commands.folder / "out"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        out = folder / ("made" + (command.ending or ".json"))
        out.write_bytes(OLD)
        return out

    def check_output(self, what, command, out, given=""):
        if not command.ending:
            return
        if not out.exists():
            self.tell(what, command, f"{given} the old output is gone")
        elif out.read_bytes() != OLD and not self.commands.is_whole(out):
            self.tell(what, command, f"{given} the output is half a file of {out.stat().st_size} bytes")

    def kills(self):
        for number in range(self.options.kills):
            command = self.commands.all[number % len(self.commands.all)]
            out = self.output(command)
            if number % 3 == 0:
                shutil.rmtree(self.commands.cache, ignore_errors=True)
            process = subprocess.Popen(
                command.line(self.commands.folder, out),
                env=self.commands.environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=self.commands.folder,
            )
            time.sleep(self.random.random() * 1.1 * command.seconds)
            process.kill()
            process.wait()
            self.counts["kills"] += process.returncode == -signal.SIGKILL
            self.check_output("kill", command, out)
            if number % 7 == 0:
                self.run_again(command, out)

    def run_again(self, command, out):
        """Runs a command that was killed, on the same cache."""
        try:
            done = self.commands.run(command, out)
        except subprocess.TimeoutExpired:
            self.tell("hang", command, "the next run does not end")
            return
        if done.returncode or not self.commands.answer(command, out, done):
            self.tell("kill", command, f"the next run fails: {done.stderr.strip()}")

    def calls(self):
        for command in self.commands.commands:
            for name, number in CALLS.items():
                at, step, last = 1, 1, self.last_call(command, name)
                step = max(1, last // self.options.each)
                while at <= last:
                    self.fail(command, name, number, at)
                    at += step if step == 1 else self.random.randint(1, 2 * step)

    def library(self):
        made = self.commands.folder / "failing_calls.so"
        if not made.exists():
            source = pathlib.Path(__file__).with_name("failing_calls.c")
            subprocess.run(["cc", "-shared", "-fPIC", "-O1", source, "-o", made, "-ldl"], check=True)
        return made

    def run_failing(self, command, out, name, number, at):
        report = self.commands.folder / "failed"
        report.unlink(missing_ok=True)
        shutil.rmtree(self.commands.cache, ignore_errors=True)
        more = {"FAIL_CALL": name, "FAIL_AT": str(at), "FAIL_ERRNO": str(number), "FAIL_REPORT": str(report)}
        done = self.commands.run(command, out, more | {"LD_PRELOAD": str(self.library())})
        return done, report.exists()

    def last_call(self, command, name):
        """Returns how many times the command calls the function."""
        low, high = 0, 1
        while self.run_failing(command, self.output(command), name, CALLS[name], high)[1]:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            has_failed = self.run_failing(command, self.output(command), name, CALLS[name], middle)[1]
            low, high = (middle, high) if has_failed else (low, middle)
        return low

    def fail(self, command, name, number, at):
        given = f"call {at} of {name}:"
        out = self.output(command)
        try:
            done, has_failed = self.run_failing(command, out, name, number, at)
        except subprocess.TimeoutExpired:
            return self.tell("hang", command, given)
        self.counts[name] += has_failed
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        if done.returncode < 0:
            self.tell(
                "crash", command, f"{given} ended by signal {-done.returncode}: {' '.join(lines)[:200]}"
            )
        elif done.returncode == 0 and not self.commands.answer(command, out, done):
            self.tell("silent", command, f"{given} status 0 without an answer")
        elif done.returncode not in (0, 1, 2, 3):
            self.tell("status", command, f"{given} status {done.returncode}: {' '.join(lines)[:200]}")
        elif done.returncode and len(lines) != 1:
            self.tell(
                "lines", command, f"{given} status {done.returncode} with {len(lines)} lines: {lines[:2]}"
            )
        elif strays := self.commands.strays(out):
            self.tell("strays", command, f"{given} left {strays}")
        self.check_output("output", command, out, given)

    def rows(self):
        for name, count in self.counts.items():
            yield (name, 1, count, "")
        for name in ("kill", "hang", "crash", "silent", "status", "lines", "strays", "output"):
            yield (f"bad: {name}", 1, self.bad[name], "")


def tell_and_exit(tried, output) -> None:
    """Prints the results as CSV, and also writes them to the file `output` if a file is given. The exit
    status is 1 if the commands reacted wrongly to any fault."""
    rows = [HEAD, *tried.rows()]
    for row in rows:
        print(",".join(map(str, row)))
    write(rows, output)
    sys.exit(1 if tried.bad else 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", help="kills, calls; both by default")
    parser.add_argument("--output")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--each", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        faults = Faults(options, Commands(folder))
        for part in ("kills", "calls"):
            if not options.parts or part in options.parts:
                getattr(faults, part)()
    tell_and_exit(faults, options.output)


if __name__ == "__main__":
    main()
