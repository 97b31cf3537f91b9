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
CONVOLUTIONS = frozenset({aten.convolution, aten.convolution_backward})
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
    """Returns the device of what a kernel makes; one that makes nothing runs where what it reads lies."""
    values = pytree.tree_leaves([made.meta.get("val") for made in (node, *node.all_input_nodes)])
    return next((value.device for value in values if isinstance(value, torch.Tensor)), torch.device("cpu"))


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


def sample(layout):
    """Returns a tensor of small numbers, or of zeros where numbers are indices."""
    sizes, strides, dtype, device = layout
    made = torch.empty_strided(sizes, strides, dtype=dtype, device=device)
    return made.fill_(0.5 if dtype.is_floating_point else 0)


def layouts_of(node: Node, are_channels_last: bool) -> list[tuple]:
    """Returns sizes, strides, type and device of each tensor that an extern kernel reads.
    `are_channels_last`: the strides of images that a convolution reads."""
    found = []
    for value in tensors_read(node):
        sizes, strides = (tuple(map(hint, of)) for of in (value.shape, value.stride()))
        if are_channels_last and packet_of(node) in CONVOLUTIONS and len(sizes) == 4:
            strides = torch.empty(sizes, device="meta", memory_format=torch.channels_last).stride()
        found.append((sizes, strides, value.dtype, value.device))
    return found


def nodes_read(node: Node) -> list[Node]:
    given = pytree.tree_leaves((node.args, node.kwargs))
    return [value for value in given if isinstance(value, Node) and is_tensor(value)]


def tensors_read(node: Node) -> list:
    return [value.meta["val"] for value in nodes_read(node)]


def copied_bytes(node: Node, layouts) -> int:
    """Returns the bytes of the parameters that a kernel reads in strides which they do not have. Inductor
    copies them right before the kernel. Other tensors are made in the strides in which they are read."""
    return sum(
        bytes_of(read)
        for read, (_, strides, *_) in zip(nodes_read(node), layouts, strict=True)
        if read.op == "placeholder" and tuple(map(hint, read.meta["val"].stride())) != strides
    )


class KernelCosts:
    """Measures each signature of an extern kernel once in a process. `are_channels_last`: inductor lays
    images out so."""

    seconds, workspaces = {}, {}  # by signature and layouts of what is read; None: it does not run by itself

    def __init__(self, are_channels_last: bool):
        self.are_channels_last = are_channels_last

    def of(self, kernel) -> tuple[float, int]:
        """Returns seconds and the bytes of a workspace."""
        node = kernel.node
        if class_of(node) is NodeClass.EXTERN and isinstance(node.target, torch._ops.OpOverload):
            layouts = layouts_of(node, self.are_channels_last)
            workspace, seconds = self.workspace_of(node, layouts), self.seconds_of(node, layouts)
            if workspace is not None and seconds is not None:
                copied = copied_bytes(node, layouts)
                return seconds + seconds_to_move(device_of(node), 2 * copied), workspace + copied
        moved = sum(bytes_of(tensor) for tensor in (*kernel.reads, *kernel.makes))
        device = device_of(node)
        fused = seconds_to_move(device, moved) + sum(
            seconds_of_functions(device, hint(node.meta["val"].numel()))
            for node in kernel.computes
            if packet_of(node) in TRANSCENDENTAL
        )
        return fused, 0

    @classmethod
    def seconds_of(cls, node: Node, layouts) -> float | None:
        device = device_of(node)
        return kept(cls.seconds, node, layouts, lambda run: seconds_of(run, device))

    @classmethod
    def workspace_of(cls, node: Node, layouts) -> int | None:
        """Returns the bytes that a run takes beyond what it returns. `layouts`: of each tensor that it reads,
        as `layouts_of` returns."""
        device = device_of(node)
        return kept(cls.workspaces, node, layouts, lambda run: bytes_beyond_results(run, device))


def kept(found: dict, node: Node, layouts, measure):
    """Returns what `measure(run)` says of a kernel, None of one that does not run by itself."""
    key = (signature(node), tuple(layouts))
    if key not in found:
        found[key] = measured_by(measure, node, layouts)
    return found[key]


def measured_by(measure, node: Node, layouts):
    if node.target._schema.is_mutable or node.target.namespace != "aten":
        return None
    if len(tensors_read(node)) != len(layouts):
        return None
    rest = iter(layouts)

    def argument(value):
        if not isinstance(value, Node):
            return value
        return sample(next(rest)) if is_tensor(value) else hint(value.meta["val"])

    with unset_fake_temporarily(), torch.no_grad(), torch.random.fork_rng():
        try:
            args, kwargs = pytree.tree_map(argument, (node.args, node.kwargs))
            return measure(lambda: node.target(*args, **kwargs))
        except (RuntimeError, ValueError, IndexError, TypeError):
            return None


def bytes_beyond_results(run, device) -> int:
    before = alive_bytes(device)
    reset_peak(device)
    made = run()
    synchronize(device)
    peak, after = peak_bytes(device), alive_bytes(device)
    del made
    return max(0, peak - max(after, before))
