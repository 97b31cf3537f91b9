"""Steps of the original that the compiled part records, or compares with a plan."""

import enum

from .. import unseen
from ..library import classes, in_one_line, passed_on


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
        self.bound = watch.tensors_of_step()
        self.is_from_shapes = kind is RecordingKind.FROM_SHAPES
        given = watch.names, self.bound, len(watch.parameters), inputs, device, kind.value
        self.made = in_one_line(classes.Recording, *given)
        # The forward of each submodule calls these methods, so they are looked up once.
        self.enter, self.leave = self.made.enter, self.made.leave

    def begin(self) -> list:
        """Returns the tensors to call the forward with."""
        unseen.watch_for(self)
        return self.made.begin()

    end = passed_on("end")  # takes the output tensors
    # Takes for each output tensor whether it gets a gradient. An empty list stands for all output tensors.
    run_backward = passed_on("run_backward")
    abandon = passed_on("abandon")
    refuse = passed_on("refuse")  # takes the reason
    # Takes the reason, and abandons the recording: from now on the backward is a part of the caller's
    # autograd graph.
    release_to_caller = passed_on("uncut")

    def state(self) -> RecordingState:
        return RecordingState(self.made.state())

    def is_open(self) -> bool:
        return self.made.state() == "open"

    refusal = passed_on("refusal")  # returns the reason; empty if the recording is not refused
    # Returns an op of another thread that disturbed the recording; empty if there is none.
    other_thread = passed_on("other_thread")
    # Says whether online eviction began or ended between the forward and the backward of the step.
    eviction_changed = passed_on("eviction_changed")
    out_of_memory = passed_on("out_of_memory")
    groups = passed_on("groups")  # returns names of the process groups whose collectives have run so far
    survivors = passed_on("survivors")  # returns descriptions of the step's tensors that still exist after it
    other_bytes = passed_on("beside")  # returns the bytes on the device that did not belong to the step

    def used_outputs(self) -> tuple:
        """Returns for each output tensor whether the loss gave it a gradient."""
        return tuple(self.made.used_outputs())

    def loss_bytes(self) -> tuple:
        """Returns the peak bytes of the caller's loss, and the bytes that the loss keeps for its backward."""
        return tuple(self.made.loss())

    # Takes two numbers of bytes: the peak of the step's loss, and the bytes that the loss keeps for its
    # backward. It is called for a step from shapes, which has no loss of its own.
    expect_loss = passed_on("expect_loss")
    held_bytes = passed_on("held")  # returns the bytes that are kept for the backward
    sums_gradients = passed_on("sums_gradients")
    depends_on_data = passed_on("depends_on_data")  # takes a tensor
    line = passed_on("line")  # returns the innermost line of the model's own source that runs now

    def difference(self, other) -> str:
        """Returns why the two steps do not run the same ops; empty if they do."""
        return self.made.difference(other.made)


class StepComparison:
    """A step of the original during which a plan runs, too, to compare their results."""

    def __init__(self, plan, tensors, inputs):
        self.made = in_one_line(classes.Comparison, plan.made, tensors, inputs)

    begin = passed_on("begin")  # returns the tensors to call the forward with
    end = passed_on("end")  # takes the output tensors
    abandon = passed_on("abandon")
    release_to_caller = passed_on("uncut")  # takes the reason

    def verdict(self) -> Verdict:
        return Verdict(self.made.verdict())

    def is_open(self) -> bool:
        return self.made.verdict() == "open"

    held_bytes = passed_on("held")  # returns the bytes that are kept for the backward
    why = passed_on("why")  # returns why the verdict is not SAME
    # Returns an op that another thread ran during the comparison; empty if there is none.
    other_thread = passed_on("other_thread")
    measured_peak = passed_on("measured_peak")  # returns the peak of the plan's run in bytes
