"""Steps that no plan runs: the original's own, or the original's under online eviction."""

from . import evicting

CHOICES = ("original", "evict")


class Unplanned:
    """`choice`: "evict" evicts where the step is not known to fit, None where it is known not to. Eviction stays in force from such a step on, for whatever
    else the program does, until a step comes that is recorded, compared or planned: its backward and the optimizer are
    the caller's."""

    def __init__(self, module, budget, choice):
        self.module = module
        self.budget = budget  # bytes; None: a share of a step that nobody knows yet
        self.choice = choice
        self.eviction = None
        self.steps = 0  # run under eviction

    def evicts(self, fits) -> bool:
        """`fits`: whether the original's step is known to fit; None: unknown."""
        if self.budget is None or self.choice == "original":
            return False
        return fits is False or (self.choice == "evict" and fits is None)

    def begin(self, fits) -> None:
        if not self.evicts(fits):
            self.end()
            return
        self.steps += 1
        if self.eviction is None and evicting.in_force is None:
            eviction = evicting.evict(self.module, self.budget)
            self.eviction = eviction.__enter__()

    def end(self) -> None:
        if self.eviction is None:
            return
        eviction, self.eviction = self.eviction, None
        eviction.__exit__(None, None, None)

    def status(self):
        return self.eviction and self.eviction.status()
