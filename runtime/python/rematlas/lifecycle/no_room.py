"""Why no plan keeps the budget, and which budget a plan would keep."""

import collections
import dataclasses

from ..errors import Infeasible, infeasible_text
from ..updates.kept_between_steps import KeptBetweenSteps

FORWARDS = 6  # the most forwards that may be open at a time


def rounded_up(number: int) -> int:
    """Rounds up to three digits, because the bytes that live beside a step differ a little between steps."""
    unit = 10 ** max(0, len(str(number)) - 3)
    return -(-number // unit) * unit


class NoRoom:
    """Says why no plan keeps the budget, and names a budget in bytes that works. That budget also holds later
    in the training: it counts gradients and optimizer states that come after the step was planned."""

    def __init__(self, solver, answer):
        self.solver = solver
        self.answer = answer
        self.beside = answer.beside_bytes  # the most bytes beside a step so far, without open forwards
        self.last_beside = collections.deque(maxlen=FORWARDS)
        self.about_updates = ""
        works = answer.infeasible.works
        self.enough = 0 if works is None else works.bytes  # the budget that works, not rounded
        self.leave(0, 0)

    def note_updates(self, why) -> None:
        """`why` says why there is no plan with the updates either; empty if no such plan was asked for."""
        self.about_updates = f"; with the updates in the plan: {why}" if why else ""

    def foresee(self, kept_then, owner) -> None:
        """Adds the gradients and optimizer states that will come to the budget that works. `kept_then`: what
        the training kept between steps when the step was planned; None if the budget is a share, because a
        share counts only the step."""
        if kept_then is None:
            return
        now = KeptBetweenSteps.of(owner.module)
        gradients, states = now.gradients.there, now.states.there + now.states.missing
        outputs = 0
        # A program that has trained some steps and has no gradients now frees them before the forward.
        if owner.original + owner.replayed < 2:
            gradients += now.gradients.missing
            outputs = self.answer.output_bytes  # the program still holds the outputs of the step before
        to_come = max(0, gradients - kept_then.gradients.there) + max(0, states - kept_then.states.there)
        to_come += outputs
        self.leave(to_come, to_come)
        self.beside += to_come

    def note_beside(self, others) -> bool:
        """Takes the bytes `others` that live beside a step that begins. Returns whether more bytes live there
        in each of the last FORWARDS steps than was known. A larger number in some steps alone does not count,
        because other forwards may be open there."""
        self.last_beside.append(others)
        if len(self.last_beside) < FORWARDS:
            return False
        least = min(self.last_beside)
        more, self.beside = least - self.beside, max(self.beside, least)
        if more > 0:
            self.leave(more, 0)
        return more > 0

    def leave(self, more, to_come) -> None:
        found = self.answer.infeasible
        self.enough += more
        if found.works is not None:
            works = found.works.of_bytes(rounded_up(self.enough), to_come)
            self.answer = dataclasses.replace(self.answer, infeasible=dataclasses.replace(found, works=works))

    def bytes_that_work(self) -> int:
        """Returns the budget in bytes that works; 0 if none is known."""
        works = self.answer.infeasible.works
        return 0 if works is None else works.bytes

    def text(self) -> str:
        return infeasible_text(self.solver, self.answer) + self.about_updates

    def error(self) -> Infeasible:
        return Infeasible.of(self.text(), self.answer.infeasible)
