"""The state in which real steps are recorded, until two steps have run the same ops."""

import gc

import torch

from ..calls import modes
from ..calls.values_read import ValuesRead
from ..compiled.observed_steps import RecordingKind, RecordingState, StepRecording
from ..errors import message
from ..fallback.step_peaks import Runner
from . import gate, given_plan
from .observed import ObservedForward, Recorded
from .state import UNDECIDED, StateName, Unplanned
from .together import Course

MOST_CHANGES_OF_EVICTION = 3


class Recording(Unplanned):
    name = StateName.RECORDING

    def __init__(self, call_plan):
        super().__init__(call_plan)
        self.first = None  # the first recorded step, once its backward is over
        self.changes_of_eviction = 0  # recorded steps in which online eviction began or ended

    def prepare(self, call) -> bool:
        if self.owner.options.plan is not None and self.call_plan.plan is None:
            given_plan.take(self.call_plan)
            return False
        if not super().prepare(call):
            return False
        why = call.unfit_to_run() if self.records_now() else ""
        if why:
            self.call_plan.refuse(why)
        return not why

    def records_now(self) -> bool:
        return not (self.call_plan.original.is_too_large or self.owner.sharing.is_now)

    def beside(self, call) -> int:
        return 0 if self.first is None else self.first.other_bytes

    def course(self, call) -> Course:
        return Course.RECORDED if self.records_now() else Course.ORIGINAL

    def keep_budget(self, call, found) -> None:
        if self.owner.fallback.choice == "evict" or self.call_plan.original.has_no_plan_from_shapes:
            return
        if not self.call_plan.plan_from_shapes(call, found=found):
            self.call_plan.original.has_no_plan_from_shapes = True

    def step_within_budget(self, call, fits):
        if self.call_plan.original.is_too_large:  # the backward of a recorded step ran out of memory
            return self.step_that_is_too_large(call, fits)
        if self.owner.sharing.is_now:
            return self.owner.run_original(call.args, call.kwargs, fits)
        return self.record(call, fits)

    def step_that_is_too_large(self, call, fits):
        if self.call_plan.plan_from_shapes(call):
            return UNDECIDED
        if self.call_plan.state is self:
            self.call_plan.refuse(
                "the step does not fit on the device or in the budget, and cannot be planned from shapes"
            )
        return self.owner.run_original(call.args, call.kwargs, fits)

    def record(self, call, fits):
        self.owner.fallback.begin(fits)
        generators = modes.Generators(call.device)
        output, failure, change = self.try_to_record(call)
        if failure is None:
            return output
        gc.collect()  # frees the forward's tensors that the frames of the error held
        self.owner.fallback.leave()
        if not change:  # a second forward would make the change once more
            generators.put_back()
            if self.call_plan.plan_from_shapes(call):
                return UNDECIDED
        raise torch.OutOfMemoryError(failure)

    def try_to_record(self, call):
        """Records a forward. Returns the output, None and an empty text. If the forward ran out of memory,
        returns None, the error's message, and the text of ObservedForward.change_before_failure."""
        owner, call_plan = self.owner, self.call_plan
        kind = RecordingKind.WITH_AUDIT if self.first is None else RecordingKind.REAL
        recording = StepRecording(owner.state.watch, call.inputs, call.device, kind)
        held = call_plan.held_by_open_steps()
        owner.note_frames(len(held) + 1)
        forward = ObservedForward(owner, call, recording.bound, recording.refuse)
        owner.count_original(Runner.RECORDED)
        owner.hooks.start(owner.module, recording, owner.state.watch.walked)
        try:
            with ValuesRead(recording):
                given = recording.begin()
                output = forward.run(given)
        except BaseException as error:
            owner.together.note(recording.groups())
            recording.abandon()
            owner.hooks.stop(recording)
            is_out_of_memory = isinstance(error, torch.OutOfMemoryError)
            if not is_out_of_memory or call_plan.is_from_shapes:
                raise
            call_plan.original.is_too_large = True
            return None, message(error), forward.change_before_failure()
        forward.look_at(output, given)
        if forward.why:
            recording.refuse(forward.why)
        recording.end(forward.tensors)
        owner.together.note(recording.groups())
        # A comparison takes more memory than the plan alone. If the original runs under eviction, the plan
        # leaves about as many bytes free as a batch takes, so that plan and original fit together.
        spare = sum(tensor.nbytes for tensor in call.inputs) if owner.fallback.evicts_now else 0
        others = recording.other_bytes() - sum(held)
        region = owner.regions.now
        recorded = Recorded(recording, forward.returned, others, region=region, spare=spare)
        call_plan.open_steps.append(recorded)
        return forward.for_caller(output), None, ""

    # Between the steps.

    def settle_recorded(self, step) -> None:
        recording = step.recording
        self.owner.together.note(recording.groups())
        state = recording.state()
        if state is RecordingState.DISTURBED:
            self.call_plan.note_disturbed(recording.other_thread())
            return
        if recording.eviction_changed() and self.is_evicted_from_now_on():
            return
        step.counted = self.owner.state.after_forward
        why = recording.refusal() if state is RecordingState.REFUSED else gate.why_no_step(step)
        if why:
            self.fail(why)
            return
        first, self.first = self.first, step
        if first is None:
            self.call_plan.note_recorded_bytes(step)
            return
        why = self.difference(first, step)
        if not why:
            self.call_plan.begin_planning(first, step)
            return
        if self.owner.state.note_difference(why):
            return  # the next recorded step belongs to another kind of call
        self.fail(why)
        if self.call_plan.state is self:
            self.first = step

    def is_evicted_from_now_on(self) -> bool:
        """Called when a step of another module began or ended online eviction during this step. Makes later
        steps run under eviction from their forward on. Returns whether to record one more step; False after
        too many such changes."""
        self.owner.fallback.has_not_fitted = True
        self.changes_of_eviction += 1
        return self.changes_of_eviction <= MOST_CHANGES_OF_EVICTION

    def difference(self, first, second) -> str:
        """Returns how the two steps differ in their ops or return values; empty if they do not differ."""
        at_times = first.returned.kept_places() ^ second.returned.kept_places()
        if at_times:
            return f"the forward sets {min(name for _, name in at_times)} of a module at times"
        if first.returned != second.returned:
            return (
                "the module returns another structure, or other values that are no tensors, in the next step"
            )
        return second.recording.difference(first.recording)

    def fail(self, why) -> None:
        """Called when a recorded step leads to no plan. After a few such steps in a row, refuses the kind of
        call or the whole module."""
        call_plan, refusals = self.call_plan, self.owner.refusals
        self.first = None
        call_plan.reason = why
        refusals.count_attempt(call_plan.base, why)
        if refusals.is_module_hopeless():
            refusals.refuse_module(why)
        elif refusals.is_hopeless(call_plan.base):
            call_plan.refuse(why)
