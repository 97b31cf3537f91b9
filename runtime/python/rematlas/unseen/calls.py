"""Calls past the dispatcher become ops, so that they are recorded, planned and run again as others are.

what = remember("the kernel and all that is no tensor", run)   # run(read, written) returns tensors
results = as_op(what, read, written)
"""

import json
import weakref

import torch

from ..library import ops

OWN_KEY = torch._C._parse_dispatch_key(ops.own_key())
ONLY_OWN_KEY = torch._C.DispatchKeySet(OWN_KEY)

remembered = {}  # what runs, by what the op has as its first argument; plans ask for it at any time
recordings = weakref.WeakSet()  # that have begun


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
    """`function(read, written)` returns a list of tensors, and gives the same for the same tensors wherever
    `what` is equal."""
    remembered.setdefault(what, function)
    return what


def as_op(what: str, read: list, written: list, draws: bool = False) -> list:
    """`draws`: it may take random numbers from torch's generators."""
    return (ops.unseen_with_draws if draws else ops.unseen)(what, read, written)


def are_missing(text: str) -> bool:
    """Says whether a graph file with this text has such calls that this process does not know."""
    if "rematlas::unseen" not in text:
        return False
    ops_of_plan = json.loads(text)["replay"]["ops"]
    asked = [op["arguments"][0] for op in ops_of_plan if op["op"].startswith("rematlas::unseen")]
    return not remembered.keys() >= set(asked)


def ops_are_watched() -> bool:
    """Says whether somebody watches the ops of this thread, and the call is not part of an op itself."""
    return torch._C._dispatch_tls_is_dispatch_key_included(
        OWN_KEY
    ) and not torch._C._dispatch_tls_is_dispatch_key_excluded(OWN_KEY)


def is_recorded() -> bool:
    """Says whether a call of this thread is one of a step that is recorded. Online eviction alone sees such
    calls by what they ask of tensors."""
    return ops_are_watched() and any(recording.is_open() for recording in list(recordings))


def unwatched():
    """Returns a context whose ops are not recorded."""
    return torch._C._ExcludeDispatchKeyGuard(ONLY_OWN_KEY)


def are_shapes_alone() -> bool:
    """Says whether a step is recorded from shapes: its tensors have no memory."""
    return any(recording.is_open() and recording.is_from_shapes for recording in list(recordings))


def refuse(why: str) -> None:
    """The step that is recorded has a call that can be no op. Raises RuntimeError where it is recorded from
    shapes: then the call must not run."""
    if are_shapes_alone():
        raise RuntimeError(f"rematlas: {why}")
    for recording in list(recordings):
        if recording.is_open():
            recording.refuse(why)
