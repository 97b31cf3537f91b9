"""The published interface of Rockmate and its kin, so that its users change an import:

    from rematlas import Checkmate as Rockmate         # was: from rockmate import Rockmate
    module = Rockmate(model, sample, 2 * 1024**3)

Each class stands for its own algorithm. Where this version does not have it, making one raises an error that lists
what there is; `solver="atlas"` asks for another by name.
"""

import json
import pathlib
import tempfile

from . import programs
from .plans import plan
from .scheduled import ScheduledModule


def generate_config(kind: str = "atlas") -> dict:
    """A complete configuration: of rotor, checkmate, dtr, noremat, atlas, ... Errors list what there is."""
    with tempfile.TemporaryDirectory(prefix="rematlas-") as folder:
        path = pathlib.Path(folder) / "config.json"
        programs.run("config", "generate", kind, "-o", str(path))
        return json.loads(path.read_text())


def check_config(config: dict) -> dict:
    with tempfile.TemporaryDirectory(prefix="rematlas-") as folder:
        path = pathlib.Path(folder) / "config.json"
        path.write_text(json.dumps(config))
        programs.run("config", "check", str(path))
    return config


def save_config(config: dict, path) -> None:
    """Errors name the key that is unknown, of the wrong type or out of range."""
    pathlib.Path(path).write_text(json.dumps(check_config(config), indent=2) + "\n")


def load_config(path) -> dict:
    return check_config(json.loads(pathlib.Path(path).read_text()))


class PublishedModule(ScheduledModule):
    """`budget` in bytes counts all that the step holds, parameters and gradients too; without one, or with
    `solve_sched=False`, the schedule is made by `solve_sched(budget)`."""

    algorithm = "atlas"

    def __init__(self, model, sample, budget=None, solve_sched=True, *, solver=None, config=None, time_limit=60.0):
        if config is None:
            config = generate_config(solver or self.algorithm)
        super().__init__(model, None)
        self.__dict__.update(_sample=sample, _config=config, _time_limit=time_limit)
        if budget is not None and solve_sched:
            self.solve_sched(budget)

    def solve_sched(self, budget) -> None:
        made = plan(self._original, self._sample, budget, config=self._config, time_limit=self._time_limit)
        self.__dict__["_plan"] = made
        self._bind()

    @property
    def original_mod(self):
        return self._original

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
