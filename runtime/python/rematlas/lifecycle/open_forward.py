"""A planned forward whose backward may come: what its original is called with, should it have to run."""

from ..calls import effects, structure


class OpenForward:
    __slots__ = ("call", "call_plan", "compiled", "effects", "owner")

    def __init__(self, owner, call_plan, call, compiled):
        self.owner = owner
        self.call_plan = call_plan
        self.call = call
        self.compiled = compiled  # the plan that it ran by
        self.effects = call_plan.plan.returned.effects  # that it has had

    def run_original(self, given, used):
        """Runs the original's forward with gradients, for a backward that the plan cannot run, and returns
        its outputs. `used` says which outputs got gradients."""
        call = self.call.as_made()
        outputs = self.call_plan.replan_for(call, given, tuple(used))
        if outputs is not None:
            return outputs
        self.owner.leave_plan(self.compiled.last_step().why_original)
        with self.owner.forwarding_original(), effects.undone(self.effects):
            output = call.run(self.owner.module.forward, given)
        return call.given_for(structure.flatten(output)[1], given) + self.owner.state.assigned_values()
