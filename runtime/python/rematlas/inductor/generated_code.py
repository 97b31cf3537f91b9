"""Makes inductor generate the texts of a forward and its backward: Python code that allocates buffers and
calls kernels. These texts show the memory of the step. For graphs that fit, inductor also makes the compiled
code. The code is kept until torch asks for it, so no graph is lowered twice. This file uses private parts of
torch."""

import dataclasses
import hashlib
import time
from unittest import mock

import torch
import torch._inductor.config as inductor_config
from torch import fx
from torch._inductor import compile_fx, ir
from torch._inductor import graph as lowering
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import NullHandler, V
from torch.utils import _pytree as pytree

from .generated_memory import TextMemory, memory_of
from .kernel_costs import KernelCosts, hint
from .node_order import copied, output_of, outputs_of
from .torch_internals import in_this_thread, replaced, replacing

compile_as_torch_does = compile_fx.fx_codegen_and_compile


@dataclasses.dataclass
class GraphToLower:
    """A forward or a backward graph, with the facts that inductor needs to lower it."""

    module: fx.GraphModule
    held: set[str]  # names of arguments that exist after the graph drops them, because others hold them
    # Positions of the arguments whose memory a backward may overwrite; None if the graph is a forward.
    given_away: list[int] | None = None
    returned: int = 0  # the caller gets this many outputs of a forward, which are its first ones
    larger: tuple = ()  # LargerSizes for which the memory is also computed
    strides: dict = dataclasses.field(default_factory=dict)  # by argument: the strides that forward chose

    @property
    def is_backward(self) -> bool:
        return self.given_away is not None

    def arguments(self) -> list:
        """Returns the fake tensors and sizes that represent the arguments while the graph is lowered."""
        return [self.laid_out(node) for node in self.module.graph.find_nodes(op="placeholder")]

    def laid_out(self, node: fx.Node):
        value, strides = node.meta["val"], self.strides.get(node.name)
        if strides is None or strides == tuple(map(hint, value.stride())):
            return value
        with value.fake_mode:
            return value.as_strided(value.size(), strides)

    def copy(self) -> fx.GraphModule:
        """Returns a copy whose metadata says which outputs keep their strides. Torch itself adds this
        metadata before it lowers a graph."""
        module = copied(self.module)
        output = output_of(module.graph)
        ends = output.args[0] if self.is_backward else output.args[0][: self.returned]
        visible = [number for number, node in enumerate(ends) if isinstance(node, fx.Node)]
        output.meta["user_visible_output_idxs"] = visible
        return module


class BufferSizes:
    """Computes the bytes of the buffers of the graph that inductor is lowering. `held`: names of arguments
    that exist after the graph drops them, because others hold them. `larger`: the LargerSizes to compute
    with; None for the sizes of the compiled call."""

    def __init__(self, graph, held, larger=None):
        self.graph = graph
        self.held = held
        self.larger = larger

    def bytes_of(self, name):
        buffer = self.graph.try_get_buffer(name)
        layout = getattr(buffer, "layout", None)
        if isinstance(layout, ir.MultiOutputLayout) or not isinstance(layout, ir.Layout):
            return None
        return self.number(layout.storage_size()) * layout.dtype.itemsize

    def argument_bytes_of(self, name):
        given = self.graph.graph_inputs.get(name)
        if name in self.held or not isinstance(given, ir.TensorBox | ir.StorageBox):
            return None
        return self.number(given.get_layout().storage_size()) * given.get_dtype().itemsize

    def workspace_of(self, name):
        buffer = self.graph.try_get_buffer(name)
        if not isinstance(buffer, ir.ExternKernel):
            return 0
        node = kernel_node(buffer)
        measured = None if node is None else KernelCosts.workspace_of(node, self.layouts_read(buffer))
        return measured if measured is None or self.larger is None else self.larger.workspace(measured)

    def layouts_read(self, buffer: ir.ExternKernel) -> list[tuple]:
        """Returns sizes, strides, type and device of each tensor that the kernel reads."""

        def numbers(expressions):
            return tuple(map(self.number, expressions))

        read = [value.get_layout() for value in pytree.tree_leaves(buffer.inputs)]
        return [(numbers(of.size), numbers(of.stride), of.dtype, of.device) for of in read]

    def number(self, expression) -> int:
        if isinstance(expression, int):
            return expression
        if self.larger is not None:
            expression = self.larger.put_into(expression)
        return int(self.graph.sizevars.optimization_hint(expression))


def kernel_node(buffer: ir.ExternKernel):
    """Returns the node that an extern kernel computes; None if that node is not known."""
    node = buffer.get_origin_node()
    if node is not None:
        return node
    target = getattr(buffer, "op_overload", None)
    return next((node for node in buffer.origins if node.target is target), None)


@dataclasses.dataclass
class CodeAhead:
    """Compiled code of graphs that torch has not asked for yet."""

    codes: dict[str, object] = dataclasses.field(default_factory=dict)  # by the key of a graph, see `key_of`
    seconds: float = 0.0  # the time of compiling these codes, which torch then does not spend again


class _Left(BaseException):
    """Raised to leave inductor. It is a BaseException, because inductor catches any Exception."""


def memory_of_texts(
    forward: GraphToLower, backward: GraphToLower, is_wanted, ahead: CodeAhead
) -> list[TextMemory]:
    """Lowers copies of both graphs as inductor does, and reads the texts before any compiler runs. If
    `is_wanted(first, second)` is true for the memories of the two texts, both graphs are compiled, and the
    code is put into `ahead`."""
    found = []

    def read_backward(memory) -> bool:
        found.append(memory)
        return is_wanted(*found)

    def read_forward(memory) -> bool:
        found.append(memory)
        made = LaidOut.by_lowered(forward.module)
        held = backward.held - made.copies
        return lower(dataclasses.replace(backward, held=held, strides=made.strides), read_backward, ahead)

    began, known = time.perf_counter(), len(ahead.codes)
    lower(forward, read_forward, ahead)
    if len(ahead.codes) > known:
        ahead.seconds += time.perf_counter() - began
    if len(found) < 2:
        raise RuntimeError("rematlas: inductor has generated no text for a graph")
    return found


def lower(graph: GraphToLower, is_wanted, ahead: CodeAhead) -> bool:
    """Lowers a copy of the graph. If `is_wanted(memory)` is true for the memory of its text, the graph is
    compiled, and the code is put into `ahead`. Returns whether the graph was compiled. `is_wanted` may lower
    another graph."""
    is_compiled = False

    def read(text):
        memory, *larger = (
            memory_of(text, BufferSizes(V.graph, graph.held, sizes)) for sizes in (None, *graph.larger)
        )
        memory = dataclasses.replace(memory, allocated=nodes_of(memory.allocated), larger=tuple(larger))
        if not is_wanted(memory):
            raise _Left

    def make(module, arguments, *others, **options):
        nonlocal is_compiled
        key = key_of(module, arguments, options)
        code = compile_as_torch_does(module, arguments, *others, **options)
        is_compiled = True
        if key is not None:
            ahead.codes[key] = code
        raise _Left

    save = GraphLowering.save_output_code
    static = 0 if graph.is_backward else sum(name.startswith("primals") for name in graph.held)
    try:
        with (
            replacing,
            mock.patch.object(GraphLowering, "save_output_code", staticmethod(in_this_thread(read, save))),
            replaced(lowering, "get_donated_idxs", lambda: graph.given_away),
            replaced(compile_fx, "fx_codegen_and_compile", make),
            inductor_config.patch(fx_graph_cache=False, fx_graph_remote_cache=False),
            # Hides the state of an outer graph that inductor is lowering.
            V.set_distributed_autotune_state(NullHandler()),
        ):
            compile_fx.compile_fx_inner(
                graph.copy(),
                graph.arguments(),
                static_input_idxs=range(static),
                cudagraphs=compile_fx.BoxedBool(inductor_config.triton.cudagraphs),
                is_backward=graph.is_backward,
            )
    except _Left:
        pass
    return is_compiled


def nodes_of(buffers) -> tuple[str, ...]:
    """Returns the names of the nodes whose values these buffers hold."""
    found = filter(None, map(V.graph.try_get_buffer, buffers))
    origins = (buffer.get_origin_node() for buffer in found)
    return tuple(node.name for node in origins if node is not None)


@dataclasses.dataclass
class LaidOut:
    """The layouts that inductor chooses for the tensors that forward saves, by the names of the module's
    nodes."""

    strides: dict[str, tuple]  # strides of the tensors of fixed sizes
    copies: set[str]  # arguments of forward that are saved as copies

    @classmethod
    def by_lowered(cls, module: fx.GraphModule) -> "LaidOut":
        """Reads the layouts from the graph that inductor is lowering. Its outputs must be those of the
        module."""
        strides, copies = {}, set()
        for node, made in zip(outputs_of(module.graph), V.graph.graph_outputs, strict=True):
            if not (isinstance(node, fx.Node) and isinstance(made, ir.IRNode) and made.has_tensor_output()):
                continue
            if node.op == "placeholder" and made.get_name() not in V.graph.graph_inputs:
                copies.add(node.name)
            found = made.get_layout().stride
            if not any(getattr(stride, "free_symbols", ()) for stride in found):
                strides[node.name] = tuple(map(int, found))
        return cls(strides, copies)


def take_codes(codes_of) -> None:
    """From now on makes torch take the code of a graph from the dictionary `codes_of(partitioner)` if the
    code is there. `partitioner` belongs to the step that is being compiled."""
    if getattr(compile_fx.fx_codegen_and_compile, "is_ours", False):
        return
    compile_by_others = compile_fx.fx_codegen_and_compile

    def code(module, arguments, *others, **options):
        codes = codes_of(inductor_config.custom_partitioner_fn)
        made = codes.pop(key_of(module, arguments, options), None) if codes else None
        return compile_by_others(module, arguments, *others, **options) if made is None else made

    code.is_ours = True
    compile_fx.fx_codegen_and_compile = code


def key_of(module: fx.GraphModule, arguments, options) -> str | None:
    """Returns a key for the graph. Graphs with equal keys get the same code from inductor. Returns None for a
    graph that holds tensors or other graphs, because the key would not distinguish them."""
    if module.graph.find_nodes(op="get_attr"):
        return None
    digest = hashlib.sha256()
    for node in module.graph.nodes:
        value = pytree.tree_map(description, node.meta.get("val"))
        digest.update(f"{node.op} {node.name} {node.target} {node.args} {node.kwargs} {value}\n".encode())
    is_backward = bool(options.get("is_backward"))
    end = output_of(module.graph).meta
    whole = (
        [description(argument) for argument in arguments],
        list(end.get("user_visible_output_idxs", ())),
        is_backward,
        list(lowering.get_donated_idxs() or ()) if is_backward else None,
        bool(options.get("is_inference")),
        options.get("layout_opt"),
    )
    digest.update(str(whole).encode())
    return digest.hexdigest()


def description(value) -> str:
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {tuple(value.shape)} {value.stride()} {value.device}"
    return str(value)
