"""One training step of a model on an absent card."""

import contextlib
import dataclasses

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
from ..sharded.parts import part_of
from ..updates.optimizers import described
from .absent_mesh import AbsentRanks, dimensions_of
from .optimizers import Chosen
from .rank_links import links_of, with_rank_links
from .recorded_update import with_recorded_update
from .sharding import Precision, WithoutCard, copy_on_meta, divide, put_on_card

ANY_SIZE = 1 << 62
TYPES_OF_AUTOCAST = {None: None, "bf16": torch.bfloat16, "f16": torch.float16}


def on_card(tensors, card, keeps_values) -> list:
    """Returns shape tensors of the card like these tensors. If `keeps_values`, they also have the same
    values."""
    made = ops.shapes_like(list(tensors), ANY_SIZE if keeps_values else 0, card.recorded_as)
    return [one.requires_grad_(tensor.requires_grad) for one, tensor in zip(made, tensors)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class StepOptions:
    """How a step is recorded on an absent card: the keyword arguments of `graph_of_step`."""

    optimizer: object = None
    master_weights: str | None = None
    values: bool = False
    autocast: str | None = None
    chunk_loss: int | str | None = None
    mesh: str | dict | None = None
    param_dtype: str | None = None
    reduce_dtype: str | None = None
    rank_links: str | None = None

    @property
    def precision(self) -> Precision:
        return Precision(self.param_dtype, self.reduce_dtype)

    def dimensions(self) -> dict | None:
        """Returns the sizes of the mesh by the names of its dimensions; None without a mesh. Raises
        ValueError for wrong options."""
        found = None if self.mesh is None else dimensions_of(self.mesh)
        self.precision.check(found)
        if found is None and self.rank_links is not None:
            raise ValueError("rematlas: links between ranks go with mesh, the ranks that they connect")
        if found is not None and self.chunk_loss is not None:
            raise ValueError(
                "rematlas: chunk_loss takes a head whose weight lies on one rank: leave it out with mesh"
            )
        return found


def graph_of_step(model, args, kwargs, card, **options) -> CompiledPlan:
    """Records a step of the model in train mode on the card, from shapes. The model and the arguments may be
    on any device, including the meta device, and are not changed. `options`: see StepOptions.

    `optimizer`: a torch.optim.Optimizer, a list of them, or (name, options) as in `rematlas capture`. Its
    updates end the step: as fused ops if a plan can run them, otherwise as a recording of the optimizer's own
    step. `master_weights`: "f32" for master weights; the optimizer updates them instead of the parameters
    that have fewer bits. `answer().updates` of the plan describes the optimizer and the master weights.
    `values`: whether tensors among the arguments keep their values on the card, where the program can then
    read them. `autocast`: the type ("bf16", "f16") of a region of torch.autocast around the forward.
    `chunk_loss`: as in `apply`.

    `mesh`: the ranks among which the model is divided, see `dimensions_of`; the step is that of rank 0. The
    model is divided by `divide`. If `model` is a function, it is called with `mesh`, a DeviceMesh, and
    returns a model that it has divided, or a tuple of such a model, args and kwargs. `param_dtype` and
    `reduce_dtype`: see Precision. `rank_links`: the links between ranks, see `with_rank_links`; by default
    those that the card usually has. The attribute `spans` of the plan describes the step's process groups.
    Returns the plan, which has no schedule yet. Raises Refused.
    """
    options = StepOptions(**options)
    if options.autocast not in TYPES_OF_AUTOCAST:
        raise ValueError(f"rematlas: autocast is {options.autocast!r}; expected 'bf16', 'f16' or None")
    chosen = chosen_of(options.optimizer, options.master_weights)
    dimensions = options.dimensions()
    ranks = None if dimensions is None else AbsentRanks(dimensions, card)
    with card, ranks or contextlib.nullcontext():
        is_function = ranks is not None and callable(model) and not isinstance(model, torch.nn.Module)
        if is_function and options.precision != Precision():
            raise ValueError(
                "rematlas: param_dtype and reduce_dtype are for models that Rematlas divides: set the types"
                " in the function that divides the model"
            )
        if is_function:
            model, args, kwargs = made_by(model, ranks, args, kwargs)
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"rematlas: a torch.nn.Module is planned, this is a {type(model).__name__}")
        check_classes(model)
        training = [(module, module.training) for module in model.modules()]
        chunking = Chunking(model, options.chunk_loss, "raise")
        model.train()
        try:
            return Step(model, card, options, chosen, ranks, is_function).recorded(args, kwargs)
        except Refused:
            raise
        except (from_shapes.Unknown, RuntimeError) as error:
            why = message(error)
            if "value" in why and "of a tensor" in why and not options.values:
                why += "; with --values (values=True) the arguments have values"
            raise Refused(f"rematlas: the step cannot be recorded from shapes: {why}") from None
        finally:
            chunking.remove()
            for module, mode in training:
                module.training = mode


def made_by(function, ranks, args, kwargs) -> tuple:
    """Returns the model that the function has divided among the ranks, and the arguments of a call."""
    with WithoutCard():
        made = function(mesh=ranks.mesh)
    return made if isinstance(made, tuple) else (made, args, kwargs)


class Step:
    """A step of a model on an absent card. `ranks`: the AbsentRanks, if the model is or will be divided.
    `is_divided`: whether the model is divided already; such a model was made for this step alone."""

    def __init__(self, model, card, options, chosen, ranks, is_divided):
        self.model = model
        self.card = card
        self.options = options
        self.chosen = chosen
        self.ranks = ranks
        self.is_divided = is_divided

    def recorded(self, args, kwargs) -> CompiledPlan:
        model, options = self.model, self.options
        name = type(model).__name__.removeprefix("FSDP" if self.is_divided else "")
        found, of_rank = self.found(args, kwargs)
        spans = {} if self.ranks is None else self.ranks.spans(found.recording.groups())
        plan = self.with_updates(CompiledPlan.from_shapes(found.recording, name, True), of_rank)
        plan = with_rank_links(plan, spans, links_of(self.card, options.rank_links))
        sums = found.recording.sums_gradients()
        packed = StepPlan(plan, found.returned, sums=sums, other_bytes=0, frames=1)
        packing = packed.packing(of_rank, found.reads_kept)._replace(chunk_loss=options.chunk_loss)
        plan.pack(packing.text())
        plan.spans = spans
        return plan

    def found(self, args, kwargs) -> tuple:
        """Records the step. Returns the recorded step, and the module that ran it."""
        card, options = self.card, self.options
        args = (args,) if isinstance(args, torch.Tensor) else tuple(args)
        structure_of_arguments, tensors = structure.flatten((args, dict(kwargs)))
        for tensor in tensors:
            if why := unfit_class("an argument", tensor):
                raise Refused(f"rematlas: {why}")
        given = on_card(tensors, card, options.values)
        args, kwargs = structure.rebuild(structure_of_arguments, given)
        kind, dtype = card.name.partition(":")[0], TYPES_OF_AUTOCAST[options.autocast]
        # Without a type no autocast region is opened: even a disabled region around the step would keep, from
        # one step to the next, the casts of weights that regions within the model make.
        with torch.autocast(kind, dtype=dtype) if dtype else contextlib.nullcontext():
            call = Call(args, kwargs, *structure.flatten_call(args, kwargs), card.name)
            if self.ranks is None:
                return from_shapes.record(self.model, call, PathHooks(), card=card), self.model
            with self.on_rank(call) as (divided, memo):
                return from_shapes.record_divided(divided, memo, call, PathHooks(), card), divided

    @contextlib.contextmanager
    def on_rank(self, call):
        """A context in which the model is divided among the ranks and is on the card. Yields the divided
        model, and the memo that copy.deepcopy used when it copied the model. A model that is already divided
        is not copied, and its memo is empty."""
        if self.is_divided:
            put_on_card(self.model, self.card)
            yield self.model, {}
            return
        kept = from_shapes.kept_state(self.model, call)
        memo = dict(kept.shared)
        try:
            divided = copy_on_meta(self.model, memo, self.card)
            divide(divided, self.ranks.mesh, self.options.precision)
            put_on_card(divided, self.card)
            yield divided, memo
        finally:
            kept.put_back()

    def with_updates(self, plan, of_rank) -> CompiledPlan:
        """Returns the plan with the updates of the optimizer at the end of the step. `of_rank`: the module on
        this rank."""
        if self.chosen is None:
            return plan
        if self.chosen.is_fused:
            return plan.with_optimizer(groups_of(self.chosen, self.model), {})
        parts = {}
        if self.ranks is not None:
            named = of_rank.named_parameters(remove_duplicate=False)
            parts = {name: part_of(parameter) for name, parameter in named}
        return with_recorded_update(plan, self.chosen, self.model, self.card, parts)


def check_classes(model) -> None:
    """Raises Refused if the model holds tensors of a class with __torch_dispatch__, because only that class
    knows how many bytes such tensors take."""
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if unfit_class(name, part_of(tensor)):
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
    """Returns the groups of a fused optimizer in the form that the compiled part takes: for each group, a
    description and the names of its parameters."""
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
