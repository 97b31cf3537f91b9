"""Sizes that differ from call to call: how large they may become within a budget.

A graph of such sizes is planned for those of the call that is compiled. The text that inductor generates is
read for larger ones, too, and dynamo compiles the graph anew for a call whose sizes are beyond the largest
that keep the budget.
"""

import sympy
import torch
from torch import fx

from .kernel_costs import hint

FACTORS = (1.25, 1.5, 2, 3, 4)


class LargerSizes:
    """All sizes that may change, a factor times as large as in the call that is compiled."""

    def __init__(self, sizes: dict, factor: float):
        self.factor = factor
        self.values = {symbol: sympy.Integer(int(value * factor)) for symbol, value in sizes.items()}

    def put_into(self, expression):
        return expression.xreplace(self.values)

    def number(self, number) -> int:
        """Returns what a size of a tensor, or a product of sizes, becomes."""
        if isinstance(number, int):
            return number
        return int(self.put_into(number.node.expr))

    def workspace(self, measured: int) -> int:
        """Returns at most what a kernel's workspace becomes that grows with each of the sizes."""
        return int(measured * self.factor ** len(self.values))


def sizes_that_change(graph: fx.Graph) -> dict:
    """Returns the sizes of the call that is compiled by symbol."""
    return {value.node.expr: hint(value) for value in symbols(graph)}


def symbols(graph: fx.Graph) -> list[torch.SymInt]:
    values = [node.meta.get("val") for node in graph.find_nodes(op="placeholder")]
    return [
        value
        for value in values
        if isinstance(value, torch.SymInt) and value.node.expr.is_symbol and value.node.has_hint()
    ]


def limit(graph: fx.Graph, factor: float) -> None:
    """Lets dynamo compile the graph anew for sizes that are more than a factor larger."""
    for value in symbols(graph):
        bool(value <= int(hint(value) * factor))  # a comparison becomes a guard of what is compiled
