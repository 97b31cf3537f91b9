"""Reads pickles of unknown origin without running code from them.

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
# The base classes of results in these modules only check and keep the values that they are given.
OF_LIBRARIES = ("builtins", "collections", "transformers.utils.generic", "diffusers.utils.outputs")
ACTING = ("__new__", "__setattr__", "__del__")  # methods that run when an object is made or ends


class Unpickler(pickle._Unpickler):
    """The unpickler of Python's library that is written in Python. Its memo is a dictionary, so a large index
    in the pickle takes no memory. Unpickling changes no attribute of a class."""

    dispatch = dict(pickle._Unpickler.dispatch)

    def load_build(self):
        if isinstance(self.stack[-2], type):
            raise pickle.UnpicklingError("it changes a class")
        super().load_build()

    dispatch[pickle.BUILD[0]] = load_build


class _PlainReader(Unpickler):
    def find_class(self, module, name):
        if module == "builtins" and name in ("tuple", "list"):
            return {"tuple": tuple, "list": list}[name]
        raise pickle.UnpicklingError(f"it names {module}.{name}, and only tuples and lists may be named")


def loads(text: bytes):
    """Returns the value of a pickle that consists of numbers, texts, bytes, tuples and lists. Raises pickle's
    UnpicklingError for every other pickle."""
    try:
        return _PlainReader(io.BytesIO(text)).load()
    except pickle.UnpicklingError:
        raise
    except Exception as error:
        raise pickle.UnpicklingError(f"it is damaged: {error}") from None


def class_of_result(module: str, name: str):
    """Returns the class that a file names, if a forward may return objects of this class: a dataclass, an
    output of transformers or diffusers, a named tuple, an enumeration, a dictionary, or a plain container.
    Also returns a dtype, layout or memory format of torch. Making an object of such a class runs no code of
    its author. The class must be in a module that the program has imported. Raises pickle's UnpicklingError
    for everything else, such as a function."""
    found = sys.modules.get(module)
    for part in name.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    if isinstance(found, OF_TORCH) or found in (torch.Size, torch.device) or found in CONTAINERS:
        return found
    if isinstance(found, type) and is_harmless(found):
        return found
    raise pickle.UnpicklingError(
        f"its outputs name {module}.{name}, and a plan file may only name dataclasses, named tuples and"
        " dictionaries of modules that the program has imported: return one of these"
    )


def is_harmless(kind: type) -> bool:
    """Says whether making an object of the class only keeps the values that it is given."""
    if issubclass(kind, enum.Enum):
        return type(kind) is enum.EnumMeta and "__setstate__" not in vars(kind)
    if type(kind) is not type or "__setstate__" in vars(kind):
        return False
    own = {name for base in kind.__mro__ if base.__module__ != "builtins" for name in vars(base)}
    if issubclass(kind, tuple):
        return kind.__bases__ == (tuple,) and hasattr(kind, "_fields") and hasattr(kind, "_make")
    if dataclasses.is_dataclass(kind):
        own = {name for base in kind.__mro__ if base.__module__ not in OF_LIBRARIES for name in vars(base)}
        return not own & {"__post_init__", *ACTING}
    return issubclass(kind, dict) and not own & {"__init__", "__setitem__", "update", *ACTING}
