"""The state, besides the arguments, that decides which ops a module runs. It is a part of the key of a kind
of call."""

import logging

import torch

from . import effects
from .assignments import paths_of
from .kept_tensors import copied, is_kept
from .watch import Watch

OTHER_CONTENTS = "has other contents in the next step"  # part of a message of the recorder
log = logging.getLogger("rematlas")


class ModuleState:
    """The module's state at the last look at the module. `watch` is None if the module must be looked at
    again."""

    def __init__(self, module):
        self.module = module
        self.watch = None
        self.number = None  # the id of the state, from 0 on; equal states have the same id
        self.change = ""  # the last change, as text
        self.assigned = {}  # attributes that forwards set, by (id of dictionary, name): (dictionary, name)
        self.reads_kept = False  # a forward reads attributes that the forward before it has set
        self.counted = {}  # counters and logs that the forward only changes, in the form of `assigned`
        self.after_forward = effects.Kept(())  # the values of `counted` at the end of the last forward
        self.numbers = {}  # the id of each state by its fingerprint; ids keep the keys of plans short
        self.identities = None  # the ids of parameters and buffers
        self.tying = ()  # for each parameter and buffer: the place of the first one that is the same tensor

    def has_parameters(self) -> bool:
        """Says whether all parameters have been made. Lazy parameters are made by the original's first
        forward."""
        return not any(map(torch.nn.parameter.is_lazy, self.module.parameters()))

    def look_again(self) -> None:
        watch = self.look()
        number = self.numbers.setdefault(watch.fingerprint, len(self.numbers))
        if self.watch is not None and number == len(self.numbers) - 1:
            self.change = self.watch.changes(watch)
            log.info("rematlas: the model has changed (%s) and is planned anew", self.change)
        self.watch, self.number = watch, number
        self.identities = None

    def look(self) -> Watch:
        """Looks at the module without changing this object."""
        return Watch(self.module, frozenset(self.assigned), self.reads_kept, frozenset(self.counted))

    def forget(self) -> None:
        """Makes the next step look at the module again."""
        self.watch = None

    def key(self):
        identities = tuple(map(id, self.watch.tensors()))
        if identities != self.identities:
            self.identities = identities
            first = {}
            self.tying = tuple(first.setdefault(identity, place) for place, identity in enumerate(identities))
        return self.number, self.tying

    def change_within(self, watch) -> str:
        """Called when a forward has run. Returns the first change of the module since `watch` was made
        before the forward; empty if there is none. Tensors in the attributes `assigned` are no changes."""
        if watch.unchanged():
            return ""
        made = [(values, name) for values, name in self.assigned.values() if is_kept(values.get(name))]
        later = self.look()
        change = watch.changes(later, paths_of(self.module, made))
        self.change = change or watch.changes(later) or self.change
        self.forget()
        return change

    # Attributes that the forward sets.

    def note_assigned(self, places) -> list:
        """Notes that the forward sets these attributes, so that they no longer count as changes of the
        module. Returns the names that were not noted before."""
        new = [(values, name) for values, name in places if (id(values), name) not in self.assigned]
        for values, name in new:
            self.assigned[id(values), name] = (values, name)
            self.forget()
        return [name for _, name in new]

    def note_difference(self, why) -> bool:
        """Called when two steps did not run the same ops. If the reason `why` is that a forward read
        attributes which another forward had set, the tensors of these attributes count as buffers from now
        on. Returns True the first time that this reason is found."""
        is_new = bool(self.assigned) and OTHER_CONTENTS in why and not self.reads_kept
        if is_new:
            self.note_reads_kept()
        return is_new

    def note_reads_kept(self) -> None:
        if not self.reads_kept:
            self.reads_kept = True
            self.forget()

    def note_counted(self, changed, watch) -> list:
        """`changed`: (module, dictionary, name) of values on the host that a forward has changed. From now
        on, values that the forward never reads do not count as changes of the module. Returns the names of
        such values that were not noted before."""
        known = {*self.assigned, *self.counted}
        new = [
            (values, name)
            for submodule, values, name in changed
            if (id(values), name) not in known
            and effects.is_unread(self.module, submodule, name, watch.walked)
        ]
        return self.note_effects(new)

    def note_forward_is_over(self) -> None:
        if self.counted:
            self.after_forward = effects.Kept(self.counted.values())

    def note_effects(self, places) -> list:
        """Notes places of values that the forward is known never to read. Returns the names that were not
        noted before."""
        new = [(values, name) for values, name in places if (id(values), name) not in self.counted]
        for values, name in new:
            self.counted[id(values), name] = (values, name)
            self.forget()
        return [name for _, name in new]

    def kept_values(self, places) -> list:
        """Returns (dictionary, name, value) of those attributes in `places` that a forward leaves for the
        next forward to read, and of the attributes that now hold another kind of value, such as None. Lists
        are copied, because the program may change them in place."""
        read = self.watch.read.union((id(values), name) for values, name, _ in self.watch.buffers)
        return [
            (values, name, copied(values[name]))
            for values, name in places
            if (id(values), name) in read or (name in values and not is_kept(values[name]))
        ]
