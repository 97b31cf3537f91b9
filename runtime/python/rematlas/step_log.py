"""A file that tells each step of a module in a line of JSON, for whoever follows the training.

The first line tells what is trained: `format` ("rematlas.steps"), `version`, `model`, `budget_bytes` (null:
the budget is a share of the step), `process`. Each further line is of a step that is over: `step` (from 0),
`by` (plan, original, evicted, recorded, compared or evaluated), `seconds` and `peak_bytes`, of all tensors of
the process on the device, from the forward of the step to the next one; where a plan ran the step
`planned_peak_bytes`, with what lived beside the step when it was planned, and `overhead`; where the original
ran it, `why`.
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
        """Begins the file anew, of a PlannedModule. Raises OSError where it cannot be written."""
        self.path = pathlib.Path(path)
        self.planned = weakref.ref(planned)  # which has this
        self.steps = 0
        self.began = time.perf_counter()
        # When the last forward began:
        self.evicted = 0  # how many steps had run under online eviction
        self.left_alone = []  # what Status.left_alone said
        self.answer, self.why = None, ""
        self.is_failed = False
        header = {"format": "rematlas.steps", "version": VERSION, "model": planned.name}
        header |= {"budget_bytes": planned.options.budget_bytes, "process": os.getpid()}
        self.path.write_text(json.dumps(header) + "\n")

    def begin(self) -> None:
        """The forward of a step begins."""
        self.began = time.perf_counter()
        self.evicted = self.planned().fallback.evicted_steps
        self.left_alone = Status(self.planned()).left_alone
        self.answer, self.why = None, ""

    def note_plan(self, answer) -> None:
        """A plan runs the step. `answer`: the plan's."""
        self.answer, self.why = answer, ""

    def note_original(self) -> None:
        """The original runs the step."""
        planned, status = self.planned(), Status(self.planned())
        states = {call_plan.state.name for call_plan in planned.call_plans.values()}
        state = next((state.value for state in FURTHEST_FIRST if state in states), "")
        left = [told for told in status.left_alone if told not in self.left_alone]
        is_planned = StateName.PLANNED in states
        self.answer = None
        self.why = "; ".join(left) or (is_planned and planned.why_original) or status.reason or state

    def end(self, by: str, peak: int) -> None:
        """The step is over. A file that cannot be written any more is told of once, and training goes on."""
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
