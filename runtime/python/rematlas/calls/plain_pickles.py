"""Reads pickles of others without running code of others.

loads(b"...")                  # only None, numbers, texts, bytes, tuples and lists
class_of_result("torch", "float32")
"""

import collections
import dataclasses
import enum
import io
import pickle
import sys

import torch

CONTAINERS = (tuple, list, dict, set, frozenset, complex, slice, range, collections.OrderedDict)
OF_TORCH = (torch.dtype, torch.layout, torch.memory_format)


class _PlainReader(pickle.Unpickler):
    def find_class(self, module, name):
        if module == "builtins" and name in ("tuple", "list"):
            return {"tuple": tuple, "list": list}[name]
        raise pickle.UnpicklingError(f"it names {module}.{name}, and only tuples and lists may be named")


def loads(text: bytes):
    """Returns the value of a pickle that consists of numbers, texts, bytes, tuples and lists. Raises pickle's
    UnpicklingError for every other pickle."""
    return _PlainReader(io.BytesIO(text)).load()


def class_of_result(module: str, name: str):
    """Returns a class of which a forward's return value may consist, if a file names it: a dataclass, a named
    tuple, a dictionary, an enumeration, or a plain container. Its module must have been imported by the
    program. Raises pickle's UnpicklingError for everything else, such as a function."""
    found = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if isinstance(found, OF_TORCH) or found in (torch.Size, torch.device) or found in CONTAINERS:
        return found
    if isinstance(found, type) and (
        dataclasses.is_dataclass(found)
        or issubclass(found, (dict, enum.Enum))
        or (issubclass(found, tuple) and hasattr(found, "_fields"))
    ):
        return found
    raise pickle.UnpicklingError(
        f"its outputs name {module}.{name}, and a plan file may only name dataclasses, named tuples and"
        " dictionaries of modules that the program has imported: return one of these"
    )
