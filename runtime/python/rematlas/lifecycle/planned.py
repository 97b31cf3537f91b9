"""The state in which the plan runs the steps."""

import logging

from ..compiled.memory import other_bytes
from ..fallback.step_peaks import Runner
from . import gate
from .state import State, StateName
from .together import Course

log = logging.getLogger("rematlas")


class Planned(State):
    name = StateName.PLANNED

    def __init__(self, call_plan):
        super().__init__(call_plan)
        self.most_beside = 0  # the most bytes that `note_beside` has noted

    def prepare(self, call) -> bool:
        call_plan = self.call_plan
        owner, plan = call_plan.owner, call_plan.plan
        if plan.is_of_other_steps():
            call_plan.record_really()
            return False
        opened = plan.compiled.open_forwards()
        if opened or owner.sharing.is_now:
            owner.several = True
        if not call_plan.passes_gate():
            return False
        if not gate.why_not_now(owner.sharing, plan):
            if opened:
                self.note_beside(call, opened)
            else:
                self.keep_plan_fitting(call_plan, call)
        return call_plan.state is self

    def course(self, call) -> Course:
        call_plan = self.call_plan
        owner = call_plan.owner
        if gate.why_not_now(owner.sharing, call_plan.plan):
            return Course.ORIGINAL
        can_compare = not owner.sharing.is_now and call_plan.can_compare(self.others(call))
        return Course.PLANNED if can_compare else Course.UNCOMPARED

    def beside(self, call) -> int:
        call_plan = self.call_plan
        budget, plan, answer = self.owner.options.budget_bytes, call_plan.plan, call_plan.answer
        others = self.others(call) - sum(call_plan.held_by_open_steps())
        if budget is None or plan.compiled.open_forwards() or others <= plan.other_bytes:
            return 0
        return max(0, others + answer.step_bytes - budget)

    def step(self, call):
        call_plan = self.call_plan
        owner, plan = call_plan.owner, call_plan.plan
        if gate.why_not_now(owner.sharing, plan):
            return owner.run_original(call.args, call.kwargs, call_plan.fits_perhaps(call))
        owner.fallback.end()
        tensors = owner.state.watch.tensors_of_step()
        compiled = plan.compiled
        opened = compiled.open_forwards()
        if opened:
            owner.note_frames(opened + 1)
        if owner.updates is not None:
            ending, why = owner.updates.plan_for(owner.context(call, tensors), plan)
            if ending is not None:
                compiled = ending
            elif plan.is_direct:
                owner.note_original(f"the plan takes the gradients itself, and cannot in this step: {why}")
                return owner.run_original(call.args, call.kwargs, call_plan.fits_perhaps(call))
        return self.replay(call_plan, compiled, tensors, call)

    def replay(self, call_plan, compiled, tensors, call):
        """Runs the forward by the plan `compiled`, or by the original if the plan cannot run it."""
        owner, plan = call_plan.owner, call_plan.plan
        outputs, number, why = compiled.forward(
            tensors, call.inputs, owner.options.in_arena(call.device), owner.measures
        )
        if why:
            owner.leave_plan(why)
            if number < 0:  # the layouts of the tensors differ from the planned ones
                call_plan.record_anew()
                return owner.run_original(call.args, call.kwargs, call_plan.fits_perhaps(call))
            return owner.run_original(call.args, call.kwargs)  # the bytes of such a step are unknown
        if plan.moves_buffers_in_backward is None:
            plan.note_first_forward(compiled)
            owner.note_plans_that_move_buffers()
        owner.note_open_forward(number, call_plan, call, compiled, tensors)
        plan.steps += 1
        owner.replayed += 1
        owner.peaks.note_runner(Runner.PLANNED, call_plan.answer)
        if plan.is_one_output:
            return outputs[0]
        return plan.returned.rebuild(outputs, call.inputs, tensors)

    # Before the step begins.

    def keep_plan_fitting(self, call_plan, call) -> None:
        """Plans again if the plan allows for fewer open forwards, or for fewer bytes outside of the step,
        than there are now. Starts to compare a plan that has been used without a comparison so far. If the
        step runs collectives, a rank does not make a new plan alone."""
        owner, plan = call_plan.owner, call_plan.plan
        is_alone = not owner.together.is_on
        if is_alone:
            owner.fallback.end()
            if plan.frames < owner.frames and owner.options.budget is not None:
                call_plan.plan_for_frames(owner.frames)
        if owner.options.budget_bytes is not None and call_plan.state is self and not plan.is_direct:
            others = self.others(call)
            if is_alone:
                beside = others - sum(call_plan.held_by_open_steps())
                self.check_other_bytes(call_plan, max(beside, self.most_beside))
            if call_plan.state is self:
                call_plan.compare_later(others)

    def note_beside(self, call, opened) -> None:
        """Notes the bytes that do not belong to the step or to the `opened` forwards. The next step that
        begins without open forwards uses this number, because a new plan can be made only then. Some of these
        bytes, such as summed gradients, may exist only while forwards are open."""
        plan, answer = self.call_plan.plan, self.call_plan.answer
        if self.owner.options.budget_bytes is not None and opened < plan.frames:
            held = answer.others_bytes // (plan.frames - 1) * opened
            self.most_beside = max(self.most_beside, self.others(call) - held)

    def others(self, call) -> int:
        """Returns the bytes of all tensors on the device that do not belong to the step, for a budget in
        bytes."""
        owner = self.owner
        if owner.options.budget_bytes is None:
            return 0
        return other_bytes(owner.state.watch.tensors_of_step(), call.inputs, call.device)

    def check_other_bytes(self, call_plan, others) -> None:
        """Plans again if `others`, the bytes that do not belong to the step, leave no room for the step as
        planned."""
        plan, answer = call_plan.plan, call_plan.answer
        if others > plan.other_bytes and not call_plan.owner.has_room_for(others + answer.step_bytes):
            log.warning(
                "rematlas: %d bytes live beside the step now, %d when it was planned: it is planned anew",
                others,
                plan.other_bytes,
            )
            call_plan.plan_beside(others)
