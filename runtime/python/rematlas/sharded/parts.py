"""The parts of DTensors on this rank. A step reads and writes only these parts."""

import sys

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from ..library import ops

OTHER_PLACEMENTS = (
    "the gradient of a DTensor has other placements than in an earlier step: plans keep the placements of the"
    " recorded step"
)


def is_dtensor(tensor) -> bool:
    """Says whether the tensor is a DTensor, without importing the package of DTensors."""
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(tensor, module.DTensor)


# For each parameter with a padding, which only FSDP2 makes: a function that returns the part on this rank,
# padded to the size of the largest part.
padded_parts = WeakTensorKeyDictionary()


def part_of(tensor):
    """Returns the part of a DTensor on this rank, with its padding. Returns any other tensor itself."""
    if not is_dtensor(tensor):
        return tensor
    padded = padded_parts.get(tensor)
    return tensor._local_tensor if padded is None else padded()


def dtensor(part, spec):
    """Returns the DTensor whose part on this rank is `part`. `spec`: a DTensorSpec; its type of numbers is
    replaced by the type of the part."""
    from torch.distributed.tensor import DTensor
    from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta

    meta = spec.tensor_meta
    if meta.dtype != part.dtype:
        spec = DTensorSpec(spec.mesh, spec.placements, TensorMeta(meta.shape, meta.stride, part.dtype))
    return DTensor(part, spec, requires_grad=part.requires_grad)


class Gradients:
    """The specs and sizes of the gradients of DTensor parameters, as recorded steps have made them. A
    gradient may have other placements than its parameter, for example Partial. Then its part on a rank also
    has another size."""

    def __init__(self):
        self.known = WeakTensorKeyDictionary()  # (spec, size of the part) by parameter

    def note(self, parameter, spec, size) -> bool:
        """Notes the spec of a parameter's gradient, and the size of the gradient's part on this rank. Returns
        whether this size was expected before the call. Raises RuntimeError if the gradient had other
        placements in an earlier step."""
        was_expected = size == self.size_of(parameter)
        known, _ = self.known.setdefault(parameter, (spec, size))
        if known.placements != spec.placements:
            raise RuntimeError(f"rematlas: {OTHER_PLACEMENTS}")
        return was_expected

    def spec_of(self, parameter):
        return self.known[parameter][0] if parameter in self.known else parameter._spec

    def size_of(self, parameter):
        """Returns the size of the part of the gradient on this rank."""
        return self.known[parameter][1] if parameter in self.known else part_of(parameter).size()


gradients = Gradients()


class Part(torch.autograd.Function):
    """The part of a parameter on this rank. The backward passes the part's gradient on to the parameter."""

    @staticmethod
    def forward(context, parameter):
        context.parameter = parameter
        context.set_materialize_grads(False)
        return part_of(parameter).detach()

    @staticmethod
    def backward(context, gradient):
        parameter = context.parameter
        if gradient is None:
            return None
        if parameter in padded_parts:
            gradient = gradient.narrow(0, 0, parameter._local_tensor.size(0))
        return dtensor(gradient, gradients.spec_of(parameter))


class Whole(torch.autograd.Function):
    """A DTensor with a given part. `local_gradient` takes the gradient of the DTensor, and returns the
    gradient's part on this rank."""

    @staticmethod
    def forward(context, part, spec, local_gradient):
        context.local_gradient = local_gradient
        return dtensor(part.view_as(part), spec)

    @staticmethod
    def backward(context, gradient):
        return context.local_gradient(gradient), None, None


def parts_of(tensors) -> list:
    """Returns the tensors of a step that begins: a Part for each DTensor parameter that requires a gradient,
    the part on this rank for any other DTensor, and any other tensor itself. A tensor that occurs several
    times has one result."""
    made = {}
    for tensor in tensors:
        if id(tensor) not in made:
            made[id(tensor)] = step_part(tensor)
    return [made[id(tensor)] for tensor in tensors]


def step_part(tensor):
    part = part_of(tensor)
    if not (is_dtensor(tensor) and tensor.requires_grad):
        return part
    made = Part.apply(tensor)
    size = gradients.size_of(tensor)
    if made.size() != size:
        ops.expect_gradient(made, size, made.dtype)
    return made
