"""One kind of call: the facts about it, its plan, and its state."""

import logging
import time
import weakref

from ..calls.modes import generators_put_back
from ..compiled.compiled_plan import CompiledPlan
from ..compiled.memory import other_bytes
from ..compiled.observed_steps import RecordingState
from ..errors import message
from . import gate
from .comparing import Comparing, Unbound
from .measured import Comparisons, Original
from .planned import Planned
from .planning import Planning
from .recording import Recording
from .refused import Refused
from .state import UNDECIDED
from .step_plan import StepPlan

log = logging.getLogger("rematlas")
MOST_DISTURBED = 12


class CallPlan:
    """A kind of call. Each method that changes its state is named after the event that causes the change."""

    def __init__(self, owner, key, inputs):
        self._owner = weakref.ref(owner)  # see State
        self.key = key
        self.base = key[0]  # the key without the state of the module
        self.inputs = inputs  # descriptions of the input tensors, as text
        self.reason = ""  # why there is no plan yet, or why there will be no plan
        self.open_steps = []  # the Recorded and Compared objects whose backward has not run
        self.plan = None
        self.answer = None  # the planner's newest answer
        self.watch = None  # the Watch of the module in the state of this key; None once there is a plan
        self.original = Original()
        self.comparisons = Comparisons()
        self.more_beside = 0  # bytes by which another rank's tensors beside the step exceed this rank's
        self.shared_casts = 0  # number of autocast regions in which forwards of this kind shared casts
        self.shared_region = None  # the newest of these regions (modes.CastRegion)
        self.plans_by_use = {}  # by the outputs that the loss uses: a plan from shapes, and its answer
        self.disturbed = 0  # observed steps that cannot be used because another thread ran ops during them
        self.state = Recording(self)

    @property
    def owner(self):
        return self._owner()

    @property
    def is_from_shapes(self) -> bool:
        return self.plan is not None and self.plan.is_from_shapes

    @property
    def is_planned(self) -> bool:
        return isinstance(self.state, Planned)

    def step(self, call):
        """Returns the call's return value, or UNDECIDED (see State)."""
        if not self.is_planned:
            self.watch = self.owner.state.watch
        self.settle()
        if self.owner.sharing.casts_now:
            self.note_shared_casts(self.owner.regions.last)
        if not isinstance(self.state, Refused):
            why = gate.why_no_kind(self.shared_casts, self.owner.options.budget_bytes is not None)
            if why:
                self.refuse(why)
        if not self.state.prepare(call):
            return UNDECIDED
        together = self.owner.together
        keeps = together.is_on and together.keeps_from_plan(self, call)
        if keeps is None:
            return UNDECIDED
        if keeps:
            return self.owner.run_original(call.args, call.kwargs, self.fits_perhaps(call))
        return self.state.step(call)

    # Between the steps.

    def settle(self) -> None:
        """Handles the events since the last call."""
        with self.owner.lock:  # other threads may ask for the status
            steps, self.open_steps = self.open_steps, []
            for step in steps:
                if step.is_open():
                    self.open_steps.append(step)
                else:
                    step.settle(self)
            self.state.settle()

    def settle_recorded(self, step) -> None:
        self.owner.hooks.stop(step.recording)
        if step.recording.out_of_memory():
            self.original.is_too_large = True
        if step.recording.state() is not RecordingState.DROPPED and not self.original.is_too_large:
            self.state.settle_recorded(step)

    def release_what_sums(self) -> bool:
        """Abandons the open forwards whose gradients are added to sums: autograd then runs their backwards as
        if there were no plan. Returns whether there were such forwards."""
        are_released = False
        for step in self.open_steps:
            are_released = step.release_if_shared() or are_released
        if self.plan is not None and self.plan.sums:
            for compiled in {self.plan.compiled, *(ending.plan for ending in self.endings.values())}:
                are_released = compiled.abandon_open_forwards() or are_released
        return are_released

    def held_by_open_steps(self) -> list:
        """Returns the bytes that each open step keeps for its backward."""
        return [step.held_bytes() for step in self.open_steps if step.is_open()]

    def wait(self, end=None) -> None:
        """Waits until the plans of this kind are made, at most until the time `end` of `time.monotonic`."""
        self.settle()
        while isinstance(self.state, Planning) and (end is None or time.monotonic() < end):
            if end is None and self.plan.compiled.busy():
                self.plan.compiled.wait()
            elif self.state.is_busy():
                time.sleep(0.02)
            self.settle()  # this may start a new solve
        for ending in list(self.endings.values()):
            if end is None:
                ending.plan.wait()
            while ending.plan.busy() and time.monotonic() < end:
                time.sleep(0.02)

    @property
    def endings(self) -> dict:
        """The plans that include the optimizer's part of the step, by their role (see updates/ending.py)."""
        return {} if self.plan is None else self.plan.endings

    def to_bytes(self) -> bytes:
        """Returns the contents of a file with the plan of this kind."""
        owner = self.owner
        packing = self.plan.packing(owner.module, owner.state.reads_kept, owner.options.budget_bytes)
        self.plan.compiled.pack(packing.text())
        return self.plan.compiled.to_bytes()

    # The memory that a step of the original takes.
    def fits(self, call):
        """Says whether a step of the original fits in the budget. In a step that compares the plan with the
        original, the two must fit together. Returns None if this is not known."""
        owner, original = self.owner, self.original
        if original.is_too_large:
            return False
        if not original.bytes or owner.options.budget_bytes is None or owner.state.watch is None:
            return None
        if owner.fallback.choice == "evict" and self.answer is None:
            return None  # shapes do not show what the caller does besides loss and backward
        needed = max(self.state.needed_bytes(original.bytes), owner.update_bytes())
        fits = owner.has_room_for(self.other_bytes(call) + needed)
        if not fits:
            owner.fallback.has_not_fitted = True
        return fits and not owner.fallback.has_not_fitted_together(owner.several)

    def fits_perhaps(self, call):
        """Says whether a step of the original fits even if it runs other ops than the recorded steps; None if
        this is not known. Returns False if any earlier step of the original did not fit, because such a step
        can be open together with other steps."""
        fits = self.fits(call)
        if fits is False or self.owner.fallback.has_not_fitted:
            return False
        if self.owner.fallback.choice == "evict":
            return None
        return fits and self.owner.has_room_for(self.other_bytes(call) + self.original.bytes_for_sure())

    def other_bytes(self, call) -> int:
        """Returns the bytes of all tensors on the device that do not belong to the step."""
        return other_bytes(self.owner.state.watch.tensors_at_any_time(), call.inputs, call.device)

    def look_at_shapes(self, call):
        """Before the first step, estimates from shapes how many bytes the step takes. Returns the recording
        from shapes; None if no recording was made in this call."""
        if self.original.bytes is not None:
            return None
        self.original.bytes = 0
        found = self.owner.record_from_shapes(call)
        if found is not None:
            self.original.bytes = self.owner.recorded_bytes(found)
        return found

    def note_recorded_bytes(self, recorded) -> None:
        owner = self.owner
        self.original.note_loss(recorded.recording.used_outputs(), *recorded.recording.loss_bytes())
        if not self.original.bytes or owner.options.budget_bytes is None:
            return
        self.original.note_recorded(owner.recorded_bytes(recorded))

    def note_answer(self, answer) -> None:
        """Stores the planner's answer. Even if no schedule was found, it has the bytes of the original."""
        self.answer = answer
        if self.original.bytes:
            self.original.note_recorded(self.owner.original_bytes(answer))

    def note_shared_casts(self, region) -> None:
        """Called when a forward of this kind shares casts of weights with another forward."""
        if region is self.shared_region:
            return
        self.shared_region = region
        self.shared_casts += 1
        if not isinstance(self.state, Refused):
            self.reason = gate.SHARED_CASTS
            log.info("rematlas: %s; this step runs the original", gate.SHARED_CASTS)

    def note_disturbed(self, op) -> None:
        """Called when another thread ran the op `op` in a step that was recorded or compared. The next step
        is recorded or compared instead, unless too many steps were disturbed."""
        self.disturbed += 1
        if self.disturbed > MOST_DISTURBED:
            self.refuse(
                f"another thread of the program ran {op} in each of {self.disturbed} steps that were recorded"
                " or compared: random numbers and memory are the process's, which cannot be told apart"
            )

    # Transitions between states. Each method changes the state at once, because later code may raise, and a
    # wait may be interrupted.

    def refuse(self, why, error=None, room=None) -> None:
        self.reason = why
        self.plan, self.open_steps, self.plans_by_use = None, [], {}
        self.state = Refused(self, room)
        # If the bytes of a step are known, the message speaks of steps that do not fit, which eviction runs.
        self.owner.refusals.tell(why, error, False if self.original.bytes else None)

    def begin_planning(self, first, second) -> None:
        """Starts to plan from two recorded steps that ran the same ops."""
        owner = self.owner
        try:
            recordings = first.recording, second.recording
            compiled = CompiledPlan.of_recordings(*recordings, owner.name, owner.options.wire_weight)
        except RuntimeError as error:
            self.state.fail(message(error))
            return
        sums, others = second.recording.sums_gradients(), second.other_bytes + self.more_beside
        self.plan = StepPlan(compiled, second.returned, sums=sums, other_bytes=others, frames=owner.frames)
        self.plan.leave_spare(second.spare)
        if not self.passes_gate():
            return
        if owner.together.key:
            self.plan.shared = owner.together.shared(compiled, owner.options, owner.frames)
        self.start_planning()

    def start_planning(self) -> None:
        """Starts to solve, or to wait for the process that solves for the whole training."""
        with self.owner.lock:
            if not isinstance(self.state, Planning):
                self.state = Planning(self)
            if self.state.is_received():
                return
            try:
                self.plan.start(self.owner)
            except RuntimeError as error:
                self.refuse(message(error))

    def passes_gate(self) -> bool:
        """Returns whether the plan may run the module's steps. If it may not, refuses this kind of call."""
        why = gate.why_no_plan(self.owner.sharing, self.plan)
        if why:
            self.refuse(why)
        return not why

    def bind(self, is_last_try=False) -> None:
        """Makes the solved plan ready to run. A plan from real steps is then compared with the original if
        `verify` asks for it, and if both fit in the budget together or eviction can run the step."""
        owner, plan, answer = self.owner, self.plan, self.answer
        if not self.passes_gate():
            return
        try:
            plan.bind(self.watch or owner.state.watch or owner.state.look(), owner.name)
        except RuntimeError as error:
            if is_last_try:
                self.refuse(message(error))
            else:
                self.state = Unbound(self)
            return
        self.original.note_answer(owner.original_bytes(answer), answer, self.is_from_shapes)
        fits = self.can_compare(plan.other_bytes) or owner.fallback.evicts(False)
        is_compared = self.comparisons.identical < owner.options.verify and fits and not self.is_from_shapes
        self.state, self.watch = Comparing(self), None
        if not is_compared:
            self.skip_comparison()
        if not isinstance(self.state, Refused):
            self.note_success()

    def compare_later(self, others) -> None:
        """Starts to compare a plan that has been used without a comparison so far, if the budget has room for
        both plan and original in this step. `others`: bytes of tensors that do not belong to this step."""
        if self.comparisons.identical < self.owner.options.verify and self.can_compare(others):
            self.state = Comparing(self)

    def can_compare(self, others) -> bool:
        """Says whether the plan can run next to the original. `others`: as in `compare_later`."""
        is_hopeless = self.comparisons.are_given_up or self.original.is_too_large
        needed = max(self.original.bytes, self.original.comparison_bytes)
        return not is_hopeless and self.owner.has_room_for(others + needed)

    def compare_again(self) -> None:  # called when another rank compares the step that begins
        self.state = Comparing(self)

    def note_success(self) -> None:
        self.reason = ""
        self.owner.refusals.note_success(self.base)

    def skip_comparison(self) -> None:
        """Starts to use the plan without the comparisons that are still missing."""
        if isinstance(self.state, Comparing):
            self.use()

    def use(self) -> None:
        """Lets the plan run the steps from now on. Refuses a plan that had to be compared and was not."""
        why = gate.why_not_uncompared(self.answer, self.comparisons)
        if why:
            self.refuse(why)
        else:
            self.state = Planned(self)

    def plan_directly(self) -> str:
        """Makes plans that all include the optimizer's part of the step. Returns why there are no such plans;
        empty if there are."""
        answer, why = self.owner.updates.plan_directly(self.owner.context(), self.plan)
        self.answer = answer or self.answer
        if why:
            log.info("rematlas: %s", why)
            return why
        self.state = Planned(self)
        self.note_success()
        return ""

    def record_anew(self) -> None:
        """Goes back to recording, because the call's tensors have other layouts than the planned ones."""
        self.plan, self.state, self.plans_by_use = None, Recording(self), {}
        self.comparisons.begin_anew()

    def record_really(self) -> None:
        """Goes back to recording, and from now on records only real steps. Called when the plan from shapes
        cannot be used, and facts from shapes may be wrong."""
        self.plan, self.state, self.plans_by_use = None, Recording(self), {}
        self.original.bytes = 0

    # Planning within a step. The step waits until the plan is made.

    def plan_beside(self, others) -> None:
        """Plans again, because tensors that do not belong to the step now take `others` bytes, more than when
        the step was planned."""
        self.plan.be_for(other_bytes=others)
        self.comparisons.begin_anew()
        self.start_planning()
        self.state.finish()

    def plan_for_frames(self, frames) -> None:
        """Plans again, because more forwards are open at a time than the plan allows for."""
        plan, before = self.plan, self.plan.frames
        log.warning(
            "rematlas: %d forwards are open at a time, the plan is for %d: it is made anew", frames, before
        )
        self.comparisons.begin_anew()
        plan.be_for(frames=frames)
        self.start_planning()
        if self.plan is None:  # refused
            return
        plan.compiled.wait()
        if not plan.compiled.answer().is_solved and self.owner.options.budget_bytes is None:
            log.warning("rematlas: no plan keeps the budget with so many; the one for %d stays", before)
            plan.be_for(frames=before)
            plan.start(self.owner)
        self.state.finish()
        plan.be_for(frames=frames)

    def plan_from_shapes(self, call, used=(), found=None) -> bool:
        """Plans the step from shapes now, before it runs. Returns whether there is a plan. `used` is as in
        `from_shapes.record`; `found` is a recording from shapes that was already made."""
        if self.owner.form.is_sharded:
            return False
        log.warning(
            "rematlas: the step does not fit unscheduled; it is planned from shapes, and the plan is not"
            " compared with it"
        )
        owner = self.owner
        used = used or self.original.used_outputs
        if found is None or (used and found.used != used):
            found = owner.record_from_shapes(call, used)
        watch = owner.state.watch
        if found is None or watch is None:
            return False
        found.recording.expect_loss(*self.original.loss_bytes)
        # Ops are timed on the parameters themselves. Parameters on the host are not used, because timing
        # would copy them to the device.
        there = ((), ()) if owner.options.copies.moves_weights else (watch.names, watch.tensors_at_any_time())
        try:
            with generators_put_back(call.device):
                compiled = CompiledPlan.from_shapes(found.recording, owner.name, True, *there)
        except RuntimeError as error:
            log.info("rematlas: the step cannot be planned from shapes: %s", message(error))
            return False
        held = self.held_by_open_steps()
        owner.note_frames(len(held) + 1)
        self.plan = StepPlan(
            compiled,
            found.returned,
            sums=found.recording.sums_gradients(),
            other_bytes=self.other_bytes(call) - sum(held),
            frames=owner.frames,
            used=found.used,
        )
        if not self.passes_gate():
            return False
        if owner.updates is not None and owner.updates.is_declared and not self.plan_directly():
            return True
        self.start_planning()
        self.state.finish()
        return self.is_planned

    def take_known_plan(self, used) -> bool:
        """Takes the plan that was made earlier for a loss that uses the outputs `used`. Stores the present
        plan, because losses may use different outputs in turn. Returns False if no such plan fits."""
        self.plans_by_use[tuple(self.plan.used)] = self.plan, self.answer
        plan, answer = self.plans_by_use.get(tuple(used), (None, None))
        if plan is None or plan.frames < self.owner.frames:
            return False
        others = max(plan.other_bytes, self.plan.other_bytes)
        if not self.owner.has_room_for(others + answer.step_bytes):
            return False
        self.plan, self.answer = plan, answer
        return True

    def replan_for(self, call, given, used):
        """Called when a backward that the plan cannot run has given gradients to the outputs `used`. If the
        plan from shapes assumes other outputs, runs the forward by a plan for the outputs `used`, and returns
        its outputs. Returns None if the assumption was right, or if there is no such plan."""
        if not self.is_from_shapes or not used or used == self.plan.used:
            return None
        if not self.take_known_plan(used) and not self.plan_from_shapes(call, used):
            return None
        outputs, why = self.owner.forward_by_plan(self, call, given)
        if why:
            self.owner.note_original_backward(why)
            return None
        return outputs
