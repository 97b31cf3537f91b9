"""The outputs of graphs of torch.fx, and copies of graphs with their nodes in another order."""

from torch import fx


def output_of(graph: fx.Graph) -> fx.Node:
    """Returns the output node, the last node of the graph."""
    return next(iter(graph.find_nodes(op="output")))


def outputs_of(graph: fx.Graph) -> tuple:
    """Returns the outputs of the graph: nodes, and None for each output that is not a tensor."""
    return tuple(output_of(graph).args[0])


def in_order(module: fx.GraphModule, names) -> fx.GraphModule:
    """Returns a copy of the module with the named nodes in the order of the names. If a named node reads a
    node that is not named, that node comes right before it. All other nodes follow in their former order."""
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
    """Returns the module with its own copy of the graph. Passes of torch, which change graphs in place, then
    leave the original graph as it is."""
    return in_order(module, ())
