"""The errors and warnings that the caller sees."""

import sys
import warnings

import torch


class Refused(RuntimeError):
    """The model cannot be captured, or no plan keeps the budget. `apply` raises it with on_refuse="raise"."""


class Infeasible(Refused):
    """No schedule keeps the budget. If `proven` is true, every schedule needs at least `needed` bytes.
    `works` is a budget that is known to work, or None if none is known: its `bytes`, `share` and
    `share_of_activations` can be given as the budget."""

    def __init__(
        self, message: str, needed: int, proven: bool = True, smallest_found: int | None = None, works=None
    ):
        super().__init__(message)
        self.needed = needed
        self.proven = proven
        self.smallest_found = smallest_found
        self.works = works

    @classmethod
    def of(cls, text: str, found) -> "Infeasible":
        """Makes the error from a planner's Shortage. `text` says why there is no schedule."""
        return cls(
            f"rematlas: {text}", found.needed_bytes, found.proven, found.smallest_found_bytes, found.works
        )


class Thrashing(torch.OutOfMemoryError):
    """Reruns of ops took too much time under online eviction, so the budget cannot be kept in reasonable
    time. The ops before the error may have changed parameters, buffers, the optimizer's state and the random
    numbers. After `optimizer.zero_grad()` training can go on with a larger budget."""

    @staticmethod
    def is_told_by(error) -> bool:
        """Says whether the error means thrashing. An op fails in C++, so it raises libtorch's
        OutOfMemoryError instead of this class. The text of the error shows whether it means thrashing."""
        return isinstance(error, torch.OutOfMemoryError) and str(error).startswith(
            "rematlas: eviction thrashes"
        )


class RefusedWarning(UserWarning):
    """Training goes on with the original model; the text says why. `apply` warns with on_refuse="warn"."""


def caller_level() -> int:
    """Returns the stack level for a warning: the level of the first frame outside of this package and of
    torch."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None:
        file = frame.f_code.co_filename
        if "/rematlas/" not in file and "/torch/" not in file:
            break
        level, frame = level + 1, frame.f_back
    return level


def warn(text: str) -> None:
    """Warns that training goes on with the original."""
    warnings.warn(f"rematlas: {text}", RefusedWarning, stacklevel=caller_level())


def message(error) -> str:
    """Returns the first line of an error's text without the prefix "rematlas: "; the name of the error's
    class if there is no text."""
    return (str(error).splitlines() or [type(error).__name__])[0].removeprefix("rematlas: ")


def in_bytes(number) -> str:
    return f"{number} bytes" + (f" ({number / 2**20:.1f} MiB)" if number >= 2**20 else "")


def infeasible_text(solver, answer) -> str:
    works = answer.infeasible.works
    return why_infeasible(solver, answer) + ("" if works is None else f"; a budget that works: {works}")


def why_infeasible(solver, answer) -> str:
    budget, found = answer.step_budget_bytes, answer.infeasible
    if budget < 0:
        return (
            f"infeasible: what lives beside the step is {in_bytes(-budget)} larger than the budget, and every"
            f" schedule of the step needs at least {in_bytes(found.needed_bytes)} more"
        )
    if found.proven:
        of_host = f" {found.reason}" if "on the host" in found.reason else ""
        return (
            f"infeasible: the step's share of the budget is {budget} bytes; every schedule needs at least "
            f"{found.needed_bytes} bytes{of_host}, {found.needed_bytes - budget} more"
        )
    smallest = f", its smallest is {found.smallest_found_bytes} bytes" if found.smallest_found_bytes else ""
    reason = f" ({found.reason})" if found.reason else ""
    return (
        f"infeasible: {solver} found no schedule within {budget} bytes{smallest}{reason}; none can need less"
        f" than {found.needed_bytes} bytes"
    )
