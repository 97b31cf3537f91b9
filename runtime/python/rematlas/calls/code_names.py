"""The names that code looks up, and the values of these names that may change which ops a model runs."""

import argparse
import array
import collections
import contextvars
import ctypes
import dis
import functools
import io
import random
import sys
import sysconfig
import threading
import types
import weakref

import torch

from .plain_values import plain

OF_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL")
STANDARD_LIBRARY = sysconfig.get_path("stdlib")
# Objects of torch whose attributes are compared if the module's code has their names.
OF_OTHERS = (
    torch.nn.Module,
    torch.optim.Optimizer,
    torch.optim.lr_scheduler.LRScheduler,
    torch.amp.GradScaler,
)
READ_BY = {"get_last_lr": "_last_lr", "get_scale": "_scale"}  # the attributes that methods of torch read


def codes_within(code):
    """Yields the code, and the code of all functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_within(constant)


def steps_in(code):
    for each in codes_within(code):
        yield from dis.get_instructions(each)


@functools.cache
def names_in(code):
    return tuple(sorted({name for each in codes_within(code) for name in each.co_names}))


@functools.cache
def globals_in(code):
    """Returns the names that the code looks up or sets as globals. Attributes of the same spelling are not
    counted."""
    return tuple(sorted({step.argval for step in steps_in(code) if step.opname in OF_GLOBALS}))


@functools.cache
def imported_in(code):
    """Returns the names of the Python modules that the code imports when it runs."""
    return tuple(sorted({step.argval for step in steps_in(code) if step.opname == "IMPORT_NAME"}))


@functools.cache
def is_foreign(module) -> bool:
    """Says whether the Python module with this name belongs to Python or to an installed library. Such a
    module keeps no state of a model in its classes and globals."""
    if (module or "").partition(".")[0] == "rematlas":
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return module != "__main__"
    return "site-packages" in file or "dist-packages" in file or file.startswith(STANDARD_LIBRARY)


def is_shared_memory(value) -> bool:
    """Says whether the value is one of ctypes or of multiprocessing, which other processes may change."""
    return type(value).__module__ == "multiprocessing.sharedctypes" or isinstance(
        value, (ctypes._SimpleCData, ctypes.Array, ctypes.Structure)
    )


def state_of_shared_memory(value):
    """Returns the bytes of a value of ctypes or of multiprocessing."""
    return bytes(value.get_obj() if hasattr(value, "get_obj") else value)


def watched_global(value) -> bool:
    if plain(value) is not None:
        return True
    if isinstance(value, (types.FunctionType, type)):
        return not is_foreign(value.__module__)
    if isinstance(value, (list, dict, set, collections.deque, array.array, bytearray)):
        return len(value) <= 256
    if isinstance(
        value,
        (
            *OF_OTHERS,
            weakref.ref,
            contextvars.ContextVar,
            torch.Tensor,
            torch.Generator,
            random.Random,
            threading.local,
            types.SimpleNamespace,
            argparse.Namespace,
            collections.abc.Iterator,
        ),
    ):
        return not isinstance(value, io.IOBase)
    kind = type(value).__module__
    return kind.partition(".")[0] == "numpy" or not (
        isinstance(value, types.ModuleType) or (is_foreign(kind) and not is_shared_memory(value))
    )


def names_of_slots(kind) -> list:
    """Returns the names in `__slots__` of the class."""
    slots = kind.__dict__.get("__slots__", ())
    return [n for n in ([slots] if isinstance(slots, str) else slots) if n not in ("__dict__", "__weakref__")]
