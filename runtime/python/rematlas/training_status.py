"""The status of a module's steps."""

import dataclasses
import time

from .errors import Refused
from .lifecycle.state import StateName
from .plan_file import Plan

FURTHEST_FIRST = (
    StateName.PLANNED,
    StateName.COMPARING,
    StateName.PLANNING,
    StateName.RECORDING,
    StateName.REFUSED,
)
NOT_CALLED = (
    "the module has not been called in train mode with gradients (a copy of it trains as it is:"
    " rematlas.apply the copy)"
)
ANSWERED = (
    *("peak_bytes", "budget_bytes", "beside_bytes", "allocated_peak_bytes", "reserved_peak_bytes"),
    *("device_bytes", "host_peak_bytes", "overhead", "bound", "gap", "solver", "ops", "whole_peak_bytes"),
    *("resident_bytes", "wire_bytes", "whole_wire_bytes"),
)


def bytes_that_work(call_plan) -> int:
    """If no plan for this kind of call keeps the budget, returns the bytes of a budget that works. Returns 0
    if a plan keeps it, or if no such budget is known."""
    room = call_plan.state.room if call_plan.state.name is StateName.REFUSED else None
    works = None if room is None else room.answer.infeasible.works
    return 0 if works is None else works.bytes


class PlanInfo:
    """The plan of one kind of call.

    - `inputs`: the types and shapes of the call's tensors, as texts
    - `ops`: the number of ops of the step
    - `budget_bytes`, `peak_bytes`: the bytes that the budget leaves to the step, and the step's predicted
      peak
    - `measured_peak_bytes`: the largest measured peak of a compared step; None if none was measured
    - `at_most`: whether the measured peak is below the predicted one
    - `whole_peak_bytes`, `resident_bytes`: the peak without recomputation, and the resident bytes in it
    - `beside_bytes`: bytes that did not belong to the step when it was planned; the device holds them in
      addition to the step's peak
    - `host_peak_bytes`: in plans with copies, the peak on the host
    - `allocated_peak_bytes`, `reserved_peak_bytes`: on a GPU, the bytes that the caching allocator has handed
      out at the peak, and the bytes that it then holds of the device, including fragmentation
    - `device_bytes`: on a GPU, the memory that the device must have for the step, the `beside_bytes`, the
      driver and other processes
    - `overhead`, `bound`, `gap`: the predicted overhead, a proven lower bound on it, and the gap between them
    - `wire_bytes`, `whole_wire_bytes`: the bytes that collectives bring to this rank in a step, under the
      plan and without recomputation
    - `solver`: the name of the solver
    - `compared`: the number of steps in which the plan was compared with the original
    - `last`: figures of the last step that the plan ran, by name
    - `loss_head`: bytes of head and loss in the peak, and their bytes in chunks; None if chunks save few
      bytes

    Unknown values are None.
    """

    def __init__(self, call_plan):
        self.inputs = call_plan.inputs
        self.measured_peak_bytes = call_plan.comparisons.measured_bytes or None
        self.at_most = call_plan.comparisons.is_at_most
        self.compared = call_plan.comparisons.identical
        for name in ANSWERED:
            setattr(self, name, getattr(call_plan.answer, name))
        last = call_plan.plan.compiled.last_step()
        self.last = dataclasses.asdict(last) if last else {}
        # The bytes of head and loss in the step's peak, and their bytes in chunks of tokens, in the form of
        # `rematlas inspect --json`; None if chunks would save few bytes. This object does not hold the plan
        # itself, because the plan holds tensors.
        self.loss_head = call_plan.plan.compiled.loss_head

    def __repr__(self):
        at_most = "at most " if self.at_most else ""
        bound = "none" if self.bound is None else format(self.bound, ".4f")
        needs = f", needs {self.device_bytes} bytes of the device" if self.device_bytes else ""
        compared = "" if self.compared else ", not compared with the original yet"
        wire = (
            f", {self.wire_bytes} bytes from other ranks ({self.whole_wire_bytes} without recomputation)"
            if self.wire_bytes
            else ""
        )
        return (
            f"{', '.join(self.inputs)}: {self.ops} ops, peak {at_most}{self.peak_bytes} bytes of"
            f" {self.budget_bytes} ({self.whole_peak_bytes} without recomputation), overhead"
            f" {self.overhead:.4f} by {self.solver}, bound {bound}{needs}{wire}{compared}"
        )


class Status:
    """The status of the steps of a model under `apply`. Its `repr` describes the status in words."""

    def __init__(self, planned):
        self._planned = planned

    def _call_plans(self):
        return list(self._planned.call_plans.values())

    def _solved(self):
        return [
            p
            for p in self._call_plans()
            if p.plan is not None and p.answer is not None and p.answer.is_solved
        ]

    def _refused(self) -> list:
        """Returns the reasons why kinds of calls are refused, each once."""
        refused = [plan for plan in self._call_plans() if plan.state.name is StateName.REFUSED]
        return list(dict.fromkeys(call_plan.reason for call_plan in refused))

    @property
    def state(self) -> str:
        """The state that is closest to "planned", among the states of all kinds of calls."""
        for call_plan in self._call_plans():
            call_plan.settle()
        if self._planned.refusals.of_module:
            return StateName.REFUSED.value
        states = {call_plan.state.name for call_plan in self._call_plans()}
        return next((state for state in FURTHEST_FIRST if state in states), StateName.WAITING).value

    @property
    def reason(self) -> str:
        """Why calls have no plan; empty if there is no such reason."""
        if self._planned.refusals.of_module:
            return self._planned.refusals.of_module
        if not self._call_plans():
            return "; ".join(self.left_alone) or NOT_CALLED
        told = [call_plan for call_plan in self._call_plans() if call_plan.reason]
        # If no plan keeps the budget for several kinds of calls, the reason for the kind that needs the most
        # bytes is returned.
        told.sort(key=bytes_that_work)
        return told[-1].reason if told else ""

    @property
    def why_original(self) -> str:
        """Why the original ran the newest step that a plan should have run; empty if there is no such
        step."""
        return self._planned.why_original

    @property
    def left_alone(self) -> list:
        """One text for each reason to leave calls to the original: how many calls there were, and why."""
        left = self._planned.refusals.left_alone
        return [f"{count} calls {how} {then}" for how, (count, then) in left.items()]

    @property
    def unkept(self) -> str:
        """A text that says which steps of the original may exceed a budget in bytes, which steps have
        exceeded it, and what would keep the budget; empty if there are no such steps."""
        peaks = self._planned.peaks
        peaks.look()
        told = (self._unkept_without_plan(), self._unkept_in_backward(), peaks.text())
        return "; ".join(filter(None, told))

    def _unkept_in_backward(self) -> str:
        count, fallback = self._planned.original_backwards, self._planned.fallback
        if fallback.budget is None or count == 0:
            return ""
        steps = "a planned step" if count == 1 else f"{count} planned steps"
        return f"the original ran the backward of {steps}, which may go beyond the budget"

    def _unkept_without_plan(self) -> str:
        fallback, of_module = self._planned.fallback, self._planned.refusals.of_module
        refused = [p for p in self._call_plans() if p.state.name is StateName.REFUSED]
        if not (refused or of_module or fallback.has_failed):
            return ""
        # The text is about steps that do not fit. If shapes tell that a step does not fit, eviction runs it.
        fits = None if of_module or not all(p.original.bytes for p in refused) else False
        if fallback.budget is None or fallback.evicts(fits):
            return ""
        return f"steps without a plan run the original{fallback.about_the_budget(fits)}"

    @property
    def plans(self):
        """A PlanInfo for each kind of call that has a plan."""
        return [PlanInfo(call_plan) for call_plan in self._solved()]

    @property
    def replayed(self) -> int:
        """The number of steps that plans ran."""
        return self._planned.replayed

    @property
    def original(self) -> int:
        """The number of steps that the original ran."""
        return self._planned.original

    @property
    def original_backwards(self) -> int:
        """The number of steps that the original ran although a plan had run their forward."""
        return self._planned.original_backwards

    @property
    def updates(self) -> str:
        """How parameters are updated: "during backward", or "optimizer.step()" with the reason."""
        updates = self._planned.updates
        if updates is None:
            return "optimizer.step(): no optimizer is part of the plan"
        if updates.refused_for_good:
            return f"optimizer.step(): {updates.refused_for_good}"
        if any(ending.is_bound for call_plan in self._call_plans() for ending in call_plan.endings.values()):
            return "during backward"
        return f"optimizer.step(): {updates.why or 'until steps have been watched and planned'}"

    @property
    def updated(self) -> int:
        """The number of steps whose updates ran during backward."""
        return self._planned.updates.steps if self._planned.updates is not None else 0

    @property
    def gradient_norm(self):
        """The norm of all gradients before the last clipping, as a tensor of one number; None if nothing was
        clipped."""
        norm = self._planned.updates and self._planned.updates.gradient_norm
        return None if norm is None else norm.clone()

    @property
    def evicted(self) -> int:
        """The number of steps that the original ran under online eviction."""
        return self._planned.fallback.evicted_steps

    @property
    def eviction(self):
        """The Eviction, with counts since online eviction began; None if eviction is not in force."""
        return self._planned.fallback.status()

    @property
    def chunk_loss(self) -> str:
        """How head and loss are computed; empty if no chunks of tokens were asked for."""
        return self._planned.chunking.text()

    @property
    def chunk_loss_saves_bytes(self) -> int:
        """The bytes that chunks save in the largest loss so far, compared with all logits and gradients at
        once."""
        return self._planned.chunking.saved_bytes

    def wait(self, seconds=None) -> "Status":
        """Blocks until all planning has ended, or for `seconds`."""
        end = None if seconds is None else time.monotonic() + seconds
        for call_plan in self._call_plans():
            call_plan.wait(end)
        return self

    def plan(self) -> Plan:
        """Returns the newest plan that was found. A plan is skipped if the module no longer has a submodule
        in which the plan sets attributes. Raises Refused if no plan is left."""
        for call_plan in reversed(self._solved()):
            if call_plan.plan.is_of(self._planned.module):
                return Plan(call_plan.to_bytes())
        raise Refused(f"rematlas: there is no plan{': ' + self.reason if self.reason else ''}")

    def save(self, path) -> None:
        """Writes the newest plan as a file, see `plan`."""
        self.plan().save(path)

    def __repr__(self):
        evicted = f" ({self.evicted} of them under online eviction)" if self.evicted else ""
        lines = [
            f"{self.state}, {self.replayed} steps replayed, {self.original} run by the original{evicted}"
        ]
        eviction = self.eviction
        if eviction:
            lines.append(
                f"online eviction is in force: {eviction.evictions} evictions, reruns take"
                f" {eviction.rerun_share:.0%} of the ops' time"
            )
        if self.state == "planned":
            lines.extend(f"calls of another kind run the original: {reason}" for reason in self._refused())
        elif self.reason and self.reason != "; ".join(self.left_alone):
            lines.append(self.reason)
        lines.extend(self.left_alone)
        if self.chunk_loss:
            lines.append(self.chunk_loss)
        if self.why_original:
            lines.append(
                f"the last step that a plan should have run, and the original did: {self.why_original}"
            )
        if self.unkept:
            lines.append(self.unkept)
        for plan in self.plans:
            head = plan.loss_head
            lines.extend([repr(plan)] if head is None else [repr(plan), head["text"]])
        return "\n".join(lines)
