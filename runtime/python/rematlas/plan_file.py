"""Plans as files."""

import pathlib

from .compiled.compiled_plan import CompiledPlan
from .errors import message
from .lifecycle.packing import Packing


class Plan:
    """A plan in the form of a file: the graph, the schedule, and the packing of the module's outputs. A plan
    runs ops of torch on your tensors, and no other code. All names in it are checked when it is read."""

    def __init__(self, data: bytes):
        self.data = data

    @classmethod
    def read(cls, path):
        """Reads a plan file, or a schedule file with its graph file beside it. Raises OSError if the file
        cannot be opened. Raises ValueError if it is neither a plan nor a schedule, or if the schedule does
        not pass the check."""
        with open(path, "rb"):  # raises the OSError if the file cannot be opened
            pass
        try:
            return cls(CompiledPlan.read(path, "cpu").to_bytes())
        except RuntimeError as error:
            raise ValueError(f"rematlas: {message(error)}") from None

    def save(self, path) -> None:
        """Writes the plan as a file. Raises FileNotFoundError if there is no such folder."""
        path = pathlib.Path(path)
        if path.is_dir() or not path.parent.is_dir():
            raise FileNotFoundError(
                f"rematlas: {path} is no file that can be written: name a file in a folder that exists"
            )
        part = path.with_name(path.name + ".part")
        part.write_bytes(self.data)
        part.replace(path)

    def compiled(self, device) -> CompiledPlan:
        return CompiledPlan.of_bytes(self.data, device)

    def ends_with_updates(self) -> bool:
        """Says whether the optimizer's updates are part of the plan."""
        return bool(self.compiled("cpu").state_names())

    def updates(self) -> str:
        """Returns a text that says how the optimizer's updates at the end of the step run; empty if the step
        has no updates."""
        updates = self.compiled("cpu").answer().updates
        return "" if updates == "none" else updates

    def torch(self) -> str:
        """Returns the version of torch that the plan was made with."""
        return self.compiled("cpu").answer().torch

    def budget_bytes(self) -> int | None:
        """Returns the budget in bytes that the plan was made for; None if the budget was a share of the step,
        or is not known."""
        return Packing.of(self.compiled("cpu")).budget

    def used_outputs(self):
        """Returns the places of the output tensors whose gradients the plan uses."""
        compiled = self.compiled("cpu")
        packing, unused = Packing.of(compiled), compiled.answer().unused_outputs
        returned = packing.sources[: packing.outputs()]
        return [at for at, (source, place) in enumerate(returned) if source == "plan" and place not in unused]
