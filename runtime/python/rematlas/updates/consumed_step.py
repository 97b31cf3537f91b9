"""The newest backward that used up its gradients: the stand-ins for the gradients, and the checks that the
training is the same as without a plan.

The parameters are already updated when the backward ends. If the program does something between the forward
and `optimizer.step()` that would have changed the updates, the next call that can raise an error reports
the change.
"""

import logging

from ..library import kept, raise_kept
from .consumed_gradient import FROM_OUTSIDE, ConsumedGradient, is_real
from .plan_states import version_of
from .update_rule import Role

log = logging.getLogger("rematlas")


class ConsumedStep:
    """The parameters whose gradients are used up, and the facts that show whether the updates were right."""

    def __init__(self, rule, states):
        self.rule = rule
        self.states = states
        self.role = Role.UPDATE  # the role of the plan that runs the present step
        self.parameters = []  # parameters whose gradients the plan takes
        # The id of the forward whose backward is taking gradients now; None if no backward does.
        self.forward = None
        self.is_done = False  # the parameters are updated; `optimizer.step()` has not been called since
        self.count = 0  # backwards that updated parameters
        self.without_gradient = []  # parameters whose gradients are used up
        self.options_read = None  # the options of the optimizer's groups when the newest forward began
        self.versions = []  # the versions of the parameters after their update
        self.state_versions = []  # the versions of the states after the update
        self.sums_taken = []  # (sum of gradients, its version), noted when the backward had added to the sum
        self.was_interrupted = False  # the newest backward that took gradients was interrupted
        self.was_reloaded = False  # optimizer.load_state_dict was called since the newest forward
        self.fault = ""  # why the training differs from training without a plan; empty if it does not

    # The forward.

    def begin(self) -> bool:
        """Called when a forward begins. Returns whether the program skipped the rest of the previous step
        after an interrupt, or because it loaded a checkpoint; that step then counts as finished."""
        for parameter in self.without_gradient:
            if type(parameter.grad) is ConsumedGradient and parameter.grad.zeroed:
                parameter.grad = None
        self.options_read = self.rule.options()
        is_left_out = self.is_done and (self.was_interrupted or self.was_reloaded)
        if is_left_out:
            if self.was_interrupted:
                log.warning(
                    "rematlas: the last backward was interrupted when it had updated the parameters: its"
                    " step counts as done"
                )
            self.end()
        self.was_interrupted = self.was_reloaded = False
        return is_left_out

    def expect(self, role, parameters) -> None:
        """Notes the parameters whose gradients the plan of this step takes, and the role of the plan."""
        self.role, self.parameters = role, parameters

    # The backward.

    def has_hooks(self) -> bool:
        return any(map(is_hooked, self.parameters))

    # The methods below are called when the backward has taken the gradients. After an interrupt each of them
    # may be called again.

    def note_faults(self, forward) -> None:
        self.forward = forward
        gradients = [parameter.grad for parameter in self.parameters]
        if any(type(gradient) is ConsumedGradient and not gradient.zeroed for gradient in gradients):
            self.fault = "gradients were not zeroed since the last optimizer.step(), and would be added to"
        if self.role is Role.UPDATE and self.rule.accumulate == 1 and any(map(is_real, gradients)):
            self.fault = FROM_OUTSIDE

    def put_stand_ins(self, forward) -> None:
        if self.role is Role.SUM:
            for parameter in self.parameters:
                if not is_real(parameter.grad):
                    parameter.grad = self.states.sums[id(parameter)]
            self.sums_taken = [(parameter.grad, parameter.grad._version) for parameter in self.parameters]
            return
        self.is_done = True
        self.without_gradient = self.parameters
        self.versions = [parameter._version for parameter in self.parameters]
        self.state_versions = self.states.versions(self.parameters)
        for parameter in self.without_gradient:
            parameter.grad = ConsumedGradient(parameter)
            parameter.grad.found_inf = self.states.numbers.get("found_inf")
        self.count += 1

    def note_interrupts(self, forward) -> None:
        """Notes whether the backward was interrupted. An interrupted backward still runs to its end, and
        raises the error then."""
        self.was_interrupted = bool(kept)

    def end_backward(self, forward) -> None:
        """Called when the backward is over. Notes a fault if the sums have changed since the plan added to
        them: then gradients from outside of the plan were also added to `.grad`."""
        if self.forward != forward:
            return
        self.forward = None
        if self.role is Role.SUM and any(total._version != version for total, version in self.sums_taken):
            self.fault = self.fault or FROM_OUTSIDE
        self.sums_taken = []

    # The optimizer's step.

    def check(self) -> None:
        """Raises RuntimeError if `optimizer.step()` without a plan would make other updates than the plan has
        made."""
        if self.is_done:
            self.fault = self.fault or self.change_since_backward()
        elif any(type(parameter.grad) is ConsumedGradient for parameter in self.without_gradient):
            self.fault = "optimizer.step() is called again, and the gradients are gone"
        self.raise_fault()

    def change_since_backward(self) -> str:
        """Returns a text about something that the program has changed since the forward, if the optimizer's
        own updates would therefore differ from those of the plan; empty if there is no such change."""
        if self.rule.options() != self.options_read:
            return (
                "options of the optimizer (lr, ...) were changed between the forward and optimizer.step():"
                " they are read when the forward begins"
            )
        if any(is_real(parameter.grad) or parameter.grad is None for parameter in self.without_gradient):
            return "gradients were zeroed or replaced between backward and optimizer.step()"
        if [parameter._version for parameter in self.parameters] != self.versions:
            return "parameters were written to between backward and optimizer.step()"
        if self.was_reloaded or self.states.versions(self.parameters) != self.state_versions:
            return "states of the optimizer were loaded or written to between backward and optimizer.step()"
        return self.change_of_scale() if self.rule.scaler is not None else ""

    def change_of_scale(self) -> str:
        optimizer = self.rule.optimizer
        if getattr(optimizer, "found_inf", None) is None:
            return "a scaler was given, and optimizer.step() is not called by scaler.step(optimizer)"
        if self.rule.clip_norm is None and getattr(optimizer, "grad_scale", None) is None:
            return (
                "scaler.unscale_ was called, without clip_norm= (updates unscale themselves, to other bits)"
            )
        if self.states.scale_read != version_of(self.rule.scaler._scale):
            return "the scale was changed between the forward and scaler.step(optimizer)"
        return ""

    def raise_fault(self) -> None:
        """Raises the errors that the last backward could not raise."""
        raise_kept()
        fault, self.fault = self.fault, ""
        if fault:
            what = "the parameters were updated" if self.role is Role.UPDATE else "gradients were summed"
            self.is_done = False
            raise RuntimeError(
                f"rematlas: {what} during the last backward, and without a plan they would be others:"
                f" {fault}; where that is meant, leave optimizer= out"
            )

    def end(self) -> None:
        """Ends the step. Removes the stand-ins: the optimizer finds no gradients and does nothing."""
        self.give_back()
        self.is_done = False

    def give_back(self) -> None:
        for parameter in self.without_gradient:
            if type(parameter.grad) is ConsumedGradient:
                parameter.grad = None

    def note_spent(self) -> None:
        """Called after the optimizer's step. Sets stand-ins as gradients again, because the program has not
        zeroed the gradients yet. Adding to such a stand-in, or using it, raises an error."""
        for parameter in self.without_gradient:
            if parameter.grad is None:
                parameter.grad = ConsumedGradient(parameter)
                parameter.grad.spent = True


def is_hooked(parameter) -> bool:
    return bool(parameter._backward_hooks or parameter._post_accumulate_grad_hooks)
