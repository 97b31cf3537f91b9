"""Bytes, as the compiled part counts them."""

from ..library import ops


def other_bytes(tensors, inputs, device: str) -> int:
    """Returns what lives on the device beside these tensors of a step."""
    return ops.beside(tensors, inputs, device)


def budget_bytes(budget) -> int | None:
    """Returns the bytes of a budget, None for a share. Raises RuntimeError for what is no budget."""
    return ops.budget_bytes(str(budget))
