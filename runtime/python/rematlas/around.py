"""What surrounds a forward of the original: what it changes behind our back, and which submodule runs."""

import torch
from torch.nn.modules import module as nn_module

from . import modes
from .watch import Assignments


class Before:
    """What a forward may change behind our back, as it was before it."""

    def __init__(self, module):
        self.randomness = modes.Randomness()
        self.assignments = Assignments(module)

    def changed(self):
        moved = self.randomness.moved()
        return f"the program draws from {moved}'s random numbers" if moved else ""

    def assigned(self):
        return self.assignments.made()


class PathHooks:
    """Tells a recording which submodule's forward runs."""

    def __init__(self):
        self.handles = []
        self.recordings = []

    def start(self, module, recording):
        self.recordings.append(recording)
        if self.handles:
            return
        paths = {id(submodule): path for path, submodule in module.named_modules()}
        known = paths.__contains__

        def enter(submodule, args):
            if known(id(submodule)) and torch._C._get_tracing_state() is None:
                for recording in self.recordings:
                    recording.enter(paths[id(submodule)])

        def leave(submodule, args, output):
            if known(id(submodule)) and torch._C._get_tracing_state() is None:
                for recording in self.recordings:
                    recording.leave()

        self.handles = [
            nn_module.register_module_forward_pre_hook(enter),
            nn_module.register_module_forward_hook(leave, always_call=True),
        ]

    def stop(self, recording):
        self.recordings = [other for other in self.recordings if other is not recording]
        if self.recordings:
            return
        for handle in self.handles:
            handle.remove()
        self.handles = []
