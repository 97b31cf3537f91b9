"""The plan of one kind of call, while it is made and as it runs."""

import hashlib
import typing

from ..calls import effects, structure
from ..calls.assignments import dictionary_at, places_of
from ..loss_head.language_models import chunks_of
from ..sharded.outputs import with_wholes
from ..updates.kept_between_steps import KeptBetweenSteps
from ..updates.update_rule import Role
from .packing import Packing

# A plan from shapes may not match the real steps: the original may have to run the backward of a step whose
# forward the plan has run. Real steps are recorded as soon as this has happened at least this many times, and
# in at least half of the plan's steps.
MOST_LEFT = 2


class Kept(typing.NamedTuple):
    """An attribute in which a forward leaves a tensor or a container of tensors. The plan sets it in each
    step."""

    values: dict  # the dictionary of a module
    name: str
    template: object = "tensor"  # see calls/structure.py
    count: int = 1  # the number of tensors

    @classmethod
    def found(cls, values, name) -> tuple:
        """Returns the attribute as a Kept, and its tensors. Raises pickle's errors for named tuples whose
        class cannot be found by its name."""
        template, tensors = structure.flatten(values[name])
        return cls(values, name, template, len(tensors)), tensors

    def put(self, tensors) -> None:
        self.values[self.name] = structure.rebuild(self.template, tensors)


class Returned(typing.NamedTuple):
    """The structure of the forward's return value. The structure is the same in all steps of one kind of
    call."""

    template: object  # see calls/structure.py
    sources: list  # for each output tensor: ("input", i), ("tensor", i) or ("plan", place)
    kept: tuple  # Kept objects; the tensors in these attributes are outputs, too, after the returned tensors
    effects: tuple = ()  # Effect objects; the numbers that they log are the last outputs
    dtensors: tuple = ()  # OutputForms of the outputs that are DTensors

    def rebuild(self, outputs, inputs, tensors):
        """Makes the forward's return value from the plan's outputs, and sets the attributes that the forward
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
        return with_wholes(structure.rebuild(self.template, placed), self.dtensors)

    def outputs(self) -> int:
        """Returns how many tensors the forward returns to the caller."""
        of_kept = sum(kept.count for kept in self.kept)
        return len(self.sources) - of_kept - sum(effect.amount is None for effect in self.effects)

    def kept_places(self) -> set:
        """Returns (id of the dictionary, name) of the attributes that the forward sets."""
        return {(id(kept.values), kept.name) for kept in self.kept}

    @classmethod
    def unpacked(cls, packing, module):
        """Makes a Returned from the packing of a plan file. Raises pickle's errors for missing classes, and
        AttributeError for missing submodules."""
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
    """The plan of one kind of call. `compiled` runs the step once it has been bound; before that, `compiled`
    is only the step's graph."""

    def __init__(self, compiled, returned, *, sums, other_bytes, frames, used=None):
        self.compiled = compiled
        self.recorded = compiled  # the plan that this process recorded; `be_shared_anew` returns to it
        self.returned = returned
        self.is_one_output = (
            not (returned.kept or returned.effects or returned.dtensors)
            and returned.template == "tensor"
            and returned.sources[0][0] == "plan"
        )
        # Whether the plan sums gradients, because the module uses some parameter several times. Such a plan
        # cannot be used with several open forwards.
        self.sums = sums
        self.other_bytes = other_bytes  # bytes that did not belong to the step when it was planned
        self.spare = 0  # the part of `other_bytes` that the plan leaves free for its comparison
        self.kept_then = None  # the KeptBetweenSteps at the time of planning, if the budget is in bytes
        self.frames = frames  # how many forwards may be open at a time in this plan
        # in a plan from shapes: for each output tensor, whether the loss is assumed to depend on it;
        # otherwise None
        self.used = used
        self.identity = ""  # see the method `digest`
        self.shared = None  # ranks.Shared while the processes of one training wait for one plan
        self.moves_buffers_in_backward = None  # None until the plan's first forward
        self.endings = {}  # by role: plans that include the optimizer's part of the step
        self.without_updates = compiled
        self.steps = 0  # steps that this plan has begun
        self.left_steps = 0  # steps of this plan whose backward the original ran
        self.is_direct = False  # all steps run by plans in `endings`; `compiled` is then the plan for UPDATE

    @property
    def is_from_shapes(self) -> bool:
        return self.used is not None

    def is_of_other_steps(self) -> bool:
        """Says whether this plan was made from shapes and does not match the real steps, see MOST_LEFT."""
        return self.is_from_shapes and self.left_steps >= MOST_LEFT and 2 * self.left_steps >= self.steps

    def be_for(self, *, frames=None, other_bytes=None) -> None:
        """Sets the number of forwards open at a time, or the bytes outside of the step, for which the plan is
        solved next."""
        self.frames = self.frames if frames is None else frames
        if other_bytes is not None:
            self.other_bytes, self.spare = other_bytes, 0

    def leave_spare(self, spare) -> None:
        """Makes the next solve leave `spare` bytes of the budget free."""
        self.other_bytes += spare
        self.spare = spare

    def take_spare(self) -> bool:
        """Makes the next solve use the whole budget. Returns whether bytes were left free before."""
        spare, self.spare = self.spare, 0
        self.other_bytes -= spare
        return spare > 0

    def take_shared(self):
        """Called when the plan is made. Returns the ranks.Shared that shares the plan; None if it is not
        shared."""
        shared, self.shared = self.shared, None
        return shared

    def start(self, owner) -> None:
        """Starts to solve in the background. `owner`: the PlannedModule."""
        if owner.options.budget_bytes is not None:
            self.kept_then = KeptBetweenSteps.of(owner.module)
        self.compiled.start(
            owner.options, frames=self.frames, other_bytes=self.other_bytes, device=owner.device()
        )
        if self.shared is not None:
            self.shared.lead(self.compiled)

    def bind(self, watch, owner) -> None:
        """Makes the solved schedule ready to run. Raises RuntimeError."""
        self.compiled.bind(watch, watch.tensors_at_any_time(), owner)
        self.compiled.set_sums_gradients(self.sums)
        self.moves_buffers_in_backward = None

    def note_first_forward(self, compiled) -> None:
        """Called after the first forward. `compiled`: the plan that ran it."""
        self.moves_buffers_in_backward = compiled is self.compiled and compiled.moves_buffers_in_backward()

    def be_shared_anew(self, shared) -> None:
        """Called before the processes of a training solve the plan again."""
        self.compiled = self.without_updates = self.recorded
        self.identity = ""
        self.shared = shared

    def digest(self) -> str:
        """Returns a text that is the same for the ranks that run the same plan."""
        self.identity = self.identity or hashlib.sha256(self.compiled.to_bytes()).hexdigest()
        return self.identity

    def run_by(self, ending, moves_buffers_in_backward=None) -> None:
        """From now on all steps run by plans in `endings`, which use the gradients within the step. `ending`
        is one of these plans."""
        self.is_direct, self.compiled = True, ending.plan
        self.moves_buffers_in_backward = moves_buffers_in_backward

    def is_of(self, module) -> bool:
        """Says whether the module still has all submodules in which the forward sets attributes."""
        places = places_of(module)
        set_in = (*self.returned.kept, *self.returned.effects)
        return all(id(values) in places for values, *_ in set_in)

    def packing(self, module, reads_kept, budget=None) -> Packing:
        """Returns the Packing that a plan file has next to the graph and the schedule. `reads_kept`: see
        Walk. `budget`: the bytes for which the plan was made."""
        places = places_of(module)
        kept = [(places[id(values)], *others) for values, *others in self.returned.kept]
        made = [(places[id(values)], name, amount) for values, name, amount in self.returned.effects]
        ending = self.endings[Role.UPDATE].text if self.is_direct else ""
        template, sources = self.returned.template, self.returned.sources
        chunks = chunks_of(module)
        return Packing(template, sources, self.sums, kept, ending, made, budget, reads_kept, chunks)
