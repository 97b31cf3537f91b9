#!/usr/bin/env python3
"""Runs the command line in unusual environments: CSV of name,run,value,unit.

    surroundings.py [places] [limits] [clocks] [disks] [caches] [--output FILE]

The program has five parts. It runs the parts that are named, or all of them if none is named. `places`: no
HOME, a HOME or a cache that cannot be written, other languages, paths with spaces, quotes, letters of other
scripts and line breaks, closed or full standard streams. `limits`: little address space, few open files,
small limits on the size of files. `clocks`: the time of day jumps at each call. `disks`: outputs and caches
on file systems of many sizes, from one page up to a sufficient size. `caches`: several processes use one
cache at the same time, and some of them are killed.

A command must give its complete answer, or end with status 1 or 2 and one line on stderr. If it fails, the
old output is still in place, with no file beside it. A broken cache, clock, language or path must not
prevent the answer. If file systems cannot be mounted or a language is missing, a part leaves out what needs
them. What is left out is written to stderr and to the CSV. REMATLAS_PROGRAMS names the folder of the
programs. One line for each wrong reaction is written to stderr.
"""

import argparse
import collections
import contextlib
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

from faults import LIMIT, OLD, Commands, tell_and_exit

ROOT = pathlib.Path(__file__).resolve().parents[2]
LANGUAGES = {"de_DE": "UTF-8", "tr_TR": "UTF-8", "ja_JP": "EUC-JP", "ar_EG": "UTF-8"}
NAMES = (
    "two words",
    'it\'s "quoted"',
    "Modèle 模型 ñ",
    "a\nb",
    "-o",
    "%s%n",
    "x" * 200,
    "\udcff\udcfe",
    "$(id);&|",
)
SIZES = [4096 * count for count in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 1024)]
MIB = 1 << 20


class Surroundings:
    def __init__(self, commands):
        self.commands = commands
        self.counts, self.bad, self.left_out = collections.Counter(), collections.Counter(), set()
        self.random = random.Random(1)

    def tell(self, part, command, given, text):
        self.bad[part] += 1
        print(f"{part}: {command.name}: {given}: {text}", file=sys.stderr, flush=True)

    def leave_out(self, what):
        if what not in self.left_out:
            print(f"left out: {what}", file=sys.stderr)
        self.left_out.add(what)

    @contextlib.contextmanager
    def output(self, command, folder=None):
        """Yields the path of a file with the old output. The folder has no other file, and is emptied at the
        end."""
        folder = folder or self.commands.folder / "out"
        folder.mkdir(exist_ok=True)
        out = folder / ("made" + (command.ending or ".json"))
        with contextlib.suppress(OSError):  # the disk can be too small for the file
            out.write_bytes(OLD)
        try:
            yield out
        finally:
            for path in folder.iterdir():
                path.unlink()

    def run(self, command, out, more=None, inputs=None, **options):
        """Runs a command. `more`: changes of the environment; the value None removes a variable. `inputs`:
        the folder of the command's input files. `options`: further arguments of `subprocess.run`."""
        environment = self.commands.environment | (more or {})
        environment = {name: value for name, value in environment.items() if value is not None}
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        line = command.line(inputs or self.commands.folder, out)
        done = subprocess.run(line, env=environment, timeout=LIMIT, cwd=self.commands.folder, **streams)
        done.stdout, done.stderr = (
            (text or b"").decode(errors="replace") for text in (done.stdout, done.stderr)
        )
        return done

    def judge(self, part, command, given, out, done, must_answer):
        """Checks the exit status, the lines on stderr and the files of a command that has ended."""
        self.counts[part] += 1
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        answers = done.returncode == 0 and self.commands.answer(command, out, done)
        if done.returncode < 0:
            self.tell(part, command, given, f"ended by signal {-done.returncode}: {' '.join(lines)[:200]}")
        elif done.returncode == 0 and not answers:
            self.tell(part, command, given, "status 0 without an answer")
        elif must_answer and not answers:
            self.tell(part, command, given, f"status {done.returncode}: {' '.join(lines)[:200]}")
        elif done.returncode and (done.returncode not in (1, 2) or len(lines) != 1):
            self.tell(part, command, given, f"status {done.returncode}, {len(lines)} lines: {lines[:2]}")
        elif done.returncode and command.ending and out.exists() and out.read_bytes() not in (OLD, b""):
            self.tell(part, command, given, "another output than the old one")
        elif strays := self.commands.strays(out):
            self.tell(part, command, given, f"left {strays}")

    def each(self, part, given, must_answer=True, commands=None, folder=None, **options):
        """Runs each command. `given`: the environment in words, for messages. `folder`: the folder of the
        outputs. `options`: arguments of `run`."""
        for command in commands or self.commands.commands:
            with self.output(command, folder) as out:
                try:
                    done = self.run(command, out, **options)
                except subprocess.TimeoutExpired:
                    self.tell(part, command, given, f"no end in {LIMIT} s")
                    continue
                self.judge(part, command, given, out, done, must_answer)

    # Each part is a method with the name of the part.

    def places(self):
        nowhere = {"REMATLAS_CACHE": None, "XDG_CACHE_HOME": None}
        self.each("places", "no HOME", more=nowhere | {"HOME": None})
        self.each("places", "HOME=/proc", more=nowhere | {"HOME": "/proc"})
        self.each("places", "HOME=/dev/null", more=nowhere | {"HOME": "/dev/null"})
        self.each("places", "the cache is a device", more={"REMATLAS_CACHE": "/dev/null"})
        self.each("places", "no TMPDIR", more={"TMPDIR": "/nowhere"})
        self.each("places", "a narrow terminal", more={"COLUMNS": "1", "TERM": "nonsense"})
        for language, more in self.languages():
            self.each("places", f"language {language}", more=more)
        for name in NAMES:
            folder = self.commands.folder / name
            folder.mkdir()
            for path in self.commands.folder.glob("*.json"):
                shutil.copy(path, folder)
            inputs = os.fsdecode(os.fsencode(folder))
            (folder / "out").mkdir()
            shutil.copy(self.commands.folder / "trained.py", folder)
            self.each("places", f"folder {name!a}", True, self.commands.all, folder / "out", inputs=inputs)
        self.each("places", "closed input", stdin=subprocess.DEVNULL, preexec_fn=lambda: os.close(0))
        with open("/dev/full", "w") as full:
            for command in self.commands.commands:
                if not command.ending:
                    done = self.run(command, None, stdout=full)
                    self.counts["places"] += 1
                    if done.returncode == 0:
                        self.tell("places", command, "full output", "status 0")

    def languages(self):
        yield "nonsense", {"LC_ALL": "xx_YY.nonsense"}
        yield "C", {"LC_ALL": "C"}
        made = self.commands.folder / "languages"
        made.mkdir(exist_ok=True)
        for name, letters in LANGUAGES.items():
            line = ["localedef", "-i", name, "-f", letters, made / f"{name}.{letters}"]
            try:
                subprocess.run(line, check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError):
                self.leave_out(f"language {name} (apt-get install locales)")
                continue
            yield name, {"LC_ALL": f"{name}.{letters}", "LOCPATH": str(made)}

    def limits(self):
        for what, numbers in (
            (resource.RLIMIT_AS, [count * MIB for count in (64, 128, 256, 384, 512, 1024, 4096)]),
            (resource.RLIMIT_NOFILE, [4, 5, 6, 8, 16]),
            (resource.RLIMIT_FSIZE, [0, 1, 1000, 4096, 100_000]),
            (resource.RLIMIT_STACK, [256 << 10, MIB]),
            (resource.RLIMIT_NPROC, [1]),
        ):
            for number in numbers:

                def limit(what=what, number=number):
                    resource.setrlimit(what, (number, number))

                self.each("limits", f"limit {what} of {number}", must_answer=False, preexec_fn=limit)

    def clocks(self):
        made = self.commands.folder / "jumping_clock.so"
        source = pathlib.Path(__file__).with_name("jumping_clock.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", source, "-o", made, "-ldl"], check=True)
        for jump in ("3600", "-3600", "random", "zero", "late"):
            self.each("clocks", f"time of day: {jump}", more={"LD_PRELOAD": str(made), "CLOCK_JUMP": jump})

    def disks(self):
        for size in SIZES:
            with mounted(self.commands.folder / "disk", size) as disk:
                if disk is None:
                    return self.leave_out("disks (only root mounts file systems)")
                self.each("disks", f"output on a disk of {size} bytes", must_answer=False, folder=disk)
            with mounted(self.commands.folder / "disk", size) as disk:
                self.each(
                    "disks", f"cache on a disk of {size} bytes", more={"REMATLAS_CACHE": f"{disk}/cache"}
                )
        with mounted(self.commands.folder / "disk", MIB, "ro") as disk:
            more = {"REMATLAS_CACHE": f"{disk}/cache", "HOME": str(disk)}
            self.each("disks", "cache and HOME that can only be read", more=more)

    def caches(self):
        """Runs eight processes at a time with one cache, and kills two of them."""
        for number in range(40):
            command = self.commands.commands[number % len(self.commands.commands)]
            if number % 4 == 0:
                shutil.rmtree(self.commands.cache, ignore_errors=True)
            outs, running = [], []
            for place in range(8):
                folder = self.commands.folder / f"out{place}"
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                outs.append(folder / ("made" + (command.ending or ".json")))
                line = command.line(self.commands.folder, outs[-1])
                pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
                running.append(subprocess.Popen(line, env=self.commands.environment, **pipes))
            for process in running[:2]:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(self.random.random() * 2 * command.seconds)
                process.kill()
            for out, process in zip(outs, running, strict=True):
                text, errors = process.communicate(timeout=LIMIT)
                if process.returncode == -signal.SIGKILL:
                    continue
                done = subprocess.CompletedProcess(process.args, process.returncode, text, errors)
                self.judge("caches", command, f"round {number}", out, done, True)

    def rows(self):
        for part, count in self.counts.items():
            yield (part, 1, count, "")
            yield (f"bad: {part}", 1, self.bad[part], "")
        yield ("left out", 1, "; ".join(sorted(self.left_out)), "")


@contextlib.contextmanager
def mounted(folder, size, *options):
    """Mounts a file system of `size` bytes at `folder`, and yields the folder. Yields None if this user
    cannot mount file systems."""
    folder.mkdir(exist_ok=True)
    given = ",".join((f"size={size}", *options))
    line = ["mount", "-t", "tmpfs", "-o", given, "tmpfs", folder]
    if subprocess.run(line, capture_output=True).returncode:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


PARTS = ("places", "limits", "clocks", "disks", "caches")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)}; all by default")
    parser.add_argument("--output")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        surroundings = Surroundings(Commands(folder))
        for part in options.parts or PARTS:
            getattr(surroundings, part)()
    tell_and_exit(surroundings, options.output)


if __name__ == "__main__":
    main()
