"""Facts about modules under fully_shard (FSDP2 of torch). Only this file and gathered.py read the attributes
of FSDP2's objects, which torch does not document."""

import sys
import typing
from unittest import mock

import torch

DEFAULT_COMMUNICATION = ("DefaultAllGather", "DefaultReduceScatter")


def state_of(module):
    """Returns the FSDPState of the module; None if fully_shard was not called with it."""
    fsdp = sys.modules.get("torch.distributed.fsdp._fully_shard._fsdp_state")
    return None if fsdp is None else fsdp._get_module_fsdp_state(module)


def states_in(module) -> list:
    """Returns (module, FSDPState) of all modules for which fully_shard was called."""
    found = [(each, state_of(each)) for each in module.modules()]
    return [(each, state) for each, state in found if state is not None]


def groups_of(state) -> list:
    """Returns the FSDPParamGroups of a state. The parameters of a group are gathered together."""
    if hasattr(state, "_fsdp_param_groups"):
        return list(state._fsdp_param_groups)
    return [] if state._fsdp_param_group is None else [state._fsdp_param_group]


def is_within_another(module) -> bool:
    """Says whether FSDP2 handles a module that contains this one. FSDP2 then gathers the parameters before
    this module is called."""
    state = state_of(module)
    return state is not None and state._is_root is False


def spec_of_whole(parameter):
    """Returns the DTensorSpec of the gathered parameter; None if it is a plain tensor. `parameter`: an
    FSDPParam."""
    return getattr(parameter, "_unsharded_dtensor_spec", None) or getattr(parameter, "_tp_spec", None)


def gradient_type(group, parameter):
    """Returns the type of numbers in which autograd sums the gradients of a gathered parameter; None if
    autograd leaves them in the types in which the ops make them. `parameter`: an FSDPParam of the group."""
    if any(parameter is other for other in getattr(group, "_fsdp_params_with_wider_grad_dtype", ())):
        return None
    own = parameter.param_dtype or parameter.orig_dtype
    return getattr(parameter, "unsharded_grad_dtype", own)


def padded_part(parameter):
    """Returns the part of a parameter on this rank, with zeros up to the size of the largest part. The
    padding follows the part in the same memory. `parameter`: an FSDPParam."""
    part, padded = parameter.sharded_param._local_tensor, parameter._sharded_param_data
    if padded.untyped_storage()._cdata != part.untyped_storage()._cdata:
        # The program has given the parameter another tensor. FSDP2 makes a new padded part from it.
        parameter.reset_sharded_param()
        padded = parameter._sharded_param_data
    return padded.view(parameter.padded_sharded_param_size)


def why_never(module, state) -> str:
    """Returns why no plan can gather the parameters of this module; empty if a plan can."""
    if len(state._modules) > 1:
        return "fully_shard was called with a list of modules: call it with each module"
    for group in groups_of(state):
        why = why_no_group(group) or next(filter(None, map(why_no_parameter, group.fsdp_params)), "")
        if why:
            return why
    return ""


def why_no_group(group) -> str:
    mesh = group.mesh_info
    if not hasattr(mesh, "shard_process_group"):
        return (
            "its parameters are replicated by torch.distributed's replicate, not by DistributedDataParallel"
        )
    if getattr(mesh, "is_spmd_mesh", False):
        return "fully_shard was given the dimensions of a mesh of all ranks (dp_mesh_dims): give it the mesh"
    if type(group.offload_policy).__name__ == "CPUOffloadPolicy":
        return "CPUOffloadPolicy keeps the parameters on the host: apply a plan to each block instead"
    if group._all_reduce_hook is not None:
        return "a hook is set for the reduction of gradients (set_all_reduce_hook)"
    for communication in (
        getattr(group, name, None) for name in ("_all_gather_comm", "_reduce_scatter_comm")
    ):
        if communication is not None and type(communication).__name__ not in DEFAULT_COMMUNICATION:
            return f"its communication is replaced ({type(communication).__name__})"
    if getattr(group, "reduce_scatter_unused_params", False):
        return "gradients of unused parameters are reduced (reduce_scatter_unused_params)"
    types = {getattr(p, "sharded_grad_dtype", p.orig_dtype) for p in trained(group)}
    if len(types) > 1:
        return "the gradients of one module have several types of numbers"
    return ""


def why_never_now(state) -> str:
    """Returns why no plan can run the module with the present options of its groups; empty if a plan can. The
    program may change these options at any time."""
    return next(filter(None, map(why_no_group, groups_of(state))), "")


def options_of(state) -> tuple:
    """Returns the values of options that the program may change at any time, and that plans follow."""
    return tuple(
        (group.gradient_divide_factor, group.force_sum_reduction_for_comms) for group in groups_of(state)
    )


def why_no_parameter(parameter) -> str:
    if parameter.fsdp_placement.dim != 0:
        return "fully_shard divides a parameter along another dimension than the first (shard_placement_fn)"
    if hasattr(parameter.sharded_param._local_tensor, "fsdp_pre_all_gather"):
        return "its parameters have their own way to be gathered (fsdp_pre_all_gather)"
    if getattr(parameter, "is_spmd_types", False):
        return "its parameters have spmd_types"
    return ""


def trained(group) -> list:
    return [p for p in group.fsdp_params if p.sharded_param.requires_grad]


class LeftAlone(typing.NamedTuple):
    """Why FSDP2 itself runs a call. `how`: a description of such calls. `advice`: how to get a plan for
    them."""

    how: str
    advice: str


UNREDUCED = LeftAlone(
    "whose gradients are summed before they are reduced (set_requires_gradient_sync(False))",
    "let each backward reduce its gradients",
)


CHANGED = LeftAlone(
    "with gathered parameters that differ from their shards (changed since they were gathered, or gathered by"
    " unshard())",
    "change parameters while they are sharded: after a backward, or after model.reshard()",
)


def facts_of_gathered(group) -> list:
    """Returns facts that change if the program changes a gathered parameter or a shard."""
    return [
        (
            p._unsharded_param._version,
            p._unsharded_param.requires_grad == p.sharded_param.requires_grad,
            bool(p._unsharded_param._backward_hooks),
            p.sharded_param._local_tensor._version,
        )
        for p in group.fsdp_params
    ]


def left_alone(state, gathered) -> LeftAlone | None:
    """Says why FSDP2 itself must run the call that begins; None if a plan can run it. Frees weights that are
    still gathered, because the plan gathers them itself. All ranks must call this, because a rank that
    gathers and a rank that does not would exchange wrong data. `gathered`: the `facts_of_gathered` of each
    group at the end of the last forward that FSDP2 ran for the group's module."""
    why = why_never_now(state)
    if why:
        return LeftAlone(f"in which {why}", "leave this option of FSDP2 out")
    if getattr(state._state_ctx, "manual_backward_finalization", False):
        return LeftAlone(
            "whose backward the program ends itself (set_manual_backward_finalization)",
            "let FSDP2 end the backward",
        )
    for group in groups_of(state):
        if not group.reshard_after_backward:
            return LeftAlone(
                "whose parameters stay gathered after the backward (set_reshard_after_backward(False))",
                "leave it out: a plan keeps parameters gathered where that pays",
            )
        reduces_all = not hasattr(group.mesh_info, "replicate_process_group") or group.all_reduce_grads
        if not (group.reduce_grads and reduces_all):
            return UNREDUCED
        if getattr(group, "_partial_reduce_output", None) is not None or any(
            map(holds_gradient, group.fsdp_params)
        ):
            return UNREDUCED
        if any(parameter.sharded_param._backward_hooks for parameter in group.fsdp_params):
            return LeftAlone(
                "with hooks on parameters that FSDP2 does not call (register_hook)",
                "use register_post_accumulate_grad_hook",
            )
        if not group.is_sharded:  # still gathered, for example after an evaluation
            if gathered.get(group) != facts_of_gathered(group):
                return CHANGED  # FSDP2 would use the changed weights; a plan would gather the shards
            group.reshard()
    return None


def holds_gradient(parameter) -> bool:
    """Says whether FSDP2 holds a gradient of the gathered parameter that it has not reduced yet."""
    whole = getattr(parameter, "_unsharded_param", None)
    return parameter.unsharded_accumulated_grad is not None or (whole is not None and whole.grad is not None)


def with_cast_inputs(state, args, kwargs):
    """Returns the arguments, cast as FSDP2's mixed precision policy requires."""
    policy = state._mp_policy
    if not (policy.cast_forward_inputs and policy.param_dtype):
        return args, kwargs
    return cast(args, policy.param_dtype), cast(kwargs, policy.param_dtype)


def with_cast_output(state, output):
    wanted = state._mp_policy.output_dtype
    return output if wanted is None else cast(output, wanted)


def cast(values, dtype):
    from torch.distributed.utils import _apply_to_tensors

    def to_dtype(tensor):
        is_other = torch.is_floating_point(tensor) and tensor.dtype != dtype
        return tensor.to(dtype) if is_other else tensor

    return _apply_to_tensors(to_dtype, values)


def on_device(state, args, kwargs):
    """Returns the arguments on the device of the root module, to which FSDP2 moves them."""
    from torch.distributed.utils import _to_kwargs

    if state._device.type == "cpu" or not (args or kwargs):
        return args, kwargs
    args, kwargs = _to_kwargs(args, kwargs, state._device, False)
    return args[0], kwargs[0]


class Attributes:
    """All attributes in which modules store one parameter. `parameter`: an FSDPParam."""

    def __init__(self, parameter):
        info = parameter._module_info
        places = zip(
            (info.module, *info.shared_modules), (info.param_name, *info.shared_param_names), strict=True
        )
        self.places = [(module._parameters, name) for module, name in places]
        self.sharded = parameter.sharded_param

    def set(self, tensor) -> None:
        for entries, name in self.places:
            entries[name] = tensor


class Hooks:
    """Replaces the two hooks that FSDP2 has set on a module. In a step of the own form, the form gathers the
    parameters; in any other step FSDP2's hooks run. `form`: the ShardedForm. If `module` is the module of the
    form itself, the new hooks do nothing, because the form calls `before` and `after`."""

    def __init__(self, form, module, state):
        self.form, self.module, self.state = form, module, state
        self.is_own = module is form.module
        before, after = state._pre_forward_hook_handle.id, state._post_forward_hook_handle.id
        self.replaced = (
            (module._forward_pre_hooks, before, module._forward_pre_hooks[before], self.before_module),
            (module._forward_hooks, after, module._forward_hooks[after], self.after_module),
        )
        for hooks, number, _, mine in self.replaced:
            hooks[number] = mine

    def remove(self) -> None:
        for hooks, number, former, _ in self.replaced:
            hooks[number] = former

    def before_module(self, module, args, kwargs):
        return (args, kwargs) if self.is_own else self.before(args, kwargs)

    def after_module(self, module, args, output):
        return output if self.is_own else self.after(args, output)

    def before(self, args, kwargs):
        step = self.form.step
        if step is None:
            return self.replaced[0][2](self.module, args, kwargs)
        return step.before(self.state, args, kwargs)

    def after(self, args, output):
        step = self.form.step
        if step is not None:
            return step.after(self.state, output)
        output = self.replaced[1][2](self.module, args, output)
        for group in groups_of(self.state):
            if not group.is_sharded:
                self.form.gathered[group] = facts_of_gathered(group)
        return output


def numbered(group) -> list:
    """Returns the positions of the group's parameters in the order in which FSDP2 puts their gradients into
    one tensor."""
    return list(getattr(group, "_reduce_scatter_param_indices", ())) or list(range(len(group.fsdp_params)))


def divide_factors(group, dtype):
    """Returns the numbers by which gradients are divided before and after their reduction (None: not
    divided), and the names of the two reductions, over shards and over replicas."""
    from torch.distributed.fsdp._fully_shard import _fsdp_collectives

    mesh = group.mesh_info
    before, after, scattered, replicated = _fsdp_collectives._get_gradient_divide_factors(
        mesh.shard_process_group,
        getattr(mesh, "replicate_process_group", None),
        dtype,
        group.device.type,
        group.gradient_divide_factor,
        group.force_sum_reduction_for_comms,
    )
    return before, after, *(str(op).rpartition(".")[2].lower() for op in (scattered, replicated))


def without_streams():
    """Returns a context in which FSDP2 makes no streams for its communication, so that its states can be set
    up for a device that is absent."""
    from torch.distributed.fsdp._fully_shard import _fsdp_param_group

    def lazy_init(context, device):
        context.device_handle = torch.get_device_module(device)

    return mock.patch.object(_fsdp_param_group.FSDPCommContext, "lazy_init", lazy_init)


def note_parts(module) -> None:
    """Tells FSDP2 that the parts of the module's parameters are set up. Called when all parameters have new
    parts with padding."""
    for _, state in states_in(module):
        for group in groups_of(state):
            group._reset_sharded_params = True
