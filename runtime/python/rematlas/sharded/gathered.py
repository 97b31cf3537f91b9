"""Gathers the parameters of a module under fully_shard, and reduces their gradients, by plain functional
collectives that a plan can run. A gathered parameter is called a whole. The sums have the same bits as
FSDP2's, because gradients are put into one tensor in the same order and are reduced by the same
collective."""

import torch

from ..calls.offloading import storage_of
from ..library import ops
from . import fsdp
from .parts import Whole, dtensor

ALONE = 4 << 20  # a parameter of at least this many bytes is gathered by its own collective, without copies


class Gathered(torch.autograd.Function):
    """The wholes of a group, made from the shards of all ranks. The backward reduces their gradients."""

    @staticmethod
    def forward(context, group, *shards):
        context.group = group
        context.set_materialize_grads(False)
        wholes = [whole.detach() for whole in group.gather(shards)]
        context.mark_non_differentiable(
            *(whole for whole, shard in zip(wholes, shards) if not shard.requires_grad)
        )
        return tuple(wholes)

    @staticmethod
    def backward(context, *gradients):
        group = context.group
        group.let_go()
        return None, *group.reduce(gradients)


class Inputs(torch.autograd.Function):
    """Returns the inputs of a module unchanged. FSDP2 has such a node for each group of parameters; without
    it autograd would sum the gradients of tensors with several uses in another order."""

    @staticmethod
    def forward(context, *inputs):
        return inputs

    @staticmethod
    def backward(context, *gradients):
        return gradients


def with_node(args, kwargs):
    """Returns the arguments of a module with one Inputs node at the tensors that require gradients."""
    from torch.utils._pytree import tree_flatten, tree_unflatten

    leaves, form = tree_flatten((args, kwargs))
    places = [
        place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) and leaf.requires_grad
    ]
    if not (torch.is_grad_enabled() and places):
        return args, kwargs
    for place, leaf in zip(places, Inputs.apply(*(leaves[place] for place in places))):
        leaves[place] = leaf
    return tree_unflatten(leaves, form)


class GroupInStep:
    """A group of parameters in one step of the own form. `group`: an FSDPParamGroup. `shards`: the parts of
    its parameters on this rank; those of trained parameters are results of `Part`. `storages`: while the
    forward of the module runs, (group, position of the whole) by the storage of each whole."""

    def __init__(self, group, shards, storages, histories):
        self.group = group
        self.parameters = group.fsdp_params
        self.shards = shards
        self.storages = storages
        self.attributes = [fsdp.Attributes(parameter) for parameter in self.parameters]
        self.again = None  # the wholes, gathered again for the backward
        self.entered = None  # the wholes, while the forward of the module runs
        self.left_over = None  # the wholes of a forward that failed and is tried again
        self.begun_in = -1  # see is_backward
        # The autograd histories of the attributes in the first call of the module. Later calls use them too,
        # so autograd adds the gradients of all calls before they are reduced, as under FSDP2.
        self.histories = histories
        self.noted = []

    # Wholes.

    def gather(self, shards) -> list:
        """Returns the wholes of the parameters, as plain tensors."""
        if self.left_over is not None:
            wholes, self.left_over = self.left_over, None
            return wholes
        wholes = [None] * len(shards)
        for places in self.bundles():
            parts = [self.cast(self.parameters[place], shards[place]) for place in places]
            for place, whole in zip(places, self.gather_bundle(parts)):
                parameter = self.parameters[place]
                size = parameter._orig_size
                wholes[place] = whole.narrow(0, 0, size.numel()).view(size)
        return wholes

    def versions(self) -> list:
        """Returns numbers that change when the shards change."""
        return [parameter.sharded_param._local_tensor._version for parameter in self.parameters]

    def bundles(self) -> list:
        """Returns lists of positions. The parameters of a list are gathered by one collective."""
        found = {}
        for place, parameter in enumerate(self.parameters):
            dtype = parameter.param_dtype or parameter.orig_dtype
            is_large = parameter._orig_size.numel() * dtype.itemsize >= ALONE
            found.setdefault(place if is_large else dtype, []).append(place)
        return list(found.values())

    @staticmethod
    def cast(parameter, shard):
        """Returns the shard as a vector in the type of the whole."""
        return shard.to(parameter.param_dtype or parameter.orig_dtype).view(-1)

    def gather_bundle(self, parts) -> list:
        collectives = torch.ops._c10d_functional
        process_group = self.group.mesh_info.shard_process_group
        count = process_group.size()
        if count == 1:
            return [part.clone() for part in parts]
        part = parts[0] if len(parts) == 1 else torch.cat(parts)
        whole = collectives.wait_tensor(
            collectives.all_gather_into_tensor(part, count, process_group.group_name)
        )
        if len(parts) == 1:
            return [whole]
        columns = whole.view(count, -1).split([part.numel() for part in parts], dim=1)
        return [column.contiguous().view(-1) for column in columns]

    # Forward and backward of the module.

    def enter(self) -> None:
        """Gathers the parameters, and sets the attributes of the modules. Called before the forward of the
        module, when the backward reaches an output of the module, and when a checkpoint runs the forward
        again."""
        again = is_backward(self.begun_in)
        if self.histories:
            wholes = self.gathered_again() if again else self.gather(self.detached_shards())
            made = [self.with_history(*each) for each in zip(wholes, self.parameters, self.histories)]
        else:
            wholes = Gathered.apply(self, *self.shards)
            made = [self.as_attribute(whole, parameter) for whole, parameter in zip(wholes, self.parameters)]
            if torch.is_grad_enabled():  # False within a reentrant checkpoint
                self.histories += [
                    ops.history_of(tensor) if tensor.requires_grad else None for tensor in made
                ]
        for tensor, attributes in zip(made, self.attributes):
            attributes.set(tensor)
        self.entered = None if again else wholes
        self.noted = [] if again else [storage_of(whole) for whole in wholes]
        for place, storage in enumerate(self.noted):
            self.storages[storage] = self, place

    def as_attribute(self, whole, parameter):
        """Returns the tensor that modules see: the whole, or a DTensor whose part is the whole."""
        expected = fsdp.gradient_type(self.group, parameter)
        expect_gradients(whole, expected)
        spec = fsdp.spec_of_whole(parameter)
        if spec is None:
            return whole
        made = Whole.apply(whole, spec, parameter._get_grad_inner_tensor)
        expect_gradients(made, expected)
        return made

    @staticmethod
    def with_history(whole, parameter, history):
        """Returns the tensor that modules see in a later call: the whole, with the history of the first
        call."""
        spec = fsdp.spec_of_whole(parameter)
        tensor = whole.detach() if spec is None else dtensor(whole.detach(), spec)
        if history is not None:
            ops.take_history(tensor, history)
        return tensor

    def detached_shards(self) -> list:
        return [shard.detach() for shard in self.shards]

    def leave(self) -> None:
        """Sets the attributes back to the shards, when the forward of the module is over."""
        for storage in self.noted:
            self.storages.pop(storage, None)
        self.noted, self.entered = [], None
        self.set_back()

    def set_back(self) -> None:
        for attributes in self.attributes:
            attributes.set(attributes.sharded)

    def gathered_again(self) -> list:
        """Returns the gathered parameters (wholes) for the backward. The first call gathers them. They are
        kept until the gradients of the group are reduced."""
        if self.again is None:
            with torch.enable_grad():  # so a recording sees the ops as reruns of the forward's ops
                self.again = self.gather(self.detached_shards())
        return self.again

    def let_go(self) -> None:
        """Frees the wholes that were gathered again."""
        self.again = None
        self.set_back()

    # Gradients.

    def reduce(self, gradients) -> list:
        """Returns the gradients of the shards; None for each parameter without a gradient."""
        places = [place for place in fsdp.numbered(self.group) if gradients[place] is not None]
        result = [None] * len(gradients)
        if not places:
            return result
        parameters = [self.parameters[place] for place in places]
        count = self.group.mesh_info.shard_process_group.size()
        dtype = parameters[0].reduce_dtype or gradients[places[0]].dtype
        gradients = self.of_one_type(gradients, dtype)
        columns = sum(parameter.padded_sharded_param_size.numel() for parameter in parameters)
        flat = torch.empty(count * columns, dtype=dtype, device=self.group.device)
        torch._chunk_cat(
            [gradients[place] for place in places], dim=0, num_chunks=count, out=flat.view(count, columns)
        )
        reduced, offset = self.reduce_flat(flat), 0
        reduced = reduced.to(getattr(parameters[0], "sharded_grad_dtype", parameters[0].orig_dtype))
        for place, parameter in zip(places, parameters):
            size = parameter.padded_sharded_param_size
            result[place] = reduced.narrow(0, offset, size.numel()).view(size)
            offset += size.numel()
        return result

    @staticmethod
    def of_one_type(gradients, dtype) -> list:
        """Returns the gradients, cast to `dtype` if they have several types."""
        if len({gradient.dtype for gradient in gradients if gradient is not None}) < 2:
            return gradients
        return [gradient if gradient is None else gradient.to(dtype) for gradient in gradients]

    def reduce_flat(self, flat):
        """Reduces `flat`, the gradients of all shards, over all ranks. Returns this rank's shard of the
        result."""
        collectives = torch.ops._c10d_functional
        mesh = self.group.mesh_info
        before, after, scattered, replicated = fsdp.divide_factors(self.group, flat.dtype)
        count = mesh.shard_process_group.size()
        if before not in (None, 1):
            flat.div_(before)
        if count > 1:
            name = mesh.shard_process_group.group_name
            flat = collectives.wait_tensor(collectives.reduce_scatter_tensor(flat, scattered, count, name))
        elif self.group.gradient_divide_factor not in (None, 1):
            flat = flat / self.group.gradient_divide_factor
        replicas = getattr(mesh, "replicate_process_group", None)
        if replicas is not None:
            flat = collectives.wait_tensor(collectives.all_reduce(flat, replicated, replicas.group_name))
        return flat if after in (None, 1) else flat.div_(after)


def expect_gradients(tensor, dtype) -> None:
    """Makes autograd accept gradients of this type for the tensor; of any type if `dtype` is None."""
    if tensor.requires_grad and dtype is not tensor.dtype:
        ops.expect_gradient(tensor, tensor.size(), dtype)


def is_backward(begun_in: int) -> bool:
    """Says whether the code runs within a backward other than `begun_in`. In such a backward, a module's
    forward is a checkpoint's rerun. `begun_in`: -1 if the step's forward began outside of any backward. If
    the original runs a planned step again, the forward begins within a backward; `begun_in` is then its
    id."""
    return torch._C._current_graph_task_id() != begun_in
