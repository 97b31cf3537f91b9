"""apply, remove, status, plan, load."""

import json
import pathlib
import time

import torch

from .applied import MOST_ATTEMPTS, Applied
from .copies import Copies
from .errors import Refused, message
from .from_shapes import used_by_a_loss
from .library import bytes_of, ops, plan_of
from .optimizers import of_another_model, unfit
from .packing import Packing
from .structure import flatten
from .unplanned import CHOICES


class Plan:
    """A plan in a file's form: the graph, the schedule, and how the module packs its outputs, which is a pickle: apply
    plans from people whose code you would run."""

    def __init__(self, data: bytes):
        self.data = data

    @classmethod
    def read(cls, path):
        """Of a plan file, or of a schedule file with its graph file beside it. Raises ValueError where the schedule does
        not pass the check, and for other files."""
        with open(path, "rb"):  # raises what open raises
            pass
        try:
            return cls(bytes_of(ops.load_plan(str(path), "cpu")))
        except RuntimeError as error:
            raise ValueError(f"rematlas: {message(error)}") from None

    def save(self, path) -> None:
        path = pathlib.Path(path)
        if path.is_dir() or not path.parent.is_dir():
            raise FileNotFoundError(f"rematlas: {path} is no file that can be written")
        part = path.with_name(path.name + ".part")
        part.write_bytes(self.data)
        part.replace(path)

    def compiled(self, device):
        return plan_of(self.data, device)

    def used_outputs(self):
        """The places of the output tensors that the plan takes gradients of."""
        compiled = self.compiled("cpu")
        packing, unused = Packing.of(compiled), json.loads(compiled.answer())["unused_outputs"]
        returned = packing.sources[: len(packing.sources) - len(packing.kept)]
        return [at for at, (source, place) in enumerate(returned) if source == "plan" and place not in unused]


def planned_part(model):
    """What is planned of it: DistributedDataParallel reduces gradients beside the step of the module within."""
    while isinstance(model, torch.nn.parallel.DistributedDataParallel):
        model = model.module
    return model


def of(model) -> Applied:
    applied = getattr(planned_part(model), "_compiled_call_impl", None)
    if not isinstance(applied, Applied):
        raise ValueError(f"rematlas: nothing is applied to this {type(model).__name__}")
    return applied


def apply(
    model,
    budget=None,
    *,
    solver="atlas",
    config=None,
    time_limit=None,
    plan=None,
    shapes=8,
    frames=1,
    on_refuse="warn",
    verify=2,
    arena=None,
    unplanned=None,
    optimizer=None,
    accumulate=1,
    clip_norm=None,
    scaler=None,
    offload="none",
    links=None,
    host_budget=None,
    device=None,
):
    """Changes the module in place, and returns it: in train mode its forward and backward run by a plan. Of a
    DistributedDataParallel it is the module within.

    `budget`: bytes of all tensors of the process on the model's device ("2GiB", or a number); or a share of the step's
    peak without recomputation ("60%"), or of what is not resident in it ("60% of activations"), to which what lives
    beside the step is added. The first calls in train mode are recorded, then planned in the background; `time_limit`:
    seconds for that. `verify`: real steps on which the plan is compared with the original before it is used. `plan`: one
    that was made before, or its path. `shapes`: most kinds of calls that are planned for. `frames`: forwards that are
    open at a time; where there are more, the plan is made anew for them. `on_refuse`: "warn" once and train on with
    the original, or "raise" rematlas.Refused. `arena`: whether steps lie in one piece of memory that is laid out once, so
    that nothing fragments; by default on the CPU alone. `unplanned`: how steps run that no plan runs, "original" or
    "evict", which keeps a budget in bytes by online eviction (see `evict`) unless the step is known to fit; by default
    a step that is known not to fit is planned from shapes, and evicted where that cannot be, as are recorded steps of
    which nobody knows. A GPU's allocator then holds the arena also between steps, when
    the optimizer needs memory too; where that runs out, an arena of which nothing is held gives way. `optimizer`: a
    torch.optim.SGD without dampening, Adam or AdamW, with fused=True, whose updates become part of the plan: each parameter is updated during
    backward, as soon as its gradient is final, which is freed with it (`.grad` is gone then, and `optimizer.step()` has
    nothing left to do). Steps are watched first; where gradients are summed, clipped or scaled, or several forwards come
    before a step, the optimizer's own steps stay. `accumulate` says that so many backwards come before each step: those before
    the last one add to `.grad`. `clip_norm` has each step clip the norm of all gradients before, as
    torch.nn.utils.clip_grad_norm_ does, which is not called then; `status(model).gradient_norm` is what it was. `scaler`: the
    torch.amp.GradScaler that scales the loss and takes the steps; before clipping, gradients are unscaled as by its `unscale_`, which
    need not be called.

    `offload`: what may be copied to the host within the step, over `links` ("pcie4", "h200", a profile's path): "activations",
    which come back before the step ends; "weights", which live there with their optimizer's states, and with the sums of
    gradients where these are accumulated; or "all". At most `host_budget` bytes lie there. Parameters stay tensors of the device
    whose memory is the host's: whole at any time, and slow for others than the plan. With weights the optimizer must be part of
    the plan, and `accumulate` and `clip_norm` say what comes before its steps; the budget need not hold the parameters. `device`: where such a
    model trains, which lies on the host alone ("cuda"); by default where its parameters are.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"rematlas: a torch.nn.Module is planned, this is a {type(model).__name__}")
    if isinstance(model, torch.jit.ScriptModule):
        raise TypeError("rematlas: TorchScript modules are planned by the command line (rematlas capture); apply takes the original")
    if isinstance(model, torch.nn.DataParallel):
        raise TypeError("rematlas: DataParallel copies the module in each step; use DistributedDataParallel, a process for each GPU")
    module = planned_part(model)
    for outer in (model, module):
        if isinstance(getattr(outer, "_compiled_call_impl", None), Applied):
            raise ValueError("rematlas: a plan is applied to this module already; remove it first")
        if getattr(outer, "_compiled_call_impl", None) is not None:
            raise ValueError("rematlas: this module is compiled (Module.compile)")
    for name, value, least in (("shapes", shapes, 1), ("frames", frames, 1), ("verify", verify, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"rematlas: {name} is {value!r}; expected a whole number of at least {least}")
    if time_limit is not None and not (isinstance(time_limit, (int, float)) and time_limit > 0):
        raise ValueError(f"rematlas: time_limit is {time_limit!r}; expected seconds")
    if arena is not None and not isinstance(arena, bool):
        raise ValueError(f"rematlas: arena is {arena!r}; expected True, False or None")
    if unplanned not in (None, *CHOICES):
        raise ValueError(f"rematlas: unplanned is {unplanned!r}; expected 'original' or 'evict'")
    if unplanned == "evict" and isinstance(budget, str) and "%" in budget:
        raise ValueError("rematlas: steps without a plan are evicted under a budget in bytes; nobody knows a share of them")
    if on_refuse not in ("warn", "raise"):
        raise ValueError(f"rematlas: on_refuse is {on_refuse!r}; expected 'warn' or 'raise'")
    if budget is None and plan is None:
        raise TypeError("rematlas: a budget is needed, or a plan")
    if budget is not None:
        check_budget(budget)
    if optimizer is not None:
        why = unfit(optimizer) or of_another_model(optimizer, module)
        if why:
            raise ValueError(f"rematlas: optimizer: {why}")
    check_ending(optimizer, accumulate, clip_norm, scaler, offload, device)
    home = next(module.parameters(), torch.empty(0)).device
    copies = Copies(offload, links, host_budget, str(torch.empty(0, device=device or home).device))
    if plan is not None and not isinstance(plan, Plan):
        plan = Plan.read(plan)
    solver, options = solver_of(solver, config)
    if copies.moves_weights:
        copies.take_home(module)
    module._compiled_call_impl = Applied(
        module,
        budget,
        solver=solver,
        config=options,
        time_limit=time_limit,
        plan=plan,
        shapes=shapes,
        frames=frames,
        on_refuse=on_refuse,
        verify=verify,
        arena=arena,
        unplanned=unplanned,
        optimizer=optimizer,
        copies=copies,
        accumulate=accumulate,
        clip_norm=clip_norm,
        scaler=scaler if scaler is not None and scaler.is_enabled() else None,
    )
    return model


def check_ending(optimizer, accumulate, clip_norm, scaler, offload, device) -> None:
    if isinstance(accumulate, bool) or not isinstance(accumulate, int) or accumulate < 1:
        raise ValueError(f"rematlas: accumulate is {accumulate!r}; expected a whole number of at least 1")
    if clip_norm is not None and not (isinstance(clip_norm, (int, float)) and clip_norm > 0):
        raise ValueError(f"rematlas: clip_norm is {clip_norm!r}; expected a norm above 0")
    if scaler is not None and not isinstance(scaler, torch.amp.GradScaler):
        raise TypeError(f"rematlas: scaler is a {type(scaler).__name__}; expected a torch.amp.GradScaler")
    ending = (("accumulate", accumulate > 1), ("clip_norm", clip_norm is not None), ("scaler", scaler is not None), ("offload", offload in ("weights", "all")))
    for name, given in ending:
        if given and optimizer is None:
            raise ValueError(f"rematlas: {name} says what comes before the optimizer's steps, which are no part of the plan: give optimizer=")
    if device is not None and offload not in ("weights", "all"):
        raise ValueError("rematlas: device says where a model trains that lives on the host: with offload 'weights' or 'all'")


def solver_of(solver, config):
    """The solver's name and options; a configuration (see `generate_config`) names the solver itself."""
    if config is None:
        return solver, None
    try:
        checked = json.loads(ops.check_config(json.dumps(config)))
    except RuntimeError as error:
        raise ValueError(str(error).splitlines()[0]) from None
    return checked["solver"], checked["options"] or None


def check_budget(budget) -> None:
    if isinstance(budget, bool) or not isinstance(budget, (int, str)):
        raise TypeError(f"rematlas: the budget is {budget!r}; expected bytes, or text such as '2GiB', '60%' or '60% of activations'")
    try:
        ops.budget_bytes(str(budget))
    except RuntimeError as error:
        raise ValueError(str(error).splitlines()[0]) from None


def remove(model):
    """Gives the module its own forward back. Steps that are open finish as they began."""
    of(model).unplanned.end()
    if of(model).updates is not None:
        of(model).updates.close()
    planned_part(model)._compiled_call_impl = None
    return model


class PlanInfo:
    """Of one kind of call."""

    def __init__(self, entry):
        answer = entry.answer
        self.inputs = entry.inputs
        self.peak_bytes = answer.get("peak_bytes")
        self.measured_peak_bytes = entry.measured or None
        self.at_most = entry.at_most
        self.compared = entry.compared
        self.budget_bytes = answer.get("budget_bytes")
        self.beside_bytes = answer.get("beside_bytes", 0)
        # On a GPU: what the allocator hands out and what it holds of the device, fragmentation included; and the memory
        # that the device must have for the step, for what lives beside it now, and for the driver and other processes.
        self.allocated_peak_bytes = answer.get("allocated_peak_bytes")
        self.host_peak_bytes = answer.get("host_peak_bytes")
        self.reserved_peak_bytes = answer.get("reserved_peak_bytes")
        self.device_bytes = answer.get("device_bytes")
        self.overhead = answer.get("overhead")
        self.bound = answer.get("bound")
        self.gap = answer.get("gap")
        self.solver = answer.get("solver")
        self.ops = answer.get("ops")
        self.whole_peak_bytes = answer.get("whole_peak_bytes")
        self.resident_bytes = answer.get("resident_bytes")
        self.last = json.loads(entry.plan.last())

    def __repr__(self):
        return (
            f"{', '.join(self.inputs)}: {self.ops} ops, peak {'at most ' if self.at_most else ''}{self.peak_bytes} bytes of "
            f"{self.budget_bytes} ({self.whole_peak_bytes} without recomputation), overhead {self.overhead:.4f} by {self.solver}, "
            f"bound {'none' if self.bound is None else format(self.bound, '.4f')}"
            f"{f', needs {self.device_bytes} bytes of the device' if self.device_bytes else ''}"
            f"{'' if self.compared else ', not compared with the original'}"
        )


class Status:
    def __init__(self, applied):
        self._applied = applied

    def _entries(self):
        return list(self._applied.entries.values())

    def _settle(self):
        for entry in self._entries():
            self._applied.settle(entry)

    @property
    def state(self) -> str:
        """Of the model: "planned" where some kind of call is, else the furthest of the others."""
        self._settle()
        if self._applied.refusal:
            return "refused"
        states = [entry.state for entry in self._entries()]
        for state, name in (
            ("planned", "planned"),
            ("comparing", "planning"),
            ("planning", "planning"),
            ("recording", "recording"),
            ("refused", "refused"),
        ):
            if state in states:
                return name
        return "waiting"

    @property
    def reason(self) -> str:
        if self._applied.refusal:
            return self._applied.refusal
        reasons = [entry.reason for entry in self._entries() if entry.reason]
        if not self._entries():
            return "the module has not been called in train mode with gradients"
        return reasons[-1] if reasons else ""

    @property
    def plans(self):
        return [PlanInfo(entry) for entry in self._entries() if entry.plan is not None and "peak_bytes" in entry.answer]

    @property
    def replayed(self) -> int:
        return self._applied.replayed

    @property
    def original(self) -> int:
        return self._applied.original

    @property
    def updates(self) -> str:
        """How parameters are updated: by "optimizer.step()", and why, or "during backward"."""
        updates = self._applied.updates
        if updates is None:
            return "optimizer.step(): no optimizer is part of the plan"
        if updates.own:
            return f"optimizer.step(): {updates.own}"
        if any(ending.bound for entry in self._entries() for ending in entry.endings.values()):
            return "during backward"
        return f"optimizer.step(): {updates.why or 'until steps have been watched and planned'}"

    @property
    def updated(self) -> int:
        """Steps whose updates were done during backward."""
        return self._applied.updates.steps if self._applied.updates is not None else 0

    @property
    def gradient_norm(self):
        """Of all gradients, before they were clipped last, as a tensor of one number; None where nothing was clipped."""
        norm = self._applied.updates and self._applied.updates.numbers.get("norm")
        return None if norm is None else norm.clone()

    @property
    def evicted(self) -> int:
        """Of the steps that the original ran, those under online eviction."""
        return self._applied.unplanned.steps

    @property
    def eviction(self):
        """What online eviction has done since it is in force; None where it is not."""
        return self._applied.unplanned.status()

    def wait(self, seconds=None) -> "Status":
        """Blocks until no planning is under way."""
        end = None if seconds is None else time.monotonic() + seconds
        for entry in self._entries():
            self._applied.settle(entry)
            while entry.state == "planning" and self._applied.busy(entry) and (end is None or time.monotonic() < end):
                if end is None and entry.plan.busy():
                    entry.plan.wait()
                else:
                    time.sleep(0.02)
            self._applied.settle(entry)
            for ending in entry.endings.values():
                if end is None:
                    ending.plan.wait()
        return self

    def plan(self) -> Plan:
        """The last plan that was found."""
        for entry in reversed(self._entries()):
            if entry.plan is None or "peak_bytes" not in entry.answer:
                continue
            entry.plan.pack(entry.packing(self._applied.module).text())
            return Plan(bytes_of(entry.plan))
        raise Refused(f"rematlas: there is no plan{': ' + self.reason if self.reason else ''}")

    def save(self, path) -> None:
        self.plan().save(path)

    def __repr__(self):
        evicted = f" ({self.evicted} of them under online eviction)" if self.evicted else ""
        lines = [f"{self.state}, {self.replayed} steps replayed, {self.original} run by the original{evicted}"]
        if self.eviction:
            lines.append(f"online eviction is in force: {self.eviction.evictions} evictions, reruns take {self.eviction.rerun_share:.0%} of the ops' time")
        if self.reason and self.state != "planned":
            lines.append(self.reason)
        return "\n".join(lines + [repr(plan) for plan in self.plans])


def status(model) -> Status:
    return Status(of(model))


def plan(model, args, budget, kwargs=None, **options) -> Plan:
    """Plans ahead of the first call, on sample arguments: two steps whose loss is the sum of the outputs that are single
    numbers, or of all outputs where none is.

    The model is left as it was: parameters, buffers, gradients, modes and random numbers; an `optimizer`, too. `options` as in `apply`.
    Raises Refused or Infeasible.
    """
    return recorded(model, args, budget, kwargs, options, lambda: status(model).wait().plan())


def graph_of(model, args, kwargs=None, optimizer=None) -> str:
    """The text of a graph file, recorded as `plan` does; with an optimizer its updates end the step. Raises Refused."""

    def text():
        for entry in of(model).entries.values():
            if entry.plan is not None:
                plan, packing = entry.plan, entry.packing(model)
                if optimizer is not None:
                    try:
                        plan, ending = of(model).updates.ended(of(model), entry)
                    except RuntimeError as error:
                        raise Refused(str(error)) from None
                    packing = packing._replace(ending=ending)
                plan.pack(packing.text())
                return plan.graph_text()
        raise Refused(f"rematlas: {status(model).reason}")

    return recorded(model, args, "100%", kwargs, {"solver": "keep-all", "optimizer": optimizer}, text)


def recorded(model, args, budget, kwargs, options, result):
    optimizer = options.get("optimizer")
    memory = [(parameter, parameter.data) for parameter in model.parameters()]
    states = {} if optimizer is None else {parameter: dict(kept) for parameter, kept in optimizer.state.items()}
    args = (args,) if isinstance(args, torch.Tensor) else tuple(args)
    training = [(module, module.training) for module in model.modules()]
    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    devices = sorted({parameter.device.index for parameter in model.parameters() if parameter.is_cuda})
    model.train()
    try:
        with torch.random.fork_rng(devices=devices):
            apply(model, budget, **{**options, "on_refuse": "raise"})
            try:
                for _ in range(2 * MOST_ATTEMPTS):
                    sample_step(model, args, kwargs or {})
                    if status(model).state != "recording":
                        break
                return result()
            finally:
                remove(model)
                for device in devices:
                    ops.wait_for_autograd(f"cuda:{device}")
    finally:
        with torch.no_grad():
            for buffer, before in buffers:
                buffer.copy_(before)
            for parameter, data in memory:
                parameter.data = data
        if optimizer is not None:
            optimizer.state.clear()
            optimizer.state.update(states)
        for module, mode in training:
            module.training = mode


def sample_step(model, args, kwargs):
    _, outputs = flatten(model(*args, **kwargs))
    if any(entry.direct for entry in of(model).entries.values()):
        return  # its backward would update the parameters
    roots = [output for output, used in zip(outputs, used_by_a_loss(outputs)) if used]
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    torch.autograd.grad(roots, parameters, [torch.ones_like(root) for root in roots], allow_unused=True)


def load(model, plan, **options):
    """The module, training by a plan that was made before: `apply` with a plan."""
    return apply(model, options.pop("budget", None), plan=plan, **options)
