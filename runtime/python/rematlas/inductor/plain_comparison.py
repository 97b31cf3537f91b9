"""Compares the outputs and gradients of a compiled step with those of the same step under torch.compile
alone."""

import dataclasses

import torch
from torch.utils import _pytree as pytree

from ..errors import Refused

# A kernel that is fused in another way rounds in another way. So entries may differ by this share of the
# largest entry.
TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}


@dataclasses.dataclass(frozen=True)
class Difference:
    """The largest difference between entries of two tensors, as a share of the largest entry of the tensor
    that torch.compile alone computes."""

    outputs: float  # among the outputs
    gradients: float  # among the gradients


def rounding_of(graph) -> float:
    """Returns the largest tolerance of the types that the graph computes with. A result in float32 may
    have been computed from numbers that were rounded to bfloat16."""
    values = (node.meta.get("val") for node in graph.nodes)
    types = {value.dtype for value in values if isinstance(value, torch.Tensor)}
    return max((TOLERANCES.get(dtype, 0.0) for dtype in types), default=0.0)


def difference(ours, plain, state, rounding: float) -> Difference:
    """Runs both functions and their backwards from the same state, and returns how much their results differ.
    Random numbers serve as gradients of the outputs; they are the same for both functions. `state`: a
    StepState, which is restored after each run. `rounding`: the largest result of `rounding_of` for a graph
    of the step. Raises Refused if outputs or gradients differ by more than rounding errors."""
    wanted, found = outcome(plain, state), outcome(ours, state)
    both = ("output", "gradient")
    return Difference(*(farthest(what, found[what], wanted[what], rounding) for what in both))


def outcome(function, state) -> dict[str, dict]:
    """Runs the function and its backward. Returns the outputs by position, and the gradients by the id of
    the tensor that they belong to, all copied to the host."""
    outputs = [value for value in pytree.tree_leaves(function()) if isinstance(value, torch.Tensor)]
    ends = [output for output in outputs if output.requires_grad]
    leaves = leaves_of(ends)
    generator = torch.Generator().manual_seed(0)
    given = [
        torch.randn(end.shape, generator=generator).to(device=end.device, dtype=end.dtype) for end in ends
    ]
    gradients = torch.autograd.grad(ends, leaves, given, allow_unused=True) if leaves else ()
    found = {
        "output": {number: on_host(tensor) for number, tensor in enumerate(outputs)},
        "gradient": {
            id(leaf): on_host(gradient) for leaf, gradient in zip(leaves, gradients) if gradient is not None
        },
    }
    state.put_back()
    return found


def on_host(tensor):
    """Returns a copy on the host. A host tensor is copied, too, because an output may be a buffer, which is
    restored later."""
    return tensor.detach().to("cpu", copy=True)


def farthest(what: str, found: dict, wanted: dict, rounding: float) -> float:
    """Returns the largest `distance` between two tensors with the same key. Raises Refused if a distance is
    more than rounding errors, or if the keys differ."""
    advice = "train without a budget, and please report it"
    if found.keys() != wanted.keys():
        raise Refused(
            f"rematlas: the compiled step has {len(found)} {what}s, and under torch.compile alone it has"
            f" {len(wanted)}, of other tensors: {advice}"
        )
    most = 0.0
    for number, (key, expected) in enumerate(wanted.items()):
        apart = distance(found[key], expected)
        of_type = TOLERANCES.get(expected.dtype)
        if not apart <= (0.0 if of_type is None else max(of_type, rounding)):
            raise Refused(
                f"rematlas: {what} {number} of the compiled step is {apart:.1e} of its largest entry apart"
                f" from what torch.compile alone computes: {advice}"
            )
        most = max(most, apart)
    return most


def leaves_of(ends) -> list:
    """Returns the leaf tensors that get gradients in a backward from the tensors `ends`."""
    found, seen = {}, set()
    rest = [end.grad_fn for end in ends if end.grad_fn is not None]
    while rest:
        node = rest.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found[id(node.variable)] = node.variable
        rest.extend(following for following, _ in node.next_functions if following is not None)
    return list(found.values())


def distance(a, b) -> float:
    """Returns the largest difference between entries of the two tensors, as a share of the largest entry of
    `b`. The result is infinite if shapes or types differ, if tensors of integers differ, or if the tensors
    are not finite at the same places."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    if a.numel() == 0:
        return 0.0
    if not a.is_floating_point():
        return 0.0 if torch.equal(a, b) else float("inf")
    a, b = a.double(), b.double()
    if not torch.equal(a.isfinite(), b.isfinite()):
        return float("inf")
    a, b = a.nan_to_num(), b.nan_to_num()
    return float((a - b).abs().max() / b.abs().max().clamp(min=1e-6))
