"""Small models and loops. A naive record and replay of training steps would train them differently than plain
training does.

    python traps.py --plain [NAME...]    # trains each of them twice plainly and compares every bit
"""

import argparse
import contextlib
import dataclasses
import functools
import hashlib
import importlib
import os
import random
import sys
import time
import warnings
from collections.abc import Callable, Mapping

import numpy
import torch
from torch import nn

MODULES = [
    "traps_state",
    "traps_kept",
    "traps_containers",
    "traps_changes",
    "traps_effects",
    "traps_values",
    "traps_random",
    "traps_inputs",
    "traps_layers",
    "traps_autograd",
    "traps_modes",
    "traps_offloading",
    "traps_autocast",
    "traps_calls",
    "traps_loops",
    "traps_sums",
    "traps_gradients",
    "traps_hidden",
]
STEPS = 10
# Traps change something after this step. By then two steps were recorded, two were compared with a plan, and
# two were run by the plan.
CHANGE = 6
ROWS, WIDTH = 64, 16
DEVICE = torch.device(os.environ.get("REMATLAS_TEST_DEVICE", "cpu"))
ON_HOST = DEVICE.type == "cpu"
if not ON_HOST:
    torch.set_default_device(DEVICE)

Record = dict[str, str]  # the digest of each tensor and state, by name


def data(step: int, *shape: int) -> torch.Tensor:
    """Returns normal random numbers that are the same in each run. Draws nothing from the global
    generators."""
    return torch.randn(
        shape, generator=torch.Generator("cpu").manual_seed(step), dtype=torch.float32, device="cpu"
    ).to(DEVICE)


def rows(step: int) -> tuple[tuple, dict]:
    return (data(step, ROWS, WIDTH),), {}


def mean_square(output: torch.Tensor, step: int) -> torch.Tensor:
    return output.square().mean()


def blocks(count: int = 2, width: int = WIDTH) -> nn.Sequential:
    """Returns layers whose activations take much more memory than their weights. So a plan is needed to keep
    a budget of 80%."""
    return nn.Sequential(*(layer for _ in range(count) for layer in (nn.Linear(width, width), nn.GELU())))


@dataclasses.dataclass
class Trap:
    model: nn.Module
    # Returns positional and keyword arguments of a step; the first step has number 1
    batch: Callable[[int], tuple[tuple, dict]] = rows
    loss: Callable[[object, int], torch.Tensor] = mean_square
    expected: str = "planned"  # the expected final state; "either" if only the bits matter
    between: Callable[[nn.Module, int], None] | None = None  # called after each step of the optimizer
    # Runs forward, loss and backward, and returns the loss.
    body: Callable[[nn.Module, Callable, int], torch.Tensor | None] | None = None
    update: Callable[[torch.optim.Optimizer, int], None] = lambda optimizer, step: optimizer.step()
    observe: Callable[[nn.Module], object] = lambda model: None  # returns further state to compare
    around: Callable[[], contextlib.AbstractContextManager] = contextlib.nullcontext  # context of all steps
    keeps_gradients: bool = False  # gradients are set to zero in place, not to None
    least_replayed: int = 0  # the least number of replayed steps, whatever the final state
    budget: str = "80%"


TRAPS: dict[str, Callable[[], Trap]] = {}


def seed(number: int) -> None:
    torch.manual_seed(number), numpy.random.seed(number), random.seed(number)


def trap(build: Callable[[], Trap]) -> Callable[[], Trap]:
    """Registers a function that builds a trap under the function's name. The function's docstring describes
    the trap."""

    @functools.wraps(build)
    def build_seeded() -> Trap:
        seed(0)
        made = build()
        made.model.to(DEVICE)
        return made

    if build.__name__ in TRAPS:
        raise ValueError(f"there are two traps called {build.__name__}")
    TRAPS[build.__name__] = build_seeded
    return build_seeded


def host_trap(build: Callable[[], Trap]) -> Callable[[], Trap]:
    """Registers a trap that reads memory of the host. When tests run on a device, the trap is not
    registered."""
    return trap(build) if ON_HOST else build


def after_change(change: Callable[[nn.Module], object]) -> Callable[[nn.Module, int], None]:
    """Returns a function for `Trap.between` that makes the change once, after step CHANGE."""

    def between(model: nn.Module, step: int) -> None:
        if step == CHANGE:
            change(model)

    return between


def load() -> dict[str, Callable[[], Trap]]:
    for module in MODULES:
        importlib.import_module(module)
    return TRAPS


def digest(tensor: torch.Tensor) -> str:
    """Returns a digest of the tensor's type, shape and bits."""
    tensor = tensor.detach()
    if tensor.layout != torch.strided:
        tensor = tensor.coalesce()
        return f"sparse {tuple(tensor.shape)} {digest(tensor.indices())} {digest(tensor.values())}"
    made = hashlib.sha256(f"{tensor.dtype} {tuple(tensor.shape)} ".encode())
    tensor = tensor.resolve_conj().resolve_neg()
    tensor = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    made.update(tensor.contiguous().flatten().view(torch.uint8).cpu().numpy())
    return made.hexdigest()[:16]


def described(value) -> str:
    """Returns a text for the value. Values that differ in any bit have different texts."""
    if isinstance(value, torch.Tensor):
        return digest(value)
    if isinstance(value, numpy.ndarray):
        return digest(torch.from_numpy(numpy.ascontiguousarray(value)))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {described(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(described(item) for item in value) + "]"
    return repr(value)


def generators() -> Record:
    _, numbers, position, *_ = numpy.random.get_state()
    return {
        "generator of torch": digest(torch.get_rng_state()),
        **(
            {"generator of the device": digest(torch.cuda.get_rng_state(DEVICE))}
            if DEVICE.type == "cuda"
            else {}
        ),
        "generator of numpy": f"{described(numbers.astype('int64'))} {position}",
        "generator of Python": hashlib.sha256(repr(random.getstate()).encode()).hexdigest()[:16],
    }


def ordinary_step(trap: Trap, model: nn.Module, step: int) -> torch.Tensor:
    args, kwargs = trap.batch(step)
    loss = trap.loss(model(*args, **kwargs), step)
    loss.backward()
    return loss


def run_step(trap: Trap, optimizer: torch.optim.Optimizer, step: int) -> Record:
    model = trap.model
    model.zero_grad(set_to_none=not trap.keeps_gradients)
    loss = trap.body(model, trap.batch, step) if trap.body else ordinary_step(trap, model, step)
    record = {"loss": described(loss)}
    record |= {
        f"gradient of {name}": described(parameter.grad) for name, parameter in model.named_parameters()
    }
    trap.update(optimizer, step)
    if trap.between:
        trap.between(model, step)
    trained = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    new = [
        parameter
        for parameter in model.parameters()
        if parameter.requires_grad and id(parameter) not in trained
    ]
    if new:
        optimizer.add_param_group({"params": new})
    record |= {f"parameter {name}": described(parameter) for name, parameter in model.named_parameters()}
    record |= {f"buffer {name}": described(buffer) for name, buffer in model.named_buffers()}
    return record | {"what is observed": described(trap.observe(model))} | generators()


def train(trap: Trap, apply: Callable[[nn.Module], Callable[[], None]] | None = None) -> list[Record]:
    """Trains for `STEPS` steps. `apply` changes the model before the first step, and returns a function that
    is called after each step. Returns one record for each step."""
    seed(7)
    with trap.around():
        done = apply(trap.model) if apply else lambda: None
        parameters = [parameter for parameter in trap.model.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(parameters, lr=1e-2, foreach=not ON_HOST)
        records = []
        for step in range(1, STEPS + 1):
            records.append(run_step(trap, optimizer, step))
            done()
    return records


def first_difference(one: list[Record], other: list[Record]) -> str | None:
    """Returns the first difference in the order of training; None if all bits are the same."""
    for step, (a, b) in enumerate(zip(one, other), 1):
        for name in a | b:
            if a.get(name) != b.get(name):
                return f"step {step}: {name}: {a.get(name)} and {b.get(name)}"
    return None if len(one) == len(other) else f"{len(one)} steps against {len(other)}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plain", action="store_true", required=True, help="train plainly only, twice")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    failed = []
    chosen = {name: build for name, build in load().items() if not options.names or name in options.names}
    for name, build in chosen.items():
        started = time.monotonic()
        expected = build().expected
        try:
            difference = first_difference(train(build()), train(build()))
        except Exception as error:
            difference = f"{type(error).__name__}: {error}"
        if difference:
            failed.append(name)
        print(
            f"{name:44}  {expected:8}  {time.monotonic() - started:5.2f} s  {difference or 'same'}",
            flush=True,
        )
    print(
        f"{len(chosen)} traps, {len(failed)} are not the same twice"
        + "".join(f"\n    {name}" for name in failed)
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    import traps  # traps register themselves in the module `traps`, not in `__main__`

    traps.main()
