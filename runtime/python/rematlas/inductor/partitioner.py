"""The partitioner that torch.compile calls with the joint graph of forward and backward."""

import functools
import hashlib
import pathlib

from torch._inductor.custom_graph_pass import CustomPartitionerFn

from ..compiled.memory import peak_bytes, reset_peak
from ..errors import Infeasible
from .budget import StepBudget
from .code_runs import left_out
from .compiled_graph import BudgetedGraph
from .generated_code import take_codes
from .kernel_costs import device_of_inputs
from .larger_sizes import limit
from .plain_comparison import rounding_of
from .several_graphs import SeveralGraphs, WhatIsLeft

# With CUDA graphs, inductor would move kernels into functions of their own, in another order than planned.
IN_ONE_FUNCTION = {"graph_partition": False}


@functools.cache
def digest_of_sources() -> str:
    """Returns a digest of this package's sources. It is a part of the cache key, so that torch does not reuse
    graphs that another version of this package has cut."""
    digest = hashlib.sha256()
    for path in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Partitioner(CustomPartitionerFn):
    """Cuts the joint graphs of a step so that the step keeps a budget. `way`: how several graphs share the
    budget. `graphs`: a CompiledGraph for each graph that was cut, in the order of the step."""

    def __init__(self, budget: StepBudget, seconds: float, way: WhatIsLeft):
        self.budget = budget
        self.seconds = seconds
        self.way = way
        self.graphs = []
        self.rounding = 0.0  # the largest result of `rounding_of` for a graph that was cut
        self.refusal = None  # the Infeasible or SeveralGraphs that ended the last compilation
        self.codes = {}  # the code of the graphs that were cut, until torch asks for it
        take_codes(lambda partitioner: partitioner.codes if isinstance(partitioner, Partitioner) else None)
        # Parts of the key of torch's cache. `beside_bytes`: tensors outside of the step at its first call, in
        # MiB. `more_bytes`: bytes that the caller held at a later compilation in addition.
        self.beside_bytes = self.more_bytes = 0
        # The peak bytes of the call before planning. Planning runs kernels to measure them, and their peaks
        # must not count.
        self.peak_before = 0
        self.passing_bytes = 0  # bytes of the copied state, which exists only during the first call

    def __deepcopy__(self, memo):
        """Returns the object itself. Torch makes a deep copy of its options, but this object must see the
        graphs."""
        return self

    def __getstate__(self):
        """Returns the state that torch pickles for the key of its cache, and with a compiled module."""
        return {"uuid": self.uuid(), "budget": self.budget, "seconds": self.seconds}

    def __setstate__(self, state):
        """Makes the partitioner of `compile_options` for the same budget. In this way a compiled module that
        was pickled keeps its budget, but no step of it is measured."""
        self.__init__(state["budget"], state["seconds"], WhatIsLeft())

    def uuid(self):
        return f"{self.step_key()} {self.way.key}"

    def step_key(self) -> str:
        """Returns the part of the cache key that is the same for all ways to cut a step."""
        parts = (
            "rematlas",
            digest_of_sources(),
            self.budget.text,
            self.seconds,
            self.beside_bytes,
            self.more_bytes,
        )
        return " ".join(map(str, parts))

    def __call__(self, gm, joint_inputs, **kwargs):
        device = device_of_inputs(gm)
        self.peak_before = max(self.peak_before, peak_bytes(device))
        self.rounding = max(self.rounding, rounding_of(gm.graph))
        try:
            with left_out():
                given = (self.budget, self.seconds, self.passing_bytes)
                graph = BudgetedGraph(gm, joint_inputs, kwargs, *given)
                modules, told = self.way.cut(graph)
        except (Infeasible, SeveralGraphs) as refusal:
            self.refusal = refusal
            raise
        limit(gm.graph, graph.growth)
        self.codes.update(graph.ahead.codes)
        if told is not None:
            self.graphs.append(told)
        reset_peak(device)
        return modules
