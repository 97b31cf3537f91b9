"""The state of a kind of call that is not planned."""

from .state import State, StateName
from .together import Course


class Refused(State):
    name = StateName.REFUSED

    def __init__(self, call_plan, room=None):
        super().__init__(call_plan)
        self.room = room  # NoRoom if the budget was too small; otherwise None

    def course(self, call) -> Course:
        # If another kind of call is planned, only this kind has no plan, for example a smaller last batch.
        is_planned = any(call_plan.is_planned for call_plan in self.owner.call_plans.values())
        return Course.ORIGINAL if is_planned else Course.REFUSED

    def step(self, call):
        call_plan, owner = self.call_plan, self.owner
        is_in_bytes = owner.options.budget_bytes is not None and owner.state.watch is not None
        if self.room is not None and is_in_bytes and self.room.note_beside(call_plan.other_bytes(call)):
            call_plan.reason = self.room.text()
        return owner.run_original(call.args, call.kwargs, call_plan.fits_perhaps(call))
