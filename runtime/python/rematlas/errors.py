"""What can go wrong, as the caller sees it."""


class Refused(RuntimeError):
    """The model cannot be captured, or no plan keeps the budget. With on_refuse="raise"."""


class Infeasible(Refused):
    """No schedule within the budget. `needed` is proven where `proven` is true: every schedule needs as much."""

    def __init__(self, message: str, needed: int, proven: bool = True, smallest_found: int | None = None):
        super().__init__(message)
        self.needed = needed
        self.proven = proven
        self.smallest_found = smallest_found


class RefusedWarning(UserWarning):
    """Training goes on with the original model; says why. With on_refuse="warn"."""
