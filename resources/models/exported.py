#!/usr/bin/env python3
"""Writes models as exported programs (torch.export, .pt2), and one step of each model in eager PyTorch.

    exported.py OUTDIR                the programs below, and the models of modules.py and export.py
    exported.py OUTDIR --only sizes   one of them

Beside each NAME.pt2 are two files. NAME.json has the input specifications that `rematlas capture --input`
takes, in order. NAME.step is a dictionary saved by torch.save. It has the `inputs`, and the results of one
forward and backward with seed 1 and output gradients of ones: `outputs`, and `gradients` and `buffers` by
name.
"""

import argparse
import json
import pathlib
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

from export import SMALL
from modules import GROUPS


class Scalars(nn.Module):
    """Has numbers among its arguments, and constants of each kind in its ops."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x: Tensor, scale: float, times: int, doubles: bool, how: str) -> Tensor:
        y = self.linear(x) * scale
        for _ in range(times):
            y = F.leaky_relu(y, 0.2) if how == "leaky" else F.relu(y)
        y = y * 2 if doubles else y
        y = y.clamp(max=float("inf")).masked_fill(y > 1e300, float("-inf"))
        return y.to(torch.float64).sum(dim=(0, -1), keepdim=True, dtype=torch.float32)


class Sizes(nn.Module):
    """Computes with the sizes of its inputs."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 8)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        batch, length, _ = x.shape
        h = self.linear(x).view(batch * length, 2, -1)
        h = h.repeat_interleave(2, 0)[: batch * length + 3]
        h = F.pad(h, (0, 0, 0, 0, 0, max(batch * 2 - length // 3, 0)))
        return h.sum(1) * (length**0.5) / (batch % 5 + 1) + torch.arange(4) * y.shape[0] + y.mean()


class Derived(nn.Module):
    """Has inputs whose sizes depend on each other."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        return self.linear(x).repeat(2, 1) * y + z.sum()


class WritesInput(nn.Module):
    """Changes an argument in place."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        y.mul_(0.5).add_(x)
        return self.linear(x) * y


class NoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4))

    def forward(self) -> Tensor:
        return self.weight.exp().sum()


class Regions(nn.Module):
    """Has parts under torch.no_grad, torch.autocast and checkpoint."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x: Tensor):
        with torch.no_grad():
            mean = self.first(x).mean(0)
        with torch.autocast("cpu", torch.bfloat16):
            y = self.second(x - mean).relu()
        y = y.float() + torch.utils.checkpoint.checkpoint(self.block, x, use_reentrant=False)
        return y, mean

    def block(self, x: Tensor) -> Tensor:
        return F.dropout(self.third(x), 0.4).tanh()


class Tensors(nn.Module):
    """Has tensors of every kind: tied weights, buffers that persist or not, constants in the code."""

    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(7, 6), nn.Linear(6, 7, bias=False)
        self.head.weight = self.embedding.weight
        self.frozen = nn.Parameter(torch.randn(6), requires_grad=False)
        self.register_buffer("scale", torch.rand(6))
        self.register_buffer("mask", torch.rand(6) > 0.3, persistent=False)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("table", torch.randn(6, 4).t())
        self.constant = torch.randn(6)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        self.calls += 1
        y = self.embedding(x) * self.scale * self.frozen + self.constant
        y = y.masked_fill(self.mask, 0.5) + torch.tensor([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
        a, b, c = y.split([1, 2, 3], dim=2)
        y = torch.cat([c, a, b], dim=2)[:, torch.tensor([1, 0])]
        return {"logits": self.head(y), "features": y @ self.table.t()}


class Functional(nn.Module):
    """Adds to a buffer in each step. The exported program is converted to functional form, without in-place
    writes."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(4, 8, 3), nn.GroupNorm(2, 8), nn.ReLU(), nn.Dropout(0.2))
        self.register_buffer("total", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        y = self.layers(x)
        self.total += y.detach().sum()
        return F.interpolate(y, scale_factor=2.0)


class Statistics(Functional):
    """The functional form of this model fails in PyTorch, too: autograd saves the running statistics, which
    are overwritten later."""

    def __init__(self):
        super().__init__()
        self.layers.append(nn.BatchNorm2d(8))


class Course(nn.Module):
    """Chooses a branch by a value."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        return torch.cond(y.sum() > 0, lambda y: y * 2, lambda y: y.sin(), (y,))


class Keywords(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x: Tensor, *, others: dict[str, Tensor], mask: Tensor | None = None) -> Tensor:
        y = self.linear(x) + others["first"] * others["second"]
        return y if mask is None else y * mask


def image(*shape: int) -> tuple[Tensor, str]:
    return torch.randn(*shape), f"f32[{','.join(map(str, shape))}]"


def whole(bound: int, *shape: int) -> tuple[Tensor, str]:
    return torch.randint(bound, shape), f"i64[{','.join(map(str, shape))}]<{bound}"


ROWS = Dim("rows", min=2)
BATCH, LENGTH = Dim("batch", min=1, max=64), Dim("length", min=1)

# name: (model, arguments, keywords, specifications, dynamic shapes)
PROGRAMS = {
    "scalars": (Scalars, (torch.randn(3, 6), 0.5, 2, True, "leaky"), {},
                ["f32[3,6]", "float:0.5", "int:2", "bool:true", "str:leaky"], None),
    "sizes": (Sizes, (torch.randn(3, 5, 6), torch.randn(3)), {}, ["f32[3,5,6]", "f32[3]"],
              ({0: BATCH, 1: LENGTH}, {0: BATCH})),
    "derived": (Derived, (torch.randn(3, 6), torch.randn(6, 6), torch.randn(4, 6)), {},
                ["f32[3,6]", "f32[6,6]", "f32[4,6]"], ({0: ROWS}, {0: 2 * ROWS}, {0: ROWS + 1})),
    "regions": (Regions, (torch.randn(3, 6),), {}, ["f32[3,6]"], None),
    "writes_input": (WritesInput, (torch.randn(3, 6), torch.randn(3, 6)), {}, ["f32[3,6]", "f32[3,6]"], None),
    "writes_input_functional": (WritesInput, (torch.randn(3, 6), torch.randn(3, 6)), {},
                                ["f32[3,6]", "f32[3,6]"], None),
    "no_inputs": (NoInputs, (), {}, [], None),
    "tensors": (Tensors, (torch.randint(7, (2, 2)),), {}, ["i64[2,2]<7"], None),
    "functional": (Functional, (torch.randn(2, 4, 8, 8),), {}, ["f32[2,4,8,8]"], None),
    "statistics": (Statistics, (torch.randn(2, 4, 8, 8),), {}, ["f32[2,4,8,8]"], None),
    "course": (Course, (torch.randn(3, 6),), {}, ["f32[3,6]"], None),
    "keywords": (Keywords, (torch.randn(3, 6),),
                 {"others": {"first": torch.randn(6), "second": torch.randn(3, 6)}, "mask": None},
                 ["f32[3,6]", "f32[6]", "f32[3,6]", "none"], None),
}  # fmt: skip

FUNCTIONAL = ["functional", "statistics", "writes_input_functional"]
REFUSED = ["statistics", "course"]

# Modules of modules.py that are left out: torch.export refuses them, or they have arguments other than
# tensors, or they use a weight twice under autocast. (The exported program casts such a weight twice, and
# sums its gradients in another type.)
LEFT_OUT = ["ctc", "settings", "settings_none", "returns_argument", "autocast_bf16", "autocast_f16"]
MODELS = ["mlp_scripted", "resnet_scripted", "gpt_scripted", "unet_scripted", "lstm_scripted"]


def tensors_in(value) -> list[Tensor]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, Tensor)]


def alone(tensors: list[Tensor]) -> list[Tensor]:
    """Returns copies of the tensors, each with its own storage."""
    return [tensor.detach().resolve_conj().resolve_neg().clone() for tensor in tensors]


def write(
    name: str, build, arguments: tuple, keywords: dict, specs: list, dynamic, folder: pathlib.Path
) -> None:
    torch.manual_seed(0)
    model = build().train()
    program = torch.export.export(model, arguments, keywords, dynamic_shapes=dynamic)
    if name in FUNCTIONAL:
        program = program.run_decompositions({})
    torch.export.save(program, folder / f"{name}.pt2")
    given = alone(tensors_in((arguments, keywords)))
    torch.manual_seed(1)
    outputs = tensors_in(model(*arguments, **keywords))
    roots = [output for output in outputs if output.requires_grad]
    torch.autograd.backward(roots, [torch.ones_like(root) for root in roots])
    step = {
        "inputs": given,
        "outputs": alone(outputs),
        "gradients": {key: p.grad for key, p in model.named_parameters() if p.grad is not None},
        "buffers": {key: buffer.clone() for key, buffer in model.named_buffers()},
    }
    torch.save(step, folder / f"{name}.step")
    (folder / f"{name}.json").write_text(
        json.dumps({"model": f"{name}.pt2", "inputs": specs}, indent=2) + "\n"
    )


def all_programs() -> dict[str, tuple]:
    result = dict(PROGRAMS)
    for group, modules in GROUPS.items():
        for name, (build, inputs) in modules.items():
            if group != "refused" and name not in LEFT_OUT:
                values, specs = zip(*inputs)
                result[name] = (build, values, {}, list(specs), None)
    for name in MODELS:
        build, make_inputs, _ = SMALL[name]
        values, specs = zip(*make_inputs())
        result[name.split("_")[0] + "_model"] = (build, values, {}, list(specs), None)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("outdir", type=pathlib.Path, help="folder to write to; made when it is not there")
    parser.add_argument("--only", metavar="NAME", help="write one program")
    arguments = parser.parse_args()
    arguments.outdir.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    programs = all_programs()
    for name, program in programs.items():
        if arguments.only in (None, name):
            write(name, *program, arguments.outdir)
    if arguments.only is None:
        written = [name for name in programs if name not in REFUSED]
        (arguments.outdir / "exported.json").write_text(json.dumps(written, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
