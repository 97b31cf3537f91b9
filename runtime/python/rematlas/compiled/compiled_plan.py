"""A plan in the compiled part: the graph of a step, and the newest schedule that was found for it."""

import contextlib
import functools
import json
import pathlib
import tempfile

from ..library import classes, ops, passed_on
from .answers import LastStep, PlanAnswer


@contextlib.contextmanager
def in_file(data: bytes):
    """A context with the path of a temporary file that has these contents."""
    with tempfile.TemporaryDirectory(prefix="rematlas-") as folder:
        path = pathlib.Path(folder) / "plan"
        path.write_bytes(data)
        yield path


class CompiledPlan:
    """A plan. Its methods raise RuntimeError with a message of one line if the compiled part fails."""

    def __init__(self, made):
        self.made = made
        self.spans = {}  # the process groups of a step on absent ranks, see AbsentRanks.spans
        # Each planned step calls these methods. They are looked up once, because a lookup takes longer than a
        # call. `forward` takes (tensors, inputs, whether in an arena, whether measured) and returns
        # (outputs, number of the forward, why there are no outputs).
        self.forward = made.forward
        self.open_forwards = made.open  # returns the number of open forwards

    @classmethod
    def of_recordings(cls, first, second, name: str, wire_weight: float):
        """Makes a plan from two recordings of a step. `wire_weight`: a factor for the times of the step's
        collectives."""
        made = classes.Plan(first.made, second.made, name)
        if wire_weight != 1:
            made.weigh_collectives(wire_weight)
        return cls(made)

    @classmethod
    def from_shapes(cls, recording, name: str, timed=False, names=(), tensors=()):
        """Makes a plan from a recording that was made from shapes. If `timed`, each op runs alone to measure
        its time. Ops then read the parameters and buffers `tensors`, which have these `names`, in their
        present memory."""
        return cls(ops.plan_from_shapes(recording.made, name, timed, list(names), list(tensors)))

    @classmethod
    def read(cls, path, device: str):
        """Reads a plan file, or a schedule file with its graph file next to it."""
        return cls(ops.load_plan(str(path), device))

    @classmethod
    def of_bytes(cls, data: bytes, device: str):
        """Reads a plan from the contents of a plan file."""
        with in_file(data) as path:
            return cls.read(path, device)

    def with_schedule_of(self, data: bytes):
        """Returns a plan of this step with the schedule of another process. `data`: the contents of a plan
        file of that process. The graphs of the two processes may differ in the values of arguments, such as
        names of process groups."""
        with in_file(data) as path:
            return CompiledPlan(self.made.with_schedule_of(str(path)))

    def with_optimizer(self, groups, ending: dict):
        """Returns a plan of the same step with the updates of these groups of parameters at its end.
        `ending`: see updates/ending.py. The plan has no schedule yet."""
        return CompiledPlan(self.made.with_optimizer(json.dumps(groups), json.dumps(ending)))

    # Returns the names of the parameters for which the step makes gradients.
    trained_names = passed_on("trained_names")

    def with_recorded_update(self, recording, what: str):
        """Returns a plan of the same step followed by an optimizer's step. This plan must have been recorded
        from shapes. `recording`: an UpdateRecording that has ended. `what` says how the updates run."""
        return CompiledPlan(self.made.with_recorded_update(recording, what))

    def on_card(self, recorded_as: str):
        """Returns a plan of the same step on another absent card of the same capability. This plan must have
        been recorded from shapes. The new plan has no schedule yet."""
        return CompiledPlan(self.made.on_card(recorded_as))

    def with_rank_costs(self, costs: str):
        """Returns a plan of the same step whose collectives have queues and times. This plan must have been
        recorded from shapes. `costs`: JSON, see runtime/training/rank_costs.h. The new plan has no schedule
        yet."""
        return CompiledPlan(self.made.with_rank_costs(costs))

    # Planning.

    def start(self, options, *, frames: int, other_bytes: int, device: str) -> None:
        """Starts to solve in the background."""
        config = json.dumps(options.config) if options.config else ""
        asked = str(options.budget), options.solver, config, options.time_limit
        self.made.start(*asked, frames, other_bytes, options.copies.text, options.in_arena(device))

    busy = passed_on("busy")  # says whether a solver is running
    wait = passed_on("wait")  # waits until the solver has ended

    def answer(self) -> PlanAnswer:
        return PlanAnswer.of(self.made.answer())

    # Running.

    def bind(self, watch, tensors, owner: str, states=()) -> None:
        """Makes the newest schedule ready to run on these tensors. `states`: the optimizer's states, for a
        plan with updates."""
        self.made.bind(watch.names, tensors, len(watch.parameters), owner, list(states))

    rebind_states = passed_on("rebind_states")  # takes the optimizer's states

    def change_numbers(self, groups) -> None:
        self.made.change_numbers(json.dumps(groups))

    set_sums_gradients = passed_on("set_sums_gradients")  # takes whether the plan sums gradients

    def abandon_open_forwards(self) -> bool:
        """Abandons the open forwards: the original will run their backwards. Returns whether there were
        any."""
        are_open = self.open_forwards() > 0
        if are_open:
            self.made.give_open_forwards_up()
        return are_open

    moves_buffers_in_backward = passed_on("moves_buffers_late")
    gradients_are_as_handed_out = passed_on("gradients_are_as_handed_out")  # takes the gradients

    def last_step(self) -> LastStep | None:
        return LastStep.of(self.made.last())

    # Facts.
    state_names = passed_on("state_names")
    gradient_names = passed_on("gradient_names")

    output_count = passed_on("output_count")
    pack = passed_on("pack")  # takes the text of a Packing
    packing = passed_on("packing")  # returns the text of the Packing

    @functools.cached_property
    def loss_head(self) -> dict | None:
        """The bytes of the loss head in the peak, in the form of `rematlas inspect --json`; None if there is
        no loss head, or if chunks would hardly lower the peak."""
        return json.loads(self.made.loss_head())

    graph_text = passed_on("graph_text")  # returns the contents of a graph file

    def to_bytes(self) -> bytes:
        """Returns the contents of a plan file of this plan."""
        with tempfile.TemporaryDirectory(prefix="rematlas-") as folder:
            path = pathlib.Path(folder) / "plan"
            self.made.save(str(path))
            return path.read_bytes()
