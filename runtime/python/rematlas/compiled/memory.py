"""Numbers of bytes, as the compiled part counts them."""

import functools

import torch

from ..library import in_one_line, ops


def other_bytes(tensors, inputs, device: str) -> int:
    """Returns the bytes of the tensors on the device that do not belong to a step with these tensors and
    inputs."""
    return in_one_line(ops.beside, tensors, inputs, device)


@functools.cache
def fits_tensors_loosely(device: str) -> bool:
    """Says whether an arena, which is allocated once for all tensors of the step, may be better than the
    device's own allocator: the allocator may be slower, or hand out larger blocks than the tensors need.
    Returns True on the CPU, and on a GPU unless libtorch uses expandable segments."""
    return device == "cpu" or ops.hands_out_larger_blocks(device)


def budget_bytes(budget) -> int | None:
    """Returns the bytes of a budget; None for a share. Raises RuntimeError if `budget` is not a budget."""
    return ops.budget_bytes(str(budget))


def alive_bytes(device: torch.device) -> int:
    """Returns the bytes of all tensors of the process that are on the device now."""
    return torch.cuda.memory_allocated(device) if device.type == "cuda" else ops.counted_bytes()


def reset_peak(device: torch.device) -> None:
    """Starts a new measurement for `peak_bytes`."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    else:
        ops.reset_counted_peak()


def peak_bytes(device: torch.device) -> int:
    """Returns the most bytes of all tensors on the device since `reset_peak`."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else ops.counted_peak_bytes()
