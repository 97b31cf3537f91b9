"""Values that a forward leaves in an attribute for the next forward: a tensor, or a container of tensors.

    self.state = hidden.detach()
    self.state = tuple(part.detach() for part in state)    # a new container in each forward

Containers are tuples, named tuples and lists, which may be nested. They hold tensors and plain values.
"""

import collections
import sys

import torch

from .plain_values import plain, shown

DEEPEST = 8  # the most levels of nested containers
# types of common values that hold no tensors, for a quick test
NEVER_KEPT = frozenset({bool, int, float, str, type(None), dict, set, collections.OrderedDict})
made_of = {}  # maps each description of a tensor or a container to the one object for all equal descriptions


def geometry_of(tensor) -> tuple | None:
    """Returns size, strides, type and device of the tensor, from which a tensor like it can be made. Equal
    results are the same object. Returns None if a tensor needs more to be described."""
    if tensor.layout != torch.strided or tensor.is_nested:
        return None
    geometry = tensor.size(), tensor.stride(), tensor.dtype, tensor.device
    return made_of.setdefault(geometry, geometry)


def geometry_for_plans(tensor) -> tuple | bool:
    """Returns the geometry of a tensor that a plan can take as a buffer; False if no plan can take the
    tensor."""
    is_plain = type(tensor) is torch.Tensor and not tensor.requires_grad
    return (is_plain and geometry_of(tensor)) or False


def is_any(tensor) -> bool:
    return True


def kept_as(value, look=geometry_for_plans) -> tuple | bool | None:
    """Describes the value that a forward has left in an attribute. For a tensor, returns
    `look(tensor)`. For a container of tensors, returns its form, which contains `look(tensor)` for each
    tensor. Equal forms are the same object. Returns None for any other value."""
    if isinstance(value, torch.Tensor):
        return look(value)
    if not is_kept(value):
        return None
    form = form_of(value, look)
    return made_of.setdefault(form, form)


def is_container(value) -> bool:
    kind = type(value)
    if kind is tuple or kind is list:
        return True
    return issubclass(kind, tuple) and hasattr(kind, "_make") and not hasattr(value, "__dict__")


def holds_tensor(container, depth=0) -> bool:
    """Says whether the container holds at least one tensor."""
    return depth < DEEPEST and any(
        isinstance(item, torch.Tensor) or (is_container(item) and holds_tensor(item, depth + 1))
        for item in container
    )


def form_of(value, look=is_any, depth=0) -> tuple | bool | None:
    """Describes a value. For a tensor, returns `look(tensor)`. For a container, returns its type and the
    forms of its items; None if an item has no form. For a plain value, returns its key (see
    plain_values.py). Returns None for a parameter and for any other value."""
    if isinstance(value, torch.Tensor):
        return None if isinstance(value, torch.nn.Parameter) else look(value)
    if not is_container(value) or depth == DEEPEST:
        return plain(value)
    forms = [form_of(item, look, depth + 1) for item in value]
    return None if any(form is None for form in forms) else (type(value), *forms)


def told_form(form) -> str:
    """Returns a form as text."""
    if isinstance(form, bool):
        return "a tensor"
    kind, *others = form
    if isinstance(kind, torch.Size):
        return f"{str(others[1]).removeprefix('torch.')}{list(kind)}"
    if issubclass(kind, (tuple, list)) and kind is not torch.Size:
        return f"a {kind.__name__} of ({', '.join(map(told_form, others))})"
    return shown((form,))


def tensors_in(value) -> list:
    """Returns (indices that lead to the tensor, tensor) for each tensor in a container. If the value is a
    tensor itself, its indices are empty. Returns an empty list for any other value, because a plan never sets
    such values."""
    if isinstance(value, torch.Tensor):
        return [((), value)]
    if not is_container(value) or form_of(value) is None:
        return []
    return [(at, part) for at, part in parts_of(value) if isinstance(part, torch.Tensor)]


def parts_of(value, indices=()):
    if is_container(value):
        for index, item in enumerate(value):
            yield from parts_of(item, (*indices, index))
    else:
        yield indices, value


def is_kept(value) -> bool:
    """Says whether the value is a tensor or a container of tensors."""
    if isinstance(value, torch.Tensor):
        return True
    return is_container(value) and holds_tensor(value) and form_of(value) is not None


def copied(value):
    """Returns a copy of a container. Nested containers are copied, too; the other entries are the same
    objects. Returns any other value unchanged."""
    if not is_container(value):
        return value
    items = [copied(item) for item in value]
    return type(value)._make(items) if hasattr(value, "_make") else type(value)(items)


def lists_in(value) -> list:
    """Returns all lists in a container, including the container itself if it is a list."""
    found = [value] if type(value) is list else []
    if is_container(value):
        for item in value:
            found += lists_in(item)
    return found


def holders(values, name) -> list:
    """Returns, for each list in the entry `name` of the dictionary, the number of references to it."""
    return [sys.getrefcount(each) for each in lists_in(values.get(name))]


(ONE_HOLDER,) = holders({"name": []}, "name")


def others_hold_lists(values, name) -> bool:
    """Says whether a list in the entry `name` of the dictionary is also referenced from elsewhere. A plan
    must not replace or change such a list, because the other holder would see the difference."""
    return any(count > ONE_HOLDER for count in holders(values, name))


class Entries:
    """Maps indices to tensors, as a dictionary does, for the tensors in an attribute (see `tensors_in`). If
    the attribute is a tensor itself, its indices are empty."""

    def __init__(self, values, name):
        self.values = values
        self.name = name

    def __getitem__(self, indices):
        found = self.values[self.name]
        for index in indices:
            if not (is_container(found) and index < len(found)):
                raise KeyError(indices)
            found = found[index]
        return found
