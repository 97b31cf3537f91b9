"""Values on the host that a forward changes and never reads: counters, and logs of numbers.

    self.calls += 1                      # any whole number is added
    self.losses.append(loss.item())      # or float(loss)

These values may differ from step to step, because no op depends on them. A planned step changes them as the
forward would. The code itself shows that nothing reads them: in all code that the forward may run, their
names occur only in statements of these forms.
"""

import contextlib
import math
import sys
import typing

import torch
from torch.overrides import TorchFunctionMode

from .unread_names import UnreadNames


class Effect(typing.NamedTuple):
    values: dict  # the dictionary of a module
    name: str
    amount: int | None  # the increment of a counter; None if a number is appended to a log


class Before:
    """The attributes of the modules that are ints or lists, as they were before the forward."""

    def __init__(self, module):
        self.modules = [
            (submodule, submodule.__dict__, {n: v for n, v in submodule.__dict__.items() if is_kept(v)})
            for submodule in module.modules()
        ]
        self.lengths = {
            id(v): len(v) for _, _, kept in self.modules for v in kept.values() if type(v) is list
        }

    def changed(self) -> list:
        """Returns (module, its dictionary, name) of each attribute whose number has changed or whose list has
        grown."""
        return [
            (module, values, name)
            for module, values, kept in self.modules
            for name, value in kept.items()
            if name in values and self.has_changed(value, values[name])
        ]

    def has_changed(self, before, now) -> bool:
        if type(before) is list:
            return now is before and len(now) > self.lengths[id(before)]
        return type(now) is int and now != before

    def effects(self, known, log) -> tuple:
        """Returns (effects, reason). The effects are the changes that the forward made to the counters and
        logs in `known`. The reason says why a plan cannot make these changes; it is empty if a plan can.
        `log`: the Log that has read the appended numbers."""
        found, appended = [], list(log.places)
        for _, values, kept in self.modules:
            for name, before in kept.items():
                if (id(values), name) not in known:
                    continue
                now = values.get(name)
                if type(before) is list:
                    count = len(now) - self.lengths[id(before)] if now is before else None
                    if count != appended.count((id(values), name)):
                        return (), f"the forward does with {name} more than to append numbers of tensors"
                elif type(now) is not int:
                    return (), f"the forward makes {name} another kind of value"
                else:
                    found.append(Effect(values, name, now - before))
        return (*found, *(Effect(values, name, None) for values, name in log.where)), ""


def is_kept(value) -> bool:
    return type(value) in (int, list)


def is_unread(module, submodule, name, walked) -> bool:
    """Says whether all code that the module's forward may run uses this attribute of a submodule only as a
    counter or a log. `walked`: the functions and classes that the module reaches."""
    return UnreadNames(module, walked).is_unread(type(submodule), name)


def apply(effects, logged) -> None:
    """Applies the forward's effects. `logged`: for each number to log, a tensor that holds it."""
    numbers = iter(logged)
    for values, name, amount in effects:
        if amount is None:
            values[name].append(next(numbers).item())
        elif amount:
            values[name] += amount


class Kept:
    """The values of counters and logs at the time when this object is made. `put_back` restores them."""

    def __init__(self, effects):
        self.values = [(values, name, values.get(name)) for values, name, *_ in effects]
        self.lengths = [len(value) if type(value) is list else 0 for _, _, value in self.values]

    def change(self) -> str:
        """Returns the name of a value that has changed since this object was made; empty if none has."""
        for (values, name, value), length in zip(self.values, self.lengths):
            now = values.get(name)
            is_same = now is value and len(now) == length if type(value) is list else now == value
            if not is_same:
                return name
        return ""

    def put_back(self) -> None:
        for (values, name, value), length in zip(self.values, self.lengths):
            if type(value) is list:
                del value[length:]
            values[name] = value


@contextlib.contextmanager
def undone(effects):
    """A context for a forward that runs a second time. At the end, the counters and logs get the values back
    that they had before the context, because the first run has made the changes already."""
    kept = Kept(effects)
    try:
        yield
    finally:
        kept.put_back()


class Log(TorchFunctionMode):
    """A function mode that reads the numbers which the forward appends to known logs. The forward's own calls
    of `item` and `float` do not reach the recording."""

    READS = {torch.Tensor.item: "item", torch.Tensor.__float__: "float"}

    def __init__(self, known):
        """`known`: the places (id of a dictionary, name) of counters and logs. It is None if tensors have no
        values: then every place counts as known, and each number that is read is NaN."""
        super().__init__()
        self.known = known
        self.where = []  # for each number that was read: (dictionary, name) of its log
        self.tensors = []  # for each entry of `where`: a tensor of one number

    @property
    def places(self):
        return [(id(values), name) for values, name in self.where]

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in self.READS and not kwargs:
            where = self.log_at(sys._getframe(1))
            if where is not None:
                return self.read(args[0], where, function)
        return function(*args, **(kwargs or {}))

    def log_at(self, frame):
        """Returns the place of the log to which the caller is about to append the value that it reads; None
        if the value is not for a known log."""
        statement = UnreadNames.log_statement(frame)
        if statement is None:
            return None
        of, name = statement
        values = getattr(frame.f_locals.get(of), "__dict__", None)
        is_known = values is not None and (self.known is None or (id(values), name) in self.known)
        return (values, name) if is_known else None

    def read(self, tensor, where, function):
        if tensor.numel() != 1:
            return function(tensor)
        copied = tensor.detach().clone()
        self.where.append(where)
        self.tensors.append(copied)
        with torch._C.DisableTorchFunction():  # no function mode may see this read
            number = math.nan if self.known is None else copied.reshape(()).tolist()
        return float(number) if function is torch.Tensor.__float__ else number
