"""Models whose parameters take more memory than their activations, and unusual optimizers. Some functions
plan a step with an optimizer for a card that is not installed. Others measure a step on the CPU."""

import gc
import json

import torch
from torch import nn

from rematlas.cards.absent_device import AbsentDevice
from rematlas.cards.optimizer_copies import named_in, tell_step
from rematlas.cards.recorded_step import graph_of_step
from rematlas.cards.recorded_update import LATE_STEP
from rematlas.library import ops

FEW_BYTES = 64  # peaks may differ by this many bytes, because of small tensors of numbers
UPDATE = "rematlas::recorded_update"


class Net(nn.Module):
    """A model whose parameters take more memory than its activations. `dtype`: the type of all parameters."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        options = {"bias": False, "dtype": dtype}
        self.layers = nn.Sequential(
            nn.Linear(256, 512, **options), nn.GELU(), nn.Linear(512, 512, **options), nn.GELU()
        )
        self.last = nn.Linear(512, 64, **options)

    def forward(self, x):
        return self.last(self.layers(x)).square().mean()


class Adapted(nn.Module):
    """A frozen layer with an adapter of two small layers, as in LoRA, and an unused parameter."""

    def __init__(self):
        super().__init__()
        self.base = nn.Linear(256, 256, bias=False).requires_grad_(False)
        self.down, self.up = nn.Linear(256, 8, bias=False), nn.Linear(8, 256, bias=False)
        self.unused = nn.Parameter(torch.zeros(1000))

    def forward(self, x):
        return (self.base(x) + self.up(self.down(x))).square().mean()


class QuantizedLinear(nn.Module):
    """A linear layer with an adapter. The frozen weight takes four bits per number, and consists of codes, a
    scale for each block, and a table."""

    def __init__(self, width=512, block=64):
        super().__init__()
        self.width, self.block = width, block
        self.register_buffer("codes", torch.randint(0, 255, (width * width // 2,), dtype=torch.uint8))
        self.register_buffer("scales", torch.rand(width * width // block))
        self.register_buffer("table", torch.linspace(-1, 1, 16))
        self.down, self.up = nn.Linear(width, 8, bias=False), nn.Linear(8, width, bias=False)

    def unpacked(self):
        return torch.stack([self.codes >> 4, self.codes & 15], dim=-1).flatten().long()

    def dequantized(self):
        return (self.table[self.unpacked()].view(-1, self.block) * self.scales[:, None]).view(
            self.width, self.width
        )

    def forward(self, x):
        return nn.functional.linear(x, self.dequantized()) + self.up(self.down(x))


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(QuantizedLinear() for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).tanh()
        return x.square().mean()


class KeepsACopy(torch.optim.Optimizer):
    """An optimizer that keeps tensors outside of its states, and makes a temporary tensor with four bytes per
    number of a parameter."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.1})
        self.sums = {}

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                kept = self.sums.setdefault(parameter, torch.zeros_like(parameter))
                scaled = parameter.grad * group["lr"]
                kept.add_(scaled)
                parameter.sub_(kept)


class MakesStatesAnew(KeepsACopy):
    @torch.no_grad()
    def step(self, closure=None):
        for parameter in self.param_groups[0]["params"]:
            state = self.state[parameter]
            state["sum"] = state.get("sum", 0) + parameter.grad
            parameter.sub_(state["sum"])


OPAQUE = torch.library.Library("rematlas_test", "DEF")
OPAQUE.define("update(Tensor(a!) parameter, Tensor gradient, Tensor(b!) state) -> ()")


class OpaqueUpdates(torch.optim.Optimizer):
    """An optimizer whose states take one byte per number, and whose update is an op that Rematlas does not
    know."""

    def __init__(self, parameters):
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self, closure=None):
        for parameter in self.param_groups[0]["params"]:
            state = self.state[parameter]
            if not state:
                state["codes"] = torch.zeros(parameter.numel(), dtype=torch.uint8, device=parameter.device)
            torch.ops.rematlas_test.update(parameter, parameter.grad, state["codes"])


def rows(dtype=torch.float32):
    return torch.randn(8, 256, dtype=dtype)


def plan_of(model, x, optimizer, card="cpu", **options):
    return graph_of_step(model, (x,), {}, AbsentDevice(card), optimizer=optimizer, **options)


def graph(*args, **options):
    return json.loads(plan_of(*args, **options).graph_text())


def held(found, kind):
    return sum(tensor["bytes"] for tensor in found["tensors"] if tensor["kind"] == kind)


def updates(found):
    return [op for op in found["ops"] if op["name"] == UPDATE]


def kept_bytes(optimizer):
    return sum(tensor.nbytes for tensor in named_in(list(optimizer.state.values()), "state").values())


def measured(make_model, make_x, make_optimizer, step=lambda optimizer, model: optimizer.step()):
    """Trains three steps on the CPU. Returns the peak bytes of the last step, and the optimizer."""
    gc.collect()
    before = ops.counted_bytes()
    model, x = make_model(), make_x()
    optimizer = make_optimizer(model)
    for last in (False, False, True):
        model.zero_grad()
        if last:
            tell_step(optimizer, LATE_STEP)
            ops.reset_counted_peak()
        model(x).backward()
        step(optimizer, model)
    return ops.counted_peak_bytes() - before, optimizer


def halves():
    return Net(torch.bfloat16), (rows(torch.bfloat16),)
