#!/usr/bin/env python3
"""What online eviction costs where nothing has to be evicted, against plain training in the same process: CSV of
name,run,value,unit.

    evict.py [--models resnet50,gpt12,small] [--rounds 5] [--steps 2]       REMATLAS_PROGRAMS names the build

Times are those of the process on its processor, so that others on the machine disturb them little. Rounds of plain steps and of steps within a context take turns; the first step of each is left out. step: time of a step
within a context over a plain one, medians. op: what it takes longer, by the ops that it has. peak: counted bytes over
those of plain steps. `small`: steps of 60 ops on tiny tensors, which are nothing but bookkeeping.
"""

import argparse
import gc
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "runtime" / "python"), str(ROOT / "resources" / "models")]

import export  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

import rematlas  # noqa: E402
from rematlas.library import ops  # noqa: E402


def large(name):
    build, inputs, _ = export.LARGE[name]
    ((x, _),) = inputs()
    return build(), x


def small():
    return nn.Sequential(*(layer for _ in range(6) for layer in (nn.Linear(8, 8), nn.ReLU()))), torch.ones(4, 8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="resnet50,gpt12,small")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("name,run,value,unit")
    for name in options.models.split(","):
        torch.manual_seed(0)
        module = optimizer = step = x = context = None  # the model before goes, or its bytes count as this one's
        gc.collect()
        module, x = small() if name == "small" else large(name)
        optimizer = torch.optim.SGD(module.parameters(), lr=1e-3)

        def step():
            began = time.process_time()
            module(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            return time.process_time() - began

        steps = options.steps if name != "small" else 300 * options.steps
        plain, ours, peaks = [], [], [0, 0]
        for _ in range(options.rounds):
            step()
            ops.reset_counted_peak()
            plain += [step() for _ in range(steps)]
            peaks[0] = max(peaks[0], ops.counted_peak_bytes())
            with rematlas.evict(module, 1 << 50) as context:
                step()
                ops.reset_counted_peak()
                before = context.status().calls
                ours += [step() for _ in range(steps)]
                calls = (context.status().calls - before) / steps
                peaks[1] = max(peaks[1], ops.counted_peak_bytes())
        eager, evicting = statistics.median(plain), statistics.median(ours)
        print(f"step/{name},0,{evicting / eager:.4f},ratio")
        print(f"op/{name},0,{1e6 * (evicting - eager) / calls:.2f},us")
        print(f"ops/{name},0,{calls:.0f},ops")
        print(f"peak/{name},0,{peaks[1] / peaks[0]:.5f},ratio", flush=True)


if __name__ == "__main__":
    main()
