"""Turns the JSON texts of the compiled part into values."""

import dataclasses
import json


@dataclasses.dataclass(frozen=True, slots=True)
class WorkingBudget:
    """A budget that is known to work. `share` and `share_of_activations` give it as a share; each is empty if
    the budget cannot be given in this form."""

    bytes: int  # bytes of all tensors on the device, including those outside of the step
    share: str  # "61.5%"
    share_of_activations: str  # "58% of activations"
    to_come: int = 0  # the part of `bytes` for gradients, optimizer states and outputs that do not exist yet

    def of_bytes(self, number: int, to_come: int) -> "WorkingBudget":
        """Returns the budget with `number` bytes instead. `to_come` is added to the bytes for tensors that do
        not exist yet."""
        return dataclasses.replace(self, bytes=number, to_come=self.to_come + to_come)

    def __str__(self):
        shares = [text for text in (f'"{self.share}"', f'"{self.share_of_activations}"') if len(text) > 2]
        to_come = (
            f" ({self.to_come} of them for gradients, optimizer states and outputs that are not there yet)"
            if self.to_come
            else ""
        )
        return ", or ".join([f"{self.bytes}{to_come}", *shares])


@dataclasses.dataclass(frozen=True, slots=True)
class Shortage:
    """Why no schedule keeps the budget."""

    needed_bytes: int
    proven: bool  # whether it is proven that every schedule needs `needed_bytes`
    smallest_found_bytes: int | None
    reason: str
    works: WorkingBudget | None

    @classmethod
    def of(cls, told: dict) -> "Shortage":
        works = told["works"]
        return cls(**told | {"works": None if works is None else WorkingBudget(**works)})


@dataclasses.dataclass(frozen=True, slots=True)
class PlanAnswer:
    """The facts about a step and about the newest schedule. Unknown facts are None."""

    ops: int
    whole_peak_bytes: int  # the peak without recomputation
    whole_held_bytes: int  # bytes that each further open forward holds, without recomputation
    resident_bytes: int
    gradient_bytes: int
    output_bytes: int
    written_bytes: int  # bytes of the buffers that the step writes to
    kept_by_loss_bytes: int
    whole_wire_bytes: int  # the bytes that collectives bring to this rank, without recomputation
    unused_outputs: list
    torch: str = ""  # the version of torch that the step was recorded with
    updates: str = ""  # how the optimizer's updates run, if the step includes them
    step_budget_bytes: int | None = None
    beside_bytes: int = 0
    others_bytes: int = 0  # bytes that the other open forwards hold while one of them runs
    error: str | None = None
    infeasible: Shortage | None = None
    # The next three fields are set only on a GPU. They are the bytes that the allocator has handed out at the
    # peak; the bytes of the device that the allocator holds at the peak, including fragmentation; and the
    # memory that the device must have for the step, for tensors outside of the step, and for the driver and
    # other processes.
    allocated_peak_bytes: int | None = None
    reserved_peak_bytes: int | None = None
    device_bytes: int | None = None
    solver: str | None = None
    peak_bytes: int | None = None
    budget_bytes: int | None = None
    overhead: float | None = None
    time_ns: int | None = None  # the predicted time of the step
    host_peak_bytes: int | None = None
    wire_bytes: int | None = None  # the bytes that collectives bring to this rank under the plan
    bound: float | None = None
    gap: float | None = None

    @property
    def is_solved(self) -> bool:
        return self.peak_bytes is not None

    @property
    def step_bytes(self) -> int:
        """The bytes of the budget that the step takes by the newest schedule. They include bytes that the
        loss keeps from the forward to the backward, and bytes that other open forwards hold."""
        return self.kept_by_loss_bytes + self.peak_bytes + self.others_bytes

    @classmethod
    def of(cls, text: str) -> "PlanAnswer":
        told = json.loads(text)
        if "infeasible" in told:
            told["infeasible"] = Shortage.of(told["infeasible"])
        return cls(**told)


@dataclasses.dataclass(frozen=True)
class LastStep:
    """The newest step that a plan ran."""

    peak_bytes: int | None  # None if it was not measured
    arena_bytes: int
    system_allocations: int
    originals: int  # the number of steps so far whose backward the original had to run
    why_original: str
    open: int  # the number of open forwards

    @classmethod
    def of(cls, text: str) -> "LastStep | None":
        """Parses the text that the C++ library returns about the last step of a plan. Returns None if the
        plan is not bound to a module."""
        told = json.loads(text)
        return cls(**told) if told else None


@dataclasses.dataclass(frozen=True)
class Eviction:
    """The counts of online eviction so far."""

    steps: int  # backwards that have ended
    calls: int  # runs of ops
    evictions: int  # storages that were evicted
    rematerializations: int  # reruns of ops
    rerun_share: float  # the share of reruns in the time of all ops
    known_ops: int  # ops that could be run again now
    # why the budget could not be kept; only in steps that `apply` itself runs under eviction
    given_up: str = ""

    @classmethod
    def of(cls, text: str) -> "Eviction":
        told = json.loads(text)
        share = told["rerun_time_ns"] / max(told["time_ns"], 1)
        known = {field.name: told[field.name] for field in dataclasses.fields(cls) if field.name in told}
        return cls(rerun_share=share, **known)
