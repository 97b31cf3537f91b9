"""Plans: from a module, a sample of its inputs and a budget to a checked schedule."""

import contextlib
import dataclasses
import json
import os
import pathlib
import tempfile
import warnings

import torch

from . import programs
from .structure import flat, structure_of

DTYPES = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex64: "c64",
    torch.complex128: "c128",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint8: "u8",
    torch.bool: "bool",
}


class Infeasible(RuntimeError):
    """No schedule keeps the budget. `needed_bytes`: every schedule needs at least so many."""

    def __init__(self, message: str, needed_bytes: int | None):
        super().__init__(message)
        self.needed_bytes = needed_bytes


@dataclasses.dataclass(frozen=True)
class Plan:
    """A plan file in memory. `load` takes it, or the path that it was saved to."""

    data: bytes = dataclasses.field(repr=False)

    @staticmethod
    def read(path) -> "Plan":
        data = pathlib.Path(path).read_bytes()
        try:
            if json.loads(data[: data.index(b"\n")])["format"] == "rematlas.plan":
                return Plan(data)
        except (ValueError, KeyError, TypeError):
            pass
        raise ValueError(f"rematlas: {path} is not a plan; make one with rematlas.plan or `rematlas export`")

    def save(self, path) -> None:
        """Writes the file whole or not at all."""
        path = pathlib.Path(path)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
            file.write(self.data)
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)

    @property
    def _head(self) -> dict:
        return json.loads(self.data[: self.data.index(b"\n")])

    @property
    def module(self) -> dict:
        """What `rematlas.plan` knew of the module; empty for plans of the command line."""
        return self._head.get("module", {})

    @property
    def summary(self) -> dict:
        """solver, status, overhead, peak_bytes, budget_bytes, bound (of the overhead), gap; the last two may be None."""
        head = self._head
        schedule = json.loads(self.data[-head["schedule_bytes"] :])
        predicted, bound = schedule["predicted"], schedule.get("bound")
        return {
            "solver": schedule["solver"],
            "status": schedule["status"],
            "overhead": predicted["overhead"],
            "peak_bytes": predicted["peak_bytes"],
            "budget_bytes": schedule["budget_bytes"],
            "bound": bound and bound["overhead"],
            "gap": bound and bound["gap"],
        }

    def __str__(self) -> str:
        s = self.summary
        text = f"{s['status']} by {s['solver']}: overhead {s['overhead']:.4f}, peak {s['peak_bytes']} bytes"
        if s["budget_bytes"]:
            text += f" of a budget of {s['budget_bytes']}"
        return text + (f", bound {s['bound']:.4f}, gap {100 * s['gap']:.2f} %" if s["bound"] else ", no bound is known")


def device_of(model) -> str:
    devices = {tensor.device for tensor in [*model.parameters(), *model.buffers()]}
    if len(devices) > 1:
        raise ValueError(f"rematlas: the model lies on several devices: {', '.join(sorted(map(str, devices)))}")
    kind = devices.pop().type if devices else "cpu"
    if kind not in ("cpu", "cuda"):
        raise ValueError(f"rematlas: the model is on {kind}; cpu and cuda are supported")
    return kind


def autocast_of(kind: str):
    """The type that autocast is in force for, as text; None where it is not."""
    return str(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else None


def evaluating(model) -> list[str]:
    """Submodules in eval mode, by name."""
    return [name for name, module in model.named_modules() if not module.training]


def input_spec(index: int, value) -> str:
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"rematlas: input {index} of the sample is a {type(value).__name__}; tensors are needed")
    if value.dtype not in DTYPES:
        raise TypeError(f"rematlas: input {index} of the sample is {value.dtype}, which plans do not know")
    if not value.is_contiguous():
        raise ValueError(f"rematlas: input {index} of the sample is not contiguous, and plans are made for inputs that are")
    spec = f"{DTYPES[value.dtype]}[{','.join(map(str, value.shape))}]"
    if not (value.is_floating_point() or value.is_complex() or value.dtype == torch.bool) and value.numel():
        spec += f"<{max(int(value.max()), 0) + 1}"
    return spec


@contextlib.contextmanager
def unchanged(model, kind: str):
    """Puts back the buffers, the modes and the generators."""
    modes = [(module, module.training) for module in model.modules()]
    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    with torch.random.fork_rng(devices=[] if kind == "cpu" else None):
        try:
            yield
        finally:
            with torch.no_grad():
                for buffer, contents in buffers:
                    buffer.copy_(contents)
            for module, training in modes:
                module.training = training


def scripted(model, sample, differentiable):
    """The model as TorchScript, and how it packs its output."""
    seen = {}

    def flatten(module, inputs, output):
        """The trace returns the tensors alone: TorchScript cannot type every dictionary."""
        seen["structure"] = structure_of(output)
        tensors = flat(output)
        kept = range(len(tensors)) if differentiable is None else set(differentiable)
        tensors = tuple(tensor if place in kept else tensor.detach() for place, tensor in enumerate(tensors))
        return tensors[0] if len(tensors) == 1 else tensors

    is_script = isinstance(model, torch.jit.ScriptModule)
    if is_script and differentiable is not None:
        raise ValueError("rematlas: differentiable needs a module that is not scripted; detach the outputs in it")
    with torch.no_grad():
        if is_script:
            return model, structure_of(model(*sample))
        hook = model.register_forward_hook(flatten)
        cached = torch.is_autocast_cache_enabled()
        torch.set_autocast_cache_enabled(False)  # a cast that the cache answers would be missing from the trace
        try:
            return torch.jit.trace(model, sample, check_trace=False, strict=False), seen["structure"]
        finally:
            torch.set_autocast_cache_enabled(cached)
            hook.remove()


def budget_text(budget) -> str:
    if isinstance(budget, bool) or not isinstance(budget, (int, str)):
        raise TypeError(f"rematlas: the budget is {budget!r}; expected bytes, or text such as '2GiB' or '60%'")
    return str(budget)


def plan(
    model,
    sample,
    budget,
    solver: str = "atlas",
    *,
    time_limit: float = 60.0,
    config: dict | None = None,
    differentiable=None,
    repeats: int | None = None,
    seed: int = 1,
) -> Plan:
    """Captures one training step of the model and finds a schedule that keeps the budget.

    `sample`: a tensor or a tuple of them, like the inputs of each step; of integers the largest value counts too.
    `budget`: bytes, "2GiB", or "60%" of the peak without recomputation; parameters, gradients, inputs and workspaces
    are in it. What the loss holds is the caller's: put the loss into the module to have it planned too.
    `solver`: as in `rematlas solve`; `config`: of generate_config or load_config, names the solver itself.
    `time_limit`: seconds for the solver. `differentiable`: places of the outputs that the loss depends on, all by
    default. `repeats`: most steps that are replayed for the times of the ops.

    The model is left as it was: parameters, buffers, gradients, modes and random numbers. It is traced as it is, so
    hooks of its submodules and an autocast region around this call are part of the plan. Raises Infeasible, with
    the bytes that are needed; ProgramError for what cannot be captured.
    """
    inputs = (sample,) if isinstance(sample, torch.Tensor) else tuple(sample)
    kind = device_of(model)
    specs = [input_spec(index, value) for index, value in enumerate(inputs)]
    with tempfile.TemporaryDirectory(prefix="rematlas-") as name:
        files = pathlib.Path(name)
        with unchanged(model, kind):
            if not model.training:
                model.train()
            modes = evaluating(model)
            if modes and isinstance(model, torch.jit.ScriptModule):
                raise ValueError(f"rematlas: {modes[0]} is in eval mode, and scripted modules are captured in train mode")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # TorchScript is what is captured
                script, structure = scripted(model, inputs, differentiable)
                torch.jit.save(script, str(files / "model.pt"))
            del script
        arguments = [part for spec in specs for part in ("--input", spec)]
        arguments += ["--device", kind, "--threads", str(torch.get_num_threads()), "--seed", str(seed)]
        if repeats:
            arguments += ["--repeats", str(repeats)]
        programs.run("capture", str(files / "model.pt"), *arguments, "-o", str(files / "model.graph.json"))
        (files / "model.pt").unlink()
        solve(files, budget, solver, time_limit, config)
        programs.run(
            "export", str(files / "model.schedule.json"), "--graph", str(files / "model.graph.json"), "-o", str(files / "model.plan")
        )
        data = (files / "model.plan").read_bytes()
    end = data.index(b"\n")
    head = json.loads(data[:end])
    head["module"] = {"structure": structure, "autocast": autocast_of(kind), "evaluating": modes}
    return Plan(json.dumps(head).encode() + data[end:])


def solve(files: pathlib.Path, budget, solver: str, time_limit: float, config: dict | None) -> None:
    arguments = ["--budget", budget_text(budget), "--time-limit", f"{time_limit}s"]
    if config is None:
        arguments += ["--solver", solver]
    else:
        (files / "config.json").write_text(json.dumps(config))
        arguments += ["--config", str(files / "config.json")]
    try:
        programs.run("solve", str(files / "model.graph.json"), *arguments, "-o", str(files / "model.schedule.json"))
    except programs.ProgramError as error:
        if error.answer and error.answer.get("status") == "infeasible":
            needed = error.answer.get("needed_bytes")
            raise Infeasible(
                f"rematlas: infeasible: the budget is {error.answer.get('budget_bytes')} bytes; "
                f"every schedule needs at least {needed}",
                needed,
            ) from None
        raise
