"""Gathers the parameters of a module under fully_shard, and reduces their gradients, by plain functional
collectives that a plan can run. The sums have the same bits as FSDP2's, because gradients are put into one
tensor in the same order and are reduced by the same collective."""

import torch

from . import fsdp
from .parts import Whole, dtensor

ALONE = 4 << 20  # a parameter of at least this many bytes is gathered by its own collective, without copies


class Gathered(torch.autograd.Function):
    """The whole parameters of a group from the shards of all ranks. The backward reduces their gradients."""

    @staticmethod
    def forward(context, group, *shards):
        context.group = group
        context.set_materialize_grads(False)
        wholes = group.gather(shards)
        context.mark_non_differentiable(
            *(whole for whole, shard in zip(wholes, shards) if not shard.requires_grad)
        )
        return tuple(wholes)

    @staticmethod
    def backward(context, *gradients):
        group = context.group
        group.let_go()
        return None, *group.reduce(gradients)


class GroupInStep:
    """A group of parameters in one step of the own form. `group`: an FSDPParamGroup. `shards`: the parts of
    its parameters on this rank, each a Part if it is trained. `storages` finds parameters by the memory of
    their wholes, while the forward of the module runs."""

    def __init__(self, group, shards, storages):
        self.group = group
        self.parameters = group.fsdp_params
        self.shards = shards
        self.storages = storages
        self.attributes = [fsdp.Attributes(parameter) for parameter in self.parameters]
        self.again = None  # the wholes, gathered again for the backward
        self.noted = []
        self.wide = {}  # gradients by position, in a wider type than autograd lets them have

    # Wholes.

    def gather(self, shards) -> list:
        """Returns the whole parameters, plain tensors."""
        wholes = [None] * len(shards)
        for places in self.bundles():
            parts = [self.cast(self.parameters[place], shards[place]) for place in places]
            for place, whole in zip(places, self.gather_bundle(parts)):
                parameter = self.parameters[place]
                wholes[place] = whole.as_strided(parameter._orig_size, parameter._contiguous_orig_stride)
        return wholes

    def bundles(self) -> list:
        """Returns lists of positions. The parameters of a list are gathered by one collective."""
        sizes = fsdp.sizes_in_bytes(self.parameters)
        numbers = {id(parameter): place for place, parameter in enumerate(self.parameters)}

        def bundle_of(parameter):
            place = numbers[id(parameter)]
            return place if sizes[place] >= ALONE else (parameter.param_dtype or parameter.orig_dtype)

        return fsdp.runs(self.parameters, bundle_of)

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
        return [column.reshape(-1) for column in columns]

    # Forward and backward of the module.

    def enter(self) -> None:
        """Gathers the parameters, and sets the attributes of the modules."""
        wholes = Gathered.apply(self, *self.shards)
        for place, whole in enumerate(wholes):
            self.attributes[place].set(self.as_attribute(whole, place))
        self.noted = [torch_storage(whole) for whole in wholes]
        for place, storage in enumerate(self.noted):
            self.storages[storage] = self, place

    def as_attribute(self, whole, place):
        spec = fsdp.spec_of_whole(self.parameters[place])
        if spec is None:
            return whole
        return Whole.apply(whole, spec, lambda gradient: self.local_gradient(gradient, place))

    def leave(self) -> None:
        """Sets the attributes back to the shards, when the forward of the module is over."""
        for storage in self.noted:
            self.storages.pop(storage, None)
        self.noted = []
        self.set_back()

    def set_back(self) -> None:
        for attributes in self.attributes:
            attributes.set_back()

    def gathered_again(self) -> list:
        """Returns the wholes in the backward. They are gathered for the first caller, and kept until the
        gradients of the group are reduced."""
        if self.again is None:
            with torch.enable_grad():  # so that a recording knows that the ops ran in the forward before
                self.again = self.gather([shard.detach() for shard in self.shards])
        return self.again

    def enter_backward(self) -> None:
        """Sets the attributes of the modules, because a checkpoint may run the forward again."""
        for whole, parameter, attributes in zip(
            self.gathered_again(), self.parameters, self.attributes
        ):
            spec = fsdp.spec_of_whole(parameter)
            whole = whole if spec is None else dtensor(whole, spec)
            attributes.set(whole.detach().requires_grad_(parameter.sharded_param.requires_grad))

    def let_go(self) -> None:
        """Frees the wholes that were gathered again."""
        self.again = None
        self.set_back()

    # Gradients.

    def local_gradient(self, gradient, place):
        """Returns the gradient of the part on this rank, from the gradient of a DTensor. If it must be reduced
        in a wider type, it goes to `reduce` by `wide`, because autograd would cast it back."""
        parameter = self.parameters[place]
        wanted = getattr(parameter, "unsharded_grad_dtype", None)
        if not getattr(parameter, "may_reduce_grad_outside_dp", False) or wanted in (None, gradient.dtype):
            return parameter._get_grad_inner_tensor(gradient)
        self.wide[place] = parameter._get_grad_inner_tensor(gradient.to(wanted))
        return gradient._local_tensor.new_zeros(()).expand(self.wide[place].size())

    def reduce(self, gradients) -> list:
        """Returns the gradients of the shards; None for each parameter without a gradient."""
        gradients = [self.wide.pop(place, gradient) for place, gradient in enumerate(gradients)]
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
        """Returns the shard on this rank of the sum over all ranks. `flat`: the gradients of all shards."""
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


def torch_storage(tensor) -> int:
    with torch._C.DisableTorchFunction():
        return tensor.untyped_storage()._cdata
