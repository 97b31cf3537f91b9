"""Makes inductor follow the plan when it lowers a graph. This file uses private parts of torch.

A plan says which tensors are written to memory, in which order kernels run, and when tensors are freed.
By itself, inductor would deviate from all this where that saves a kernel or an allocation. For graphs without
a plan nothing changes.
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

PLANNED = "rematlas_planned"  # key in the metadata of a graph's output node
IN_MEMORY = "rematlas_in_memory"  # key in the metadata of a node
SMALL_BYTES = 1 << 16
LARGE_SHARE = 16  # a large tensor has more than SMALL_BYTES and 1/16 of the largest tensor's bytes
NEAR = 4  # kernels may be fused if they are at most this many places apart in the plan
largest_bytes = weakref.WeakKeyDictionary()  # by lowered graph: the bytes of its largest tensor

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
    """Marks the graph as one that follows a plan. `in_memory`: the names of the nodes that the plan computes
    as kernels; their results are in memory."""
    output_of(module.graph).meta[PLANNED] = True
    for node in module.graph.nodes:
        if node.name in in_memory:
            node.meta[IN_MEMORY] = True


def reorder(graph: fx.Graph) -> None:
    """Keeps the nodes in the plan's order. Inductor would move each node to the first node that reads it."""
    if PLANNED not in output_of(graph).meta:
        reorder_by_inductor(graph)


def nodes_in_channels_last(lowering):
    """Returns the nodes that inductor lays out in channels-last order. In a planned graph, arguments are not
    among these nodes. If they were, inductor would save channels-last copies of the weights of convolutions
    for backward, and all these weights would be in memory twice."""
    nodes = prefer_channels_last_by_inductor(lowering)
    if PLANNED in output_of(lowering.module.graph).meta:
        nodes -= {node for node in nodes if node.op == "placeholder"}
    return nodes


def lower_node(lowering, node):
    """Computes a kernel of the plan at its place in the order. Inductor would compute it where its result is
    read, and would keep the kernel's own inputs allocated until then."""
    made = lower_by_inductor(lowering, node)
    if node.meta.get(IN_MEMORY) and isinstance(made, TensorBox):
        made.realize()
    return made


def is_realized(box, *users, **options) -> bool:
    """Says whether a value is written to memory. A value that the plan does not hold in memory is computed in
    each kernel that reads it, unless that is much work. On the CPU inductor would write exponentials and sums
    of many tensors to memory."""
    node = V.get_current_node() if is_planned() else None
    if not isinstance(node, fx.Node) or node.meta.get(IN_MEMORY):
        return realize_by_inductor(box, *users, **options)
    return box.has_large_inner_fn()


def lies_in_whole(_, part, whole=None) -> bool:
    """Says whether a part of a concatenation is written directly into the memory of the concatenated tensor.
    The result is False if the plan computes the part long before the concatenation, because the memory of the
    whole tensor would then be allocated too early."""
    box = part.data if isinstance(part, TensorBox) else part
    made = getattr(box, "data", None)
    if isinstance(made, Operation) and is_planned() and made in V.graph.operations[:-NEAR]:
        return False
    return concatenate_by_inductor(part, whole)


def are_apart(scheduler, first, second) -> bool:
    """Says whether two kernels that do not read each other's results must stay apart. There are two reasons.
    If the later kernel writes more than SMALL_BYTES, a fused kernel would allocate this memory before the
    tensors that only the earlier kernel needs are freed. If the kernels are far apart in the plan and the
    earlier one reads or writes more than SMALL_BYTES, kernels between the two may need that memory."""
    if fused_by_inductor(scheduler, first, second):
        return True
    earlier, later = sorted((first, second), key=lambda node: node.min_order)
    distance = later.min_order - earlier.max_order
    if distance <= 0 or not is_planned():
        return False
    return written_bytes(later) > SMALL_BYTES or (distance > NEAR and works_on_much(earlier))


def may_fuse_with_reader(scheduler, writer, reader, *others) -> bool:
    """Says whether a kernel may be fused with a kernel that reads its result. The result is False if the
    reader comes much later and the writer reads or writes more than SMALL_BYTES: kernels in between that need
    this memory would have to wait for the fused kernel."""
    is_far = reader.min_order - writer.max_order > NEAR
    if is_far and is_planned() and works_on_much(writer):
        return False
    return fused_with_reader_by_inductor(scheduler, writer, reader, *others)


def generate(scheduling, node) -> None:
    """Generates code for a kernel. On the CPU, inductor puts several kernels into one function, and the
    tensors that the function reads are freed only when the function ends. So the function ends after a kernel
    that is the last one to read a large tensor."""
    generate_by_inductor(scheduling, node)
    if is_planned() and frees_a_large_tensor(node):
        scheduling._set_flush_status(True)


def is_kept(line, free_line, size) -> bool:
    """Says whether a freed buffer is kept for reuse. In a planned graph a buffer above SMALL_BYTES is kept
    only for the next kernel. Inductor would also keep it for a later kernel if its own estimate of the peak
    allowed that, but the estimate counts views twice."""
    if not kept_by_inductor(line, free_line, size):
        return False
    is_next = free_line.scheduler_node_index + 1 == line.scheduler_node_index
    return is_next or size <= SMALL_BYTES or not is_planned()


def is_planned() -> bool:
    """Says whether the graph that inductor is lowering follows a plan."""
    return PLANNED in output_of(V.graph.graph).meta


def written_bytes(node) -> int:
    sizes = BufferSizes(V.graph, ())
    return sum(sizes.bytes_of(name) or 0 for name in node.get_buffer_names())


def most_bytes(names) -> int:
    """Returns the bytes of the largest among the named buffers and arguments."""
    sizes = BufferSizes(V.graph, ())
    return max((sizes.bytes_of(name) or sizes.argument_bytes_of(name) or 0 for name in names), default=0)


def works_on_much(node) -> bool:
    """Says whether the kernel reads a tensor of more than SMALL_BYTES, or writes more than SMALL_BYTES."""
    read = {dependency.name for dependency in node.read_writes.reads}
    return most_bytes(read) > SMALL_BYTES or written_bytes(node) > SMALL_BYTES


def frees_a_large_tensor(node) -> bool:
    if V.graph not in largest_bytes:
        largest_bytes[V.graph] = most_bytes(V.graph.name_to_buffer)
    return most_bytes(node.last_usage) > max(SMALL_BYTES, largest_bytes[V.graph] // LARGE_SHARE)


# In graphs that follow no plan, each of these functions does what inductor's own function does.
Scheduler.are_long_distant_nodes = are_apart
Scheduler.can_fuse_vertical = may_fuse_with_reader
AllocateLine.should_reuse_buffer = is_kept
GraphLowering.run_node = lower_node
GraphLowering.find_nodes_prefer_channels_last = nodes_in_channels_last
CppScheduling.codegen_node = generate
ConcatKernel.can_realize_into_without_copy = classmethod(lies_in_whole)
StorageBox.should_realize_on_reuse = is_realized
post_grad.reorder_for_locality = reorder
