"""The states of a kind of call, between which a CallPlan goes:

    Recording --two steps of one course--> Planning --found--> Comparing --identical--> Planned
        |                                     |                    |                      |
        +---------------------------------> Refused <--------------+                      |
        +----------the original's step does not fit: recorded from shapes, planned at once+

Until a kind of call is planned, the original runs its steps; steps that are recorded or compared train as the
original does. The plan runs a planned step. If a value that the program reads differs from the recorded
value, the original runs that step.
"""

import enum
import weakref


class StateName(enum.Enum):
    """The names that `status` shows."""

    WAITING = "waiting"
    RECORDING = "recording"
    PLANNING = "planning"
    COMPARING = "comparing"  # there is a plan, which is compared with the original in the next steps
    PLANNED = "planned"
    REFUSED = "refused"


UNDECIDED = object()  # the output of a state that has become another state, which must be asked instead


class State:
    """Decides what is done with a call. Transitions are methods of CallPlan. They take effect at once,
    because the step's code may raise and a wait may be interrupted."""

    name = StateName.WAITING

    def __init__(self, call_plan):
        # The reference is weak, so that there is no cycle and a removed CallPlan is freed at once.
        self._call_plan = weakref.ref(call_plan)

    @property
    def call_plan(self):
        return self._call_plan()

    @property
    def owner(self):
        return self._call_plan().owner

    def step(self, call):
        """Returns what the call returns; UNDECIDED if the state has become another state, which must be asked
        instead."""
        raise NotImplementedError

    def settle(self) -> None:
        """Takes note of what has happened since the last call."""

    def settle_recorded(self, step) -> None:
        """The backward of a recorded step is over."""

    def settle_compared(self, step) -> None:
        """The backward of a compared step is over."""

    def finish(self) -> None:
        """Waits for a plan that is being made, and takes it."""

    def needed_bytes(self, original) -> int:
        """Returns the bytes that the original's step takes in this state, if it takes `original` bytes by
        itself."""
        return original


class Unplanned(State):
    """The original runs, unless shapes tell that its step would go beyond the budget."""

    def step(self, call):
        owner, call_plan = self.owner, self.call_plan
        if owner.options.budget_bytes is not None:
            found = call_plan.look_at_shapes(call)
            if owner.state.watch is not None and not call_plan.fits_by_shapes(call):
                self.keep_budget(call, found)
            # Shapes may have shown that the forward sets attributes. The watch must be made anew with these
            # attributes.
            if owner.state.watch is None or call_plan.state is not self:
                return UNDECIDED
        return self.step_within_budget(call, call_plan.fits(call))

    def keep_budget(self, call, found) -> None:
        """Shapes tell that the original's step would go beyond the budget. `found`: the step that was
        recorded from shapes just now; None if none was."""
        if not self.owner.fallback.evicts(False):
            self.finish()
            self.call_plan.skip_comparison()

    def step_within_budget(self, call, fits):
        """`fits` says whether the original's step fits; None: this is not known."""
        raise NotImplementedError
