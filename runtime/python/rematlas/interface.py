"""The published interface of Rockmate and related packages, so that their users need only change an import:

    from rematlas import Rockmate                      # was: from rockmate import Rockmate
    module = Rockmate(model, sample, 2 * 1024**3)

Each class uses its own algorithm; `solver="atlas"` asks for another algorithm by name. A configuration of an
unknown type is an error that lists the known types.
"""

import json
import pathlib

from torch import nn

from .api import apply, is_planned, plan, remove, status
from .compiled import configurations

SHARED = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")


def generate_config(kind: str = "atlas") -> dict:
    """Returns a complete configuration of a kind: rotor, checkmate, dtr, noremat, atlas, ... Errors list the
    kinds."""
    return configurations.generated(kind)


def check_config(config: dict) -> dict:
    configurations.checked(config)
    return config


def save_config(config: dict, path) -> None:
    """Writes a configuration. Errors name a key that is unknown, of the wrong type, or out of range."""
    pathlib.Path(path).write_text(json.dumps(check_config(config), indent=2) + "\n")


def load_config(path) -> dict:
    return check_config(json.loads(pathlib.Path(path).read_text()))


class PublishedModule(nn.Module):
    """A module around the model, which is planned by `plan` on the sample and trained by `apply`. It has the
    model's own parameters, buffers, modes and state_dict. `budget`: bytes of all tensors of the process.
    Without a budget, or with `solve_sched=False`, `solve_sched(budget)` makes the schedule."""

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
        """Does nothing: loss.backward() has run the schedule's second half."""

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
    """Kirisame et al., ICLR 2021: the evictions and reruns of online eviction on this graph, as a fixed
    schedule."""

    algorithm = "dtr"


def from_config(model, sample, config: dict, budget=None) -> PublishedModule:
    """Returns the module for a configuration. Without a budget, call `solve_sched(budget)` on the result."""
    return PublishedModule(model, sample, budget, config=check_config(config))
