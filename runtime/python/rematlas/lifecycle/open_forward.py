"""A planned forward whose backward may come: what its original is called with, should it have to run."""

from ..calls import structure


class OpenForward:
    __slots__ = ("call", "call_plan", "compiled", "owner", "region")

    def __init__(self, owner, call_plan, call, compiled):
        self.owner = owner
        self.call_plan = call_plan
        self.call = call
        self.compiled = compiled  # the plan that it ran by
        self.region = owner.region  # of autocast; None: there is none that casts are shared in

    def run_original(self, given, used):
        """Runs the original's forward with gradients, for a backward that the plan cannot run, and returns
        its outputs. `used` says which outputs got gradients."""
        outputs = self.call_plan.replan_for(self.call, given, tuple(used))
        if outputs is not None:
            return outputs
        self.owner.leave_plan(self.compiled.last_step().why_original)
        # The backward may be outside of the region of autocast that the forward was in.
        with self.owner.forwarding_original(), self.call.autocast.again():
            output = self.call.run(self.owner.module.forward, given)
        return structure.flatten(output)[1] + self.owner.state.assigned_values()
