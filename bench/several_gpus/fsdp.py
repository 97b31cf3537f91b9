#!/usr/bin/env python3
"""Compares training by plans with the settings of FSDP2, on Gloo processes: CSV of name,run,value,unit.

    fsdp.py [--output FILE] [--ranks N] [--blocks N] [--width N] [--budgets SHARE ...] [--weights W ...]

A GPT is trained under `fully_shard` on blocks and root in four ways: `reshard_after_forward` False and True,
each without checkpoints and with a checkpoint around the computation of each block. (The gathers of FSDP2 are
outside the checkpoint.) Then the GPT is trained by plans. The budgets of the first plans are the measured
peaks of the four ways; each budget gets one plan for each `wire_weight` of `--weights`. The budgets of
further plans are the shares `--budgets` of the smallest of the four peaks, in per cent. REMATLAS_PROGRAMS
names the folder of the programs.

`peak`: the most bytes of tensors in the process during a step. `gathered`: the bytes of weights that a rank
receives in a step. `recomputed`: the time of reruns as a share of the time of all first runs. Collectives do
not count, and the times are those of the recorded step. Copies of parameters into a gather and out of it do
count: FSDP2 repeats them for the blocks that it gathers again. The bench fails if the weights after the steps
differ in any bit from those of FSDP2.
"""

import argparse
import collections
import csv
import hashlib
import json
import os
import pathlib
import socket
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "runtime" / "python")]

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as multiprocessing  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.distributed.fsdp._fully_shard import _fsdp_param_group  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import rematlas  # noqa: E402
from rematlas.library import ops  # noqa: E402

STEPS = 12
WORDS, BATCH, LENGTH, HEAD = 512, 4, 64, 64
WAYS = [(reshards, checkpoints) for checkpoints in (False, True) for reshards in (False, True)]
WITHOUT = "FSDP2 reshards=False checkpoints=False"
UNITS = {"peak": "bytes", "gathered": "bytes", "recomputed": "of the ops' time", "refused": ""}


class Block(nn.Module):
    def __init__(self, width, checkpoints):
        super().__init__()
        self.checkpoints = checkpoints
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def compute(self, x):
        q, k, v = (
            part.view(*x.shape[:2], -1, HEAD).transpose(1, 2) for part in self.qkv(self.n1(x)).chunk(3, -1)
        )
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.n2(x))))

    def forward(self, x):
        return checkpoint(self.compute, x, use_reentrant=False) if self.checkpoints else self.compute(x)


class GPT(nn.Module):
    def __init__(self, width, blocks, checkpoints):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, width)
        self.blocks = nn.ModuleList(Block(width, checkpoints) for _ in range(blocks))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, WORDS)

    def forward(self, words):
        x = self.embedding(words)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def model_of(options, reshards=True, checkpoints=False):
    torch.manual_seed(0)
    model = GPT(options.width, options.blocks, checkpoints)
    for block in model.blocks:
        fully_shard(block, reshard_after_forward=reshards)
    fully_shard(model, reshard_after_forward=reshards)
    return model


class Gathers:
    """While this context is active, counts the bytes that this rank receives from FSDP2's gathers."""

    def __enter__(self):
        self.bytes = 0
        self.replaced = _fsdp_param_group.foreach_all_gather
        _fsdp_param_group.foreach_all_gather = self.gather
        return self

    def __exit__(self, *_):
        _fsdp_param_group.foreach_all_gather = self.replaced

    def gather(self, *given, **options):
        made = self.replaced(*given, **options)
        count = dist.get_world_size()
        self.bytes += made.all_gather_output.nbytes // count * (count - 1)
        return made


def train(model, rank, after=lambda step: None):
    """Trains the model. Returns the highest peak of the last three steps in bytes."""
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    numbers, peak = torch.Generator().manual_seed(rank), 0
    for step in range(STEPS):
        words = torch.randint(0, WORDS, (BATCH, LENGTH), generator=numbers)
        ops.reset_counted_peak()
        functional.cross_entropy(model(words).flatten(0, 1), words.flatten()).backward()
        if step >= STEPS - 3:
            peak = max(peak, ops.counted_peak_bytes())
        optimizer.step()
        optimizer.zero_grad()
        after(step)
    return peak


def largest(value) -> int:
    """Returns the maximum of `value` over the ranks, because all ranks must ask for the same budget."""
    values = torch.tensor(value)
    dist.all_reduce(values, dist.ReduceOp.MAX)
    return values.item()


def digest_of(model) -> str:
    """Returns a digest of the parts of the weights that are on this rank."""
    parts = (parameter.to_local().detach().numpy().tobytes() for parameter in model.parameters())
    return hashlib.sha256(b"".join(parts)).hexdigest()


class Step:
    """The step of a plan. `runs`: the number of runs of each op in a step."""

    def __init__(self, model):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "step.plan"
            rematlas.status(model).save(path)
            head, _, rest = path.read_bytes().partition(b"\n")
        graph_bytes = json.loads(head)["graph_bytes"]
        graph, schedule = json.loads(rest[:graph_bytes]), json.loads(rest[graph_bytes:])
        self.ops = graph["ops"]
        self.runs = collections.Counter(
            number for kind, number in schedule["steps"] if kind in ("run", "run_inplace")
        )
        self.bytes = {tensor["id"]: tensor["bytes"] for tensor in graph["tensors"]}

    def computes(self):
        return [op for op in self.ops if "_c10d_functional" not in op["name"]]

    def recomputed(self) -> float:
        again = sum((self.runs[op["id"]] - 1) * op["time_ns"] for op in self.computes())
        return again / sum(op["time_ns"] for op in self.computes())

    def gathered(self) -> int:
        gathers = [op for op in self.ops if "all_gather" in op["name"]]
        return sum(
            self.runs[op["id"]]
            * (sum(map(self.bytes.get, op["outputs"])) - sum(map(self.bytes.get, op["inputs"])))
            for op in gathers
        )

    def share_of_blocks(self) -> float:
        """Returns the time of the blocks' forward ops as a share of the time of all ops. A checkpoint around
        each block reruns these forward ops."""
        forward = [
            op["time_ns"]
            for op in self.computes()
            if op["phase"] == "forward" and op.get("module", "").startswith("blocks.")
        ]
        return sum(forward) / sum(op["time_ns"] for op in self.computes())

    def share_of_copies(self) -> float:
        """Returns the time of the copies into and out of the blocks' gathers as a share of the time of all
        ops. FSDP2 repeats these copies if it gathers again for the backward."""
        gathers = [op for op in self.ops if "all_gather" in op["name"] and op.get("module")]
        given = {tensor for op in gathers for tensor in op["inputs"]}
        made = {tensor for op in gathers for tensor in op["outputs"]}
        copies = [
            op["time_ns"] for op in self.computes() if given & {*op["outputs"]} or made & {*op["inputs"]}
        ]
        return sum(copies) / sum(op["time_ns"] for op in self.computes())


def fsdp(rank, options, reshards, checkpoints) -> dict:
    model = model_of(options, reshards, checkpoints)
    with Gathers() as gathers:
        peak = largest(train(model, rank))
    return {"peak": peak, "gathered": gathers.bytes // STEPS, "digest": digest_of(model)}


def planned(rank, options, budget, weight=1) -> dict:
    model = rematlas.apply(model_of(options), budget, time_limit=options.time_limit, wire_weight=weight)
    peak = largest(train(model, rank, lambda step: rematlas.status(model).wait()))
    status = rematlas.status(model)
    if status.state != "planned":
        return {"refused": status.reason.replace(",", ";")}
    step = Step(model)
    found = {"peak": peak, "gathered": step.gathered(), "recomputed": round(step.recomputed(), 4)}
    shares = {"blocks": round(step.share_of_blocks(), 4), "copies": round(step.share_of_copies(), 4)}
    return found | {"digest": digest_of(model), **shares}


def run(rank, port, options, results, function, given) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=options.ranks)
    found = function(rank, options, *given)
    if rank == 0:
        results.put(found)
    dist.barrier()
    dist.destroy_process_group()


class Bench:
    """Runs each way of training in new processes."""

    def __init__(self, options):
        self.options, self.rows = options, [("name", "run", "value", "unit")]

    def on_ranks(self, function, *given) -> dict:
        results = multiprocessing.get_context("spawn").SimpleQueue()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        arguments = port, self.options, results, function, given
        multiprocessing.spawn(run, arguments, nprocs=self.options.ranks)
        return results.get()

    def add(self, name, found) -> None:
        for what, unit in UNITS.items():
            if what in found:
                self.rows.append((name, what, found[what], unit))
                print(",".join(map(str, self.rows[-1])), flush=True)

    def run(self) -> None:
        ways = {
            f"FSDP2 reshards={reshards} checkpoints={checkpoints}": self.on_ranks(fsdp, reshards, checkpoints)
            for reshards, checkpoints in WAYS
        }
        least = min(found["peak"] for found in ways.values())
        plans = {
            f"a plan at the peak of {name}" + f" wire_weight={weight}" * (weight != 1): (
                found["peak"],
                weight,
            )
            for name, found in ways.items()
            for weight in self.options.weights
        }
        plans |= {
            f"a plan at {share} % of the least peak": (least * share // 100,)
            for share in self.options.budgets
        }
        blocks = copies = 0.0
        for name, given in plans.items():
            found = self.on_ranks(planned, *given)
            if found.get("digest", ways[WITHOUT]["digest"]) != ways[WITHOUT]["digest"]:
                raise SystemExit(f"{name}: other weights than those of FSDP2")
            blocks, copies = found.get("blocks", blocks), found.get("copies", copies)
            self.add(name, found)
        for name, found in ways.items():
            again = blocks * ("checkpoints=True" in name) + copies * ("reshards=True" in name)
            self.add(name, found | {"recomputed": round(again, 4)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--output")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--budgets", type=int, nargs="*", default=[95, 90, 85, 80])
    parser.add_argument("--weights", type=float, nargs="*", default=[1, 100])
    parser.add_argument("--time-limit", type=float, default=10.0)
    options = parser.parse_args()
    bench = Bench(options)
    bench.run()
    if options.output:
        with open(options.output, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(bench.rows)


if __name__ == "__main__":
    main()
