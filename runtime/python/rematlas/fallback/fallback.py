"""How steps run that no plan runs: as the original's own, or as the original's under online eviction."""

import warnings

from ..errors import RefusedWarning, caller_level, message
from . import evicting

CHOICES = ("original", "evict")


class Fallback:
    """`choice`: "evict" evicts where the step is not known to fit; None where it is known not to, and in the
    steps on the way to a plan also where nobody knows. Eviction stays in force from such a step on, for
    whatever else the program does, until a step comes that needs none: its backward and the optimizer are the
    caller's."""

    def __init__(self, module, budget, choice):
        self.module = module
        self.budget = budget  # bytes; None: a share of a step that nobody knows yet
        self.choice = choice
        self.eviction = None
        self.evicted_steps = 0
        self.has_failed = False  # to keep the budget

    def evicts(self, fits, to_a_plan=False) -> bool:
        """`fits`: whether the original's step is known to fit; None: unknown. `to_a_plan`: the step is
        recorded, or runs while its plan is made or compared."""
        if self.budget is None or self.choice == "original" or self.has_failed:
            return False
        return fits is False or (fits is None and (self.choice == "evict" or to_a_plan))

    def about_the_budget(self, fits) -> str:
        """Says behind "the original" what such steps do to a budget in bytes; empty where it is a share."""
        if self.budget is None:
            return ""
        if self.evicts(fits):
            return " under online eviction, which keeps the budget"
        if self.has_failed:
            return ", and may go beyond the budget, which online eviction could not keep: give a larger one"
        return ', and may go beyond the budget: unplanned="evict" keeps it'

    def begin(self, fits, to_a_plan=False) -> None:
        self.note_given_up()
        if not self.evicts(fits, to_a_plan):
            self.end()
            return
        if self.eviction is None and evicting.in_force is None:
            eviction = evicting.evict(self.module, self.budget, gives_up=self.choice is None)
            try:
                self.eviction = eviction.__enter__()
            except RuntimeError as error:
                if self.choice == "evict":
                    raise
                self.give_up(message(error))
                return
        self.evicted_steps += 1

    def note_given_up(self) -> None:
        """Where nobody has asked for eviction, a budget that it cannot keep ends it, and no step."""
        now = self.status()
        if now and now.given_up:
            self.end()
            self.give_up(now.given_up)

    def give_up(self, why) -> None:
        self.has_failed = True
        warnings.warn(
            f"rematlas: online eviction cannot keep the budget: {why}; steps without a plan may go beyond it:"
            " give a larger one",
            RefusedWarning,
            stacklevel=caller_level(),
        )

    def end(self) -> None:
        if self.eviction is None:
            return
        eviction, self.eviction = self.eviction, None
        eviction.__exit__(None, None, None)

    __del__ = end  # with the module

    def status(self):
        """Returns None where eviction is not in force."""
        return self.eviction and self.eviction.status()
