"""The contents of a policy file: the regions of a model, and the ops that each region expects and saves."""

import dataclasses
import json
import pathlib

from ..compiled.compiled_plan import in_file
from ..errors import Refused
from ..library import in_one_line, ops
from ..plan_file import Plan

FORMAT = "rematlas.policy"


@dataclasses.dataclass(frozen=True, slots=True)
class ExpectedOp:
    """An op that a region expects. `name`: for example aten.mm.default. `tensors`: types and sizes
    (f32[8,64]) of the tensors that the op reads, except for tensors without axes."""

    name: str
    tensors: tuple
    save: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Region:
    """A module that is checkpointed. `ops`: the ops that its forward calls, in order, without views and
    without ops that the step does not need."""

    module: str
    ops: tuple


@dataclasses.dataclass(frozen=True, slots=True)
class PolicyFile:
    """A policy. `peak_bytes`: the peak of the whole step, including `resident_bytes`, the bytes of parameters
    and inputs. `overhead`: the step's time over its time without checkpointing."""

    text: str
    budget_bytes: int
    peak_bytes: int
    resident_bytes: int
    overhead: float
    regions: tuple

    @classmethod
    def of(cls, given, budget) -> "PolicyFile":
        """Reads or makes a policy. `given`: a Plan, or the path of a plan, of a schedule with its graph file
        next to it, or of a policy."""
        if isinstance(given, Plan):
            with in_file(given.data) as path:
                return cls.parse(cls.solved(path, budget), "the plan")
        with open(given, "rb") as file:
            is_policy = FORMAT.encode() in file.read(4096)
        if is_policy and budget is not None:
            raise ValueError(
                f"rematlas: {given} is a policy, which has its budget; give the plan for another budget"
            )
        return cls.parse(pathlib.Path(given).read_text() if is_policy else cls.solved(given, budget), given)

    @staticmethod
    def solved(path, budget) -> str:
        """Returns the text of a policy for the step of the plan at `path`, within the budget. Raises Refused
        if there is no such policy."""
        try:
            text = in_one_line(ops.checkpoint_policy, str(path), "" if budget is None else str(budget))
        except RuntimeError as error:
            raise ValueError(str(error)) from None
        told = json.loads(text)
        if told.get("status") == "infeasible":
            raise Refused(f"rematlas: {told['reason']}")
        return text

    @classmethod
    def parse(cls, text: str, name) -> "PolicyFile":
        try:
            told = json.loads(text)
            if told["format"] != FORMAT or told["version"] != 1:
                raise ValueError
            regions = tuple(
                Region(
                    region["module"],
                    tuple(ExpectedOp(op["op"], tuple(op["tensors"]), op["save"]) for op in region["ops"]),
                )
                for region in told["regions"]
            )
            numbers = (told[key] for key in ("budget_bytes", "peak_bytes", "resident_bytes", "overhead"))
            return cls(text, *numbers, regions)
        except (ValueError, KeyError, TypeError):
            raise ValueError(
                f"rematlas: {name} is no policy file of version 1: rematlas export --format policy writes one"
            ) from None
