"""Steps of the original that the compiled part records, or compares with a plan."""

import enum

from .. import unseen
from ..library import classes, in_one_line


class RecordingState(enum.Enum):
    OPEN = "open"  # the step's backward has not run
    RECORDED = "recorded"
    DROPPED = "dropped"  # there will be no backward, or another step was recorded at the same time
    DISTURBED = "disturbed"  # another thread ran ops during the recording
    REFUSED = "refused"


class RecordingKind(enum.Enum):
    REAL = "real"
    WITH_AUDIT = "with audit"  # also checks whether ops do things that their schemas do not declare
    FROM_SHAPES = "from shapes"


class Verdict(enum.Enum):
    OPEN = "open"
    SAME = "same"
    DIFFERENT = "different"
    DROPPED = "dropped"
    DISTURBED = "disturbed"  # the steps differ, perhaps because of another thread
    OTHER_COURSE = "other course"
    NO_ROOM = "no room"


class StepRecording:
    """A recording of a step. `watch`: the Watch of the step's module. `inputs`: the tensors of the call."""

    def __init__(self, watch, inputs, device: str, kind: RecordingKind):
        self.bound = watch.tensors()
        self.is_from_shapes = kind is RecordingKind.FROM_SHAPES
        given = watch.names, self.bound, len(watch.parameters), inputs, device, kind.value
        self.made = in_one_line(classes.Recording, *given)
        # The forward of each submodule calls these methods, so they are looked up once.
        self.enter, self.leave = self.made.enter, self.made.leave

    def begin(self) -> list:
        """Returns the tensors to call the forward with."""
        unseen.watch_for(self)
        return self.made.begin()

    def end(self, outputs) -> None:
        self.made.end(outputs)

    def run_backward(self, used) -> None:
        self.made.run_backward(used)

    def abandon(self) -> None:
        self.made.abandon()

    def refuse(self, why: str) -> None:
        self.made.refuse(why)

    def release_to_caller(self, why: str) -> None:
        """Abandons the recording: from now on the backward is a part of the caller's autograd graph."""
        self.made.uncut(why)

    def state(self) -> RecordingState:
        return RecordingState(self.made.state())

    def is_open(self) -> bool:
        return self.made.state() == "open"

    def refusal(self) -> str:
        return self.made.refusal()

    def other_thread(self) -> str:
        """Returns an op of another thread that disturbed the recording; empty if there is none."""
        return self.made.other_thread()

    def eviction_changed(self) -> bool:
        """Says whether online eviction began or ended between the forward and the backward of the step."""
        return self.made.eviction_changed()

    def out_of_memory(self) -> bool:
        return self.made.out_of_memory()

    def survivors(self) -> list:
        """Returns descriptions of the step's tensors that still exist after the step."""
        return self.made.survivors()

    def other_bytes(self) -> int:
        """Returns the bytes on the device that did not belong to the step."""
        return self.made.beside()

    def used_outputs(self) -> tuple:
        """Returns for each output tensor whether the loss gave it a gradient."""
        return tuple(self.made.used_outputs())

    def loss_bytes(self) -> tuple:
        """Returns the peak bytes of the caller's loss, and the bytes that the loss keeps for its backward."""
        return tuple(self.made.loss())

    def expect_loss(self, most: int, kept: int) -> None:
        """Assumes that the step's loss has this peak and keeps this many bytes for its backward. Called for a
        step from shapes, which has no loss of its own."""
        self.made.expect_loss(most, kept)

    def held_bytes(self) -> int:
        """Returns the bytes that are kept for the backward."""
        return self.made.held()

    def sums_gradients(self) -> bool:
        return self.made.sums_gradients()

    def depends_on_data(self, tensor) -> bool:
        return self.made.depends_on_data(tensor)

    def line(self) -> str:
        return self.made.line()

    def difference(self, other) -> str:
        """Returns why the two steps do not run the same ops; empty if they do."""
        return self.made.difference(other.made)


class StepComparison:
    """A step of the original during which a plan runs, too, to compare their results."""

    def __init__(self, plan, tensors, inputs):
        self.made = in_one_line(classes.Comparison, plan.made, tensors, inputs)

    def begin(self) -> list:
        return self.made.begin()

    def end(self, outputs) -> None:
        self.made.end(outputs)

    def abandon(self) -> None:
        self.made.abandon()

    def release_to_caller(self, why: str) -> None:
        self.made.uncut(why)

    def verdict(self) -> Verdict:
        return Verdict(self.made.verdict())

    def is_open(self) -> bool:
        return self.made.verdict() == "open"

    def held_bytes(self) -> int:
        return self.made.held()

    def why(self) -> str:
        return self.made.why()

    def other_thread(self) -> str:
        """Returns an op that another thread ran during the comparison; empty if there is none."""
        return self.made.other_thread()

    def measured_peak(self) -> int:
        return self.made.measured_peak()
