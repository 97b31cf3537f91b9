"""Records a step that does not fit, without running it: on a copy of the module whose parameters hold no data.

The copy shares nothing with the module that a forward could change. Inputs are the real ones, and small tensors that come
from them alone are computed for real, so that programs which look at masks or lengths find their values. Generators are
put back.
"""

import contextlib
import copy
import random
import sys

import torch

from . import modes, structure
from .around import Before
from .entry import Recorded
from .errors import message
from .library import classes, ops
from .watch import Watch, dictionary_at, places_of

LARGEST_KEPT = 1 << 20  # bytes of a buffer that keeps its contents
MOST_STEPS = 5


class Unknown(Exception):
    """Why the step cannot be recorded from shapes."""


def record(module, args, kwargs, inputs, device, hooks, used=()) -> Recorded:
    """`used`: per output tensor, whether the loss depends on it; empty: a guess by `used_by_a_loss`. Raises Unknown."""
    try:
        with generators_put_back(device):
            return recorded(module, args, kwargs, inputs, device, hooks, used)
    except Unknown:
        raise
    except Exception as error:
        raise Unknown(message(error)) from error


def recorded(module, args, kwargs, inputs, device, hooks, used):
    """Of two recorded steps, which must be of one course; steps that set attributes for the first time come before them."""
    twin, known, first = copy_without_data(module), frozenset(), None
    for step in range(MOST_STEPS):
        if step > 0 and modes.shares_casts(device):
            renew_parameters(twin)  # the region of autocast keeps what it has cast the last ones to
        found, set_now = one_step(module, twin, args, kwargs, inputs, device, hooks, used, known)
        if set_now - known:
            known |= set_now
            continue
        if first is None:
            first = found
            continue
        why = found.recording.difference(first.recording)
        if why or (first.template, first.sources) != (found.template, found.sources):
            raise Unknown(why or "the module returns another structure in another step")
        return found
    raise Unknown("the forward sets other attributes in each step")


def one_step(module, twin, args, kwargs, inputs, device, hooks, used, known):
    """A recorded step of the twin, and what it has set: (place of the dictionary, name). `known`: what it sets in each step."""
    places = places_of(twin)
    apart = frozenset((id(dictionary_at(twin, place)), name) for place, name in known)
    watch = Watch(twin, apart)
    bound = watch.tensors()
    leaves = [tensor.detach().requires_grad_() if tensor.requires_grad else tensor for tensor in inputs]
    recording = classes.Recording(watch.names, bound, len(watch.parameters), leaves, device, "from shapes")
    before = Before(twin)
    shares_casts = modes.shares_casts(device)
    hooks.start(twin, recording)
    try:
        with modes.ValuesRead(recording):
            given = recording.begin()
            output = structure.call(twin.forward, args, kwargs, inputs, given)
        template, tensors = structure.flatten(output)
        set_now = frozenset((places[id(values)], name) for values, name in before.assigned())
        if set_now <= known:
            why = before.changed() or watch.changes(Watch(twin, apart))
            if why:
                raise Unknown(f"the forward changes what it depends on: {why}")
        kept, further = assigned(module, places, before.assigned(), tensors)
        sources = structure.sources(tensors + further, bound, given)
        recording.end(tensors + further)
        if recording.state() == "dropped":
            raise Unknown("another thread records a step")
        if not recording.refusal():
            with torch.autocast(device.partition(":")[0], enabled=False):  # the caller's backward comes after the region of its forward
                used = list(used) or used_by_a_loss(tensors) + [False] * len(further)
                recording.run_backward(used)
    except Exception as error:
        why = recording.refusal() or message(error)
        recording.abandon()
        raise Unknown(why) from error
    finally:
        hooks.stop(recording)
        watch.put_back()  # the program's own lists, which the copy shares, take no tensors without values
    if recording.refusal() and set_now <= known:
        raise Unknown(recording.refusal())
    return Recorded(recording, watch, template, sources, kept, shares_casts, used=tuple(used)), set_now


def copy_without_data(module):
    parameters = list(module.parameters())
    buffers = list(module.buffers())
    memo = {}
    for parameter, shape in zip(parameters, ops.shapes_like(parameters, 0)):
        memo[id(parameter)] = torch.nn.Parameter(shape, requires_grad=parameter.requires_grad)
    for buffer, twin in zip(buffers, ops.shapes_like(buffers, LARGEST_KEPT)):
        memo[id(buffer)] = twin
    try:
        return copy.deepcopy(module, memo)
    except Exception as error:
        raise Unknown(f"the module cannot be copied: {message(error)}") from error


def renew_parameters(twin):
    parameters = list(twin.parameters())
    shapes = ops.shapes_like(parameters, 0)
    renewed = {id(old): torch.nn.Parameter(shape, requires_grad=old.requires_grad) for old, shape in zip(parameters, shapes)}
    for submodule in twin.modules():
        for name, parameter in submodule._parameters.items():
            if parameter is not None:
                submodule._parameters[name] = renewed[id(parameter)]


def assigned(module, places, made, outputs):
    """What the forward of the twin has set: (dictionary of the module, name) of each, and the tensors."""
    made = [(values, name) for values, name in made if not any(values[name] is output for output in outputs)]
    return tuple((dictionary_at(module, places[id(values)]), name) for values, name in made), [values[name] for values, name in made]


def used_by_a_loss(outputs):
    """Single numbers where there are any: they are losses. Else all that have a history."""
    history = [output.requires_grad and output.grad_fn is not None for output in outputs]
    losses = [has and output.numel() == 1 for has, output in zip(history, outputs)]
    return losses if any(losses) else history


@contextlib.contextmanager
def generators_put_back(device):
    python, numpy = random.getstate(), sys.modules.get("numpy")
    of_numpy = numpy.random.get_state() if numpy else None
    try:
        with torch.random.fork_rng(devices=[device] if device != "cpu" else []):
            yield
    finally:
        random.setstate(python)
        if numpy:
            numpy.random.set_state(of_numpy)
