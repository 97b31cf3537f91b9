"""The state, besides tensors, that decides which ops a module runs: attributes, modes, hooks, configuration,
globals, closures.

    watch = Watch(module)          # walks all objects that the module reaches, in milliseconds
    watch.unchanged()              # compares only identities: microseconds per submodule
    watch.fingerprint              # hashable; equal for equal states
    watch.changes(Watch(module))   # as text: "h.0.dropout.p: 0.1, then 0.2"
"""

import torch

from ..sharded.parts import is_dtensor, part_of, parts_of
from .call_inputs import unfit_class
from .kept_tensors import Entries, geometry_for_plans, geometry_of, told_form
from .plain_values import shown
from .walk import KEPT, STATE, Walk


class Watch(Walk):
    def __init__(self, module, *assigned):
        super().__init__(module, *assigned)
        self.requires_grad = tuple(d[n].requires_grad for d, n, _ in self.parameters)
        self.fingerprint = hash(tuple(self.facts)), len(self.facts), self.requires_grad
        self.names = [path for _, _, path in (*self.parameters, *self.buffers)]
        self.likes = [geometry_of(tensor) for tensor in self.tensors()]
        self.has_dtensors = any(map(is_dtensor, self.tensors()))
        # The reason why no step of the module can be planned; empty if no reason is known.
        self.unfit = next(filter(None, map(unfit_class, self.names, map(part_of, self.tensors()))), "")

    def unchanged(self) -> bool:
        # An attribute may have been removed since, or set to a value that is not a tensor. Objects may raise
        # errors of its own when it is looked at.
        try:
            for values_of, ids in self.containers:
                if tuple(map(id, values_of())) != ids:
                    return False
            if any(d[n] is None for d, n, _ in self.buffers):
                return False
            return tuple([d[n].requires_grad for d, n, _ in self.parameters]) == self.requires_grad
        except Exception:
            return False

    def changes(self, later, but=()) -> str:
        """Returns the first difference to a later watch of the same module, as text; empty if there is none.
        Paths in `but`, and paths below them, are ignored."""
        before, after = by_path(self.facts, but), by_path(later.facts, but)
        for path, value in after.items():
            if path not in before:
                return f"{path} is new"
            if before[path] != value and (STATE in value or STATE in before[path]):
                return f"what is in {path} has changed"
            if before[path] != value:
                return f"{path}: {told(before[path])}, then {told(value)}"
        for path in before:
            if path not in after:
                return f"{path} is gone"
        for (_, _, path), old, new in zip(self.parameters, self.requires_grad, later.requires_grad):
            if old != new:
                return f"{path}: requires_grad {old}, then {new}"
        return ""

    def tensors(self):
        """Returns the present parameters and buffers, in the order of `names`. May only be called if
        `unchanged()`."""
        return [d[n] for d, n, _ in self.parameters] + [d[n] for d, n, _ in self.buffers]

    def tensors_of_step(self):
        """Returns the parameters and buffers for a step that begins, as `tensors` does. A DTensor is replaced
        by its part on this rank, see `parts_of`."""
        return parts_of(self.tensors()) if self.has_dtensors else self.tensors()

    def tensors_at_any_time(self):
        """Returns the parameters and buffers in the order of `names`. A DTensor is replaced by its part on
        this rank. May be called even if the module has changed since the watch was made. If the program has
        removed a tensor meanwhile, such as the state of a finished sequence, the result has a new tensor of
        the same geometry in its place."""
        places = (*self.parameters, *self.buffers)
        return [
            part_of(self.tensor_at(values, name, like)) for (values, name, _), like in zip(places, self.likes)
        ]

    def tensor_at(self, values, name, like):
        try:
            value = values[name]
        except KeyError:
            value = None
        is_there = isinstance(value, torch.Tensor)
        if is_there and (isinstance(values, Entries) or (id(values), name) in self.assigned):
            is_there = geometry_for_plans(value) is like
        if is_there or like is None:
            return value
        size, stride, dtype, device = like
        return torch.empty_strided(size, stride, dtype=dtype, device=device)


def told(fact) -> str:
    return told_form(fact[1]) if fact[0] == KEPT else shown(fact)


def by_path(facts, but) -> dict:
    within = tuple(end for path in but for end in (path + ".", path + "["))
    result = {}
    for fact in facts:
        if not but or not (fact[0] in but or fact[0].startswith(within)):
            result[fact[0]] = result.get(fact[0], ()) + fact[1:]
    return result
