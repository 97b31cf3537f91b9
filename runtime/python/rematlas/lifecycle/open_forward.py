"""A forward that a plan has run and whose backward may still come, with the facts that the original needs to
run the same forward again."""

import contextlib

from ..calls import effects, structure


class OpenForward:
    __slots__ = ("call", "call_plan", "compiled", "kept", "owner", "plan", "region", "tensors")

    def __init__(self, owner, call_plan, call, compiled, tensors, kept):
        self.owner = owner
        self.call_plan = call_plan
        self.call = call
        self.compiled = compiled  # the plan by which the forward ran
        self.tensors = tensors  # the module's tensors, as the plan was given them
        self.region = owner.regions.now  # the autocast region of the forward, as in Recorded
        self.kept = kept  # (dictionary, name, value before) of each attribute that the forward replaces
        self.plan = call_plan.plan

    def run_original(self, given, used):
        """Runs the original's forward with gradients, for a backward that the plan cannot run. Returns the
        outputs. `used`: for each output, whether it got a gradient."""
        call = self.call.as_made()
        # The program may have left the forward's autocast region in the meantime.
        with self.owner.regions.of(self), call.autocast.again():
            outputs = self.call_plan.replan_for(call, given, tuple(used))
            if outputs is not None:
                return outputs
            self.owner.leave_plan_in_backward(self.plan, self.compiled.last_step().why_original)
            with (
                self.owner.forwarding_original(),
                effects.undone(self.plan.returned.effects),
                as_before(self.kept),
                call.offloading.again(self.owner.module, call.device),
            ):
                output = call.run(self.forward_of_original, given)
                tensors = call.given_for(structure.flatten(output)[1], given)
                kept = [structure.flatten(values[name])[1] for values, name, *_ in self.plan.returned.kept]
                return tensors + [tensor for of_one in kept for tensor in of_one]

    def forward_of_original(self, *args, **kwargs):
        return self.owner.form.run_again(args, kwargs, self.owner.state, self.tensors)


@contextlib.contextmanager
def as_before(kept):
    """A context in which the module's attributes in `kept` have the values from before the planned forward.
    The original's forward reads and replaces these attributes."""
    now = [(values, name, values.get(name)) for values, name, _ in kept]
    for values, name, tensor in kept:
        values[name] = tensor
    try:
        yield
    finally:
        for values, name, tensor in now:
            values[name] = tensor
