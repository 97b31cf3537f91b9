"""The object that `apply` attaches to a module, so that the module trains by plans.

Each kind of call (structure, shapes and types of the arguments, settings of torch, state of the module) has
its own plan, see call_plan.py. For the way from the first step to a plan, see state.py.
"""

import atexit
import logging
import threading
import weakref

import torch
from torch._C._dynamo.eval_frame import set_eval_frame

from .. import ranks
from ..calls import modes, structure
from ..calls.call import Call
from ..calls.call_inputs import describe, geometry, unfit
from ..calls.kinds_of_calls import variety
from ..calls.module_hooks import InPlaceOfCall, PathHooks, call_within_hooks, leave_uncompiled, runs_hooks
from ..calls.module_state import ModuleState
from ..calls.offloading import Offloading
from ..compiled import autograd_threads, callbacks
from ..compiled.compiled_plan import CompiledPlan
from ..errors import message
from ..fallback.fallback import Fallback
from ..fallback.step_peaks import Runner, StepPeaks
from ..sharded.form import form_of
from ..updates.ending import StepContext
from ..updates.kept_between_steps import in_blocks
from ..updates.updates import Updates
from . import from_shapes, past_forward
from .call_plan import CallPlan
from .cast_regions import CastRegions
from .gate import Sharing
from .open_forward import OpenForward
from .original_steps import OriginalSteps
from .refusals import Refusals
from .state import UNDECIDED, StateName
from .together import Together

log = logging.getLogger("rematlas")
PLANNED_OR_SOON = (StateName.PLANNED, StateName.COMPARING, StateName.PLANNING)


class PlannedModule(OriginalSteps, InPlaceOfCall):
    """Replaces the module's own call. Counts steps, and holds the state that all kinds of calls have in
    common."""

    def __init__(self, module, options, chunking):
        self.module = module
        self.options = options
        self.name = type(module).__name__
        self.chunking = chunking
        self.fallback = Fallback(module, options.budget_bytes, options.unplanned)
        self.peaks = StepPeaks(options.budget_bytes, options.unplanned)
        self.state = ModuleState(module)
        self.form = None  # how the original runs; known from the first call on
        self.refusals = Refusals(options, self.fallback)
        self.updates = None if options.optimizer is None else Updates(module, options)
        self.hooks = PathHooks()
        self.call_plans = {}  # by key
        self.states_seen = set()  # ids of the module's states, see ModuleState.number
        self.frames = options.frames  # the most forwards that have been open at a time
        self.several = False  # several forwards have been open at a time
        self.sharing = Sharing()
        self.regions = CastRegions()
        self.together = Together(self.name)
        self.plans_that_move_buffers = []  # no further forward may begin before the backward of these plans
        self.replayed = 0  # steps that plans ran
        self.original = 0  # steps that the original ran
        self.original_backwards = 0  # planned forwards for whose backward the original had to run again
        self.why_original = ""  # why the original ran the newest step that a plan should have run
        self.is_forwarding = False  # the original's forward is running
        self.measures = False  # the peaks of planned steps are measured, too, see `measure_peaks`
        # Closed when the module is called for the first time.
        self.past_forward = past_forward.PastForward(module, self.note_gradients_past_forward)
        self.lock = threading.RLock()
        planned_modules.add(self)

    # How a call runs. nn.Module.__call__ calls this object.

    def __call__(self, *args, **kwargs):
        compiler = set_eval_frame(None)  # a torch.compile around the module must not trace this code
        try:
            if self.form is None:
                self.take_form(form_of(self.module))
            if callable(compiler):
                self.refusals.note_compiler_around()
            if runs_hooks(self.module):
                with self.lock:
                    return call_within_hooks(self.module, self.forward, args, kwargs)
            return self.forward(*args, **kwargs)
        except BaseException:
            self.peaks.note_failed()
            self.together.note_failed(self.form is not None and self.form.keeps_what_it_gathered())
            raise
        finally:
            self.state.note_forward_is_over()
            set_eval_frame(compiler)

    leave_uncompiled(__call__)  # otherwise torch.compile tries to trace it, and logs that it cannot
    __call__._torchdynamo_disable = True
    __call__._torchdynamo_disable_msg = "a module that trains by plans"

    def forward(self, *args, **kwargs):
        module = self.module
        if self.past_forward is not None and torch.is_grad_enabled():
            self.close_past_forward()
        if not self.is_forwarding and torch._C._get_tracing_state() is None:
            self.peaks.note_forward(self.device())
            self.release_open_forwards()
        if self.is_forwarding:
            return self.form.run_original(args, kwargs)
        if not module.training or not torch.is_grad_enabled():
            self.peaks.note_runner(Runner.EVALUATED)
            if not torch.is_grad_enabled():
                return self.form.run_original(args, kwargs)
            self.run_original_together()  # because the other ranks may be training
            with self.together.watching():
                return self.form.run_original(args, kwargs)
        bystander = modes.bystander(module)
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
        """Lets the state of this kind of call handle the call, and returns the output. If the state is
        undecided, it has been replaced by another state, which is asked next."""
        self.form.is_own = False  # until all ranks have agreed to run the step in the own form
        if self.form.reduces and not self.refusals.of_module and self.are_forwards_open():
            return self.join_open_forward(args, kwargs)
        left_alone = self.form.left_alone()
        if left_alone is not None:
            self.together.run_original()
            self.refusals.note_left_alone(*left_alone, self.fallback.about_the_budget(None))
            return self.run_original(args, kwargs)
        while True:
            call_plan, call = self.kind_of_call(args, kwargs)
            if call_plan is None:
                self.together.refuse(self.refusals.of_module or "it has more kinds of calls than shapes=")
                return self.run_original(args, kwargs)
            self.regions.note_forward(call.device)
            output = call_plan.step(call)
            if output is not UNDECIDED:
                return output

    def take_form(self, form) -> None:
        """Sets the form of the module. Called before the first call, when all parts of the module exist."""
        self.form = form
        if ranks.store() is not None:
            self.together.key = ranks.key_of(self.together.number, self.module)
        if not form.is_sharded:
            return
        self.together.note(form.process_groups())
        why = form.why_never or self.options.why_not_sharded()
        self.fallback.note_sharded()
        self.peaks.can_evict = False
        if why:
            self.refusals.refuse_module(why)
        else:
            if self.options.budget_bytes is not None:
                log.warning(
                    "rematlas: parameters of %s are divided among ranks, so its first steps, which are"
                    " recorded, may go beyond the budget",
                    self.name,
                )

    def kind_of_call(self, args, kwargs):
        """Returns the CallPlan of this kind of call and the Call; two Nones if the original must run."""
        if self.refusals.of_module:
            return None, None
        state = self.state
        if state.watch is None or not state.watch.unchanged():
            if not state.has_parameters():
                return None, None
            state.look_again()
        try:
            template, inputs = structure.flatten_call(args, kwargs)
        except Exception as error:
            self.refusals.refuse_module(f"an argument cannot be described: {message(error)}")
            return None, None
        device = self.device()
        why = unfit(inputs, device) or state.watch.unfit or modes.unplannable(device)
        if why:
            self.refusals.refuse_module(why)
            return None, None
        offloading = Offloading.now()
        settings = modes.current(device), offloading.facts(device), self.form.options()
        key = ((template, geometry(inputs), settings), *state.key())
        call_plan = self.call_plans.get(key) or self.add(key, inputs)
        if offloading.stack:
            self.refusals.note_replaced(offloading.name)
        return call_plan, Call(args, kwargs, template, inputs, device, None, offloading)

    def add(self, key, inputs):
        """Makes the CallPlan of a new kind of call. Returns None if there are too many kinds."""
        base, number, _ = key
        is_new_state = number not in self.states_seen
        self.states_seen.add(number)
        # `begun`: kinds of calls that were not fully recorded when the module changed its state. These kinds
        # are dropped, because their recording would go on only if the module returned to its former state.
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

    # What the states (state.py) of the kinds of calls ask this object, and what they tell it.

    def device(self) -> str:
        """Returns the module's device with its index: "cpu", or "cuda:1"."""
        for parameter in self.module.parameters():
            return str(parameter.device)
        return "cpu"

    def has_room_for(self, number) -> bool:
        """Says whether all tensors together keep the budget if they take `number` bytes. A budget that is a
        share of the step counts as kept."""
        return self.options.budget_bytes is None or number <= self.options.budget_bytes

    def context(self, call=None, tensors=None) -> StepContext:
        """Returns the facts that Updates needs about a step. `tensors`: the module's tensors, if they are
        already known."""
        watch = self.state.watch
        tensors = watch.tensors_at_any_time() if tensors is None else tensors
        inputs, device = ([], self.device()) if call is None else (call.inputs, call.device)
        return StepContext(self.options, self.name, watch, tensors, inputs, device, self.several)

    def forward_by_plan(self, call_plan, call, given):
        """Lets the plan run a forward on the tensors `given`. Returns the outputs, and a reason if there are
        none."""
        compiled = call_plan.plan.compiled
        tensors = self.state.watch.tensors_of_step()
        outputs, number, why = compiled.forward(
            tensors, given, self.options.in_arena(call.device), self.measures
        )
        if not why:
            self.note_open_forward(number, call_plan, call, compiled, tensors)
        return outputs, why

    def note_open_forward(self, number, call_plan, call, compiled, tensors) -> None:
        """Stores the facts that the original needs if it must run the forward again for the backward."""
        places = [(values, name) for values, name, *_ in call_plan.plan.returned.kept]
        kept = self.state.kept_values(places) if places else ()
        callbacks.open_forwards[number] = OpenForward(self, call_plan, call, compiled, tensors, kept)

    def note_frames(self, frames) -> None:
        self.frames = max(self.frames, frames)

    def note_plans_that_move_buffers(self) -> None:
        plans = [call_plan.plan for call_plan in self.call_plans.values() if call_plan.plan is not None]
        self.plans_that_move_buffers = [plan.compiled for plan in plans if plan.moves_buffers_in_backward]

    def release_open_forwards(self) -> None:
        """Called when one more forward begins. Releases to autograd those open forwards that cannot be open
        together with the new one. Autograd runs their backwards as if there were no plan."""
        shares_casts, are_released = torch.is_grad_enabled() and self.release_shared_casts(), False
        for plan in self.plans_that_move_buffers:
            are_released = plan.abandon_open_forwards() or are_released
        if torch.is_grad_enabled():
            for call_plan in self.call_plans.values():
                are_released = call_plan.release_what_sums() or are_released
        self.sharing.note(are_released, shares_casts)
        self.several = self.several or self.sharing.is_now

    def release_shared_casts(self) -> bool:
        """Releases to autograd the open forwards in the present autocast region, because they share casts
        with the new forward. Returns whether several forwards share the region."""
        if self.regions.last is None:
            return False
        bystander = modes.bystander(self.module)
        if bystander is not None and not bystander.allows_eviction:
            return False  # CastRegion checks the region by an op, which the bystander would see
        return self.regions.release_open_forwards(self.call_plans.values(), self.before_release)

    def before_release(self) -> None:
        """Called before open forwards are released. The original will run these forwards again."""
        if self.updates is not None:
            self.updates.note_several()
        self.fallback.begin(None)

    # Steps that perhaps do not fit.

    def record_from_shapes(self, call, used=()):
        """Returns the step as recorded from shapes; None if it cannot be recorded (the log has the
        reason)."""
        if self.form.is_sharded:
            return None
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
        if self.together.runs_collectives(found.recording):
            return None
        self.state.note_assigned([(values, name) for values, name, *_ in found.returned.kept])
        self.state.note_effects([(values, name) for values, name, _ in found.returned.effects])
        if found.reads_kept:
            self.state.note_reads_kept()
        return found

    def original_bytes(self, answer) -> int:
        """Returns the peak bytes of a step of the original, with the bytes that other open forwards hold."""
        return (
            answer.whole_peak_bytes + answer.kept_by_loss_bytes + (self.frames - 1) * answer.whole_held_bytes
        )

    def recorded_bytes(self, recorded) -> int:
        """Returns `original_bytes` of a step that is recorded but not planned."""
        return self.original_bytes(CompiledPlan.from_shapes(recorded.recording, self.name).answer())

    def update_bytes(self) -> int:
        """Returns the bytes of parameters, buffers, gradients and missing states during the optimizer's own
        step; 0 if a plan cannot take over the updates, or only after steps have been watched."""
        missing = 0 if self.updates is None else self.updates.missing_bytes()
        return 0 if missing == 0 else missing + sum(map(in_blocks, self.state.watch.tensors_of_step()))

    # What api.py asks this object, and what it tells it to do.

    def measure_peaks(self) -> None:
        """From now on also measures the peaks of planned steps. On a GPU each measurement resets
        torch.cuda.max_memory_allocated."""
        self.measures = True

    def updates_in_each_backward(self) -> bool:
        """Says whether there is a kind of call whose steps all run by plans with updates."""
        return any(
            call_plan.plan is not None and call_plan.plan.is_direct for call_plan in self.call_plans.values()
        )

    def remove(self) -> None:
        self.fallback.leave()
        self.hooks.stop_all()
        if self.past_forward is not None:
            self.close_past_forward()
        if self.updates is not None:
            self.updates.close()
        self.chunking.remove()
        self.peaks.close()
        if self.form is not None:
            self.form.remove()
        self.module._compiled_call_impl = None

    def stop(self) -> None:
        """Ends all background work."""
        self.fallback.leave()
        self.peaks.close()
        for call_plan in self.call_plans.values():
            call_plan.plan, call_plan.open_steps = None, []


planned_modules = weakref.WeakSet()
callbacks.answer_for(planned_modules)


@atexit.register
def stop():
    """Runs before the interpreter ends, and ends all background threads of this package."""
    callbacks.answer_no_more()
    for module in list(planned_modules):
        module.stop()
    autograd_threads.wait_for_autograd()
    ranks.let_threads_end()
