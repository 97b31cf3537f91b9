"""Plans as files."""

import pathlib
import tempfile

from .compiled.compiled_plan import CompiledPlan
from .errors import message
from .lifecycle.packing import Packing


class Plan:
    """A plan in a file's form: the graph, the schedule, and how the module packs its outputs, which is a
    pickle: apply plans from people whose code you would run."""

    def __init__(self, data: bytes):
        self.data = data

    @classmethod
    def read(cls, path):
        """Of a plan file, or of a schedule file with its graph file beside it. Raises ValueError where the
        schedule does not pass the check, and for other files."""
        with open(path, "rb"):  # raises what open raises
            pass
        try:
            return cls(CompiledPlan.read(path, "cpu").to_bytes())
        except RuntimeError as error:
            raise ValueError(f"rematlas: {message(error)}") from None

    def save(self, path) -> None:
        path = pathlib.Path(path)
        if path.is_dir() or not path.parent.is_dir():
            raise FileNotFoundError(f"rematlas: {path} is no file that can be written")
        part = path.with_name(path.name + ".part")
        part.write_bytes(self.data)
        part.replace(path)

    def on_file(self, read):
        """Returns what `read` makes of the path of a file that holds the plan for as long."""
        with tempfile.TemporaryDirectory(prefix="rematlas-") as folder:
            path = pathlib.Path(folder) / "plan"
            path.write_bytes(self.data)
            return read(path)

    def compiled(self, device) -> CompiledPlan:
        return CompiledPlan.of_bytes(self.data, device)

    def ends_with_updates(self) -> bool:
        return bool(self.compiled("cpu").state_names())

    def updates(self) -> str:
        """Says how the updates of an optimizer run with which the step ends; empty where it has none."""
        updates = self.compiled("cpu").answer().updates
        return "" if updates == "none" else updates

    def torch(self) -> str:
        """Returns the version of torch that it was made with."""
        return self.compiled("cpu").answer().torch

    def budget_bytes(self) -> int | None:
        """Returns the budget that it was made for, None for a share of the step, or where nobody knows."""
        return Packing.of(self.compiled("cpu")).budget

    def used_outputs(self):
        """The places of the output tensors that the plan takes gradients of."""
        compiled = self.compiled("cpu")
        packing, unused = Packing.of(compiled), compiled.answer().unused_outputs
        returned = packing.sources[: packing.outputs()]
        return [at for at, (source, place) in enumerate(returned) if source == "plan" and place not in unused]
