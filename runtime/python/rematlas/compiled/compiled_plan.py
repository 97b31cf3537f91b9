"""A plan in the compiled part: the graph of a step, and the newest schedule that was found for it."""

import functools
import json
import pathlib
import tempfile

from ..library import classes, ops
from .answers import LastStep, PlanAnswer


class CompiledPlan:
    """A plan. Its methods raise RuntimeError with a message of one line if the compiled part cannot do what
    is asked."""

    def __init__(self, made):
        self.made = made
        # Each planned step calls these methods. They are looked up once, because a lookup takes longer than a
        # call. `forward` takes (tensors, inputs, whether in an arena, whether measured) and returns
        # (outputs, number of the forward, why there are no outputs).
        self.forward = made.forward
        self.open_forwards = made.open  # returns the number of open forwards

    @classmethod
    def of_recordings(cls, first, second, name: str):
        return cls(classes.Plan(first.made, second.made, name))

    @classmethod
    def from_shapes(cls, recording, name: str, timed=False, names=(), tensors=()):
        """Makes a plan from a recording that was made from shapes. If `timed`, each op runs alone to measure
        its time, and reads `tensors` (with these `names`) in their present memory."""
        return cls(ops.plan_from_shapes(recording.made, name, timed, list(names), list(tensors)))

    @classmethod
    def read(cls, path, device: str):
        """Reads a plan file, or a schedule file with its graph file next to it."""
        return cls(ops.load_plan(str(path), device))

    @classmethod
    def of_bytes(cls, data: bytes, device: str):
        """Reads a plan from the contents of a plan file."""
        with tempfile.TemporaryDirectory(prefix="rematlas-") as folder:
            path = pathlib.Path(folder) / "plan"
            path.write_bytes(data)
            return cls.read(path, device)

    def with_optimizer(self, groups, ending: dict):
        """Returns a plan of the same step with the updates of these groups of parameters at its end.
        `ending`: see updates/ending.py. The plan has no schedule yet."""
        return CompiledPlan(self.made.with_optimizer(json.dumps(groups), json.dumps(ending)))

    def trained_names(self) -> list:
        """Returns the names of the parameters for which the step makes gradients."""
        return self.made.trained_names()

    def with_recorded_update(self, recording, what: str):
        """Returns a plan of the same step, recorded from shapes, with an optimizer's step after it.
        `recording`: an UpdateRecording that has ended. `what` says how the updates run."""
        return CompiledPlan(self.made.with_recorded_update(recording, what))

    def on_card(self, recorded_as: str):
        """Returns a plan of the same step, recorded from shapes, on another absent card of the same
        capability. The plan has no schedule yet."""
        return CompiledPlan(self.made.on_card(recorded_as))

    # Planning.

    def start(self, options, *, frames: int, other_bytes: int, device: str) -> None:
        """Starts to solve in the background."""
        config = json.dumps(options.config) if options.config else ""
        asked = str(options.budget), options.solver, config, options.time_limit
        self.made.start(*asked, frames, other_bytes, options.copies.text, options.in_arena(device))

    def busy(self) -> bool:
        return self.made.busy()

    def wait(self) -> None:
        self.made.wait()

    def answer(self) -> PlanAnswer:
        return PlanAnswer.of(self.made.answer())

    # Running.

    def bind(self, watch, tensors, owner: str, states=None) -> None:
        """Makes the newest schedule ready to run on these tensors. `states`: the optimizer's states, for a
        plan with updates."""
        bound = watch.names, tensors, len(watch.parameters), owner
        if states is None:
            self.made.bind(*bound)
        else:
            self.made.bind_with_states(*bound, states)

    def rebind_states(self, states) -> None:
        self.made.rebind_states(states)

    def change_numbers(self, groups) -> None:
        self.made.change_numbers(json.dumps(groups))

    def set_sums_gradients(self, sums: bool) -> None:
        self.made.set_sums_gradients(sums)

    def abandon_open_forwards(self) -> bool:
        """Abandons the open forwards: the original will run their backwards. Returns whether there were
        any."""
        are_open = self.open_forwards() > 0
        if are_open:
            self.made.give_open_forwards_up()
        return are_open

    def moves_buffers_in_backward(self) -> bool:
        return self.made.moves_buffers_late()

    def gradients_are_as_handed_out(self, gradients) -> bool:
        return self.made.gradients_are_as_handed_out(gradients)

    def last_step(self) -> LastStep | None:
        return LastStep.of(self.made.last())

    # Facts.
    def state_names(self) -> list:
        return self.made.state_names()

    def gradient_names(self) -> list:
        return self.made.gradient_names()

    def output_count(self) -> int:
        return len(self.made.passed_inputs())

    def pack(self, packing: str) -> None:
        self.made.pack(packing)

    def packing(self) -> str:
        return self.made.packing()

    @functools.cached_property
    def loss_head(self) -> dict | None:
        """The bytes of the loss head in the peak, in the form of `rematlas inspect --json`; None if the loss
        head is not at the peak."""
        return json.loads(self.made.loss_head())

    def graph_text(self) -> str:
        return self.made.graph_text()

    def to_bytes(self) -> bytes:
        """Returns the contents of a plan file of this plan."""
        with tempfile.TemporaryDirectory(prefix="rematlas-") as folder:
            path = pathlib.Path(folder) / "plan"
            self.made.save(str(path))
            return path.read_bytes()
