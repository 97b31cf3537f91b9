#!/usr/bin/env python3
"""Measures the cost of online eviction against plain training: CSV of name,run,value,unit.

    evict.py [--models resnet50,gpt12,small] [--shares 0.9,0.7,0.5] [--rounds 5] [--long 10000]
             [--output FILE]                                   REMATLAS_PROGRAMS names the build

Times are processor times on one thread, so other programs disturb them little. The compared programs run
in turns. The column `run` has the number of the round, `median`, which compares the medians of all rounds, or
`best`, which compares the fastest steps, because these were disturbed least.

Measured without evictions, with each program in its own process: step: time of a step over that of a plain
step. op: the additional time of a step, divided by its number of ops; on large models this time is a small
difference of two large numbers, so it is inexact. ops: the number of ops. faults: pages that a step touches
for the first time, beyond those of a plain step. peak: peak of the counted bytes over that of plain steps.
The model `small` has steps of 60 ops on tiny tensors, whose time is nearly all bookkeeping.

Measured within a budget. SHARE says how much of the evictable bytes the budget leaves. The evictable bytes
are those of the peak, without the bytes that live from step to step and the gradients of parameters.
system@SHARE: time of a step over that of a plain step. simulated@SHARE: time of all runs of ops over that of
their first runs, in a simulation of the same program. The simulation uses the costs measured in the real run.
above@SHARE: the difference of these two, in points. reruns@SHARE: number of reruns in a step.
as_simulated@SHARE: 1 if the simulation has as many evictions and reruns as the real step.

Measured over many steps of a small model with evictions in each step: the number of ops that the system knows
and the memory of the process, after a tenth of the steps and at the end.
"""

import argparse
import contextlib
import gc
import json
import mmap
import pathlib
import resource
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "runtime" / "python"), str(ROOT / "resources" / "models")]

import torch  # noqa: E402
from torch import nn  # noqa: E402

import export  # noqa: E402
import rematlas  # noqa: E402
from rematlas.library import ops  # noqa: E402

UNLIMITED = 1 << 50
WARM_UP = 8  # steps until the process takes no more memory; fewer are needed without eviction
out = sys.stdout


def say(name, run, value, unit):
    for to in {out, sys.stdout}:
        print(f"{name},{run},{value},{unit}", file=to, flush=True)


def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


class Course:
    def __init__(self, name):
        torch.manual_seed(0)
        if name == "small":
            layers = (layer for _ in range(6) for layer in (nn.Linear(8, 8), nn.ReLU()))
            self.module, self.x = nn.Sequential(*layers), torch.ones(4, 8)
        elif name == "long":
            layers = (layer for _ in range(4) for layer in (nn.Linear(32, 32), nn.Tanh(), nn.Dropout(0.1)))
            self.module, self.x = nn.Sequential(*layers), torch.randn(64, 32)
        else:
            build, inputs, _ = export.LARGE[name]
            ((self.x, _),) = inputs()
            self.module = build()
        self.optimizer = torch.optim.SGD(self.module.parameters(), lr=1e-3)

    def step(self):
        began = time.process_time()
        self.module(self.x).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return time.process_time() - began

    def steps(self, count):
        """Runs `count` steps. Returns their median time."""
        return statistics.median(self.step() for _ in range(count))

    def extent(self):
        """Runs two plain steps. Returns two numbers of bytes: the bytes that cannot be evicted (gradients of
        parameters included), and the peak."""
        self.step()
        gc.collect()
        lasting = ops.counted_bytes() + sum(p.nbytes for p in self.module.parameters())
        ops.reset_counted_peak()
        self.step()
        return lasting, ops.counted_peak_bytes()


def alone(name, evicting, steps):
    """Runs in its own process. Measures steps, and prints the seconds of each step, the numbers of ops and of
    page faults in a step, and the peak of the counted bytes."""
    course = Course(name)
    course.step()
    with rematlas.evict(course.module, UNLIMITED) if evicting else contextlib.nullcontext() as context:
        for _ in range(WARM_UP):
            course.step()
        ops.reset_counted_peak()
        calls, pages = context.status().calls if evicting else 0, faults()
        times = [course.step() for _ in range(steps)]
        calls = (context.status().calls - calls) / steps if evicting else 0
        print(json.dumps([times, calls, (faults() - pages) / steps, ops.counted_peak_bytes()]))


def bookkeeping(name, rounds, steps):
    """Measures steps without evictions, in processes that run in turns. Several processes are needed, because
    the placement of a process's pages makes a larger difference than the bookkeeping."""
    rows, plain_times, our_times = [], [], []
    for run in range(rounds):
        found = []
        for evicting in ("", "evicting"):
            command = [sys.executable, __file__, "--alone", name, evicting, str(steps)]
            found.append(
                json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
            )
        (plain, _, plain_faults, plain_peak), (ours, calls, our_faults, our_peak) = found
        plain_times.append(plain)
        our_times.append(ours)
        took, takes = statistics.median(plain), statistics.median(ours)
        rows.append((takes / took, 1e6 * (takes - took) / calls, our_faults - plain_faults))
        for what, unit, value in zip(("step", "op", "faults"), ("ratio", "us", "pages"), rows[-1]):
            say(f"{what}/{name}", run, f"{value:.4f}", unit)
    for which, of in (("median", statistics.median), ("best", min)):
        took, takes = (of(map(of, times)) for times in (plain_times, our_times))
        say(f"step/{name}", which, f"{takes / took:.4f}", "ratio")
        say(f"op/{name}", which, f"{1e6 * (takes - took) / calls:.2f}", "us")
    say(f"faults/{name}", "median", f"{statistics.median(row[2] for row in rows):.0f}", "pages")
    say(f"ops/{name}", "median", f"{calls:.0f}", "ops")
    say(f"peak/{name}", "median", f"{our_peak / plain_peak:.5f}", "ratio")


def overheads(name, shares, rounds, steps):
    course = Course(name)
    lasting, peak = course.extent()
    found = {share: [] for share in shares}
    for run in range(rounds):
        for share in shares:
            before_ours = course.steps(steps)
            budget = lasting + int(share * (peak - lasting))
            with rematlas.evict(course.module, budget, thrash=1e6) as context:
                for _ in range(WARM_UP):
                    course.step()
                before = context.status()
                ours = course.steps(steps)
                status = context.status()
            after_ours = course.steps(steps)
            theirs, same = simulated(course, budget)
            system = ours / ((before_ours + after_ours) / 2)
            reruns = (status.rematerializations - before.rematerializations) / steps
            found[share].append((system, theirs, 100 * (system - theirs), reruns, int(same)))
            report(name, share, run, found[share][-1])
    for share in shares:
        report(name, share, "median", [statistics.median(values) for values in zip(*found[share])])


def simulated(course, budget):
    """Runs two steps with a log, then simulates the log. Returns the simulated overhead, and whether the
    simulation has as many evictions and reruns as the real run."""
    gc.collect()
    alive = ops.counted_bytes()
    with rematlas.evict(course.module, budget, thrash=1e6, log=True) as context:
        course.step()
        course.step()
        status = context.status()
        found = json.loads(context.eviction.simulate(budget - alive))
    same = (found["evictions"], found["rematerializations"]) == (status.evictions, status.rematerializations)
    return found["time_ns"] / found["base_time_ns"], same


def report(name, share, run, row):
    units = ("ratio", "ratio", "points", "ops", "bool")
    for what, value, unit in zip(("system", "simulated", "above", "reruns", "as_simulated"), row, units):
        say(f"{what}@{share}/{name}", run, f"{value:.4g}", unit)


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def growth(count):
    course = Course("long")
    lasting, peak = course.extent()
    with rematlas.evict(course.module, lasting + (peak - lasting) * 6 // 10) as context:
        for number in range(1, count + 1):
            course.step()
            if number in (count // 10, count):
                status = context.status()
                say("known", number, status.known_ops, "ops")
                say("resident", number, f"{resident() / 2**20:.2f}", "MiB")
                say("evictions", number, status.evictions, "evictions")


def main():
    global out
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", default="resnet50,gpt12,small")
    parser.add_argument("--shares", default="0.9,0.7,0.5")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--long", type=int, default=10_000)
    parser.add_argument("--output")
    parser.add_argument("--alone", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.alone:
        name, evicting, steps = options.alone
        return alone(name, bool(evicting), int(steps))
    if options.output:
        out = open(options.output, "w")  # noqa: SIM115, open until the program ends
    for to in {out, sys.stdout}:
        print("name,run,value,unit", file=to)
    shares = [float(share) for share in options.shares.split(",") if share]
    for name in filter(None, options.models.split(",")):
        gc.collect()  # frees the previous model, whose bytes would otherwise count for this model
        bookkeeping(name, options.rounds, 300 if name == "small" else 5)
        gc.collect()
        if shares and name != "small":
            overheads(name, shares, options.rounds, 3)
    gc.collect()
    if options.long:
        growth(options.long)


if __name__ == "__main__":
    main()
