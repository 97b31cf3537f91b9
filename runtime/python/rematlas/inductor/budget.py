"""A budget as people write it."""

import dataclasses
import re

from ..compiled.memory import budget_bytes

PERCENTAGE = re.compile(r"(\d+(?:\.\d+)?)\s*%")


@dataclasses.dataclass(frozen=True)
class StepBudget:
    """Bytes of the device, or a share of what the plainly compiled step takes."""

    text: str
    bytes: int | None
    share: float | None

    @classmethod
    def parse(cls, budget) -> "StepBudget":
        """Raises ValueError for what is neither bytes nor a percentage."""
        text = str(budget)
        number = budget_bytes(budget)
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
        """Returns the bytes; shares are of the step alone."""
        if self.bytes is not None:
            return self.bytes
        return beside_bytes + int(self.share * (plain_bytes - beside_bytes))
