"""Bytes, as the compiled part counts them."""

from ..library import ops


def other_bytes(tensors, inputs, device: str) -> int:
    """What lives on the device beside these tensors of a step."""
    return ops.beside(tensors, inputs, device)


def budget_bytes(budget) -> int | None:
    """None of a share. Raises RuntimeError for what is no budget."""
    return ops.budget_bytes(str(budget))
