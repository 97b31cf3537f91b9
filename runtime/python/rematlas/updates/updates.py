"""An optimizer whose updates are part of the planned step: `apply(model, budget, optimizer=optimizer)`.

The updates run within the backward: each parameter is updated as soon as its gradient is final, and then the
gradient is freed. The training stays the same only if `optimizer.step()` follows every backward, and if
nothing reads or changes gradients in between. So planned steps are first watched while the optimizer itself
still updates the parameters. If these steps do anything else (accumulation, clipping, a GradScaler, a
closure), the optimizer continues to do the updates. Once updates are part of the plan, each gradient is
replaced by a `ConsumedGradient` until `optimizer.step()`, which has nothing left to do. A `ConsumedGradient`
raises an error if the program uses the gradient.

The user can also announce the operations between backward and step: `accumulate` backwards before each step,
clipping by `clip_norm`, and a `scaler` that multiplies the loss. Then no step has to be watched. All
backwards of a step except the last one run by a separate plan, which adds the gradients to sums. The sums are
the parameters' `.grad`, as usual; they are on the host if the weights are. If a step does not fit, and
plans with the updates are found, only such plans run it (`StepPlan.is_direct`).
"""

import logging
import typing

import torch

from .. import ranks
from ..errors import message
from .consumed_gradient import is_real
from .consumed_step import ConsumedStep, is_hooked
from .ending import Endings, NoEnding
from .kept_between_steps import gradients, missing_states
from .optimizers import unfit
from .plan_states import PlanStates
from .update_rule import Role, UpdateRule

log = logging.getLogger("rematlas")
WATCHED_STEPS = 2  # steps that must be as expected before updates move into the backward
REDUCED = "gradients are reduced between processes first: leave optimizer= out"


class Replayed(typing.NamedTuple):
    """A step that a plan without updates has run."""

    plan: object  # its CompiledPlan
    parameters: dict  # the parameters by name
    versions: list  # their versions when the forward began; empty if the step is not watched


def versions(parameters) -> list:
    """Returns the versions of the parameters. Writes in place raise them."""
    return [parameter._version for parameter in parameters.values()]


class Updates:
    """Follows forwards, backwards and the optimizer's steps, and decides which steps run by plans with
    updates."""

    def __init__(self, module, options):
        self.module = module
        self.rule = UpdateRule(options.optimizer, options.accumulate, options.clip_norm, options.scaler)
        self.states = PlanStates(self.rule, options.copies)
        self.consumed = ConsumedStep(self.rule, self.states)
        self.endings = Endings(self.rule, self.states)
        # Whether steps need not be watched: the user has announced the operations before the optimizer's
        # steps, or the plan moves weights.
        self.is_declared = self.rule.is_announced or options.copies.moves_weights
        self.refused_for_good = ""  # why the optimizer does all updates itself from now on
        self.refused_this_step = ""  # why the optimizer does the updates of its next step itself
        self.why = ""  # why the plan of the newest forward does not use up the gradients
        self.watched = 0  # the number of watched steps that were as expected
        self.forwards = 0  # forwards in train mode since the newest step of the optimizer
        self.replayed = None  # the Replayed of the gradients that the optimizer uses next
        self.open = None  # the plan with updates whose forward may still be open; None if there is none
        optimizer = self.rule.optimizer
        self.before = optimizer.register_step_pre_hook(self.before_step)
        self.after = optimizer.register_step_post_hook(self.after_step)
        self.loads = optimizer.register_load_state_dict_post_hook(self.after_loading)

    @property
    def steps(self) -> int:
        """The number of steps whose updates ran during backward."""
        return self.consumed.count

    @property
    def gradient_norm(self):
        return self.states.numbers.get("norm")

    def close(self) -> None:
        for hook in (self.before, self.after, self.loads):
            hook.remove()
        self.consumed.give_back()

    def be_last(self) -> None:
        """Makes the hook of this object run last before the optimizer's step. Other hooks must see the
        gradients, or their stand-ins, before this hook removes the stand-ins."""
        if next(reversed(self.rule.optimizer._optimizer_step_pre_hooks)) != self.before.id:
            self.before.remove()
            self.before = self.rule.optimizer.register_step_pre_hook(self.before_step)

    def refuse_for_good(self, why) -> None:
        """From now on the optimizer does its own updates."""
        if not self.refused_for_good:
            log.info("rematlas: the updates are no part of the plan: %s", why)
        self.refused_for_good = why

    def refuse_this_step(self, why) -> None:
        """Called when this step is not as expected. The optimizer then does the updates of this step itself.
        If the user has announced nothing, the optimizer does all updates itself from now on."""
        if self.is_declared:
            self.refused_this_step = why
        else:
            self.refuse_for_good(why)

    def note_several(self) -> None:
        """Called when a forward begins while an earlier one is still open. Autograd then handles both."""
        self.refuse_this_step("several forwards are open at a time")

    # Events of the training.
    def before_forward(self) -> None:
        self.be_last()
        self.consumed.raise_fault()
        if self.consumed.begin():
            self.forwards, self.replayed = 0, None
        if self.consumed.is_done:
            raise RuntimeError(
                "rematlas: the parameters were updated during the last backward, which was the last one of a"
                f" step (accumulate={self.rule.accumulate}), and optimizer.step() was not called since; where"
                " another number of backwards comes before each step, give accumulate= that number; where it"
                " is not always the same, or steps are left out, leave optimizer= out"
            )
        if self.open is not None and not self.open.open_forwards():
            self.note_no_forward()  # the newest forward never had its backward
        self.count_forward()
        if self.open is not None and self.open.open_forwards():
            self.open.abandon_open_forwards()
            self.note_several()
        self.open = None

    def count_forward(self) -> None:
        """Counts the forwards since the optimizer's newest step. Raises RuntimeError if there are more than
        announced."""
        accumulate = self.rule.accumulate
        if accumulate > 1 and self.forwards and not any(is_real(p.grad) for p in self.module.parameters()):
            self.forwards = 0  # zero_grad has ended the step early, for example after an interrupt
        self.forwards += 1
        if accumulate > 1 and self.forwards > accumulate:
            raise RuntimeError(
                f"rematlas: accumulate={accumulate}, and another forward comes before optimizer.step(); where"
                " so many backwards do not come before each step, leave accumulate= out"
            )

    def note_no_forward(self) -> None:
        """Called when it is clear that the newest forward will have no backward."""
        self.forwards = max(0, self.forwards - 1)
        self.open = None

    def note_original(self) -> None:
        """Called when the original runs the step that has begun, because the plan could not. Gradients then
        go to `.grad`."""
        self.open = None

    # The methods below are called when a backward has taken the gradients. After an interrupt each of them
    # may be called again.

    def note_taken(self, forward) -> None:
        self.open = None
        self.consumed.note_faults(forward)

    def put_stand_ins(self, forward) -> None:
        self.consumed.put_stand_ins(forward)

    def note_interrupts(self, forward) -> None:
        self.consumed.note_interrupts(forward)

    parts_of_taking = (note_taken, put_stand_ins, note_interrupts)

    def before_step(self, optimizer, args, kwargs) -> None:
        """Runs at the beginning of `optimizer.step()`."""
        self.consumed.check()
        if not self.consumed.is_done:
            if not self.refused_for_good:
                has_closure = (args[1] if len(args) > 1 else kwargs.get("closure")) is not None
                self.watch_step(optimizer, has_closure)
            norm = self.rule.clip(self.module)
            if norm is not None:
                self.states.numbers["norm"] = norm
        self.consumed.end()
        self.forwards, self.replayed = 0, None

    def after_step(self, optimizer, args, kwargs) -> None:
        self.refused_this_step = ""
        self.consumed.note_spent()

    def after_loading(self, optimizer) -> None:
        """Called when the optimizer has loaded states, for example from a checkpoint to which the program
        returns. The program then skips the rest of the present step."""
        self.consumed.was_reloaded = True

    def watch_step(self, optimizer, has_closure) -> None:
        """Checks whether the optimizer's own step is as expected, and counts it if it is."""
        if ranks.store() is not None:
            self.refuse_for_good(REDUCED)
        elif has_closure:
            self.refuse_this_step("optimizer.step is given a closure: call it without one")
        elif self.rule.scaler is None and getattr(optimizer, "found_inf", None) is not None:
            self.refuse_for_good(
                "a GradScaler decides about steps when all gradients are there (say so with scaler=)"
            )
        elif self.replayed is None or self.is_declared:
            return
        elif self.rule.options() != self.consumed.options_read:
            self.refuse_for_good(
                "options of the optimizer are changed between forward and step: change them before the"
                " forward"
            )
        elif self.forwards != 1:
            self.refuse_for_good(
                "several forwards come before a step (say how many backwards with accumulate=)"
            )
        elif not self.gradients_are_as_handed_out():
            self.refuse_for_good(
                "gradients are changed or replaced between backward and step (clipped, say: give clip_norm=),"
                " or zeros were there before the backward (give zero_grad set_to_none=True)"
            )
        elif versions(self.replayed.parameters) != self.replayed.versions:
            self.refuse_for_good("parameters are written to between forward and step")
        else:
            self.watched += 1

    def gradients_are_as_handed_out(self) -> bool:
        """Says whether the gradients are still the tensors that the plan has handed out. Only parameters of
        this optimizer count, because the program may do anything with the gradients of other parameters."""
        plan, parameters, _ = self.replayed
        nothing, mine, gradients = torch.empty(0), self.rule.parameter_ids(), []
        for name in plan.gradient_names():
            parameter = parameters.get(name)
            is_asked = parameter is not None and id(parameter) in mine
            gradients.append((nothing if parameter.grad is None else parameter.grad) if is_asked else None)
        return plan.gradients_are_as_handed_out(gradients)

    # The plans.

    def advice(self) -> str:
        """Returns why a step is not planned together with the updates, or what the user can announce for
        that."""
        if self.is_declared:
            return self.refused_for_good
        return "give accumulate=1 if exactly one backward comes before each step, or clip_norm= or scaler="

    def missing_bytes(self) -> int:
        """Returns the bytes of gradients and optimizer states that do not exist yet, but will exist in the
        optimizer's own step; 0 if a plan cannot take over the updates, or only after steps have been
        watched."""
        if not self.is_declared or self.refused_for_good:
            return 0
        parameters = self.rule.parameters()
        states = missing_states(self.rule.optimizer, {id(parameter): parameter for parameter in parameters})
        return gradients(parameters).missing + states

    def plan_for(self, context, step_plan):
        """Finds the plan whose backward also updates the parameters or sums the gradients. Returns this plan
        and an empty text if it may run this step; otherwise None and the reason."""
        plan, self.why = self.find_plan(context, step_plan)
        return plan, self.why

    def find_plan(self, context, step_plan):
        parameters = context.parameters()
        is_watched = not (self.refused_for_good or self.is_declared)
        self.replayed = Replayed(step_plan.compiled, parameters, versions(parameters) if is_watched else [])
        why = self.why_not_now(context, step_plan, parameters)
        if why:
            return None, why
        role = Role.UPDATE if self.rule.accumulate in (1, self.forwards) else Role.SUM
        try:
            ending, why = self.endings.find(context, step_plan, role, self.is_declared)
        except NoEnding as error:
            self.refuse_for_good(message(error))
            return None, self.refused_for_good
        if ending is None:
            return None, why
        self.consumed.expect(role, ending.parameters(self.rule, parameters))
        self.replayed, self.open = None, ending.plan
        return ending.plan, ""

    def why_not_now(self, context, step_plan, parameters) -> str:
        """Returns why the plan may not use up the gradients of this step; empty if it may."""
        if self.refused_for_good or self.refused_this_step:
            return self.refused_for_good or self.refused_this_step
        if step_plan.compiled.open_forwards() or (context.several and not self.is_declared):
            return "several forwards are open at a time"
        if not self.is_declared and (self.watched < WATCHED_STEPS or step_plan.is_from_shapes):
            return "it has not been watched"
        if self.is_declared and ranks.store() is not None:
            return REDUCED
        why = self.why_gradients_are_wanted(parameters)
        if why:
            return why
        if self.rule.clip_norm is not None or self.rule.scaler is not None:
            known = {id(parameter) for parameter in parameters.values()}
            if any(id(parameter) not in known for parameter in self.rule.parameters()):
                what = "scaled" if self.rule.clip_norm is None else "clipped"
                return (
                    f"the optimizer has parameters of other modules, whose gradients are {what} with these:"
                    " make one for this module alone"
                )
        return unfit(self.rule.optimizer) or ""

    def why_gradients_are_wanted(self, parameters) -> str:
        """Returns why the gradients of this backward must still exist after it; empty if they need not."""
        mine = self.rule.parameter_ids()
        for parameter in parameters.values():
            if id(parameter) not in mine:
                continue
            if is_real(parameter.grad) and self.rule.accumulate == 1:
                return (
                    "there are gradients of earlier backwards (optimizer.zero_grad was not called, or with"
                    " set_to_none=False)"
                )
            if is_hooked(parameter):
                return "parameters have hooks"
        return ""

    def plan_directly(self, context, step_plan):
        """See the method of Endings with the same name. If no ending is possible, the optimizer does all
        updates itself."""
        try:
            return self.endings.plan_directly(context, step_plan)
        except NoEnding as error:
            self.refuse_for_good(message(error))
            return None, self.refused_for_good

    def take_given(self, context, step_plan, text) -> str:
        """See the method of Endings with the same name."""
        why = unfit(self.rule.optimizer) or self.endings.take_given(context, step_plan, text)
        self.is_declared = self.is_declared or not why
        return why
