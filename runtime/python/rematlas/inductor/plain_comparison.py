"""A compiled step beside the same step as torch.compile alone compiles it: outputs and gradients."""

import dataclasses

import torch
from torch.utils import _pytree as pytree

from ..errors import Refused

# Kernels that are fused otherwise round otherwise. Entries may differ by so much of the largest entry.
TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}


@dataclasses.dataclass(frozen=True)
class Difference:
    """The largest differences of entries, relative to the largest entry of their tensor."""

    outputs: float
    gradients: float


def difference(ours, plain, state) -> Difference:
    """Runs both functions from one state on, with the same numbers in place of the gradients that the loss
    would give, and returns how far they are apart. `state`: a StepState, which is put back after each. Raises
    Refused where outputs or gradients differ by more than rounding."""
    wanted, found = outcome(plain, state), outcome(ours, state)
    return Difference(*(farthest(what, found[what], wanted[what]) for what in ("output", "gradient")))


def outcome(function, state) -> dict[str, dict]:
    """Returns outputs by their number and gradients by the identity of their tensor, in the memory of the
    host."""
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
    """Returns a copy, for a buffer that is returned is put back."""
    return tensor.detach().to("cpu", copy=True)


def farthest(what: str, found: dict, wanted: dict) -> float:
    """Returns the largest distance of two tensors with the same key. Raises Refused."""
    advice = "train without a budget, and please report it"
    if found.keys() != wanted.keys():
        raise Refused(
            f"rematlas: the compiled step has {len(found)} {what}s, and under torch.compile alone it has"
            f" {len(wanted)}, of other tensors: {advice}"
        )
    most = 0.0
    for number, (key, expected) in enumerate(wanted.items()):
        apart = distance(found[key], expected)
        if not apart <= TOLERANCES.get(expected.dtype, 0.0):
            raise Refused(
                f"rematlas: {what} {number} of the compiled step is {apart:.1e} of its largest entry apart"
                f" from what torch.compile alone computes: {advice}"
            )
        most = max(most, apart)
    return most


def leaves_of(ends) -> list:
    """Returns the tensors that get gradients from the ends."""
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
    """Returns the largest difference of two tensors, relative to the largest entry of the second; infinite
    where one has what is no number, or another shape."""
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
