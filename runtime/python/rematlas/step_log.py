"""A file with a line of JSON for each step of a module, for programs that follow the training.

The first line describes the training: `format` ("rematlas.steps"), `version`, `model`, `budget_bytes` (null
if the budget is a share of the step), `process`. Each further line describes a step that is over:

- `step`: its number, from 0
- `by`: plan, original, evicted, recorded, compared or evaluated
- `seconds`: the time from the forward of the step to the next forward
- `peak_bytes`: the peak of all tensors of the process on the device in that time
- `planned_peak_bytes` and `overhead`, if a plan ran the step: the predictions of the plan; the peak includes
  the bytes that lived beside the step when it was planned
- `why`, if the original ran the step: the reason
"""

import json
import logging
import os
import pathlib
import time
import weakref

from .lifecycle.state import StateName
from .training_status import FURTHEST_FIRST, Status

log = logging.getLogger("rematlas")
VERSION = 1


class StepLog:
    def __init__(self, path, planned):
        """Begins a new file at `path` for a PlannedModule, and replaces a file that is there. Raises OSError
        if the file cannot be written."""
        self.path = pathlib.Path(path)
        self.planned = weakref.ref(planned)  # weak, because the PlannedModule holds this object
        self.steps = 0
        self.began = time.perf_counter()
        # The following facts are from the time when the newest forward began.
        self.evicted = 0  # the number of steps under online eviction
        self.left_alone = []  # Status.left_alone
        self.answer, self.why = None, ""
        self.is_failed = False
        header = {"format": "rematlas.steps", "version": VERSION, "model": planned.name}
        header |= {"budget_bytes": planned.options.budget_bytes, "process": os.getpid()}
        self.path.write_text(json.dumps(header) + "\n")

    def begin(self) -> None:
        """Called when the forward of a step begins."""
        self.began = time.perf_counter()
        self.evicted = self.planned().fallback.evicted_steps
        self.left_alone = Status(self.planned()).left_alone
        self.answer, self.why = None, ""

    def note_plan(self, answer) -> None:
        """Called when a plan runs the step. `answer`: the PlanAnswer of this plan."""
        self.answer, self.why = answer, ""

    def note_original(self) -> None:
        """Called when the original runs the step."""
        planned, status = self.planned(), Status(self.planned())
        states = {call_plan.state.name for call_plan in planned.call_plans.values()}
        state = next((state.value for state in FURTHEST_FIRST if state in states), "")
        left = [told for told in status.left_alone if told not in self.left_alone]
        is_planned = StateName.PLANNED in states
        self.answer = None
        self.why = "; ".join(left) or (is_planned and planned.why_original) or status.reason or state

    def end(self, by: str, peak: int) -> None:
        """Ends the step: writes its line. If the file can no longer be written, logs that once; training
        continues."""
        if self.is_failed:
            return
        is_evicted = self.planned().fallback.evicted_steps > self.evicted
        told = {"step": self.steps, "by": "evicted" if by == "original" and is_evicted else by}
        told |= {"seconds": round(time.perf_counter() - self.began, 6), "peak_bytes": peak}
        if self.answer is not None:
            planned = self.answer.peak_bytes + self.answer.beside_bytes
            told |= {"planned_peak_bytes": planned, "overhead": self.answer.overhead}
        if self.why:
            told["why"] = self.why
        self.steps += 1
        try:
            with self.path.open("a") as file:
                file.write(json.dumps(told) + "\n")
        except OSError as error:
            self.is_failed = True
            log.warning("rematlas: %s: steps are not told any more: %s", self.path, error)
