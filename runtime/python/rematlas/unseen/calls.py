"""Turns calls that bypass the dispatcher into ops, so that they are recorded, planned and rerun like other
ops.

    # `run(read, written)` returns tensors
    what = remember("the kernel and its arguments that are no tensors", run)
    results = as_op(what, read, written)
"""

import json
import weakref

import torch

from ..library import ops

OWN_KEY = torch._C._parse_dispatch_key(ops.own_key())
ONLY_OWN_KEY = torch._C.DispatchKeySet(OWN_KEY)

remembered = {}  # functions by the op's first argument; plans may look them up at any time
recordings = weakref.WeakSet()  # recordings that have begun


def run(what, read, written):
    if what not in remembered:
        raise RuntimeError(
            f"rematlas: the plan calls {what}, which this process has not run yet: plan the module here"
        )
    return remembered[what](read, written)


_library = torch.library.Library("rematlas", "FRAGMENT")
for _name, _tags in (("unseen", ()), ("unseen_with_draws", (torch.Tag.nondeterministic_seeded,))):
    _library.define(f"{_name}(str what, Tensor[] read, Tensor(a!)[] written) -> Tensor[]", tags=_tags)
    _library.impl(_name, run, "CompositeExplicitAutograd")


def remember(what: str, function) -> str:
    """Stores the function under `what`, and returns `what`. `function(read, written)` must return a list of
    tensors. Functions stored under equal `what` must compute the same results from the same tensors."""
    remembered.setdefault(what, function)
    return what


def as_op(what: str, read: list, written: list, draws: bool = False) -> list:
    """Runs the function that is stored under `what` as an op. `draws`: whether the function may draw random
    numbers from torch's generators."""
    return (ops.unseen_with_draws if draws else ops.unseen)(what, read, written)


def are_missing(text: str) -> bool:
    """Says whether a graph file with this text has an op made by `as_op` whose function this process has not
    stored."""
    if "rematlas::unseen" not in text:
        return False
    ops_of_plan = json.loads(text)["replay"]["ops"]
    asked = [op["arguments"][0] for op in ops_of_plan if op["op"].startswith("rematlas::unseen")]
    return not remembered.keys() >= set(asked)


def ops_are_watched() -> bool:
    """Says whether the ops of this thread are being watched (recorded, compared or evicted). Returns False if
    this code itself runs within a watched op."""
    return torch._C._dispatch_tls_is_dispatch_key_included(
        OWN_KEY
    ) and not torch._C._dispatch_tls_is_dispatch_key_excluded(OWN_KEY)


def is_recorded() -> bool:
    """Says whether a kernel launch or call that the dispatcher does not see belongs to a step that is being
    recorded. Returns False under online eviction without a recording: eviction notices such calls through the
    methods of tensors that they use."""
    return ops_are_watched() and any(recording.is_open() for recording in list(recordings))


def unwatched():
    """Returns a context whose ops are not recorded."""
    return torch._C._ExcludeDispatchKeyGuard(ONLY_OWN_KEY)


def are_shapes_alone() -> bool:
    """Says whether a step is being recorded from shapes; if so, its tensors have no memory."""
    return any(recording.is_open() and recording.is_from_shapes for recording in list(recordings))


def refuse(why: str) -> None:
    """Refuses the recording, because the step has a call that bypasses the dispatcher and cannot be made an
    op. If the step is recorded from shapes, the call cannot run, so this function raises RuntimeError."""
    if are_shapes_alone():
        raise RuntimeError(f"rematlas: {why}")
    for recording in list(recordings):
        if recording.is_open():
            recording.refuse(why)
