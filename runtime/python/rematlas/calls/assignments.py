"""The attributes that a forward sets in its modules."""

import weakref

import torch

from .kept_tensors import NEVER_KEPT, form_of, is_container, is_kept, lists_in, others_hold_lists, tensors_in


class Assignments:
    """Finds the tensors, and the containers of tensors, that a forward sets as attributes and buffers of its
    modules."""

    def __init__(self, module):
        self.before = {}  # maps the id of a dictionary of attributes to (dictionary, a Found for each name)
        for submodule in module.modules():
            for values in (submodule.__dict__, submodule.__dict__.get("_buffers") or {}):
                found = {
                    name: Found(value)
                    for name, value in values.items()
                    if type(value) not in NEVER_KEPT and is_kept(value)
                }
                self.before[id(values)] = values, found

    def made(self):
        """Returns (dictionary, name) of each attribute that the forward has set to a tensor or to a
        container of tensors."""
        return [
            (values, name)
            for values, found in self.before.values()
            for name, value in values.items()
            if type(value) not in NEVER_KEPT
            and is_kept(value)
            and not isinstance(value, torch.nn.Parameter)
            and not (name in found and found[name].may_be(value))
        ]

    def is_left(self, values, name) -> bool:
        """Says whether the forward may have set the present value of an attribute. `values`: the dictionary
        that has the attribute. `name`: the attribute's name. Returns False in four cases:

        - The attribute has no value.
        - No submodule had this dictionary before the forward.
        - The value is a tensor with a `grad_fn` that was there before the forward.
        - The value is a container that was there before the forward, with the same tensors.
        """
        if id(values) not in self.before or name not in values:
            return False
        found = self.before[id(values)][1].get(name)
        value = values[name]
        if isinstance(value, torch.Tensor):
            return value.grad_fn is None or found is None or not found.may_be(value)
        return found is None or not found.is_untouched(value)

    def why_not_anew(self, places) -> str:
        """Returns why a plan cannot put a new list into one of these places instead of the list that the
        forward leaves there; empty if a plan can. `places`: (dictionary, name) of attributes."""
        for values, name in places:
            if id(values) not in self.before or not is_container(values.get(name)):
                continue
            found = self.before[id(values)][1].get(name)
            if found is not None and found.is_untouched(values[name]):
                continue
            if found is not None and found.has_lists_of(values[name]):
                return f"the forward changes a list in {name} of a module in place, and puts no new one there"
            if others_hold_lists(values, name):
                return f"the forward puts a list into {name} of a module that is in use elsewhere, too"
        return ""


class Found:
    """The value of an attribute before a forward."""

    def __init__(self, value):
        self.identity = id(value)
        self.form = form_of(value)
        self.tensors = [weakref.ref(tensor) for _, tensor in tensors_in(value)]
        self.lists = lists_in(value)  # held so that no new list can get the id of one of these

    def may_be(self, value) -> bool:
        """Says whether `value` may be the same object as the former value. It may be if the ids are equal. A
        new tuple can get the id of a freed tuple, so the tensors in a tuple must be the same, too."""
        return self.identity == id(value) and (not isinstance(value, tuple) or self.is_untouched(value))

    def is_untouched(self, value) -> bool:
        if self.identity != id(value) or self.form != form_of(value):
            return False
        return all(was() is tensor for was, (_, tensor) in zip(self.tensors, tensors_in(value)))

    def has_lists_of(self, value) -> bool:
        known = {id(each) for each in self.lists}
        return any(id(each) in known for each in lists_in(value))


def paths_of(module, made) -> list:
    """Returns the paths of the attributes in `made`, which `Assignments.made` has returned."""
    places = places_of(module)
    found = [(places[id(values)][0], name) for values, name in made]
    return [f"{path}.{name}" if path else name for path, name in found]


def in_order(module, places) -> list:
    """Returns the places sorted by their paths. A place is (dictionary, name). This order is the same for
    each copy of the module."""
    paths = places_of(module)
    return sorted(places, key=lambda place: (*paths.get(id(place[0]), ("", False)), place[1]))


def places_of(module):
    """Returns the place of each dictionary in which a forward can set attributes, by the dictionary's id. A
    place is (path of the submodule, whether the dictionary holds the submodule's buffers)."""
    found = {}
    for path, submodule in module.named_modules():
        found[id(submodule.__dict__)] = path, False
        found[id(submodule._buffers)] = path, True
    return found


def dictionary_at(module, place):
    path, of_buffers = place
    submodule = module.get_submodule(path)
    return submodule._buffers if of_buffers else submodule.__dict__
