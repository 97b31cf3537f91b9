#!/usr/bin/env python3
"""Trains small models for very many steps: CSV of name,run,value,unit.

    long_runs.py [WAY ...] [--steps N] [--output FILE]

Each way trains one model under Rematlas and an equal model without Rematlas, on the same batches. It compares
the losses of each step and the weights at the end, bit by bit. The memory of the process is noted a hundred
times, at equal distances. `growth`: the slope, in bytes a step, of a line through these numbers; the first
fifth of them is left out.

REMATLAS_PROGRAMS names the folder of the programs.
"""

import argparse
import contextlib
import copy
import gc
import pathlib
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "runtime" / "python")]

import torch  # noqa: E402
from torch import nn  # noqa: E402

import rematlas  # noqa: E402
from memory import resident, slope  # noqa: E402
from rows import HEAD, write  # noqa: E402

WIDTH, BATCH = 16, 64


class Raised(Exception):
    """Raised by the forward of a model whose `raises` is set."""


class Model(nn.Module):
    """Without dropout if threads train at the same time, since all threads draw from one generator."""

    def __init__(self, way):
        super().__init__()
        self.layers = nn.Sequential(
            *(
                layer
                for _ in range(2)
                for layer in (
                    nn.Linear(WIDTH, 4 * WIDTH),
                    nn.GELU(),
                    nn.Identity() if way == "threads" else nn.Dropout(0.1),
                    nn.Linear(4 * WIDTH, WIDTH),
                    nn.LayerNorm(WIDTH),
                )
            )
        )
        self.raises = False

    def forward(self, x):
        half = len(self.layers) // 2
        for number, layer in enumerate(self.layers):
            if self.raises and number == half:
                raise Raised
            x = layer(x)
        return x


class Side:
    """A model and its optimizer. `way`: a key of `WAYS`, which says how the model is trained."""

    def __init__(self, way, with_plan):
        torch.manual_seed(0)
        self.way, self.with_plan = way, with_plan
        self.replayed = 0  # steps by plans of models that a restart has replaced
        self.model = Model(self.way)
        self.optimizer = self.new_optimizer()
        self.begin()

    def new_optimizer(self):
        fused = self.way == "optimizer"
        return torch.optim.AdamW(self.model.parameters(), 1e-4, fused=fused)

    def begin(self):
        if not self.with_plan or self.way == "eviction":
            return
        options = {"time_limit": 1.0}
        if self.way == "optimizer":
            options["optimizer"] = self.optimizer
        if self.way == "offloading":
            options |= {"offload": "activations", "links": "pcie5"}
        rematlas.apply(self.model, "450KiB" if self.way == "bytes" else "75%", **options)

    def restart(self):
        self.replayed = self.all_replayed()
        states = copy.deepcopy((self.model.state_dict(), self.optimizer.state_dict()))
        self.model = Model(self.way)
        self.model.load_state_dict(states[0])
        self.optimizer = self.new_optimizer()
        self.optimizer.load_state_dict(states[1])
        self.begin()

    def all_replayed(self) -> int:
        has_plan = self.with_plan and self.way != "eviction"
        return self.replayed + (rematlas.status(self.model).replayed if has_plan else 0)

    def step(self, number, x) -> float:
        torch.manual_seed(number)
        if self.way == "restarts" and number % 1000 == 999:
            self.restart()
        if self.way == "evaluation" and number % 5 == 0:
            self.model.eval()
            with torch.no_grad():
                self.model(x)
            self.model.train()
        if self.way == "raising" and number % 7 == 0:
            self.model.raises = True
            with contextlib.suppress(Raised):
                self.model(x)
            self.model.raises = False
        evicts = self.with_plan and self.way == "eviction"
        with rematlas.evict(self.model, "450KiB") if evicts else contextlib.nullcontext():
            loss = self.model(x).square().mean()
            loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()


def batch(way, number):
    rows = BATCH * (1 + number % 3) if way == "shapes" else BATCH
    return torch.randn(rows, WIDTH, generator=torch.Generator().manual_seed(number))


def sides(way) -> tuple[Side, Side]:
    return Side(way, True), Side(way, False)


def train(way, steps) -> dict:
    return train_sides(way, steps, *sides(way))


def train_sides(way, steps, planned, plain) -> dict:
    memory, different, begin = [], 0, time.monotonic()
    for number in range(steps):
        x = batch(way, number)
        different += planned.step(number, x) != plain.step(number, x)
        if number == 20 and planned.way != "eviction":
            rematlas.status(planned.model).wait()
        if number % (steps // 100) == 0:
            gc.collect()
            memory.append(resident())
    seconds = time.monotonic() - begin
    pairs = zip(planned.model.parameters(), plain.model.parameters(), strict=True)
    different += sum(not torch.equal(a, b) for a, b in pairs)
    found = {"different": different, "growth": round(slope(memory[20:], steps // 100), 3)}
    found |= {"most": max(memory) - memory[20], "seconds": round(seconds, 1)}
    if planned.way != "eviction":
        found["replayed"] = planned.all_replayed()
    return found


def train_in_threads(way, steps) -> dict:
    # The models are made before the threads, since the initial weights are drawn from one generator.
    found, models = [None, None], [sides(way), sides(way)]

    def run(place):
        found[place] = train_sides(way, steps, *models[place])

    threads = [threading.Thread(target=run, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found[0] | {"different": sum(one["different"] for one in found)}


WAYS = {
    **dict.fromkeys(("plan", "bytes", "optimizer", "offloading", "shapes"), train),
    **dict.fromkeys(("raising", "evaluation", "restarts", "eviction"), train),
    "threads": train_in_threads,
}
UNITS = {"growth": "bytes a step", "most": "bytes", "seconds": "seconds"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("ways", nargs="*", help=", ".join(WAYS))
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--output")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = [HEAD]
    for way in options.ways or WAYS:
        for what, value in WAYS[way](way, options.steps).items():
            rows.append((f"{way}: {what}", 1, value, UNITS.get(what, "")))
            print(",".join(map(str, rows[-1])), flush=True)
    write(rows, options.output)


if __name__ == "__main__":
    main()
