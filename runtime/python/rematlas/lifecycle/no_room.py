"""Says why no plan keeps the budget, and which budget a plan could keep."""

import collections
import dataclasses

from ..errors import Infeasible, infeasible_text
from ..updates.kept_between_steps import KeptBetweenSteps

FORWARDS = 6  # the number of steps in a row that `note_beside` looks at


def rounded_up(number: int) -> int:
    """Rounds up to three digits, because the bytes that do not belong to the step differ a little between
    steps."""
    unit = 10 ** max(0, len(str(number)) - 3)
    return -(-number // unit) * unit


class NoRoom:
    """Says why no plan keeps the budget, and names a budget in bytes that works. That budget also works later
    in the training, because it includes gradients and optimizer states that did not exist yet when the step
    was planned."""

    def __init__(self, solver, answer):
        self.solver = solver
        self.answer = answer
        self.beside = answer.beside_bytes  # bytes outside of a step, without those of open forwards
        self.last_beside = collections.deque(maxlen=FORWARDS)
        self.about_updates = ""  # why there is no plan with the optimizer's updates either
        works = answer.infeasible.works
        self.enough = 0 if works is None else works.bytes  # the budget in bytes that works, before rounding
        self.leave(0, 0)

    def foresee(self, kept_then, owner) -> None:
        """Enlarges the budget that works by the gradients and optimizer states that do not exist yet.
        `kept_then`: the tensors that the training kept between steps when the step was planned; None if the
        budget is a share, because a share counts only the step."""
        if kept_then is None:
            return
        now = KeptBetweenSteps.of(owner.module)
        gradients, states = now.gradients.there, now.states.there + now.states.missing
        outputs = 0
        # Gradients that are missing after two steps will not appear later: the program frees them before each
        # forward. So missing gradients, and the outputs of a previous step, count only in the first two
        # steps.
        if owner.original + owner.replayed < 2:
            gradients += now.gradients.missing
            outputs = self.answer.output_bytes  # the program still holds the outputs of the previous step
        to_come = max(0, gradients - kept_then.gradients.there) + max(0, states - kept_then.states.there)
        to_come += outputs
        self.leave(to_come, to_come)
        self.beside += to_come

    def note_beside(self, others) -> bool:
        """Notes `others`, the bytes that do not belong to the step that begins. Returns whether these bytes
        were larger than `beside` in each of the newest FORWARDS steps; if so, the budget that works grows.
        A larger number in only some of these steps does not count, because other forwards may have been open
        in them."""
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

    def text(self) -> str:
        return infeasible_text(self.solver, self.answer) + self.about_updates

    def error(self) -> Infeasible:
        return Infeasible.of(self.text(), self.answer.infeasible)
