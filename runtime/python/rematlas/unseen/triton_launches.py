"""Turns launches of Triton kernels by Python (`kernel[grid](...)`), which bypass the dispatcher, into ops.

A private function of torch, which torch.compile also uses, finds out from the kernel's code to which
arguments the kernel writes. Under Triton's interpreter (TRITON_INTERPRET=1) a run of the kernel on copies
shows these arguments.
"""

import hashlib
import inspect
import sys
from unittest import mock

import torch

from ..errors import message
from . import calls

ADVICE = "wrap it by torch.library.triton_op, with what it writes to as mutates_args"
PLAIN = (int, float, bool, str, type(None), torch.dtype)


class NoOp(Exception):
    """Raised with the reason why a launch cannot be an op."""


def watch() -> None:
    """From now on turns each launch of a kernel into an op, if the launch happens in a recorded step."""
    kernels = getattr(sys.modules.get("triton.runtime.jit"), "KernelInterface", None)
    if kernels is None or getattr(kernels.__getitem__, "is_ours", False):
        return
    launcher_of = kernels.__getitem__

    def launcher(kernel, grid):
        launch = launcher_of(kernel, grid)

        def launched(*args, **kwargs):
            if not calls.is_recorded():
                return launch(*args, **kwargs)
            return launch_as_op(kernel, grid, args, kwargs, launcher_of)

        return launched

    launcher.is_ours = True
    kernels.__getitem__ = launcher


def launch_as_op(kernel, grid, args, kwargs, launcher_of):
    name = name_of(kernel)
    try:
        if calls.are_shapes_alone():
            raise NoOp("and shapes do not tell what it writes")
        launch = Launch(kernel, grid, args, kwargs, launcher_of)
        what = calls.remember(launch.name(), launch.compute)
        launch = calls.remembered[what].__self__
        if launch.written is None:
            launch.written = written_by(launch, kernel, args, kwargs)
        check_memory(*launch.tensors_of(args, kwargs))
    except NoOp as error:
        calls.refuse(f"the kernel {name} is launched where no op shows it, {message(error)}: {ADVICE}")
        return launcher_of(kernel, grid)(*args, **kwargs)
    calls.as_op(what, *launch.tensors_of(args, kwargs))
    return None


class Launch:
    """A kernel with its grid and its arguments: for a tensor the result of `geometry`, else the value.
    `written`: the names of the arguments that the kernel writes to; None until they are known."""

    def __init__(self, kernel, grid, args, kwargs, launcher_of):
        self.kernel = kernel
        named = named_arguments(kernel, args, kwargs)
        self.grid = fixed(grid, with_defaults(kernel, named))
        self.names = list(named)[: len(args)]
        self.arguments = {
            name: value if not isinstance(value, torch.Tensor) else geometry(value)
            for name, value in named.items()
            if name in self.names or name in kwargs
        }
        self.is_tensor = {name: isinstance(named[name], torch.Tensor) for name in self.arguments}
        self.launcher_of = launcher_of
        self.written = None

    def name(self) -> str:
        told_arguments = ", ".join(f"{name}={told(value)}" for name, value in self.arguments.items())
        code = hash_of_code(self.kernel)
        return f"the kernel {name_of(self.kernel)} {code} on {told_grid(self.grid)} with {told_arguments}"

    def tensors_of(self, args, kwargs):
        """Returns the tensors that the kernel reads, and the tensors that it writes to."""
        given = {**dict(zip(self.names, args)), **kwargs}
        tensors = {name: given[name] for name, is_tensor in self.is_tensor.items() if is_tensor}
        read = [tensor for name, tensor in tensors.items() if name not in self.written]
        return read, [tensor for name, tensor in tensors.items() if name in self.written]

    def compute(self, read, written):
        from_, to = iter(read), iter(written)
        given = {
            name: (next(to) if name in self.written else next(from_)) if self.is_tensor[name] else value
            for name, value in self.arguments.items()
        }
        self.run(given)
        return []

    def run(self, given) -> None:
        args = [given[name] for name in self.names]
        rest = {name: value for name, value in given.items() if name not in self.names}
        self.launcher_of(self.kernel, self.grid)(*args, **rest)


def check_memory(read, written) -> None:
    """Raises NoOp if the kernel writes to a tensor that shares memory with another argument, because the
    values that the kernel reads there would depend on the order of its threads."""
    with calls.unwatched():
        places = [tensor.untyped_storage().data_ptr() for tensor in (*written, *read)]
    if any(places.count(place) > 1 for place in places[: len(written)]):
        raise NoOp("with two tensors in one memory, one of which it writes to")


def name_of(kernel) -> str:
    return getattr(function_of(kernel), "__name__", type(kernel).__name__)


def function_of(kernel):
    """Returns the Python function inside Triton's decorators."""
    while not inspect.isfunction(kernel) and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel


def hash_of_code(kernel) -> str:
    function = function_of(kernel)
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        text = str(function.__code__.co_code) + str(function.__code__.co_consts)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def named_arguments(kernel, args, kwargs) -> dict:
    """Returns the arguments by name, the positional ones first. They include options of the compiler, such as
    `num_warps`."""
    names = list(inspect.signature(function_of(kernel)).parameters)
    if len(args) > len(names):
        raise NoOp(f"with {len(args)} arguments for {len(names)}")
    return {**dict(zip(names, args)), **kwargs}


def with_defaults(kernel, named) -> dict:
    parameters = inspect.signature(function_of(kernel)).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty} | named


def fixed(grid, named):
    """Returns the grid as numbers. If the grid is a function that needs values which autotuning chooses,
    returns the function."""
    try:
        grid = grid(named) if callable(grid) else grid
    except KeyError:
        return grid
    grid = tuple(grid) if isinstance(grid, tuple | list) else (grid,)
    return tuple(map(told_number, grid))


def told_grid(grid) -> str:
    if not inspect.isfunction(grid):
        return told(grid)
    known = inspect.getclosurevars(grid).nonlocals
    return f"{told(grid)} at line {grid.__code__.co_firstlineno} with {told(tuple(known.values()))}"


def told_number(number) -> int:
    if not isinstance(number, int):
        raise NoOp(f"on a grid of a {type(number).__name__}")
    return int(number)


def told(value) -> str:
    """Returns a text for a value. Only equal values have equal texts."""
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"({', '.join(map(told, value))})"
    if callable(value) and hasattr(value, "__name__"):
        return f"{value.__module__}.{value.__name__}"
    if type(value).__module__.startswith("triton") and type(value).__name__ in ("dtype", "constexpr"):
        return str(value)
    raise NoOp(f"with a {type(value).__name__}")


def geometry(tensor) -> tuple:
    return tensor.dtype, tuple(tensor.shape), tensor.stride()


def written_by(launch, kernel, args, kwargs) -> frozenset:
    """Returns the names of the tensors that the kernel writes to."""
    named = {**dict(zip(launch.names, args)), **kwargs}
    if is_interpreted(kernel):
        return written_in_interpreter(launch, named)
    try:
        return written_by_code(kernel, named)
    except Exception as error:
        raise NoOp(f"and what it writes to cannot be read from its code ({message(error)})") from error


def is_interpreted(kernel) -> bool:
    while type(kernel).__name__ != "InterpretedFunction" and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return type(kernel).__name__ == "InterpretedFunction"


def written_by_code(kernel, named) -> frozenset:
    from torch._higher_order_ops import triton_kernel_wrap as wrap
    from triton.runtime.autotuner import Autotuner, Heuristics

    while isinstance(kernel, Autotuner | Heuristics):
        chosen = (
            {name: choose(named) for name, choose in kernel.values.items()}
            if isinstance(kernel, Heuristics)
            else kernel.configs[0].kwargs
        )
        named, kernel = {**named, **chosen}, kernel.fn
    with mock.patch.object(wrap.log, "warning", raise_again):
        if hasattr(wrap, "identify_mutated_tensors"):  # before torch 2.15
            return frozenset(wrap.identify_mutated_tensors(kernel, dict(named), {}))
        accesses = wrap.identify_accessed_tensors(kernel, dict(named), {})
    return frozenset(write.name for write in accesses.read_writes.writes)


def raise_again(*_, **__):
    """Raises the error that torch was about to log as a warning. Otherwise torch would assume that the kernel
    writes to each argument."""
    raise sys.exc_info()[1]


class Stores:
    """Replaces the interpreter's memory, and notes the addresses to which a kernel writes."""

    def __init__(self, own):
        self.own = own
        self.addresses = set()

    def __getattr__(self, name):
        return getattr(self.own, name)

    def note(self, pointers, mask=None):
        written = pointers if mask is None else pointers[mask]
        if written.size:
            self.addresses.update((int(written.min()), int(written.max())))

    def store(self, pointers, values, mask):
        self.note(pointers, mask)
        return self.own.store(pointers, values, mask)

    def atomic_rmw(self, operation, pointers, values, mask, order):
        self.note(pointers, mask)
        return self.own.atomic_rmw(operation, pointers, values, mask, order)

    def atomic_cas(self, pointers, *rest):
        self.note(pointers)
        return self.own.atomic_cas(pointers, *rest)


def written_in_interpreter(launch, named) -> frozenset:
    from triton.runtime import interpreter

    if any(launch.is_tensor.get(name) and value.is_cuda for name, value in named.items()):
        raise NoOp("and Triton's interpreter computes on the host what lies on a GPU")
    with calls.unwatched(), torch.no_grad():
        copies = {
            name: copied(value) if launch.is_tensor[name] else value
            for name, value in named.items()
            if name in launch.is_tensor
        }
        stores = Stores(interpreter._interpreter)
        with mock.patch.object(interpreter, "_interpreter", stores):
            launch.run(copies)
    return frozenset(
        name for name, value in copies.items() if launch.is_tensor[name] and is_hit(value, stores.addresses)
    )


def copied(tensor):
    """Returns a copy of the tensor with its own storage."""
    storage = tensor.untyped_storage().clone()
    return torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(
        storage, tensor.storage_offset(), tensor.shape, tensor.stride()
    )


def is_hit(tensor, addresses) -> bool:
    storage = tensor.untyped_storage()
    begin = storage.data_ptr()
    return any(begin <= address < begin + storage.nbytes() for address in addresses)
