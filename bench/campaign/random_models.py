#!/usr/bin/env python3
"""Trains random models under Rematlas and without it: CSV of name,run,value,unit.

    random_models.py [--seconds N] [--first SEED] [--output FILE]

Each seed chooses a model of random layers, a loss, an optimizer and a budget. The training under Rematlas
must give the losses, gradients, weights and buffers of plain training, bit by bit. The measured peak of a
step must be the predicted one, and no step may exceed a budget in bytes without a word. What differs is a
fault, and is one line on standard error with its seed.

REMATLAS_PROGRAMS names the folder of the programs.
"""

import argparse
import collections
import copy
import gc
import hashlib
import logging
import pathlib
import random
import sys
import time
import typing
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "runtime" / "python")]

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

import rematlas  # noqa: E402
from rematlas.library import ops  # noqa: E402
from rows import HEAD, write  # noqa: E402

STEPS = 6
OF_IMAGES = ("convolution", "depthwise", "pooled", "batch_norm", "group_norm", "upsampled")
OF_TOKENS = ("linear", "layer_norm", "attention", "gated", "recurrent", "shared")
OF_ALL = ("relu", "relu_", "gelu", "silu", "dropout", "residual", "halves", "scaled", "sum_of_branches")


class Layer(nn.Module):
    """One random layer. Its output has as many features as its input. Features are dimension 1 of images and
    the last dimension of tokens."""

    def __init__(self, kind, width, choose, depth):
        super().__init__()
        self.kind = kind
        made = getattr(self, f"make_{kind}", None)
        if made:
            made(width, choose, depth)

    def make_convolution(self, width, choose, depth):
        self.part = nn.Conv2d(width, width, 3, padding=1, bias=choose.random() < 0.5)

    def make_depthwise(self, width, choose, depth):
        self.part = nn.Conv2d(width, width, 3, padding=1, groups=width)

    def make_batch_norm(self, width, choose, depth):
        self.part = nn.BatchNorm2d(width)

    def make_group_norm(self, width, choose, depth):
        self.part = nn.GroupNorm(2, width)

    def make_linear(self, width, choose, depth):
        self.part = nn.Linear(width, width, bias=choose.random() < 0.5)

    make_shared = make_linear

    def make_layer_norm(self, width, choose, depth):
        self.part = nn.LayerNorm(width)

    def make_gated(self, width, choose, depth):
        self.part = nn.Linear(width, 2 * width)

    def make_recurrent(self, width, choose, depth):
        self.part = nn.GRU(width, width, batch_first=True)

    def make_attention(self, width, choose, depth):
        self.part, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.is_causal = choose.random() < 0.5

    def make_dropout(self, width, choose, depth):
        self.part = nn.Dropout(0.2)

    def make_scaled(self, width, choose, depth):
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("seen", torch.zeros(1))

    def make_residual(self, width, choose, depth):
        self.part = sequence(width, choose, depth + 1, self.images)

    def make_sum_of_branches(self, width, choose, depth):
        self.part = sequence(width, choose, depth + 1, self.images)
        self.other = sequence(width, choose, depth + 1, self.images)

    images = False

    def forward(self, x):
        return getattr(self, f"run_{self.kind}", self.run_part)(x)

    def run_part(self, x):
        return self.part(x)

    def run_pooled(self, x):
        return functional.max_pool2d(x, 3, stride=1, padding=1)

    def run_upsampled(self, x):
        return functional.avg_pool2d(functional.interpolate(x, scale_factor=2, mode="nearest"), 2)

    def run_relu(self, x):
        return torch.relu(x)

    def run_relu_(self, x):
        return (x * 1.5).relu_()

    def run_gelu(self, x):
        return functional.gelu(x)

    def run_silu(self, x):
        return functional.silu(x)

    def run_halves(self, x):
        first, second = x.chunk(2, dim=0)
        return torch.cat([second, first], dim=0)

    def run_scaled(self, x):
        if self.training:
            with torch.no_grad():
                self.seen.add_(x.mean())
        return x * self.scale

    def run_residual(self, x):
        return x + self.part(x)

    def run_sum_of_branches(self, x):
        return self.part(x) + self.other(x).tanh()

    def run_gated(self, x):
        first, second = self.part(x).chunk(2, dim=-1)
        return first * second.sigmoid()

    def run_shared(self, x):
        return self.part(torch.tanh(self.part(x)))

    def run_recurrent(self, x):
        return self.part(x)[0]

    def run_attention(self, x):
        rows, length, width = x.shape
        query, key, value = self.part(x).view(rows, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=self.is_causal)
        return self.out(mixed.transpose(1, 2).reshape(rows, length, width))


class ImageLayer(Layer):
    images = True


def sequence(width, choose, depth, images) -> nn.Sequential:
    kinds = (OF_IMAGES if images else OF_TOKENS) + (OF_ALL if depth < 2 else OF_ALL[:5])
    count = choose.randint(8, 20) if depth == 0 else choose.randint(1, 3)
    kind_of_layer = ImageLayer if images else Layer
    return nn.Sequential(*(kind_of_layer(choose.choice(kinds), width, choose, depth) for _ in range(count)))


class Model(nn.Module):
    def __init__(self, choose):
        super().__init__()
        self.images = choose.random() < 0.5
        self.width = choose.choice((8, 16, 32))
        self.layers = sequence(self.width, choose, 0, self.images)
        self.head = nn.Linear(self.width, 10)
        self.pairs = choose.random() < 0.2  # whether the forward returns two tensors

    def batch(self, number):
        generator = torch.Generator().manual_seed(number)
        shape = (4, self.width, 12, 12) if self.images else (4, 24, self.width)
        return torch.randn(shape, generator=generator), torch.randint(0, 10, (4,), generator=generator)

    def forward(self, x):
        x = self.layers(x)
        features = x.mean((2, 3)) if self.images else x.mean(1)
        return (self.head(features), features) if self.pairs else self.head(features)


class Training:
    """The choices of one seed, and a training with them."""

    def __init__(self, seed):
        self.seed = seed
        choose = random.Random(seed)
        torch.manual_seed(seed)
        self.model = Model(choose)
        self.optimizer = choose.choice(("sgd", "adam", "fused"))
        self.share = choose.choice((0.5, 0.7, 0.8, 0.9))
        self.in_bytes = choose.random() < 0.5
        self.with_updates = self.optimizer == "fused" and choose.random() < 0.6
        self.accumulate = choose.choice((1, 1, 2))

    def optimizer_of(self, model):
        if self.optimizer == "sgd":
            return torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
        return torch.optim.AdamW(model.parameters(), 1e-3, fused=self.optimizer == "fused")

    def run(self, budget=None) -> "Trained":
        """Trains a copy of the model."""
        model = copy.deepcopy(self.model)
        optimizer = self.optimizer_of(model)
        if budget is not None:
            with_updates = (
                {"optimizer": optimizer, "accumulate": self.accumulate} if self.with_updates else {}
            )
            rematlas.apply(model, budget, time_limit=0.3, **with_updates)
        digests, peaks, kept = [], [], 0
        for number in range(STEPS):
            kept = max(kept, ops.counted_bytes())
            ops.reset_counted_peak()
            losses = [self.backward(model, number, part) for part in range(self.accumulate)]
            if not self.with_updates:
                losses += [p.grad for p in model.parameters() if p.grad is not None]
            digest = digest_of(losses)
            optimizer.step()
            optimizer.zero_grad()
            peaks.append(ops.counted_peak_bytes())
            digests.append((digest, digest_of(model.state_dict().values())))
            if budget is not None:
                rematlas.status(model).wait()
        return Trained(model, digests, peaks, kept)

    def backward(self, model, number, part):
        x, y = model.batch(1000 * number + part)
        torch.manual_seed(number)
        out = model(x)
        loss = (
            functional.cross_entropy(out[0], y) + out[1].square().mean()
            if model.pairs
            else (functional.cross_entropy(out, y))
        )
        loss.backward()
        return loss.detach()


class Trained(typing.NamedTuple):
    model: nn.Module
    digests: list  # for each step: the digests of losses and gradients, and of weights and buffers
    peaks: list  # for each step: the most bytes of all tensors of the process
    kept: int  # the most bytes of all tensors of the process between steps


def digest_of(tensors) -> str:
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.detach().contiguous().numpy().tobytes())
    return digest.hexdigest()


def try_seed(seed, counts) -> str:
    """Trains with the choices of the seed. Returns the fault; empty if there is none."""
    training = Training(seed)
    plain = training.run()
    if training.run().digests != plain.digests:
        counts["not repeatable"] += 1
        return ""
    budget = f"{round(100 * training.share)}%"
    if training.in_bytes:
        budget = plain.kept + int(training.share * (max(plain.peaks) - plain.kept))
    try:
        found = training.run(budget)
    except (rematlas.Refused, torch.OutOfMemoryError):
        counts["refused"] += 1
        return ""
    status = rematlas.status(found.model)
    counts[status.state.split()[0]] += 1
    counts["steps by plans"] += status.replayed
    for number, (ours, theirs) in enumerate(zip(found.digests, plain.digests, strict=True)):
        if ours != theirs:
            return f"step {number} differs ({status.state}, budget {budget})"
    for plan in status.plans:
        measured = plan.measured_peak_bytes
        if measured is not None and measured > plan.peak_bytes:
            return f"a step took {measured} bytes, {plan.peak_bytes} were predicted"
        if measured is not None and measured < plan.peak_bytes and not plan.at_most:
            return f"a step took {measured} bytes only, {plan.peak_bytes} were predicted"
    if training.in_bytes and status.replayed and not status.unkept and max(found.peaks) > budget:
        return f"a step took {max(found.peaks)} bytes of a budget of {budget}, and nothing says so"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--output")
    options = parser.parse_args()
    torch.set_num_threads(1)
    logging.getLogger("rematlas").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    counts, begin, seed = collections.Counter(), time.monotonic(), options.first
    while time.monotonic() < begin + options.seconds:
        fault = try_seed(seed, counts)
        gc.collect()
        if fault:
            counts["faults"] += 1
            print(f"seed {seed}: {fault}", file=sys.stderr, flush=True)
        seed += 1
    rows = [HEAD, ("models", 1, seed - options.first, "")]
    rows += [(name, 1, counts[name], "") for name in ("faults", *sorted(counts.keys() - {"faults"}))]
    rows.append(("time", 1, round(time.monotonic() - begin), "seconds"))
    for row in rows:
        print(",".join(map(str, row)))
    write(rows, options.output)


if __name__ == "__main__":
    main()
