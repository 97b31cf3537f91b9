"""Triton kernels, which run on the host in Triton's interpreter, and torch functions that launch them. A
program that uses this module must set TRITON_INTERPRET=1 before Triton is imported anywhere.
"""

import torch
import triton
import triton.language as tl
from torch.library import triton_op, wrap_triton
from triton.runtime import interpreter

BLOCK = 4096

# The interpreter copies between host and device in closures that refer to themselves, so the memory of all
# arguments stays alive until the next garbage collection. On the host no copies are needed, so these two
# methods copy nothing.
interpreter.GridExecutor._init_args_hst = lambda self, args, kwargs: (list(args), dict(kwargs))
interpreter.GridExecutor._restore_args_dev = lambda self, *_: None


@triton.jit
def gate_forward(a, b, out, count, note: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(a + at, mask=at < count)
    y = tl.load(b + at, mask=at < count)
    tl.store(out + at, x * tl.sigmoid(x) * y, mask=at < count)


@triton.jit
def gate_backward(gradient, a, b, count, BLOCK: tl.constexpr):
    """Overwrites `a` and `b` with their gradients."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(gradient + at, mask=at < count)
    x = tl.load(a + at, mask=at < count)
    y = tl.load(b + at, mask=at < count)
    s = tl.sigmoid(x)
    tl.store(a + at, g * y * (s + x * s * (1 - s)), mask=at < count)
    tl.store(b + at, g * x * s, mask=at < count)


def wrapped(kernel):
    """Returns the kernel in the wrapper that torch can trace. Torch 2.11 cannot wrap kernels of the
    interpreter. The function then returns the kernel itself, because no test traces it."""
    try:
        return wrap_triton(kernel)
    except RuntimeError:
        return kernel


def grid_of(count):
    return (triton.cdiv(count, BLOCK),)


class RawGate(torch.autograd.Function):
    """A function that launches kernels without the dispatcher, as Liger's functions do. The kernel ignores
    its argument `note`."""

    note = None

    @staticmethod
    def forward(ctx, a, b):
        out, count = torch.empty_like(a), a.numel()
        gate_forward[grid_of(count)](a, b, out, count, note=RawGate.note, BLOCK=BLOCK)
        ctx.save_for_backward(a, b)
        return out

    @staticmethod
    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        count = a.numel()
        gate_backward[lambda meta: (triton.cdiv(count, meta["BLOCK"]),)](gradient, a, b, count, BLOCK=BLOCK)
        return a, b


class GateInPlace(RawGate):
    """A function whose kernel reads and writes the same memory through two arguments."""

    @staticmethod
    def forward(ctx, a, b):
        a, count = a.clone(), a.numel()
        gate_forward[grid_of(count)](a, b, a, count, note=None, BLOCK=BLOCK)
        ctx.save_for_backward(a.clone(), b.clone())
        return a


@triton_op("rematlas_tests::gate", mutates_args=())
def gate(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    out, count = torch.empty_like(a), a.numel()
    wrapped(gate_forward)[grid_of(count)](a, b, out, count, note=None, BLOCK=BLOCK)
    return out


@triton_op("rematlas_tests::gate_backward", mutates_args=("a", "b"))
def gate_gradients(gradient: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
    count = a.numel()
    wrapped(gate_backward)[grid_of(count)](gradient, a, b, count, BLOCK=BLOCK)


def gradients(ctx, gradient):
    a, b = (saved.clone() for saved in ctx.saved_tensors)
    gate_gradients(gradient, a, b)
    return a, b


gate.register_autograd(gradients, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
