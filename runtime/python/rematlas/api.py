"""apply, remove, status, plan, load."""

import copy
import functools

import torch

from .calls.kept_state import KeptState
from .calls.module_hooks import is_compiled
from .calls.structure import flatten
from .cards.plan_for_card import plan_for_card
from .errors import Refused, message
from .inductor.entry import compiled_status
from .lifecycle.from_shapes import used_by_a_loss
from .lifecycle.graph_text import graph_text
from .lifecycle.planned_module import PlannedModule
from .lifecycle.refusals import MOST_ATTEMPTS
from .loss_head.chunking import Chunking
from .options import Options
from .plan_file import Plan
from .step_log import StepLog
from .training_status import Status


def planned_part(model):
    """Returns the module that is planned. For a DistributedDataParallel this is the inner module, because
    DistributedDataParallel reduces gradients outside of the inner module's step."""
    while isinstance(model, torch.nn.parallel.DistributedDataParallel):
        model = model.module
    return model


def is_planned(model) -> bool:
    return isinstance(getattr(model, "_compiled_call_impl", None), PlannedModule)


def of(model) -> PlannedModule:
    module = planned_part(model)
    if is_planned(module):
        return module._compiled_call_impl
    if isinstance(module, torch._dynamo.OptimizedModule):
        raise ValueError(
            "rematlas: rematlas.compile has not made this compiled module, or it is a copy, which has no"
            " status: call rematlas.compile(model, budget) with the module that was compiled"
        )
    raise ValueError(
        f"rematlas: nothing is applied to this {type(module).__name__}: call rematlas.apply(model, budget)"
    )


def apply(
    model,
    budget=None,
    *,
    solver="atlas",
    config=None,
    time_limit=None,
    plan=None,
    shapes=8,
    frames=1,
    on_refuse="warn",
    verify=2,
    arena=None,
    unplanned=None,
    optimizer=None,
    accumulate=None,
    clip_norm=None,
    scaler=None,
    offload="none",
    links=None,
    host_budget=None,
    device=None,
    chunk_loss=None,
    watch=None,
    wire_weight=1,
):
    """Changes the module in place, and returns it: in train mode its forward and backward run by a plan. The
    first calls are recorded; then the step is planned in the background. Raises TypeError and ValueError.

    `model`: a torch.nn.Module; of a DistributedDataParallel, the inner module is planned. Call fully_shard
    and parallelize_module before. `budget`: bytes of all tensors of the process on the model's device
    ("2GiB", or a number); or a share of the step's peak without recomputation ("60%"); or a share of the part
    of that peak that is not resident ("60% of activations"). The bytes that live beside the step are added to
    a share. `solver`: the name of a solver, as in `rematlas solve`. `config`: a complete configuration of a
    solver (see `generate_config`), which is used instead of `solver`. `time_limit`: seconds for each search;
    by default one second for each 100 ops, from 2 to 30. `verify`: the number of real steps on which the plan
    is compared with the original before it is used. `plan`: a plan that was made before, or its path; without
    a `budget`, its own budget in bytes is kept. `shapes`: the most kinds of calls that are planned. `frames`:
    the number of forwards that are open at a time; if more are open, a new plan is made. `on_refuse`: "warn"
    warns once and trains on with the original; "raise" raises rematlas.Refused.

    `arena`: whether the tensors of a step are put into one piece of memory, which does not fragment. The
    default is True on the CPU, and on a GPU unless PYTORCH_CUDA_ALLOC_CONF asks for expandable segments:
    without them, libtorch hands out blocks that are up to 1 MiB larger than a tensor. The process keeps the
    arena between steps, even while the optimizer needs memory. If memory runs out, an arena without tensors
    is freed. `unplanned`: how steps without a plan run. By default, a step runs under online eviction (see
    `evict`) unless it is known to fit in a budget in bytes; if possible, a step that does not fit is planned
    from shapes first. With "evict", the first steps are recorded under eviction instead, and
    torch.OutOfMemoryError is raised if eviction cannot keep the budget. With "original", steps can exceed it.

    `optimizer`: a torch.optim.SGD without dampening, Adam or AdamW, with fused=True, whose updates become
    part of the plan. Each parameter is updated during backward, as soon as its gradient is final, and the
    gradient is freed then: use of the parameter's `.grad` raises an error, and `optimizer.step()` has nothing
    left to do. Steps are watched first: if gradients are summed, clipped or scaled, or if several forwards
    come before an `optimizer.step()`, the updates stay in that call. They stay there too if the plan is from
    shapes, unless `accumulate`, `clip_norm`, `scaler` or weights in `offload` are given. `accumulate`: the
    number of backwards before each `optimizer.step()`, also 1; all but the last one add to `.grad`.
    `clip_norm`: the norm to which all gradients together are then clipped, as clip_grad_norm_ does. The
    program must not clip itself; `status(model).gradient_norm` is the norm before clipping. `scaler`: the
    torch.amp.GradScaler that scales the loss and calls `optimizer.step()`. Gradients are unscaled before they
    are clipped; without `clip_norm` the program must not call `scaler.unscale_`.

    `offload`: the tensors that may be copied to the host within the step. "activations" come back before the
    step ends. "weights" live on the host with the optimizer's states and the sums of accumulated gradients:
    the weights remain tensors of the device, usable at any time, but slow outside of the plan. The
    optimizer must then be part of the plan, with `accumulate` and `clip_norm` as the training has them, and
    the budget need not include the parameters. "all" means both. `links`: the links for the copies ("pcie4",
    a card such as "h200", or a profile's path). `host_budget`: the most bytes on the host. `device`: the
    device on which a model on the host trains ("cuda"); by default the model's device.

    `chunk_loss`: the number of chunks of tokens, or "auto", in which a causal language model of transformers
    computes its head and its loss, see `chunked_loss`. In train mode its output then has no logits. `watch`:
    the path of a file that gets a line of JSON for each step: whether plan or original ran it, its peak and
    time, and the reason if the original ran it. Each `apply` writes a new file. `wire_weight`: a factor for
    the measured times of collectives. With a factor above 1, the plan prefers recomputation to collectives.
    """
    given = dict(locals())
    check_module(given.pop("model"))
    plan_steps(planned_part(model), given)
    return model


def plan_steps(module, given: dict) -> None:
    """Attaches a PlannedModule to the module. `given`: the keyword arguments of `apply`."""
    options = Options.of(module, given)
    chunking = Chunking(module, options.chunk_loss, options.on_refuse)
    try:
        if options.copies.moves_weights:
            options.copies.take_home(module)
        planned = PlannedModule(module, options, chunking)
        if options.watch is not None:
            planned.peaks.tell(StepLog(options.watch, planned))
        module._compiled_call_impl = planned
    except BaseException:
        chunking.remove()
        raise


def check_module(model) -> None:
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"rematlas: a torch.nn.Module is planned, this is a {type(model).__name__}")
    if isinstance(model, torch.jit.ScriptModule):
        raise TypeError(
            "rematlas: TorchScript modules are planned by the command line (rematlas capture); apply takes"
            " the original"
        )
    if isinstance(model, torch.nn.DataParallel):
        raise TypeError(
            "rematlas: DataParallel copies the module in each step; use DistributedDataParallel, a process"
            " for each GPU"
        )
    for outer in (model, planned_part(model)):
        if is_planned(outer):
            raise ValueError("rematlas: a plan is applied to this module already; remove it first")
        if is_compiled(outer):
            raise ValueError(
                "rematlas: this module is compiled as a whole (torch.compile, Module.compile): call"
                " rematlas.compile(model, budget) on the module as it was; apply takes modules of which parts"
                " are compiled"
            )


compile_module = torch.nn.Module.compile


@functools.wraps(compile_module)
def compile_unless_planned(self, *args, **kwargs):
    if is_planned(self):
        raise ValueError(
            "rematlas: Module.compile would take the place of the plan that is applied to this module: call"
            " rematlas.compile(model, budget) for a budget under torch.compile, or rematlas.remove(model)"
            " first"
        )
    return compile_module(self, *args, **kwargs)


torch.nn.Module.compile = compile_unless_planned


def remove(model):
    """Restores the module's own forward, and returns the module. A planned step under way ends by its plan.

    `model`: a module under `apply`. Raises ValueError if nothing is applied to it.
    """
    of(model).remove()
    return model


def status(model):
    """Returns the Status of a model under `apply`, or the CompiledStatus of an object that `compile` has
    returned.

    `model`: the model or the object. Raises ValueError for any other object.
    """
    return compiled_status(model) or Status(of(model))


def plan(model, args, budget, kwargs=None, **options) -> Plan:
    """Plans ahead of the first call, on sample arguments, and returns a Plan. It runs steps whose loss is the
    sum of the outputs that are single numbers, or the sum of all outputs if there are no such outputs. It
    changes neither the model (parameters, buffers, gradients, attributes, modes), nor the state of random
    numbers, the arguments or an `optimizer`. Raises Refused if the model cannot be captured, and Infeasible
    if no schedule keeps the budget.

    `model`: a torch.nn.Module. `args`: a tuple with the arguments of a call, or a tensor that is the only
    argument. `budget`: as in `apply`. `kwargs`: a dict with the keyword arguments of the call. `options`: as
    in `apply`, and those below.

    With a device profile the plan is for a card that need not exist. The step is recorded from shapes, and
    model and arguments may be on the meta device. The options are `solver`, `config`, `time_limit`,
    `offload`, `links` (by default those of the card), `host_budget` and `chunk_loss`, as in `apply`, and
    those below.

    `device_profile`: a card by name ("h100"), or the path of a profile. `device`: "cuda", which is checked
    against the profile. `values`: True if tensors among the arguments keep their values. `autocast`: "bf16"
    or "f16" for a forward in a region of torch.autocast, which torch itself does not open without a card.
    `host_profile`: "desktop", or the path of a file that `rematlas links` wrote. It says how much memory the
    host has if `host_budget` is not given. `optimizer`: a name with options, ("adamw", {"lr": 1e-4}), any
    torch.optim.Optimizer, or a list of optimizers, each for a part of the parameters. `master_weights`:
    "f32" if 16-bit parameters are copies of f32 weights, and the optimizer updates the f32 weights. Gradients
    are cast to f32 for one parameter at a time, or for all parameters at once if the optimizer is foreach.

    `mesh`: "fsdp=8,tp=2", or a dict: the ranks among which the model is divided, the outermost dimension
    first; the plan is for one rank. Along fsdp, fully_shard is called for each repeated block and for the
    whole model. Along dp (or replicate) there are replicas. Along tp, a model of transformers is divided by
    its own plan of tensor parallelism. If `model` is a function, it is called with the DeviceMesh as `mesh`,
    and returns a model that it has divided along dimensions of any names. torch.distributed must not be
    initialized. `param_dtype` and `reduce_dtype`: "bf16", "f16" or "f32", the types of FSDP2's
    MixedPrecisionPolicy. `rank_links`: the links between ranks, within nodes of 8 and between nodes:
    "nvlink4,ib400"; by default the usual links of this card. Collectives run beside compute, and their
    times are computed from the links.

    Among the optimizers, the names sgd, adam and adamw mean fused updates: an op of the plan updates each
    parameter when its gradient is final, and the gradient is freed then. All other optimizers run after the
    backward, when the program calls optimizer.step(): the three names with {"foreach": True} (lists of all
    parameters, torch's default on a GPU) or {"foreach": False} (a loop), the optimizers of torchao
    ("adamw8bit", ...), and instances that are not fused.

    An `optimizer.step()` after the backward is recorded on shapes, so the bytes of the optimizer's states and
    temporaries are exact. `apply` refuses a plan with such an optimizer: the plan is only for inspection. The
    workspaces of the optimizer's kernels are not known. Parameters that require no gradient have no states.
    `plan(...).updates()` says how the updates run, and how much memory they take.
    """
    if options.get("device_profile", "") is None:
        del options["device_profile"]
    if "device_profile" in options:
        return plan_for_card(model, args, budget, kwargs or {}, options)
    return recorded(model, args, budget, kwargs, options, lambda: status(model).wait().plan())


def graph_of(model, args, kwargs=None, optimizer=None, **options) -> str:
    """Returns the text of a graph file. The step is recorded as `plan` records it. If an optimizer is given,
    its updates end the step. `options`: as in `apply`. Raises Refused."""

    def text():
        graph = graph_text(of(model))
        if graph is None:
            raise Refused(f"rematlas: {status(model).reason}")
        return graph

    asked = {**options, "solver": "keep-all", "optimizer": optimizer}
    return recorded(model, args, "100%", kwargs, asked, text)


def recorded(model, args, budget, kwargs, options, result):
    optimizer = options.get("optimizer")
    memory = [(parameter, parameter.data) for parameter in model.parameters()]
    states = (
        {} if optimizer is None else {parameter: dict(kept) for parameter, kept in optimizer.state.items()}
    )
    args = (args,) if isinstance(args, torch.Tensor) else tuple(args)
    training = [(module, module.training) for module in model.modules()]
    kwargs = kwargs or {}
    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    devices = sorted({parameter.device.index for parameter in model.parameters() if parameter.is_cuda})
    kept = KeptState(model, (args, kwargs), runs_itself=True)
    if kept.uncopyable:
        raise Refused(
            f"rematlas: the forward may use {kept.uncopyable[0]}, which cannot be copied or put back"
        )
    model.train()
    try:
        with torch.random.fork_rng(devices=devices):
            apply(model, budget, **{**options, "on_refuse": "raise"})
            try:
                for _ in range(2 * MOST_ATTEMPTS):
                    sample_step(model, *copied(args, kwargs))
                    if status(model).state != "recording":
                        break
                return result()
            finally:
                remove(model)
    finally:
        kept.put_back()
        with torch.no_grad():
            for buffer, before in buffers:
                buffer.copy_(before)
            for parameter, data in memory:
                parameter.data = data
        if optimizer is not None:
            optimizer.state.clear()
            optimizer.state.update(states)
        for module, mode in training:
            module.training = mode


def copied(args, kwargs):
    """Returns the arguments with a copy of each container. Raises Refused if a container cannot be copied."""
    try:
        return copy.deepcopy((args, kwargs), {id(tensor): tensor for tensor in flatten((args, kwargs))[1]})
    except Exception as error:
        raise Refused(f"rematlas: the arguments cannot be copied: {message(error)}") from error


def sample_step(model, args, kwargs):
    _, outputs = flatten(model(*args, **kwargs))
    if of(model).updates_in_each_backward():
        return  # a backward would change the parameters
    roots = [output for output, used in zip(outputs, used_by_a_loss(outputs)) if used]
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    torch.autograd.grad(roots, parameters, [torch.ones_like(root) for root in roots], allow_unused=True)


def load(model, plan, **options):
    """Makes the model train by a plan that was made before, and returns the model: `apply` with a plan.

    `model`: a torch.nn.Module. `plan`: a Plan, or the path of a plan file, or of a schedule file with its
    graph file beside it. `options`: as in `apply`; without a `budget`, the plan keeps the budget in bytes
    that it was made for. Raises ValueError for other files, and for a schedule that does not pass the check.
    """
    return apply(model, options.pop("budget", None), plan=plan, **options)
