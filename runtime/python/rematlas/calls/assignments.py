"""What a forward sets in its modules, and where."""

import torch


class Assignments:
    """Which tensors a forward sets as attributes and buffers of its modules."""

    def __init__(self, module):
        self.before = []  # (dictionary, ids of the tensors there by name)
        for submodule in module.modules():
            for values in (submodule.__dict__, submodule.__dict__.get("_buffers") or {}):
                self.before.append(
                    (values, {n: id(v) for n, v in values.items() if isinstance(v, torch.Tensor)})
                )

    def made(self):
        """(dictionary, name) of each."""
        return [
            (values, name)
            for values, ids in self.before
            for name, value in values.items()
            if isinstance(value, torch.Tensor)
            and not isinstance(value, torch.nn.Parameter)
            and ids.get(name) != id(value)
        ]

    def is_left(self, values, name) -> bool:
        """Says whether what is there after the forward may be what the forward has left. It is not where
        nothing is there, where no submodule has the dictionary any more, and where a result of ops is there
        that was there before."""
        ids = {id(others): ids for others, ids in self.before}.get(id(values))
        if ids is None or name not in values:
            return False
        value = values[name]
        return getattr(value, "grad_fn", None) is None or ids.get(name) != id(value)


def paths_of(module, made) -> list:
    """Returns the paths of what a forward has set, as `Assignments.made` lists it."""
    places = places_of(module)
    found = [(places[id(values)][0], name) for values, name in made]
    return [f"{path}.{name}" if path else name for path, name in found]


def in_order(module, places) -> list:
    """Returns (dictionary, name) of what a forward sets in the order of paths, which is the same for each
    copy of the module."""
    paths = places_of(module)
    return sorted(places, key=lambda place: (*paths.get(id(place[0]), ("", False)), place[1]))


def places_of(module):
    """Where a forward sets attributes: (path of the submodule, whether as a buffer) by the id of the
    dictionary."""
    found = {}
    for path, submodule in module.named_modules():
        found[id(submodule.__dict__)] = path, False
        found[id(submodule._buffers)] = path, True
    return found


def dictionary_at(module, place):
    path, of_buffers = place
    submodule = module.get_submodule(path)
    return submodule._buffers if of_buffers else submodule.__dict__
