"""Runs a forward on the caller's own arguments in which some tensors are replaced by others.

Containers stay the caller's own objects, so if the forward changes a container, it changes the caller's
object, once. Tuples cannot be changed: the forward gets new tuples, and the caller's own tuples are put back
afterwards.
"""

import collections
import contextlib
import types

import torch

from .structure import PLAIN, flatten
from .walk import names_of_slots

# These objects are not searched, because they hold no arguments of a call.
NOT_ENTERED = (
    *(types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, type),
    *(torch.dtype, torch.device, torch.Size),
)


class NotExchangeable(Exception):
    """Raised with the reason why a tensor cannot be exchanged."""


@contextlib.contextmanager
def exchanged(args, kwargs, tensors, others):
    """A context that yields the arguments of the call with each tensor in `tensors` replaced by the one in
    `others`. Raises NotExchangeable; in this case nothing has changed."""
    pairs = [(tensor, other) for tensor, other in zip(tensors, others) if tensor is not other]
    if not pairs:
        yield args, kwargs
        return
    there = Exchange((id(tensor), other) for tensor, other in pairs)
    try:
        given = there.exchange((args, kwargs))
        if not holds(given, others):
            raise NotExchangeable(
                "an argument holds a tensor that needs a gradient where it cannot be exchanged"
            )
        yield given
    finally:
        back = Exchange((id(other), tensor) for tensor, other in pairs)
        back.others.update((id(made), own) for own, made in there.made_anew)
        for own in there.seen.values():  # includes objects that the forward has taken out of the arguments
            back.exchange(own)


def holds(given, others) -> bool:
    """Says whether `others` are exactly the tensors in the arguments `given`, in order."""
    found = flatten(given)[1]
    return len(found) == len(others) and all(one is other for one, other in zip(found, others))


class Exchange:
    """Replaces objects within a value. `others`: pairs of the id of an object and its replacement."""

    def __init__(self, others):
        self.others = dict(others)
        self.made_anew = []  # (tuple, the new tuple that replaces it)
        self.seen = {}  # by id; the references keep the objects alive, so that ids stay valid

    def exchange(self, value):
        """Returns the object that replaces the value. This may be the value itself."""
        if id(value) in self.others:
            return self.others[id(value)]
        if isinstance(value, (torch.Tensor, *PLAIN, *NOT_ENTERED)) or id(value) in self.seen:
            return value
        self.seen[id(value)] = value
        if isinstance(value, tuple):
            return self.exchange_tuple(value)
        if isinstance(value, dict):
            self.exchange_entries(value, dict.items, dict.__setitem__)
        elif isinstance(value, list):
            self.exchange_entries(value, enumerate, list.__setitem__)
        elif isinstance(value, collections.deque):
            self.exchange_entries(value, enumerate, collections.deque.__setitem__)
        self.exchange_attributes(value)
        return value

    def exchange_tuple(self, value):
        items = [self.exchange(item) for item in value]
        if all(item is own for item, own in zip(items, value)):
            return value
        try:
            made = tuple.__new__(type(value), items)
        except TypeError:  # torch.return_types, the tuples that ops of torch return
            made = type(value)(items)
        if hasattr(value, "__dict__"):
            made.__dict__.update(value.__dict__)
        self.others[id(value)] = made
        self.made_anew.append((value, made))
        return made

    def exchange_entries(self, container, entries_of, put) -> None:
        for place, own in list(entries_of(container)):
            other = self.exchange(own)
            if other is not own:
                put(container, place, other)

    def exchange_attributes(self, value) -> None:
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            self.exchange_entries(attributes, dict.items, dict.__setitem__)
        for kind in type(value).__mro__:
            for name in names_of_slots(kind):
                own = getattr(value, name, None)
                other = self.exchange(own)
                if other is not own:
                    object.__setattr__(value, name, other)
