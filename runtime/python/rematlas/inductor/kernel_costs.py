"""Bytes of tensors, and the times and workspaces of kernels, measured where the step will run."""

import functools
import time

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Node
from torch.utils import _pytree as pytree

from ..compiled.memory import alive_bytes, peak_bytes, reset_peak
from .node_classes import NodeClass, class_of, is_tensor, packet_of

aten = torch.ops.aten
RUNS = 3
LEAST_EXPONENT, LARGEST_EXPONENT = 12, 24  # of how many numbers fused kernels are measured with
TRANSCENDENTAL = frozenset(
    getattr(aten, name)
    for name in (
        *("acos", "asin", "atan", "atan2", "cos", "cosh", "erf", "erfc", "erfinv", "exp", "exp2", "expm1"),
        *(
            "gelu",
            "gelu_backward",
            "lgamma",
            "log",
            "log10",
            "log1p",
            "log2",
            "pow",
            "sigmoid",
            "sin",
            "sinh",
        ),
        *("tan", "tanh"),
    )
) | {torch.ops.prims.inductor_random}
DEFAULT_SIZE = 4096  # of a dimension that nothing is known of


def hint(number) -> int:
    """Returns the number, or the one of the call that is compiled where it may change."""
    if isinstance(number, int):
        return number
    known = number.node.hint if number.node.has_hint() else None
    return DEFAULT_SIZE if known is None else int(known)


def bytes_of(node: Node) -> int:
    value = node.meta["val"]
    return hint(value.numel()) * value.dtype.itemsize


def device_of(node: Node) -> torch.device:
    value = node.meta["val"]
    return pytree.tree_leaves(value)[0].device


def device_of_inputs(module) -> torch.device:
    """Returns the device of the first tensor on a GPU, else the CPU."""
    devices = [node.meta["val"].device for node in module.graph.nodes if is_tensor(node)]
    return next((device for device in devices if device.type != "cpu"), torch.device("cpu"))


def synchronize(device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds_of(run, device) -> float:
    """Returns the least of a few runs, behind one that warms up."""
    times = []
    for _ in range(RUNS + 1):
        synchronize(device)
        start = time.perf_counter()
        run()
        synchronize(device)
        times.append(time.perf_counter() - start)
    return min(times[1:])


@functools.cache
def seconds_of_numbers(device, exponent, is_transcendental) -> float:
    """Returns what a fused kernel takes that reads and writes 2**exponent numbers of four bytes: small
    tensors lie in caches."""
    with unset_fake_temporarily(), torch.no_grad():
        source = torch.ones(1 << exponent, device=device)
        target = torch.empty_like(source)
        run = torch.tanh if is_transcendental else torch.neg
        return seconds_of(lambda: run(source, out=target), device)


def seconds_to_move(device, size) -> float:
    """Returns what a fused kernel takes that reads and writes so many bytes together."""
    exponent = min(max((size // 8).bit_length(), LEAST_EXPONENT), LARGEST_EXPONENT)
    return seconds_of_numbers(device, exponent, False) * size / (8 << exponent)


def seconds_of_functions(device, numbers) -> float:
    """Returns what so many transcendental functions take, beside the kernel that computes them."""
    exponent = min(max(numbers.bit_length(), LEAST_EXPONENT), LARGEST_EXPONENT)
    both, plain = (seconds_of_numbers(device, exponent, kind) for kind in (True, False))
    return max(0.0, both - plain) * numbers / (1 << exponent)


def signature(node: Node) -> tuple:
    """Returns what tells the time and the workspace of an extern kernel."""

    def part(value):
        if isinstance(value, Node):
            return signature_of_value(value.meta.get("val"))
        return str(value)

    return (str(node.target), *(part(value) for value in pytree.tree_leaves((node.args, node.kwargs))))


def signature_of_value(value):
    if isinstance(value, torch.Tensor):
        sizes = tuple(hint(size) for size in (*value.shape, *value.stride()))
        return (sizes, value.dtype, value.device)
    return str(value)


def sample(value):
    """Returns a tensor as the fake one: of small numbers, or of zeros where numbers are indices."""
    if isinstance(value, torch.SymInt):
        return hint(value)
    if not isinstance(value, torch.Tensor):
        return value
    sizes, strides = (tuple(hint(size) for size in of) for of in (value.shape, value.stride()))
    made = torch.empty_strided(sizes, strides, dtype=value.dtype, device=value.device)
    return made.fill_(0.5 if value.dtype.is_floating_point else 0)


class KernelCosts:
    """Measures each signature of an extern kernel once."""

    measured = {}  # by signature: seconds and workspace of a run; of the process

    def of(self, kernel) -> tuple[float, int]:
        """Returns seconds and the bytes of a workspace."""
        node = kernel.node
        moved = sum(bytes_of(tensor) for tensor in (*kernel.reads, *kernel.makes))
        device = device_of(node)
        fused = seconds_to_move(device, moved) + sum(
            seconds_of_functions(device, hint(node.meta["val"].numel()))
            for node in kernel.computes
            if packet_of(node) in TRANSCENDENTAL
        )
        if class_of(node) is not NodeClass.EXTERN or not isinstance(node.target, torch._ops.OpOverload):
            return fused, 0
        key = signature(node)
        if key not in self.measured:
            self.measured[key] = self.measure(node) or (fused, 0)
        return self.measured[key]

    def measure(self, node: Node):
        """Returns None for a kernel that cannot be run by itself."""
        if node.target._schema.is_mutable or node.target.namespace != "aten":
            return None
        device = device_of(node)
        with unset_fake_temporarily(), torch.no_grad(), torch.random.fork_rng():
            try:
                args, kwargs = pytree.tree_map(
                    lambda value: sample(value.meta.get("val")) if isinstance(value, Node) else value,
                    (node.args, node.kwargs),
                )
                workspace = self.workspace(node.target, args, kwargs, device)
                return seconds_of(lambda: node.target(*args, **kwargs), device), workspace
            except (RuntimeError, ValueError, IndexError):
                return None

    @staticmethod
    def workspace(target, args, kwargs, device) -> int:
        """Returns the bytes that a run takes beyond what it returns."""
        before = alive_bytes(device)
        reset_peak(device)
        made = target(*args, **kwargs)
        synchronize(device)
        peak, after = peak_bytes(device), alive_bytes(device)
        del made
        return max(0, peak - max(after, before))
