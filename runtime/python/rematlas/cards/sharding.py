"""Divides a model on the meta device among the ranks of a mesh, as its training does.

A model of transformers is divided along "tp" by its own plan of tensor parallelism. Along "fsdp", fully_shard
is called for each repeated block and for the whole model. Along "dp" (or "replicate") the model has replicas.
"""

import collections
import dataclasses

import torch
from torch.overrides import TorchFunctionMode

from ..errors import Refused, message
from ..library import classes, ops
from ..lifecycle.from_shapes import LARGEST_KEPT, copy_without_data
from ..sharded import fsdp
from ..sharded.parts import dtensor, is_dtensor
from .recorded_update import running

REPLICAS, SHARDS, TENSORS = ("dp", "replicate"), "fsdp", "tp"
TYPES = {None: None, "bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
HOW = "let the function that makes the model take the keyword mesh, a DeviceMesh, and divide the model"


@dataclasses.dataclass(frozen=True)
class Precision:
    """The types of FSDP2's MixedPrecisionPolicy, by their short names; None keeps the parameters' types."""

    param_dtype: str | None = None
    reduce_dtype: str | None = None

    def check(self, dimensions) -> None:
        """Raises ValueError for a wrong type, or if there is a type but nothing is divided along fsdp."""
        for name, given in dataclasses.asdict(self).items():
            if given not in TYPES:
                raise ValueError(f"rematlas: {name} is {given!r}; expected 'bf16', 'f16', 'f32' or None")
            if given is not None and SHARDS not in (dimensions or ()):
                raise ValueError(
                    f"rematlas: {name} is for shards: give a mesh with the dimension fsdp, such as fsdp=8"
                )

    def policy(self):
        from torch.distributed.fsdp import MixedPrecisionPolicy

        return MixedPrecisionPolicy(TYPES[self.param_dtype], TYPES[self.reduce_dtype])


def divide(model, mesh, precision) -> None:
    """Divides the model. Raises Refused if the model cannot be divided."""
    names = mesh.mesh_dim_names
    known = (*REPLICAS, SHARDS, TENSORS)
    if unknown := [name for name in names if name not in known]:
        raise Refused(
            f"rematlas: mesh: {unknown[0]}: models are divided along {', '.join(known)} without their help;"
            f" for other dimensions {HOW}"
        )
    replicas = [name for name in REPLICAS if name in names]
    if len(replicas) > 1:
        raise Refused("rematlas: mesh: dp and replicate both mean replicas: leave out one of them")
    try:
        with WithoutCard():
            if TENSORS in names and mesh[TENSORS].size() > 1:
                divide_tensors(model, mesh[TENSORS])
            if SHARDS in names:
                of_shards = mesh[(*replicas, SHARDS)] if replicas else mesh[SHARDS]
                shard(model, of_shards, precision.policy())
    except Refused:
        raise
    except (AssertionError, NotImplementedError, RuntimeError, ValueError) as error:
        raise Refused(f"rematlas: the model cannot be divided among ranks: {message(error)}") from error


def shard(model, mesh, policy) -> None:
    from torch.distributed.fsdp import fully_shard

    for block in repeated_blocks(model):
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)


def repeated_blocks(module) -> list:
    """Returns the repeated blocks in the order of the model. A block is repeated if a list of modules holds
    several modules of its class, and if the block has submodules or the list has only this class. Blocks
    within blocks do not count."""
    children = list(module.children())
    counts = collections.Counter(type(child) for child in children)
    is_list = isinstance(module, (torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.Sequential))
    found = []
    for child in children:
        has_forward = not isinstance(child, (torch.nn.ModuleList, torch.nn.ModuleDict))
        is_block = len(counts) == 1 or next(child.children(), None) is not None
        if is_list and counts[type(child)] > 1 and has_forward and is_block and has_parameters(child):
            found.append(child)
        else:
            found += repeated_blocks(child)
    return list({id(block): block for block in found}.values())


def has_parameters(module) -> bool:
    return next(module.parameters(), None) is not None


def styles() -> dict:
    """Maps the words that the plans of transformers use to functions that make the styles of
    torch.distributed.tensor.parallel. None stands for modules that are the same on all ranks."""
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel

    def gathered():
        return ColwiseParallel(output_layouts=Replicate())

    def split():
        return RowwiseParallel(input_layouts=Replicate())

    return {
        "colwise": ColwiseParallel,
        "rowwise": RowwiseParallel,
        "colwise_gather_output": gathered,
        "colwise_rep": gathered,
        "rowwise_split_input": split,
        "rowwise_rep": split,
        "embedding_rowwise": split,
        "replicate": None,
        "replicated": None,
        # Norms of the attention heads on this rank. The gradients of these norms are summed over the ranks
        # after the backward.
        "replicated_with_grad_allreduce": None,
    }


def divide_tensors(model, mesh) -> None:
    """Divides a model of transformers by its plan of tensor parallelism. Raises Refused if it has no plan
    of this kind, or if the plan uses unknown words."""
    from torch.distributed.tensor.parallel import parallelize_module

    plan = getattr(model, "tp_plan", None) or getattr(model, "_tp_plan", None)
    if not isinstance(plan, dict) or not plan:
        raise Refused(
            f"rematlas: mesh: tp: the {type(model).__name__} has no plan of tensor parallelism of its own, as"
            f" models of transformers have: {HOW}"
        )
    known, wanted = styles(), {}
    for path, word in plan.items():
        if word not in known:
            raise Refused(
                f"rematlas: mesh: tp: the model's plan has {word!r} for {path}, which has no counterpart in"
                f" torch.distributed.tensor.parallel; known are {', '.join(known)}: {HOW}"
            )
        if known[word] is not None:
            wanted[path] = known[word]()
    check_sizes(model, wanted, mesh.size())
    parallelize_module(model, mesh, wanted)


def check_sizes(model, wanted, count) -> None:
    """Raises Refused if a divided weight would not have the same size on all ranks."""
    from torch.distributed.tensor.parallel import ColwiseParallel

    for path, style in wanted.items():
        for name, module in model.named_modules():
            if not matches(path, name) or not isinstance(getattr(module, "weight", None), torch.Tensor):
                continue
            is_linear_row = not isinstance(style, ColwiseParallel) and isinstance(module, torch.nn.Linear)
            size = module.weight.size(1 if is_linear_row else 0)
            if size % count:
                raise Refused(
                    f"rematlas: mesh: tp: {name}.weight has {size} rows or columns, which {count} ranks"
                    " cannot divide into equal parts: take a divisor"
                )


def matches(pattern, name) -> bool:
    wanted, found = pattern.split("."), name.split(".")
    return len(wanted) == len(found) and all(a in ("*", b) for a, b in zip(wanted, found))


class WithoutCard(TorchFunctionMode):
    """A context in which tensors that a program makes on the card are on the meta device instead."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        device = kwargs.get("device")
        if device is not None and torch.device(device).type == "cuda":
            kwargs["device"] = "meta"
        return function(*args, **kwargs)


def copy_on_meta(model, memo, card):
    """Copies the model, with parameters on the meta device, and buffers on the card. `memo`: the memo of
    copy.deepcopy."""
    for parameter in model.parameters():
        empty = torch.empty_like(parameter, device="meta")
        memo[id(parameter)] = torch.nn.Parameter(empty, requires_grad=parameter.requires_grad)
    return copy_without_data(model, memo, card.recorded_as)


def put_on_card(model, card) -> None:
    """Replaces the tensors of a divided model by shape tensors of the card. Small buffers keep their
    values."""

    def on_card(tensor):
        largest = 0 if isinstance(tensor, torch.nn.Parameter) else LARGEST_KEPT
        if is_dtensor(tensor):
            part = ops.shapes_like([tensor._local_tensor], 0, card.recorded_as)[0]
            return dtensor(part, tensor._spec).requires_grad_(tensor.requires_grad)
        return ops.shapes_like([tensor], largest, card.recorded_as)[0]

    with torch.no_grad(), running(classes.UpdateRecording([], [], [], card.recorded_as)):
        model._apply(on_card)
    fsdp.note_parts(model)
