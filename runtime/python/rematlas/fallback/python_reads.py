"""Makes an evicted tensor again before Python accesses its memory without an op."""

import contextlib
import enum
import threading
import weakref
from unittest import mock

import torch


class Look(enum.IntEnum):
    """How Python accesses a tensor's memory. The numbers are the same in the compiled part."""

    NOW = 0  # reads the memory at once
    ON = 1  # keeps access for reading
    AND_CHANGE = 2  # keeps access for reading and writing


# Code that asks for an address or a storage is assumed only to read.
METHODS = {
    "data_ptr": Look.ON,
    "numpy": Look.NOW,  # __array__ calls it, too; see `lent`
    "tolist": Look.NOW,
    "untyped_storage": Look.ON,
    "storage": Look.ON,
    "_typed_storage": Look.ON,
    "__dlpack__": Look.AND_CHANGE,
    "share_memory_": Look.AND_CHANGE,
    "__reduce_ex__": Look.NOW,
    "__deepcopy__": Look.NOW,
}


def looked_at(method, eviction, look):
    def touch_first(self, *args, **kwargs):
        eviction.touch(self, int(look))
        return method(self, *args, **kwargs)

    touch_first.__name__ = getattr(method, "__name__", "touch_first")
    return touch_first


def lent(numpy, eviction):
    """Returns a replacement of `Tensor.numpy`. The replacement marks the tensor as lent until the array is
    freed, because the holder of the array may write to the memory without an op."""

    def lend(self, *args, **kwargs):
        array = numpy(self, *args, **kwargs)
        loan = eviction.lend(self)
        if loan >= 0:
            weakref.finalize(array, eviction.returned, loan).atexit = False
        return array

    lend.__name__ = "numpy"
    return lend


class PythonReads:
    def __init__(self):
        self.lock = threading.Lock()
        self.replaced = contextlib.ExitStack()

    def watch(self, eviction):
        with self.lock:
            for name, look in METHODS.items():
                self.replace(name, looked_at(getattr(torch.Tensor, name), eviction, look))
            self.replace("numpy", lent(torch.Tensor.numpy, eviction))

    def replace(self, name, by):
        self.replaced.enter_context(mock.patch.object(torch.Tensor, name, by))

    def stop(self):
        with self.lock:
            self.replaced.close()


python_reads = PythonReads()
