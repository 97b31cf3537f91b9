"""A module that trains by plans: the state that `apply` hangs on it.

Each key (structure, shapes and types of the arguments, settings of torch, state of the module) has an entry of its own:

    recording --two steps of one course--> planning --found--> comparing --identical--> planned
        |                                     |                    |                       |
        +---------------------------------> refused <--------------+                       |
        +----------the original's step does not fit: recorded from shapes, planned at once-+

Until an entry is planned its steps are the original's own; what is recorded or compared on the way trains as the
original does. A planned step runs the plan; where a value that the program reads is another one, the original.
"""

import atexit
import ctypes
import gc
import json
import logging
import threading
import warnings
import weakref

import torch
from torch._C._dynamo.eval_frame import set_eval_frame
from torch.nn.modules import module as nn_module

from . import from_shapes, modes, ranks, structure
from .around import Before, PathHooks
from .call_inputs import describe, geometry, unfit
from .entry import Compared, Entry, Open, Recorded
from .errors import Infeasible, Refused, RefusedWarning, Thrashing, caller_level, infeasible_text, message
from .library import classes, kept, ops
from .packing import Packing
from .unplanned import Unplanned
from .updates import Updates
from .watch import Watch

log = logging.getLogger("rematlas")
MOST_ATTEMPTS = 4  # steps that are recorded for one key before it is refused


class Applied:
    def __init__(self, module, budget, *, solver, config, time_limit, plan, shapes, frames, on_refuse, verify, arena, unplanned, optimizer, copies, accumulate, clip_norm, scaler):
        self.module = module
        self.budget = budget
        self.bytes = None if budget is None else ops.budget_bytes(str(budget))  # None: a share of the step
        self.unplanned = Unplanned(module, self.bytes, unplanned)
        self.solver = solver
        self.config = config
        self.time_limit = time_limit or 0.0
        self.shapes = shapes
        self.arena = arena
        self.frames = frames
        self.on_refuse = on_refuse
        self.verify = verify
        self.given_plan = plan
        self.entries = {}
        self.attempts = {}  # recorded steps without a plan, by base key
        self.reasons = {}
        self.failures = 0  # the same for all keys in a row
        self.refusal = ""  # of the module as a whole
        self.replayed = 0
        self.original = 0
        self.warned = False  # of a refusal
        self.said = set()  # in the log
        self.watch = None
        self.changed = ""  # what has changed last
        self.known = {}  # fingerprints to numbers, for short keys
        self.assigned = {}  # (id of dictionary, name) to (dictionary, name): what forward sets
        self.identities = None  # of parameters and buffers, and which of them are the same
        self.pattern = ()
        self.lock = threading.RLock()
        self.forwarding = False
        self.measures = False  # peaks of planned steps also on a GPU, where it resets what torch.cuda.max_memory_allocated tells
        self.several = False  # several forwards have been open at a time
        self.alone = []  # plans that move buffers on in their backward: no other forward may come before it
        self.hooks = PathHooks()
        self.copies = copies
        self.updates = Updates(module, optimizer, copies, accumulate, clip_norm, scaler) if optimizer is not None else None
        all_applied.add(self)

    # The way of a call. nn.Module.__call__ comes here.

    def __call__(self, *args, **kwargs):
        compiler = set_eval_frame(None)  # of a torch.compile around the module: what is here is not for it
        try:
            return self.with_hooks(*args, **kwargs)
        finally:
            set_eval_frame(compiler)

    __call__._torchdynamo_disable = True
    __call__._torchdynamo_disable_msg = "a module that trains by plans"

    def with_hooks(self, *args, **kwargs):
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
        for plan in self.alone:
            if plan.open():
                plan.give_open_forwards_up()
                self.several = True
        if not module.training or not torch.is_grad_enabled() or self.forwarding or modes.leaves_alone():
            return module.forward(*args, **kwargs)
        if self.updates is None:
            return self.train_step(args, kwargs)
        self.updates.before_forward()
        try:
            return self.train_step(args, kwargs)
        except BaseException:
            self.updates.note_no_forward()
            raise

    def note_original(self, why):
        """Of a step that the plan cannot run. A budget in bytes may not be kept by the original."""
        if self.bytes is None or why in self.said:
            log.info("rematlas: %s; this step runs the original", why)
        else:
            self.said.add(why)
            how = "under online eviction" if self.unplanned.evicts(None) else "which may go beyond the budget"
            log.warning("rematlas: %s; such steps run the original, %s", why, how)

    def run_original(self, args, kwargs, fits=None, to_a_plan=False):
        self.original += 1
        self.unplanned.begin(fits, to_a_plan)
        return self.module.forward(*args, **kwargs)

    def fits(self, entry, inputs, device):
        """Whether the original's step does, and its comparison with the plan; None: nobody knows."""
        if entry.too_large:
            return False
        if not entry.unplanned or self.bytes is None or self.watch is None:
            return None
        if self.unplanned.choice == "evict" and not entry.answer:
            return None  # shapes do not tell what the caller does beside a loss and its backward
        needed = max(entry.unplanned, entry.comparison) if entry.state == "comparing" else entry.unplanned
        return ops.beside(self.watch.tensors(), inputs, device) + needed <= self.bytes

    def train_step(self, args, kwargs):
        if self.refusal:
            return self.run_original(args, kwargs)
        if self.watch is None or not self.watch.unchanged():
            if any(map(torch.nn.parameter.is_lazy, self.module.parameters())):
                return self.run_original(args, kwargs)  # which makes the parameters
            self.look_again()
        try:
            template, inputs = structure.flatten_call(args, kwargs)
        except Exception as error:
            return self.refuse_all(f"an argument cannot be described: {error}", args, kwargs)
        device = self.device()
        why = unfit(inputs, device) or modes.unplannable(device)
        if why:
            return self.refuse_all(why, args, kwargs)
        base = (template, geometry(inputs), modes.current(device))
        key = (base, self.watch.number, self.tying())
        entry = self.entries.get(key)
        if entry is None:
            entry = self.add_entry(key, inputs)
            if entry is None:
                return self.run_original(args, kwargs)
        if self.given_plan is not None and entry.plan is None and entry.state == "recording":
            self.take_given_plan(entry)
            if self.watch is None:  # what its forward sets is part of what is watched from now on
                del self.entries[key]
                return self.train_step(args, kwargs)
        self.settle(entry)
        if self.bytes is not None and entry.state in ("recording", "planning", "comparing"):
            self.keep_budget(entry, args, kwargs, inputs, device)
            if self.watch is None:  # the forward sets attributes, and they are part of what is watched
                return self.train_step(args, kwargs)
        if entry.state == "planned":
            return self.replay(entry, args, kwargs, inputs)
        fits = self.fits(entry, inputs, device)
        if entry.state == "refused":  # what fitted was perhaps another course
            return self.run_original(args, kwargs, None if fits else fits)
        several = self.open_steps()
        if entry.too_large and entry.state == "recording":  # its backward was out of memory
            if self.plan_from_shapes(entry, args, kwargs, inputs, device):
                return self.train_step(args, kwargs)
            if entry.state == "recording":
                self.refuse(entry, "the step does not fit on the device, and cannot be planned from shapes")
            return self.run_original(args, kwargs, fits)
        if entry.state == "recording" and not several:
            return self.record(entry, args, kwargs, inputs, device, template, fits)
        if entry.state == "comparing" and not several:
            return self.compare(entry, args, kwargs, inputs, template, fits)
        return self.run_original(args, kwargs, fits, to_a_plan=True)

    # Keys.

    def note_assigned(self, kept):
        """What the forward sets is no change of the module. Returns the names that were not known."""
        new = [(values, name) for values, name in kept if (id(values), name) not in self.assigned]
        for values, name in new:
            self.assigned[id(values), name] = (values, name)
            self.watch = None
        return [name for _, name in new]

    def device(self):
        """With its index: "cpu", or "cuda:1"."""
        for parameter in self.module.parameters():
            return str(parameter.device)
        return "cpu"

    def in_arena(self):
        return self.device() == "cpu" if self.arena is None else self.arena

    def look_again(self):
        watch = Watch(self.module, frozenset(self.assigned))
        number = self.known.setdefault(watch.fingerprint, len(self.known))
        watch.number = number
        if self.watch is not None and number == len(self.known) - 1:
            self.changed = self.watch.changes(watch)
            log.info("rematlas: the model has changed (%s) and is planned anew", self.changed)
        self.watch = watch
        self.identities = None

    def tying(self):
        """Which parameters and buffers are one and the same."""
        identities = tuple(map(id, self.watch.tensors()))
        if identities != self.identities:
            self.identities = identities
            first = {}
            self.pattern = tuple(first.setdefault(identity, place) for place, identity in enumerate(identities))
        return self.pattern

    def add_entry(self, key, inputs):
        # The module has changed before this kind of call was recorded: what was begun leads nowhere.
        for other in [k for k, entry in self.entries.items() if k[0] == key[0] and entry.state == "recording"]:
            del self.entries[other]
            if other[1] != key[1]:
                self.attempts[key[0]] = self.attempts.get(key[0], 0) + 1
                self.reasons[key[0]] = f"the module changes between its steps: {self.changed}"
        entries = [entry for entry in self.entries.values() if entry.state != "refused"]
        if len(entries) >= self.shapes:
            why = f"more than {self.shapes} kinds of calls (shapes, numbers, settings)"
            if not any(entry.state in ("planned", "comparing", "planning") for entry in entries):
                self.refuse_all(why)
            elif why not in self.said:
                self.said.add(why)
                log.warning("rematlas: %s; further ones run the original", why)
            return None
        entry = Entry(key[0], [describe(tensor) for tensor in inputs])
        self.entries[key] = entry
        if self.attempts.get(entry.base, 0) >= MOST_ATTEMPTS:
            self.refuse(entry, self.reasons[entry.base])
        return entry

    # Refusing.

    def refuse_all(self, why, args=None, kwargs=None):
        """Nothing of this module can be planned."""
        self.refusal = why
        self.tell(why)
        return self.run_original(args, kwargs) if args is not None else None

    def refuse(self, entry, why, error=None):
        entry.state = "refused"
        entry.reason = why
        entry.first = entry.plan = None
        entry.pending = []
        self.tell(why, error)

    def tell(self, why, error=None):
        log.info("rematlas: %s", why)
        if self.on_refuse == "raise":
            raise error or Refused(f"rematlas: {why}")
        if not self.warned:
            how = " under online eviction" if self.unplanned.evicts(None) else ""
            warnings.warn(f"rematlas: {why}; training goes on with the original{how}", RefusedWarning, stacklevel=caller_level())
        self.warned = True

    def failed(self, entry, why):
        """A recorded step that leads to no plan. A few of them in a row, and the original is left to itself."""
        entry.first = None
        entry.reason = why
        self.attempts[entry.base] = self.attempts.get(entry.base, 0) + 1
        self.reasons[entry.base] = why
        self.failures += 1
        if self.failures >= 2 * MOST_ATTEMPTS:
            self.refuse_all(why)
        elif self.attempts[entry.base] >= MOST_ATTEMPTS:
            self.refuse(entry, why)

    # Recording.

    def record(self, entry, args, kwargs, inputs, device, called, fits):
        self.unplanned.begin(fits, to_a_plan=True)
        watch = self.watch
        first_try = entry.first is None
        bound = watch.tensors()
        kind = "with audit" if first_try else "real"
        recording = classes.Recording(watch.names, bound, len(watch.parameters), inputs, device, kind)
        held = entry.held_by_open()
        self.frames = max(self.frames, len(held) + 1)
        before = Before(self.module)
        shares_casts = modes.shares_casts(device)
        self.original += 1
        self.forwarding = True
        self.hooks.start(self.module, recording)
        try:
            with modes.ValuesRead(recording):
                given = recording.begin()
                output = structure.call(self.module.forward, args, kwargs, inputs, given)
        except BaseException as error:
            recording.abandon()
            self.hooks.stop(recording)
            no_room = isinstance(error, torch.OutOfMemoryError) or Thrashing.is_told_by(error)
            if not no_room or entry.from_shapes:
                raise
            entry.too_large, failure = True, str(error)
        finally:
            self.forwarding = False
        if entry.too_large:
            del recording, bound, before
            gc.collect()  # the error is gone, and with it what its frames hold of the forward
            self.unplanned.end()
            if self.plan_from_shapes(entry, args, kwargs, inputs, device):
                return self.train_step(args, kwargs)
            raise torch.OutOfMemoryError(failure)
        template, tensors, sources, kept, why = self.after(before, output, given, bound, watch, (args, kwargs), called)
        if why:
            recording.refuse(why)
        recording.end(tensors)
        # A comparison takes somewhat more than the plan alone. Where the original would not fit, plans leave about a batch for it.
        spare = sum(tensor.nbytes for tensor in inputs) if self.unplanned.eviction else 0
        beside = recording.beside() - sum(held) + spare
        entry.pending.append(Recorded(recording, watch, template, sources, kept, shares_casts, beside))
        return output

    def after(self, before, output, given, bound, watch, call, called):
        """What a forward has returned and changed: (template, tensors, sources, kept, why it cannot be captured)."""
        try:
            template, tensors = structure.flatten(output)
        except Exception as error:
            return None, [], [], (), f"the module returns what cannot be described: {error}"
        why = before.changed()
        try:
            if structure.flatten_call(*call)[0] != called:
                why = why or "the forward changes its arguments"
        except Exception as error:
            why = why or f"the forward changes its arguments: {error}"
        new = self.note_assigned(before.assigned())
        if new:
            why = why or f"the forward sets {', '.join(new)} of a module for the first time"
        if not why and not watch.unchanged():
            changed = watch.changes(Watch(self.module, frozenset(self.assigned)))
            if changed:
                why, self.changed = f"the forward changes the module: {changed}", changed
            self.watch = None
        kept = tuple(self.assigned.values())
        known = {id(tensor) for tensor in tensors}
        for values, name in kept:
            value = values.get(name)
            if not isinstance(value, torch.Tensor):
                why = why or f"the forward sets {name} of a module at times"
            elif id(value) in known:
                why = why or f"the forward returns what it also keeps as {name}"
            else:
                tensors.append(value)
        return template, tensors, structure.sources(tensors, bound, given), kept, why

    def open_steps(self):
        """Whether steps that are recorded or compared wait for their backward. Those that cannot share it are given up."""
        found = False
        for entry in self.entries.values():
            for pending in entry.pending:
                if isinstance(pending, Recorded):
                    if pending.recording.state() == "open" and (pending.recording.sums_gradients() or pending.shares_casts):
                        pending.recording.uncut()
                        self.several = found = True
                elif pending.comparison.verdict() == "open" and entry.sums:
                    pending.comparison.uncut()
                    self.several = found = True
        return found

    # Between the steps.

    def settle(self, entry):
        """Takes note of what has happened since the last call."""
        waiting, entry.pending = entry.pending, []
        for pending in waiting:
            if isinstance(pending, Recorded):
                done = pending.recording.state() != "open"
            else:
                done = pending.comparison.verdict() != "open"
            if not done:
                entry.pending.append(pending)
            elif isinstance(pending, Recorded):
                self.settle_recording(entry, pending)
            elif entry.state == "comparing":
                self.settle_comparison(entry, pending)
        if entry.state == "planning" and not self.busy(entry):
            self.settle_planning(entry)

    def settle_recording(self, entry, pending):
        self.hooks.stop(pending.recording)
        state = pending.recording.state()
        entry.too_large |= pending.recording.out_of_memory()
        if state == "dropped" or entry.too_large or entry.state != "recording":
            return
        if state == "recorded" and pending.recording.survivors():
            gc.collect()
            alive = pending.recording.survivors()
            if alive:
                pending.recording.refuse(f"a tensor of the step is kept after it: {alive[0]}")
                state = "refused"
        if state == "refused":
            self.failed(entry, pending.recording.refusal())
            return
        first, entry.first = entry.first, pending
        if first is None:
            self.note_recorded_peak(entry, pending)
            return
        if (first.template, first.sources, first.kept) != (pending.template, pending.sources, pending.kept):
            why = "the module returns another structure, or other values that are no tensors, in the next step"
        else:
            why = pending.recording.difference(first.recording)
        if not why:
            self.begin_planning(entry, first, pending)
            return
        self.failed(entry, why)
        if entry.state == "recording":
            entry.first = pending

    def note_recorded_peak(self, entry, recorded):
        """A step that ran tells what kernels take beside their tensors, which shapes do not."""
        if not entry.unplanned or self.bytes is None:
            return
        entry.unplanned = max(entry.unplanned, self.recorded_bytes(recorded))

    # Planning.

    def begin_planning(self, entry, first, second):
        sums = second.recording.sums_gradients() or second.shares_casts
        if self.several and sums:
            self.refuse(entry, "several forwards are open at a time, and share what they sum: it would be summed in another order")
            return
        try:
            entry.plan = classes.Plan(first.recording, second.recording, type(self.module).__name__)
        except RuntimeError as error:
            self.failed(entry, message(error))
            return
        entry.sums, entry.sums_within, entry.endings = sums, second.recording.sums_gradients(), {}
        entry.template, entry.sources, entry.kept = second.template, second.sources, second.kept
        entry.beside, entry.frames = second.beside, self.frames
        entry.first = None
        if ranks.store() is not None:
            asked = json.dumps([str(self.budget), self.solver, self.config, self.time_limit, entry.frames])
            entry.shared = ranks.Shared(entry.plan, asked, 60 + 3 * self.time_limit)
        self.start_planning(entry)

    def start_planning(self, entry):
        entry.state = "planning"
        if entry.shared is not None and not ranks.leads():
            return
        try:
            self.solve(entry)
        except RuntimeError as error:
            self.refuse(entry, message(error))

    def busy(self, entry):
        """Whether its plan is being made, here or by another process."""
        return entry.plan.busy() or (entry.shared is not None and not ranks.leads() and entry.shared.waits())

    def receive(self, entry, shared):
        """The plan of rank 0, or one of its own where that has none or does not fit here."""
        found = shared.received(self.device())
        if isinstance(found, str):
            self.refuse(entry, found)
            return
        own = json.loads(entry.plan.answer())
        peak = None if found is None else json.loads(found.answer())["peak_bytes"]
        fits = peak is not None and (self.bytes is None or entry.beside + own["kept_by_loss_bytes"] + peak <= self.bytes)
        if not fits:
            log.warning("rematlas: the plan of rank 0 %s: this process plans alone", "is none" if found is None else "does not fit here")
            self.start_planning(entry)
            return
        entry.plan = found
        entry.answer = json.loads(found.answer()) | {"kept_by_loss_bytes": own["kept_by_loss_bytes"]}
        self.bind(entry)

    def solve(self, entry):
        """Starts it in the background."""
        options = json.dumps(self.config) if self.config else ""
        entry.plan.start(str(self.budget), self.solver, options, float(self.time_limit), entry.frames, entry.beside, self.copies.text, self.in_arena())

    def settle_planning(self, entry):
        shared, entry.shared = entry.shared, None
        if shared is not None and not ranks.leads():
            self.receive(entry, shared)
            return
        entry.answer = json.loads(entry.plan.answer())
        if shared is not None:
            if "peak_bytes" in entry.answer:
                shared.publish(entry.plan)
            else:
                shared.publish_refusal(entry.answer.get("error") or "rank 0 found no plan within the budget")
        if "error" in entry.answer:
            self.refuse(entry, entry.answer["error"])
            return
        if "infeasible" in entry.answer and self.updates is not None and self.updates.declared and not self.updates.own and self.watch is not None:
            if self.plan_directly(entry):
                return
        if "infeasible" in entry.answer:
            found = entry.answer["infeasible"]
            why = infeasible_text(self.solver, entry.answer["step_budget_bytes"], found)
            if entry.from_shapes and not entry.too_large and self.on_refuse == "warn":
                log.warning("rematlas: %s, as far as shapes tell, where the loss is estimated: the step is recorded as it really runs", why)
                entry.state, entry.plan, entry.from_shapes, entry.unplanned = "recording", None, False, 0
                return
            self.refuse(entry, why, Infeasible(f"rematlas: {why}", found["needed_bytes"], found["proven"], found["smallest_found_bytes"]))
            return
        self.bind(entry)

    def plan_directly(self, entry):
        """Plans that end with the optimizer's updates, where the step fits with them alone. Returns whether there are some."""
        why = self.updates.plan_directly(self, entry, self.watch.tensors(), [])
        if why:
            entry.direct, entry.plan = False, entry.base_plan
            log.info("rematlas: %s", why)
            return False
        entry.state, entry.reason, entry.late = "planned", "", False
        self.failures = 0
        self.attempts.pop(entry.base, None)
        return True

    def bind(self, entry):
        watch = self.watch or Watch(self.module, frozenset(self.assigned))
        try:
            entry.plan.bind(watch.names, watch.tensors(), len(watch.parameters), type(self.module).__name__)
            entry.plan.set_sums_gradients(entry.sums_within)
        except RuntimeError as error:
            self.refuse(entry, message(error))
            return
        answer = entry.answer
        entry.unplanned = self.unplanned_bytes(answer)
        # A comparison holds the original's gradients beside the replay, unless what is in the way can be evicted.
        entry.comparison = answer["kept_by_loss_bytes"] + answer["peak_bytes"] + answer["gradient_bytes"]
        needed = max(entry.unplanned, entry.comparison)
        fits = self.bytes is None or entry.beside + needed <= self.bytes or self.unplanned.evicts(False)
        entry.state = "comparing" if entry.compared < self.verify and fits and not entry.from_shapes else "planned"
        entry.late = None
        self.failures = 0
        self.attempts.pop(entry.base, None)
        entry.reason = ""

    def take_given_plan(self, entry):
        entry.plan = self.given_plan.compiled(self.device())
        entry.answer, entry.frames = json.loads(entry.plan.answer()), self.frames
        packing = Packing.of(entry.plan)
        try:
            entry.unpack(packing, self.module)
        except Exception as error:
            self.refuse(entry, f"the plan is another module's: {message(error)}")
            return
        self.note_assigned(entry.kept)
        entry.sums_within = entry.sums
        if self.watch is None:
            return
        if not entry.plan.state_names():
            self.bind(entry)
            return
        if not packing.ending:
            why = "it ends with updates that are not an optimizer's of Python: `rematlas run` takes it"
        elif self.updates is None:
            why = "it ends with the updates of an optimizer: give optimizer="
        else:
            why = self.updates.take_given(self, entry, packing.ending, self.watch.tensors())
        if why:
            self.refuse(entry, f"the plan cannot run: {why}")
        else:
            entry.state = "planned"

    # Steps that do not fit.

    def recorded_from_shapes(self, args, kwargs, inputs, device, used=()):
        """None, and the reason in the log, where shapes do not tell what the step does."""
        try:
            found = from_shapes.record(self.module, args, kwargs, inputs, device, self.hooks, used)
        except from_shapes.Unknown as error:
            until = "runs under online eviction" if self.unplanned.evicts(None, to_a_plan=True) else "may go beyond the budget"
            log.warning("rematlas: the step cannot be recorded from shapes, and %s before it is planned: %s", until, error)
            return None
        self.note_assigned(found.kept)
        return found

    def unplanned_bytes(self, answer):
        """Of the original's step, beside what open forwards of its kind hold."""
        return answer["whole_peak_bytes"] + answer["kept_by_loss_bytes"] + (self.frames - 1) * answer["whole_held_bytes"]

    def recorded_bytes(self, recorded):
        """The same of a step that is recorded, and not planned."""
        plan = ops.plan_from_shapes(recorded.recording, type(self.module).__name__, False, [], [])
        return self.unplanned_bytes(json.loads(plan.answer()))

    def keep_budget(self, entry, args, kwargs, inputs, device):
        """Takes care that the original does not run where its step would go beyond the budget, as far as shapes tell."""
        found = None
        if entry.unplanned is None:
            entry.unplanned = 0
            found = self.recorded_from_shapes(args, kwargs, inputs, device)
            if found is not None:
                entry.unplanned = self.recorded_bytes(found)
        if self.watch is None or ops.beside(self.watch.tensors(), inputs, device) + entry.unplanned <= self.bytes:
            return
        if entry.state == "recording":
            if self.unplanned.choice != "evict" and not entry.no_plan_from_shapes:
                entry.no_plan_from_shapes = not self.plan_from_shapes(entry, args, kwargs, inputs, device, found=found)
        elif not self.unplanned.evicts(False):
            self.finish_planning(entry)
            if entry.state == "comparing":
                entry.state = "planned"

    def plan_from_shapes(self, entry, args, kwargs, inputs, device, used=(), found=None):
        """Plans the step before it has run, and waits for the plan. Returns whether there is one. `found`: what was
        recorded from shapes already."""
        log.warning("rematlas: the step does not fit unscheduled; it is planned from shapes, and the plan is not compared with it")
        found = found or self.recorded_from_shapes(args, kwargs, inputs, device, used)
        if found is None or self.watch is None:
            return False
        # Ops are timed on parameters where these lie; what lives on the host would be made on the device for that.
        there = ([], []) if self.copies.moves_weights else (self.watch.names, self.watch.tensors())
        try:
            with from_shapes.generators_put_back(device):
                plan = ops.plan_from_shapes(found.recording, type(self.module).__name__, True, *there)
        except RuntimeError as error:
            log.info("rematlas: the step cannot be planned from shapes: %s", message(error))
            return False
        held = entry.held_by_open()
        self.frames = max(self.frames, len(held) + 1)
        entry.plan, entry.first, entry.from_shapes, entry.used = plan, None, True, found.used
        entry.sums_within = found.recording.sums_gradients()
        entry.sums = entry.sums_within or found.shares_casts
        entry.template, entry.sources, entry.kept = found.template, found.sources, tuple(self.assigned.values())
        entry.beside, entry.frames = ops.beside(self.watch.tensors(), inputs, device) - sum(held), self.frames
        if self.updates is not None and self.updates.declared and self.plan_directly(entry):
            return True
        self.start_planning(entry)
        self.finish_planning(entry)
        return entry.state == "planned"

    def replanned(self, entry, args, kwargs, inputs, given, used):
        """The outputs of a frame whose gradients come to other outputs than the plan took them to, by a plan for these."""
        if not self.plan_from_shapes(entry, args, kwargs, inputs, self.device(), used):
            return None
        outputs, frame, why = entry.plan.forward(self.watch.tensors(), given, self.in_arena(), self.measures)
        if why:
            self.note_original(why)
            return None
        frames_of[frame] = Open(self, args, kwargs, inputs, entry, entry.plan)
        return outputs

    def finish_planning(self, entry):
        if entry.state == "planning":
            entry.plan.wait()
            self.settle_planning(entry)

    # Comparing.

    def compare(self, entry, args, kwargs, inputs, called, fits):
        self.unplanned.begin(fits, to_a_plan=True)
        bound = self.watch.tensors()
        comparison = classes.Comparison(entry.plan, bound, inputs)
        before = Before(self.module)
        watch = self.watch
        self.original += 1
        self.forwarding = True
        try:
            given = comparison.begin()
            output = structure.call(self.module.forward, args, kwargs, inputs, given)
        except BaseException:
            comparison.abandon()
            raise
        finally:
            self.forwarding = False
        template, tensors, sources, kept, why = self.after(before, output, given, bound, watch, (args, kwargs), called)
        if not why and (template, sources, kept) != (entry.template, entry.sources, entry.kept):
            why = "the module returns another structure, or other values that are no tensors, in another step"
        if why:
            comparison.abandon()
        else:
            comparison.end(tensors)
        entry.pending.append(Compared(comparison, why))
        return output

    def settle_comparison(self, entry, pending):
        verdict = pending.comparison.verdict()
        why = pending.why or (verdict == "different" and pending.comparison.why())
        if why:
            self.refuse(entry, f"the plan was compared with the original: {why}")
            return
        if verdict == "dropped":
            return
        if verdict == "no room":
            log.warning("rematlas: the plan is not compared with the original: %s", pending.comparison.why())
            entry.state = "planned"
            return
        if verdict == "other course":
            entry.other_courses += 1
            if entry.other_courses > MOST_ATTEMPTS:
                self.refuse(entry, f"the step takes another course than the recorded one each time: {pending.comparison.why()}")
            return
        entry.compared += 1
        peak = pending.comparison.measured_peak()
        entry.measured = max(entry.measured, peak)
        if peak > entry.answer["peak_bytes"]:
            self.refuse(entry, f"the plan was compared with the original: it takes {peak} bytes, {entry.answer['peak_bytes']} planned")
            return
        entry.at_most = entry.measured < entry.answer["peak_bytes"]
        if entry.compared >= self.verify:
            entry.state = "planned"

    # Replaying.

    def check_beside(self, entry, tensors, inputs):
        """A plan that fits no longer beside what else is alive now is made anew before the step begins."""
        beside = ops.beside(tensors, inputs, self.device()) - sum(entry.held_by_open())
        planned = entry.answer["kept_by_loss_bytes"] + entry.answer["peak_bytes"] + entry.answer.get("others_bytes", 0)
        if beside <= entry.beside or beside + planned <= self.bytes:
            return
        log.warning(
            "rematlas: %d bytes live beside the step now, %d when it was planned: it is planned anew", beside, entry.beside
        )
        entry.beside, entry.compared = beside, 0
        self.start_planning(entry)
        self.finish_planning(entry)

    def check_frames(self, entry):
        """A plan for fewer forwards than have been open at a time is made anew before the step begins."""
        if self.budget is None or entry.frames >= self.frames:
            return
        log.warning("rematlas: %d forwards are open at a time, the plan is for %d: it is made anew", self.frames, entry.frames)
        entry.compared, before = 0, entry.frames
        entry.frames = self.frames
        self.start_planning(entry)
        entry.plan.wait()
        if "peak_bytes" not in json.loads(entry.plan.answer()):
            log.warning("rematlas: no plan keeps the budget with so many; the one for %d stays", before)
            entry.frames = before
            self.solve(entry)
        self.finish_planning(entry)
        entry.frames = self.frames

    def replay(self, entry, args, kwargs, inputs):
        self.unplanned.end()
        plan = entry.plan
        tensors = self.watch.tensors()
        if plan.open():
            self.several = True
            if entry.sums:
                plan.give_open_forwards_up()
                return self.run_original(args, kwargs)
            self.frames = max(self.frames, plan.open() + 1)
        else:  # what open forwards hold is counted by the plan
            self.check_frames(entry)
            if self.bytes is not None and entry.state == "planned" and not entry.direct:
                self.check_beside(entry, tensors, inputs)
        if entry.state != "planned":  # it was planned anew, and is compared again or has no plan
            return self.train_step(args, kwargs)
        if self.updates is not None:
            ending, why = self.updates.plan_for(self, entry, tensors, inputs)
            if ending is None and entry.direct:
                self.note_original(f"the plan takes the gradients itself, and cannot in this step: {why}")
                return self.run_original(args, kwargs)
            plan = plan if ending is None else ending
        outputs, frame, why = plan.forward(tensors, inputs, self.in_arena(), self.measures)
        if why:
            if self.updates is not None:
                self.updates.note_original()
            self.note_original(why)
            if frame < 0:  # tensors lie otherwise than planned: recorded anew
                entry.state, entry.plan, entry.compared = "recording", None, 0
            return self.run_original(args, kwargs)
        if entry.late is None:
            entry.late = plan is entry.plan and plan.moves_buffers_late()
            self.alone = [other.plan for other in self.entries.values() if other.late and other.plan is not None]
        frames_of[frame] = Open(self, args, kwargs, inputs, entry, plan)
        self.replayed += 1
        if not entry.kept and entry.template == "tensor" and entry.sources[0][0] == "plan":
            return outputs[0]
        placed = [
            outputs[place] if source == "plan" else inputs[place] if source == "input" else tensors[place]
            for source, place in entry.sources
        ]
        for (values, name), tensor in zip(entry.kept, placed[len(placed) - len(entry.kept) :]):
            values[name] = tensor
        return structure.rebuild(entry.template, placed[: len(placed) - len(entry.kept)] if entry.kept else placed)

    def original_of(self, frame):
        """The original's forward of a frame, with gradients, for a backward that the plan cannot run."""
        _, args, kwargs, inputs, entry, plan = frames_of[frame]
        given, used = ops.original_inputs(frame), ops.original_uses(frame)
        if entry.from_shapes and used and tuple(used) != entry.used:
            outputs = self.replanned(entry, args, kwargs, inputs, given, used)
            if outputs is not None:
                return outputs
        if self.updates is not None:
            self.updates.note_original()
        self.note_original(json.loads(plan.last())["why_original"])
        self.forwarding = True
        try:
            output = structure.call(self.module.forward, args, kwargs, inputs, given)
        finally:
            self.forwarding = False
        tensors = structure.flatten(output)[1]
        return tensors + [values[name] for values, name in self.assigned.values()]


# The compiled part asks for originals and says when a frame is gone.

frames_of = {}  # calls whose original may have to run, by frame
all_applied = weakref.WeakSet()


@ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int)
def on_frame(frame, what):
    """Nobody above could catch what is raised here, an interrupt, say: it is raised on the way back."""
    try:
        answer(frame, what)
    except BaseException as error:
        kept.append(error)


def answer(frame, what):
    if what == 2:
        for applied in list(all_applied):
            if applied.updates is not None and applied.updates.taken_in == frame:
                applied.updates.end_backward()
        return
    applied = frames_of[frame].applied
    if what == 3:
        try:
            if applied.updates.has_hooks():
                ops.tell_of_hooks(frame)
        except BaseException:
            ops.tell_of_hooks(frame)
            raise
        return
    if what == 1:
        applied.updates.taken_in = frame
        for part in (applied.updates.note_faults, applied.updates.take_over):
            try:
                part()
            except BaseException as error:
                kept.append(error)
                part()
        applied.updates.interrupted = bool(kept)
        return
    ops.original_outputs(frame, applied.original_of(frame))


# Whose code is no Python: when frames go no handler of a signal runs, which could raise where nobody takes it.
forget_frame = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(frames_of.pop)

ops.set_callbacks(ctypes.cast(on_frame, ctypes.c_void_p).value, ctypes.cast(forget_frame, ctypes.c_void_p).value, id(kept))


@atexit.register
def stop():
    """Before the interpreter ends: nobody calls back into it, and no planning goes on."""
    ops.set_callbacks(0, 0, 0)
    for applied in list(all_applied):
        applied.unplanned.end()
        for entry in applied.entries.values():
            entry.plan, entry.pending = None, []
