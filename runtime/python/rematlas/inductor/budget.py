"""Reads a budget as users write it."""

import dataclasses
import re

from ..compiled.memory import budget_bytes
from ..errors import message

PERCENTAGE = re.compile(r"(\d+(?:\.\d+)?)\s*%")


@dataclasses.dataclass(frozen=True)
class StepBudget:
    """Bytes of the device, or a share of the peak of the plainly compiled step."""

    text: str
    bytes: int | None
    share: float | None

    @classmethod
    def parse(cls, budget) -> "StepBudget":
        """Reads a budget. Raises ValueError if it is neither bytes nor a percentage."""
        text = str(budget)
        try:
            number = budget_bytes(budget)
        except RuntimeError as error:
            raise ValueError(message(error)) from None
        if number is not None:
            return cls(f"{number} bytes", number, None)
        share = PERCENTAGE.fullmatch(text.strip())
        if share is None:
            raise ValueError(
                f"rematlas: the budget of a compiled step is {text!r}: give bytes or a percentage, such as"
                ' "8GiB" or "60%"'
            )
        return cls(text, None, float(share[1]) / 100)

    def of(self, plain_bytes: int, beside_bytes: int) -> int:
        """Returns the budget in bytes. If it is a share, the share is taken of the step alone, and the bytes
        beside the step are added."""
        if self.bytes is not None:
            return self.bytes
        return beside_bytes + int(self.share * (plain_bytes - beside_bytes))
