"""Autograd's threads: there is one for each GPU."""

import contextlib

import torch

from ..library import ops


def wait_for_autograd() -> None:
    """Waits until autograd's threads have released the tensors that earlier backwards left to them.

    If such a thread releases a tensor that has a Python object while the interpreter shuts down, the process
    aborts.
    """
    if not torch.cuda.is_initialized() or torch.cuda._is_in_bad_fork():
        return
    for index in range(torch.cuda.device_count()):
        if torch._C._cuda_hasPrimaryContext(index):
            with contextlib.suppress(RuntimeError):  # raised by a GPU that has stopped after an error
                ops.wait_for_autograd(f"cuda:{index}")
