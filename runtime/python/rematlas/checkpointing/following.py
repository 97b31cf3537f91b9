"""Follows one call of a checkpointed region op by op, and compares the ops with the ops that the region
expects."""

import functools

import torch
from torch.utils._pytree import tree_leaves

TYPES = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float8_e4m3fn: "f8e4m3fn",
    torch.float8_e5m2: "f8e5m2",
    torch.complex32: "c32",
    torch.complex64: "c64",
    torch.complex128: "c128",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint8: "u8",
    torch.uint16: "u16",
    torch.uint32: "u32",
    torch.uint64: "u64",
    torch.bool: "bool",
}


def shapes(args, kwargs) -> tuple:
    """Returns the types and sizes of the tensors among the arguments, in the form of policy files. Tensors
    without axes are skipped."""
    tensors = (leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor) and leaf.dim())
    return tuple(f"{TYPES.get(one.dtype)}[{','.join(map(str, one.shape))}]" for one in tensors)


@functools.cache
def makes_its_own(op) -> bool:
    """Says whether all outputs of the op are in new memory, and the op writes to no argument."""
    schema = getattr(op, "_schema", None)
    return (
        schema is not None and not schema.is_mutable and all(one.alias_info is None for one in schema.returns)
    )


@functools.cache
def into_new_memory(name: str) -> str:
    """Returns the name of the op that computes the same as this in-place op, but into new memory:
    aten.add.Tensor for aten.add_.Tensor. If a dispatch mode is on, functions of ATen that consist of several
    ops may call the op with new memory instead of the in-place op."""
    namespace, op, overload = name.split(".", 2)
    return f"{namespace}.{op.removesuffix('_')}.{overload}"


class Place:
    """The position of a call within a region. Ops that the region does not list are skipped: views, and ops
    that the step does not need."""

    def __init__(self, region):
        self.region = region
        self.passed = 0  # the number of expected ops that have run

    def advance(self, name, tensors):
        """If this op is the next expected one, moves on and returns the expected op; otherwise returns
        None."""
        if self.passed == len(self.region.ops):
            return None
        expected = self.region.ops[self.passed]
        if name not in (expected.name, into_new_memory(expected.name)) or expected.tensors != tensors:
            return None
        self.passed += 1
        return expected

    def is_complete(self) -> bool:
        return self.passed == len(self.region.ops)


class Following:
    """The policy function for one call of a region, for `create_selective_checkpoint_contexts`. `regions`:
    the regions that the call may belong to, the likeliest first. At each op the call is assumed to belong to
    the region that has had the most expected ops in this call so far. `trusted(region)`: whether the region's
    last call ran the expected ops; if not, nothing is saved."""

    def __init__(self, regions, trusted):
        self.places = [Place(region) for region in regions]
        self.trusted = trusted
        self.saved = []  # for each op of the forward, whether its result is saved
        self.again = 0  # the number of ops that the rerun has run so far

    def __call__(self, context, op, *args, **kwargs) -> bool:
        if context.is_recompute:  # torch 2.11 asks in the rerun, too
            self.again += 1
            return self.saved[self.again - 1]
        self.saved.append(self.saves(op, args, kwargs))
        return self.saved[-1]

    def saves(self, op, args, kwargs) -> bool:
        name, tensors = str(op), shapes(args, kwargs)
        expected = {}
        for place in self.places:
            if found := place.advance(name, tensors):
                expected[place] = found
        place = self.furthest()
        return place in expected and expected[place].save and self.trusted(place.region) and makes_its_own(op)

    def furthest(self) -> Place:
        return max(self.places, key=lambda place: place.passed)

    def ran(self) -> bool:
        """Says whether any op was seen. In a forward without gradients no op is seen, because torch then
        checkpoints nothing."""
        return bool(self.saved)
