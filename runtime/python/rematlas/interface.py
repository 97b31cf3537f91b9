"""The published interface of Rockmate and related packages, so their users need only change an import:

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
    """Returns a complete configuration of a solver.

    `kind`: rotor, checkmate, dtr, noremat, atlas, ... Raises an error that lists the kinds if there is no
    such kind.
    """
    return configurations.generated(kind)


def check_config(config: dict) -> dict:
    """Returns the configuration if it is complete.

    `config`: as `generate_config` returns it. Errors name a key that is unknown, of the wrong type, or out of
    range.
    """
    configurations.checked(config)
    return config


def save_config(config: dict, path) -> None:
    """Writes a configuration as a file of JSON, after `check_config`.

    `config`: the configuration. `path`: the path of the file.
    """
    pathlib.Path(path).write_text(json.dumps(check_config(config), indent=2) + "\n")


def load_config(path) -> dict:
    """Reads a configuration from a file, and checks it as `check_config` does.

    `path`: the path of the file.
    """
    return check_config(json.loads(pathlib.Path(path).read_text()))


class PublishedModule(nn.Module):
    """A module around the model, which is planned by `plan` on the sample and trained by `apply`. It has the
    model's own parameters, buffers, modes and state_dict. The other classes of this interface differ from
    this class only in their solver.

    `model`: a torch.nn.Module. `sample`: the arguments of a call. `budget`: bytes of all tensors of the
    process. Without a budget, or with `solve_sched=False`, the method `solve_sched` makes the schedule.
    `solver`: the name of a solver to use instead of the solver of the class. `config`: a configuration to use
    instead of `solver`. `time_limit`: seconds for the planning.
    """

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
        """Makes the schedule for a budget, and uses it from the next call on."""
        model = self.original_mod
        if is_planned(model):
            remove(model)
        made = plan(model, self._sample, budget, config=self._config, time_limit=self._time_limit)
        apply(model, budget, plan=made, config=self._config, time_limit=self._time_limit)

    @property
    def training(self) -> bool:
        """Whether the model is in train mode."""
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
        """Returns the Status of the model, as rematlas.status does."""
        return status(self.original_mod)

    def state_dict(self, *args, **kwargs):
        return self.original_mod.state_dict(*args, **kwargs)

    def load_state_dict(self, *args, **kwargs):
        return self.original_mod.load_state_dict(*args, **kwargs)

    def backward(self, *_) -> None:
        """Does nothing: loss.backward() has run the schedule's second half."""

    def reinit(self, set_to_none: bool = False) -> None:
        """Sets the gradients to zero, or to None."""
        self.zero_grad(set_to_none=set_to_none)


class Rockmate(PublishedModule):
    """Plans by the solver rockmate (Zhao et al., ICML 2023)."""

    algorithm = "rockmate"


class PureRockmate(Rockmate):
    """Another name of Rockmate."""


class HiRemate(PublishedModule):
    """Plans by the solver hiremate (Gusak et al., ICML 2025)."""

    algorithm = "hiremate"


class Hiremate(HiRemate):
    """Another name of HiRemate."""


class HRockmate(HiRemate):
    """Another name of HiRemate."""


class Checkmate(PublishedModule):
    """Plans by the solver checkmate (Jain et al., MLSys 2020)."""

    algorithm = "checkmate"


class Rotor(PublishedModule):
    """Plans by the solver rotor (Beaumont et al.)."""

    algorithm = "rotor"


class DTR(PublishedModule):
    """Plans by the solver dtr (Kirisame et al., ICLR 2021). The schedule is fixed: it has the evictions and
    reruns that online eviction makes on this graph."""

    algorithm = "dtr"


def from_config(model, sample, config: dict, budget=None) -> PublishedModule:
    """Returns a PublishedModule for a configuration.

    `model`, `sample` and `config`: as PublishedModule takes them. `budget`: bytes of all tensors of the
    process; without it, call `solve_sched(budget)` on the result.
    """
    return PublishedModule(model, sample, budget, config=check_config(config))
