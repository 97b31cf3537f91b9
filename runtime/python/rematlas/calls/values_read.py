"""Detects when the program takes values out of tensors without an op."""

import contextlib
import functools
import sys
import threading
from unittest import mock

import torch

from ..unseen.calls import ops_are_watched

OWN_PACKAGE = __name__.partition(".")[0] + "."
READS = {
    "tolist": "tolist()",
    "numpy": "numpy()",
    "__array__": "numpy",
    "data_ptr": "data_ptr()",
    "untyped_storage": "untyped_storage()",
    "storage": "storage()",
    "__dlpack__": "dlpack",
}
# Functions of torch that read tensors in C++ where no op shows it: lengths, sizes of packed batches, places
# at which to split. A name has the position and the keyword of each such argument.
LENGTHS = ((2, "input_lengths"), (3, "target_lengths"))
BATCH_SIZES = ((1, "batch_sizes"),)
FUNCTIONS = (
    (torch, "ctc_loss", LENGTHS),
    *(
        (torch._VF, name, BATCH_SIZES)
        for name in ("lstm", "gru", "rnn_tanh", "rnn_relu", "_pad_packed_sequence")
    ),
    *(
        (owner, "tensor_split", ((1, "indices_or_sections"), (1, "tensor_indices_or_sections")))
        for owner in (torch, torch.Tensor)
    ),
)


class ValuesRead:
    """Refuses the recording when the program takes values out of tensors without an op.

    While it is in force, methods of torch.Tensor are replaced. It is not a torch function mode, because
    torch.compile would guard on a mode and trace it."""

    in_force = []
    replaced = contextlib.ExitStack()
    lock = threading.RLock()

    def __init__(self, recording):
        self.recording = recording

    def __enter__(self):
        with self.lock:
            if not self.in_force:
                for name, how in READS.items():
                    self.replace(torch.Tensor, name, noting_method(getattr(torch.Tensor, name), how))
                for owner, name, read in FUNCTIONS:
                    self.replace(owner, name, showing_reads(getattr(owner, name), read))
            self.in_force.append(self)

    def __exit__(self, *_):
        with self.lock:
            self.in_force.remove(self)
            if not self.in_force:
                self.replaced.close()

    def replace(self, owner, name, by):
        self.replaced.enter_context(mock.patch.object(owner, name, by))

    @classmethod
    def note(cls, tensor, why):
        """Called by a method's replacement, before the method reads `tensor`. Three kinds of reads do not
        count: reads of fake tensors, reads within an op, and reads by this package."""
        if not reads_count() or sys._getframe(2).f_globals.get("__name__", "").startswith(OWN_PACKAGE):
            return
        for reads in list(cls.in_force):
            if reads.recording.depends_on_data(tensor):
                line = reads.recording.line()
                reads.recording.refuse(f"{why}{' at ' + line if line else ''}")


def noting_method(method, how):
    @functools.wraps(method)
    def noting(tensor, *args, **kwargs):
        ValuesRead.note(tensor, f"{how}: the program takes values out of torch")
        return method(tensor, *args, **kwargs)

    return noting


def reads_count() -> bool:
    """Says whether ops are recorded now, and not on fake tensors, which have no data."""
    return torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is None and ops_are_watched()


def showing_reads(function, read):
    """Returns a function that first reads the values of the arguments `read` by ops, which a plan guards."""

    @functools.wraps(function)
    def showing(*args, **kwargs):
        if reads_count():
            found = [args[place] if place < len(args) else kwargs.get(name) for place, name in read]
            for value in found:
                if isinstance(value, torch.Tensor) and not (value.is_floating_point() or value.is_complex()):
                    for number in value.reshape(-1).unbind():
                        number.item()
        return function(*args, **kwargs)

    return showing
