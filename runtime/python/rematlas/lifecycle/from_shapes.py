"""Records a step that does not fit in memory, without computing it. The step runs on a copy of the module
whose parameters hold no data, and on copies of the containers among the arguments.

A forward could change objects that the copy shares with the module (globals, closures, classes). The state of
these objects and of random generators is restored afterwards. If some object can neither be copied nor
restored, no forward is tried. Tensors among the arguments are the real ones. Small tensors that are computed
only from the arguments get their real values, because programs may read masks or lengths.
"""

import copy

import torch

from ..calls import effects, modes, structure
from ..calls.assignments import dictionary_at, in_order, paths_of, places_of
from ..calls.kept_state import KeptState
from ..calls.kept_tensors import copied, form_of, is_kept
from ..calls.module_hooks import BeforeForward, is_compiled_function, within_compiled_parts
from ..calls.module_state import OTHER_CONTENTS
from ..calls.values_read import ValuesRead
from ..calls.watch import Watch
from ..compiled.observed_steps import RecordingKind, RecordingState, StepRecording
from ..compiled.turns import Busy, when_free
from ..errors import message
from ..fallback import evicting
from ..library import ops
from ..sharded import form as sharded_form
from ..sharded.parts import is_dtensor
from . import gate
from .observed import Recorded
from .step_plan import Kept, Returned

LARGEST_KEPT = 1 << 20  # bytes; copies of buffers up to this size keep their contents
MOST_STEPS = 6


class Unknown(Exception):
    """Raised with the reason why the step cannot be recorded from shapes."""


def record(module, call, hooks, used=(), card=None) -> Recorded:
    """Records a step of this call. `used`: for each output tensor, whether the loss depends on it; if `used`
    is empty, `used_by_a_loss` guesses this. `card`: the AbsentDevice on which the step is recorded, whose
    context must be open; if it is None, the step is recorded for the call's device. Raises Unknown."""
    if card is None and (within_compiled_parts(module) or has_compiled_functions(module)):
        raise Unknown("torch.compile has compiled parts of it, of which shapes do not tell what they make")
    kept = kept_state(module, call)
    try:
        with modes.generators_put_back("cpu" if card else call.device):
            recorded_as = card.recorded_as if card else call.device
            memo = dict(kept.shared)
            copied = copy_without_data(module, memo, recorded_as)
            twin = Twin(module, sharded_form.PlainForm(copied), call, hooks, used, memo, recorded_as)
            return twin.record(settles=card is not None)
    except Unknown:
        raise
    except Exception as error:
        raise Unknown(message(error)) from error
    finally:
        kept.put_back()


def kept_state(module, call) -> KeptState:
    """Returns the state that a step of a copy may change. Raises Unknown if it cannot be put back."""
    kept = KeptState(module, (call.args, call.kwargs))
    if kept.uncopyable:
        raise Unknown(f"the forward may use {kept.uncopyable[0]}, which cannot be copied or put back")
    return kept


def record_divided(module, memo, call, hooks, card) -> Recorded:
    """Records a step of a module that is divided among ranks. The module consists of shape tensors of the
    card, and may be changed. `memo`: the memo of copy.deepcopy with which the module was copied. The contexts
    of the card and of its ranks must be open. Raises Unknown."""
    try:
        with modes.generators_put_back("cpu"):
            form = sharded_form.form_of(module)
            if form.why_never:
                raise Unknown(form.why_never)
            if left_alone := form.left_alone():
                raise Unknown(f"it is a step {left_alone.how}: {left_alone.advice}")
            return Twin(module, form, call, hooks, (), memo, card.recorded_as).record(settles=True)
    except Unknown:
        raise
    except Exception as error:
        raise Unknown(message(error)) from error


def has_compiled_functions(module) -> bool:
    return any(map(is_compiled_function, Watch(module).walked))


class Twin:
    """Runs the step on a copy of the module. If the module itself may be changed, it serves as the copy.
    `form`: the form in which the step is recorded. `known`: the attributes that the forward sets in each
    step, as (place of the dictionary, name). `memo`: the memo of copy.deepcopy with which the copy was
    made."""

    def __init__(self, module, form, call, hooks, used, memo, recorded_as):
        self.module = module
        self.memo = memo
        self.recorded_as = recorded_as  # the device in the notation of the compiled part
        self.form = form
        self.twin = form.module
        self.call = call
        self.hooks = hooks
        self.used = used
        self.known = frozenset()
        self.reads_kept = False  # see Walk
        # attributes that the forward uses as counters or logs, in the form of `known`
        self.counted = frozenset()
        self.places = {}  # see `places_of`

    def record(self, settles=False) -> Recorded:
        """Records two steps, which must run the same ops, and returns the second one. Steps whose forward
        sets an attribute for the first time do not count. With `settles`, a first step that is refused does
        not count either."""
        first = None
        for step in range(MOST_STEPS):
            if step > 0 and modes.shares_casts(self.call.device):
                # The autocast region has cached the casts of the parameters. Only the casts of new parameters
                # run again in this step.
                renew_parameters(self.twin, self.recorded_as)
            try:
                found, set_now = when_free(self.step, evicting.in_force is not None)
            except Unknown:
                if step > 0 or not settles:
                    raise
                continue  # the first forward may do a setup that the second one does not repeat
            set_now, counted_now = set_now
            if set_now - self.known or counted_now - self.counted:
                self.known |= set_now
                self.counted |= counted_now
                continue
            if first is None:
                first = found
                continue
            why = found.recording.difference(first.recording)
            if self.known and OTHER_CONTENTS in why and not self.reads_kept:
                self.reads_kept, first = True, None
                continue
            if why or first.returned != found.returned:
                raise Unknown(why or "the module returns another structure in another step")
            self.check_what_is_kept()
            found.reads_kept = self.reads_kept
            return found
        raise Unknown("the forward sets other attributes in each step")

    def check_what_is_kept(self) -> None:
        known, counted = (
            frozenset((id(dictionary_at(self.module, place)), name) for place, name in places)
            for places in (self.known, self.counted)
        )
        of_module = Watch(self.module, known, self.reads_kept, counted)
        is_alike = self.look().names == of_module.names and all(map(self.is_of_one_form, self.known))
        if not is_alike:
            raise Unknown("the forward leaves tensors for the next one, and there are none yet")

    def is_of_one_form(self, place) -> bool:
        """Says whether the module and its twin have containers of the same form at this place. Also returns
        True if the module or the twin has no tensors at this place."""
        dictionary, name = place
        found = [dictionary_at(module, dictionary).get(name) for module in (self.module, self.twin)]
        return not all(map(is_kept, found)) or form_of(found[0]) == form_of(found[1])

    def step(self):
        """Runs a step on shapes. Returns the step as Recorded, and a pair of sets: the attributes that the
        forward has set, and the attributes that the forward has used as counters or logs."""
        self.places = places_of(self.twin)
        self.begin_as_the_module()
        call, watch = self.call, self.look()
        leaves = [
            tensor.detach().requires_grad_() if tensor.requires_grad else tensor for tensor in call.inputs
        ]
        recording = StepRecording(watch, leaves, self.recorded_as, RecordingKind.FROM_SHAPES)
        not_yet = []  # reasons why only a later step can be recorded
        forward = self.form.recorded_forward(watch, recording.bound, not_yet.append)
        before = BeforeForward(self.twin)
        copied = self.copy_of_call()
        self.hooks.start(self.twin, recording, watch.walked)
        try:
            log = effects.Log(None)
            aside = call.offloading.aside(self.twin, call.device)
            with ValuesRead(recording), log, aside:
                given = recording.begin()
                if recording.state() is RecordingState.DROPPED:
                    raise Busy
                output = self.form.parts_from_shapes(copied.run(forward, given))
            template, tensors = structure.flatten(output)
            tensors = copied.given_for(tensors, given)
            set_now = frozenset((self.places[id(values)], name) for values, name in before.assignments.made())
            counted_now = self.counted_by(before, watch)
            is_known = set_now <= self.known and counted_now <= self.counted
            if is_known:
                self.check_unchanged(before, watch, copied)
            kept, further = self.assigned(before.assignments.made(), tensors)
            made, counted = self.effects(before, log) if is_known else ((), effects.Kept(()))
            further += log.tensors
            sources = structure.sources(tensors + further, recording.bound, given)
            returned = Returned(template, sources, kept, made)
            found = Recorded(recording, returned, counted=counted)
            found.used = self.end(recording, tensors, further)
            # views among these variables hold the autograd graph, and with it the saved tensors
            del output, tensors, further, given
            if is_known and not recording.refusal():
                self.check_step(found)
        except Exception as error:
            is_busy = recording.state() is RecordingState.DROPPED
            why = recording.refusal() or message(error)
            recording.abandon()
            if is_busy:
                raise Busy from None
            raise Unknown(why) from error
        finally:
            self.hooks.stop(recording)
        if not_yet or (recording.refusal() and is_known):
            raise Unknown(recording.refusal() or not_yet[0])
        return found, (set_now, counted_now)

    def begin_as_the_module(self) -> None:
        """Copies from the module to the twin the values of attributes that the forward sets, if these values
        hold no tensors yet (for example None). The forward may look at these values."""
        for place, name in self.known:
            own = dictionary_at(self.module, place).get(name, self)
            if own is self or is_kept(own):
                continue
            if form_of(own) is None:
                raise Unknown(f"the forward replaces the {type(own).__name__} {name} of a module by a tensor")
            dictionary_at(self.twin, place)[name] = copied(own)

    def look(self) -> Watch:
        known, counted = self.places_in_twin(self.known), self.places_in_twin(self.counted)
        return Watch(self.twin, known, self.reads_kept, counted)

    def places_in_twin(self, places) -> frozenset:
        return frozenset((id(dictionary_at(self.twin, place)), name) for place, name in places)

    def counted_by(self, before, watch) -> frozenset:
        """Returns the attributes that the forward uses only as counters or logs."""
        changed = before.effects.changed()
        found = [
            (self.places[id(values)], name)
            for submodule, values, name in changed
            if effects.is_unread(self.twin, submodule, name, watch.walked)
        ]
        return self.counted | frozenset(found)

    def effects(self, before, log) -> tuple:
        """Returns the effects of the forward in two forms: as effects on the module, and as an effects.Kept
        of the twin."""
        known = self.places_in_twin(self.counted)
        made, why = before.effects.effects(known, log)
        if not why and not known.issuperset(log.places):
            why = "the forward reads numbers of tensors, and does more with them than to log them"
        if why:
            raise Unknown(why)
        places = [self.places[id(effect.values)] for effect in made]
        of_module = [e._replace(values=dictionary_at(self.module, at)) for e, at in zip(made, places)]
        return tuple(of_module), effects.Kept(made)

    def copy_of_call(self):
        try:
            return self.call.copied(self.memo)
        except Exception as error:
            raise Unknown(f"the arguments cannot be copied: {message(error)}") from error

    def check_unchanged(self, before, watch, copied) -> None:
        made = paths_of(self.twin, before.assignments.made())
        known = [(dictionary_at(self.twin, place), name) for place, name in self.known]
        why = gate.why_no_forward(copied, before, lambda: watch.changes(self.look(), made))
        why = why or before.assignments.why_not_anew(known)
        if why:
            raise Unknown(why)

    def check_step(self, found) -> None:
        why = gate.why_no_step(found)
        if why:
            raise Unknown(why)

    def assigned(self, made, outputs):
        """Returns the attributes that the forward has set, as Kept objects with the dictionaries of the
        module, and the tensors in these attributes."""
        kept, further, known = [], [], {id(output) for output in outputs}
        for values, name in in_order(self.twin, made):
            found, tensors = Kept.found(values, name)
            if any(id(tensor) in known for tensor in tensors):
                raise Unknown(f"the forward returns what it also keeps as {name}")
            kept.append(found._replace(values=dictionary_at(self.module, self.places[id(values)])))
            further += tensors
        return tuple(kept), further

    def end(self, recording, tensors, further) -> tuple:
        """Ends the forward and runs the backward. Returns for each output tensor whether the loss is assumed
        to depend on it."""
        recording.end(tensors + further)
        if recording.refusal():
            return tuple(self.used)
        used = list(self.used)
        if len(used) != len(tensors) + len(further):
            used = used_by_a_loss(tensors) + [False] * len(further)
        # The caller's backward runs outside of the autocast region of its forward.
        with torch.autocast(self.call.device.partition(":")[0], enabled=False):
            recording.run_backward(used)
        return tuple(used)


def copy_without_data(module, memo, device):
    """Copies the module. Its parameters, and buffers larger than LARGEST_KEPT, get no data. `memo`: the memo
    of copy.deepcopy, which may have copies of parameters already. `device`: the device of the copy, in the
    notation of the compiled part."""
    parameters = [parameter for parameter in module.parameters() if id(parameter) not in memo]
    buffers = list(module.buffers())
    for parameter, shape in zip(parameters, ops.shapes_like(parameters, 0, device)):
        memo[id(parameter)] = torch.nn.Parameter(shape, requires_grad=parameter.requires_grad)
    for buffer, twin in zip(buffers, ops.shapes_like(buffers, LARGEST_KEPT, device)):
        memo[id(buffer)] = twin
    try:
        return copy.deepcopy(module, memo)
    except Exception as error:
        raise Unknown(f"the module cannot be copied: {what_is_not_copied(module, memo, error)}") from error


def what_is_not_copied(module, memo, error) -> str:
    """Returns which attribute of a module could not be copied."""
    attributes = {
        f"{path}.{name}" if path else name: value
        for path, submodule in module.named_modules()
        for name, value in submodule.__dict__.items()
        if name not in ("_parameters", "_buffers", "_modules", "_compiled_call_impl")
    }
    for path, value in attributes.items():
        if isinstance(value, torch.Tensor) and not value.is_leaf:
            return f"its attribute {path} is a result of ops, with the history that gradients go back by"
    own = {id(submodule): submodule for submodule in module.modules()}
    for path, value in attributes.items():
        try:
            copy.deepcopy(value, {**memo, **own})
        except Exception as its_error:
            return f"its attribute {path}, of type {type(value).__name__}, cannot: {message(its_error)}"
    return message(error)


def renew_parameters(twin, device):
    parameters = [parameter for parameter in twin.parameters() if not is_dtensor(parameter)]
    shapes = ops.shapes_like(parameters, 0, device)
    renewed = {
        id(old): torch.nn.Parameter(shape, requires_grad=old.requires_grad)
        for old, shape in zip(parameters, shapes)
    }
    for submodule in twin.modules():
        for name, parameter in submodule._parameters.items():
            if parameter is not None:
                submodule._parameters[name] = renewed.get(id(parameter), parameter)


def used_by_a_loss(outputs):
    """Guesses which outputs a loss depends on. Returns a flag for each output. Outputs of one element that
    have an autograd history count as losses. If there are none, all outputs that have a history count."""
    history = [output.requires_grad and output.grad_fn is not None for output in outputs]
    losses = [has and output.numel() == 1 for has, output in zip(history, outputs)]
    return losses if any(losses) else history
