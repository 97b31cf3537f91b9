"""What a budget under torch.compile needs of torch that torch calls private: all of it is here, but for what
inductor generates (`generated_code`) and for the call of its code (`compiled_code_calls`)."""

import contextlib
from unittest import mock

import torch
import torch._inductor.config as inductor_config
from torch import fx
from torch._functorch import config as functorch_config
from torch._functorch import partitioners
from torch._inductor.codegen.wrapper import AllocateLine
from torch._inductor.graph import GraphLowering
from torch._inductor.scheduler import Scheduler
from torch._inductor.virtualized import V
from torch.multiprocessing.reductions import StorageWeakRef

from .generated_code import BufferSizes
from .node_order import copied

PLANNED = "rematlas_planned"  # among the metadata of the output of a graph
SMALL_BYTES = 1 << 16


def partition(joint, inputs, options, choose=None, order=None):
    """Cuts a copy of the joint graph with torch's own partitioner, so that what torch does for safety is
    done: for effects, collectives, mutations, generators, and one decision on all ranks.

    `choose(graph, node_info)` returns the nodes that are saved, `order(backward)` the backward with its nodes
    in another order; without them torch decides. `options`: the keyword arguments of a partitioner.
    """
    with contextlib.ExitStack() as stack:
        if choose is not None:
            stack.enter_context(
                mock.patch.object(
                    partitioners,
                    "choose_saved_values_set",
                    lambda graph, node_info, memory_budget=1: choose(graph, node_info),
                )
            )
            stack.enter_context(mock.patch.object(partitioners, "reordering_to_mimic_autograd_engine", order))
        return partitioners.min_cut_rematerialization_partition(copied(joint), inputs, **options)


def given_away(forward: fx.GraphModule, backward: fx.GraphModule, returned) -> list[int]:
    """Returns the positions of backward's arguments that nobody but backward holds: saved tensors that share
    no memory with forward's arguments, with what it returns to the caller, or with what backward returns."""
    if not functorch_config.donated_buffer:
        return []
    ends = next(iter(backward.graph.find_nodes(op="output"))).args[0]
    kept = {storage_of(node) for node in (*forward.graph.find_nodes(op="placeholder"), *returned, *ends)}
    made = {node.name: node for node in forward.graph.nodes}
    return [
        position
        for position, argument in enumerate(backward.graph.find_nodes(op="placeholder"))
        if storage_of(made.get(argument.name)) not in kept | {None}
    ]


def storage_of(node):
    """Returns what is equal for nodes that share memory, None for what has none."""
    value = node.meta.get("val") if isinstance(node, fx.Node) else None
    return StorageWeakRef(value.untyped_storage()) if isinstance(value, torch.Tensor) else None


def lays_channels_last(module: fx.GraphModule) -> bool:
    """Says whether inductor lays out images with their channels last."""
    return GraphLowering.decide_layout_opt(module, is_inference=False)


def follow_the_plan(*modules: fx.GraphModule) -> None:
    """Has inductor depart less from the order and the lifetimes of the plan when it lowers these graphs:

    It does not fuse kernels side by side where the later one writes a large tensor: a tensor that backward
    computes again would be there before the tensors are freed that the earlier one is the last to read.

    It does not keep a buffer that is free for one that comes later than in the next kernel. Inductor does so
    where its own estimate of the peak allows that, but the estimate counts views twice.
    """
    for module in modules:
        output_of(module.graph).meta[PLANNED] = True
    if getattr(Scheduler.are_long_distant_nodes, "is_ours", False):
        return
    fused_by_inductor = Scheduler.are_long_distant_nodes
    kept_by_inductor = AllocateLine.should_reuse_buffer

    def are_apart(scheduler, first, second):
        if fused_by_inductor(scheduler, first, second):
            return True
        follows = max(first.min_order, second.min_order) > min(first.max_order, second.max_order)
        later = max(first, second, key=lambda node: node.min_order)
        return follows and is_planned() and written_bytes(later) > SMALL_BYTES

    def is_kept(line, free_line, size):
        if not kept_by_inductor(line, free_line, size):
            return False
        is_next = free_line.scheduler_node_index + 1 == line.scheduler_node_index
        return is_next or size <= SMALL_BYTES or not is_planned()

    are_apart.is_ours = True
    Scheduler.are_long_distant_nodes = are_apart
    AllocateLine.should_reuse_buffer = is_kept


def output_of(graph: fx.Graph) -> fx.Node:
    return next(iter(graph.find_nodes(op="output")))


def is_planned() -> bool:
    """Says whether the graph that inductor lowers follows a plan."""
    return PLANNED in output_of(V.graph.graph).meta


def written_bytes(node) -> int:
    sizes = BufferSizes(V.graph, ())
    return sum(sizes.bytes_of(name) or 0 for name in node.get_buffer_names())


def without_caches():
    """Within it torch compiles, and asks for cuts, whatever its caches hold."""
    stack = contextlib.ExitStack()
    stack.enter_context(inductor_config.patch(fx_graph_cache=False, fx_graph_remote_cache=False))
    stack.enter_context(functorch_config.patch(enable_autograd_cache=False))
    return stack


def is_symbol(node: fx.Node) -> bool:
    return isinstance(node.meta.get("val"), torch.SymInt | torch.SymFloat | torch.SymBool)
