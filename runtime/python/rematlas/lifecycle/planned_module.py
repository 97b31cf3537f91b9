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
from ..calls.kinds_of_calls import variety
from ..calls.module_hooks import InPlaceOfCall, PathHooks, call_within_hooks, leave_uncompiled, runs_hooks
from ..calls.module_state import ModuleState
from ..calls.offloading import Offloading
from ..compiled import autograd_threads, callbacks
from ..compiled.compiled_plan import CompiledPlan
from ..errors import Refused
from ..fallback.fallback import Fallback
from ..fallback.step_peaks import Runner, StepPeaks, device_memory
from ..updates.ending import StepContext
from ..updates.updates import Updates
from . import from_shapes, past_forward
from .call_plan import CallPlan
from .cast_regions import CastRegions
from .gate import Sharing
from .open_forward import OpenForward
from .refusals import Refusals
from .state import UNDECIDED, StateName

log = logging.getLogger("rematlas")
PLANNED_OR_SOON = (StateName.PLANNED, StateName.COMPARING, StateName.PLANNING)


class PlannedModule(InPlaceOfCall):
    """It stands in the place of the module's own call. It counts steps and knows what all kinds of calls
    share."""

    def __init__(self, module, options, chunking):
        self.module = module
        self.options = options
        self.name = type(module).__name__
        self.chunking = chunking
        self.fallback = Fallback(module, options.budget_bytes, options.unplanned)
        self.peaks = StepPeaks(options.budget_bytes, options.unplanned)
        self.state = ModuleState(module)
        self.refusals = Refusals(options, self.fallback)
        self.updates = None if options.optimizer is None else Updates(module, options)
        self.hooks = PathHooks()
        self.call_plans = {}  # by key
        self.states_seen = set()  # of the module, by number
        self.frames = options.frames  # forwards that have been open at a time
        self.several = False  # there have been several
        self.sharing = Sharing()
        self.regions = CastRegions()
        self.plans_that_move_buffers = []  # in their backward: no other forward may come before it
        self.replayed = 0
        self.original = 0
        self.original_backwards = 0  # of planned forwards
        self.why_original = ""  # why the last step that a plan should have run was not run by it
        self.is_forwarding = False  # the original's forward runs
        self.measures = False  # peaks of planned steps, see `measure_peaks`
        # Until the first call.
        self.past_forward = past_forward.PastForward(module, self.note_gradients_past_forward)
        self.lock = threading.RLock()
        planned_modules.add(self)

    # The way of a call. nn.Module.__call__ comes here.

    def __call__(self, *args, **kwargs):
        compiler = set_eval_frame(None)  # of a torch.compile around the module: what is here is not for it
        try:
            if callable(compiler):
                self.refusals.note_compiler_around()
            if runs_hooks(self.module):
                with self.lock:
                    return call_within_hooks(self.module, self.forward, args, kwargs)
            return self.forward(*args, **kwargs)
        except BaseException:
            self.peaks.note_failed()
            raise
        finally:
            self.state.note_forward_is_over()
            set_eval_frame(compiler)

    leave_uncompiled(__call__)  # else torch.compile tries to trace it, and says that it cannot
    __call__._torchdynamo_disable = True
    __call__._torchdynamo_disable_msg = "a module that trains by plans"

    def forward(self, *args, **kwargs):
        module = self.module
        if self.past_forward is not None and torch.is_grad_enabled():
            self.close_past_forward()
        if not self.is_forwarding and torch._C._get_tracing_state() is None:
            self.peaks.note_forward(self.device())
            self.release_open_forwards()
            self.fallback.note_forward(self.sharing.is_now)
        if self.is_forwarding:
            return module.forward(*args, **kwargs)
        if not module.training or not torch.is_grad_enabled():
            self.peaks.note_runner(Runner.EVALUATED)
            return module.forward(*args, **kwargs)
        bystander = modes.bystander()
        if bystander is not None:
            return self.leave_alone(bystander, args, kwargs)
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
            self.regions.note_forward(call.device)
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
        offloading = Offloading.now()
        settings = modes.current(device), offloading.facts(device)
        key = ((template, geometry(inputs), settings), *state.key())
        call_plan = self.call_plans.get(key) or self.add(key, inputs)
        if offloading.stack:
            self.refusals.note_replaced(offloading.name)
        return call_plan, Call(args, kwargs, template, inputs, device, None, offloading)

    def add(self, key, inputs):
        """Makes the plan of a kind of call that is new; returns None where there are too many."""
        base, number, _ = key
        is_new_state = number not in self.states_seen
        self.states_seen.add(number)
        # The module has changed before this kind of call was recorded: what was begun leads nowhere, unless
        # the module goes back and forth between states.
        begun = [
            k
            for k, plan in self.call_plans.items()
            if is_new_state and k[0] == base and plan.state.name is StateName.RECORDING
        ]
        for other in begun:
            del self.call_plans[other]
            if other[1] != number:
                self.refusals.count_change(base, self.state.change)
        states = [
            plan.state.name for plan in self.call_plans.values() if plan.state.name is not StateName.REFUSED
        ]
        if len(states) >= self.options.shapes:
            most = self.options.shapes
            varies = variety(key, self.call_plans, most // 2)
            if not any(state in PLANNED_OR_SOON for state in states):
                self.refusals.refuse_module(
                    f"more than {most} kinds of calls ({varies.what}): {varies.advice}"
                )
            else:
                self.refusals.note_left_alone(
                    f"of further kinds than {most} ({varies.what})",
                    varies.advice,
                    self.fallback.about_the_budget(None),
                )
            return None
        call_plan = self.call_plans[key] = CallPlan(self, key, [describe(tensor) for tensor in inputs])
        if self.refusals.is_hopeless(base):
            call_plan.refuse(self.refusals.reasons[base])
        return call_plan

    def forget(self, call_plan) -> None:
        """Drops a kind of call: it has another key from now on."""
        del self.call_plans[call_plan.key]

    # The original.

    def run_original(self, args, kwargs, fits=None):
        """`fits`: see Fallback.evicts."""
        self.count_original()
        self.fallback.begin(fits)
        return self.module.forward(*args, **kwargs)

    @contextlib.contextmanager
    def forwarding_original(self):
        """While the original's forward runs, calls of the module within it are the original's own."""
        self.is_forwarding = True
        try:
            yield
        finally:
            self.is_forwarding = False

    def leave_alone(self, bystander, args, kwargs):
        """Runs the original, for somebody else watches or replaces its ops."""
        about = self.fallback.about_the_budget(None)
        if about and not bystander.allows_eviction:
            about = ", and may go beyond the budget"
        self.refusals.note_left_alone(f"under {bystander.name}", bystander.advice, about)
        if bystander.allows_eviction:
            return self.run_original(args, kwargs)
        self.count_original()
        return self.module.forward(*args, **kwargs)

    def note_gradients_past_forward(self) -> None:
        """A parameter gets a gradient, and the module has not been called with gradients."""
        about = "" if self.options.budget_bytes is None else ", and may go beyond the budget"
        self.refusals.note_left_alone(*past_forward.how_and_advice(), about)

    def close_past_forward(self) -> None:
        self.past_forward.close()
        self.past_forward = None

    def note_original(self, why) -> None:
        """The plan cannot run a step that begins."""
        self.tell_of_original(why, self.fallback.about_the_budget(None))

    def note_original_backward(self, why) -> None:
        """The plan cannot run the backward of a step that it has begun. Such a step is not evicted."""
        may_exceed = "" if self.options.budget_bytes is None else ", and may go beyond the budget"
        self.tell_of_original(why, f" in their backward{may_exceed}")

    def tell_of_original(self, why, how) -> None:
        self.why_original = why
        level = logging.WARNING if self.refusals.is_first(why) else logging.INFO
        log.log(level, "rematlas: %s; such steps run the original%s", why, how)

    def leave_plan(self, why) -> None:
        """The plan could not run the forward of a step, and the original does."""
        if self.updates is not None:
            self.updates.note_original()
        self.note_original(why)

    def leave_plan_in_backward(self, plan, why) -> None:
        """The original runs a planned step, from its forward on."""
        if self.updates is not None:
            self.updates.note_original()
        plan.left_steps += 1
        self.replayed -= 1
        self.original_backwards += 1
        self.note_original_backward(why)
        self.count_original()

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
        tensors = watch.tensors_at_any_time() if tensors is None else tensors
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
        places = [(values, name) for values, name, *_ in call_plan.plan.returned.kept]
        kept = self.state.kept_values(places) if places else ()
        callbacks.open_forwards[number] = OpenForward(self, call_plan, call, compiled, kept)

    def count_replayed(self, answer) -> None:
        self.replayed += 1
        self.peaks.note_runner(Runner.PLANNED, answer)

    def count_original(self, runner=Runner.ORIGINAL) -> None:
        """The original runs a step, beside which arenas of plans that hold nothing need no memory."""
        self.original += 1
        if self.options.budget_bytes is not None:
            device_memory.release_idle_arenas(self.device())
        self.peaks.note_runner(runner)

    def note_frames(self, frames) -> None:
        self.frames = max(self.frames, frames)

    def note_several(self) -> None:
        self.several = True

    def note_plans_that_move_buffers(self) -> None:
        plans = [call_plan.plan for call_plan in self.call_plans.values() if call_plan.plan is not None]
        self.plans_that_move_buffers = [plan.compiled for plan in plans if plan.moves_buffers_in_backward]

    def release_open_forwards(self) -> None:
        """A further forward begins. Forwards that are open and cannot share their backward with it are given
        to the caller: it runs as without us."""
        shares_casts, are_released = torch.is_grad_enabled() and self.release_shared_casts(), False
        for plan in self.plans_that_move_buffers:
            are_released = plan.abandon_open_forwards() or are_released
        if torch.is_grad_enabled():
            for call_plan in self.call_plans.values():
                are_released = call_plan.release_what_sums() or are_released
        self.sharing.note(are_released, shares_casts)
        self.several = self.several or self.sharing.is_now

    def release_shared_casts(self) -> bool:
        """The same of open forwards in the same region of autocast. Says whether it is shared."""
        if self.regions.last is None:
            return False
        bystander = modes.bystander()
        if bystander is not None and not bystander.allows_eviction:
            return False  # it would see what is asked here
        return self.regions.release_open_forwards(self.call_plans.values(), self.before_release)

    def before_release(self) -> None:
        """The original's forwards run now for what is released, whose gradients come to `.grad`."""
        if self.updates is not None:
            self.updates.note_several()
        self.fallback.note_forward(True)
        self.fallback.begin(None)

    # Steps that may not fit.

    def record_from_shapes(self, call, used=()):
        """Returns the recorded step; None, and the reason in the log, where shapes do not tell what it
        does."""
        try:
            found = from_shapes.record(self.module, call, self.hooks, used)
        except from_shapes.Unknown as error:
            log.warning(
                "rematlas: the step cannot be recorded from shapes: %s; before it is planned it runs the"
                " original%s",
                error,
                self.fallback.about_the_budget(False),
            )
            return None
        self.state.note_assigned([(values, name) for values, name, *_ in found.returned.kept])
        self.state.note_effects([(values, name) for values, name, _ in found.returned.effects])
        if found.reads_kept:
            self.state.note_reads_kept()
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
            compiled, packing = plan.compiled, plan.packing(self.module, self.state.reads_kept)
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
        self.fallback.leave()
        self.hooks.stop_all()
        if self.past_forward is not None:
            self.close_past_forward()
        if self.updates is not None:
            self.updates.close()
        self.chunking.remove()
        self.peaks.close()
        self.module._compiled_call_impl = None

    def stop(self) -> None:
        """Ends all that goes on in the background."""
        self.fallback.leave()
        self.peaks.close()
        for call_plan in self.call_plans.values():
            call_plan.forget_plan()


planned_modules = weakref.WeakSet()
callbacks.answer_for(planned_modules)


@atexit.register
def stop():
    """Before the interpreter ends: nobody calls back into it any more, and no thread works for us."""
    callbacks.answer_no_more()
    for module in list(planned_modules):
        module.stop()
    autograd_threads.wait_for_autograd()
