#!/usr/bin/env python3
"""Runs the command line with random words: CSV of name,run,value,unit.

    command_lines.py [--count N] [--seed S] [--seconds S] [--output FILE]

A command line is a command with random options from its --help. Its input files and the values of its
options are random, too. An input file is whole or cut, and of the right kind or another kind; it can also be
missing, a folder or a device. A value is a size, a budget, a time, a pin or a word from --help. It is valid,
at the edge of its range, or invalid; some values are bytes that are no text.

The command must end within `--seconds`, with status 0, 1 or 2 and not by a signal. It must leave no file
beside its output. With status 1 it must print something. With status 2 it must print one line to standard
error, which begins with "rematlas: ", and leave the old output in place. With the option --json and status
0, standard output must be one JSON value.

REMATLAS_PROGRAMS names the build. One line for each fault is written to stderr.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from faults import GRAPHS, OLD, PROGRAM, tell_and_exit

ROOT = pathlib.Path(__file__).resolve().parents[2]
# These commands are not tested. "serve" runs until somebody ends it; the others import torch, which takes
# seconds.
LEFT_OUT = {"serve", "capture", "run", "links", "fits"}
OPTION = re.compile(r"^  (?:-\w,)?(--[a-z][a-z0-9-]*)((?:.*\n)(?: {10,}.*\n)*)", re.MULTILINE)
INPUTS = {  # the files that a command reads; a command that is not listed gets any files
    **dict.fromkeys(("inspect", "decompose", "solve", "sweep"), ("gpt.graph.json", "mlp.graph.json")),
    "maxbatch": ("mlp.graph.json mlp.graph.json",),
    "check": ("gpt.graph.json gpt.schedule.json",),
    "export": ("gpt.schedule.json", "mlp.sweep.json"),
    "diff": ("gpt.schedule.json gpt.schedule.json",),
    "draw": ("gpt.graph.json", "gpt.schedule.json", "mlp.sweep.json", "gpt.plan"),
    "report": ("mlp.graph.json mlp.sweep.json", "gpt.graph.json gpt.schedule.json"),
    "dtr": ("seeds/trace_log/calls.log",),
}
NUMBERS = """0 1 2 3 7 -1 -0 +1 1.5 0.5 1e3 1e400 -1e400 nan inf -inf 0x10 1,5 9223372036854775807
    9223372036854775808 -9223372036854775808 18446744073709551616 1000000""".split()
SIZES = """0 1 4096 2GiB 512MiB 1500MB 8EiB 7.99EiB 16EiB -2GiB 1.5GiB 1e-9GiB 2GB 2gib 2Gi GiB 0B 1KiB 1MiB
    10MiB 60% 0% 100% 101% -5% 1e-300% 60%% nan% 60.5% 99.999999999% 60%x""".split()
SIZES += ["60% of activations", "0% of activations", "60% of", "60 %", "2 GiB", "100MiB,50%,90%"]
TIMES = "0 0s 1s 2s 10ms 1m 1us -1s 1e9 1e9s nan s 1h1 100ms 0.1s 1ns".split()
PINS = """blocks.*=recompute *=keep *=free *=offload #0=keep #1=recompute #99999=keep = =keep a= a=b *=*
    blocks.0=keep,blocks.1=recompute [=keep **=keep""".split()
WORDS = [
    "",
    "-",
    "--",
    "---",
    "-x",
    "--x",
    "a\nb",
    "%s%n",
    "x" * 5000,
    "Modèle",
    "\udcff\udcfe",
    "null",
    "{}",
    "[]",
    "true",
]
ENDINGS = (".json", ".plan", ".svg", ".html", ".png", ".csv", "")
FIXED = {"--help", "--version", "--time-limit", "--output"}  # options that are not chosen at random


class Files:
    """A folder with files of each kind."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        for graph in GRAPHS.glob("*.json"):
            shutil.copy(graph, self.folder)
        self.make("solve gpt.graph.json --budget 80% --time-limit 1s -o gpt.schedule.json")
        self.make("sweep mlp.graph.json --solver dtr --budgets 4 -o mlp.sweep.json")
        self.make("export gpt.schedule.json -o gpt.plan")
        whole = sorted(path.name for path in self.folder.iterdir())
        for name in whole:
            text = (self.folder / name).read_bytes()
            (self.folder / f"cut.{name}").write_bytes(text[: len(text) // 2])
        for name, text in {"empty.json": b"", "zero.plan": bytes(64), "deep.json": b"[" * 100_000}.items():
            (self.folder / name).write_bytes(text)
        (self.folder / "folder").mkdir()
        (self.folder / "loop").symlink_to("loop")
        self.whole = whole
        self.all = sorted(path.name for path in self.folder.iterdir())
        self.all += ["missing.json", "missing/x.json", "/dev/null", "/dev/full", "/", "."]
        shutil.copytree(ROOT / "tests" / "fuzz" / "seeds", self.folder / "seeds")
        self.seeds = [str(path) for path in sorted((self.folder / "seeds").rglob("*")) if path.is_file()]

    def make(self, words):
        subprocess.run([PROGRAM, *words.split()], cwd=self.folder, check=True, capture_output=True)


class Option:
    """An option of a command. `told`: what the command's --help says of it."""

    def __init__(self, name, told):
        self.name, told = name, told.strip()
        kind = re.match(r"(TEXT|INT|UINT|FLOAT)", told)
        self.takes_value = kind is not None
        self.is_number = self.takes_value and kind[1] != "TEXT"
        listed = re.search(r"\{([^}]+)\}", told)
        self.choices = listed[1].split(",") if listed else re.findall(r"\b[a-z][a-z0-9-]+\b", told)


class CommandLines:
    def __init__(self, files, options):
        self.files, self.options = files, options
        self.random = random.Random(options.seed)
        self.counts, self.bad = collections.Counter(), collections.Counter()
        listed = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
        names = re.findall(r"^  ([a-z]+)  ", listed, re.MULTILINE)
        self.commands = {name: self.options_of(name) for name in names if name not in LEFT_OUT}

    @staticmethod
    def options_of(name):
        told = subprocess.run([PROGRAM, name, "--help"], capture_output=True, text=True, check=True).stdout
        return [Option(*found) for found in OPTION.findall(told)]

    def value(self, option=None):
        """Returns a random word. In three of four cases it is of the kind that the option takes."""
        pick = self.random.choice
        if option is not None and self.random.random() < 0.75:
            if option.is_number:
                return pick(NUMBERS[: pick((6, len(NUMBERS)))])
            if "budget" in option.name or "bytes" in option.name or "memory" in option.name:
                return pick(SIZES)
            if "time" in option.name:
                return pick(TIMES)
            if "pin" in option.name:
                return pick(PINS)
            if option.choices:
                return pick(option.choices)
        files = self.files
        return pick(pick((NUMBERS, SIZES, TIMES, PINS, WORDS, files.all, files.whole, files.seeds)))

    def inputs(self, command):
        """Returns the words before the options. In two of three cases they are files that the command can
        read, otherwise random files."""
        if self.random.random() < 0.67 and command in INPUTS:
            return self.random.choice(INPUTS[command]).split()
        pool = self.files.whole if self.random.random() < 0.5 else self.files.all
        words = [self.random.choice(pool) for _ in range(self.random.choice((0, 1, 1, 2, 2, 3)))]
        return words + [self.value()] * (self.random.random() < 0.1)

    def line(self):
        """Returns the words of a command line, without the program."""
        name = self.random.choice(list(self.commands))
        words = [name, *self.inputs(name)]
        options = {option.name: option for option in self.commands[name]}
        free = [option for option in options.values() if option.name not in FIXED]
        for option in self.random.sample(free, min(len(free), self.random.randrange(4))):
            words += [option.name, self.value(option)] if option.takes_value else [option.name]
        if "--budget" in options and "--budget" not in words and self.random.random() < 0.8:
            words += ["--budget", "90%"]
        if "--time-limit" in options:  # otherwise a solver can take a minute
            words += ["--time-limit", "1s" if self.random.random() < 0.9 else self.random.choice(TIMES)]
        if "--output" in options and self.random.random() < 0.8:
            words += ["-o", "out/made" + self.random.choice(ENDINGS)]
        return words

    def tell(self, what, words, text):
        self.bad[what] += 1
        print(
            f"{what}: {text}: rematlas {shlex.join(words)[:600]}".encode(errors="replace").decode(),
            file=sys.stderr,
            flush=True,
        )

    def run(self, words):
        out = self.files.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        made = next((self.files.folder / word for word in words if word.startswith("out/made")), None)
        if made is not None:
            made.write_bytes(OLD)
        environment = os.environ | {"REMATLAS_CACHE": ""}
        line = [PROGRAM, *(os.fsencode(word) for word in words)]
        try:
            done = subprocess.run(
                line, cwd=self.files.folder, env=environment, capture_output=True,
                stdin=subprocess.DEVNULL, timeout=self.options.seconds,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            self.tell("hang", words, f"no end in {self.options.seconds} s")
            return
        self.counts[f"status {done.returncode}" if done.returncode >= 0 else "signal"] += 1
        self.judge(words, done, made)

    def judge(self, words, done, made):
        lines = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
        if done.returncode not in (0, 1, 2):
            return self.tell("status", words, f"status {done.returncode}, {' '.join(lines)[:200]}")
        if done.returncode == 2 and (len(lines) != 1 or not lines[0].startswith("rematlas: ")):
            self.tell("lines", words, f"{len(lines)} lines: {lines[:2]}")
        if done.returncode == 1 and not (lines or done.stdout.strip()):
            self.tell("lines", words, "status 1 without a word")
        if done.returncode == 2 and made is not None and (not made.exists() or made.read_bytes() != OLD):
            self.tell("output", words, "status 2, and the old output is gone")
        if made is not None and (strays := [path.name for path in made.parent.iterdir() if path != made]):
            self.tell("strays", words, f"left {strays}")
        if done.returncode == 0 and "--json" in words:
            try:
                json.loads(done.stdout)
            except ValueError:
                self.tell("json", words, f"standard output is not JSON: {done.stdout[:80]!r}")

    def rows(self):
        yield from ((name, 1, count, "") for name, count in sorted(self.counts.items()))
        for what in ("hang", "status", "lines", "output", "strays", "json"):
            yield f"bad: {what}", 1, self.bad[what], ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--output")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tried = CommandLines(Files(folder), options)
        for _ in range(options.count):
            tried.run(tried.line())
    tell_and_exit(tried, options.output)


if __name__ == "__main__":
    main()
