"""Has inductor keep to the plan when it lowers a graph. What this needs of torch is private there.

A plan says which tensors lie in memory, in which order kernels run, and when tensors are freed. Inductor
departs from each of these where that saves a kernel or an allocation; graphs without a plan are left to it.
"""

import weakref

from torch import fx
from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.codegen.wrapper import AllocateLine
from torch._inductor.fx_passes import post_grad
from torch._inductor.graph import GraphLowering
from torch._inductor.ir import ConcatKernel, Operation, StorageBox, TensorBox
from torch._inductor.scheduler import Scheduler
from torch._inductor.virtualized import V

from .generated_code import BufferSizes
from .node_order import output_of

PLANNED = "rematlas_planned"  # among the metadata of the output of a graph
IN_MEMORY = "rematlas_in_memory"  # among the metadata of a node
SMALL_BYTES = 1 << 16
LARGE_SHARE = 16  # of the largest tensor of a graph
NEAR = 4  # kernels of a plan that are so far apart are still fused
largest_bytes = weakref.WeakKeyDictionary()  # by graph that is lowered

fused_by_inductor = Scheduler.are_long_distant_nodes
fused_with_reader_by_inductor = Scheduler.can_fuse_vertical
kept_by_inductor = AllocateLine.should_reuse_buffer
lower_by_inductor = GraphLowering.run_node
generate_by_inductor = CppScheduling.codegen_node
reorder_by_inductor = post_grad.reorder_for_locality
concatenate_by_inductor = ConcatKernel.can_realize_into_without_copy
realize_by_inductor = StorageBox.should_realize_on_reuse
prefer_channels_last_by_inductor = GraphLowering.find_nodes_prefer_channels_last


def follow_the_plan(module: fx.GraphModule, in_memory) -> None:
    """Marks a graph that follows a plan. `in_memory`: names of nodes that are kernels of the plan."""
    output_of(module.graph).meta[PLANNED] = True
    for node in module.graph.nodes:
        if node.name in in_memory:
            node.meta[IN_MEMORY] = True


def reorder(graph: fx.Graph) -> None:
    """Nodes stay where the plan has them. Inductor moves each to the first that reads it."""
    if PLANNED not in output_of(graph).meta:
        reorder_by_inductor(graph)


def nodes_in_channels_last(lowering):
    """A weight that backward reads stays the parameter. Inductor saves the copy in channels-last order that
    forward's convolution reads, so that all weights are in memory twice."""
    nodes = prefer_channels_last_by_inductor(lowering)
    if PLANNED in output_of(lowering.module.graph).meta:
        nodes -= {node for node in nodes if node.op == "placeholder"}
    return nodes


def lower_node(lowering, node):
    """A kernel of the plan is computed where it stands in the order. Inductor computes it where it is read,
    so that what it reads itself would live until then."""
    made = lower_by_inductor(lowering, node)
    if node.meta.get(IN_MEMORY) and isinstance(made, TensorBox):
        made.realize()
    return made


def is_realized(box, *users, **options) -> bool:
    """What the plan does not hold in memory is computed in each kernel that reads it, unless that is much.
    On the CPU inductor would hold exponentials and sums of many tensors in memory."""
    node = V.get_current_node() if is_planned() else None
    if not isinstance(node, fx.Node) or node.meta.get(IN_MEMORY):
        return realize_by_inductor(box, *users, **options)
    return box.has_large_inner_fn()


def lies_in_whole(_, part, whole=None) -> bool:
    """A part is written into the memory of what it is concatenated to, but not where the plan computes the
    part long before: all of the whole would be in memory from then on."""
    box = part.data if isinstance(part, TensorBox) else part
    made = getattr(box, "data", None)
    if isinstance(made, Operation) and is_planned() and made in V.graph.operations[:-NEAR]:
        return False
    return concatenate_by_inductor(part, whole)


def are_apart(scheduler, first, second) -> bool:
    """Kernels side by side are not fused where the later one writes a large tensor: the tensor would be there
    before those are freed that the earlier kernel is the last to read. Where the earlier one reads or writes
    a large tensor, the two are not fused across others, which may need that tensor or its memory."""
    if fused_by_inductor(scheduler, first, second):
        return True
    earlier, later = sorted((first, second), key=lambda node: node.min_order)
    distance = later.min_order - earlier.max_order
    if distance <= 0 or not is_planned():
        return False
    return written_bytes(later) > SMALL_BYTES or (distance > NEAR and works_on_much(earlier))


def may_fuse_with_reader(scheduler, writer, reader, *others) -> bool:
    """A kernel that reads or writes a large tensor is not fused with one that reads its result much later:
    what needs the one tensor, or the memory of the other, would wait until then."""
    is_far = reader.min_order - writer.max_order > NEAR
    if is_far and is_planned() and works_on_much(writer):
        return False
    return fused_with_reader_by_inductor(scheduler, writer, reader, *others)


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


def most_bytes(names) -> int:
    """Returns the bytes of the largest of the named buffers and arguments."""
    sizes = BufferSizes(V.graph, ())
    return max((sizes.bytes_of(name) or sizes.argument_bytes_of(name) or 0 for name in names), default=0)


def works_on_much(node) -> bool:
    """Says whether the kernel reads or writes a large tensor."""
    read = {dependency.name for dependency in node.read_writes.reads}
    return most_bytes(read) > SMALL_BYTES or written_bytes(node) > SMALL_BYTES


def frees_a_large_tensor(node) -> bool:
    if V.graph not in largest_bytes:
        largest_bytes[V.graph] = most_bytes(V.graph.name_to_buffer)
    return most_bytes(node.last_usage) > max(SMALL_BYTES, largest_bytes[V.graph] // LARGE_SHARE)


# Each of these does as inductor does in graphs that follow no plan.
Scheduler.are_long_distant_nodes = are_apart
Scheduler.can_fuse_vertical = may_fuse_with_reader
AllocateLine.should_reuse_buffer = is_kept
GraphLowering.run_node = lower_node
GraphLowering.find_nodes_prefer_channels_last = nodes_in_channels_last
CppScheduling.codegen_node = generate
ConcatKernel.can_realize_into_without_copy = classmethod(lies_in_whole)
StorageBox.should_realize_on_reuse = is_realized
post_grad.reorder_for_locality = reorder
