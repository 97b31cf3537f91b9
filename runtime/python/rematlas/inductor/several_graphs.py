"""Keeps a budget for a step that dynamo cuts into several graphs, or that partly runs eager code.

While a graph runs, the tensors that the graphs before it have saved are still allocated. So the graphs cannot
be cut independently. If the first call meets a second graph, it starts again, and each graph is cut for the
least memory. After that call, all graphs and the memory of eager code between them are known. The second
call is compiled with the cuts that are chosen for all graphs together. A step of one graph is compiled
again only if eager code, such as a loss outside of the graph, makes the step exceed the budget.
"""

import dataclasses

from ..errors import Infeasible
from .compiled_graph import BudgetedGraph, CompiledGraph, Cut
from .eager_pauses import EagerPauses, Pause
from .save_set import NoSaveSet, SaveSet

# levels between the fewest bytes that a graph can save (0) and the bytes that it saves under torch.compile
# alone (1)
LEVELS = (0.25, 0.5, 0.75)


class SeveralGraphs(Exception):
    """Raised when a step whose first graph was cut for the whole budget turns out to have another graph, or
    to run the first graph once more."""


@dataclasses.dataclass(frozen=True)
class PausePerByte:
    """A pause in which eager code works on the results of a graph. The memory that this code takes is assumed
    to be proportional to the bytes of the results."""

    peak_bytes: int
    kept_bytes: int
    returned_bytes: int

    def of(self, graph: BudgetedGraph) -> Pause:
        factor = graph.returned_bytes / max(1, self.returned_bytes)
        return Pause(self.peak_bytes, self.kept_bytes).times(factor)


class WhatIsLeft:
    """Cuts each graph for the part of the budget that the graphs before it have left. `between`: the memory
    of eager code between forward and backward in a step of one graph, in proportion to the bytes that forward
    returns."""

    def __init__(self, key: str = "", between: PausePerByte | None = None):
        self.key = key
        self.between = between

    def cut(self, graph: BudgetedGraph) -> tuple[tuple, CompiledGraph | None]:
        """Returns the forward and backward graphs, and their CompiledGraph. Returns None in place of
        the CompiledGraph if the caller already has it."""
        if self.between is not None:
            graph.between = self.between.of(graph)
        return graph.cut()


@dataclasses.dataclass
class Decision:
    """How a graph is cut. `save_set` is None if the graph is cut as torch.compile alone cuts it."""

    graph: str  # the graph's digest
    save_set: SaveSet | None
    told: CompiledGraph
    growth: float = 1.0  # the graph may be used for sizes that are larger by up to this factor


class MeasuredStep(WhatIsLeft):
    """A step whose graphs are kept, so that they can be cut again. Measures the memory of eager code between
    the runs of the graphs."""

    def __init__(self, device, key):
        super().__init__(key)
        self.pauses = EagerPauses(device)
        self.graphs, self.cuts = [], []
        self.order = []  # positions in `graphs`, in the order in which the graphs ran

    def decisions(self, pauses: list[Pause]) -> list[Decision]:
        """Decides how the graphs are cut, now that the pauses of the step are known. Returns an empty list if
        the graphs keep their cuts. Raises Infeasible."""
        return StepOfGraphs(self, pauses).decide()

    def run_begins(self, code: int, is_backward: bool) -> None:
        """Called when the code of a graph begins to run."""
        self.pauses.end()

    def run_ends(self) -> None:
        self.pauses.begin()


class OneGraph(MeasuredStep):
    """Cuts the first graph for the whole budget. Raises SeveralGraphs if there is another graph, or if the
    first graph runs a second time."""

    def cut(self, graph):
        if self.graphs:
            raise SeveralGraphs
        self.graphs.append(graph)
        try:
            modules, told = graph.cut()
        except Infeasible:
            if graph.budget.share is None:
                raise
            raise SeveralGraphs from None  # a share refers to all graphs together, and more graphs may follow
        self.cuts.append(graph.best)
        self.told = told
        return modules, told

    def decisions(self, pauses):
        if len(pauses) < 2 or not self.cuts:
            return []
        (graph,), (cut,) = self.graphs, self.cuts
        self.between = PausePerByte(pauses[1].peak_bytes, pauses[1].kept_bytes, graph.returned_bytes)
        lowered_bytes = graph.know_between(pauses[1], cut)
        if graph.plain is not None:
            self.told.plain_bytes = graph.alone_bytes()
            self.told.budget_bytes = graph.budget.of(self.told.plain_bytes, graph.beside_bytes)
        if lowered_bytes <= self.told.budget_bytes:
            self.told.lowered_bytes = lowered_bytes
            return []
        _, told = graph.cut()
        return [Decision(graph.digest(), graph.best.answer, told, graph.growth)]

    def run_begins(self, code, is_backward):
        super().run_begins(code, is_backward)
        if not is_backward:
            self.order.append(0)
        if self.graphs and len(self.order) > 1:
            raise SeveralGraphs


class LeastMemory(MeasuredStep):
    """Cuts each graph so that it saves as little as it can, and keeps the graphs to cut them again."""

    def __init__(self, device):
        super().__init__(device, "fewest bytes saved")
        self.number_of = {}  # the position in `graphs` of each graph, by the id of its code

    def cut(self, graph):
        cut = graph.least_saved()
        budget = graph.budget.bytes
        if budget is not None and cut.lowered_bytes > budget:
            raise graph.no_room(cut.lowered_bytes)
        self.graphs.append(graph)
        self.cuts.append(cut)
        told = CompiledGraph(budget or 0, graph.beside_bytes, graph.alone_bytes(), cut.lowered_bytes)
        return cut.modules, told

    def run_begins(self, code, is_backward):
        """Called when the code of a graph begins to run. Notes which graph runs. Code that was not seen
        before belongs to the first graph that has not run yet."""
        super().run_begins(code, is_backward)
        if is_backward:
            return
        number = self.number_of.setdefault(code, len(self.number_of))
        if number < len(self.graphs):
            self.order.append(number)


class Decided(WhatIsLeft):
    """Cuts graphs by their decisions. A graph without a decision is cut for the budget that is left."""

    def __init__(self, decisions: list[Decision], between: PausePerByte | None):
        self.by_graph = {decision.graph: decision for decision in decisions}
        key = repr([(digest, decision.save_set) for digest, decision in self.by_graph.items()])
        super().__init__(key, between)

    def cut(self, graph):
        decision = self.by_graph.get(graph.digest())
        if decision is None:
            return super().cut(graph)
        graph.growth = decision.growth
        if decision.save_set is None:
            return graph.plain_modules, None
        return graph.cut_by(lambda *_: decision.save_set), None


class StepOfGraphs:
    """All graphs of a step in the order of their runs, and the pauses between the runs. Chooses a cut for
    each graph. Pauses that are not known yet count as zero."""

    def __init__(self, measured: MeasuredStep, known: list[Pause]):
        self.graphs, self.least, self.order = measured.graphs, measured.cuts, measured.order
        self.start = measured.pauses.start_bytes
        runs = 2 * len(self.order)
        self.has_run_backward = len(known) > runs
        self.pauses = [*known, *[Pause(0, 0)] * runs][: runs + 1]

    def peaks(self, cuts) -> list[int]:
        """Returns for each graph the peak bytes over its forward, its backward, and the eager code before
        each of the two. The peak of the first graph also covers the eager code after the last run."""
        level, peaks = self.start, [0] * len(cuts)
        forward = [(number, cuts[number].forward) for number in self.order]
        backward = [(number, cuts[number].backward) for number in reversed(self.order)]
        *before, last = self.pauses
        for (number, text), pause in zip((*forward, *backward), before, strict=True):
            most = max(level + pause.peak_bytes, level + pause.kept_bytes + text.peak_bytes)
            peaks[number] = max(peaks[number], most)
            level += pause.kept_bytes + text.end_bytes
        peaks[self.order[0]] = max(peaks[self.order[0]], level + last.peak_bytes)
        return peaks

    def alone(self) -> list[Cut]:
        return [graph.alone for graph in self.graphs]

    def alone_bytes(self) -> int:
        """Returns the peak bytes of the step with all graphs cut as torch.compile alone cuts them."""
        return max(self.peaks(self.alone()))

    def budget(self) -> int:
        """Returns the budget in bytes. A share refers to `alone_bytes`."""
        inputs = sum(self.graphs[number].input_bytes for number in self.order)
        return self.graphs[0].budget.of(self.alone_bytes(), max(0, self.start - inputs))

    def options(self, number: int) -> list[Cut]:
        """Returns the cuts from which a graph's cut is chosen, the fastest first."""
        graph, least, plain = self.graphs[number], self.least[number], self.graphs[number].cut_plainly()
        found = [least, plain]
        asked = plain.lowered_bytes - graph.beside_bytes
        for level in LEVELS:
            saved = least.forward.end_bytes + level * (plain.forward.end_bytes - least.forward.end_bytes)
            tried = graph.planned(asked, max(0, asked - graph.input_bytes - int(saved)))
            if not isinstance(tried, NoSaveSet):
                found.append(tried)
        return sorted(found, key=lambda cut: cut.extra_seconds)

    def check(self, budget: int) -> None:
        """Raises Infeasible if even the step with the least memory exceeds the budget."""
        most = max(self.peaks(self.least))
        if most <= budget:
            return
        if len(self.least) == 1:  # another cut than the one that saves the least may have a smaller peak
            raise self.graphs[0].no_room(min(most, self.graphs[0].smallest().lowered_bytes))
        needed = f"{most} bytes" if self.has_run_backward else f"at least {most} bytes"
        raise Infeasible(
            f"rematlas: the budget of {budget} bytes is not kept: the {len(self.least)} graphs of the"
            f" compiled step take {needed} in the smallest cuts that were found, {most - budget} more;"
            f" torch.compile alone takes {self.alone_bytes()}: give the step a budget of {needed},"
            " or a smaller batch",
            most,
            False,
        )

    def decide(self) -> list[Decision]:
        """Chooses the cuts of all graphs. Raises Infeasible if even the step with the least memory exceeds
        the budget."""
        budget, cuts = self.budget(), list(self.least)
        self.check(budget)
        options = [self.options(number) for number in range(len(cuts))]
        while True:
            better = self.best_change(cuts, options, budget)
            if better is None:
                break
            cuts = better
        return self.decisions(cuts, options, budget)

    def best_change(self, cuts, options, budget):
        """Changes the cut of one graph, and returns the cuts of all graphs. Takes the change that saves the
        most time per byte that it adds to the peak. Returns None if no change within the budget saves
        time."""
        now, best, best_rate = max(self.peaks(cuts)), None, 0.0
        for number, of_graph in enumerate(options):
            for cut in of_graph:
                saved = (cuts[number].extra_seconds - cut.extra_seconds) * self.order.count(number)
                changed = [*cuts[:number], cut, *cuts[number + 1 :]]
                peak = max(self.peaks(changed))
                rate = saved / max(1, peak - now)
                if peak <= budget and rate > best_rate:
                    best, best_rate = changed, rate
        return best

    def decisions(self, cuts, options, budget) -> list[Decision]:
        peaks, alone = self.peaks(cuts), self.peaks(self.alone())
        made = []
        for number, (graph, cut) in enumerate(zip(self.graphs, cuts, strict=True)):
            own = max(cut.forward.peak_bytes, cut.forward.end_bytes + cut.backward.peak_bytes)
            beside = peaks[number] - own - graph.input_bytes
            told = CompiledGraph(budget, beside, alone[number], peaks[number])
            told.tries = len(options[number])
            graph.tell(told, cut)
            made.append(Decision(graph.digest(), cut.answer, told))
        return made
