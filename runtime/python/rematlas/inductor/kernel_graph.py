"""The joint graph of a compiled step as a training graph of kernels.

A tensor of the training graph is a node whose value inductor writes to memory. A node that is read by only
one kernel is computed within that kernel and takes no memory.
"""

import dataclasses
import operator

from torch.fx import Graph, Node

from .kernel_costs import bytes_of
from .node_classes import RANDOM_PACKETS, NodeClass, class_of, is_tensor, packet_of
from .node_order import outputs_of

MOST_INLINED = 30  # the most nodes computed within a kernel, as inductor's realize_opcount_threshold
SMALL = 8  # a tensor is small compared with another one that is at least this many times as large


@dataclasses.dataclass
class Kernel:
    node: Node
    reads: list  # nodes whose values are in memory, each node once
    makes: list  # nodes of the tensors that the kernel writes to memory
    computes: list  # all nodes that the kernel computes, `node` last
    is_forward: bool


@dataclasses.dataclass
class KernelGraph:
    kernels: list
    inputs: list  # nodes of tensors that exist before the step
    tangents: list  # nodes of gradients that the caller's backward makes between forward and backward
    forward_results: list  # nodes of tensors that forward returns to the caller
    backward_results: list  # nodes of tensors that backward returns


def base_of(node: Node) -> Node:
    """Returns the node whose memory holds the value of `node`."""
    while class_of(node) is NodeClass.VIEW:
        node = node.args[0] if isinstance(node.args[0], Node) else node.all_input_nodes[0]
    return node


def is_tangent(node: Node) -> bool:
    return node.op == "placeholder" and "tangents" in str(node.target)


class _Builder:
    def __init__(self, graph: Graph, is_forward):
        self.nodes = [node for node in graph.nodes if node.op != "output"]
        self.class_of = {node: class_of(node) for node in self.nodes}
        self.is_forward = is_forward
        self.in_memory = set()
        self.reads_memory = set()  # all nodes, except sizes and values computed only from sizes and constants
        for node in self.nodes:
            kind = self.class_of[node]
            if kind in (NodeClass.FUSED, NodeClass.VIEW):
                reads_memory = any(read in self.reads_memory for read in node.all_input_nodes)
            else:
                reads_memory = kind is not NodeClass.VALUE or node.target is operator.getitem
            if reads_memory:
                self.reads_memory.add(node)

    def parts(self, node: Node) -> list:
        """Returns the nodes of the tensors that the kernel of this node writes."""
        if is_tensor(node):
            return [node]
        return [part for user in node.users if user.target is operator.getitem for part in self.parts(user)]

    def value_nodes(self, node: Node) -> list:
        """Returns the nodes whose values this node reads. For a view or a part of a tuple, returns the node
        that made the value."""
        found, seen, rest = [], set(), list(node.all_input_nodes)
        while rest:
            read = rest.pop()
            if read in seen:
                continue
            seen.add(read)
            if self.class_of[read] is NodeClass.VIEW:
                rest.extend(read.all_input_nodes)
            else:
                found.append(read)
        return found

    def find_tensors_in_memory(self, results) -> None:
        """Finds the fused nodes whose values inductor writes to memory: nodes that are results, or that an
        extern kernel or several kernels read."""
        readers = {node: set() for node in self.nodes}
        for node in results:
            readers[base_of(node)] |= {None, "result"}
        for node in reversed(self.nodes):
            kind = self.class_of[node]
            if kind is NodeClass.VIEW:
                for read in node.all_input_nodes:
                    readers[read] |= readers[node]
                continue
            if kind in (NodeClass.VALUE, NodeClass.INPUT):
                continue
            if kind is NodeClass.FUSED and len(readers[node]) > 1 and node in self.reads_memory:
                self.in_memory.add(node)
            of_inputs = {node}
            if kind is NodeClass.FUSED and node not in self.in_memory:
                of_inputs = readers[node]
            elif kind is NodeClass.EXTERN:
                of_inputs = {node, "extern"}
            for read in node.all_input_nodes:
                readers[read] |= of_inputs
        for node in self.nodes:
            if (
                node in self.in_memory
                and not readers[node] & {"result", "extern"}
                and self.follows_from_one(node)
            ):
                self.in_memory.remove(node)

    def follows_from_one(self, node: Node) -> bool:
        """Says whether a fused node is computed from a single tensor in memory that is not larger than the
        node itself. Small tensors are ignored (see SMALL). Each kernel that reads such a node computes it
        again, because saving the node for backward is no better than saving that tensor. Returns False if the
        node's kernel computes more than MOST_INLINED nodes, or if it computes random numbers, because they
        must be drawn only once."""
        kernel = self.kernel(node)
        size = bytes_of(node)
        large = [bytes_of(read) for read in kernel.reads if SMALL * bytes_of(read) > size]
        if len(large) > 1 or sum(large) > size or len(kernel.computes) > MOST_INLINED:
            return False
        return not any(packet_of(computed) in RANDOM_PACKETS for computed in kernel.computes)

    def kernel(self, node: Node) -> Kernel:
        reads, computes, rest, seen = [], [], [node], set()
        while rest:
            computed = rest.pop()
            computes.append(computed)
            for read in self.value_nodes(computed):
                if read in seen:
                    continue
                seen.add(read)
                kind = self.class_of[read]
                if kind is NodeClass.FUSED and read not in self.in_memory:
                    rest.append(read)
                elif is_tensor(read):
                    reads.append(read)
        makes = self.parts(node)
        return Kernel(node, reads, makes, computes[::-1], self.is_forward(node))

    def kernels(self) -> list:
        kinds = (NodeClass.REDUCTION, NodeClass.EXTERN)
        return [
            self.kernel(node) for node in self.nodes if self.class_of[node] in kinds or node in self.in_memory
        ]


def kernel_graph(graph: Graph, is_forward, forward_count: int) -> KernelGraph:
    """Returns the graph of kernels. `is_forward(node)`: whether the outputs of forward need the node.
    `forward_count`: the number of outputs of forward."""
    builder = _Builder(graph, is_forward)
    outputs = outputs_of(graph)
    results = [node for node in outputs if isinstance(node, Node) and is_tensor(node)]
    builder.find_tensors_in_memory(results)
    inputs = [node for node in builder.nodes if builder.class_of[node] is NodeClass.INPUT]

    def of_outputs(some):
        return list(dict.fromkeys(base_of(n) for n in some if isinstance(n, Node) and is_tensor(n)))

    return KernelGraph(
        builder.kernels(),
        [node for node in inputs if not is_tangent(node)],
        [node for node in inputs if is_tangent(node)],
        of_outputs(outputs[:forward_count]),
        of_outputs(outputs[forward_count:]),
    )
