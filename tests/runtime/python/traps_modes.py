"""Traps of Python code that runs below autograd: dispatch modes, and subclasses of Tensor that run each op
themselves."""

import contextlib
import functools

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, distribute_tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts
from torch.utils.flop_counter import FlopCounterMode

from traps import WIDTH, Trap, blocks, host_trap, rows, trap


class WithinMode(nn.Module):
    """A model whose forward runs its middle part within a dispatch mode. Each forward makes a new mode."""

    def __init__(self, mode, layers=None):
        super().__init__()
        self.before, self.within, self.after = blocks(1), layers or blocks(), blocks(1)
        self.mode = mode

    def forward(self, x):
        x = self.before(x)
        with self.mode():
            x = self.within(x)
        return self.after(x)


class PassOn(TorchDispatchMode):
    """Sees each op and changes nothing."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class ReturnEarlier(TorchDispatchMode):
    """Returns an earlier result if an op is called on the same tensors again."""

    def __init__(self):
        super().__init__()
        self.results, self.kept = {}, []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function not in (torch.ops.aten.addmm.default, torch.ops.aten.gelu.default):
            return function(*args, **(kwargs or {}))
        key = (function, *((id(arg), arg._version) for arg in args if isinstance(arg, torch.Tensor)))
        if key not in self.results:
            self.kept.append(args)
            self.results[key] = function(*args, **(kwargs or {}))
        return self.results[key]


class OtherGelu(TorchDispatchMode):
    """Replaces one op by several ops."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.gelu.default:
            return torch.ops.aten.sigmoid(args[0] * 1.702).mul_(args[0])
        return function(*args, **(kwargs or {}))


class OwnDropout(TorchDispatchMode):
    """Replaces an op that draws random numbers by code that draws them in another way."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.bernoulli_.float:
            return args[0].copy_(torch.rand_like(args[0]) < args[1])
        return function(*args, **(kwargs or {}))


class Offset(torch.Tensor):
    """A tensor that holds two plain tensors and has the values of their sum."""

    def __new__(cls, base, rest):
        return torch.Tensor._make_wrapper_subclass(
            cls, base.shape, dtype=base.dtype, device=base.device, strides=base.stride()
        )

    def __init__(self, base, rest):
        self.base, self.rest = base, rest

    def sum_of_both(self):
        return self.base + self.rest

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.detach.default:
            return cls(args[0].base.detach(), args[0].rest.detach())
        if function is torch.ops.aten.mul.Tensor and isinstance(args[1], float):
            return cls(args[0].base * args[1], args[0].rest * args[1])
        plain = tree_map_only(cls, cls.sum_of_both, (args, kwargs or {}))
        return function(*plain[0], **plain[1])


class ToOffset(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return Offset(x.sin(), x.cos())

    @staticmethod
    def backward(context, gradient):
        return gradient * 0.5


class OwnStorage(torch.Tensor):
    """A tensor that owns its memory, like a plain tensor."""

    @staticmethod
    def __new__(cls, elements):
        return torch.Tensor._make_subclass(cls, elements, elements.requires_grad)

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        with torch._C._DisableTorchDispatch():
            result = function(*args, **(kwargs or {}))
        return cls(result) if function is torch.ops.aten.detach.default else result


class Applied(nn.Module):
    """A model of two stacks that calls a function on the tensor between them."""

    def __init__(self, function):
        super().__init__()
        self.first, self.second = blocks(), blocks()
        self.function = function

    def forward(self, x):
        return self.second(self.function(self.first(x)))


def save_products(context, function, *args, **kwargs):
    saves = function in (torch.ops.aten.addmm.default, torch.ops.aten.mm.default)
    return CheckpointPolicy.MUST_SAVE if saves else CheckpointPolicy.PREFER_RECOMPUTE


class Selective(nn.Module):
    def __init__(self, policy, **options):
        super().__init__()
        self.stacks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(WIDTH), *blocks(1), nn.Dropout(0.2)) for _ in range(4)
        )
        self.contexts = functools.partial(create_selective_checkpoint_contexts, policy, **options)

    def forward(self, x):
        for stack in self.stacks:
            x = x + checkpoint(stack, x, use_reentrant=False, context_fn=self.contexts)
        return x


@trap
def selective_checkpoint():
    """Selective checkpointing uses two dispatch modes: one keeps results of ops in the forward, and another
    returns them in the backward."""
    return Trap(Selective(save_products))


@trap
def selective_checkpoint_of_a_list():
    """The ops whose results are kept are given as a list."""
    return Trap(Selective([torch.ops.aten.native_layer_norm.default, torch.ops.aten.gelu.default]))


@trap
def flops_counted():
    """Within the forward a mode counts operations. The mode also registers hooks on modules."""
    return Trap(WithinMode(functools.partial(FlopCounterMode, display=False)), expected="either")


@trap
def mode_that_passes_on():
    return Trap(WithinMode(PassOn))


@trap
def mode_in_a_mode():
    """The outer mode sees the ops that the inner mode calls. The ops that the outer mode calls must be
    recorded exactly once."""

    class Model(WithinMode):
        def forward(self, x):
            with OtherGelu():
                return super().forward(x)

    return Trap(Model(PassOn))


@trap
def mode_that_returns_earlier_results():
    """One layer is called twice, but a mode returns the results of the first call for the second."""

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks()

        def forward(self, x):
            return self.layers(x) * self.layers(x)

    return Trap(WithinMode(ReturnEarlier, Twice()), expected="either")


@trap
def mode_that_replaces_an_op():
    return Trap(WithinMode(OtherGelu))


@trap
def mode_that_draws_random_numbers():
    return Trap(WithinMode(OwnDropout, nn.Sequential(blocks(1), nn.Dropout(0.4), blocks(1))))


@trap
def mode_around_the_backward():
    """Only the backward runs within a dispatch mode."""

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        with PassOn():
            loss.backward()
        return loss

    return Trap(blocks(4), body=body)


@trap
def mode_around_the_loss():
    def loss(output, step):
        with OtherGelu():
            return nn.functional.gelu(output).square().mean()

    return Trap(blocks(4), loss=loss)


@trap
def tensor_that_holds_two():
    return Trap(Applied(lambda x: ToOffset.apply(x) * 3.0 + x))


@trap
def tensor_with_memory_of_its_own():
    return Trap(Applied(lambda x: OwnStorage(x.detach()).mul(0.5) + x))


class Returned(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = blocks()

    def forward(self, x):
        return ToOffset.apply(self.layers(x))


@trap
def tensor_of_a_class_is_returned():
    """The forward returns an instance of a subclass of Tensor, but a plan can return only plain tensors."""
    return Trap(Returned(), loss=lambda output, step: (output * 2.0).square().mean(), expected="refused")


@trap
def parameter_of_a_class():
    """A parameter is an instance of a subclass of Tensor, so the optimizer updates memory that this object
    holds."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks()
            self.weight = nn.Parameter(OwnStorage(torch.randn(WIDTH, WIDTH)))

        def forward(self, x):
            return self.layers(x) @ self.weight

    return Trap(Model(), expected="refused")


@trap
def buffer_of_a_class():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks()
            self.register_buffer("shift", Offset(torch.randn(WIDTH), torch.randn(WIDTH)))

        def forward(self, x):
            return self.layers(x) + self.shift

    return Trap(Model(), expected="refused", observe=lambda model: model.shift.sum_of_both())


@trap
def input_of_a_class():
    return Trap(
        Applied(lambda x: x),
        batch=lambda step: ((Offset(*rows(step)[0], torch.ones(64, WIDTH)),), {}),
        expected="refused",
    )


@trap
def mapped_over_rows():
    """The model calls torch.func.vmap."""
    return Trap(Applied(torch.func.vmap(lambda row: row.softmax(0) * row.sum())))


@trap
def gradient_of_a_function():
    """The model calls torch.func.grad."""
    return Trap(Applied(torch.func.vmap(torch.func.grad(lambda row: row.sin().prod()))), expected="either")


@trap
def functionalized():
    """The model calls torch.func.functionalize."""

    def function(x):
        y = x.clone()
        y.mul_(2.0)
        return y + x

    return Trap(Applied(torch.func.functionalize(function)), expected="either")


@trap
def shapes_by_fake_tensors():
    """The forward computes a shape on fake tensors. An op on them is not recorded if it runs no kernel."""

    def function(x):
        plain = x.detach()
        with FakeTensorMode() as mode:
            shape = (mode.from_tensor(plain).unsqueeze(0) * 2).shape
        return x.view(shape).squeeze(0)

    return Trap(Applied(function), expected="either")


@trap
def shapes_on_the_meta_device():
    def function(x):
        shape = (torch.empty_like(x, device="meta").unsqueeze(0) @ torch.empty(WIDTH, 8, device="meta")).shape
        return x.view(1, -1, WIDTH)[..., : shape[-1]].squeeze(0).repeat(1, 2)

    return Trap(Applied(function))


@contextlib.contextmanager
def one_rank():
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        yield
    finally:
        torch.distributed.destroy_process_group()


@host_trap
def distributed_tensor():
    """The tensors between the two stacks are DTensors."""

    def function(x):
        mesh = init_device_mesh("cpu", (1,))
        whole = DTensor.from_local(x, mesh, [Replicate()], run_check=False)
        return (nn.functional.gelu(whole) * whole).to_local()

    return Trap(Applied(function), around=one_rank)


@host_trap
def parameters_distributed():
    """The forward also uses a weight as a DTensor, as in FSDP and tensor parallelism."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks()
            self.mesh = None

        def forward(self, x):
            if self.mesh is None:
                self.mesh = init_device_mesh("cpu", (1,))
            weight = distribute_tensor(self.layers[0].weight, self.mesh, [Replicate()])
            return (
                self.layers(x)
                + nn.functional.linear(
                    DTensor.from_local(x, self.mesh, [Replicate()], run_check=False), weight
                ).to_local()
            )

    return Trap(Model(), around=one_rank, expected="either")


@trap
def jagged_rows():
    """Rows of different lengths are in one jagged nested tensor (torch.nested)."""

    def function(x):
        offsets = torch.tensor([0, 10, 30, 64], device=x.device)
        rows_of = torch.nested.nested_tensor_from_jagged(x * 1.0, offsets)
        return nn.functional.gelu(rows_of * 2.0).values()

    return Trap(Applied(function), expected="either")


@trap
def mode_within_no_grad():
    """The part of the forward that runs within the mode needs no gradient."""

    class Model(WithinMode):
        def forward(self, x):
            with torch.no_grad(), self.mode():
                scale = self.before(x).sigmoid()
            return self.after(self.within(x) * scale)

    return Trap(Model(OtherGelu))


@trap
def ops_that_a_mode_hides():
    """The forward turns Python dispatch off for some ops, so the mode does not see them."""

    class Model(WithinMode):
        def forward(self, x):
            with self.mode():
                x = self.before(x)
                with torch._C._DisableTorchDispatch():
                    x = self.within(x)
                return self.after(x)

    return Trap(Model(OtherGelu))
