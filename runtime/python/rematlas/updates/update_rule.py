"""How a step of the training loop ends: by which optimizer, and what is said to come before its steps."""

import enum
import json

import torch

from .optimizers import described, without_numbers


class Role(enum.Enum):
    """What becomes of the gradients of a backward."""

    UPDATE = "update"
    SUM = "sum"


class UpdateRule:
    """The optimizer, and what the user has announced of its steps."""

    def __init__(self, optimizer, accumulate, clip_norm, scaler):
        self.optimizer = optimizer
        self.accumulate = accumulate  # backwards before each step
        self.clip_norm = clip_norm
        self.scaler = scaler

    def is_announced(self) -> bool:
        """Says whether the user has announced what comes before steps."""
        return self.accumulate > 1 or self.clip_norm is not None or self.scaler is not None

    def roles(self):
        return (Role.UPDATE, Role.SUM) if self.accumulate > 1 else (Role.UPDATE,)

    def parameters(self) -> list:
        return [parameter for group in self.optimizer.param_groups for parameter in group["params"]]

    def parameter_ids(self) -> set:
        return set(map(id, self.parameters()))

    def options(self) -> list:
        """Returns learning rates and the like of each group, as they are now."""
        return [
            {
                name: float(v) if isinstance(v, torch.Tensor) else v
                for name, v in group.items()
                if name != "params"
            }
            for group in self.optimizer.param_groups
        ]

    def groups(self, parameters):
        """Returns the optimizer's groups with what the compiled part is told of each, and the text of what
        makes another plan necessary. `parameters` are by name."""
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
        """Tells the compiled part what becomes of the gradients of a backward."""
        ending = {"sums": self.accumulate > 1, "updates": role is Role.UPDATE}
        if self.clip_norm is not None and role is Role.UPDATE:
            ending["clip_norm"] = float(self.clip_norm)
        if self.scaler is not None and role is Role.UPDATE:
            ending["scaled"] = True
        return ending

    def text(self, role, fixed) -> str:
        """Tells the same in a plan file, together with the `fixed` part of the groups."""
        return json.dumps([json.loads(fixed), self.ending(role)], sort_keys=True)

    # What the optimizer's own steps take over from the loop.

    def clip(self, module):
        """Clips as announced, and returns the norm of all gradients before; None where nothing is clipped."""
        if self.clip_norm is None:
            return None
        mine = self.parameter_ids()
        parameters = [parameter for parameter in module.parameters() if id(parameter) in mine]
        known = {id(parameter) for parameter in parameters}
        parameters += [parameter for parameter in self.parameters() if id(parameter) not in known]
        self.unscale(parameters)
        return torch.nn.utils.clip_grad_norm_(parameters, self.clip_norm)

    def unscale(self, parameters) -> None:
        """Does what the optimizer was about to do with gradients that are still scaled, for they are clipped
        after that."""
        scale = getattr(self.optimizer, "grad_scale", None)
        if scale is not None:
            gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
            torch._amp_foreach_non_finite_check_and_unscale_(
                gradients, torch.zeros_like(scale), inverse_of(scale)
            )
            self.optimizer.grad_scale = None


def inverse_of(scale):
    """The inverse is computed as torch.amp.GradScaler does."""
    return scale.double().reciprocal().float()
