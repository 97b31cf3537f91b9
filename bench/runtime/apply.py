#!/usr/bin/env python3
"""Measures the cost of rematlas.apply against plain training in the same process: CSV of name,run,value,unit.

    apply.py [--output FILE]       REMATLAS_PROGRAMS names the build

recording: time of a recorded step over the time of a plain step. replay: time of a step by a plan without
recomputation over the time of a plain step, median of pairs. weights on the host: the same ratio for a whole
step with a fused AdamW, under a budget that is a share of a plain step's memory. call: microseconds that the
Python and autograd code around a replayed step adds, measured on a tiny model against the original.
"""

import argparse
import gc
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "runtime" / "python"), str(ROOT / "tests" / "runtime" / "python")]

import torch  # noqa: E402
from torch import nn  # noqa: E402

import models  # noqa: E402
import rematlas  # noqa: E402


def step(module, batch, loss):
    x, target = batch
    began = time.perf_counter()
    loss(module(x), target).backward()
    took = time.perf_counter() - began
    module.zero_grad()
    return took


def gpt():
    torch.manual_seed(0)
    return models.export.Gpt(layers=4, width=256, heads=4, length=128, vocabulary=512, dropout=0.1)


def texts(number):
    generator = torch.Generator().manual_seed(number)
    ids = torch.randint(512, (4, 129), generator=generator)
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()


def tiny():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))


def rows(number):
    generator = torch.Generator().manual_seed(number)
    return torch.randn(4, 8, generator=generator), torch.randn(4, 8, generator=generator)


def planned(build, batches, loss, budget, **options):
    module = rematlas.apply(build(), budget, time_limit=2.0, **options)
    recording = []
    for number in range(5):
        recording.append(step(module, batches(number), loss))
        rematlas.status(module).wait()
    if rematlas.status(module).state != "planned":
        sys.exit(f"not planned: {rematlas.status(module).reason}")
    return module, recording


class Training:
    """A GPT with a fused AdamW. With keyword arguments (`ours`), it trains by a plan that keeps weights,
    gradients and states on the host while they are not used."""

    def __init__(self, **ours):
        self.module = gpt()
        self.optimizer = torch.optim.AdamW(self.module.parameters(), lr=1e-3, fused=True)
        if ours:
            rematlas.apply(
                self.module, optimizer=self.optimizer, offload="all", links="pcie4", time_limit=5.0, **ours
            )

    def step(self, number):
        text, target = texts(number)
        began = time.perf_counter()
        models.text_loss(self.module(text), target).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return time.perf_counter() - began


def weights_on_host(share, note):
    """Measures plain training and frees it, then measures training with weights on the host. The budget of
    the second training is a share of plain training's memory plus the bytes of all other tensors in the
    process, because a budget counts these bytes, too."""
    plain = Training()
    plain.step(0)
    before = torch.ops.rematlas.counted_bytes()
    torch.ops.rematlas.reset_counted_peak()
    base = statistics.median(plain.step(1 + number) for number in range(15))
    resident = sum(3 * parameter.nbytes for parameter in plain.module.parameters())
    whole = resident + torch.ops.rematlas.counted_peak_bytes() - before
    del plain
    gc.collect()  # frees the tensors of plain training
    module = Training(budget=torch.ops.rematlas.counted_bytes() + int(share * whole))
    for number in range(4):
        module.step(number)
        rematlas.status(module.module).wait()
    status = rematlas.status(module.module)
    if status.state != "planned":
        sys.exit(f"not planned: {status.reason}")
    took = statistics.median(module.step(number) for number in range(15))
    note(f"weights on the host/gpt in {share:.0%}", 0, took / base, "ratio")
    note(f"weights on the host/gpt in {share:.0%}", 0, status.plans[0].overhead, "predicted")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default=str(ROOT / "bench" / "results" / "apply_cpu.csv"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = ["name,run,value,unit"]

    def note(name, run, value, unit):
        lines.append(f"{name},{run},{value:.4f},{unit}")
        print(lines[-1])

    cases = {
        "resnet20": (models.resnet, models.images, models.image_loss),
        "gpt": (gpt, texts, models.text_loss),
    }
    for name, (build, batches, loss) in cases.items():
        plain = build()
        for number in range(3):
            step(plain, batches(number), loss)
        base = statistics.median(step(plain, batches(number), loss) for number in range(5))
        module, recording = planned(build, batches, loss, "100%", solver="keep-all")
        for run, took in enumerate(recording[:2]):
            note(f"recording/{name}", run, took / base, "ratio")
        ratios = []
        for number in range(15):
            pair = step(plain, batches(number), loss), step(module, batches(number), loss)
            ratios.append(pair[1] / pair[0])
        note(f"replay/{name}", 0, statistics.median(ratios), "ratio")

    for share in (0.5, 0.2):
        weights_on_host(share, note)

    plain = tiny()
    module, _ = planned(tiny, rows, nn.functional.mse_loss, "100%", solver="keep-all")
    for number in range(200):
        step(plain, rows(number), nn.functional.mse_loss), step(module, rows(number), nn.functional.mse_loss)
    pairs = [
        (step(plain, rows(n), nn.functional.mse_loss), step(module, rows(n), nn.functional.mse_loss))
        for n in range(2000)
    ]
    note(
        "call/tiny",
        0,
        1e6 * (statistics.median(b for _, b in pairs) - statistics.median(a for a, _ in pairs)),
        "us",
    )

    pathlib.Path(options.output).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
