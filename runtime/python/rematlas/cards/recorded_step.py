"""One training step of a model on an absent card."""

import contextlib

import torch

from ..calls import structure
from ..calls.call import Call
from ..calls.call_inputs import unfit_class
from ..calls.module_hooks import PathHooks
from ..compiled.compiled_plan import CompiledPlan
from ..errors import Refused, message
from ..library import ops
from ..lifecycle import from_shapes
from ..lifecycle.step_plan import StepPlan
from ..loss_head.chunking import Chunking
from ..updates.optimizers import described
from .optimizers import Chosen
from .recorded_update import with_recorded_update

ANY_SIZE = 1 << 62
TYPES_OF_AUTOCAST = {None: None, "bf16": torch.bfloat16, "f16": torch.float16}


def on_card(tensors, card, keeps_values) -> list:
    """Returns shape tensors of the card like these tensors. If `keeps_values`, they also have the same
    values."""
    made = ops.shapes_like(list(tensors), ANY_SIZE if keeps_values else 0, card.recorded_as)
    return [one.requires_grad_(tensor.requires_grad) for one, tensor in zip(made, tensors)]


def graph_of_step(
    model,
    args,
    kwargs,
    card,
    *,
    optimizer=None,
    master_weights=None,
    values=False,
    autocast=None,
    chunk_loss=None,
) -> CompiledPlan:
    """Records a step of the model in train mode on the card, from shapes. The model and the arguments may lie
    on any device, including the meta device, and are not changed.

    `optimizer`: a torch.optim.Optimizer, a list of them, or (name, options) as in `rematlas capture`. Its
    updates end the step: as fused ops if a plan can run them, otherwise as a recording of the optimizer's own
    step. `master_weights`: "f32" for master weights; the optimizer updates them instead of the parameters
    that have fewer bits. `answer().updates` of the plan describes the optimizer and the master weights.
    `values`: tensors among the arguments have the same values on the card as here, and the program may read
    them. `autocast`: the type ("bf16", "f16") of a region of torch.autocast around the forward. `chunk_loss`:
    as in `apply`. Returns the plan, which has no schedule yet. Raises Refused.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"rematlas: a torch.nn.Module is planned, this is a {type(model).__name__}")
    args = (args,) if isinstance(args, torch.Tensor) else tuple(args)
    structure_of_arguments, tensors = structure.flatten((args, dict(kwargs)))
    for tensor in tensors:
        if why := unfit_class("an argument", tensor):
            raise Refused(f"rematlas: {why}")
    check_classes(model)
    if autocast not in TYPES_OF_AUTOCAST:
        raise ValueError(f"rematlas: autocast is {autocast!r}; expected 'bf16', 'f16' or None")
    dtype = TYPES_OF_AUTOCAST[autocast]
    chosen = chosen_of(optimizer, master_weights)
    training = [(module, module.training) for module in model.modules()]
    chunking = Chunking(model, chunk_loss, "raise")
    model.train()
    try:
        with card:
            given = on_card(tensors, card, values)
            args, kwargs = structure.rebuild(structure_of_arguments, given)
            kind = card.name.partition(":")[0]
            # Without a type no autocast region is opened. Even a disabled region around the step would keep
            # casts of weights, which regions within the model make, from one step to the next.
            with torch.autocast(kind, dtype=dtype) if dtype else contextlib.nullcontext():
                call = Call(args, kwargs, *structure.flatten_call(args, kwargs), card.name)
                found = from_shapes.record(model, call, PathHooks(), card=card)
            plan = CompiledPlan.from_shapes(found.recording, type(model).__name__, True)
            if chosen is not None and chosen.is_fused:
                plan = plan.with_optimizer(groups_of(chosen, model), {})
            elif chosen is not None:
                plan = with_recorded_update(plan, chosen, model, card)
    except Refused:
        raise
    except (from_shapes.Unknown, RuntimeError) as error:
        why = message(error)
        if "value" in why and "of a tensor" in why and not values:
            why += "; with --values (values=True) the arguments have values"
        raise Refused(f"rematlas: the step cannot be recorded from shapes: {why}") from None
    finally:
        chunking.remove()
        for module, mode in training:
            module.training = mode
    sums = found.recording.sums_gradients()
    packed = StepPlan(plan, found.returned, sums=sums, other_bytes=0, frames=1)
    plan.pack(packed.packing(model, found.reads_kept)._replace(chunk_loss=chunk_loss).text())
    return plan


def check_classes(model) -> None:
    """Raises Refused if the model holds tensors of a class with __torch_dispatch__, because only that class
    knows how many bytes such tensors take."""
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if unfit_class(name, tensor):
            raise Refused(
                f"rematlas: {name} is a {type(tensor).__name__}, a class of tensors with __torch_dispatch__,"
                " whose bytes are not those that it shows: call torchao.utils.unwrap_tensor_subclass(model),"
                " or where that leaves it hold the quantized numbers in buffers that the forward dequantizes"
            )


def chosen_of(optimizer, master_weights) -> Chosen | None:
    """Returns the chosen optimizer; None if there is none. Raises ValueError and TypeError for a wrong
    choice."""
    if optimizer is not None:
        return Chosen.of(optimizer, master_weights)
    if master_weights is not None:
        raise ValueError(
            "rematlas: master_weights goes with an optimizer, which updates them: give optimizer"
        )
    return None


def groups_of(chosen, model) -> list:
    """Returns the groups of a fused optimizer in the form that the compiled part takes: its description and
    the names of its parameters."""
    if not chosen.instances:
        names = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
        return [{"optimizer": {"name": chosen.name} | chosen.options, "parameters": names}]
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return [
        {
            "optimizer": described(optimizer, group),
            "parameters": [names[id(p)] for p in group["params"] if id(p) in names],
        }
        for optimizer in chosen.instances
        for group in optimizer.param_groups
    ]
