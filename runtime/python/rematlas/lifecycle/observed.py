"""Steps of the original that are recorded or compared with a plan, until their backward is over."""

import torch

from ..calls import structure
from ..calls.call_inputs import unfit_class
from ..calls.module_hooks import BeforeForward
from .step_plan import Returned


class Recorded:
    """A step that is recorded."""

    def __init__(self, recording, returned, other_bytes=0, used=(), region=None):
        self.recording = recording
        self.returned = returned
        self.other_bytes = other_bytes  # that are neither the step's nor held by other open steps of its kind
        self.region = region  # of autocast, see OpenForward
        self.used = used  # from shapes: per output tensor, whether the loss was taken to depend on it

    def is_open(self) -> bool:
        return self.recording.is_open()

    def held_bytes(self) -> int:
        return self.recording.held_bytes()

    def release_if_shared(self) -> bool:
        """A further forward begins. A step that cannot share its backward with it is given to the caller.
        Returns whether it was."""
        if not (self.is_open() and self.recording.sums_gradients()):
            return False
        self.release()
        return True

    def release(self, why="several forwards are open, and gradients of one are sums") -> None:
        """Gives the step to the caller."""
        self.recording.release_to_caller(why)

    def settle(self, call_plan) -> None:
        call_plan.settle_recorded(self)


class Compared:
    """A step in which the plan runs beside the original."""

    def __init__(self, comparison, sums, why, region):
        self.comparison = comparison
        self.sums = sums  # of the plan
        self.region = region  # of autocast, see OpenForward
        self.why = why  # the two are different, as far as the forward tells; empty: they are not

    def is_open(self) -> bool:
        return self.comparison.is_open()

    def held_bytes(self) -> int:
        return self.comparison.held_bytes()

    def release_if_shared(self) -> bool:
        if not (self.is_open() and self.sums):
            return False
        self.release()
        return True

    def release(self, why="several forwards are open") -> None:
        """Gives the step to the caller."""
        self.comparison.release_to_caller(why)

    def settle(self, call_plan) -> None:
        call_plan.settle_compared(self)


class ObservedForward:
    """A forward of the original, and what it returns and changes.

    `given`: the tensors that it is called with. Afterwards `tensors` are its outputs, `why` says why it
    cannot be captured.
    """

    def __init__(self, owner, call, bound):
        self.owner = owner
        self.call = call
        self.bound = bound
        self.watch = owner.state.watch
        self.before = BeforeForward(owner.module)
        self.returned, self.tensors, self.why = Returned(None, [], ()), [], ""

    def run(self, given):
        """Runs it, and returns what the caller gets."""
        with self.owner.forwarding_original():
            return self.call.run(self.owner.module.forward, given)

    def look_at(self, output, given) -> None:
        """Takes note of what the forward has returned and changed."""
        try:
            template, self.tensors = structure.flatten(output)
        except Exception as error:
            self.why = f"the module returns what cannot be described: {error}"
            return
        self.why = self.before.changed() or self.change_of_arguments()
        for tensor in self.tensors:
            self.why = self.why or unfit_class("an output of the module", tensor)
        state = self.owner.state
        new = state.note_assigned(self.before.assigned())
        if new:
            self.why = self.why or f"the forward sets {', '.join(new)} of a module for the first time"
        if not self.why:
            change = state.change_within(self.watch)
            self.why = change and f"the forward changes the module: {change}"
        kept = state.assigned_places()
        self.add_kept(kept)
        self.returned = Returned(template, structure.sources(self.tensors, self.bound, given), kept)

    def change_of_arguments(self) -> str:
        """Says how the forward changed its arguments; empty where it did not."""
        try:
            if structure.flatten_call(self.call.args, self.call.kwargs)[0] != self.call.template:
                return "the forward changes its arguments"
        except Exception as error:
            return f"the forward changes its arguments: {error}"
        return ""

    def add_kept(self, kept) -> None:
        """Attributes that the forward sets are outputs too."""
        known = {id(tensor) for tensor in self.tensors}
        for values, name in kept:
            value = values.get(name)
            if not isinstance(value, torch.Tensor):
                self.why = self.why or f"the forward sets {name} of a module at times"
            elif id(value) in known:
                self.why = self.why or f"the forward returns what it also keeps as {name}"
            else:
                self.tensors.append(value)
