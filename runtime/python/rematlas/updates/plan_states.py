"""The tensors besides parameters that a plan with updates works on: the optimizer's states, sums of
gradients, and single numbers."""

import torch

from .consumed_gradient import is_real
from .optimizers import described_states
from .update_rule import Role, inverse_of

# Names of states that belong to no parameter. Learning rates also belong to no parameter, but have names of
# another form (see `number_of_rate`).
NUMBERS = ("norm", "found_inf", "inverse_scale", "scale")


def number_of_rate(state):
    """Returns the position of the optimizer's group whose learning rate is the state with this name; None if
    the state is no learning rate."""
    if state == "lr":
        return 0
    return int(state[3:]) if state.startswith("lr.") and state[3:].isdigit() else None


def names_of_parameters(plan) -> set:
    """Returns the names of the parameters for which the plan has a state."""
    states = [name for name in plan.state_names() if name not in NUMBERS and number_of_rate(name) is None]
    return {name.rpartition(".")[0] for name in states}


def version_of(tensor):
    """Returns a value that changes when the tensor is replaced or written to."""
    return id(tensor), None if tensor is None else tensor._version


class PlanStates:
    """Finds the states of plans, and makes the states that the optimizer has not made yet."""

    def __init__(self, rule, copies):
        self.rule = rule
        self.copies = copies
        self.rates = {}  # by the position of the group: the tensor from which ops read its learning rate
        self.sums = {}  # by the id of the parameter: the tensor for the sum of its gradients
        self.numbers = {}  # by name: the tensors of NUMBERS; "norm" is the norm before the newest clipping
        self.scale_read = None  # the version of the scaler's scale when the newest forward began

    def of_plan(self, plan, role, groups, parameters, makes_missing):
        """Returns the states in the order of the plan; None if the optimizer has not made all of them yet.
        `groups`: see UpdateRule. `parameters`: the parameters by name. `makes_missing`: whether to make
        missing states, as the optimizer would in its first step."""
        if makes_missing:
            trained = names_of_parameters(plan)
            if role is Role.UPDATE:
                self.make_states(trained, groups, parameters)
            if self.rule.accumulate > 1:
                self.make_sums([parameters[name] for name in parameters if name in trained])
        if self.rule.scaler is not None and role is Role.UPDATE:
            self.read_scale(next(iter(parameters.values())))
        states = []
        for name in plan.state_names():
            state = self.find(name, groups, parameters)
            if state is None:
                return None
            states.append(state)
        return states

    def find(self, name, groups, parameters):
        if name in NUMBERS:
            return self.number(name, next(iter(parameters.values())))
        group = number_of_rate(name)
        if group is not None:
            rate = self.rates.setdefault(group, torch.zeros((), dtype=torch.float64, device="cpu"))
            return rate.fill_(float(groups[group][0]["lr"]))
        name, _, state = name.rpartition(".")
        if state == "grad":
            return self.sum_of(parameters[name])
        return self.rule.optimizer.state.get(parameters[name], {}).get(state)

    def number(self, name, parameter):
        """Returns the tensor of a number, on the device of `parameter`. The norm also has the type of
        `parameter`."""
        if name not in self.numbers:
            self.numbers[name] = parameter.new_zeros((), dtype=torch.float32 if name != "norm" else None)
        return self.numbers[name]

    def read_scale(self, parameter) -> None:
        """Copies the scaler's scale into the numbers of the plan. A scaler makes its scale when it first
        scales a loss, so a scaler without a scale is made to scale a zero."""
        scaler = self.rule.scaler
        if scaler._scale is None:
            scaler.scale(parameter.new_zeros(()))
        self.scale_read = version_of(scaler._scale)
        for name in NUMBERS[1:]:
            self.number(name, parameter)
        self.numbers["scale"].copy_(scaler._scale)
        if self.rule.clip_norm is None:
            self.numbers["inverse_scale"].fill_(1)
        else:
            self.numbers["inverse_scale"].copy_(inverse_of(scaler._scale))

    def make_states(self, trained, groups, parameters) -> None:
        """Makes the missing states with the optimizer's initial values. The states are on the host if the
        weights are."""
        optimizer, new = self.rule.optimizer, {}
        for group, told in groups:
            for name in told["parameters"]:
                if name in trained and not optimizer.state.get(parameters[name]):
                    for state, first in described_states(optimizer, group).items():
                        new.setdefault(first, []).append((parameters[name], state))
        for first, wanted in new.items():
            made = self.copies.filled([parameter for parameter, _ in wanted], first)
            for (parameter, state), tensor in zip(wanted, made):
                kept = optimizer.state[parameter]
                kept[state] = tensor
                if type(optimizer) is not torch.optim.SGD and "step" not in kept:
                    kept["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)

    def make_sums(self, parameters) -> None:
        """Makes the missing sums. If an earlier backward of this step has left a gradient, the gradient
        itself becomes the sum, without a second tensor."""
        for parameter in parameters:
            if id(parameter) not in self.sums and self.can_be_sum(parameter):
                self.sums[id(parameter)] = parameter.grad
        without = [parameter for parameter in parameters if id(parameter) not in self.sums]
        for parameter, tensor in zip(without, self.copies.filled(without, -0.0)):
            self.sums[id(parameter)] = tensor

    def can_be_sum(self, parameter) -> bool:
        """Says whether the parameter has a gradient that has the parameter's type, device and layout, and
        that fills its storage. Returns False if the weights are on the host."""
        gradient = parameter.grad
        if gradient is None or type(gradient) is not torch.Tensor or self.copies.moves_weights:
            return False
        same = gradient.dtype == parameter.dtype and gradient.device == parameter.device
        same = same and gradient.stride() == parameter.stride() and not gradient.requires_grad
        return same and gradient.untyped_storage().nbytes() == parameter.nbytes

    def sum_of(self, parameter):
        """Returns the tensor to which the plan adds the parameter's gradient: `.grad` if it is a real
        gradient, otherwise the parameter's tensor in `sums`, filled with negative zeros. Adding a gradient to
        negative zeros changes no bit of it."""
        return parameter.grad if is_real(parameter.grad) else self.sums[id(parameter)].fill_(-0.0)

    def versions(self, parameters) -> list:
        """Returns the versions of the optimizer's states for these parameters."""
        kept = [self.rule.optimizer.state.get(parameter, {}).values() for parameter in parameters]
        return [version_of(state) for states in kept for state in states if isinstance(state, torch.Tensor)]

    def alive(self, role, tensors) -> list:
        """Returns those tensors of the optimizer's part of the step that already exist. `tensors`: the
        parameters, whose gradients may serve as sums."""
        states = self.rule.optimizer.state.values() if role is Role.UPDATE else ()
        kept = [state for states in states for state in states.values() if isinstance(state, torch.Tensor)]
        mine = self.rule.parameter_ids() if self.rule.accumulate > 1 else ()
        gradients = [tensor.grad for tensor in tensors if id(tensor) in mine and is_real(tensor.grad)]
        return [*kept, *gradients, *self.sums.values()]
