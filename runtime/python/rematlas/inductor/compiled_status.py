"""The status of a step that `rematlas.compile` has made."""


class CompiledStatus:
    """The status of a step that `compile` has made."""

    def __init__(self, step):
        self._step = step

    @property
    def graphs(self) -> list:
        """A CompiledGraph for each graph of the step that has a backward."""
        return list(self._step.graphs)

    @property
    def difference(self):
        """The Difference of outputs and gradients from the plainly compiled step; None if they were not
        compared."""
        return self._step.difference

    def __repr__(self):
        count = len(self.graphs)
        graphs = "1 graph" if count == 1 else f"{count} graphs"
        peaks = [graph.measured_bytes for graph in self.graphs if graph.measured_bytes is not None]
        measured = f"{max(peaks)} bytes measured" if peaks else "not measured yet"
        lines = [f"compiled under a budget of {self._step.budget.text}: {graphs}, {measured}"]
        for graph in self.graphs:
            way, alone = "as torch.compile cuts it", ""
            if graph.schedule_text:
                alone = "" if self._step.budget.bytes is None else "at least "
                tries = "1 try" if graph.tries == 1 else f"{graph.tries} tries"
                way = f"overhead {graph.overhead:.4f} by plan, {tries}"
            lines.append(
                f"{graph.lowered_bytes} bytes of {graph.budget_bytes} ({alone}{graph.plain_bytes} under"
                f" torch.compile alone), {way}"
            )
        if self.difference is not None:
            lines.append(
                f"outputs are {self.difference.outputs:.1e} apart from those under torch.compile alone,"
                f" gradients {self.difference.gradients:.1e}"
            )
        return "\n".join(lines)
