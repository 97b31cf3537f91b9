"""Before a plan is used, it runs next to the original in real steps, and every bit of their results is
compared."""

import logging

from ..compiled.observed_steps import StepComparison, Verdict
from ..fallback.step_peaks import Runner
from .observed import Compared, ObservedForward
from .refusals import MOST_ATTEMPTS
from .state import State, StateName, Unplanned
from .together import Course

log = logging.getLogger("rematlas")


class Unbound(State):
    """There is a plan, but it is not bound yet. Binding failed because the module has other parameters
    between forwards than in a forward (under FSDP2: shards). The next forward tries again."""

    name = StateName.COMPARING

    def prepare(self, call) -> bool:
        self.call_plan.bind(is_last_try=True)
        return False


class Comparing(Unplanned):
    name = StateName.COMPARING

    def needed_bytes(self, original) -> int:
        return max(original, self.call_plan.original.comparison_bytes)

    def course(self, call) -> Course:
        return Course.ORIGINAL if self.owner.sharing.is_now else Course.COMPARED

    def step_within_budget(self, call, fits):
        if self.owner.sharing.is_now:
            return self.owner.run_original(call.args, call.kwargs, fits)
        return self.compare(call, fits)

    def compare(self, call, fits):
        owner, plan = self.owner, self.call_plan.plan
        owner.fallback.begin(fits)
        bound = owner.state.watch.tensors_of_step()
        comparison = StepComparison(plan.compiled, bound, call.inputs)
        forward = ObservedForward(owner, call, bound, comparison.release_to_caller)
        owner.count_original(Runner.COMPARED)
        try:
            given = comparison.begin()
            output = forward.run(given)
        except BaseException:
            comparison.abandon()
            raise
        forward.look_at(output, given)
        why = forward.why
        if not why and forward.returned != plan.returned:
            why = "the module returns another structure, or other values that are no tensors, in another step"
        if why:
            comparison.abandon()
        else:
            comparison.end(forward.tensors)
        self.call_plan.open_steps.append(Compared(comparison, plan.sums, why, owner.regions.now))
        return forward.for_caller(output)

    def settle_compared(self, step) -> None:
        call_plan, comparison, verdict = self.call_plan, step.comparison, step.comparison.verdict()
        why = step.why or (comparison.why() if verdict is Verdict.DIFFERENT else "")
        if why:
            call_plan.refuse(f"the plan was compared with the original: {why}")
        elif verdict is Verdict.NO_ROOM:
            shortage = comparison.why().partition(";")[0]  # without the details of the eviction
            log.warning("rematlas: the plan is not compared with the original: %s", shortage)
            call_plan.comparisons.are_given_up = True
            call_plan.skip_comparison()
        elif verdict is Verdict.OTHER_COURSE:
            call_plan.comparisons.other_courses += 1
            if call_plan.comparisons.other_courses > MOST_ATTEMPTS:
                call_plan.refuse(
                    f"the step takes another course than the recorded one each time: {comparison.why()}"
                )
        elif verdict is Verdict.DISTURBED:
            call_plan.note_disturbed(comparison.other_thread())
        elif verdict is not Verdict.DROPPED:
            self.note_identical(comparison)

    def note_identical(self, comparison) -> None:
        """Called when the plan and the original gave the same bits. Refuses the plan if its measured peak is
        above its planned peak."""
        call_plan, planned = self.call_plan, self.call_plan.answer.peak_bytes
        peak = comparison.measured_peak()
        if peak > planned and comparison.other_thread():
            call_plan.note_disturbed(comparison.other_thread())
            return
        call_plan.comparisons.note(peak, planned)
        if peak > planned:
            call_plan.refuse(
                f"the plan was compared with the original: it takes {peak} bytes, {planned} planned"
            )
        elif call_plan.comparisons.identical >= self.owner.options.verify:
            call_plan.skip_comparison()
