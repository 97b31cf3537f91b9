"""Cuts a joint graph of torch.compile into a forward and a backward so that their peak is within a budget.

The peak of a cut is read from the generated text: the Python code that inductor generates for both graphs.
"""

import dataclasses
import functools
import gc
import hashlib
import pathlib
import time

from torch.utils.checkpoint import CheckpointPolicy

from ..compiled.memory import alive_bytes
from ..errors import Infeasible
from ..whole_file import write_whole
from .eager_pauses import Pause
from .generated_code import CodeAhead, GraphToLower, memory_of_texts
from .generated_memory import TextMemory
from .kernel_costs import bytes_of, device_of_inputs
from .kernel_graph import is_tangent, kernel_graph
from .larger_sizes import FACTORS, LargerSizes, sizes_that_change
from .node_classes import is_tensor, runs_once
from .node_order import copied, in_order, outputs_of
from .planned_lowering import follow_the_plan
from .save_set import KernelStep, NoSaveSet, SaveSet
from .torch_internals import (
    given_away,
    is_symbol,
    lays_channels_last,
    partition,
    storage_of,
)

MOST_TRIES = 4
# The solver is asked for a peak below the budget, because the generated text has alignments and small tensors
# that the plan does not know. The first try stays below the budget by this many bytes, or by a thousandth of
# the budget if that is less. If a try exceeds the budget, the next one is asked for a peak that is smaller by
# the excess and this margin.
MARGIN = 1 << 16


@dataclasses.dataclass
class CompiledGraph:
    """The result for one graph of the step. All bytes are bytes of the device, and include the tensors that
    do not belong to the graph (`beside_bytes`)."""

    budget_bytes: int  # the budget of the step
    beside_bytes: int  # bytes of tensors that do not belong to the graph
    # The peak of the graph if torch.compile alone cuts the graph. A number above the budget may be only a
    # lower bound on that peak.
    plain_bytes: int
    lowered_bytes: int = 0  # the peak of the chosen cut, computed from the text that inductor generates
    # The peak of the solver's schedule; None if there is no schedule, or if there are several graphs.
    planned_bytes: int | None = None
    overhead: float = 1.0  # the overhead of the solver's schedule
    bound: float | None = None  # a proven lower bound on the overhead
    tries: int = 0  # the number of schedules that were lowered
    planning_seconds: float = 0.0  # time in addition to the time that torch takes without a budget
    # The largest measured peak of a step so far; None if not measured. If the budget is a share, bytes that
    # the caller has allocated since the compilation are subtracted.
    measured_bytes: int | None = None
    graph_text: str = dataclasses.field(default="", repr=False)
    schedule_text: str = dataclasses.field(default="", repr=False)

    def save(self, path) -> None:
        """Writes NAME.schedule.json, and next to it NAME.graph.json with the kernels, for the explorer and
        the commands. Raises ValueError if torch's own cut is kept, because this cut has no schedule."""
        if not self.schedule_text:
            raise ValueError("rematlas: torch's own cut keeps the budget: there is no schedule to save")
        path = pathlib.Path(path)
        stem = path.name.removesuffix(".json").removesuffix(".schedule")
        write_whole(path.with_name(f"{stem}.graph.json"), self.graph_text)
        write_whole(path, self.schedule_text)


@dataclasses.dataclass
class Cut:
    """A pair of forward and backward graphs, and the peak bytes of a step with them."""

    modules: tuple
    forward: TextMemory
    backward: TextMemory
    lowered_bytes: int
    answer: SaveSet | None = None

    @property
    def extra_seconds(self) -> float:
        """The time of the recomputation in backward, according to the solver's costs."""
        return 0.0 if self.answer is None else self.answer.extra_seconds


class _NoSaveSetFound(Exception):
    """Raised to leave torch's partitioner when no save set was found."""


class BudgetedGraph:
    """Cuts a joint graph so that its step keeps a budget."""

    def __init__(self, joint, inputs, options, budget, seconds, passing_bytes=0):
        """`passing_bytes`: bytes of tensors that exist now but will be freed when this call ends."""
        self.began = time.perf_counter()
        self.joint, self.inputs, self.options = without_checkpoints(joint), inputs, options
        self.given = joint if has_checkpoints(joint) else self.joint
        self.budget, self.seconds = budget, seconds
        self.ahead = CodeAhead()  # the code of graphs whose peak in the generated text is within the budget
        self.plain = None  # the Cut that torch.compile alone makes of the graph without checkpoints
        self.best = None  # the Cut that the method `cut` has chosen
        self.between = Pause(0, 0)  # the pause between forward and backward; zero while it is unknown
        self.step = None  # the KernelStep, once torch has removed unread nodes from the joint graph
        self.growth = 1.0  # the compiled graph may be used for sizes that are larger by up to this factor
        self.sizes = sizes_that_change(joint.graph)
        self.larger = tuple(LargerSizes(self.sizes, factor) for factor in FACTORS) if self.sizes else ()
        device = device_of_inputs(joint)
        gc.collect()  # garbage must not count in `beside_bytes`
        self.input_bytes = sum(map(bytes_of, held_inputs(joint)))
        self.beside_bytes = max(0, alive_bytes(device) - self.input_bytes - passing_bytes)

    def cut(self) -> tuple[tuple, CompiledGraph]:
        """Returns the forward and the backward graph, whose peak is within the budget, and a CompiledGraph.
        Raises Infeasible if no such cut was found."""
        least = self.plain_end_bytes()
        if self.budget.bytes is None or least <= self.budget.bytes:
            least = self.cut_plainly(self.budget.bytes).lowered_bytes
        alone = least if self.given is self.joint else self.alone_bytes()
        budget = self.budget.of(alone, self.beside_bytes)
        told = CompiledGraph(budget, self.beside_bytes, alone)
        best = self.best = self.cut_plainly() if least <= budget else self.tightened(budget, told)
        if best.lowered_bytes > budget:
            raise self.no_room(best.lowered_bytes)
        told.lowered_bytes = best.lowered_bytes
        self.growth = self.largest_growth(best, budget)
        if best.answer is not None:
            told.planned_bytes = best.answer.planned_bytes + self.beside_bytes
        self.tell(told, best)
        return best.modules, told

    @functools.cached_property
    def returned_bytes(self) -> int:
        """The bytes of the tensors that forward returns to the caller."""
        returned = outputs_of(self.joint.graph)[: self.options["num_fwd_outputs"]]
        return sum(bytes_of(node) for node in returned if hasattr(node, "meta") and is_tensor(node))

    def know_between(self, pause: Pause, cut: Cut) -> int:
        """From now on also counts the memory that eager code takes between forward and backward. Returns the
        peak bytes of the step with `cut`, which was made when this memory was not known."""
        self.between = pause
        if self.plain is not None:
            self.plain.lowered_bytes = self.step_bytes(self.plain.forward, self.plain.backward)
        return self.step_bytes(cut.forward, cut.backward)

    def step_bytes(self, forward: TextMemory, backward: TextMemory, larger=None) -> int:
        """Returns the peak bytes of the step, including the tensors that do not belong to the graph.
        `larger`: the LargerSizes for which the memories of forward and backward were computed; None for the
        sizes of the compiled call."""
        inputs, between = self.input_bytes, self.between
        if larger is not None:
            values = [node.meta["val"] for node in held_inputs(self.joint)]
            inputs = sum(larger.number(value.numel()) * value.dtype.itemsize for value in values)
            between = between.times(larger.factor ** len(larger.values))
        later = max(between.peak_bytes, between.kept_bytes + backward.peak_bytes)
        return max(forward.peak_bytes, forward.end_bytes + later) + inputs + self.beside_bytes

    def largest_growth(self, cut: Cut, budget: int) -> float:
        """Returns the largest factor by which the sizes that may change can grow while the peak of the cut
        stays within the budget."""
        found = 1.0
        for sizes, first, second in zip(self.larger, cut.forward.larger, cut.backward.larger, strict=True):
            if self.step_bytes(first, second, sizes) > budget:
                break
            found = sizes.factor
        return found

    @functools.cached_property
    def alone(self) -> Cut:
        """The Cut that torch.compile alone makes of the graph, with its checkpoints."""
        if self.given is self.joint:
            return self.cut_plainly()
        return self.lowered(partition(self.given, self.inputs, self.options))

    def alone_bytes(self) -> int:
        """Returns the peak bytes of the step that torch.compile alone makes."""
        return self.step_bytes(self.alone.forward, self.alone.backward)

    def cut_plainly(self, budget=None) -> Cut:
        """Ignores checkpoints, and cuts the graph as torch.compile alone does. If `budget` is given and the
        peak is within it, both graphs are also compiled."""
        if self.plain is None:
            self.plain = self.lowered(self.plain_modules, budget)
        return self.plain

    @functools.cached_property
    def plain_modules(self) -> tuple:
        return partition(self.joint, self.inputs, self.options)

    def plain_end_bytes(self) -> int:
        """Returns the bytes of tensors that exist between forward and backward if torch.compile alone cuts
        the graph. This number is known before anything is lowered, and is a lower bound on the peak."""
        forward = self.plain_modules[0].graph
        arguments = {storage_of(node) for node in forward.find_nodes(op="placeholder")}
        made = {}
        for node in outputs_of(forward):
            storage = storage_of(node)
            if storage is not None and storage not in arguments:
                made[storage] = max(made.get(storage, 0), bytes_of(node))
        return sum(made.values()) + self.input_bytes + self.beside_bytes

    def tell(self, told: CompiledGraph, cut: Cut) -> None:
        told.planning_seconds = time.perf_counter() - self.began - self.ahead.seconds
        if cut.answer is not None:
            told.overhead, told.bound = cut.answer.overhead, cut.answer.bound
            told.graph_text, told.schedule_text = cut.answer.graph_text, cut.answer.schedule_text

    def tightened(self, budget: int, told: CompiledGraph) -> Cut:
        """Returns the first cut whose peak in the generated text is within the budget; if there is none, the
        cut with the smallest peak. If inductor allocates a tensor that the schedule writes over another
        one, the next schedule allocates this tensor, too. If the peak is too large for other reasons, the
        excess is subtracted from the budget of the next schedule."""
        best, asked = None, budget - self.beside_bytes - min(MARGIN, budget // 1000)
        for told.tries in range(1, MOST_TRIES + 1):
            tried = self.planned(asked, self.reserved_bytes, budget)
            if isinstance(tried, NoSaveSet):
                break
            if best is None or tried.lowered_bytes < best.lowered_bytes:
                best = tried
            over = tried.lowered_bytes - budget
            if over <= 0:
                return best
            allocated = {*tried.forward.allocated, *tried.backward.allocated}.intersection(
                tried.answer.overwriting
            )
            known = self.step.forbid_overwriting(allocated, tried.answer) - tried.answer.planned_bytes
            asked -= max(0, over + MARGIN - known)
        smallest = self.smallest()
        return smallest if best is None else min(best, smallest, key=lambda cut: cut.lowered_bytes)

    @property
    def reserved_bytes(self) -> int:
        """The peak bytes of eager code between forward and backward. Tangents are not counted, because they
        are tensors of the schedule."""
        tangents = [node for node in self.joint.graph.nodes if is_tangent(node) and is_tensor(node)]
        return max(0, self.between.peak_bytes - sum(map(bytes_of, tangents)))

    def smallest(self) -> Cut:
        """Returns the cut by the schedule with the smallest peak that the solver finds; torch's own cut if
        its peak is smaller."""
        found = self.planned(0, self.reserved_bytes)
        if isinstance(found, NoSaveSet) and not found.is_proven:
            found = self.planned(found.needed_bytes, self.reserved_bytes)
        plain = self.cut_plainly()
        if isinstance(found, NoSaveSet):
            return plain
        return min(plain, found, key=lambda cut: cut.lowered_bytes)

    def least_saved(self) -> Cut:
        """Returns the cut that leaves the most memory to the other graphs of the step. The bytes that this
        graph saves stay allocated while another graph runs, so the cut has the smallest sum of these bytes
        and of its own peak."""
        plain = self.cut_plainly()
        asked = plain.lowered_bytes - self.beside_bytes
        found, reserved = self.planned(asked, asked), asked
        if isinstance(found, NoSaveSet) and not found.is_proven:
            reserved = max(0, 2 * asked - found.needed_bytes)
            found = self.planned(asked, reserved)
        if isinstance(found, NoSaveSet) and not found.is_proven:
            found = self.planned(found.needed_bytes, reserved)
        cuts = [plain] if isinstance(found, NoSaveSet) else [plain, found]
        return min(cuts, key=lambda cut: cut.forward.end_bytes + cut.lowered_bytes)

    def planned(self, asked: int, reserved: int = 0, budget: int | None = None) -> Cut | NoSaveSet:
        """Cuts the graph by a schedule that the solver finds for `asked` bytes. `reserved`: how many of these
        bytes must be free between forward and backward. If the peak of the cut is within `budget`, both
        graphs are also compiled."""
        answer = None

        def choose(graph, node_info):
            nonlocal answer
            if self.step is None:
                kernels = kernel_graph(graph, node_info.is_required_fw, self.options["num_fwd_outputs"])
                self.step = KernelStep(kernels, lays_channels_last(self.joint))
            answer = self.step.solve(max(1, asked), self.seconds, reserved)
            if isinstance(answer, NoSaveSet):
                raise _NoSaveSetFound
            return answer

        try:
            modules = self.cut_by(choose)
        except _NoSaveSetFound:
            return answer
        return dataclasses.replace(self.lowered(modules, budget), answer=answer)

    def digest(self) -> str:
        """Returns a digest of the graph and of the sizes that it is planned for. It distinguishes the graphs
        of a step."""
        nodes = [f"{node.name} {node.target} {node.meta.get('val')}" for node in self.joint.graph.nodes]
        return hashlib.sha256("\n".join((*nodes, str(self.sizes))).encode()).hexdigest()

    def cut_by(self, choose) -> tuple:
        """Returns the forward and the backward graph. `choose(graph, node_info)` returns the save set."""
        answer = None

        def saved_nodes(graph, node_info):
            nonlocal answer
            answer = choose(graph, node_info)
            nodes = {node.name: node for node in graph.nodes}
            saved = [nodes[name] for name in answer.saved if nodes[name] not in node_info.inputs]
            sizes = [node for node in graph.nodes if is_symbol(node) and node_info.is_required_fw(node)]
            return list(dict.fromkeys((*node_info.inputs, *saved, *sizes)))

        def order(backward):
            return in_order(backward, answer.backward)

        modules = partition(self.joint, self.inputs, self.options, saved_nodes, order)
        check_runs(*modules)
        in_memory = set(answer.in_memory)
        for module in modules:
            follow_the_plan(module, in_memory)
        return modules

    def lowered(self, modules, budget: int | None = None) -> Cut:
        """Reads the memory of both graphs from the texts that inductor generates, and compiles the graphs if
        their peak is within the budget. The results of forward and the tangents count while backward runs,
        because the caller and autograd hold them."""
        forward, backward = modules
        count = self.options["num_fwd_outputs"]
        returned = outputs_of(forward.graph)[:count]
        tangents = filter(is_tangent, self.joint.graph.nodes)
        held = {node.name for node in (*held_inputs(self.joint), *returned, *tangents) if node is not None}

        def is_wanted(first, second):
            return budget is not None and self.step_bytes(first, second) <= budget

        first, second = memory_of_texts(
            GraphToLower(forward, held, returned=count, larger=self.larger),
            GraphToLower(backward, held, given_away(forward, backward, returned), larger=self.larger),
            is_wanted,
            self.ahead,
        )
        return Cut(modules, first, second, self.step_bytes(first, second))

    def no_room(self, needed: int) -> Infeasible:
        beside = f", with {self.beside_bytes} that live beside it" if self.beside_bytes else ""
        plain_bytes = self.alone_bytes()
        missing = needed - self.budget.of(plain_bytes, self.beside_bytes)
        return Infeasible(
            f"rematlas: the budget of {self.budget.text} is not kept: the compiled step takes {needed}"
            f" bytes in the smallest cut that was found{beside}, {missing} more; torch.compile alone takes"
            f" {plain_bytes}: give it a budget of {needed} bytes, or a smaller batch",
            needed,
            proven=False,
        )


def check_runs(forward, backward) -> None:
    """Raises RuntimeError if a node that draws random numbers or has effects outside of the graph is in both
    forward and backward."""
    in_forward = {node.name for node in forward.graph.nodes}
    for node in backward.graph.nodes:
        if node.op == "call_function" and node.name in in_forward and runs_once(node):
            raise RuntimeError(
                f"rematlas: {node.name} ({node.target}) would run in forward and once more in backward, where"
                " it is not the same: train without a budget, and please report it"
            )


def is_checkpointed(node) -> bool:
    """Says whether torch.utils.checkpoint has marked the node, so that torch runs it again in backward."""
    return node.meta.get("recompute") in (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)


def has_checkpoints(joint) -> bool:
    return any(map(is_checkpointed, joint.graph.nodes))


def without_checkpoints(joint):
    """Returns a copy of the joint graph without the marks of torch.utils.checkpoint. The solver alone chooses
    what is recomputed."""
    module = copied(joint)
    for node in filter(is_checkpointed, module.graph.nodes):
        del node.meta["recompute"]
    return module


def held_inputs(joint) -> list:
    """Returns the nodes of the tensors that the caller holds during the step."""
    placeholders = joint.graph.find_nodes(op="placeholder")
    return [node for node in placeholders if is_tensor(node) and not is_tangent(node)]
