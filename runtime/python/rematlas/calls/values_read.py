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
                self.replace(torch, "ctc_loss", noting_ctc_loss(torch.ctc_loss))
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
        count: reads of fake tensors, which have no data; reads within an op; and reads by this package."""
        if torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None:
            return
        if not ops_are_watched() or sys._getframe(2).f_globals.get("__name__", "").startswith(OWN_PACKAGE):
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


def noting_ctc_loss(ctc_loss):
    @functools.wraps(ctc_loss)
    def noting(*args, **kwargs):
        for value in (*args[2:4], *kwargs.values()):
            if isinstance(value, torch.Tensor):
                ValuesRead.note(value, "ctc_loss reads its lengths where no op shows it")
        return ctc_loss(*args, **kwargs)

    return noting
