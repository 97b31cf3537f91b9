"""The private parts of torch that a budget under torch.compile needs. Three other files also use private
parts of torch: `generated_code` (inductor's texts and code), `planned_lowering` (how inductor lowers a graph
with a plan), and `compiled_code_calls` (calls of inductor's code)."""

import contextlib
import threading
from unittest import mock

import torch
import torch._inductor.config as inductor_config
from torch import fx
from torch._functorch import config as functorch_config
from torch._functorch import partitioners
from torch._inductor.graph import GraphLowering
from torch.multiprocessing.reductions import StorageWeakRef

from .node_order import copied, outputs_of

# Held while functions of torch are replaced, so that only one thread at a time replaces any.
replacing = threading.RLock()


def in_this_thread(ours, theirs):
    """Returns a function that calls `ours` in the thread that calls `in_this_thread`, and `theirs` in all
    other threads, which may compile at the same time."""
    thread = threading.get_ident()

    def either(*args, **kwargs):
        return (ours if threading.get_ident() == thread else theirs)(*args, **kwargs)

    return either


def replaced(owner, name: str, ours):
    """Returns a context in which this thread finds `ours` in the place of a function of torch. The caller
    must hold `replacing`."""
    return mock.patch.object(owner, name, in_this_thread(ours, getattr(owner, name)))


def partition(joint, inputs, options, choose=None, order=None):
    """Cuts a copy of the joint graph with torch's own partitioner. So torch's own rules apply for effects,
    collectives, mutations and generators, and all ranks decide the same.

    `choose(graph, node_info)` returns the nodes to save; `order(backward)` returns the backward with its
    nodes in another order. If `choose` and `order` are None, torch itself decides. `options`: the keyword
    arguments of a partitioner.
    """
    with contextlib.ExitStack() as stack:
        if choose is not None:

            def saved(graph, node_info, memory_budget=1):
                return choose(graph, node_info)

            stack.enter_context(replacing)
            stack.enter_context(replaced(partitioners, "choose_saved_values_set", saved))
            stack.enter_context(replaced(partitioners, "reordering_to_mimic_autograd_engine", order))
        return partitioners.min_cut_rematerialization_partition(copied(joint), inputs, **options)


def given_away(forward: fx.GraphModule, backward: fx.GraphModule, returned) -> list[int]:
    """Returns the positions of those arguments of backward that only backward holds: saved tensors that share
    no memory with forward's arguments, with the results that the caller gets, or with backward's results."""
    if not functorch_config.donated_buffer:
        return []
    ends = outputs_of(backward.graph)
    kept = {storage_of(node) for node in (*forward.graph.find_nodes(op="placeholder"), *returned, *ends)}
    made = {node.name: node for node in forward.graph.nodes}
    return [
        position
        for position, argument in enumerate(backward.graph.find_nodes(op="placeholder"))
        if storage_of(made.get(argument.name)) not in kept | {None}
    ]


def storage_of(node):
    """Returns a value that is equal for two nodes exactly if they share memory; None for a node without
    memory."""
    value = node.meta.get("val") if isinstance(node, fx.Node) else None
    return StorageWeakRef(value.untyped_storage()) if isinstance(value, torch.Tensor) else None


def lays_channels_last(module: fx.GraphModule) -> bool:
    """Says whether inductor lays out images in the channels-last order."""
    return GraphLowering.decide_layout_opt(module, is_inference=False)


def without_caches():
    """Returns a context in which torch does not use its caches. So torch compiles each graph, and asks the
    partitioner to cut it."""
    stack = contextlib.ExitStack()
    stack.enter_context(inductor_config.patch(fx_graph_cache=False, fx_graph_remote_cache=False))
    stack.enter_context(functorch_config.patch(enable_autograd_cache=False))
    return stack


def is_symbol(node: fx.Node) -> bool:
    return isinstance(node.meta.get("val"), torch.SymInt | torch.SymFloat | torch.SymBool)
