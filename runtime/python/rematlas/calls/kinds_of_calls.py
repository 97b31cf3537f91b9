"""Finds out why a program makes many kinds of calls, and what the user can do about it."""

import numbers
import pickle
import typing

import torch

from . import structure
from .plain_values import plain

DEEPEST = 8  # the most levels of nested containers
MOST_NAMES = 4  # the most arguments that a message names
AS_TENSOR = (
    "give a number or an array as a tensor, which is an input, or leave it out where the forward does not"
    " use it"
)
LEFT_OUT = "leave a value out of the call where the forward does not use it"
MORE = "give rematlas.apply a larger number of shapes"
PADDED = f"pad inputs to a few shapes, or {MORE}"


class Variety(typing.NamedTuple):
    what: str  # the arguments that differ from call to call, as text
    advice: str


class Value(typing.NamedTuple):
    key: object  # equal for equal values
    is_number: bool  # whether the value is a number or an array of numbers


def variety(key, others, count) -> Variety:
    """Returns which arguments have more than `count` different values among several kinds of calls. `key`:
    the key of one kind; `others`: the keys of the other kinds. A key is ((template of the arguments, geometry
    of the tensors, settings), state of the module, ...)."""
    (template, geometry, settings), *state = key
    of_one_state = [other[0][:2] for other in others if [other[0][2], *other[1:]] == [settings, *state]]
    values = values_that_vary(template, [other for other, _ in of_one_state], max(count, 1))
    inputs = inputs_that_vary(geometry, [facts for _, facts in of_one_state], max(count, 1))
    found = [
        Variety(told(names, what), advice)
        for names, what, advice in (
            ([name for name, is_number in values if is_number], "number", AS_TENSOR),
            ([name for name, is_number in values if not is_number], "value", LEFT_OUT),
            ([f"input {place}" for place in inputs], "shape, type or layout", PADDED),
        )
        if names
    ]
    if not found:
        return Variety("shapes, values, settings", MORE)
    return Variety("; ".join(one.what for one in found), ", and ".join(one.advice for one in found))


def told(names, what) -> str:
    if len(names) > MOST_NAMES:
        names = [", ".join(names[: MOST_NAMES - 1]), f"{len(names) - MOST_NAMES + 1} others"]
    return f"{' and '.join(names)} is another {what} in each"


def values_that_vary(template, others, count) -> list:
    """Returns (name, whether it is a number) of each value among the arguments that varies: it has more than
    `count` different values in `template` and the templates `others`."""
    own = values_in(template)
    of_others = [values for values in map(values_in, others) if values.keys() == own.keys()]
    found = []
    for name, value in own.items():
        distinct = {value.key, *(values[name].key for values in of_others)}
        if len(distinct) > count:
            found.append((name, value.is_number))
    return found


def inputs_that_vary(geometry, others, count) -> list:
    """Returns the positions of the tensors that have more than `count` different geometries among `geometry`
    and `others`. A geometry is made by call_inputs.py. Its last fact may describe how tensors share memory;
    that fact is ignored."""
    of_others = [facts for facts in others if len(facts) == len(geometry)]
    tensors = [facts for facts in zip(geometry, *of_others) if isinstance(facts[0][0], torch.dtype)]
    return [place for place, facts in enumerate(tensors) if len(set(facts)) > count]


def values_in(template) -> dict:
    """Returns the values among the arguments (numbers, arrays, texts and the like) by their descriptions.
    `template`: see structure.py."""
    try:
        args, kwargs = structure.arguments(template)
    except Exception:  # an argument cannot be rebuilt without its tensors
        return {}
    found = {}
    for place, value in enumerate(args, 1):
        add_values(found, f"positional argument {place}", "", value, 0)
    for name, value in kwargs.items():
        add_values(found, f"argument {name!r}", "", value, 0)
    return found


def add_values(found, argument, path, value, depth) -> None:
    """Adds the Value of `value`, or of each item or attribute if `value` has such parts."""
    name = f"{path} of {argument}" if path else argument
    if type(value) in structure.PLAIN:
        found[name] = Value(plain(value), is_number(value))
    elif isinstance(value, structure.Placeholder) or depth > DEEPEST:
        return
    elif isinstance(value, dict):
        for key, item in value.items():
            add_values(found, argument, f"{path}[{key!r}]", item, depth + 1)
    elif isinstance(value, (list, tuple)):
        for place, item in enumerate(value):
            add_values(found, argument, f"{path}[{place}]", item, depth + 1)
    elif hasattr(value, "__dict__"):
        for attribute, item in vars(value).items():
            add_values(found, argument, f"{path}.{attribute}", item, depth + 1)
    else:
        found[name] = Value(pickle.dumps(value), is_number(value) or hasattr(value, "__array__"))


def is_number(value) -> bool:
    return isinstance(value, numbers.Number) and not isinstance(value, bool)
