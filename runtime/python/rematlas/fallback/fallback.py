"""How steps run that no plan runs: as the original's own, or as the original's under online eviction."""

import logging
import warnings

import torch

from ..compiled.turns import Busy
from ..errors import RefusedWarning, caller_level, in_bytes, message
from . import evicting

log = logging.getLogger("rematlas")

CHOICES = ("original", "evict")


class Fallback:
    """A budget in bytes is kept by eviction where a step is not known to fit. `choice`: "evict" does so from
    the first step on; None plans a step from shapes first, where these tell. Eviction stays in force from
    such a step on, for whatever else the program does, until a step comes that needs none: its backward and
    the optimizer are the caller's."""

    def __init__(self, module, budget, choice):
        self.module = module
        self.budget = budget  # bytes; None: a share of a step that nobody knows yet
        self.choice = choice
        self.eviction = None
        self.evicted_steps = 0
        self.has_failed = False  # to keep the budget
        self.has_not_fitted = False  # some step of the original
        self.others_are_open = False  # forwards, while the next one begins
        self.began_midway = False  # in a step whose first forwards it could not evict

    def note_forward(self, others_are_open) -> None:
        self.others_are_open = others_are_open

    def note_does_not_fit(self) -> None:
        self.has_not_fitted = True

    def evicts(self, fits) -> bool:
        """`fits`: whether the original's step is known to fit; None: unknown."""
        keeps_budget = self.budget is not None and self.choice != "original" and not self.has_failed
        return keeps_budget and not fits

    def about_the_budget(self, fits) -> str:
        """Says behind "the original" what such steps do to a budget in bytes; empty where it is a share."""
        if self.budget is None:
            return ""
        if self.evicts(fits):
            return " under online eviction, which keeps the budget"
        if self.has_failed:
            return ", and may go beyond the budget, which online eviction could not keep: give a larger one"
        return ', and may go beyond the budget: unplanned="evict" keeps it'

    def begin(self, fits) -> None:
        self.note_given_up()
        is_lazy = any(map(torch.nn.parameter.is_lazy, self.module.parameters()))
        if is_lazy or not self.evicts(fits):  # nobody knows the parameters that this forward makes
            self.end()
            return
        if self.eviction is None and evicting.in_force is None:
            self.began_midway = self.others_are_open
            eviction = evicting.evict(self.module, self.budget, gives_up=self.choice is None)
            try:
                self.eviction = eviction.__enter__()
            except Busy as error:
                if self.choice == "evict":
                    raise
                self.leave_step(error)
                return
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
        self.has_failed = not self.began_midway
        which = "steps without a plan" if self.has_failed else "this step"
        warnings.warn(
            f"rematlas: online eviction cannot keep the budget: {why}; {which} may go beyond it: give a"
            " larger one",
            RefusedWarning,
            stacklevel=caller_level(),
        )

    def tell_of_excess(self, number) -> None:
        """A step of the original has run outside of eviction. Logs by how much its bytes are beyond the
        budget, if they are."""
        if number > self.budget:
            log.warning(
                "rematlas: a step of the original went %s beyond the budget: what its loss and its kernels"
                " take beside the module's tensors was not known until it had run; the next steps are kept"
                " within it",
                in_bytes(number - self.budget),
            )

    def leave_step(self, why) -> None:
        """This step runs without eviction, and the next ones may be evicted again."""
        warnings.warn(
            f"rematlas: online eviction cannot begin: {why}; this step may go beyond the budget: let the"
            " program's steps take turns, by a lock around each of them where threads take them",
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
