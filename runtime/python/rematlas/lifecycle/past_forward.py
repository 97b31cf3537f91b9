"""Detects that a module trains although nobody calls it. For example, the program may call only the module's
parts."""

import weakref

import torch
from torch.nn.parameter import is_lazy

from ..calls.module_hooks import has_compiled
from .refusals import BY_COMPILE


def how_and_advice():
    """Returns a description of calls that go past the module, and how the user can get a plan for them."""
    how = "of the module's parts, or of its forward, past the module itself"
    advice = "call the module (`model(...)`); or keep a budget within `rematlas.evict`"
    if has_compiled():
        how = f"within what torch.compile has compiled, or {how},"
        advice = f"{BY_COMPILE}, or {advice}"
    return how, advice


class PastForward:
    """Until `close`, calls `told` once in each backward in which a parameter of the module gets a gradient.
    `told` must be a bound method; its object may be freed before `close`."""

    def __init__(self, module, told):
        self.handles, self.nodes = [], []  # a hook exists only as long as its node does
        last_backward = None
        told = weakref.WeakMethod(told)

        def look(_):
            nonlocal last_backward
            backward = torch._C._current_graph_task_id()
            tell = told()
            if backward != last_backward and tell is not None:
                last_backward = backward
                tell()

        for parameter in module.parameters():
            if not is_lazy(parameter) and parameter.requires_grad and not parameter.is_inference():
                node = torch.autograd.graph.get_gradient_edge(parameter).node
                self.nodes.append(node)
                self.handles.append(node.register_prehook(look))

    def close(self) -> None:
        for handle in self.handles:
            handle.remove()
        self.handles, self.nodes = [], []
