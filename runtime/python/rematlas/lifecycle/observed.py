"""Steps of the original that are recorded, or that are compared with a plan. A step lasts from its forward to
the end of its backward."""

import contextlib

from ..calls import effects, structure
from ..calls.assignments import in_order
from ..calls.call_inputs import unfit_class
from ..calls.kept_tensors import is_kept
from ..calls.module_hooks import BeforeForward
from ..errors import message
from ..sharded import outputs
from . import gate
from .step_plan import Kept, Returned

SUMS_RELEASED = "several forwards are open, and gradients of one are sums"


class ObservedStep:
    """A step whose backward may still be to come. `observed`: its StepRecording or StepComparison.
    `sums_gradients()` says whether the step sums gradients, see StepPlan. `region`: the autocast region of
    the forward; None if the forward shared no casts."""

    def __init__(self, observed, sums_gradients, region):
        self.observed = observed
        self.sums_gradients = sums_gradients
        self.region = region

    def is_open(self) -> bool:
        return self.observed.is_open()

    def held_bytes(self) -> int:
        return self.observed.held_bytes()

    def release_if_shared(self) -> bool:
        """Called when one more forward begins. If this step sums gradients and is still open, it cannot be
        open together with the new forward, so it is released to autograd. Returns whether it was released."""
        if not (self.is_open() and self.sums_gradients()):
            return False
        self.release()
        return True

    def release(self, why=SUMS_RELEASED) -> None:
        """Releases the step to autograd, which then runs the backward as if the step were not observed."""
        self.observed.release_to_caller(why)


class Recorded(ObservedStep):
    """A recorded step."""

    def __init__(self, recording, returned, other_bytes=0, used=(), counted=None, region=None, spare=0):
        super().__init__(recording, recording.sums_gradients, region)
        self.recording = recording
        self.returned = returned
        # bytes of tensors that belong neither to this step nor to other open steps of the same kind of call
        self.other_bytes = other_bytes
        self.spare = spare  # bytes of the budget that the plan leaves free for its comparison
        self.counted = counted  # effects.Kept at the end of the forward
        self.reads_kept = False  # see Walk
        self.used = used  # from shapes: for each output tensor, whether the loss is assumed to use it

    def settle(self, call_plan) -> None:
        call_plan.settle_recorded(self)


class Compared(ObservedStep):
    """A step in which the plan runs next to the original. `sums`: whether the plan sums gradients."""

    def __init__(self, comparison, sums, why, region):
        super().__init__(comparison, lambda: sums, region)
        self.comparison = comparison
        self.why = why  # how the forwards of plan and original differ; empty if they are equal

    def settle(self, call_plan) -> None:
        call_plan.state.settle_compared(self)


class ObservedForward:
    """A forward of the original, with its return value and the changes that it makes.

    After `look_at`, `tensors` are the output tensors of the forward, and `why` says why no plan can repeat
    the forward (empty if a plan can).
    """

    def __init__(self, owner, call, bound, refuse):
        self.owner = owner
        self.refuse = refuse  # takes the reason why the step cannot be recorded
        self.call = call
        self.bound = bound
        self.watch = owner.state.watch
        self.before = BeforeForward(owner.module)
        self.log = effects.Log(frozenset(owner.state.counted))
        self.returned, self.tensors, self.why = Returned(None, [], ()), [], ""
        self.dtensors = ()  # OutputForms of the outputs that are DTensors

    def run(self, given):
        """Runs the forward on the tensors `given`. Returns the output, in which each DTensor is replaced by
        its part on this rank. `for_caller` puts the DTensors back."""
        module, call = self.owner.module, self.call
        logs = self.log if self.log.known else contextlib.nullcontext()
        with self.owner.forwarding_original(), logs, call.offloading.aside(module, call.device):
            output = call.run(self.owner.form.recorded_forward(self.watch, self.bound, self.refuse), given)
            try:
                output, self.dtensors = self.owner.form.parts_of_output(output)
            except Exception as error:
                self.why = f"the module returns what cannot be described: {message(error)}"
            if self.dtensors is None:
                self.why, self.dtensors = outputs.UNKNOWN, ()
            return output

    def for_caller(self, output):
        """Called after the recording or comparison has seen the tensors of `output`. Returns the output that
        the caller gets, with DTensors."""
        return outputs.with_wholes(output, self.dtensors)

    def look_at(self, output, given) -> None:
        """Notes what the forward has returned and changed."""
        try:
            template, tensors = structure.flatten(output)
        except Exception as error:
            self.why = f"the module returns what cannot be described: {message(error)}"
            return
        self.tensors = self.call.given_for(tensors, given)
        state = self.owner.state
        known = frozenset(state.counted)
        new = state.note_assigned(self.before.assignments.made())
        new += state.note_counted(self.before.effects.changed(), self.watch)
        self.why = self.why or gate.why_no_forward(
            self.call, self.before, lambda: state.change_within(self.watch)
        )
        if new:
            self.why = self.why or f"the forward sets {', '.join(new)} of a module for the first time"
        for tensor in self.tensors:
            self.why = self.why or unfit_class("an output of the module", tensor)
        assignments, places = self.before.assignments, tuple(state.assigned.values())
        self.why = self.why or assignments.why_not_anew(places)
        left = [place for place in places if assignments.is_left(*place)]
        kept = self.add_kept(in_order(self.owner.module, left))
        made, why = self.before.effects.effects(known, self.log)
        self.why = self.why or why
        self.tensors += self.log.tensors
        sources = structure.sources(self.tensors, self.bound, given)
        self.returned = Returned(template, sources, kept, made, self.dtensors)

    def change_before_failure(self) -> str:
        """Called when the forward has failed. If the forward had already changed something, a second run
        would repeat this change; returns a text about it. Returns an empty text if the forward can run
        again."""
        change = self.call.change()
        return change or self.before.change_but_for_assigned(
            self.owner.module, self.watch, self.owner.state.look()
        )

    def add_kept(self, left) -> tuple:
        """Appends to `tensors` the tensors in the attributes that the forward sets. Returns these attributes
        as Kept objects."""
        known = {id(tensor) for tensor in self.tensors}
        found = []
        for values, name in left:
            if not is_kept(values.get(name)):
                self.why = self.why or f"the forward sets {name} of a module at times"
                continue
            try:
                kept, tensors = Kept.found(values, name)
            except Exception as error:
                self.why = (
                    self.why or f"the forward keeps in {name} what cannot be described: {message(error)}"
                )
                continue
            if any(id(tensor) in known for tensor in tensors):
                self.why = self.why or f"the forward returns what it also keeps as {name}"
            found.append(kept)
            self.tensors += tensors
        return tuple(found)
