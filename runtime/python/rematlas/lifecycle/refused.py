"""This kind of call is not planned."""

from .state import State, StateName


class Refused(State):
    name = StateName.REFUSED

    def step(self, call):
        fits = self.call_plan.fits(call)
        # What fitted was perhaps another course.
        return self.owner.run_original(call.args, call.kwargs, None if fits else fits)
