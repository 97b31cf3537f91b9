"""Measures by how much the steps of a module exceed its budget in bytes, with or without a plan."""

import enum
import logging

from ..errors import in_bytes
from ..library import classes
from .living import Living

log = logging.getLogger("rematlas")
device_memory = classes.DeviceMemory


class Runner(enum.Enum):
    """The way in which a step, or an evaluation, of the module runs. The values are texts for messages: one
    for a single step, and one for several steps."""

    ORIGINAL = "a step that the original ran", "steps that the original ran"
    RECORDED = "a recorded step", "recorded steps"
    COMPARED = (
        "a step in which a plan was compared with the original",
        "steps in which a plan was compared with the original",
    )
    PLANNED = "a step that a plan ran", "steps that a plan ran"
    EVALUATED = "a call in eval mode or without gradients", "calls in eval mode or without gradients"

    @property
    def word(self) -> str:
        """Returns the word for this runner in a StepLog."""
        return "plan" if self is Runner.PLANNED else self.name.lower()

    def words(self, count: int) -> str:
        one, several = self.value
        return one if count == 1 else f"{count} {several}"


KEPT_OR_RAISED = 'a larger budget keeps it; unplanned="evict" does, or raises torch.OutOfMemoryError'
ADVICE = {
    Runner.ORIGINAL: KEPT_OR_RAISED,
    Runner.RECORDED: KEPT_OR_RAISED,
    Runner.COMPARED: "verify=0 leaves the comparison out",
    Runner.EVALUATED: "the budget is of all tensors at any time, and plans are for steps alone: evaluate"
    " less at a time",
    Runner.PLANNED: "what the program does between two calls counts too, an optimizer's update or another"
    " forward: leave it room, and give frames= where several forwards are open at a time",
}


class StepPeaks:
    """Measures the peak of each step of a module. A step lasts from its forward to the module's next forward,
    so everything in between, such as the optimizer's update, is a part of the step. The peak
    counts all tensors of the process on the device, so the steps of several modules share peaks."""

    of_process = Living()

    def __init__(self, budget, choice=None):
        """`choice`: see Fallback."""
        self.budget = budget  # bytes; None for a share, which does not limit the bytes beside the step
        self.choice = choice
        self.step_log = None
        self.device = ""
        self.runner = None  # how the present step runs; None if no step is measured now
        self.most = 0  # the peak bytes of all tensors in the present step so far
        self.beyond = {}  # by runner: the number of steps above the budget, and the largest of their peaks
        self.is_counted = False  # the present step is counted in `beyond`
        self.can_evict = True  # online eviction can run steps that no plan runs
        self.is_measured = budget is not None
        if budget is not None:
            StepPeaks.of_process.add(self)

    def tell(self, step_log) -> None:
        """Reports each step to the StepLog from now on."""
        self.step_log, self.is_measured = step_log, True
        StepPeaks.of_process.add(self)

    def look(self) -> None:
        """Measures the peak of the present step so far. The peak also counts for the present steps of other
        modules."""
        if self.is_measured and self.runner is not None:
            StepPeaks.learn(self.device)

    @classmethod
    def learn(cls, device: str) -> None:
        peak = device_memory.take_step_peak(device)
        for peaks in cls.of_process:
            if peaks.device == device and peaks.runner is not None:
                peaks.most = max(peaks.most, peak)
                peaks.count()

    def count(self) -> None:
        if self.budget is None or self.most <= self.budget:
            return
        is_first = self.runner not in self.beyond
        steps, most = self.beyond.get(self.runner, (0, 0))
        self.beyond[self.runner] = steps + (not self.is_counted), max(most, self.most)
        self.is_counted = True
        if is_first:
            log.warning(
                "rematlas: from %s to the next call, all tensors took %s, %s beyond the budget; %s",
                self.runner.words(1),
                in_bytes(self.most),
                in_bytes(self.most - self.budget),
                self.advice(self.runner),
            )

    def advice(self, runner: Runner) -> str:
        """Returns a text that says how to keep the budget in steps of this runner. The text leaves out an
        option that the caller has already chosen, or that the module cannot have."""
        is_left_out = self.choice == "evict" or not self.can_evict
        return (
            "a larger budget keeps it" if is_left_out and ADVICE[runner] is KEPT_OR_RAISED else ADVICE[runner]
        )

    def note_forward(self, device: str) -> None:
        """Called when a forward begins, which ends the step before it."""
        if not self.is_measured:
            return
        try:
            StepPeaks.learn(device)
        except RuntimeError:  # the peak cannot be measured on this device, so no step is planned there
            self.is_measured = False
        self.end()
        self.device, self.most, self.is_counted = device, 0, False
        if self.step_log is not None:
            self.step_log.begin()

    def note_runner(self, runner: Runner, answer=None) -> None:
        """Notes how the step runs from now on. `answer`: the planner's answer if a plan runs the step."""
        self.runner = runner
        if self.step_log is None:
            return
        if answer is not None:
            self.step_log.note_plan(answer)
        elif runner is Runner.ORIGINAL:
            self.step_log.note_original()

    def end(self) -> None:
        """Ends the present step."""
        if self.step_log is not None and self.runner is not None:
            self.step_log.end(self.runner.word, self.most)
        self.runner = None

    def close(self) -> None:
        """Ends the measurement. Called when no further step will come."""
        self.look()
        self.end()

    def note_failed(self) -> None:
        """Called when the forward has raised an error, which ends the step without a measurement."""
        self.look()
        self.runner = None

    def text(self) -> str:
        """Returns a text that says which steps exceeded the budget, and how to keep the budget; empty if no
        step exceeded it."""
        return "; ".join(
            f"from {runner.words(steps)} to the next call, all tensors took up to {in_bytes(most)},"
            f" {in_bytes(most - self.budget)} beyond the budget ({self.advice(runner)})"
            for runner, (steps, most) in self.beyond.items()
        )
