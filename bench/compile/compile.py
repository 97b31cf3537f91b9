#!/usr/bin/env python3
"""Compares budgets under torch.compile with torch's own memory budget: CSV of name,run,value,unit.

    compile.py [--output FILE] [--models TEXT] [--rounds N]        REMATLAS_PROGRAMS names the build

Each model is trained in three ways: with plain torch.compile, under torch._functorch's
activation_memory_budget, and by rematlas.compile under six budgets, which are the shares SHARES of the peak.
`peak`: bytes of tensors beyond those that live before the step. `time`: time of a step over that of a plainly
compiled step. Both times are medians over rounds; in a round, every compiled step runs once. `gradients`:
the largest difference from the gradients of the plain step, relative to the largest entry of the tensor, or
to SMALL times the largest entry of all tensors if that is more. (The gradient of a bias in front of a batch
normalization is zero except for rounding.) `rounding`: the same difference, between the gradients of the
plain step and those of the model in double precision without torch.compile.
"""

import argparse
import copy
import csv
import gc
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "runtime" / "python")]

SHARES = (90, 80, 70, 60, 50, 40)  # per cent
KNAPSACKS = (0.7, 0.5, 0.3, 0.15, 0.0)  # torch's budgets, as shares of the saved bytes
MIB = 1 << 20
SMALL = 1e-3
# With these settings the C library keeps freed memory, as caching allocators of GPUs do. Otherwise it would
# return pages to the system, and the page faults that bring them back would make step times differ.
KEEP_PAGES = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "MALLOC_TOP_PAD_": str(1 << 28),
}


class Training:
    """A model and its inputs, which all compiled steps share."""

    def __init__(self, name):
        import torch

        import rematlas  # noqa: F401  (counts tensors)
        from compiled_models import MODELS
        from rematlas.library import ops

        torch.set_num_threads(1)
        torch._dynamo.config.recompile_limit = 64
        torch.manual_seed(0)
        self.torch, self.ops = torch, ops
        self.module, self.arguments = MODELS[name]()
        self.functions = 0
        self.kept = [tensor.clone() for tensor in self.module.buffers()]

    def function(self):
        """Returns the step as a function that has its own code object. Dynamo keeps compiled graphs for each
        code object, so each such function is compiled anew."""
        self.functions += 1
        made = {"module": self.module}
        exec(f"def step_{self.functions}(*arguments):\n    return module(*arguments)", made)
        return made[f"step_{self.functions}"]

    def step(self, compiled) -> float:
        """Returns the duration of a step in seconds. The random numbers are the same in each step."""
        self.torch.manual_seed(1)
        began = time.perf_counter()
        compiled(*self.arguments).backward()
        return time.perf_counter() - began

    def end_step(self) -> None:
        self.module.zero_grad()
        for tensor, before in zip(self.module.buffers(), self.kept):
            tensor.copy_(before)

    def first_step(self, compiled) -> float:
        took = self.step(compiled)
        self.end_step()
        return took

    def peak(self, compiled) -> int:
        gc.collect()
        before = self.ops.counted_bytes()
        self.ops.reset_counted_peak()
        self.step(compiled)
        peak = self.ops.counted_peak_bytes()
        self.end_step()
        return peak - before

    def gradients(self, compiled) -> list:
        """Returns the gradients of a step as numpy arrays, because the count of tensor bytes does not include
        numpy's memory."""
        self.step(compiled)
        found = [p.grad.numpy().copy() for p in self.module.parameters() if p.grad is not None]
        self.end_step()
        return found

    def exact_gradients(self) -> list | None:
        """Returns the gradients in double precision, without torch.compile. Returns None if the model draws
        random numbers, because it would draw different ones in double precision."""
        if any(isinstance(part, self.torch.nn.Dropout) and part.p > 0 for part in self.module.modules()):
            return None
        module = copy.deepcopy(self.module).double()
        arguments = [given.double() if given.is_floating_point() else given for given in self.arguments]
        module(*arguments).backward()
        return [p.grad.numpy() for p in module.parameters() if p.grad is not None]

    def seconds_in_turn(self, steps, rounds) -> list:
        """Returns the median time of each step over the rounds. Every other round runs in reverse order."""
        seconds = [[] for _ in steps]
        for round_number in range(rounds):
            numbers = range(len(steps))
            for number in numbers if round_number % 2 == 0 else reversed(numbers):
                seconds[number].append(self.first_step(steps[number]))
        return [statistics.median(of_step) for of_step in seconds]


def difference(found, wanted) -> float:
    least = SMALL * max(abs(b).max() for b in wanted)
    return max(abs(a - b).max() / max(abs(b).max(), least) for a, b in zip(found, wanted, strict=True))


class Table:
    """Measures a model and writes its rows."""

    def __init__(self, name, rounds, output):
        self.name, self.rounds, self.output = name, rounds, output
        self.compiled = {}  # compiled steps by the name of the run
        self.training = Training(name)
        self.plain = self.training.torch.compile(self.training.function())
        self.plain_seconds = self.training.first_step(self.plain)
        self.plain_peak = max(self.training.peak(self.plain) for _ in range(2))
        self.wanted = self.training.gradients(self.plain)
        self.row("plain", "peak", f"{self.plain_peak / MIB:.1f}", "MiB")
        self.row("plain", "first step", f"{self.plain_seconds:.1f}", "s")
        exact = self.training.exact_gradients()
        if exact is not None:
            self.row("plain", "rounding", f"{difference(self.wanted, exact):.1e}", "relative")

    def row(self, run, what, value, unit) -> None:
        self.output.writerow((f"{self.name}, {what}", run, value, unit))
        sys.stdout.flush()

    def add(self, run, compiled, seconds) -> int:
        peak = max(self.training.peak(compiled) for _ in range(2))
        apart = difference(self.training.gradients(compiled), self.wanted)
        self.compiled[run] = compiled
        self.row(run, "peak", f"{peak / MIB:.1f}", "MiB")
        self.row(run, "gradients", f"{apart:.1e}", "relative")
        self.row(run, "first step", f"{seconds:.1f}", "s")
        return peak

    def add_times(self) -> None:
        plain, *others = self.training.seconds_in_turn([self.plain, *self.compiled.values()], self.rounds)
        for run, seconds in zip(self.compiled, others, strict=True):
            self.row(run, "time", f"{seconds / plain:.3f}", "x")

    def add_knapsack(self, share) -> None:
        torch = self.training.torch
        with torch._functorch.config.patch(activation_memory_budget=share):
            compiled = torch.compile(self.training.function())
            seconds = self.training.first_step(compiled)
        self.add(f"torch {share}", compiled, seconds)

    def add_ours(self, share) -> None:
        import rematlas

        gc.collect()
        before = self.training.ops.counted_bytes()
        budget = before + self.plain_peak * share // 100
        run = f"{share} %"
        self.row(run, "budget", f"{(budget - before) / MIB:.1f}", "MiB")
        compiled = rematlas.compile(self.training.function(), budget)
        try:
            seconds = self.training.first_step(compiled)
        except rematlas.Infeasible as refused:
            self.row(run, "refused", f"{(refused.needed - before) / MIB:.1f}", "MiB needed")
            return
        peak = self.add(run, compiled, seconds)
        (told,) = rematlas.status(compiled).graphs
        self.row(run, "planned", f"{((told.planned_bytes or told.plain_bytes) - before) / MIB:.1f}", "MiB")
        self.row(run, "lowered", f"{(told.lowered_bytes - before) / MIB:.1f}", "MiB")
        self.row(run, "overhead", f"{told.overhead:.3f}", "x by plan")
        self.row(run, "tries", told.tries, "schedules")
        self.row(run, "planning", f"{told.planning_seconds:.1f}", "s")
        self.row(run, "kept", int(peak <= budget - before), "bool")


def run_model(given) -> None:
    table = Table(given.model, given.rounds, csv.writer(sys.stdout, lineterminator="\n"))
    for share in () if given.without_torch else KNAPSACKS:
        table.add_knapsack(share)
    for share in given.shares:
        table.add_ours(share)
    table.add_times()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--models", default="", help="those whose names have this text")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--without-torch", action="store_true", help="leaves torch's memory budget out")
    parser.add_argument("--shares", type=int, nargs="+", default=SHARES, help="per cent")
    parser.add_argument("--model", help=argparse.SUPPRESS)  # measures this model alone, in this process
    given = parser.parse_args()
    if given.model:
        run_model(given)
        return 0
    from compiled_models import MODELS

    text = "name,run,value,unit\n"
    for name in MODELS:
        if given.models.lower() not in name.lower():
            continue
        with tempfile.TemporaryDirectory() as cache:
            command = (sys.executable, __file__, "--model", name, *sys.argv[1:])
            with subprocess.Popen(
                command,
                env={**os.environ, **KEEP_PAGES, "TORCHINDUCTOR_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"},
                stdout=subprocess.PIPE,
                text=True,
            ) as child:
                for line in child.stdout:
                    print(line, end="", flush=True)
                    text += line
        if child.returncode:
            print(f"{name}: ended with {child.returncode}", file=sys.stderr)
    if given.output:
        given.output.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
