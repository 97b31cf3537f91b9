"""The optimizer whose updates end a step that is planned from shapes.

chosen = Chosen.of(("adamw", {"lr": 1e-4, "foreach": True}), "f32")
chosen.is_fused                  # False: its step is recorded as it runs, after the backward
chosen.made(model, twins)        # [a torch.optim.AdamW]
"""

import dataclasses
import importlib
import inspect
import math

import torch

from ..errors import Refused
from ..updates.optimizers import unfit

TYPES_OF_MASTERS = {None: None, "f32": torch.float32}
FUSED = ("sgd", "adam", "adamw")  # these names mean fused optimizers, whose updates a plan can run
OF_TORCH = {
    name.lower(): name
    for name in (
        *("SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "NAdam", "RAdam", "Adamax", "Adadelta", "ASGD"),
        *("Rprop", "Adafactor", "Muon"),
    )
    if hasattr(torch.optim, name)
}
OF_TORCHAO = {
    name.lower(): name for name in ("Adam8bit", "AdamW8bit", "Adam4bit", "AdamW4bit", "AdamFp8", "AdamWFp8")
}
NAMES = (*OF_TORCH, *OF_TORCHAO)
OF_MATRICES = {"muon", "adafactor"}
# Options that decide how the updates run, but not what they compute.
FORMS = ("foreach", "capturable")


def class_named(name):
    """Returns the optimizer's class. Raises ValueError for an unknown name, and Refused if torchao is needed
    but cannot be imported."""
    if name in OF_TORCH:
        return getattr(torch.optim, OF_TORCH[name])
    if name not in OF_TORCHAO:
        raise ValueError(f"rematlas: optimizer {name!r}: expected one of {', '.join(NAMES)}")
    try:
        return getattr(importlib.import_module("torchao.optim"), OF_TORCHAO[name])
    except (ImportError, AttributeError) as error:
        raise Refused(
            f"rematlas: optimizer {name}: torchao.optim.{OF_TORCHAO[name]} cannot be imported ({error}):"
            " install torchao (pip install torchao)"
        ) from None


def options_of(name) -> dict:
    """Returns the type (float or bool) of each option that is a number or a flag. The option `betas`, a pair
    of numbers, is listed as beta1 and beta2."""
    found = {}
    for option, parameter in inspect.signature(class_named(name).__init__).parameters.items():
        default = parameter.default
        if option == "betas":
            found |= {"beta1": float, "beta2": float}
        elif isinstance(default, bool) or option in FORMS:
            found[option] = bool
        elif isinstance(default, (int, float, torch.Tensor)):
            found[option] = float
    return {
        option: kind for option, kind in found.items() if option not in ("params", "differentiable", "fused")
    }


def checked(optimizer) -> tuple:
    """Returns the optimizer's name and its options. Raises ValueError if the name or an option is wrong."""
    name, options = (optimizer, {}) if isinstance(optimizer, str) else (*optimizer, {})[:2]
    if name not in NAMES or not isinstance(options, dict):
        raise ValueError(
            f"rematlas: optimizer is {optimizer!r}; expected ('adamw', {{'lr': 1e-4}}), say, with one of"
            f" {', '.join(NAMES)}, or an instance of torch.optim.Optimizer, or a list of such"
        )
    known = options_of(name)
    for option, number in options.items():
        if option not in known:
            raise ValueError(f"rematlas: optimizer: {name} has no option {option}; it has {', '.join(known)}")
        if not isinstance(number, (int, float)) or not math.isfinite(number):
            raise ValueError(f"rematlas: optimizer: {option} is {number!r}; expected a number")
    return name, options


def matrices_within(model) -> set:
    """Returns the ids of the parameters that Muon is meant for: all matrices except those of embeddings and,
    in a model of transformers, of the head. The authors of Muon use AdamW for all other parameters."""
    edges = [module for module in model.modules() if isinstance(module, torch.nn.Embedding)]
    if callable(getattr(model, "get_output_embeddings", None)):
        edges.append(model.get_output_embeddings())
    others = {id(parameter) for module in filter(None, edges) for parameter in module.parameters()}
    return {id(parameter) for parameter in model.parameters() if parameter.ndim == 2} - others


@dataclasses.dataclass(frozen=True)
class Chosen:
    """An optimizer, given by its name and options or as instances."""

    name: str
    options: dict
    instances: tuple
    masters: torch.dtype | None  # the type of master weights; None if there are none

    @classmethod
    def of(cls, optimizer, master_weights=None) -> "Chosen":
        """Makes the object from the caller's arguments. Raises ValueError and TypeError if `optimizer` is not
        an optimizer, or if `master_weights` is wrong."""
        if master_weights not in TYPES_OF_MASTERS:
            raise ValueError(f"rematlas: master_weights is {master_weights!r}; expected 'f32' or None")
        masters = TYPES_OF_MASTERS[master_weights]
        if isinstance(optimizer, (str, tuple)):
            return cls(*checked(optimizer), (), masters)
        instances = tuple(optimizer) if isinstance(optimizer, list) else (optimizer,)
        if not instances or not all(isinstance(one, torch.optim.Optimizer) for one in instances):
            raise TypeError(
                f"rematlas: optimizer is a {type(optimizer).__name__}; expected ('adamw', {{'lr': 1e-4}}),"
                " say, or an instance of torch.optim.Optimizer, or a list of such"
            )
        return cls(" and ".join(type(one).__name__ for one in instances), {}, instances, masters)

    @property
    def is_fused(self) -> bool:
        """Whether the updates are fused ops that a plan can run itself."""
        if self.masters is not None:
            return False
        if self.instances:
            return all(unfit(one) is None for one in self.instances)
        return self.is_fused_by_name and not self.options.get("dampening")

    @property
    def takes_matrices(self) -> bool:
        """Whether an update of a parameter depends on the parameter's rows and columns."""
        names = {type(one).__name__.lower() for one in self.instances} or {self.name}
        return bool(names & OF_MATRICES)

    @property
    def is_fused_by_name(self) -> bool:
        return self.name in FUSED and not any(form in self.options for form in FORMS)

    def made(self, model, targets) -> list:
        """Returns new optimizers of this name. They update stand-ins (see optimizer_copies.py) instead of the
        model's trained parameters. `targets`: the stand-ins by the ids of the parameters. Raises torch's
        errors about the options."""
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        if self.name != "muon":
            return [self.of_name([targets[id(parameter)] for parameter in trained])]
        matrices = matrices_within(model)
        own = [targets[id(parameter)] for parameter in trained if id(parameter) in matrices]
        others = [targets[id(parameter)] for parameter in trained if id(parameter) not in matrices]
        if not own:
            raise Refused("no matrix is trained but for those of embeddings and heads: take adamw")
        return [self.of_name(own), *([torch.optim.AdamW(others)] if others else [])]

    def of_name(self, parameters) -> torch.optim.Optimizer:
        options = {
            option: bool(number) if kind is bool else number
            for option, kind in options_of(self.name).items()
            if (number := self.options.get(option)) is not None
        }
        if "beta1" in options or "beta2" in options:
            made_class = class_named(self.name)
            default = inspect.signature(made_class.__init__).parameters["betas"].default
            options["betas"] = (options.pop("beta1", default[0]), options.pop("beta2", default[1]))
        if self.is_fused_by_name:
            options["fused"] = True
        return class_named(self.name)(parameters, **options)
