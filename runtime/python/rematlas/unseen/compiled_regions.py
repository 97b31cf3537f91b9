"""Turns each region that inductor has compiled into one op in the forward of a step, and one op in its
backward.

This file uses private parts of torch. The text of a compiled graph shows what the graph computes. The class
of autograd's node shows which of the saved tensors a backward graph overwrites.
"""

import hashlib
import itertools
import re
from typing import NamedTuple

import torch

from .. import compiled_code_calls
from ..calls.offloading import storage_of
from . import calls

OF_A_DEVICE = re.compile(r"(?<=cuda:)\d+|(?<=cuda, )\d+|(?<=stream)\d+|(?<=Guard\()\d+|(?<=device\()\d+")
COMMENT = re.compile(r"#.*")
DRAWS = re.compile(
    r"\brandn?\b|randint|randperm|rand_like|randn_like|seed|bernoulli|_attention|uniform|normal_|multinomial"
    r"|exponential|philox|generator|rng_state"
)
KEY = "_rematlas_key"
with_constants = itertools.count()


def watch() -> None:
    """From now on turns each run of a compiled graph into an op, if the run happens in a recorded step."""
    compiled_code_calls.wrap(call)


def call(run, graph, inputs):
    return call_as_op(graph, inputs, run) if calls.is_recorded() else run(graph, inputs)


def call_as_op(graph, inputs, run):
    why = why_no_op(graph, inputs)
    if why:
        calls.refuse(why)
        return run(graph, inputs)
    region = Region(graph, inputs, run)
    what = calls.remember(region.name(), region.compute)
    region = calls.remembered[what].__self__
    read, written = region.tensors_of(inputs)
    inputs.clear()  # compiled code also clears its list of inputs, so that tensors are freed early
    made = calls.as_op(what, read, written, region.draws)
    return region.results(made, [*read, *written])


def why_no_op(graph, inputs) -> str:
    if calls.are_shapes_alone():
        return "the step runs code of torch.compile, of which shapes do not tell what it makes"
    if graph.fx_kwargs.get("cudagraphs"):
        return (
            "the step runs what torch.compile has made CUDA graphs of, whose tensors lie in memory of"
            " their own: compile it without mode='reduce-overhead', or plan with rematlas.compile(model,"
            " budget)"
        )
    for value in inputs:
        if not isinstance(value, torch.Tensor | int | float | None):
            return (
                f"the step runs code of torch.compile that is given a {type(value).__name__}: plan with"
                " rematlas.compile(model, budget)"
            )
    return ""


class Region:
    """A compiled graph and its inputs: the value of each input that is not a tensor; for each tensor "w" if
    the graph writes to it, otherwise "r"."""

    def __init__(self, graph, inputs, run):
        self.graph = graph
        self.run = run
        written = set(graph.mutated_input_idxs) | donated(graph)
        self.inputs = [
            ("w" if place in written else "r") if isinstance(value, torch.Tensor) else value
            for place, value in enumerate(inputs)
        ]
        self.draws = may_draw(graph.source_code)
        self.made = None  # a Made for each result; None until the graph has run

    def name(self) -> str:
        return f"code of torch.compile {key_of(self.graph)} of {self.inputs}"

    def tensors_of(self, inputs):
        """Returns the tensors that the graph reads, and the tensors that it writes to."""
        pairs = list(zip(self.inputs, inputs))
        return [value for how, value in pairs if how == "r"], [value for how, value in pairs if how == "w"]

    def compute(self, read, written):
        from_, to = iter(read), iter(written)
        given = [next(from_) if how == "r" else next(to) if how == "w" else how for how in self.inputs]
        tensors = [*read, *written]
        results = self.run(self.graph, given)
        self.made = [Made.of_result(result, tensors) for result in results]
        return [result for result, made in zip(results, self.made) if made.is_new]

    def results(self, new, tensors) -> list:
        """Returns the results of the graph. `new`: the new tensors among them, as the op has returned
        them."""
        new = iter(new)
        return [next(new) if made.is_new else made.again(tensors) for made in self.made]


class Made(NamedTuple):
    """A result of a graph. There are three cases: a new tensor; a tensor in the memory of an argument (the
    argument itself, or a result that reuses its memory), which an op may not return; or a value that is not a
    tensor."""

    is_new: bool
    value: object = None
    of: int | None = None  # for a tensor in the memory of an argument: the position of the argument
    geometry: tuple = ()

    @staticmethod
    def of_result(result, tensors):
        if not isinstance(result, torch.Tensor):
            return Made(False, result)
        for place, tensor in enumerate(tensors):
            if result is tensor:
                return Made(False, of=place)
            if storage_of(result) == storage_of(tensor):
                geometry = result.dtype, result.storage_offset(), result.shape, result.stride()
                return Made(False, of=place, geometry=geometry)
        return Made(True)

    def again(self, tensors):
        if self.of is None:
            return self.value
        tensor = tensors[self.of]
        if not self.geometry:
            return tensor
        dtype, *where = self.geometry
        with calls.unwatched():
            return torch.empty(0, dtype=dtype, device=tensor.device).set_(tensor.untyped_storage(), *where)


def donated(graph) -> set:
    """Returns the places of the inputs that a backward graph may overwrite, because nothing else holds
    them."""
    if not graph.fx_kwargs.get("is_backward"):
        return set()
    function = getattr(torch._C._current_autograd_node(), "_forward_cls", None)
    return set(getattr(getattr(function, "metadata", None), "bw_donated_idxs", None) or ())


def may_draw(text: str) -> bool:
    """Says whether the generated code calls a function that draws from torch's generators. Only the part of
    the code that launches kernels is searched, because kernels themselves draw nothing."""
    calls_of_kernels = text.rpartition("async_compile.wait")[2]
    calls_of_kernels = calls_of_kernels.partition("def get_args")[0].partition("def benchmark")[0]
    return DRAWS.search(COMMENT.sub("", calls_of_kernels)) is not None


def key_of(graph) -> str:
    """Returns a key that is equal for graphs that compute the same. The key is also the same in other
    processes, and on other devices of the same kind."""
    if KEY not in vars(graph):
        text = OF_A_DEVICE.sub("", graph.source_code)
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        # The text does not contain constants, so each graph with constants gets a separate key.
        vars(graph)[KEY] = f"{key}-{next(with_constants)}" if graph.constants else key
    return vars(graph)[KEY]
