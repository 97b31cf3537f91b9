"""Autograd's threads, one for each GPU."""

import contextlib

import torch

from ..library import ops


def wait_for_autograd() -> None:
    """Waits until autograd's threads have dropped the tensors that earlier backwards left them.

    A process aborts if such a thread drops a tensor that Python knows while the interpreter shuts down.
    """
    if not torch.cuda.is_initialized() or torch.cuda._is_in_bad_fork():
        return
    for index in range(torch.cuda.device_count()):
        if torch._C._cuda_hasPrimaryContext(index):
            with contextlib.suppress(RuntimeError):  # raised by a GPU that an earlier error has stopped
                ops.wait_for_autograd(f"cuda:{index}")
