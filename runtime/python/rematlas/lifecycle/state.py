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


class StateName(enum.Enum):
    """As `status` has it."""

    WAITING = "waiting"
    RECORDING = "recording"
    PLANNING = "planning"
    PLANNED = "planned"
    REFUSED = "refused"


UNDECIDED = object()  # the output of a state that has become another one, which is to be asked


class State:
    """Transitions are methods of CallPlan. They hold at once, for what a step runs may raise."""

    name = StateName.WAITING

    def __init__(self, call_plan):
        self.call_plan = call_plan
        self.owner = call_plan.owner

    def step(self, call):
        """What the call returns; UNDECIDED where the state has become another one."""
        raise NotImplementedError

    def settle(self) -> None:
        """Takes note of what has happened since the last call."""

    def settle_recorded(self, step) -> None:
        """A recorded step is over."""

    def settle_compared(self, step) -> None:
        """A compared step is over."""

    def finish(self) -> None:
        """Waits for a plan that is being made."""

    def needed_bytes(self, original) -> int:
        """What the original's step takes in this state, beside what lives beside it. `original`: by
        itself."""
        return original


class Unplanned(State):
    """The original runs, or does not run where its step would go beyond the budget, as far as shapes tell."""

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
        """The original's step would go beyond the budget. `found`: what its shapes tell, if they were looked
        at just now."""
        if not self.owner.fallback.evicts(False):
            self.finish()
            self.call_plan.skip_comparison()

    def step_within_budget(self, call, fits):
        """`fits`: whether the original's step does; None: nobody knows."""
        raise NotImplementedError
