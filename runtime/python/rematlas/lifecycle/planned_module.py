"""A module that trains by plans: what `apply` hangs on it.

Each kind of call (structure, shapes and types of the arguments, settings of torch, state of the module) has a
plan of its own: see call_plan.py and, for the way from the first step to a plan, state.py.
"""

import atexit
import contextlib
import logging
import threading
import weakref

import torch
from torch._C._dynamo.eval_frame import set_eval_frame

from ..calls import modes, structure
from ..calls.call import Call
from ..calls.call_inputs import describe, geometry, unfit
from ..calls.module_hooks import PathHooks, call_within_hooks, runs_hooks
from ..calls.module_state import ModuleState
from ..compiled import callbacks
from ..compiled.compiled_plan import CompiledPlan
from ..errors import Refused
from ..fallback.fallback import Fallback
from ..updates.ending import StepContext
from ..updates.updates import Updates
from . import from_shapes
from .call_plan import CallPlan
from .open_forward import OpenForward
from .refusals import MOST_ATTEMPTS, Refusals
from .state import UNDECIDED, StateName

log = logging.getLogger("rematlas")
PLANNED_OR_SOON = (StateName.PLANNED, StateName.PLANNING)


class PlannedModule:
    """It stands in the place of the module's own call. It counts steps and knows what all kinds of calls
    share."""

    def __init__(self, module, options):
        self.module = module
        self.options = options
        self.name = type(module).__name__
        self.fallback = Fallback(module, options.budget_bytes, options.unplanned)
        self.state = ModuleState(module)
        self.refusals = Refusals(options, self.fallback)
        self.updates = None if options.optimizer is None else Updates(module, options)
        self.hooks = PathHooks()
        self.call_plans = {}  # by key
        self.frames = options.frames  # forwards that have been open at a time
        self.several = False  # there have been several
        self.region = None  # of autocast, that the last forward was in: modes.CastRegion
        self.shared_regions = 0  # in which several forwards have been open at a time
        self.plans_that_move_buffers = []  # in their backward: no other forward may come before it
        self.replayed = 0
        self.original = 0
        self.is_forwarding = False  # the original's forward runs
        self.measures = False  # peaks of planned steps, see `measure_peaks`
        self.lock = threading.RLock()
        planned_modules.add(self)

    # The way of a call. nn.Module.__call__ comes here.

    def __call__(self, *args, **kwargs):
        compiler = set_eval_frame(None)  # of a torch.compile around the module: what is here is not for it
        try:
            if runs_hooks(self.module):
                with self.lock:
                    return call_within_hooks(self.module, self.forward, args, kwargs)
            return self.forward(*args, **kwargs)
        finally:
            set_eval_frame(compiler)

    __call__._torchdynamo_disable = True
    __call__._torchdynamo_disable_msg = "a module that trains by plans"

    def forward(self, *args, **kwargs):
        module = self.module
        for plan in self.plans_that_move_buffers:
            if plan.open_forwards():
                plan.abandon_open_forwards()
                self.several = True
        if not module.training or not torch.is_grad_enabled() or self.is_forwarding or modes.leaves_alone():
            return module.forward(*args, **kwargs)
        if self.updates is None:
            return self.step(args, kwargs)
        self.updates.before_forward()
        try:
            return self.step(args, kwargs)
        except BaseException:
            self.updates.note_no_forward()
            raise

    def step(self, args, kwargs):
        """Asks the state of this kind of call, until one has an output."""
        while True:
            call_plan, call = self.kind_of_call(args, kwargs)
            if call_plan is None:
                return self.run_original(args, kwargs)
            if self.shares_casts(call_plan, call):
                return self.run_original(args, kwargs, call_plan.fits(call), to_a_plan=True)
            output = call_plan.step(call)
            if output is not UNDECIDED:
                return output

    def kind_of_call(self, args, kwargs):
        """Returns the plan of this kind of call and the call, or two Nones where the original is to run."""
        if self.refusals.of_module:
            return None, None
        state = self.state
        if not state.is_current():
            if not state.has_parameters():
                return None, None
            state.look_again()
        try:
            template, inputs = structure.flatten_call(args, kwargs)
        except Exception as error:
            self.refusals.refuse_module(f"an argument cannot be described: {error}")
            return None, None
        device = self.device()
        why = unfit(inputs, device) or state.watch.unfit or modes.unplannable(device)
        if why:
            self.refusals.refuse_module(why)
            return None, None
        key = ((template, geometry(inputs), modes.current(device)), *state.key())
        call_plan = self.call_plans.get(key) or self.add(key, inputs)
        return call_plan, Call(args, kwargs, template, inputs, device)

    def add(self, key, inputs):
        """Makes the plan of a kind of call that is new; returns None where there are too many."""
        base, number, _ = key
        # The module has changed before this kind of call was recorded: what was begun leads nowhere.
        begun = [
            k
            for k, plan in self.call_plans.items()
            if k[0] == base and plan.state.name is StateName.RECORDING
        ]
        for other in begun:
            del self.call_plans[other]
            if other[1] != number:
                self.refusals.count_attempt(
                    base, f"the module changes between its steps: {self.state.change}"
                )
        states = [
            plan.state.name for plan in self.call_plans.values() if plan.state.name is not StateName.REFUSED
        ]
        if len(states) >= self.options.shapes:
            why = f"more than {self.options.shapes} kinds of calls (shapes, numbers, settings)"
            if not any(state in PLANNED_OR_SOON for state in states):
                self.refusals.refuse_module(why)
            elif self.refusals.is_first(why):
                log.warning("rematlas: %s; further ones run the original", why)
            return None
        call_plan = self.call_plans[key] = CallPlan(self, key, [describe(tensor) for tensor in inputs])
        if self.refusals.is_hopeless(base):
            call_plan.refuse(self.refusals.reasons[base])
        return call_plan

    def forget(self, call_plan) -> None:
        """Drops a kind of call: it has another key from now on."""
        del self.call_plans[call_plan.key]

    # The original.

    def run_original(self, args, kwargs, fits=None, to_a_plan=False):
        """`fits`, `to_a_plan`: see Fallback.evicts."""
        self.count_original()
        self.fallback.begin(fits, to_a_plan)
        return self.module.forward(*args, **kwargs)

    @contextlib.contextmanager
    def forwarding_original(self):
        """While the original's forward runs, calls of the module within it are the original's own."""
        self.is_forwarding = True
        try:
            yield
        finally:
            self.is_forwarding = False

    def note_original(self, why) -> None:
        """The plan cannot run a step. The original may not keep a budget in bytes."""
        if self.options.budget_bytes is None or not self.refusals.is_first(why):
            log.info("rematlas: %s; this step runs the original", why)
        else:
            how = "under online eviction" if self.fallback.evicts(None) else "which may go beyond the budget"
            log.warning("rematlas: %s; such steps run the original, %s", why, how)

    def leave_plan(self, why) -> None:
        """The plan could not run the step that has begun, and the original does."""
        if self.updates is not None:
            self.updates.note_original()
        self.note_original(why)

    # What the states of calls ask for and tell of.

    def device(self) -> str:
        """Returns the device with its index: "cpu", or "cuda:1"."""
        for parameter in self.module.parameters():
            return str(parameter.device)
        return "cpu"

    def has_room_for(self, number) -> bool:
        """Says whether so many bytes of all tensors keep the budget; a share of the step is always kept."""
        return self.options.budget_bytes is None or number <= self.options.budget_bytes

    def context(self, call=None, tensors=None) -> StepContext:
        """`tensors` are the module's, where they are known."""
        watch = self.state.watch
        tensors = watch.tensors() if tensors is None else tensors
        inputs, device = ([], self.device()) if call is None else (call.inputs, call.device)
        return StepContext(self.options, self.name, watch, tensors, inputs, device, self.several)

    def forward_by_plan(self, call_plan, call, given):
        """Runs a forward on these tensors by the plan. Returns the outputs, and why there are none."""
        compiled = call_plan.plan.compiled
        tensors = self.state.watch.tensors()
        outputs, number, why = compiled.forward(
            tensors, given, self.options.in_arena(call.device), self.measures
        )
        if not why:
            self.note_open_forward(number, call_plan, call, compiled)
        return outputs, why

    def note_open_forward(self, number, call_plan, call, compiled) -> None:
        """Its backward may come."""
        callbacks.open_forwards[number] = OpenForward(self, call_plan, call, compiled)

    def count_replayed(self) -> None:
        self.replayed += 1

    def count_original(self) -> None:
        self.original += 1

    def note_frames(self, frames) -> None:
        self.frames = max(self.frames, frames)

    def note_several(self) -> None:
        self.several = True

    def note_plans_that_move_buffers(self) -> None:
        plans = [call_plan.plan for call_plan in self.call_plans.values() if call_plan.plan is not None]
        self.plans_that_move_buffers = [plan.compiled for plan in plans if plan.moves_buffers_in_backward]

    def release_open_steps(self) -> bool:
        """A further forward begins. Recorded and compared steps that cannot share their backward with it are
        given to the caller. Returns whether some were."""
        are_released = False
        for call_plan in self.call_plans.values():
            for step in call_plan.open_steps:
                if step.release_if_shared():
                    self.several = are_released = True
        return are_released

    # Regions of autocast.

    def shares_casts(self, call_plan, call) -> bool:
        """A further forward begins, of this kind of call. Open ones in its region of autocast are given to
        the caller, whose graph sums gradients of the casts that they share. Says whether there were such."""
        if self.region is None or not self.region.goes_on():
            self.region = modes.CastRegion(call.device) if modes.shares_casts(call.device) else None
            return False
        planned = [
            forward for forward in list(callbacks.open_forwards.values()) if forward.region is self.region
        ]
        observed = [
            (other, step)
            for other in self.call_plans.values()
            for step in other.open_steps
            if step.is_open() and step.region is self.region
        ]
        if self.region.is_shared:  # what runs in it is the caller's already
            return True
        if not planned and not observed:
            return False
        self.region.is_shared = True
        self.fallback.begin(call_plan.fits(call), to_a_plan=True)
        for forward in planned:
            forward.compiled.abandon_open_forwards()
        for _, step in observed:
            step.release(modes.SHARED_CASTS)
        kinds = [call_plan, *(forward.call_plan for forward in planned), *(other for other, _ in observed)]
        self.note_shared_casts(dict.fromkeys(kinds))
        return True

    def note_shared_casts(self, kinds) -> None:
        self.note_several()
        self.shared_regions += 1
        is_refused = self.shared_regions >= MOST_ATTEMPTS or self.options.budget_bytes is not None
        for call_plan in kinds:
            call_plan.note_failure(modes.SHARED_CASTS)
            if is_refused and call_plan.state.name is not StateName.REFUSED:
                call_plan.refuse(modes.SHARED_CASTS)
        if not is_refused:
            log.info("rematlas: %s; this step runs the original", modes.SHARED_CASTS)

    def abandon_open_forwards(self, compiled, device) -> None:
        """Their backward will run the original, whose forward runs now. It shares no casts of weights with
        the region of autocast that the program is in by now."""
        has_casts = modes.shares_casts(device)
        if has_casts:
            torch.clear_autocast_cache()
        compiled.abandon_open_forwards()
        if has_casts:
            torch.clear_autocast_cache()
            self.region = modes.CastRegion(device)

    # Steps that may not fit.

    def record_from_shapes(self, call, used=()):
        """Returns the recorded step; None, and the reason in the log, where shapes do not tell what it
        does."""
        try:
            found = from_shapes.record(self.module, call, self.hooks, used)
        except from_shapes.Unknown as error:
            is_evicted = self.fallback.evicts(None, to_a_plan=True)
            until = "runs under online eviction" if is_evicted else "may go beyond the budget"
            log.warning(
                "rematlas: the step cannot be recorded from shapes, and %s before it is planned: %s",
                until,
                error,
            )
            return None
        self.state.note_assigned(found.returned.kept)
        return found

    def original_bytes(self, answer) -> int:
        """Returns what the original's step takes beside what open forwards of its kind hold."""
        return (
            answer.whole_peak_bytes + answer.kept_by_loss_bytes + (self.frames - 1) * answer.whole_held_bytes
        )

    def recorded_bytes(self, recorded) -> int:
        """Returns the same of a step that is recorded, and not planned."""
        return self.original_bytes(CompiledPlan.from_shapes(recorded.recording, self.name).answer())

    # What `api` asks for.

    def measure_peaks(self) -> None:
        """Also of planned steps on a GPU, where that resets what max_memory_allocated of torch.cuda tells."""
        self.measures = True

    def updates_in_each_backward(self) -> bool:
        """Says whether some kind of call has only plans that update parameters."""
        return any(
            call_plan.plan is not None and call_plan.plan.is_direct for call_plan in self.call_plans.values()
        )

    def graph_text(self):
        """Returns the graph file of the first step that was recorded, with the updates of an optimizer; None
        where no step was. Raises Refused where the optimizer cannot be part of it."""
        for call_plan in self.call_plans.values():
            plan = call_plan.plan
            if plan is None:
                continue
            compiled, packing = plan.compiled, plan.packing(self.module)
            if self.updates is not None:
                try:
                    compiled, ending = self.updates.ended(self.context(), plan)
                except RuntimeError as error:
                    raise Refused(str(error)) from None
                packing = packing._replace(ending=ending)
            compiled.pack(packing.text())
            return compiled.graph_text()
        return None

    def remove(self) -> None:
        self.fallback.end()
        if self.updates is not None:
            self.updates.close()
        self.module._compiled_call_impl = None

    def stop(self) -> None:
        """Ends all that goes on in the background."""
        self.fallback.end()
        for call_plan in self.call_plans.values():
            call_plan.forget_plan()


planned_modules = weakref.WeakSet()
callbacks.answer_for(planned_modules)


@atexit.register
def stop():
    """Before the interpreter ends: nobody calls back into it any more, and no planning goes on."""
    callbacks.answer_no_more()
    for module in list(planned_modules):
        module.stop()
