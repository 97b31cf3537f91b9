"""The solver's answer: which tensors forward saves, and in which order backward runs its kernels."""

import dataclasses
import json

from ..library import in_one_line, ops
from .kernel_costs import KernelCosts, bytes_of
from .node_classes import SAME_ORDER, NodeClass, class_of, packet_of, runs_once
from .node_origin import layout_of, module_of, source_of

BOUNDARY = "the caller's backward begins"
GAP = 0.005


@dataclasses.dataclass(frozen=True)
class SaveSet:
    """The tensors that forward saves, and the kernels that backward runs, as names of nodes. The bytes and
    the overhead are the solver's predictions."""

    saved: tuple  # nodes that forward saves
    backward: tuple  # nodes of kernels, in the order in which backward runs them
    in_memory: tuple  # nodes of fused kernels, whose results the plan puts into memory
    overwriting: tuple  # nodes of kernels that write their result into the memory of a tensor that they read
    planned_bytes: int
    overhead: float
    bound: float | None  # a proven lower bound on the overhead
    extra_seconds: float  # the time of the recomputation
    graph_text: str
    schedule_text: str


@dataclasses.dataclass(frozen=True)
class NoSaveSet:
    """Says that no save set was found for the budget. `needed_bytes`: the smallest peak of the save sets that
    were found; if `is_proven`, a lower bound on the peak of every save set."""

    needed_bytes: int
    is_proven: bool


class KernelStep:
    """The step as a training graph: the kernels of forward, the boundary between forward and backward, and
    the kernels of backward."""

    def __init__(self, kernels, are_channels_last):
        self.kernels = kernels
        self.tensors, self.number = [], {}
        self.module_classes = {}  # class names of modules by path
        for node in kernels.inputs:
            self.add_tensor(node, "input")
        forward = [kernel for kernel in kernels.kernels if kernel.is_forward]
        backward = [kernel for kernel in kernels.kernels if not kernel.is_forward]
        for kernel in forward:
            for node in kernel.makes:
                self.add_tensor(node, "activation")
        for node in (*kernels.tangents, *(node for kernel in backward for node in kernel.makes)):
            self.add_tensor(node, "gradient")
        costs = KernelCosts(are_channels_last)
        self.ran = [*forward, None, *backward]  # the kernel of each op; None for the boundary
        self.ops = [
            self.boundary(number) if kernel is None else self.op(number, kernel, costs.of(kernel))
            for number, kernel in enumerate(self.ran)
        ]

    def add_tensor(self, node, kind) -> None:
        self.number[node] = len(self.tensors)
        self.tensors.append(
            {
                "id": len(self.tensors),
                "name": node.name,
                "bytes": bytes_of(node),
                "kind": kind,
                **layout_of(node),
            }
        )

    def boundary(self, number) -> dict:
        made = {node for kernel in self.kernels.kernels if kernel.is_forward for node in kernel.makes}
        return {
            "id": number,
            "name": BOUNDARY,
            "time_ns": 0,
            "inputs": [self.number[node] for node in self.kernels.forward_results if node in made],
            "outputs": [self.number[node] for node in self.kernels.tangents],
            "phase": "loss",
            "recomputable": False,
        }

    def op(self, number, kernel, cost) -> dict:
        seconds, workspace = cost
        path, class_name = module_of(kernel.node)
        made = {
            "id": number,
            "name": str(kernel.node.target),
            "time_ns": ops.counted_nanoseconds(str(kernel.node.target), max(1, round(seconds * 1e9))),
            "workspace_bytes": workspace,
            "inputs": [self.number[node] for node in kernel.reads],
            "outputs": [self.number[node] for node in kernel.makes],
            "phase": "forward" if kernel.is_forward else "backward",
            "module": path,
        }
        if class_name:
            self.module_classes[path] = class_name
        source = source_of(kernel.node)
        if source:
            made["source"] = source
        is_returned = any(node in self.kernels.forward_results for node in kernel.makes)
        if not kernel.is_forward or is_returned or any(runs_once(node) for node in kernel.computes):
            made["recomputable"] = False
        pair = self.overwritten(kernel)
        if pair is not None:
            made["inplace"] = [pair]
        return made

    def overwritten(self, kernel):
        """Returns the tensor that a fused kernel makes, and a tensor that the kernel reads and may overwrite
        with the result. Returns None if the kernel may overwrite no tensor."""
        if class_of(kernel.node) is not NodeClass.FUSED:
            return None
        out = kernel.makes[0]
        for node in read_in_order(kernel):
            is_like = node.meta["val"].dtype == out.meta["val"].dtype and bytes_of(node) == bytes_of(out)
            if is_like and self.tensors[self.number[node]]["kind"] != "input":
                return [self.number[out], self.number[node]]
        return None

    def text(self, reserved: int = 0) -> str:
        """Returns the text of a graph file. `reserved`: bytes that must be free between forward and
        backward."""
        boundary = self.ran.index(None)
        self.ops[boundary]["workspace_bytes"] = reserved
        made = {node for kernel in self.kernels.kernels for node in kernel.makes}
        results = (*self.kernels.forward_results, *self.kernels.backward_results)
        return json.dumps(
            {
                "format": "rematlas.graph",
                "version": 1,
                "name": "the compiled model",
                "tensors": self.tensors,
                "ops": self.ops,
                "boundary": boundary,
                "module_classes": self.module_classes,
                "results": sorted({self.number[node] for node in results if node in made}),
            }
        )

    def forbid_overwriting(self, names, answer: SaveSet) -> int:
        """From now on makes the named kernels write their results to new memory. This also holds for all
        kernels that compute the same, for example in other blocks, because the next schedule would otherwise
        let those kernels overwrite tensors. Returns the peak bytes that the answer's schedule then has."""
        ran = [
            (kind_of(kernel), kernel.node.name, op)
            for kernel, op in zip(self.ran, self.ops, strict=True)
            if kernel is not None
        ]
        kinds = {kind for kind, name, _ in ran if name in names}
        for kind, _, op in ran:
            if kind in kinds:
                op.pop("inplace", None)
        return self.peak_bytes(json.loads(answer.schedule_text)["steps"])

    def peak_bytes(self, steps) -> int:
        """Returns the peak bytes of a schedule's steps."""
        sizes = [tensor["bytes"] for tensor in self.tensors]
        alive = {tensor["id"] for tensor in self.tensors if tensor["kind"] == "input"}
        held = peak = sum(sizes[number] for number in alive)

        def drop(number) -> int:
            if number not in alive:
                return 0
            alive.remove(number)
            return sizes[number]

        for kind, number in steps:
            if kind == "free":
                held -= drop(number)
                continue
            op = self.ops[number]
            over = [self.overwritten(self.ran[number])[1]] if kind == "run_inplace" else []
            reused = sum(sizes[old] for old in over) if "inplace" in op else 0
            made = sum(sizes[output] for output in op["outputs"])
            peak = max(peak, held + made + op.get("workspace_bytes", 0) - reused)
            held += made - sum(map(drop, (*over, *op["outputs"])))
            alive.update(op["outputs"])
        return peak

    def solve(self, budget: int, seconds: float, reserved: int = 0) -> SaveSet | NoSaveSet:
        graph = self.text(reserved)
        text = in_one_line(ops.solve_graph, graph, str(budget), "atlas", seconds, GAP)
        answer = json.loads(text)
        if answer.get("status") == "infeasible":
            found = answer["smallest_found_bytes"]
            return NoSaveSet(found or answer["needed_bytes"], found is None)
        return self.save_set(answer, graph, text)

    def save_set(self, schedule, graph, text) -> SaveSet:
        """Reads the save set from a schedule. A tensor is saved if it exists at the boundary, and backward
        reads it before it is freed or recomputed."""
        steps = schedule["steps"]
        start = steps.index(["run", self.ran.index(None)])
        saved, gone, backward = {}, set(), []
        for kind, number in steps[start + 1 :]:
            if kind == "free":
                gone.add(number)
                continue
            kernel = self.ran[number]
            backward.append(kernel.node.name)
            for node in kernel.reads:
                if self.number[node] not in gone:
                    saved[node.name] = None
            gone.update(self.number[node] for node in kernel.makes)
        bound = schedule["bound"]
        return SaveSet(
            tuple(saved),
            tuple(backward),
            tuple(k.node.name for k in self.kernels.kernels if class_of(k.node) is NodeClass.FUSED),
            tuple(self.ran[number].node.name for kind, number in steps if kind == "run_inplace"),
            schedule["predicted"]["peak_bytes"],
            schedule["predicted"]["overhead"],
            bound and bound["overhead"],
            (schedule["predicted"]["overhead"] - 1) * sum(op["time_ns"] for op in self.ops) / 1e9,
            graph,
            text,
        )


def kind_of(kernel) -> tuple:
    """Returns a key that is equal for kernels that compute the same from tensors of the same shapes."""
    tensors = [node.meta["val"] for node in (*kernel.reads, *kernel.makes)]
    computed = [str(node.target) for node in kernel.computes]
    return (*computed, *(f"{value.dtype} {tuple(value.shape)}" for value in tensors))


def read_in_order(kernel) -> list:
    """Returns the tensors whose elements a fused kernel reads only in the order in which they are in
    memory."""
    in_order, other = set(), set()
    for computed in kernel.computes:
        for read in computed.all_input_nodes:
            keeps_order = True
            while class_of(read) is NodeClass.VIEW:
                keeps_order &= packet_of(read) in SAME_ORDER
                read = read.all_input_nodes[0]
            (in_order if keeps_order else other).add(read)
    return [node for node in kernel.reads if node in in_order - other]
