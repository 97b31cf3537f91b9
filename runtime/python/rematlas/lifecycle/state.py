"""The states of a kind of call, between which a CallPlan goes:

    Recording --two steps of one course--> Planning --found--> Comparing --identical--> Planned
        |                                     |                    |                      |
        +---------------------------------> Refused <--------------+                      |
        +----------the original's step does not fit: recorded from shapes, planned at once+

Until it is planned its steps are the original's own; what is recorded or compared on the way trains as the
original does. A planned step runs the plan; where a value that the program reads is another one, the
original.
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


UNDECIDED = object()  # the output of a state that has become another one, which is to be asked


class State:
    """What is done with a call. Transitions are methods of CallPlan: they hold at once, for what a step runs
    may raise, and a wait may be interrupted."""

    name = StateName.WAITING

    def __init__(self, call_plan):
        # Weak, so that what is removed is freed at once: nothing goes in a circle.
        self._call_plan = weakref.ref(call_plan)

    @property
    def call_plan(self):
        return self._call_plan()

    @property
    def owner(self):
        return self._call_plan().owner

    def step(self, call):
        """Returns what the call returns, or UNDECIDED where the state has become another one, which is to be
        asked."""
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
        """Returns the bytes that the original's step takes in this state, where it takes `original` by
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
            # Shapes may have shown that the forward sets attributes: these are part of what is watched from
            # now on.
            if owner.state.watch is None or call_plan.state is not self:
                return UNDECIDED
        return self.step_within_budget(call, call_plan.fits(call))

    def keep_budget(self, call, found) -> None:
        """Shapes tell that the original's step would go beyond the budget. `found` is what was recorded from
        shapes just now, if anything was."""
        if not self.owner.fallback.evicts(False):
            self.finish()
            self.call_plan.skip_comparison()

    def step_within_budget(self, call, fits):
        """`fits` says whether the original's step fits; None: nobody knows."""
        raise NotImplementedError
