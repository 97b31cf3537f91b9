"""The plan of one kind of call, while it is made and as it runs."""

import typing

from ..calls import effects, structure
from ..calls.assignments import dictionary_at, places_of
from ..loss_head.language_models import chunks_of
from ..updates.kept_between_steps import KeptBetweenSteps
from ..updates.update_rule import Role
from .packing import Packing

MOST_LEFT = 2  # steps of a plan from shapes whose backward the original ran, before a real one is recorded


class Kept(typing.NamedTuple):
    """What a forward leaves in an attribute: a tensor or a container of tensors, which is put there anew."""

    values: dict  # of a module
    name: str
    template: object = "tensor"  # see calls/structure.py
    count: int = 1  # of tensors

    @classmethod
    def found(cls, values, name) -> tuple:
        """Returns what is there, as a Kept and its tensors. Raises what pickle raises for named tuples whose
        class cannot be found by its name."""
        template, tensors = structure.flatten(values[name])
        return cls(values, name, template, len(tensors)), tensors

    def put(self, tensors) -> None:
        self.values[self.name] = structure.rebuild(self.template, tensors)


class Returned(typing.NamedTuple):
    """What the forward returns. It is the same in each step of one kind of call."""

    template: object  # see calls/structure.py
    sources: list  # per output tensor: ("input", i), ("tensor", i) or ("plan", place)
    kept: tuple  # Kept; their tensors are outputs too, after the others
    effects: tuple = ()  # Effects; the numbers that are logged are the last outputs

    def rebuild(self, outputs, inputs, tensors):
        """Returns what the caller gets, made of the plan's outputs, and sets the attributes that the forward
        sets."""
        placed = [
            outputs[place] if source == "plan" else inputs[place] if source == "input" else tensors[place]
            for source, place in self.sources
        ]
        if self.kept or self.effects:
            count = self.outputs()
            placed, further = placed[:count], placed[count:]
            for kept in self.kept:
                kept.put(further[: kept.count])
                further = further[kept.count :]
            effects.apply(self.effects, further)
        return structure.rebuild(self.template, placed)

    def outputs(self) -> int:
        """How many tensors the caller gets."""
        return len(self.sources) - sum(kept.count for kept in self.kept) - effects.logs(self.effects)

    def kept_places(self) -> set:
        """Returns (id of the dictionary, name) of the attributes."""
        return {(id(kept.values), kept.name) for kept in self.kept}

    @classmethod
    def unpacked(cls, packing, module):
        """Reads it from a plan file. Raises what pickle raises for classes that are not there, and
        AttributeError for submodules that are not there."""
        template = structure.of_module(packing.template, module)
        kept = tuple(
            Kept(dictionary_at(module, place), name, structure.of_module(template, module), count)
            for place, name, template, count in packing.kept
        )
        made = tuple(
            effects.Effect(dictionary_at(module, place), name, amount)
            for place, name, amount in packing.effects
        )
        return cls(template, packing.sources, kept, made)


class StepPlan:
    """`compiled` runs the step. Until it is bound, it is only the step's graph."""

    def __init__(self, compiled, returned, *, sums, other_bytes, frames, used=None):
        self.compiled = compiled
        self.returned = returned
        self.is_one_output = (
            not (returned.kept or returned.effects)
            and returned.template == "tensor"
            and returned.sources[0][0] == "plan"
        )
        # The module uses some parameter several times: several open forwards cannot be planned
        self.sums = sums
        self.other_bytes = other_bytes  # that lived beside the step when it was planned
        self.spare = 0  # of these, what is left for a comparison
        self.kept_then = None  # KeptBetweenSteps, when it was planned for a budget in bytes
        self.frames = frames  # forwards open at a time that it was made for
        # Of a plan from shapes: per output tensor, whether the loss was taken to depend on it
        self.used = used
        self.shared = None  # between the processes of one training, while it is made: ranks.Shared
        self.moves_buffers_in_backward = None  # known after its first forward
        self.endings = {}  # by role: plans that take the gradients themselves
        self.without_updates = compiled
        self.steps = 0  # that it has begun
        self.left_steps = 0  # those among them whose backward the original ran
        self.is_direct = False  # there are endings alone, and `compiled` is the one with updates

    @property
    def is_from_shapes(self) -> bool:
        return self.used is not None

    def is_of_other_steps(self) -> bool:
        """Says whether shapes have told of another step than that which really runs: the original has run
        most of the backwards."""
        return self.is_from_shapes and self.left_steps >= MOST_LEFT and 2 * self.left_steps >= self.steps

    def be_for(self, *, frames=None, other_bytes=None) -> None:
        """What it is solved for next: so many forwards open at a time, or so many bytes beside the step."""
        self.frames = self.frames if frames is None else frames
        if other_bytes is not None:
            self.other_bytes, self.spare = other_bytes, 0

    def leave_spare(self, spare) -> None:
        """It is solved with so many bytes left of the budget."""
        self.other_bytes += spare
        self.spare = spare

    def take_spare(self) -> bool:
        """It is solved for the whole budget next. Returns whether it was not."""
        spare, self.spare = self.spare, 0
        self.other_bytes -= spare
        return spare > 0

    def share(self, shared) -> None:
        """All processes of the training are to use one plan."""
        self.shared = shared

    def take_shared(self):
        """The plan is made: returns by what it was shared, None where it was not."""
        shared, self.shared = self.shared, None
        return shared

    def start(self, owner) -> None:
        """Begins to solve in the background, for the module of this PlannedModule."""
        if owner.options.budget_bytes is not None:
            self.kept_then = KeptBetweenSteps.of(owner.module)
        self.compiled.start(
            owner.options, frames=self.frames, other_bytes=self.other_bytes, device=owner.device()
        )

    def bind(self, watch, owner) -> None:
        """Makes the schedule that was found ready to run. Raises RuntimeError."""
        self.compiled.bind(watch, watch.tensors_at_any_time(), owner)
        self.compiled.set_sums_gradients(self.sums)
        self.moves_buffers_in_backward = None

    def note_first_forward(self, compiled) -> None:
        """`compiled` is the plan that the first forward ran by."""
        self.moves_buffers_in_backward = compiled is self.compiled and compiled.moves_buffers_in_backward()

    def be_replaced_by(self, compiled) -> None:
        """Takes the plan that another process has made."""
        self.compiled = self.without_updates = compiled

    def run_by(self, ending, moves_buffers_in_backward=None) -> None:
        """From here on all steps run by plans with endings."""
        self.is_direct, self.compiled = True, ending.plan
        self.moves_buffers_in_backward = moves_buffers_in_backward

    def is_of(self, module) -> bool:
        """Says whether the module still has all submodules in which the forward sets attributes."""
        places = places_of(module)
        set_in = (*self.returned.kept, *self.returned.effects)
        return all(id(values) in places for values, *_ in set_in)

    def packing(self, module, reads_kept, budget=None) -> Packing:
        """Returns what a plan file keeps beside the graph and the schedule. `reads_kept`: see Walk. `budget`:
        bytes that it is for."""
        places = places_of(module)
        kept = [(places[id(values)], *others) for values, *others in self.returned.kept]
        made = [(places[id(values)], name, amount) for values, name, amount in self.returned.effects]
        ending = self.endings[Role.UPDATE].text if self.is_direct else ""
        template, sources = self.returned.template, self.returned.sources
        chunks = chunks_of(module)
        return Packing(template, sources, self.sums, kept, ending, made, budget, reads_kept, chunks)
