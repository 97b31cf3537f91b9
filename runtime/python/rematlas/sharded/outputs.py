"""Outputs that are DTensors. A step makes their parts on this rank; the caller gets the DTensors."""

import functools
import typing

import torch

from ..calls import structure
from ..library import ops
from .parts import OTHER_PLACEMENTS, Whole, dtensor, is_dtensor

UNKNOWN = (
    "the placements of the gradient of an output that is a DTensor are not known before the first backward"
)


class OutputForm(typing.NamedTuple):
    """An output that is a DTensor. `place`: its position among the output tensors. `gradient` and `size`: the
    spec of its gradient, and the size of the gradient's part on this rank; None without a gradient."""

    place: int
    spec: object
    gradient: object
    size: object

    def whole(self, part):
        """Returns the DTensor whose part on this rank is `part`."""
        if self.gradient is None:
            return dtensor(part.detach(), self.spec)
        if part.size() != self.size:
            ops.expect_gradient(part, self.size, part.dtype)
        return Whole.apply(part, self.spec, self.part_of_gradient)

    def part_of_gradient(self, gradient):
        if gradient.placements != self.gradient.placements:
            raise RuntimeError(f"rematlas: {OTHER_PLACEMENTS}")
        part = gradient._local_tensor
        return part.wait() if hasattr(part, "wait") else part


class OutputPart(torch.autograd.Function):
    """The part of an output on this rank. `gradient`: the spec of the DTensor that the backward makes from
    the part's gradient."""

    @staticmethod
    def forward(context, whole, gradient):
        context.gradient = gradient
        part = whole._local_tensor
        return (part.wait() if hasattr(part, "wait") else part).detach()

    @staticmethod
    def backward(context, part):
        return dtensor(part, context.gradient), None


class OutputForms:
    """The facts that backwards have shown about the gradients of a module's outputs."""

    def __init__(self):
        self.known = {}  # (spec of the gradient, size of its part) by position and spec of the output

    def parts(self, output):
        """Returns the output with this rank's parts in place of its DTensors, and the OutputForms of these
        DTensors. If the gradient of a DTensor is not known yet, returns the output itself and None; the next
        backward notes the gradient."""
        template, tensors = structure.flatten(output)
        forms, is_known = [], True
        for place, tensor in enumerate(tensors):
            if not is_dtensor(tensor):
                continue
            key = place, tensor._spec
            if tensor.requires_grad and key not in self.known:
                tensor.register_hook(functools.partial(self.note, key))
                is_known = False
            gradient, size = self.known.get(key, (None, None)) if tensor.requires_grad else (None, None)
            forms.append(OutputForm(place, tensor._spec, gradient, size))
        if not forms:
            return output, ()
        if not is_known:
            return output, None
        for form in forms:
            part = OutputPart.apply(tensors[form.place], form.gradient)
            if form.gradient is not None and part.size() != form.size:
                ops.expect_gradient(part, form.size, part.dtype)
            tensors[form.place] = part
        return structure.rebuild(template, tensors), tuple(forms)

    def expect_alike(self, output) -> None:
        """Assumes that the gradient of each DTensor in the output has the same placements as the DTensor."""
        for place, tensor in enumerate(structure.flatten(output)[1]):
            if is_dtensor(tensor) and tensor.requires_grad:
                self.known.setdefault((place, tensor._spec), (tensor._spec, tensor._local_tensor.size()))

    def note(self, key, gradient) -> None:
        if is_dtensor(gradient):
            self.known[key] = gradient._spec, gradient._local_tensor.size()


def with_wholes(output, forms):
    """Returns the output with the DTensors of these forms in place of their parts."""
    if not forms:
        return output
    template, tensors = structure.flatten(output)
    for form in forms:
        tensors[form.place] = form.whole(tensors[form.place])
    return structure.rebuild(template, tensors)
