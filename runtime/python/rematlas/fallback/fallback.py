"""Lets the original run the steps that no plan runs, with or without online eviction."""

import torch

from ..compiled.turns import OWN_KEY, Busy
from ..errors import message, warn
from . import evicting
from .living import Living

CHOICES = ("original", "evict")


class SharedEviction:
    """The online eviction of the process. If the steps of one module need it, the steps of all modules run
    under it. `fallback`: the Fallback of the module that needs eviction first."""

    last = None

    def __init__(self, fallback):
        self.budget = fallback.budget
        self.gives_up = fallback.choice is None
        self.context = evicting.evict(fallback.module, fallback.budget, gives_up=self.gives_up)
        self.context.__enter__()
        SharedEviction.last = self

    @staticmethod
    def in_force():
        """Returns the SharedEviction that is in force; None if there is none."""
        last = SharedEviction.last
        return last if last is not None and evicting.in_force is last.context else None

    def suits(self, fallback) -> bool:
        """Says whether this eviction can serve the module of `fallback`: its budget is small enough, and it
        does not give up if the module's user has asked for eviction."""
        return self.budget <= fallback.budget and not (self.gives_up and fallback.choice == "evict")

    def is_for(self, fallback) -> bool:
        """Says whether the present step of the module of `fallback` runs under this eviction. A module whose
        `choice` differs begins its own eviction."""
        return fallback.needs_eviction and self.gives_up == (fallback.choice is None)

    def close(self) -> None:
        """Ends the eviction. Within an op, which holds the locks of the eviction, the eviction is only
        marked, and is ended later."""
        if torch._C._dispatch_tls_is_dispatch_key_excluded(OWN_KEY):
            self.context.is_left = True
            return
        SharedEviction.last = None
        self.context.__exit__(None, None, None)


class Fallback:
    """Keeps a budget in bytes: a step runs under eviction unless it is known to fit. `choice`: "evict" evicts
    from the first step on; with None a step is first planned from shapes, if the shapes tell enough;
    "original" never evicts. Eviction stays in force after the forward of an evicted step, because the caller
    then runs the backward and the optimizer. Eviction ends when a step begins that needs none."""

    of_process = Living()

    def __init__(self, module, budget, choice):
        self.module = module
        self.budget = budget  # bytes; None if the budget is a share, whose bytes are not known yet
        self.choice = choice
        self.needs_eviction = False  # the present step needs eviction
        self.evicted_steps = 0
        self.backwards = 0  # backwards under eviction that had ended when the last evicted forward began
        self.has_failed = False  # eviction could not begin
        self.cannot_keep = False  # some step needed more bytes than the budget even under eviction
        self.has_not_fitted = False  # some step of the original did not fit
        Fallback.of_process.add(self)

    @property
    def evicts_now(self) -> bool:
        return self.needs_eviction and SharedEviction.in_force() is not None

    def note_sharded(self) -> None:
        """Called if the parameters are divided among ranks. Such a module runs without eviction, because
        FSDP2's hooks change the parameters' storages."""
        self.has_failed = True

    def has_not_fitted_together(self, several) -> bool:
        """Says whether some step of the original did not fit, and more than one step may be open at a time:
        steps of this module (`several`) or of several modules. In this case the first of the open steps must
        also run under eviction, although it would fit by itself."""
        of_bytes = [fallback for fallback in Fallback.of_process if fallback.budget is not None]
        return (several or len(of_bytes) > 1) and any(fallback.has_not_fitted for fallback in of_bytes)

    def evicts(self, fits) -> bool:
        """Says whether a step runs under eviction. `fits`: whether the original's step is known to fit; None
        if that is not known."""
        keeps_budget = self.budget is not None and self.choice != "original" and not self.has_failed
        return keeps_budget and not fits

    def about_the_budget(self, fits) -> str:
        """Returns the text that follows "the original" in messages. It says whether steps of the original
        keep the budget in bytes. Empty if the budget is a share."""
        if self.budget is None:
            return ""
        if self.evicts(fits):
            if self.cannot_keep:
                return " under online eviction, which could not keep the budget: give a larger one"
            or_else = " or raises torch.OutOfMemoryError" if self.choice == "evict" else ""
            return f" under online eviction, which keeps the budget{or_else}"
        if self.has_failed:
            return ", and may go beyond the budget, which online eviction could not keep: give a larger one"
        return ', and may go beyond the budget: unplanned="evict" keeps it or raises torch.OutOfMemoryError'

    def begin(self, fits) -> None:
        evicting.end_if_left()
        self.note_given_up()
        is_lazy = any(map(torch.nn.parameter.is_lazy, self.module.parameters()))
        if is_lazy or not self.evicts(fits):  # a lazy module makes its parameters in this forward
            self.end()
            return
        self.needs_eviction = True
        shared = SharedEviction.in_force()
        if shared is not None and not shared.suits(self):
            shared.close()
        if evicting.in_force is None and not self.opens():
            return
        self.evicted_steps += 1
        self.backwards = SharedEviction.in_force().context.status().steps

    def opens(self) -> bool:
        """Begins online eviction. Returns whether it is in force."""
        try:
            SharedEviction(self)
        except Busy as error:
            self.needs_eviction = False
            if self.choice == "evict":
                raise
            self.leave_step(error)
        except RuntimeError as error:
            self.needs_eviction = False
            if self.choice == "evict":
                raise
            self.has_failed = True
            self.tell_not_kept(message(error), "steps without a plan run without it")
        return self.needs_eviction

    def note_given_up(self) -> None:
        """Warns once if eviction cannot keep the budget. No error is raised if the user has not asked for
        eviction: eviction then goes on, and evicts as much as it can."""
        shared = SharedEviction.in_force()
        why = "" if shared is None else shared.context.status().given_up
        if not why:
            return
        users = [fallback for fallback in Fallback.of_process if fallback.needs_eviction]
        is_first = not any(fallback.cannot_keep for fallback in users)
        for fallback in users:
            fallback.cannot_keep = True
            fallback.has_not_fitted = True  # from now on the first of several open forwards is evicted, too
        if is_first:
            thrashes = why.startswith("eviction thrashes")
            how = "it takes up to twice of it from here on" if thrashes else "it goes as near to it as it can"
            self.tell_not_kept(why, how)

    def tell_not_kept(self, why, how) -> None:
        warn(f"online eviction cannot keep the budget: {why}; {how}: give a larger one")

    def leave_step(self, why) -> None:
        """Warns that this step runs without eviction. Later steps may run under eviction again."""
        warn(
            f"online eviction cannot begin: {why}; this step may go beyond the budget: let the"
            " program's steps take turns, by a lock around each of them where threads take them"
        )

    def end(self) -> None:
        """Ends the module's need for eviction, because its next step needs none. If the backward of an
        evicted forward is still to come, eviction stays in force."""
        shared = SharedEviction.in_force() if self.needs_eviction else None
        is_open = shared is not None and shared.context.status().steps == self.backwards
        if not is_open:
            self.leave()

    def leave(self) -> None:
        if not self.needs_eviction:
            return
        self.needs_eviction = False
        shared = SharedEviction.in_force()
        if shared is not None and not any(map(shared.is_for, Fallback.of_process)):
            shared.close()

    __del__ = leave  # when the module is freed

    def status(self):
        """Returns the status of the eviction; None if the module's steps need no eviction at present."""
        shared = SharedEviction.in_force()
        return shared.context.status() if self.needs_eviction and shared is not None else None
