"""Sizes of tensors that differ from call to call, and how much they may grow until the budget is exceeded.

A graph with such sizes is planned for the call that is compiled. Its memory, which is read from the code that
inductor generates, is also computed for sizes that are larger by each of FACTORS. The largest sizes that keep
the budget become a limit of the compiled graph. For a call beyond the limit, dynamo compiles the graph again.
"""

import sympy
import torch
from torch import fx

from .kernel_costs import hint

FACTORS = (1.25, 1.5, 2, 3, 4)


class LargerSizes:
    """All sizes that may change, multiplied by a factor."""

    def __init__(self, sizes: dict, factor: float):
        self.factor = factor
        self.values = {symbol: sympy.Integer(int(value * factor)) for symbol, value in sizes.items()}

    def put_into(self, expression):
        return expression.xreplace(self.values)

    def number(self, number) -> int:
        """Returns the value of a tensor's size, or of a product of sizes, for these larger sizes."""
        if isinstance(number, int):
            return number
        return int(self.put_into(number.node.expr))

    def workspace(self, measured: int) -> int:
        """Returns an upper estimate of a kernel's workspace: the workspace is assumed to grow in proportion
        to each size."""
        return int(measured * self.factor ** len(self.values))


def sizes_that_change(graph: fx.Graph) -> dict:
    """Returns the sizes that may change, by their symbols, with their values in the compiled call."""
    return {value.node.expr: hint(value) for value in symbols(graph)}


def symbols(graph: fx.Graph) -> list[torch.SymInt]:
    values = [node.meta.get("val") for node in graph.find_nodes(op="placeholder")]
    return [
        value
        for value in values
        if isinstance(value, torch.SymInt) and value.node.expr.is_symbol and value.node.has_hint()
    ]


def limit(graph: fx.Graph, factor: float) -> None:
    """Makes dynamo compile the graph again for sizes that are larger by more than this factor."""
    for value in symbols(graph):
        bool(value <= int(hint(value) * factor))  # the comparison becomes a guard of the compiled code
