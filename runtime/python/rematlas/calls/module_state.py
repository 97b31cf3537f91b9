"""What a module's course depends on beside its arguments: a part of the key of a kind of call."""

import logging

import torch

from . import effects
from .assignments import paths_of
from .kept_tensors import copied, is_kept
from .watch import Watch

OTHER_CONTENTS = "has other contents in the next step"  # as the recorder says of a tensor beside its buffers
log = logging.getLogger("rematlas")


class ModuleState:
    """It is as it was when it was looked at last. `watch` is None where it must be looked at again."""

    def __init__(self, module):
        self.module = module
        self.watch = None
        self.number = None  # of the state: the same for equal states
        self.change = ""  # the last one, in words
        self.assigned = {}  # (id of dictionary, name) to (dictionary, name): what forward sets
        self.reads_kept = False  # a forward reads what the one before has set
        self.counted = {}  # the same of what forward counts or logs by, and never reads
        self.after_forward = effects.Kept(())  # the same, when the last forward was over
        self.numbers = {}  # by fingerprint, for short keys
        self.identities = None  # of parameters and buffers
        self.tying = ()  # which of these are one and the same

    def is_current(self) -> bool:
        return self.watch is not None and self.watch.unchanged()

    def has_parameters(self) -> bool:
        """Lazy parameters are made by the original's first forward."""
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
        """Looks without taking note of what it finds."""
        return Watch(self.module, frozenset(self.assigned), self.reads_kept, frozenset(self.counted))

    def forget(self) -> None:
        """The module must be looked at again before the next step."""
        self.watch = None

    def key(self):
        identities = tuple(map(id, self.watch.tensors()))
        if identities != self.identities:
            self.identities = identities
            first = {}
            self.tying = tuple(first.setdefault(identity, place) for place, identity in enumerate(identities))
        return self.number, self.tying

    def change_within(self, watch) -> str:
        """Says what the forward that has just run changed since that watch; empty where it changed
        nothing."""
        if watch.unchanged():
            return ""
        made = [(values, name) for values, name in self.assigned.values() if is_kept(values.get(name))]
        later = self.look()
        change = watch.changes(later, paths_of(self.module, made))
        self.change = change or watch.changes(later) or self.change
        self.forget()
        return change

    # What forward sets.

    def note_assigned(self, places) -> list:
        """What the forward sets is no change of the module. Returns the names that were not known."""
        new = [(values, name) for values, name in places if (id(values), name) not in self.assigned]
        for values, name in new:
            self.assigned[id(values), name] = (values, name)
            self.forget()
        return [name for _, name in new]

    def note_difference(self, why) -> bool:
        """Two steps are not of one course. Where a forward has read what another one has set, such tensors
        are buffers from now on. Returns whether that is so, and was not known."""
        is_new = bool(self.assigned) and OTHER_CONTENTS in why and not self.reads_kept
        if is_new:
            self.note_reads_kept()
        return is_new

    def note_reads_kept(self) -> None:
        if not self.reads_kept:
            self.reads_kept = True
            self.forget()

    def note_counted(self, changed, watch) -> list:
        """`changed`: (module, dictionary, name) of host values that a forward has changed. Those that nothing
        of it reads are no change of the module. Returns the names that were not known."""
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
        """The same for what is known to be read by nothing."""
        new = [(values, name) for values, name in places if (id(values), name) not in self.counted]
        for values, name in new:
            self.counted[id(values), name] = (values, name)
            self.forget()
        return [name for _, name in new]

    def assigned_places(self) -> tuple:
        """Returns (dictionary, name) of all that the forward sets."""
        return tuple(self.assigned.values())

    def kept_values(self, places) -> list:
        """Returns (dictionary, name, value) of what forwards leave for the next one to read, and of what
        there is in place of such: None, say. Lists are copied: the program may change them in place."""
        read = self.watch.read.union((id(values), name) for values, name, _ in self.watch.buffers)
        return [
            (values, name, copied(values[name]))
            for values, name in places
            if (id(values), name) in read or (name in values and not is_kept(values[name]))
        ]
