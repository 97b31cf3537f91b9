#!/usr/bin/env python3
"""Disturbs trainings of several Gloo processes at random: CSV of name,run,value,unit.

    chaos.py [runs] [ends] [--output FILE] [--count N] [--seed N ...] [--leave-out EVENT ...] [--logs FOLDER]

`runs`: runs `--count` short trainings, or one training for each seed of `--seed`. The seed decides
everything. The model is a GPT. It gathers a weight in its forward, or sums activations over the ranks, or
runs under FSDP2, tensor parallelism, both of them, or DistributedDataParallel. The seed also decides the
budget, pauses, accumulation, evaluation, and how one rank is disturbed: by another batch size, attribute,
mode or loss, or by an error. Each training first runs without a plan, then with one. The lines of a training
show these choices, for each rank the status and how often it took each course (lifecycle/together.py), and a
verdict: ok, different (other losses or weights), hang (a rank waited until a timeout), error, memory
(unplanned="evict" cannot keep the budget), or illegal (the training also fails without a plan).

`ends`: one rank ends at a stage of the training, by a signal, an error or a refusal. The other rank must end
by itself, with an error, at most 15 seconds after the timeout of its group. The line of a case has the
seconds until the other rank ended, and the last line of its stderr.

Each rank writes its stderr into the folder `--logs`. REMATLAS_PROGRAMS names the folder of the programs.
"""

import argparse
import collections
import contextlib
import csv
import dataclasses
import functools
import itertools
import json
import os
import pathlib
import signal
import socket
import sys
import tempfile
import time

from chaos_ranks import LEFT_OUT, STAGES, TIMEOUT, Training, run_rank

LONGEST = 120  # seconds after which a training is killed
MARGIN = 15  # seconds after the timeout of the group, in which the other rank of `ends` must end
LANES = 4  # groups that run at the same time
WAYS = ("SIGKILL", "SIGINT", "exception", "refusal")
# A training gets the first verdict of this list that one of its ranks has. `memory` is before `hang`: if one
# rank runs out of memory, the others wait for it until their timeout.
VERDICTS = ("illegal", "memory", "hang", "error", "different", "ok")


# This process starts the ranks by fork, so it must have no threads. The ranks need not import torch again.


class Ranks:
    """The processes of a group. `told`: for each rank, the JSON objects that it has printed. `codes`: exit
    codes; None while the process runs."""

    def __init__(self, logs, count, part, given):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        name = "_".join(map(str, (part, count, given[0]) if part == "runs" else (part, *given)))
        self.paths = [pathlib.Path(logs) / f"{name}.{rank}.log" for rank in range(count)]
        self.codes, self.told, self.read = [None] * count, [[] for _ in range(count)], [b""] * count
        self.pids, self.pipes, self.begin = [], [], time.monotonic()
        for rank, path in enumerate(self.paths):
            reads, writes = os.pipe()
            self.pids.append(os.fork())
            if not self.pids[-1]:
                os.dup2(writes, 1)
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
                run_rank(rank, count, port, part, given)
                sys.exit()  # ends the child; if run_rank raises, the exception ends it
            os.close(writes)
            os.set_blocking(reads, False)
            self.pipes.append(reads)

    def look(self) -> None:
        """Reads what the ranks have printed, and notes which of them have ended."""
        for rank, pid in enumerate(self.pids):
            if self.codes[rank] is None:
                found, status = os.waitpid(pid, os.WNOHANG)
                self.codes[rank] = os.waitstatus_to_exitcode(status) if found else None
            with contextlib.suppress(BlockingIOError):
                while data := os.read(self.pipes[rank], 65536):
                    self.read[rank] += data
            *lines, self.read[rank] = self.read[rank].split(b"\n")
            self.told[rank] += [json.loads(line) for line in lines if line.startswith(b"{")]

    def end(self) -> None:
        for rank, pid in enumerate(self.pids):
            if self.codes[rank] is None:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            os.close(self.pipes[rank])

    def seconds(self) -> float:
        return time.monotonic() - self.begin

    def last_line(self, rank) -> str:
        """Returns the last line of the rank's stderr. Skips notes about leaks, which appear when Python
        ends."""
        lines = self.paths[rank].read_text(errors="replace").strip().splitlines()
        return ([line for line in lines if "nanobind" not in line and line[:3] != " - "] or [""])[-1]


def follow(lanes, look) -> None:
    """Works on several lanes at the same time. A lane is a pair: a function that starts `Ranks` for a list of
    items, and this list. `look` gets the `Ranks` and the items. It returns None while the `Ranks` must go on.
    Otherwise it returns the items that remain, and new `Ranks` are started for them."""
    lanes = [[make, items, None] for make, items in lanes if items]
    while lanes:
        for lane in lanes:
            make, items, group = lane
            group = lane[2] = group or make(items)
            group.look()
            left = look(group, items)
            if left is not None:
                group.end()
                lane[1:] = left, None
        lanes = [lane for lane in lanes if lane[1]]
        time.sleep(0.01)


class Runs:
    """The part `runs`. Counts trainings by verdict, and the trainings with the verdict `ok` by their last
    state."""

    def __init__(self):
        self.verdicts, self.states, self.slowest = collections.Counter(), collections.Counter(), 0.0

    def run(self, options) -> None:
        seeds = options.seed or list(range(options.count))
        fours = [] if options.seed else seeds[::10]
        twos = [seed for seed in seeds if seed not in fours]
        given = [(options.ranks, twos[lane :: LANES - 1]) for lane in range(LANES - 1)] + [(4, fours)]
        lanes = [(functools.partial(self.make, options.logs, count), own) for count, own in given]
        follow(lanes, self.look)

    def make(self, logs, count, seeds) -> Ranks:
        return Ranks(logs, count, "runs", seeds)

    def look(self, group, seeds):
        is_late = group.seconds() > LONGEST
        missing = [rank for rank, told in enumerate(group.told) if not told]
        if any(group.codes[rank] is None for rank in missing) and not is_late:
            return None
        for rank in missing:
            verdict = "error" if group.codes[rank] is not None else "hang"
            group.told[rank].append({"verdict": verdict, "text": group.last_line(rank)})
        training = Training.of(seeds[0], len(group.told))
        verdict = self.note(training, [told.pop(0) for told in group.told], group.seconds())
        group.begin = time.monotonic()
        is_spent = len(seeds) == 1 or verdict not in ("ok", "different")
        del seeds[0]
        return seeds if is_spent else None

    def note(self, training, found, seconds) -> str:
        """Prints the messages of the ranks about a training. Returns its verdict."""
        verdict = min((facts["verdict"] for facts in found), key=VERDICTS.index)
        self.verdicts[verdict] += 1
        self.slowest = max(self.slowest, seconds)
        self.states[found[0]["text"].split()[0] if verdict == "ok" else ""] += 1
        drawn = dataclasses.asdict(training)
        events = [event[:3] for event in sorted(drawn.pop("events"))]
        print(f"{verdict}: {' '.join(map(str, drawn.values()))} {events} {seconds:.1f} s")
        for rank, facts in enumerate(found):
            print(f"    rank {rank}: {facts['verdict']} {facts['text']}", flush=True)
        return verdict

    def rows(self) -> list:
        rows = [("trainings", 1, self.verdicts.total(), "")]
        rows += [
            (name, 1, self.verdicts[name.removesuffix("s")], "") for name in ("ok", "different", "hangs")
        ]
        rows += [
            (name, 1, self.verdicts[name.removesuffix("s")], "") for name in ("errors", "memory", "illegal")
        ]
        rows += [(f"ok and {state}", 1, count, "") for state, count in sorted(self.states.items()) if state]
        rows += [("left out", 1, " ".join(sorted(LEFT_OUT)), "")] if LEFT_OUT else []
        return [*rows, ("slowest training", 1, round(self.slowest, 1), "seconds")]


class Ends:
    """The part `ends`. For each way in which one rank ends, notes the longest time until the other rank
    ended."""

    def __init__(self):
        self.longest, self.failed = dict.fromkeys(WAYS, 0.0), collections.Counter()

    def run(self, options) -> None:
        stages = (*STAGES, "planned", "backward", "between")
        cases = list(itertools.product(stages, WAYS, (0, 1)))
        cases = [(*case, ("gathered", "fsdp")[(place // 2 + place) % 2]) for place, case in enumerate(cases)]
        make = functools.partial(self.make, options.logs)
        follow([(make, cases[lane::LANES]) for lane in range(LANES)], self.look)

    def make(self, logs, cases) -> Ranks:
        return Ranks(logs, 2, "ends", cases[0])

    def look(self, group, cases):
        (_, way, ender, _), *left = cases
        other, told = 1 - ender, group.told[ender]
        if told and told[0].pop("ends", False):
            group.begin = time.monotonic()
        seconds, code = group.seconds(), group.codes[other]
        if code is None and seconds <= (TIMEOUT + MARGIN if told else LONGEST):
            return None
        line = group.last_line(other)
        is_well = told and code not in (None, 0) and "Error" in line
        how = "has not ended" if code is None else f"ended with {code}"
        self.longest[way] = max(self.longest[way], seconds if told else 0)
        self.failed[way] += not is_well
        print(f"{'ok' if is_well else 'FAILED'}: {' '.join(map(str, cases[0]))}: {seconds:.1f} s", end="")
        print(f"{'' if told else ' (no rank ended)'}, rank {other} {how}: {line[:150]}", flush=True)
        return left

    def rows(self) -> list:
        rows = [(f"others end after {way}", 1, round(self.longest[way], 1), "seconds") for way in WAYS]
        return rows + [(f"others end badly after {way}", 1, self.failed[way], "") for way in WAYS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", help="runs, ends; both by default")
    parser.add_argument("--output")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, nargs="*")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument(
        "--leave-out", nargs="*", default=[], help="events that do not happen; wait: of one rank alone"
    )
    parser.add_argument("--logs", default=tempfile.gettempdir())
    options = parser.parse_args()
    LEFT_OUT.update(options.leave_out)
    rows = [("name", "run", "value", "unit")]
    for name, part in {"runs": Runs(), "ends": Ends()}.items():
        if not options.parts or name in options.parts:
            part.run(options)
            rows += part.rows()
    for row in rows:
        print(",".join(map(str, row)))
    if options.output:
        with open(options.output, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
