"""One graph that torch.compile compiles, and how its budget is kept."""

import dataclasses
import gc
import pathlib

from ..compiled.memory import alive_bytes
from ..errors import Infeasible
from ..whole_file import write_whole
from .kernel_costs import bytes_of, device_of_inputs
from .kernel_graph import is_tangent, kernel_graph
from .node_classes import is_tensor
from .node_order import in_order
from .save_set import KernelStep, NoSaveSet, SaveSet
from .torch_internals import fake_arguments, generated_memory, is_symbol, partition

MOST_TRIES = 4
MARGIN = 1 << 16  # bytes below the budget that a further try aims at, beside what the last was over it


@dataclasses.dataclass
class CompiledGraph:
    """What has become of a graph of the step. Bytes are those of the device, with what lives there beside the
    graph's own tensors (`beside_bytes`)."""

    budget_bytes: int
    beside_bytes: int
    # By the text that inductor generates: what the graph takes as torch.compile alone cuts it, and as it was
    # cut here.
    plain_bytes: int
    lowered_bytes: int = 0
    planned_bytes: int | None = None  # by the solver's schedule; None: torch's own cut keeps the budget
    overhead: float = 1.0  # of that schedule
    bound: float | None = None
    tries: int = 0  # how many schedules were lowered
    measured_bytes: int | None = None  # the most in a step so far; None: not measured
    graph_text: str = dataclasses.field(default="", repr=False)
    schedule_text: str = dataclasses.field(default="", repr=False)

    def save(self, path) -> None:
        """Writes NAME.schedule.json, and NAME.graph.json beside it: the kernels, for the explorer and the
        commands. Raises ValueError where torch's own cut is kept, which has no schedule."""
        if not self.schedule_text:
            raise ValueError("rematlas: torch's own cut keeps the budget: there is no schedule to save")
        path = pathlib.Path(path)
        stem = path.name.removesuffix(".json").removesuffix(".schedule")
        write_whole(path.with_name(f"{stem}.graph.json"), self.graph_text)
        write_whole(path, self.schedule_text)


@dataclasses.dataclass
class Cut:
    """A forward and a backward graph, and the most bytes that they take together."""

    modules: tuple
    lowered_bytes: int
    answer: SaveSet | None = None


class _NoSaveSetFound(Exception):
    """Leaves torch's partitioner."""


class BudgetedGraph:
    """Cuts a joint graph so that its step keeps a budget."""

    def __init__(self, joint, inputs, options, budget, seconds):
        self.joint, self.inputs, self.options = joint, inputs, options
        self.budget, self.seconds = budget, seconds
        self.plain = None  # Cut, as torch.compile alone makes it
        self.step = None  # KernelStep, as soon as torch has a joint graph without what nobody reads
        device = device_of_inputs(joint)
        gc.collect()  # what nobody holds does not live beside the step
        self.input_bytes = sum(map(bytes_of, held_inputs(joint)))
        self.beside_bytes = max(0, alive_bytes(device) - self.input_bytes)

    def cut(self) -> tuple[Cut, CompiledGraph]:
        """Raises Infeasible where no cut keeps the budget that was found."""
        plain = self.plain = self.lowered(partition(self.joint, self.inputs, self.options))
        budget = self.budget.of(plain.lowered_bytes, self.beside_bytes)
        told = CompiledGraph(budget, self.beside_bytes, plain.lowered_bytes, plain.lowered_bytes)
        if plain.lowered_bytes <= budget:
            return plain, told
        best = self.tightened(budget, told)
        if best.lowered_bytes > budget:
            raise self.no_room(best.lowered_bytes, False)
        told.lowered_bytes = best.lowered_bytes
        told.planned_bytes = best.answer.planned_bytes + self.beside_bytes
        told.overhead, told.bound = best.answer.overhead, best.answer.bound
        told.graph_text, told.schedule_text = self.step.text, best.answer.text
        return best, told

    def tightened(self, budget: int, told: CompiledGraph) -> Cut:
        """Returns the first cut whose text keeps the budget, else the one that takes least. Each schedule is
        asked to take less by what the text of the one before was beyond the budget."""
        best, asked = None, budget - self.beside_bytes
        for told.tries in range(1, MOST_TRIES + 1):
            tried = self.planned(asked)
            if isinstance(tried, NoSaveSet):
                break
            if best is None or tried.lowered_bytes < best.lowered_bytes:
                best = tried
            over = tried.lowered_bytes - budget
            if over <= 0:
                return best
            asked -= over + MARGIN
        smallest = self.smallest()
        return smallest if best is None else min(best, smallest, key=lambda cut: cut.lowered_bytes)

    def smallest(self) -> Cut:
        """Returns the cut of the schedule with the least memory that the solver finds."""
        found = self.planned(0)
        if isinstance(found, NoSaveSet) and not found.is_proven:
            found = self.planned(found.needed_bytes)
        if isinstance(found, NoSaveSet):
            raise self.no_room(found.needed_bytes + self.beside_bytes, found.is_proven)
        return found

    def planned(self, asked: int) -> Cut | NoSaveSet:
        """Cuts the graph as the solver's schedule for so many bytes does."""
        answer = None

        def choose(graph, node_info):
            nonlocal answer
            if self.step is None:
                kernels = kernel_graph(graph, node_info.is_required_fw, self.options["num_fwd_outputs"])
                self.step = KernelStep(kernels)
            answer = self.step.solve(max(1, asked), self.seconds)
            if isinstance(answer, NoSaveSet):
                raise _NoSaveSetFound
            nodes = {node.name: node for node in graph.nodes}
            saved = [nodes[name] for name in answer.saved if nodes[name] not in node_info.inputs]
            sizes = [node for node in graph.nodes if is_symbol(node) and node_info.is_required_fw(node)]
            return list(dict.fromkeys((*node_info.inputs, *saved, *sizes)))

        def order(backward):
            return in_order(backward, answer.backward)

        try:
            modules = partition(self.joint, self.inputs, self.options, choose, order)
        except _NoSaveSetFound:
            return answer
        return dataclasses.replace(self.lowered(modules), answer=answer)

    def lowered(self, modules) -> Cut:
        """Reads what both graphs take from the text that inductor generates. What forward returns lives on
        while backward runs."""
        forward, backward = modules
        outputs = next(iter(forward.graph.find_nodes(op="output"))).args[0]
        returned = outputs[: self.options["num_fwd_outputs"]]
        held = {node.name for node in (*held_inputs(self.joint), *returned) if node is not None}
        first = generated_memory(forward, fake_arguments(forward), held, False)
        second = generated_memory(backward, fake_arguments(backward), held, True)
        most = max(first.peak_bytes, first.end_bytes + second.peak_bytes)
        return Cut(modules, most + self.input_bytes + self.beside_bytes)

    def no_room(self, needed: int, is_proven: bool) -> Infeasible:
        at_least = "at least" if is_proven else "in the smallest cut that was found"
        beside = f", with {self.beside_bytes} that live beside it" if self.beside_bytes else ""
        missing = needed - self.budget.of(self.plain.lowered_bytes, self.beside_bytes)
        return Infeasible(
            f"rematlas: the budget of {self.budget.text} is not kept: the compiled step takes {at_least}"
            f" {needed} bytes{beside}, {missing} more; torch.compile alone takes {self.plain.lowered_bytes}:"
            f" give it a budget of {needed} bytes, or a smaller batch",
            needed,
            is_proven,
        )


def held_inputs(joint) -> list:
    """Returns the nodes of tensors that the caller holds while the step runs."""
    placeholders = joint.graph.find_nodes(op="placeholder")
    return [node for node in placeholders if is_tensor(node) and not is_tangent(node)]
