"""Runs a plan on the module for which it was made, and compares it with the original bit by bit if asked.

Each step has its own seed. After each step the weights are changed by a small gradient step, because no two
steps should be alike.
"""

import copy
import statistics
import time

import torch

from rematlas_command.builds import minor_of

from .api import apply, of, remove, status
from .calls import structure
from .compiled.memory import alive_bytes, peak_bytes, reset_peak
from .errors import Refused
from .library import ops

RATE = 1e-3  # the learning rate of the gradient step


class Side:
    """A module (planned or original), and the results of its newest step."""

    def __init__(self, module):
        self.module = module
        self.device = next((parameter.device for parameter in module.parameters()), torch.device("cpu"))
        self.seconds = []

    def step(self, args, kwargs, seed, used):
        """Runs a step. `used`: the places of the output tensors that get a gradient. Returns the peak of the
        step in bytes, minus the bytes at the beginning of the step."""
        args, kwargs = copy.deepcopy((args, kwargs))
        self.module.zero_grad()
        torch.manual_seed(seed)
        reset_peak(self.device)
        alive, began = alive_bytes(self.device), self.now()
        self.template, outputs = structure.flatten(self.module(*args, **kwargs))
        AnyLoss.apply(*(outputs[place] for place in used if outputs[place].requires_grad)).backward()
        self.seconds.append(self.now() - began)
        peak = peak_bytes(self.device) - alive
        leaves = [*self.module.parameters(), *structure.flatten_call(args, kwargs)[1]]
        self.outputs = [output.detach() for output in outputs]
        self.gradients = [leaf.grad for leaf in leaves if leaf.is_leaf]
        self.state = [*self.module.parameters(), *self.module.buffers()]
        self.random = [torch.get_rng_state()]
        if self.device.type == "cuda":
            self.random.append(torch.cuda.get_rng_state(self.device))
        with torch.no_grad():
            for parameter in self.module.parameters():
                if parameter.grad is not None:
                    parameter.sub_(parameter.grad, alpha=RATE)
        return peak

    def now(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()


class AnyLoss(torch.autograd.Function):
    """A loss whose gradients are arbitrary, but the same in each step. As with other losses, the gradients
    are made when the backward begins, and only the backward holds them. Making them does not change the state
    of the model's random numbers."""

    @staticmethod
    def forward(ctx, *outputs):
        ctx.like = [(output.shape, output.device, output.dtype) for output in outputs]
        return torch.zeros((), device=outputs[0].device)

    @staticmethod
    def backward(ctx, _):
        return tuple(
            torch.rand(
                shape, generator=torch.Generator(device).manual_seed(7), device=device, dtype=torch.float32
            ).to(dtype)
            for shape, device, dtype in ctx.like
        )


class StepsByPlan:
    """Counts how many steps of a planned model its plan has run."""

    def __init__(self, model):
        self.status = status(model)
        self.model = type(model).__name__
        self.count = self.replayed = self.by_original = self.measured_peak = 0
        self.why_original = ""  # why the original ran the newest step that the plan should have run

    def count_step(self) -> None:
        """Called when a step is over. The step counts as run by the plan if the original has run neither its
        forward nor its backward."""
        last = self.status.plans[0].last if self.status.plans else {}
        by_original = last.get("originals", 0)
        is_by_plan = self.status.replayed > self.replayed and by_original == self.by_original
        self.replayed, self.by_original = self.status.replayed, by_original
        if is_by_plan:
            self.count += 1
            self.measured_peak = max(self.measured_peak, last["peak_bytes"])
        else:
            self.why_original = self.status.reason or self.status.why_original

    def info(self):
        """Returns the PlanInfo of the plan. Raises Refused if the plan has run no step."""
        if self.count == 0:
            raise Refused(f"rematlas: the plan does not run on this {self.model}: {self.why_original}")
        return self.status.plans[0]


def run(model, args, kwargs, plan, *, steps=5, seed=1, verify=False) -> dict:
    """Runs the plan, and returns the report of `rematlas run --json`. Changes the weights. Raises Refused if
    the plan does not run on the module."""
    args = (args,) if isinstance(args, torch.Tensor) else tuple(args)
    kwargs = kwargs or {}
    if plan.ends_with_updates():
        raise Refused(
            "rematlas: the plan ends with an optimizer's updates, and there is no optimizer here: train by"
            " it with apply(model, plan=, optimizer=), or, where it is for a card that was not there, make it"
            " without an optimizer"
        )
    model.train()
    original = Side(copy.deepcopy(model)) if verify else None
    # A plan that was made with another version of torch is compared with the original in the first step,
    # which is only a warm-up.
    compared = int(minor_of(plan.torch()) != minor_of(torch.__version__))
    planned = Side(apply(model, plan=plan, verify=compared, on_refuse="raise", arena=True))
    of(model).measure_peaks()
    used = plan.used_outputs()
    same = dict.fromkeys(("outputs", "gradients", "buffers", "random_state"), True)
    by_plan, of_original = StepsByPlan(model), 0
    try:
        for step in range(steps + 1):  # the first step is a warm-up
            planned.step(args, kwargs, seed + step, used)
            by_plan.count_step()
            if not verify:
                continue
            of_original = max(of_original, original.step(args, kwargs, seed + step, used))
            same["outputs"] &= planned.template == original.template and ops.identical(
                planned.outputs, original.outputs
            )
            same["gradients"] &= ops.identical(planned.gradients, original.gradients)
            same["buffers"] &= ops.identical(planned.state, original.state)
            same["random_state"] &= ops.identical(planned.random, original.random)
    finally:
        remove(model)
    info, measured = by_plan.info(), by_plan.measured_peak
    report = {
        "steps": steps,
        "original_steps": steps + 1 - by_plan.count,
        "why_original": by_plan.why_original,
        "step_seconds": planned.seconds[1:],
        "predicted_peak_bytes": info.peak_bytes,
        "measured_peak_bytes": measured,
        "budget_bytes": info.budget_bytes,
        "arena_bytes": info.last["arena_bytes"],
        "system_allocations_per_step": info.last["system_allocations"],
        "overhead_predicted": info.overhead,
        "verified": None,
    }
    if verify:
        mismatch = ops.mismatch_of(
            **same, measured_peak=measured, predicted_peak=info.peak_bytes, budget=info.budget_bytes
        )
        report |= {f"{name}_identical": is_same for name, is_same in same.items()}
        report["verified"] = not mismatch
        report["original_peak_bytes"] = info.resident_bytes + of_original
        report["time_ratio_to_eager"] = statistics.median(
            a / b for a, b in zip(planned.seconds[1:], original.seconds[1:])
        )
        if mismatch:
            report["mismatch"] = mismatch
    return report


def text_of(report) -> str:
    mib = {name: f"{size / 2**20:.1f} MiB" for name, size in report.items() if name.endswith("_bytes")}
    lines = [
        f"step {number}      {1e3 * seconds:.1f} ms"
        for number, seconds in enumerate(report["step_seconds"], 1)
    ]
    if report["original_steps"]:
        lines.append(
            f"unplanned   the original ran {report['original_steps']} of {report['steps'] + 1} steps, the one"
            f" that warms up included: {report['why_original']}"
        )
    lines.append(
        f"peak        {mib['predicted_peak_bytes']} predicted, {mib['measured_peak_bytes']} measured, budget"
        f" {mib['budget_bytes']}"
    )
    lines.append(
        f"arena       {mib['arena_bytes']}; {report['system_allocations_per_step']} allocations from the"
        " system in the last step"
    )
    lines.append(f"overhead    x{report['overhead_predicted']:.3f} predicted")
    if report["verified"] is None:
        return "\n".join(lines)
    ratio = f"x{report['time_ratio_to_eager']:.3f} of its time (median of {report['steps']} pairs)"
    lines.append(f"original    peak {mib['original_peak_bytes']}; the plan takes {ratio}")
    yes = "yes: outputs, gradients, buffers and random state are identical to eager"
    lines.append(f"verified    {yes if report['verified'] else 'no: ' + report['mismatch']}")
    return "\n".join(lines)
