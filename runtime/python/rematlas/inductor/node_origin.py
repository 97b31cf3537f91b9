"""Facts about a node for the graph file of a step: its layout, its module, and its line in the source of the
model."""

import re

import torch
from torch.fx import Node

from ..calls.offloading import contiguous_strides
from .kernel_costs import hint

SHORT_NAMES = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex64: "c64",
    torch.complex128: "c128",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint8: "u8",
    torch.bool: "bool",
}
OF_ROOT = re.compile(r"^(L\['\w+'\]|L__self___?)\.?")
OF_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def layout_of(node: Node) -> dict:
    """Returns the type and the sizes of a tensor, and its strides if it is not contiguous, in the form of a
    graph file."""
    value = node.meta["val"]
    shape = [hint(size) for size in value.shape]
    strides = [hint(stride) for stride in value.stride()]
    layout = {"dtype": SHORT_NAMES.get(value.dtype, str(value.dtype).removeprefix("torch.")), "shape": shape}
    if strides != contiguous_strides(shape):
        layout["strides"] = strides
    return layout


def module_of(node: Node) -> tuple[str, str]:
    """Returns the path and the class of the module in which the node was traced; both may be empty."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    if not stack:
        return "", ""
    path, made_by = next(reversed(stack.values()))
    name = made_by if isinstance(made_by, str) else getattr(made_by, "__name__", "")
    return OF_ROOT.sub("", path), name.rpartition(".")[2]


def source_of(node: Node) -> str:
    """Returns the line of the model that the node was traced from, such as "model.py:41": the innermost line
    outside of torch. A node of backward has the line of its forward node. Returns an empty text if no line is
    known."""
    frames = OF_FRAME.findall(node.meta.get("stack_trace") or "")
    for file, line in reversed(frames):
        if "/torch/" not in file and not file.startswith("<"):
            return f"{file.rpartition('/')[2]}:{line}"
    return ""
