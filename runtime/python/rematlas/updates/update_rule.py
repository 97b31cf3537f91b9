"""The work of a training loop between a backward and the next forward: the optimizer's step, and the
operations before it that the user has announced to `apply`."""

import enum
import json

import torch

from .optimizers import described, without_numbers


class Role(enum.Enum):
    """The use that a plan makes of the gradients of a backward."""

    UPDATE = "update"
    SUM = "sum"


class UpdateRule:
    """The optimizer, and the operations before its steps that the user has announced to `apply`:
    accumulation, clipping, unscaling."""

    def __init__(self, optimizer, accumulate, clip_norm, scaler):
        self.optimizer = optimizer
        self.accumulate = accumulate or 1  # the number of backwards before each step
        # Whether the user has announced what comes before the optimizer's steps.
        self.is_announced = any(said is not None for said in (accumulate, clip_norm, scaler))
        self.clip_norm = clip_norm
        self.scaler = scaler

    def roles(self):
        return (Role.UPDATE, Role.SUM) if self.accumulate > 1 else (Role.UPDATE,)

    def parameters(self) -> list:
        return [parameter for group in self.optimizer.param_groups for parameter in group["params"]]

    def parameter_ids(self) -> set:
        return set(map(id, self.parameters()))

    def options(self) -> list:
        """Returns the present options of each group, such as learning rates."""
        return [
            {
                name: float(v) if isinstance(v, torch.Tensor) else v
                for name, v in group.items()
                if name != "params"
            }
            for group in self.optimizer.param_groups
        ]

    def groups(self, parameters):
        """Returns a list and a text. The list has the optimizer's groups, each with its description for the
        compiled part. The text has the facts about the groups that a plan depends on; if it changes, another
        plan is needed. `parameters`: the parameters by name."""
        names_of = {}
        for name, parameter in parameters.items():
            names_of.setdefault(id(parameter), []).append(name)
        groups = []
        for group in self.optimizer.param_groups:
            names = [name for parameter in group["params"] for name in names_of.get(id(parameter), ())]
            if names:
                groups.append((group, {"optimizer": described(self.optimizer, group), "parameters": names}))
        told = [told for _, told in groups]
        fixed = json.dumps([group | {"optimizer": without_numbers(group["optimizer"])} for group in told])
        return groups, fixed

    def ending(self, role) -> dict:
        """Returns a description, for the compiled part, of the use that the plan makes of the gradients of a
        backward."""
        ending = {"sums": self.accumulate > 1, "updates": role is Role.UPDATE}
        if self.clip_norm is not None and role is Role.UPDATE:
            ending["clip_norm"] = float(self.clip_norm)
        if self.scaler is not None and role is Role.UPDATE:
            ending["scaled"] = True
        return ending

    def text(self, role, fixed) -> str:
        """Returns the description of the ending together with `fixed`, the text of the groups, as text for a
        plan file."""
        return json.dumps([json.loads(fixed), self.ending(role)], sort_keys=True)

    # The operations before the optimizer's own steps, for steps without a plan. The program leaves them to
    # this package, because it has announced them.
    def clip(self, module):
        """Clips the gradients as announced. Returns the norm of all gradients before clipping; None if no
        clipping was announced."""
        if self.clip_norm is None:
            return None
        mine = self.parameter_ids()
        parameters = [parameter for parameter in module.parameters() if id(parameter) in mine]
        known = {id(parameter) for parameter in parameters}
        parameters += [parameter for parameter in self.parameters() if id(parameter) not in known]
        self.unscale(parameters)
        return torch.nn.utils.clip_grad_norm_(parameters, self.clip_norm)

    def unscale(self, parameters) -> None:
        """Unscales gradients that are still scaled. A fused optimizer would do this in its step, but
        unscaling must come before clipping."""
        scale = getattr(self.optimizer, "grad_scale", None)
        if scale is not None:
            gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
            torch._amp_foreach_non_finite_check_and_unscale_(
                gradients, torch.zeros_like(scale), inverse_of(scale)
            )
            self.optimizer.grad_scale = None


def inverse_of(scale):
    """Returns the inverse of the scale, computed as torch.amp.GradScaler computes it."""
    return scale.double().reciprocal().float()
