"""Bytes of tensors, and times and workspaces of kernels, measured on the device on which the step will
run."""

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
LEAST_EXPONENT, LARGEST_EXPONENT = 12, 24  # fused kernels are measured on 2**12 to 2**24 numbers
TRANSCENDENTAL = frozenset(
    getattr(aten, name)
    for name in (
        *("acos", "asin", "atan", "atan2", "cos", "cosh", "erf", "erfc", "erfinv", "exp", "exp2", "expm1"),
        *("gelu", "gelu_backward", "lgamma", "log", "log10", "log1p", "log2", "pow", "sigmoid", "sin"),
        *("sinh", "tan", "tanh"),
    )
)
RANDOM = torch.ops.prims.inductor_random
# On the CPU inductor draws random numbers one by one, which takes twice as long as in torch's own kernel.
RANDOM_ON_CPU = 2.0
CONVOLUTIONS = frozenset({aten.convolution, aten.convolution_backward})
DEFAULT_SIZE = 4096  # assumed for a dimension about which nothing is known


def hint(number) -> int:
    """Returns the number itself if it is an int. Returns the value in the compiled call if it is a size that
    may change; DEFAULT_SIZE if that value is not known."""
    if isinstance(number, int):
        return number
    known = number.node.hint if number.node.has_hint() else None
    return DEFAULT_SIZE if known is None else int(known)


def bytes_of(node: Node) -> int:
    value = node.meta["val"]
    return hint(value.numel()) * value.dtype.itemsize


def device_of(node: Node) -> torch.device:
    """Returns the device of the values that a kernel makes; if it makes none, the device of the values that
    it reads."""
    values = pytree.tree_leaves([made.meta.get("val") for made in (node, *node.all_input_nodes)])
    return next((value.device for value in values if isinstance(value, torch.Tensor)), torch.device("cpu"))


def device_of_inputs(module) -> torch.device:
    """Returns the device of the first tensor of the graph that is on a GPU; the CPU if there is none."""
    devices = [node.meta["val"].device for node in module.graph.nodes if is_tensor(node)]
    return next((device for device in devices if device.type != "cpu"), torch.device("cpu"))


def synchronize(device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds_of(run, device) -> float:
    """Returns the shortest time of a few runs after one warm-up run."""
    times = []
    for _ in range(RUNS + 1):
        synchronize(device)
        start = time.perf_counter()
        run()
        synchronize(device)
        times.append(time.perf_counter() - start)
    return min(times[1:])


# The work of fused kernels on each number, by name.
WORKS = {
    "move": lambda source, target, generator: torch.neg(source, out=target),
    "function": lambda source, target, generator: torch.tanh(source, out=target),
    "random": lambda source, target, generator: target.uniform_(generator=generator),
}


@functools.cache
def seconds_of_numbers(device, exponent, work) -> float:
    """Returns the time of a fused kernel that does the named work of WORKS for 2**exponent numbers of four
    bytes. The time per number depends on the size of the tensor, because small tensors fit into caches."""
    with unset_fake_temporarily(), torch.no_grad():
        source = torch.ones(1 << exponent, device=device)
        given = (source, torch.empty_like(source), torch.Generator(device))
        return seconds_of(lambda: WORKS[work](*given), device)


def exponent_for(numbers) -> int:
    """Returns the exponent for which a kernel with this count of numbers is measured."""
    return min(max(numbers.bit_length(), LEAST_EXPONENT), LARGEST_EXPONENT)


def seconds_to_move(device, size) -> float:
    """Returns the time of a fused kernel that reads and writes `size` bytes in total."""
    exponent = exponent_for(size // 8)
    return seconds_of_numbers(device, exponent, "move") * size / (8 << exponent)


def seconds_beyond_moving(device, node: Node) -> float:
    """Returns the time that the node adds to the fused kernel that computes it."""
    packet = packet_of(node)
    if packet != RANDOM and packet not in TRANSCENDENTAL:
        return 0.0
    numbers = hint(node.meta["val"].numel())
    exponent = exponent_for(numbers)
    works = seconds_of_numbers(device, exponent, "random" if packet == RANDOM else "function")
    if packet == RANDOM and device.type == "cpu":
        works *= RANDOM_ON_CPU
    return max(0.0, works - seconds_of_numbers(device, exponent, "move")) * numbers / (1 << exponent)


def signature(node: Node) -> tuple:
    """Returns the facts that determine the time and the workspace of an extern kernel."""

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
    """Returns a tensor with this layout. A tensor of a floating-point type holds small numbers. Any other
    tensor holds zeros, because its values may be used as indices."""
    sizes, strides, dtype, device = layout
    made = torch.empty_strided(sizes, strides, dtype=dtype, device=device)
    return made.fill_(0.5 if dtype.is_floating_point else 0)


def layouts_of(node: Node, are_channels_last: bool) -> list[tuple]:
    """Returns sizes, strides, type and device of each tensor that an extern kernel reads.
    `are_channels_last`: whether a convolution reads images in the channels-last layout."""
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
    """Returns the bytes of the graph's inputs that a kernel reads with other strides than they have. Inductor
    copies such inputs right before the kernel. It makes all other tensors with the strides with which they
    are read."""
    return sum(
        bytes_of(read)
        for read, (_, strides, *_) in zip(nodes_read(node), layouts, strict=True)
        if read.op == "placeholder" and tuple(map(hint, read.meta["val"].stride())) != strides
    )


class KernelCosts:
    """Measures each signature of an extern kernel once in a process. `are_channels_last`: whether inductor
    uses the channels-last layout for images."""

    seconds, workspaces = {}, {}  # by signature and layouts of inputs; None: the kernel cannot run alone

    def __init__(self, are_channels_last: bool):
        self.are_channels_last = are_channels_last

    def of(self, kernel) -> tuple[float, int]:
        """Returns the seconds that a kernel takes, and the bytes of its workspace."""
        node = kernel.node
        if class_of(node) is NodeClass.EXTERN and isinstance(node.target, torch._ops.OpOverload):
            layouts = layouts_of(node, self.are_channels_last)
            workspace, seconds = self.workspace_of(node, layouts), self.seconds_of(node, layouts)
            if workspace is not None and seconds is not None:
                copied = copied_bytes(node, layouts)
                return seconds + seconds_to_move(device_of(node), 2 * copied), workspace + copied
        moved = sum(bytes_of(tensor) for tensor in (*kernel.reads, *kernel.makes))
        device = device_of(node)
        beyond = sum(seconds_beyond_moving(device, computed) for computed in kernel.computes)
        return seconds_to_move(device, moved) + beyond, 0

    @classmethod
    def seconds_of(cls, node: Node, layouts) -> float | None:
        device = device_of(node)
        return kept(cls.seconds, node, layouts, lambda run: seconds_of(run, device))

    @classmethod
    def workspace_of(cls, node: Node, layouts) -> int | None:
        """Returns the bytes that a run takes in addition to its results. `layouts`: the layout of each tensor
        that the node reads, as `layouts_of` returns them."""
        device = device_of(node)
        return kept(cls.workspaces, node, layouts, lambda run: bytes_beyond_results(run, device))


def kept(found: dict, node: Node, layouts, measure):
    """Returns the result of `measure(run)` for a kernel, which is stored in `found`; None if the kernel
    cannot be run alone."""
    key = (signature(node), tuple(layouts))
    if key not in found:
        found[key] = measured_by(measure, node, layouts)
    return found[key]


def measured_by(measure, node: Node, layouts):
    is_of_torch = isinstance(node.target, torch._ops.OpOverload) and node.target.namespace == "aten"
    if not is_of_torch or node.target._schema.is_mutable:
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
