"""What surrounds a forward of the original: what it changes behind our back, and which submodule runs."""

import torch
from torch.nn.modules import module as nn_module

from . import effects, modes
from .assignments import Assignments, paths_of


class BeforeForward:
    """It remembers what a forward may change behind our back."""

    def __init__(self, module):
        self.randomness = modes.Randomness()
        self.assignments = Assignments(module)
        self.effects = effects.Before(module)

    def changed(self) -> str:
        moved = self.randomness.moved()
        return f"the program draws from {moved}'s random numbers" if moved else ""

    def assigned(self):
        return self.assignments.made()

    def change_but_for_assigned(self, module, watch, later) -> str:
        """Says what else than attributes a forward has changed that has failed, or what it has drawn; empty
        where it could begin again."""
        return self.changed() or watch.changes(later, paths_of(module, self.assigned()))


class PathHooks:
    """Tells recordings which submodule's forward runs."""

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


def runs_hooks(module) -> bool:
    """Says whether calling the module runs more than its forward."""
    return bool(
        module._backward_hooks
        or module._backward_pre_hooks
        or module._forward_hooks
        or module._forward_pre_hooks
        or nn_module._global_backward_pre_hooks
        or nn_module._global_backward_hooks
        or nn_module._global_forward_hooks
        or nn_module._global_forward_pre_hooks
    )


def call_within_hooks(module, forward, args, kwargs):
    """Runs the module's hooks as ever, around another forward: so its parameters are what hooks made of
    them."""
    own = module.__dict__
    had = own.get("forward")
    is_restored = False

    def restore():
        nonlocal is_restored
        if is_restored:
            return
        is_restored = True
        if had is None:
            own.pop("forward", None)
        else:
            own["forward"] = had

    def forward_once(*args, **kwargs):
        restore()
        return forward(*args, **kwargs)

    own["forward"] = forward_once
    try:
        return module._call_impl(*args, **kwargs)
    finally:
        restore()
