"""This kind of call is not planned."""

from .state import State, StateName


class Refused(State):
    name = StateName.REFUSED

    def step(self, call):
        return self.owner.run_original(call.args, call.kwargs, self.call_plan.fits_perhaps(call))
