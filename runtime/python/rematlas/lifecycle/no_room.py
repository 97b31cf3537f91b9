"""Why no plan keeps the budget, and the budget that would."""

import collections
import dataclasses

from ..errors import Infeasible, infeasible_text
from ..updates.kept_between_steps import KeptBetweenSteps

FORWARDS = 6  # that may be open at a time


def rounded_up(number: int) -> int:
    """To three digits: what lives beside a step is not the same to the byte in each step."""
    unit = 10 ** max(0, len(str(number)) - 3)
    return -(-number // unit) * unit


class NoRoom:
    """The budget in bytes that it tells works also when the training is under way: what a training keeps from
    step to step may come after the step was planned."""

    def __init__(self, solver, answer):
        self.solver = solver
        self.answer = answer
        self.beside = answer.beside_bytes  # the largest so far that was not for open forwards
        self.last_beside = collections.deque(maxlen=FORWARDS)
        self.about_updates = ""
        works = answer.infeasible.works
        self.enough = 0 if works is None else works.bytes  # to the byte
        self.leave(0, 0)

    def note_updates(self, why) -> None:
        """`why` says why there is no plan with the updates either; empty where none was asked for."""
        self.about_updates = f"; with the updates in the plan: {why}" if why else ""

    def foresee(self, kept_then, owner) -> None:
        """`kept_then` was kept when the step was planned; None for a share, which is of the step alone."""
        if kept_then is None:
            return
        now = KeptBetweenSteps.of(owner.module)
        gradients, states = now.gradients.there, now.states.there + now.states.missing
        outputs = 0
        # Who has trained some steps and has no gradients now lets them go before the forward.
        if owner.original + owner.replayed < 2:
            gradients += now.gradients.missing
            outputs = self.answer.output_bytes  # of the step before, which the program has under its names
        to_come = max(0, gradients - kept_then.gradients.there) + max(0, states - kept_then.states.there)
        to_come += outputs
        self.leave(to_come, to_come)
        self.beside += to_come

    def note_beside(self, others) -> bool:
        """So many bytes live beside a step that begins. Returns whether more live there now than was known,
        apart from what is there at times: other forwards may be open."""
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
        """Returns 0 where none are known."""
        works = self.answer.infeasible.works
        return 0 if works is None else works.bytes

    def text(self) -> str:
        return infeasible_text(self.solver, self.answer) + self.about_updates

    def error(self) -> Infeasible:
        return Infeasible.of(self.text(), self.answer.infeasible)
