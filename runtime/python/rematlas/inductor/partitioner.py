"""What torch.compile calls with the joint graph of forward and backward."""

import functools
import hashlib
import pathlib

from torch._inductor.custom_graph_pass import CustomPartitionerFn

from ..errors import Infeasible
from .budget import StepBudget
from .compiled_graph import BudgetedGraph


@functools.cache
def digest_of_sources() -> str:
    """Graphs that other versions of this package have cut are not taken from torch's cache."""
    digest = hashlib.sha256()
    for path in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Partitioner(CustomPartitionerFn):
    """Keeps a budget. `graphs`: a CompiledGraph for each graph that was cut, in the order of the step."""

    def __init__(self, budget: StepBudget, seconds: float):
        self.budget = budget
        self.seconds = seconds
        self.graphs = []
        self.refusal = None  # Infeasible
        self.beside_bytes = 0  # when the step was called first: part of the key of torch's cache

    def __deepcopy__(self, memo):
        """torch copies the options that it is given, and the graphs are told here."""
        return self

    def uuid(self):
        return f"rematlas {digest_of_sources()} {self.budget.text} {self.seconds} {self.beside_bytes}"

    def __call__(self, gm, joint_inputs, **kwargs):
        try:
            cut, told = BudgetedGraph(gm, joint_inputs, kwargs, self.budget, self.seconds).cut()
        except Infeasible as refusal:
            self.refusal = refusal
            raise
        self.graphs.append(told)
        return cut.modules
