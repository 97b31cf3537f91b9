"""Observes a forward of the original: its hidden changes, and which submodule runs."""

import sys
import weakref

import torch
from torch._C._dynamo import eval_frame
from torch.nn.modules import module as nn_module

from . import effects, modes
from .assignments import Assignments, paths_of


class BeforeForward:
    """The state that a forward may change without an op, as it was before the forward."""

    def __init__(self, module):
        self.randomness = modes.Randomness()
        self.assignments = Assignments(module)
        self.effects = effects.Before(module)

    def changed(self) -> str:
        moved = self.randomness.moved()
        return f"the program draws from {moved}'s random numbers: draw them by torch" if moved else ""

    def change_but_for_assigned(self, module, watch, later) -> str:
        """Called when a forward has failed. Says as text what the forward has changed: random generators, or
        state other than the attributes that it sets. Returns an empty text if it has changed neither; the
        forward can then run again."""
        return self.changed() or watch.changes(later, paths_of(module, self.assignments.made()))


class PathHooks:
    """Tells recordings which submodule's forward is running. Uses no global module hooks, and no hooks within
    parts that torch.compile has compiled, because dynamo would trace such hooks."""

    def __init__(self):
        self.calls = []
        self.recordings = []

    def start(self, module, recording, walked):
        """Begins to tell this recording which submodule runs. `walked`: the functions that the module
        reaches."""
        self.recordings.append(recording)
        if self.calls or any(map(is_compiled_function, walked)):
            return
        compiled = within_compiled_parts(module)
        for path, submodule in module.named_modules():
            is_called_otherwise = submodule.__dict__.get("_compiled_call_impl") is not None
            if not is_called_otherwise and submodule not in compiled:
                self.calls.append(PathCall(path, submodule, self.recordings))

    def stop(self, recording):
        self.recordings[:] = [other for other in self.recordings if other is not recording]
        if not self.recordings:
            self.stop_all()

    def stop_all(self):
        for call in self.calls:
            call.remove()
        self.calls, self.recordings = [], []


class InPlaceOfCall:
    """An object that replaces a module's `_compiled_call_impl`. In copies and pickles of a module this
    attribute is None, or missing: torch leaves it out, except for recurrent networks."""

    def __reduce__(self):
        return type(None), ()


class PathCall(InPlaceOfCall):
    """Replaces a submodule's own call, and tells recordings when that call begins and ends."""

    def __init__(self, path, submodule, recordings):
        self.path = path
        self.submodule = weakref.ref(submodule)  # weak, because the submodule holds this object
        self.recordings = recordings
        submodule.__dict__["_compiled_call_impl"] = self

    def __call__(self, *args, **kwargs):
        submodule = self.submodule()
        if torch._C._get_tracing_state() is not None:
            return submodule._call_impl(*args, **kwargs)
        told = list(self.recordings)
        for recording in told:
            recording.enter(self.path, type(submodule).__name__)
        try:
            return submodule._call_impl(*args, **kwargs)
        finally:
            for recording in told:
                recording.leave()

    def remove(self):
        submodule = self.submodule()
        if submodule is not None and submodule.__dict__.get("_compiled_call_impl") is self:
            del submodule.__dict__["_compiled_call_impl"]


def within_compiled_parts(module) -> set:
    return {
        part
        for submodule in module.modules()
        if submodule is not module and is_compiled(submodule)
        for part in submodule.modules()
    }


def is_compiled_function(function) -> bool:
    return hasattr(function, "_torchdynamo_orig_callable")


def is_compiled(module) -> bool:
    """Says whether the module was made by torch.compile or compiled in place."""
    own_call = module.__dict__.get("_compiled_call_impl")
    is_told_of = isinstance(own_call, PathCall)
    return "_torchdynamo_orig_callable" in module.__dict__ or (own_call is not None and not is_told_of)


def has_compiled() -> bool:
    """Says whether torch.compile has compiled anything in this process."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return dynamo is not None and dynamo.counters["stats"]["unique_graphs"] > 0


def leave_uncompiled(function) -> None:
    """Makes torch.compile skip the function instead of tracing it, when compiled code calls it."""
    skips = eval_frame._FrameExecStrategy(eval_frame._FrameAction.SKIP, eval_frame._FrameAction.DEFAULT)
    eval_frame.set_code_exec_strategy(function.__code__, skips)


def runs_hooks(module) -> bool:
    """Says whether a call of the module also runs hooks."""
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
    """Runs the module's hooks as usual, but `forward` instead of the module's own forward. So `forward` sees
    the parameters that forward pre-hooks have set."""
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
