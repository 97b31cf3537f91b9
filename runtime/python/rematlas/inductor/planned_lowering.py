"""Has inductor keep to the plan when it lowers a graph. What this needs of torch is private there.

A plan says which tensors lie in memory, in which order kernels run, and when tensors are freed. Inductor
departs from each of these where that saves a kernel or an allocation; graphs without a plan are left to it.
"""

import weakref

from torch import fx
from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.codegen.wrapper import AllocateLine
from torch._inductor.graph import GraphLowering
from torch._inductor.ir import TensorBox
from torch._inductor.scheduler import Scheduler
from torch._inductor.virtualized import V

from .generated_code import BufferSizes
from .node_order import output_of

PLANNED = "rematlas_planned"  # among the metadata of the output of a graph
IN_MEMORY = "rematlas_in_memory"  # among the metadata of a node
SMALL_BYTES = 1 << 16
LARGE_SHARE = 16  # of the largest tensor of a graph
largest_bytes = weakref.WeakKeyDictionary()  # by graph that is lowered

fused_by_inductor = Scheduler.are_long_distant_nodes
kept_by_inductor = AllocateLine.should_reuse_buffer
lower_by_inductor = GraphLowering.run_node
generate_by_inductor = CppScheduling.codegen_node


def follow_the_plan(module: fx.GraphModule, in_memory) -> None:
    """Marks a graph that follows a plan. `in_memory`: names of nodes that are kernels of the plan."""
    output_of(module.graph).meta[PLANNED] = True
    for node in module.graph.nodes:
        if node.name in in_memory:
            node.meta[IN_MEMORY] = True


def lower_node(lowering, node):
    """A kernel of the plan is computed where it stands in the order. Inductor computes it where it is read,
    so that what it reads itself would live until then."""
    made = lower_by_inductor(lowering, node)
    if node.meta.get(IN_MEMORY) and isinstance(made, TensorBox):
        made.realize()
    return made


def are_apart(scheduler, first, second) -> bool:
    """Kernels side by side are not fused where the later one writes a large tensor: the tensor would be there
    before those are freed that the earlier kernel is the last to read."""
    if fused_by_inductor(scheduler, first, second):
        return True
    follows = max(first.min_order, second.min_order) > min(first.max_order, second.max_order)
    later = max(first, second, key=lambda node: node.min_order)
    return follows and is_planned() and written_bytes(later) > SMALL_BYTES


def generate(scheduling, node) -> None:
    """On the CPU a function of several kernels ends behind one that is the last to read a large tensor: what
    a function reads lives until it ends, beside all that it writes."""
    generate_by_inductor(scheduling, node)
    if is_planned() and frees_a_large_tensor(node):
        scheduling._set_flush_status(True)


def is_kept(line, free_line, size) -> bool:
    """A buffer that is free is not kept for one that comes later than in the next kernel. Inductor does so
    where its own estimate of the peak allows that, but the estimate counts views twice."""
    if not kept_by_inductor(line, free_line, size):
        return False
    is_next = free_line.scheduler_node_index + 1 == line.scheduler_node_index
    return is_next or size <= SMALL_BYTES or not is_planned()


def is_planned() -> bool:
    """Says whether the graph that inductor lowers follows a plan."""
    return PLANNED in output_of(V.graph.graph).meta


def written_bytes(node) -> int:
    sizes = BufferSizes(V.graph, ())
    return sum(sizes.bytes_of(name) or 0 for name in node.get_buffer_names())


def frees_a_large_tensor(node) -> bool:
    sizes = BufferSizes(V.graph, ())
    if V.graph not in largest_bytes:
        every = (sizes.bytes_of(name) or 0 for name in V.graph.name_to_buffer)
        largest_bytes[V.graph] = max(every, default=0)
    read_last = (sizes.bytes_of(name) or sizes.argument_bytes_of(name) or 0 for name in node.last_usage)
    return max(read_last, default=0) > max(SMALL_BYTES, largest_bytes[V.graph] // LARGE_SHARE)


# Each of these does as inductor does in graphs that follow no plan.
Scheduler.are_long_distant_nodes = are_apart
AllocateLine.should_reuse_buffer = is_kept
GraphLowering.run_node = lower_node
CppScheduling.codegen_node = generate
