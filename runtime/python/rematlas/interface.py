"""The published interface of Rockmate and its kin, so that its users change an import:

    from rematlas import Rockmate                      # was: from rockmate import Rockmate
    module = Rockmate(model, sample, 2 * 1024**3)

Each class stands for its own algorithm; `solver="atlas"` asks for another by name. A configuration of a type
that this version does not have is an error that lists what there is.
"""

import json
import pathlib

from torch import nn

from .api import apply, is_planned, plan, remove, status
from .compiled import configurations

SHARED = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")


def generate_config(kind: str = "atlas") -> dict:
    """A complete configuration: of rotor, checkmate, dtr, noremat, atlas, ... Errors list what there is."""
    return configurations.generated(kind)


def check_config(config: dict) -> dict:
    configurations.checked(config)
    return config


def save_config(config: dict, path) -> None:
    """Errors name the key that is unknown, of the wrong type or out of range."""
    pathlib.Path(path).write_text(json.dumps(check_config(config), indent=2) + "\n")


def load_config(path) -> dict:
    return check_config(json.loads(pathlib.Path(path).read_text()))


class PublishedModule(nn.Module):
    """The model, planned by `plan` on the sample and trained by `apply`; with the model's own parameters,
    buffers, modes and state_dict. `budget`: bytes for all that the step holds. Without one, or with
    `solve_sched=False`, the schedule is made by `solve_sched(budget)`."""

    algorithm = "atlas"

    def __init__(
        self, model, sample, budget=None, solve_sched=True, *, solver=None, config=None, time_limit=None
    ):
        config = config or generate_config(solver or self.algorithm)
        self.__dict__["original_mod"] = model
        super().__init__()
        for name in SHARED:
            self.__dict__[name] = getattr(model, name)
        self.__dict__.update(_sample=sample, _config=config, _time_limit=time_limit)
        if budget is not None and solve_sched:
            self.solve_sched(budget)

    def solve_sched(self, budget) -> None:
        model = self.original_mod
        if is_planned(model):
            remove(model)
        made = plan(model, self._sample, budget, config=self._config, time_limit=self._time_limit)
        apply(model, budget, plan=made, config=self._config, time_limit=self._time_limit)

    @property
    def training(self) -> bool:
        return self.original_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        self.original_mod.training = mode

    def train(self, mode: bool = True):
        self.original_mod.train(mode)
        return self

    def forward(self, *args, **kwargs):
        if self.training and not is_planned(self.original_mod):
            raise RuntimeError("rematlas: there is no schedule yet: call solve_sched(budget)")
        return self.original_mod(*args, **kwargs)

    def status(self):
        return status(self.original_mod)

    def state_dict(self, *args, **kwargs):
        return self.original_mod.state_dict(*args, **kwargs)

    def load_state_dict(self, *args, **kwargs):
        return self.original_mod.load_state_dict(*args, **kwargs)

    def backward(self, *_) -> None:
        """Nothing is left to do: loss.backward() has run the schedule's second half."""

    def reinit(self, set_to_none: bool = False) -> None:
        self.zero_grad(set_to_none=set_to_none)


class Rockmate(PublishedModule):
    """Zhao et al., ICML 2023."""

    algorithm = "rockmate"


class PureRockmate(Rockmate):
    pass


class HiRemate(PublishedModule):
    """Gusak et al., ICML 2025."""

    algorithm = "hiremate"


class Hiremate(HiRemate):
    pass


class HRockmate(HiRemate):
    pass


class Checkmate(PublishedModule):
    """Jain et al., MLSys 2020."""

    algorithm = "checkmate"


class Rotor(PublishedModule):
    """Beaumont et al."""

    algorithm = "rotor"


class DTR(PublishedModule):
    """Kirisame et al., ICLR 2021: what online eviction does on this graph, as a schedule fixed beforehand."""

    algorithm = "dtr"


def from_config(model, sample, config: dict, budget=None) -> PublishedModule:
    """Without a budget, call `solve_sched(budget)` on what is returned."""
    return PublishedModule(model, sample, budget, config=check_config(config))
