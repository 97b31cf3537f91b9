"""Splits arguments and outputs of any structure into their tensors and a template (all the rest, hashable).

    template, tensors = flatten((args, kwargs))    # any value that can be pickled: ModelOutputs, dataclasses,
    ... rebuild(template, tensors)                     # a new object of the same structure on these tensors

Two structures are the same exactly when their templates are equal. A tensor that occurs twice is listed once.
"""

import collections
import io
import pathlib
import pickle
import sys

import torch

from . import plain_pickles

PLAIN = (int, float, bool, str, type(None))


class _Flattener(pickle.Pickler):
    def __init__(self, file, tensors):
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.tensors = tensors
        self.places = {}

    def persistent_id(self, value):
        if not isinstance(value, torch.Tensor):
            return None
        place = self.places.get(id(value))
        if place is None:
            place = self.places[id(value)] = len(self.tensors)
            self.tensors.append(value)
        return place


class _Rebuilder(pickle.Unpickler):
    def __init__(self, file, tensors):
        super().__init__(file)
        self.tensors = tensors

    def persistent_load(self, place):
        return self.tensors[place]


def flatten(value):
    """Returns a hashable template, and the tensors in order. Raises pickle's errors for objects that cannot
    be pickled."""
    if isinstance(value, torch.Tensor):
        return "tensor", [value]
    if type(value) in (tuple, list) and all(type(item) is torch.Tensor for item in value):
        is_distinct = len({id(item) for item in value}) == len(value)
        if is_distinct:
            return (type(value), len(value)), list(value)
    file = io.BytesIO()
    tensors = []
    _Flattener(file, tensors).dump(value)
    return file.getvalue(), tensors


def flatten_call(args, kwargs):
    """Returns a hashable template of the arguments of a call, and the tensors in order. For common arguments
    it is faster than `flatten`, and the template has another form, which `rebuild` cannot read."""
    tensors, places = [], {}
    template = [len(args)]
    for name, value in (
        *(((), value) for value in args),
        *(((name,), value) for name, value in kwargs.items()),
    ):
        kind = type(value)
        if kind is torch.Tensor:
            place = places.setdefault(id(value), len(tensors))
            if place == len(tensors):
                tensors.append(value)
            template.append((*name, "t", place))
        elif kind in PLAIN:
            template.append((*name, kind, value.hex() if kind is float else value))
        else:
            return flatten((args, kwargs))
    return tuple(template), tensors


class Placeholder:
    """Stands for a tensor in the result of `arguments`."""


def arguments(template):
    """Returns the positional and the keyword arguments of a call from the template that `flatten_call` made.
    They hold a Placeholder for each tensor. Raises the errors of classes whose objects cannot be rebuilt."""
    if isinstance(template, bytes):
        return _Rebuilder(io.BytesIO(template), collections.defaultdict(Placeholder)).load()
    count, *values = template
    args = [value_of(*value) for value in values[:count]]
    return args, {name: value_of(kind, value) for name, kind, value in values[count:]}


def value_of(kind, value):
    if kind == "t":
        return Placeholder()
    return float.fromhex(value) if kind is float else value


def rebuild(template, tensors):
    if template == "tensor":
        return tensors[0]
    if isinstance(template, tuple):
        return template[0](tensors)
    return _Rebuilder(io.BytesIO(template), tensors).load()


class _Renamer(plain_pickles.Unpickler):
    """Reads a template that may come from others, and finds the classes of a script. The script's module is
    called `__main__` when the script runs, and has another name when it is imported."""

    def __init__(self, file, module):
        super().__init__(file)
        self.tensors = collections.defaultdict(lambda: torch.empty(0))
        self.own = type(module).__module__
        self.script = pathlib.Path(getattr(sys.modules["__main__"], "__file__", None) or "").stem

    def find_class(self, module, name):
        if module == "__main__" and not hasattr(sys.modules["__main__"], name):
            module = self.own
        elif module == self.script and hasattr(sys.modules["__main__"], name):
            module = "__main__"
        return plain_pickles.class_of_result(module, name)

    def persistent_load(self, place):
        return self.tensors[place]


def of_module(template, module):
    """Returns a template that another process made, changed so that it names the classes of this process.
    `module`: the model in this process. Raises pickle's UnpicklingError if the template names anything that
    is no class of results, see `class_of_result`."""
    return (
        flatten(_Renamer(io.BytesIO(template), module).load())[0] if isinstance(template, bytes) else template
    )


def sources(tensors, bound, given):
    """Returns the source of each output in `tensors`: ("input", position in `given`); ("tensor", position in
    `bound`) for a parameter or a buffer; or ("plan", position in `tensors`) if the plan makes it."""
    named = {id(tensor): place for place, tensor in enumerate(bound)}
    inputs = {id(tensor): place for place, tensor in enumerate(given)}
    return [
        ("input", inputs[id(t)])
        if id(t) in inputs
        else ("tensor", named[id(t)])
        if id(t) in named
        else ("plan", place)
        for place, t in enumerate(tensors)
    ]
