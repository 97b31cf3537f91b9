"""The states of a kind of call, and how a CallPlan changes from one state to another:

    Recording --two steps, the same ops--> Planning --found--> Comparing --identical--> Planned
        |                                     |                    |                      ^
        +---------------------------------> Refused <--------------+                      |
        +--the original's step does not fit: recorded from shapes, planned at once--------+

Until a kind of call is planned, the original runs its steps; recorded and compared steps train exactly as the
original does. Then the plan runs the steps. If a value that the program reads in a step differs from the
recorded value, the original runs that step.
"""

import enum
import weakref

from .together import Course


class StateName(enum.Enum):
    """The names that `status` shows."""

    WAITING = "waiting"
    RECORDING = "recording"
    PLANNING = "planning"
    COMPARING = "comparing"  # there is a plan; the next steps compare it with the original
    PLANNED = "planned"
    REFUSED = "refused"


UNDECIDED = object()  # returned by a state that was replaced: the new state must be asked


class State:
    """Decides how a call runs. Methods of CallPlan change the state. They do so at once, because the code of
    a step may raise and a wait may be interrupted."""

    name = StateName.WAITING

    def __init__(self, call_plan):
        # The reference is weak, because the CallPlan refers to its state: without a cycle, a CallPlan that is
        # not used any more is freed at once.
        self._call_plan = weakref.ref(call_plan)

    @property
    def call_plan(self):
        return self._call_plan()

    @property
    def owner(self):
        return self._call_plan().owner

    def prepare(self, call) -> bool:
        """Makes all decisions about the call that may replace the state. Returns False if the state was
        replaced by another one, which must be asked instead."""
        return True

    def course(self, call) -> Course:
        """Returns what this rank can do in a call that was prepared. The ranks agree on a Course before
        `step`, which must keep to it."""
        return Course.ORIGINAL

    def step(self, call):
        """Runs a call that was prepared. Returns the call's return value, or UNDECIDED if the state was
        replaced by another one, which must be asked instead."""
        raise NotImplementedError

    def settle(self) -> None:
        """Handles the events since the last call."""

    def beside(self, call) -> int:
        """Returns the bytes that this rank tells the others as `Told.beside`."""
        return 0

    def settle_recorded(self, step) -> None:
        """Called when the backward of a recorded step is over."""

    def settle_compared(self, step) -> None:
        """Called when the backward of a compared step is over."""

    def finish(self) -> None:
        """Waits for a plan that is being made, and takes it."""

    def needed_bytes(self, original) -> int:
        """Returns the bytes that the original's step takes in this state. `original`: the bytes that the step
        takes without a plan next to it."""
        return original


class Unplanned(State):
    """A state in which the original runs, unless it is known from shapes that its step would exceed the
    budget."""

    def prepare(self, call) -> bool:
        owner, call_plan = self.owner, self.call_plan
        if owner.options.budget_bytes is None:
            return True
        found = call_plan.look_at_shapes(call)
        if owner.state.watch is not None:
            needed = max(call_plan.original.bytes, owner.update_bytes())
            if not owner.has_room_for(call_plan.other_bytes(call) + needed):
                self.keep_budget(call, found)
        # A recording from shapes may have shown that the forward sets attributes. In this case the call is
        # handled again, with a new watch that knows these attributes.
        return owner.state.watch is not None and call_plan.state is self

    def step(self, call):
        return self.step_within_budget(call, self.call_plan.fits(call))

    def keep_budget(self, call, found) -> None:
        """Called when it is known from shapes that the original's step would exceed the budget. `found`: the
        step that was just recorded from shapes; None if none was recorded."""
        if not self.owner.fallback.evicts(False):
            self.finish()
            self.call_plan.skip_comparison()

    def step_within_budget(self, call, fits):
        """Runs the step. `fits`: whether the original's step fits; None if that is not known."""
        raise NotImplementedError
