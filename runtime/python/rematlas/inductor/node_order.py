"""The outputs of graphs of torch.fx, and graphs with their nodes in another order."""

from torch import fx


def output_of(graph: fx.Graph) -> fx.Node:
    """Returns the node that the graph ends with."""
    return next(iter(graph.find_nodes(op="output")))


def outputs_of(graph: fx.Graph) -> tuple:
    """Returns the outputs of the graph: nodes, and None for an output that is no tensor."""
    return tuple(output_of(graph).args[0])


def in_order(module: fx.GraphModule, names) -> fx.GraphModule:
    """Returns the module with the named nodes in the order of the names. The nodes that a named node reads
    come right before it, and all other nodes follow in their former order."""
    new, made = fx.Graph(), {}
    nodes = {node.name: node for node in module.graph.nodes}

    def bring(node) -> None:
        rest = [node]
        while rest:
            missing = [read for read in rest[-1].all_input_nodes if read not in made]
            if missing:
                rest.extend(missing)
                continue
            brought = rest.pop()
            if brought not in made:
                made[brought] = new.node_copy(brought, made.__getitem__)

    for node in module.graph.find_nodes(op="placeholder"):
        bring(node)
    for name in names:
        if name in nodes:
            bring(nodes[name])
    for node in module.graph.nodes:
        bring(node)
    return fx.GraphModule(module, new)


def copied(module: fx.GraphModule) -> fx.GraphModule:
    """Returns the module with a graph of its own, because passes of torch change graphs in place."""
    return in_order(module, ())
