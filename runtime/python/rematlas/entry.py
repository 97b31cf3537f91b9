"""What is known of one kind of call, and of its steps that wait for their backward."""

import typing

from . import structure
from .packing import Packing
from .watch import dictionary_at, places_of


class Entry:
    """What is known of one key."""

    def __init__(self, base, inputs):
        self.base = base  # the key without the state of the module
        self.inputs = inputs  # in words
        self.state = "recording"
        self.first = None  # a recording that is complete
        self.pending = []  # Recorded and Compared steps whose backward has not run
        self.plan = None
        self.compared = 0  # real steps
        self.other_courses = 0
        self.reason = ""
        self.template = None  # of the outputs
        self.sources = None  # per output tensor: ("input", i), ("tensor", i) or ("plan", place)
        self.kept = ()  # (dictionary, name) of attributes that forward sets; they are outputs too, after the others
        self.sums = False  # several open forwards cannot be planned
        self.late = None  # whether the plan moves buffers on in its backward; known after its first forward
        self.beside = 0
        self.frames = 1  # forwards open at a time that the plan was made for
        self.measured = 0
        self.at_most = False
        self.answer = {}
        self.unplanned = None  # bytes of the original's step, as far as its shapes tell; 0: they tell nothing
        self.comparison = 0  # bytes of a step in which the plan is compared with the original
        self.from_shapes = False  # so the plan was made
        self.no_plan_from_shapes = False  # it was tried
        self.too_large = False  # a step that was recorded did not fit on the device
        self.used = ()  # of a plan from shapes, see Recorded
        self.endings = {}  # by what becomes of the gradients: plans that take them themselves (updates.py)
        self.sums_within = False  # the module uses some parameter several times
        self.direct = False  # there are such plans alone; `plan` is the one with updates
        self.base_plan = None  # then: the step without its end, which is not solved
        self.shared = None  # a plan that all processes of the training are to use, while it is being made

    def held_by_open(self):
        """Of recorded and compared steps whose backward has not run: the bytes that each keeps for it."""
        recordings = [pending.recording for pending in self.pending if isinstance(pending, Recorded)]
        comparisons = [pending.comparison for pending in self.pending if isinstance(pending, Compared)]
        held = [recording.held() for recording in recordings if recording.state() == "open"]
        return held + [comparison.held() for comparison in comparisons if comparison.verdict() == "open"]

    def packing(self, module) -> Packing:
        places = places_of(module)
        kept = [(places[id(values)], name) for values, name in self.kept]
        return Packing(self.template, self.sources, self.sums, kept, self.endings["update"].text if self.direct else "")

    def unpack(self, packing, module) -> None:
        """Raises what pickle raises for classes that are not there, and AttributeError for submodules."""
        self.template = structure.of_module(packing.template, module)
        self.sources, self.sums = packing.sources, packing.sums
        self.kept = tuple((dictionary_at(module, place), name) for place, name in packing.kept)


class Recorded:
    def __init__(self, recording, watch, template, sources, kept, shares_casts, beside=0, used=()):
        self.recording = recording
        self.watch = watch
        self.template = template
        self.sources = sources
        self.kept = kept
        self.shares_casts = shares_casts  # with other forwards in the same region of autocast
        self.used = used  # from shapes: per output tensor, whether the loss was taken to depend on it
        self.beside = beside  # bytes that are neither the step's nor held by other open steps of its kind


class Compared:
    def __init__(self, comparison, why):
        self.comparison = comparison
        self.why = why


class Open(typing.NamedTuple):
    """A planned forward whose backward may come: what its original is called with, should it have to run."""

    applied: object
    args: tuple
    kwargs: dict
    inputs: list
    entry: Entry
    plan: object
