"""Programs whose forward changes objects outside the module's parameters and buffers: arguments, attributes,
globals, defaults, classes. Each program is a class of modules; `PROGRAMS` contains all of them.

`batch(step)` makes the arguments of a step. `seen(args)` describes the objects that the forward could change.
"""

import collections
import contextvars
import dataclasses
import io
import itertools
import queue
import random
import threading
import types
import typing

import numpy
import torch
from torch import nn
from torch.nn import functional

ROWS, WIDTH = 256, 64
PROGRAMS = {}
BUDGET = 2_200_000  # a budget in bytes that is too small for a step without a plan


def rows(number, **how):
    return torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(number), **how)


class Program(nn.Module):
    state = "refused"  # the expected final state in `status`; None: any state

    def __init_subclass__(cls):
        PROGRAMS[cls.__name__] = cls

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
            for _ in range(6)
        )

    def body(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x

    def loss(self, x, y):
        return functional.mse_loss(self.body(x), y)

    def batch(self, step):
        return ({"x": rows(step), "y": rows(step + 100)},)

    def seen(self, args):
        return described(args)


def described(value, depth=0):
    """Returns a text for the value. Values that differ in any bit or in their structure have different
    texts."""
    if depth > 9:
        return "..."
    if isinstance(value, torch.Tensor):
        return f"{tuple(value.shape)} {value.double().sum().item().hex()}"
    if isinstance(value, (dict, collections.UserDict)):
        items = ", ".join(f"{key}: {described(item, depth + 1)}" for key, item in value.items())
        return f"{type(value).__name__} {items} {described_attributes(value, depth)}"
    if isinstance(value, (list, tuple, collections.deque)):
        return f"{type(value).__name__} [{', '.join(described(item, depth + 1) for item in value)}]"
    if isinstance(value, (set, frozenset)):
        return f"{type(value).__name__} {sorted(described(item, depth + 1) for item in value)}"
    if isinstance(value, (int, float, str, type(None), numpy.ndarray)):
        return repr(value)
    if isinstance(value, random.Random):
        return str(value.getstate())
    return f"{type(value).__name__} {described_attributes(value, depth)}"


def described_attributes(value, depth):
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    values = dict(getattr(value, "__dict__", {})) | {n: getattr(value, n) for n in slots if hasattr(value, n)}
    return [(name, described(item, depth + 1)) for name, item in values.items()]


# Containers among the arguments.


class Scales(Program):
    def forward(self, batch):
        batch["x"] = batch["x"] * 0.5
        return self.loss(batch["x"], batch["y"])


class Pops(Program):
    def forward(self, batch):
        y = batch.pop("y")
        return self.loss(batch["x"], y)


class ScalesInPlace(Program):
    def forward(self, batch):
        batch["x"].mul_(0.5)
        return self.loss(batch["x"], batch["y"])


class TakesFromList(Program):
    def batch(self, step):
        return ([rows(step), rows(step + 100)],)

    def forward(self, items):
        y = items.pop()
        items.append(len(items))
        return self.loss(items[0], y)


class TakesFromDeque(TakesFromList):
    def batch(self, step):
        return (collections.deque(super().batch(step)[0]),)


class Nested(Program):
    def batch(self, step):
        return ({"in": [{"x": rows(step)}], "out": ({"y": rows(step + 100)}, [1, 2])},)

    def forward(self, batch):
        batch["in"][0]["x"] = batch["in"][0]["x"] + 1
        batch["out"][1].append(3)
        return self.loss(batch["in"][0]["x"], batch["out"][0].pop("y"))


class Pair(typing.NamedTuple):
    x: torch.Tensor
    rest: list


class NamedTuple(Program):
    def batch(self, step):
        return (Pair(rows(step), [rows(step + 100), "label"]),)

    def forward(self, pair):
        pair.rest.reverse()
        return self.loss(pair.x, pair.rest[1])


@dataclasses.dataclass
class Sample:
    x: torch.Tensor
    y: torch.Tensor
    notes: dict = dataclasses.field(default_factory=dict)


class DataClass(Program):
    def batch(self, step):
        return (Sample(rows(step), rows(step + 100)),)

    def forward(self, sample):
        sample.x = sample.x - sample.x.mean()
        sample.notes["mean"] = "gone"
        return self.loss(sample.x, sample.y)


@dataclasses.dataclass(frozen=True)
class FrozenSample:
    x: torch.Tensor
    more: dict


class FrozenDataClass(Program):
    def batch(self, step):
        return (FrozenSample(rows(step), {"y": rows(step + 100)}),)

    def forward(self, sample):
        return self.loss(sample.x, sample.more.pop("y"))


class Output(collections.OrderedDict):
    """A dictionary whose entries are also attributes, as in the outputs of transformers."""

    def __init__(self, **entries):
        super().__init__(entries)
        self.__dict__.update(entries)

    def __setattr__(self, name, value):
        super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __reduce__(self):
        return rebuilt, (type(self), dict(self))


def rebuilt(kind, entries):
    return kind(**entries)


class ModelOutput(Program):
    def batch(self, step):
        return (Output(x=rows(step), y=rows(step + 100)),)

    def forward(self, output):
        output.x = output.x * 2
        return self.loss(output["x"], output.y)


class Encoding(collections.UserDict):
    pass


class UserDict(Program):
    def batch(self, step):
        return (Encoding(x=rows(step), y=rows(step + 100)),)

    def forward(self, batch):
        batch["x"] = batch["x"].abs()
        return self.loss(batch["x"], batch.pop("y"))


class Graph:
    calls = 0

    def __init__(self, step):
        self.x, self.y = rows(step), rows(step + 100)


class OwnClass(Program):
    def batch(self, step):
        return (Graph(step),)

    def forward(self, graph):
        graph.calls += 1
        graph.x = graph.x * graph.calls + 1
        return self.loss(graph.x, graph.y)


class Slots:
    __slots__ = ("x", "y")


class OwnClassWithSlots(Program):
    def batch(self, step):
        made = Slots()
        made.x, made.y = rows(step), rows(step + 100)
        return (made,)

    def forward(self, slots):
        slots.x = slots.x.neg()
        y, slots.y = slots.y, None
        return self.loss(slots.x, y)


class SetOfNames(Program):
    def batch(self, step):
        return (rows(step), rows(step + 100), {"double", "plain"})

    def forward(self, x, y, names):
        return self.loss(x * 2 if names.pop() else x, y)


class SharedWithModule(Program):
    """The caller's dictionary is also an attribute of the module. Because the forward changes it, each call
    is of a different kind."""

    state = None

    def __init__(self):
        super().__init__()
        self.options = {"scale": 1.0}

    def batch(self, step):
        return (rows(step), rows(step + 100), self.options)

    def forward(self, x, y, options):
        self.options["scale"] += 0.25
        return self.loss(x * options["scale"], y)


class ReturnsItsBatch(Program):
    def forward(self, batch):
        batch["loss"] = self.loss(batch["x"], batch["y"])
        return batch


class Fills(Program):
    """Changes an argument only if the argument lacks an entry, which is the case only in the first step."""

    state = "planned"

    def __init__(self):
        super().__init__()
        self.given = None

    def batch(self, step):
        if self.given is None:
            self.__dict__["given"] = {"x": rows(1), "y": rows(2)}
        return (self.given,)

    def forward(self, batch):
        batch.setdefault("scale", 0.5)
        return self.loss(batch["x"] * batch["scale"], batch["y"])


# Containers of tensors that need gradients. The plan detaches the tensors from the caller's autograd graph.


class Features(Program):
    def batch(self, step):
        return ([rows(step, requires_grad=True) * 2, rows(step + 100, requires_grad=True).tanh()],)

    def forward(self, features):
        features.reverse()
        return self.loss(features[0], features[1])

    def seen(self, args):
        return described(args) + str([feature.grad_fn.name() for feature in args[0]])


class FeaturesTaken(Program):
    def batch(self, step):
        return (
            {"x": (rows(step, requires_grad=True),), "more": Sample(rows(step, requires_grad=True), None)},
        )

    def forward(self, batch):
        x = batch.pop("x")
        batch["kept"] = [x]
        batch["more"].y = x[0]
        return self.loss(x[0], batch["more"].x)

    def seen(self, args):
        (x,) = args[0]["kept"][0]
        assert args[0]["more"].y is x
        return described(args) + described(x.grad) + described(args[0]["more"].x.grad)


class FeaturesKept(Program):
    """Changes nothing, and returns the containers among its arguments."""

    state = "planned"

    def batch(self, step):
        return ({"x": Pair(rows(step, requires_grad=True) * 2, [rows(step + 100)])},)

    def forward(self, batch):
        return self.loss(batch["x"].x, batch["x"].rest[0])


class InASet(Program):
    """The tensors that need gradients are in a set. A set has no order, so they cannot be replaced by
    position."""

    def batch(self, step):
        return (frozenset([rows(step, requires_grad=True)]), rows(step + 100))

    def forward(self, xs, y):
        return self.loss(next(iter(xs)), y)


# Objects that cannot be copied.


class FromGenerator(Program):
    def batch(self, step):
        return ((rows(number) for number in (step, step + 100)),)

    def forward(self, items):
        return self.loss(next(items), next(items))


class FromIterator(Program):
    def batch(self, step):
        return (iter([rows(step), rows(step + 100), rows(step + 200)]),)

    def forward(self, items):
        return self.loss(next(items), next(items))

    def seen(self, args):
        return described(list(args[0]))


SCALES = iter([0.5 + 0.1 * number for number in range(100)])
COUNTER = itertools.count(1)


class GlobalIterator(Program):
    def forward(self, batch):
        return self.loss(batch["x"] * next(SCALES), batch["y"])


class GlobalCounter(Program):
    def forward(self, batch):
        return self.loss(batch["x"] * next(COUNTER), batch["y"])


# Attributes of the module.


class CountsItsCalls(Program):
    def __init__(self):
        super().__init__()
        self.n = 0

    def forward(self, batch):
        self.n += 1
        return self.loss(batch["x"] * self.n, batch["y"])

    def seen(self, args):
        return described(args) + str(self.n)


class Caches(Program):
    def __init__(self):
        super().__init__()
        self.cache = {}

    def forward(self, batch):
        self.cache["shape"] = self.cache.get("shape", 0) + len(batch["x"])
        self.layers[0].last = list(self.cache)
        return self.loss(batch["x"] / self.cache["shape"], batch["y"])

    def seen(self, args):
        return described(args) + str(self.cache) + str(self.layers[0].last)


class OwnArrayAndDice(Program):
    def __init__(self):
        super().__init__()
        self.table, self.dice, self.total = numpy.ones(3), random.Random(5), torch.zeros(1)

    def forward(self, batch):
        self.table[1] += self.dice.random()
        self.total.add_(1)
        return self.loss(batch["x"] * float(self.table[1]) + self.total, batch["y"])

    def seen(self, args):
        return described(args) + described(self.table) + described(self.total) + str(self.dice.getstate())


class CountsInItsClass(Program):
    calls = 0

    def forward(self, batch):
        CountsInItsClass.calls += 1
        CountsInItsClass.last = "set"
        return self.loss(batch["x"] * self.calls, batch["y"])

    def seen(self, args):
        return described(args) + str(self.calls) + str(getattr(type(self), "last", None))


# Globals, and objects that functions hold.

NUMBER = 0
HISTORY = []
LONG_HISTORY = list(range(300))
TABLE = numpy.ones(3)
SETTINGS = types.ModuleType("settings")
SETTINGS.scale = 1.0
DICE = random.Random(3)
LEVEL = contextvars.ContextVar("level")
LEVEL.set(1)
PLAIN = object()


TOTAL = torch.zeros(1)
ON_THREAD = threading.local()
ON_THREAD.calls = 0
LETTERS = queue.SimpleQueue()
FILE = io.StringIO()
RECENT = collections.deque(maxlen=3)


class Registry:
    entries: typing.ClassVar[list] = []
    last = None


class GlobalNumber(Program):
    def forward(self, batch):
        global NUMBER, FIRST_SET
        NUMBER += 1
        FIRST_SET = NUMBER
        return self.loss(batch["x"] * NUMBER, batch["y"])

    def seen(self, args):
        return f"{described(args)} {NUMBER} {FIRST_SET}"


class GlobalList(Program):
    def forward(self, batch):
        HISTORY.append(len(batch["x"]))
        return self.loss(batch["x"] * len(HISTORY), batch["y"])

    def seen(self, args):
        return described(args) + str(HISTORY)


class LongGlobalList(Program):
    state = None

    def forward(self, batch):
        LONG_HISTORY.append(1)
        return self.loss(batch["x"], batch["y"])

    def seen(self, args):
        return described(args)  # the list is not watched, so no plan repeats its changes


class GlobalArray(Program):
    def forward(self, batch):
        TABLE[1] += 0.5
        return self.loss(batch["x"] * float(TABLE[1]), batch["y"])

    def seen(self, args):
        return described(args) + described(TABLE)


class GlobalSettings(Program):
    def forward(self, batch):
        SETTINGS.scale += 0.5
        return self.loss(batch["x"] * SETTINGS.scale, batch["y"])

    def seen(self, args):
        return described(args) + str(SETTINGS.scale)


class GlobalDice(Program):
    def forward(self, batch):
        return self.loss(batch["x"] * DICE.random(), batch["y"])


class GlobalVariableOfContext(Program):
    def forward(self, batch):
        LEVEL.set(LEVEL.get() + 1)
        return self.loss(batch["x"] * LEVEL.get(), batch["y"])

    def seen(self, args):
        return described(args) + str(LEVEL.get())


class GlobalRegistry(Program):
    def forward(self, batch):
        Registry.entries.append("call")
        Registry.last = len(Registry.entries)
        return self.loss(batch["x"] * Registry.last, batch["y"])

    def seen(self, args):
        return f"{described(args)} {Registry.entries} {Registry.last}"


class GlobalTensor(Program):
    def forward(self, batch):
        TOTAL.add_(1)
        return self.loss(batch["x"] * TOTAL, batch["y"])

    def seen(self, args):
        return described(args) + described(TOTAL)


class GlobalDeque(Program):
    def forward(self, batch):
        RECENT.append(len(RECENT) + 1)
        return self.loss(batch["x"] * sum(RECENT), batch["y"])

    def seen(self, args):
        return described(args) + described(RECENT)


class OfTheThread(Program):
    def forward(self, batch):
        ON_THREAD.calls += 1
        return self.loss(batch["x"] * ON_THREAD.calls, batch["y"])

    def seen(self, args):
        return described(args) + str(ON_THREAD.calls)


class SendsLetters(Program):
    state = None  # any final state is right, because the package cannot see the contents of the queue

    def forward(self, batch):
        LETTERS.put(len(batch["x"]))
        return self.loss(batch["x"], batch["y"])

    def seen(self, args):
        return described(args)


class WritesAFile(SendsLetters):
    def forward(self, batch):
        FILE.write("a call\n")
        return self.loss(batch["x"], batch["y"])


class MutableDefault(Program):
    def forward(self, batch, calls=[], *, more={}):  # noqa: B006
        calls.append(1)
        more["calls"] = len(calls)
        return self.loss(batch["x"] * len(calls), batch["y"])

    def seen(self, args):
        return described(args) + described(type(self).forward.__defaults__)


def scaled(x):
    scaled.calls += 1
    return x * scaled.calls


scaled.calls = 0


class AttributeOfFunction(Program):
    def forward(self, batch):
        return self.loss(scaled(batch["x"]), batch["y"])

    def seen(self, args):
        return described(args) + str(scaled.calls)


def counter():
    calls = 0

    def scaled(x):
        nonlocal calls
        calls += 1
        return x * calls

    return scaled


scaled_by_calls = counter()


class Closure(Program):
    def forward(self, batch):
        return self.loss(scaled_by_calls(batch["x"]), batch["y"])

    def seen(self, args):
        return described(args) + described([cell.cell_contents for cell in scaled_by_calls.__closure__])


class KnownByIdentity(Program):
    """Compares a value with a global by identity. A copy of the value would not be equal."""

    state = "planned"

    def __init__(self):
        super().__init__()
        self.kind = PLAIN
        self.options = {"kind": PLAIN}

    def forward(self, batch):
        x = batch["x"] if self.kind is PLAIN and self.options["kind"] is PLAIN else batch["x"].exp()
        return self.loss(x, batch["y"])
