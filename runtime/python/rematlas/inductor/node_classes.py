"""Sorts the nodes of a joint graph by how inductor computes them: as a view, as a part of a fused kernel, or
as a kernel."""

import enum
import operator

import torch
import torch._inductor.inductor_prims
from torch.fx import Node

aten, prims = torch.ops.aten, torch.ops.prims

# Ops that inductor computes within the kernel that reads them, in addition to those that torch tags as
# pointwise.
FUSED_PACKETS = frozenset(
    {
        aten.constant_pad_nd,
        aten.embedding,
        aten.flip,
        aten.full,
        aten.full_like,
        aten.gather,
        aten.index,
        aten._unsafe_index,
        aten.repeat,
        aten.roll,
        aten.scalar_tensor,
        aten.select_scatter,
        aten.slice_scatter,
        aten.tril,
        aten.triu,
        aten.where,
        prims.inductor_lookup_seed,
        prims.iota,
    }
)
RANDOM_PACKETS = frozenset({prims.inductor_random, prims.inductor_randint})
# Ops that only change how a tensor is indexed. Their schemas do not say that they return a view.
VIEW_PACKETS = frozenset({aten._unsafe_view, aten._reshape_copy, aten.lift_fresh_copy})
# Views that keep the order of the numbers in memory.
SAME_ORDER = frozenset({aten.view, aten._unsafe_view, aten.unsqueeze, aten.squeeze, aten.alias, aten.detach})
# Attention kernels, which draw random numbers if their dropout is not zero. The values are the positions of
# the argument dropout_p.
ATTENTION_DROPOUT = {
    aten._scaled_dot_product_flash_attention_for_cpu: 3,
    aten._scaled_dot_product_flash_attention: 3,
    aten._scaled_dot_product_efficient_attention: 5,
    aten._scaled_dot_product_cudnn_attention: 5,
    aten._scaled_dot_product_fused_attention_overrideable: 4,
}


class NodeClass(enum.Enum):
    VALUE = "no tensor: a size, or a tuple that getitem takes apart"
    INPUT = "an input of the joint graph"
    VIEW = "another index into the storage of the node that it reads"
    FUSED = "computed within the kernels that read it, unless several do"
    REDUCTION = "a kernel of its own, which computes fused nodes that it reads"
    EXTERN = "a kernel of its own, which reads tensors in memory"


def packet_of(node: Node):
    return getattr(node.target, "overloadpacket", node.target)


def is_tensor(node: Node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


def returns_a_view(target) -> bool:
    schema = getattr(target, "_schema", None)
    if schema is None or schema.is_mutable:
        return False
    return any(returned.alias_info is not None for returned in schema.returns)


def class_of(node: Node) -> NodeClass:
    if node.op in ("placeholder", "get_attr"):
        return NodeClass.INPUT if is_tensor(node) else NodeClass.VALUE
    if node.target is operator.getitem:  # its argument is a tuple of views, or the result of a kernel
        of_views = class_of(node.args[0]) is NodeClass.VIEW
        return NodeClass.VIEW if of_views else NodeClass.VALUE
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return NodeClass.VALUE if isinstance(node.meta.get("val"), torch.SymInt | int) else NodeClass.EXTERN
    if not is_tensor(node) and not isinstance(node.meta.get("val"), tuple | list):
        return NodeClass.VALUE
    packet, tags = packet_of(node), node.target.tags
    if returns_a_view(node.target) or packet in VIEW_PACKETS:
        return NodeClass.VIEW
    if packet in FUSED_PACKETS | RANDOM_PACKETS or (
        torch.Tag.pointwise in tags and not node.target._schema.is_mutable
    ):
        return NodeClass.FUSED
    if torch.Tag.reduction in tags:
        return NodeClass.REDUCTION
    return NodeClass.EXTERN


def runs_once(node: Node) -> bool:
    """Says whether a second run of the node may give another value, or whether the node has effects outside
    of the graph."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return node.op == "call_function" and target is not operator.getitem
    if target._schema.is_mutable or target.namespace in ("_c10d_functional", "c10d"):
        return True
    if torch.Tag.nondeterministic_seeded not in target.tags:
        return False
    position = ATTENTION_DROPOUT.get(packet_of(node))
    if position is None:
        return True
    dropout = node.args[position] if len(node.args) > position else node.kwargs.get("dropout_p", 0.0)
    return dropout != 0.0
