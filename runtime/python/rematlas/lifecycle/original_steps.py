"""Runs by the original those steps of a module that no plan runs."""

import contextlib
import logging

from ..fallback.step_peaks import Runner, device_memory
from . import past_forward

log = logging.getLogger("rematlas")
SEVERAL_FORWARDS = (
    "several forwards of a module under fully_shard are open at a time, and their gradients are added before"
    " they are reduced"
)


def has_open_plan(call_plan) -> bool:
    """Says whether a plan of this kind of call has run a forward whose backward may still come."""
    return call_plan.plan is not None and call_plan.plan.compiled.open_forwards() > 0


class OriginalSteps:
    """The part of a PlannedModule that runs the original and tells why it runs."""

    def run_original(self, args, kwargs, fits=None):
        """Runs the original. `fits`: as in Fallback.evicts."""
        self.count_original()
        self.fallback.begin(fits)
        with self.together.watching():
            return self.form.run_step(args, kwargs, self.state)

    def are_forwards_open(self) -> bool:
        """Says whether the backward of an earlier forward may still come."""
        for call_plan in self.call_plans.values():
            call_plan.settle()
            if call_plan.open_steps or has_open_plan(call_plan):
                return True
        return False

    def join_open_forward(self, args, kwargs):
        """Runs a forward of a module under fully_shard while another forward is open. One backward may go
        through both forwards, and FSDP2 then adds gradients before it reduces them. No plan can do this, so
        the module gets no plan from now on. Raises RuntimeError if a plan has run the open forward."""
        call_plans = list(self.call_plans.values())
        if any(map(has_open_plan, call_plans)):
            raise RuntimeError(
                f"rematlas: another forward of {self.name} is open, and a plan runs it; {SEVERAL_FORWARDS}:"
                " train without a plan (rematlas.remove)"
            )
        for call_plan in call_plans:
            for step in call_plan.open_steps:
                step.release(SEVERAL_FORWARDS)
        self.refusals.refuse_module(SEVERAL_FORWARDS)
        self.together.refuse(SEVERAL_FORWARDS)
        self.form.joined, self.form.is_own, self.form.left_over = self.form.last, True, {}
        try:
            return self.run_original(args, kwargs)
        finally:
            self.form.joined = None

    @contextlib.contextmanager
    def forwarding_original(self):
        """A context around the original's forward. Calls of the module within it also run the original."""
        self.is_forwarding = True
        try:
            yield
        finally:
            self.is_forwarding = False

    def run_original_together(self) -> None:
        """Called before a forward that this rank runs by the original, whatever the other ranks can do."""
        self.form.left_alone()  # frees weights that an evaluation has left gathered, as the other ranks do
        self.together.run_original()

    def leave_alone(self, bystander, args, kwargs):
        """Runs the original, because `bystander` (see modes.Bystander) watches or replaces the ops of the
        call."""
        about = self.fallback.about_the_budget(None)
        if about and not bystander.allows_eviction:
            about = ", and may go beyond the budget"
        self.run_original_together()
        self.refusals.note_left_alone(f"under {bystander.name}", bystander.advice, about)
        if bystander.allows_eviction:
            return self.run_original(args, kwargs)
        self.count_original()
        with self.together.watching():
            return self.form.run_original(args, kwargs)

    def note_gradients_past_forward(self) -> None:
        """Called when a parameter gets a gradient although the module was never called in a training step."""
        about = "" if self.options.budget_bytes is None else ", and may go beyond the budget"
        self.refusals.note_left_alone(*past_forward.how_and_advice(), about)

    def close_past_forward(self) -> None:
        self.past_forward.close()
        self.past_forward = None

    def note_original(self, why) -> None:
        """Called when the plan cannot run a step that begins."""
        self.tell_of_original(why, self.fallback.about_the_budget(None))

    def note_original_backward(self, why) -> None:
        """Called when the plan cannot run the backward of a step whose forward it has run. Such a step does
        not run under eviction."""
        may_exceed = "" if self.options.budget_bytes is None else ", and may go beyond the budget"
        self.tell_of_original(why, f" in their backward{may_exceed}")

    def tell_of_original(self, why, how) -> None:
        self.why_original = why
        level = logging.WARNING if self.refusals.is_first(why) else logging.INFO
        log.log(level, "rematlas: %s; such steps run the original%s", why, how)

    def leave_plan(self, why) -> None:
        """Called when the original runs a step because the plan could not run its forward."""
        self.together.leave_plan(why)
        if self.updates is not None:
            self.updates.note_original()
        self.note_original(why)

    def leave_plan_in_backward(self, plan, why) -> None:
        """Called when the plan has run a step's forward but not its backward. The original then runs the step
        again."""
        self.together.leave_plan(why)
        if self.updates is not None:
            self.updates.note_original()
        plan.left_steps += 1
        self.replayed -= 1
        self.original_backwards += 1
        self.note_original_backward(why)
        self.count_original()

    def count_original(self, runner=Runner.ORIGINAL) -> None:
        """Called when the original runs a step. Frees the plans' arenas in which no tensor is held, because
        this step does not use them."""
        self.original += 1
        if self.options.budget_bytes is not None:
            device_memory.release_idle_arenas(self.device())
        self.peaks.note_runner(runner)
