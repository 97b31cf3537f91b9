"""Modules that train by a plan."""

import os
import pathlib
import tempfile
import warnings

import torch
from torch import nn

from . import programs
from .plans import Plan, autocast_of, device_of, evaluating
from .structure import flat_structure, packed, tensor_count

SHARED = (
    "_parameters",
    "_buffers",
    "_modules",
    "_non_persistent_buffers_set",
)


def find(model, name: str):
    """The submodule that a parameter or buffer lies in, and its name there."""
    *path, leaf = name.split(".")
    for part in path:
        model = getattr(model, part)
    return model, leaf


class ScheduledModule(nn.Module):
    """The original's parameters, buffers, modes and state_dict; in training, forward and backward are the plan's.

    One forward is open at a time: a second one before the backward of the first makes that backward an error. Forward
    hooks of submodules do not run in training, save as they were traced. Made by `load`.
    """

    def __init__(self, original: nn.Module, plan: Plan | None):
        training = original.training
        self.__dict__["_original"] = original
        super().__init__()
        for name in SHARED:
            if hasattr(original, name):
                self.__dict__[name] = getattr(original, name)
        original.training = training
        self.__dict__["_plan"] = plan
        self.__dict__["_step"] = None
        if plan is not None:
            self._bind()

    # What the original is.

    @property
    def original(self) -> nn.Module:
        return self._original

    @property
    def plan(self) -> Plan:
        return self._plan

    @property
    def training(self) -> bool:
        return self._original.training

    @training.setter
    def training(self, mode: bool) -> None:
        self._original.training = mode

    def train(self, mode: bool = True):
        self._original.train(mode)
        return self

    def state_dict(self, *arguments, **options):
        return self._original.state_dict(*arguments, **options)

    def load_state_dict(self, *arguments, **options):
        return self._original.load_state_dict(*arguments, **options)

    def _apply(self, *arguments, **options):
        self._original._apply(*arguments, **options)
        return self

    def __reduce__(self):
        return load, (self._original, self._plan)

    def extra_repr(self) -> str:
        return str(self._plan)

    # What the plan is.

    @property
    def last_peak_bytes(self) -> int:
        """Of the last step: most bytes that it held, parameters, gradients, inputs and outputs included. What the loss
        and the optimizer hold beside it is not counted."""
        return self._step.last_peak_bytes()

    @property
    def predicted_peak_bytes(self) -> int:
        return self._step.predicted_peak_bytes()

    def _bind(self) -> None:
        """Hands the tensors to the compiled part, which holds them against the plan."""
        compiled = programs.library().ScheduledModule
        original, plan = self._original, self._plan
        kind = device_of(original)
        with tempfile.TemporaryDirectory(prefix="rematlas-") as folder:
            path = os.path.join(folder, "plan")
            pathlib.Path(path).write_bytes(plan.data)
            names = torch.ops.rematlas.tensor_names(path)
            places = []
            for name in names:
                try:
                    owner, leaf = find(original, name)
                    places.append((owner, leaf, getattr(owner, leaf)))
                except AttributeError:
                    raise ValueError(f"rematlas: the model has no {name}, which the plan was made with") from None
            known = {id(tensor) for _, _, tensor in places}
            for name, tensor in [*original.named_parameters(), *original.named_buffers()]:
                if id(tensor) not in known:
                    raise ValueError(f"rematlas: the plan was made without {name}, which the model has")
            step = compiled(path, names, [tensor for _, _, tensor in places], kind)
        if step.threads() != torch.get_num_threads():
            warnings.warn(
                f"rematlas: the plan was made with {step.threads()} threads and libtorch uses {torch.get_num_threads()}: "
                "workspaces may be of other sizes than planned; see torch.set_num_threads",
                stacklevel=3,
            )
        self.__dict__.update(_step=step, _places=places, _kind=kind, _module=plan.module)

    def _check(self) -> None:
        """That the model is in the state that the plan was made for."""
        if self._step is None:
            raise RuntimeError("rematlas: there is no schedule yet: call solve_sched(budget)")
        if any(getattr(owner, leaf) is not tensor for owner, leaf, tensor in self._places):
            self._bind()
        planned = self._module.get("evaluating", [])
        found = evaluating(self._original)
        if found != planned:
            name = sorted(set(found) ^ set(planned))[0]
            mode = ("eval", "train") if name in found else ("train", "eval")
            raise RuntimeError(f"rematlas: {name} is in {mode[0]} mode, and the plan was made with it in {mode[1]} mode")
        autocast = autocast_of(self._kind)
        if autocast != self._module.get("autocast"):
            raise RuntimeError(
                f"rematlas: autocast is {autocast or 'off'}, and the plan was made with it {self._module.get('autocast') or 'off'}"
            )

    def forward(self, *inputs):
        if not self.training or not torch.is_grad_enabled():
            return self._original(*inputs)
        self._check()
        for index, value in enumerate(inputs):
            if not isinstance(value, torch.Tensor):
                raise TypeError(f"rematlas: input {index} is a {type(value).__name__}; the plan takes tensors")
        outputs = self._step.run(list(inputs))
        structure = self._module.get("structure", flat_structure(len(outputs)))
        if tensor_count(structure) != len(outputs):
            raise RuntimeError(f"rematlas: the plan makes {len(outputs)} outputs, the model returned {tensor_count(structure)}")
        return packed(structure, iter(outputs))


def load(model: nn.Module, plan) -> ScheduledModule:
    """The model, training by a plan: a Plan, or the path of a plan file.

    Raises an error that names the difference when the plan was made for another model. A plan of the command line does
    not know how the outputs are packed: one output comes as a tensor, several as a tuple.
    """
    return ScheduledModule(model, plan if isinstance(plan, Plan) else Plan.read(plan))
