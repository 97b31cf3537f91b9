"""A module that trains by plans: the state that `apply` hangs on it.

Each key (structure, shapes and types of the arguments, settings of torch, state of the module) has an entry of its own:

    recording --two steps of one course--> planning --found--> comparing --identical--> planned
        |                                     |                    |
        +---------------------------------> refused <--------------+

Until an entry is planned its steps are the original's own; what is recorded or compared on the way trains as the
original does. A planned step runs the plan; where a value that the program reads is another one, the original.
"""

import ctypes
import gc
import json
import logging
import sys
import threading
import warnings

import torch
from torch.nn.modules import module as nn_module

from . import modes, structure
from .errors import Infeasible, Refused, RefusedWarning
from .library import classes, ops
from .watch import Watch

log = logging.getLogger("rematlas")
MOST_ATTEMPTS = 4  # steps that are recorded for one key before it is refused


class Entry:
    """What is known of one key."""

    def __init__(self, number, inputs):
        self.number = number
        self.inputs = inputs  # in words
        self.state = "recording"
        self.attempts = 0
        self.first = None  # a recording that is complete
        self.pending = None  # a Recorded or a Compared whose backward has not run
        self.plan = None
        self.compared = 0
        self.reason = ""
        self.template = None  # of the outputs
        self.sources = None  # per output tensor: ("input", i), ("tensor", i) or ("plan", place)
        self.budget = None
        self.beside = 0
        self.answer = {}
        self.at_most = False


class Recorded:
    def __init__(self, recording, watch, template, sources):
        self.recording = recording
        self.watch = watch
        self.template = template
        self.sources = sources


class Applied:
    def __init__(self, module, budget, *, solver, config, time_limit, plan, shapes, frames, on_refuse, verify):
        self.module = module
        self.budget = budget
        self.solver = solver
        self.config = config
        self.time_limit = time_limit or 0.0
        self.shapes = shapes
        self.frames = frames
        self.on_refuse = on_refuse
        self.verify = verify
        self.given_plan = plan
        self.entries = {}
        self.replayed = 0
        self.original = 0
        self.said = set()
        self.watch = None
        self.known = {}  # fingerprints to numbers, for short keys
        self.lock = threading.RLock()
        self.forwarding = False
        self.frames_open = {}  # calls whose original may have to run, by frame
        self.several = False  # several forwards have been open at a time
        self.hooks = PathHooks()

    # The way of a call. nn.Module.__call__ comes here.

    def __call__(self, *args, **kwargs):
        module = self.module
        if not (
            module._backward_hooks
            or module._backward_pre_hooks
            or module._forward_hooks
            or module._forward_pre_hooks
            or nn_module._global_backward_pre_hooks
            or nn_module._global_backward_hooks
            or nn_module._global_forward_hooks
            or nn_module._global_forward_pre_hooks
        ):
            return self.forward(*args, **kwargs)
        # The module's hooks run as ever, around a forward that is ours: so parameters are what hooks made of them.
        with self.lock:
            own = module.__dict__
            had = own.get("forward")
            once = []

            def restore():
                if once:
                    return
                once.append(True)
                if had is None:
                    own.pop("forward", None)
                else:
                    own["forward"] = had

            def forward(*args, **kwargs):
                restore()
                return self.forward(*args, **kwargs)

            own["forward"] = forward
            try:
                return module._call_impl(*args, **kwargs)
            finally:
                restore()

    def forward(self, *args, **kwargs):
        module = self.module
        if not module.training or not torch.is_grad_enabled() or self.forwarding or modes.leaves_alone():
            return module.forward(*args, **kwargs)
        return self.train_step(args, kwargs)

    def run_original(self, args, kwargs):
        self.original += 1
        return self.module.forward(*args, **kwargs)

    def train_step(self, args, kwargs):
        if self.watch is None or not self.watch.unchanged():
            self.look_again()
        try:
            template, inputs = structure.flatten_call(args, kwargs)
        except Exception as error:
            self.say(f"an argument cannot be described: {error}")
            return self.run_original(args, kwargs)
        device = self.device()
        why = unfit(inputs, device)
        if why:
            self.say(why)
            return self.run_original(args, kwargs)
        key = (template, geometry(inputs), modes.current(device), self.watch.number)
        entry = self.entries.get(key)
        if entry is None:
            entry = self.add_entry(key, inputs)
            if entry is None:
                return self.run_original(args, kwargs)
        if self.given_plan is not None and entry.plan is None and entry.state == "recording":
            self.take_given_plan(entry, inputs)
        self.settle(entry)
        if entry.state == "planned":
            return self.replay(entry, args, kwargs, inputs)
        if entry.state == "recording":
            return self.record(entry, args, kwargs, inputs, device, template)
        if entry.state == "comparing":
            return self.compare(entry, args, kwargs, inputs)
        return self.run_original(args, kwargs)

    # Keys.

    def device(self):
        for parameter in self.module.parameters():
            return parameter.device.type
        return "cpu"

    def look_again(self):
        watch = Watch(self.module)
        number = self.known.setdefault(watch.fingerprint, len(self.known))
        watch.number = number
        if self.watch is not None and number == len(self.known) - 1:
            changed = self.watch.changes(watch)
            if changed:
                log.info("rematlas: the model has changed (%s) and is planned anew", changed)
        self.watch = watch

    def add_entry(self, key, inputs):
        usable = [entry for entry in self.entries.values() if entry.state != "refused"]
        if len(usable) >= self.shapes:
            self.say(f"more than {self.shapes} kinds of calls (shapes, settings): further ones run the original", refuse=False)
            return None
        entry = Entry(len(self.entries), [describe(tensor) for tensor in inputs])
        self.entries[key] = entry
        return entry

    def say(self, why, refuse=True):
        if why in self.said:
            return
        self.said.add(why)
        if refuse and self.on_refuse == "raise":
            raise Refused(f"rematlas: {why}")
        warnings.warn(f"rematlas: {why}; training goes on with the original", RefusedWarning, stacklevel=6)

    # Recording.

    def record(self, entry, args, kwargs, inputs, device, called):
        if self.any_pending(entry):
            return self.run_original(args, kwargs)
        watch = self.watch
        recording = classes.Recording(watch.names, watch.tensors(), len(watch.parameters), inputs, device, entry.attempts == 0)
        randomness = modes.Randomness()
        autocast = torch.is_autocast_enabled(device)
        if autocast:
            torch.clear_autocast_cache()
        self.original += 1
        entry.attempts += 1
        self.forwarding = True
        self.hooks.start(self.module, recording)
        recording.begin()
        try:
            with modes.ValuesRead(recording):
                output = self.module.forward(*args, **kwargs)
        except BaseException:
            recording.abandon()
            self.hooks.stop()
            entry.attempts -= 1
            raise
        finally:
            self.forwarding = False
            if autocast:
                torch.clear_autocast_cache()
        entry.pending = self.end_recording(recording, output, watch, randomness, args, kwargs, inputs, called)
        return output

    def end_recording(self, recording, output, watch, randomness, args, kwargs, inputs, called):
        template, sources, outputs = None, None, []
        try:
            template, outputs = structure.flatten(output)
        except Exception as error:
            recording.refuse(f"the module returns what cannot be described: {error}")
            outputs = tensors_in(output)
        recording.end(outputs)
        moved = randomness.moved()
        if moved:
            recording.refuse(f"the program draws from {moved}'s random numbers")
        try:
            if structure.flatten_call(args, kwargs)[0] != called:
                recording.refuse("the forward changes its arguments")
        except Exception:
            pass
        if not watch.unchanged():
            changed = watch.changes(Watch(self.module))
            if changed:
                recording.refuse(f"the forward changes the module: {changed}")
            else:
                self.watch = None
        named = {id(tensor): place for place, tensor in enumerate(watch.tensors())}
        given = {id(tensor): place for place, tensor in enumerate(inputs)}
        sources = [
            ("input", given[id(t)]) if id(t) in given else ("tensor", named[id(t)]) if id(t) in named else ("plan", place)
            for place, t in enumerate(outputs)
        ]
        return Recorded(recording, watch, template, sources)

    def any_pending(self, entry):
        """A step that is being recorded or compared has not had its backward, and another forward begins."""
        found = False
        for other in self.entries.values():
            pending = other.pending
            if isinstance(pending, Recorded) and pending.recording.state() == "open":
                self.several = True
                found = True
                if pending.recording.sums_gradients():
                    pending.recording.uncut()
            elif isinstance(pending, Compared) and pending.comparison.verdict() == "open":
                found = True
        return found

    # Between the steps.

    def settle(self, entry):
        """Takes note of what has happened since the last call."""
        if isinstance(entry.pending, Recorded):
            self.settle_recording(entry)
        elif isinstance(entry.pending, Compared):
            self.settle_comparison(entry)
        if entry.state == "planning" and not entry.plan.busy():
            self.settle_planning(entry)

    def settle_recording(self, entry):
        pending = entry.pending
        state = pending.recording.state()
        if state == "open":
            return
        entry.pending = None
        self.hooks.stop()
        if state == "recorded" and pending.recording.survivors():
            gc.collect()
            alive = pending.recording.survivors()
            if alive:
                pending.recording.refuse(f"a tensor of the step is kept after it: {alive[0]}")
                state = "refused"
        if state == "refused":
            entry.first = None
            entry.reason = pending.recording.refusal()
            if entry.attempts >= MOST_ATTEMPTS:
                self.refuse(entry, entry.reason)
            return
        first, entry.first = entry.first, pending
        if first is None:
            return
        if first.template != pending.template or first.sources != pending.sources:
            entry.reason = "the module returns another structure, or other values that are no tensors, in the next step"
        else:
            entry.reason = pending.recording.difference(first.recording)
            if not entry.reason:
                self.begin_planning(entry, first, pending)
                return
        if entry.attempts >= MOST_ATTEMPTS:
            self.refuse(entry, entry.reason)

    def refuse(self, entry, why, error=None):
        entry.state = "refused"
        entry.reason = why
        entry.first = entry.pending = entry.plan = None
        log.warning("rematlas: %s", why)
        if self.on_refuse == "raise":
            raise error or Refused(f"rematlas: {why}")
        self.say(why)

    # Planning.

    def begin_planning(self, entry, first, second):
        if self.several and second.recording.sums_gradients():
            self.refuse(entry, "several forwards are open at a time, and gradients of one are sums: they would be summed in another order")
            return
        try:
            entry.plan = classes.Plan(first.recording, second.recording, type(self.module).__name__)
        except RuntimeError as error:
            self.refuse(entry, message(error))
            return
        entry.sums = second.recording.sums_gradients()
        entry.template, entry.sources = second.template, second.sources
        entry.beside = second.recording.beside()
        entry.names = second.watch.names
        entry.first = None
        self.start_planning(entry)

    def start_planning(self, entry):
        entry.state = "planning"
        entry.budget = str(self.budget)
        options = json.dumps(self.config) if self.config else ""
        try:
            entry.plan.start(entry.budget, self.solver, options, float(self.time_limit), self.frames, entry.beside)
        except RuntimeError as error:
            self.refuse(entry, message(error))

    def settle_planning(self, entry):
        entry.answer = json.loads(entry.plan.answer())
        if "error" in entry.answer:
            self.refuse(entry, entry.answer["error"])
            return
        if "infeasible" in entry.answer:
            found = entry.answer["infeasible"]
            budget = entry.answer["step_budget_bytes"]
            why = infeasible_text(self.solver, budget, found)
            self.refuse(entry, why, Infeasible(f"rematlas: {why}", found["needed_bytes"], found["proven"], found["smallest_found_bytes"]))
            return
        watch = self.watch or Watch(self.module)
        try:
            entry.plan.bind(watch.names, watch.tensors(), len(watch.parameters), type(self.module).__name__)
        except RuntimeError as error:
            self.refuse(entry, message(error))
            return
        entry.state = "comparing" if entry.compared < self.verify else "planned"

    def take_given_plan(self, entry, inputs):
        path = self.given_plan
        entry.plan = path.compiled(self.device())
        entry.template, entry.sources, entry.sums = path.template, path.sources, path.sums
        entry.answer = json.loads(entry.plan.answer())
        entry.names = self.watch.names
        watch = self.watch
        entry.plan.bind(watch.names, watch.tensors(), len(watch.parameters), type(self.module).__name__)
        entry.state = "comparing" if entry.compared < self.verify else "planned"

    # Comparing.

    def compare(self, entry, args, kwargs, inputs):
        if self.any_pending(entry):
            return self.run_original(args, kwargs)
        comparison = classes.Comparison(entry.plan, self.watch.tensors(), inputs)
        randomness = modes.Randomness()
        comparison.begin()
        self.original += 1
        self.forwarding = True
        try:
            output = self.module.forward(*args, **kwargs)
        except BaseException:
            comparison.abandon()
            raise
        finally:
            self.forwarding = False
        why = ""
        try:
            template, outputs = structure.flatten(output)
            if template != entry.template:
                why = "the module returns another structure, or other values that are no tensors, in another step"
        except Exception as error:
            outputs, why = tensors_in(output), str(error)
        if not why and randomness.moved():
            why = f"the program draws from {randomness.moved()}'s random numbers"
        if not why and not self.watch.unchanged():
            why = self.watch.changes(Watch(self.module))
            why = why and f"the forward changes the module: {why}"
        comparison.end(outputs)
        entry.pending = Compared(comparison, why)
        return output

    def settle_comparison(self, entry):
        pending = entry.pending
        verdict = pending.comparison.verdict()
        if verdict == "open":
            return
        entry.pending = None
        why = pending.why or (verdict == "different" and pending.comparison.why())
        if why:
            self.refuse(entry, f"the plan was compared with the original, and {why}")
            return
        if verdict == "other course":
            entry.other_courses = getattr(entry, "other_courses", 0) + 1
            if entry.other_courses > 6:
                self.refuse(entry, f"the step takes another course than the recorded one each time: {pending.comparison.why()}")
            return
        entry.compared += 1
        peak = pending.comparison.measured_peak()
        entry.measured = max(getattr(entry, "measured", 0), peak)
        if peak > entry.answer["peak_bytes"]:
            self.refuse(entry, f"the plan was compared with the original, and takes {peak} bytes, {entry.answer['peak_bytes']} planned")
            return
        entry.at_most = peak < entry.answer["peak_bytes"]
        if entry.compared >= self.verify:
            entry.state = "planned"

    # Replaying.

    def replay(self, entry, args, kwargs, inputs):
        plan = entry.plan
        tensors = self.watch.tensors()
        if entry.sums and plan.open():
            # Gradients of several open forwards would be summed in another order.
            plan.give_open_forwards_up()
            return self.run_original(args, kwargs)
        outputs, frame, why = plan.forward(tensors, inputs, True)
        if why:
            log.info("rematlas: %s; this step runs the original", why)
            return self.run_original(args, kwargs)
        self.frames_open[frame] = (args, kwargs)
        frames_of[frame] = self
        self.replayed += 1
        if entry.template == "tensor" and entry.sources[0][0] == "plan":
            return outputs[0]
        placed = [
            outputs[place] if source == "plan" else inputs[place] if source == "input" else tensors[place]
            for source, place in entry.sources
        ]
        return structure.rebuild(entry.template, placed)

    def original_of(self, frame):
        """The original's forward of a frame, with gradients, for a backward that the plan cannot run."""
        args, kwargs = self.frames_open[frame]
        self.forwarding = True
        try:
            return structure.flatten(self.module.forward(*args, **kwargs))[1]
        finally:
            self.forwarding = False


class Compared:
    def __init__(self, comparison, why):
        self.comparison = comparison
        self.why = why


class PathHooks:
    """Tells a recording which submodule's forward runs."""

    def __init__(self):
        self.handles = []

    def start(self, module, recording):
        self.stop()
        paths = {id(submodule): path for path, submodule in module.named_modules()}
        known = paths.__contains__

        def enter(submodule, args):
            if known(id(submodule)):
                recording.enter(paths[id(submodule)])

        def leave(submodule, args, output):
            if known(id(submodule)):
                recording.leave()

        self.handles = [
            nn_module.register_module_forward_pre_hook(enter),
            nn_module.register_module_forward_hook(leave, always_call=True),
        ]

    def stop(self):
        for handle in self.handles:
            handle.remove()
        self.handles = []


# The compiled part asks for originals and says when a frame is gone.

frames_of = {}


@ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int)
def on_frame(frame, what):
    applied = frames_of.get(frame)
    if what == 1:
        frames_of.pop(frame, None)
        if applied is not None:
            applied.frames_open.pop(frame, None)
        return
    try:
        ops.original_outputs(frame, applied.original_of(frame))
    except BaseException as error:
        ops.original_failed(frame, f"{type(error).__name__}: {error}")


ops.set_original(ctypes.cast(on_frame, ctypes.c_void_p).value)


def unfit(inputs, device) -> str:
    for place, tensor in enumerate(inputs):
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
            return f"input {place} is a {type(tensor).__name__}"
        if tensor.layout != torch.strided:
            return f"input {place} is sparse or opaque"
        if tensor.device.type != device:
            return f"input {place} is on {tensor.device}, the model on {device}"
        if tensor.is_inference():
            return f"input {place} was made in inference mode"
    return ""


def geometry(inputs):
    """Hashable: types, shapes, strides, needs of gradients, and which of the tensors share memory and how."""
    facts = [
        (t.dtype, t.shape, t.stride(), t.requires_grad, t.is_conj(), t.is_neg(), t.requires_grad and t.is_leaf) for t in inputs
    ]
    if len(inputs) > 1:
        storages = [t.untyped_storage()._cdata for t in inputs]
        if len(set(storages)) < len(storages):
            least = {}
            for t, storage in zip(inputs, storages):
                least[storage] = min(least.get(storage, 1 << 62), t.storage_offset() * t.element_size())
            numbers = {storage: number for number, storage in enumerate(dict.fromkeys(storages))}
            facts.append(tuple((numbers[s], t.storage_offset() * t.element_size() - least[s]) for t, s in zip(inputs, storages)))
    return tuple(facts)


def describe(tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}[{','.join(map(str, tensor.shape))}]"


def tensors_in(value, depth=0):
    """For outputs whose structure cannot be described: the tensors that are easily found."""
    if isinstance(value, torch.Tensor):
        return [value]
    if depth > 4:
        return []
    if isinstance(value, dict):
        value = list(value.values())
    elif not isinstance(value, (tuple, list)):
        value = list(vars(value).values()) if hasattr(value, "__dict__") else []
    return [tensor for item in value for tensor in tensors_in(item, depth + 1)]


def message(error) -> str:
    return str(error).splitlines()[0].removeprefix("rematlas: ")


def infeasible_text(solver, budget, found) -> str:
    if found["proven"]:
        return (
            f"infeasible: the step's share of the budget is {budget} bytes; every schedule needs at least "
            f"{found['needed_bytes']} bytes, {found['needed_bytes'] - budget} more"
        )
    smallest = f", its smallest is {found['smallest_found_bytes']} bytes" if found["smallest_found_bytes"] else ""
    reason = f" ({found['reason']})" if found["reason"] else ""
    return (
        f"infeasible: {solver} found no schedule within {budget} bytes{smallest}{reason}; none can need less than "
        f"{found['needed_bytes']} bytes"
    )
