"""An optimizer whose updates are part of the planned step: `apply(model, budget, optimizer=optimizer)`.

The updates run within the backward, each as soon as its gradient is final, which is freed with it. That is
the same training only where every backward is followed by `optimizer.step()`, and where nothing reads or
changes gradients in between. So it is watched first, on planned steps that the optimizer itself ends; where
it is otherwise (accumulation, clipping, a GradScaler, a closure) the optimizer goes on to do its own steps.
Later, whoever looks at a gradient that is gone is told so: `ConsumedGradient` stands in its place until
`optimizer.step()`, which has nothing left to do.

What comes between backward and step can be told beforehand instead: `accumulate` backwards before each step,
`clip_norm` before it, and a `scaler` by which the loss is multiplied. Then nothing has to be watched.
Backwards before the last one of a step run by a plan of their own, which adds the gradients to sums: the
parameters' `.grad`, as ever, which lives on the host where weights do. Where the step does not fit without
its updates there are such plans alone (`StepPlan.is_direct`).
"""

import logging

import torch

from .. import ranks
from .consumed_gradient import is_real
from .consumed_step import ConsumedStep, is_hooked
from .ending import Endings, NoEnding
from .optimizers import unfit
from .plan_states import PlanStates
from .update_rule import Role, UpdateRule

log = logging.getLogger("rematlas")
WATCHED_STEPS = 2  # of the expected course, before updates move into the backward


class Updates:
    """It hears of forwards, backwards and the optimizer's steps, and says which steps run by plans with
    updates."""

    def __init__(self, module, options):
        self.module = module
        self.rule = UpdateRule(options.optimizer, options.accumulate, options.clip_norm, options.scaler)
        self.states = PlanStates(self.rule, options.copies)
        self.consumed = ConsumedStep(self.rule, self.states)
        self.endings = Endings(self.rule, self.states)
        # Nothing has to be watched
        self.is_declared = self.rule.is_announced() or options.copies.moves_weights
        self.refused_for_good = ""  # why the optimizer does its own steps from here on
        self.refused_this_step = ""  # why it does the next one
        self.why = ""  # the last forward could not take its gradients itself
        self.watched = 0  # steps of the expected course
        self.forwards = 0  # in train mode, since the last step
        self.replayed = None  # the plan whose gradients the optimizer takes next, and the parameters by name
        self.open = None  # the plan with an ending whose forward may be open
        optimizer = self.rule.optimizer
        self.before = optimizer.register_step_pre_hook(self.before_step)
        self.after = optimizer.register_step_post_hook(self.after_step)
        self.loads = optimizer.register_load_state_dict_post_hook(self.after_loading)

    @property
    def steps(self) -> int:
        """How many steps did their updates during backward."""
        return self.consumed.count

    @property
    def gradient_norm(self):
        return self.states.numbers.get("norm")

    def close(self) -> None:
        for hook in (self.before, self.after, self.loads):
            hook.remove()
        self.consumed.give_back()

    def be_last(self) -> None:
        """The hook is to run last: hooks of others see the gradients, or that they are gone, before this one
        hands them over."""
        if next(reversed(self.rule.optimizer._optimizer_step_pre_hooks)) != self.before.id:
            self.before.remove()
            self.before = self.rule.optimizer.register_step_pre_hook(self.before_step)

    def refuse_for_good(self, why) -> None:
        """The optimizer does its own steps from here on."""
        if not self.refused_for_good:
            log.info("rematlas: the updates are no part of the plan: %s", why)
        self.refused_for_good = why

    def refuse_this_step(self, why) -> None:
        """What comes before steps was announced, and this step is otherwise: the optimizer does this one
        itself. Where nothing was announced it does all."""
        if self.is_declared:
            self.refused_this_step = why
        else:
            self.refuse_for_good(why)

    def note_several(self) -> None:
        """A forward begins while another one is open, which was given to the caller."""
        self.refuse_this_step("several forwards are open at a time")

    # What training does.

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
            self.note_no_forward()  # the last one never had its backward
        self.count_forward()
        if self.open is not None and self.open.open_forwards():
            self.open.abandon_open_forwards()
            self.note_several()
        self.open = None

    def count_forward(self) -> None:
        """Counts the forwards of a step. Raises RuntimeError where there are more than announced."""
        accumulate = self.rule.accumulate
        if accumulate > 1 and self.forwards and not any(is_real(p.grad) for p in self.module.parameters()):
            self.forwards = 0  # what was begun was given up: an interrupt, say, and then zero_grad
        self.forwards += 1
        if accumulate > 1 and self.forwards > accumulate:
            raise RuntimeError(
                f"rematlas: accumulate={accumulate}, and another forward comes before optimizer.step(); where"
                " so many backwards do not come before each step, leave accumulate= out"
            )

    def note_no_forward(self) -> None:
        """The last forward has no backward, and will have none."""
        self.forwards = max(0, self.forwards - 1)
        self.open = None

    def note_original(self) -> None:
        """The plan could not run the step that has begun: gradients come to `.grad`."""
        self.open = None

    def has_hooks(self) -> bool:
        return self.consumed.has_hooks()

    # A backward has taken the gradients. Each of these may be called again where it was interrupted.

    def note_taken(self, forward) -> None:
        self.open = None
        self.consumed.note_faults(forward)

    def put_stand_ins(self, forward) -> None:
        self.consumed.put_stand_ins(forward)

    def note_interrupts(self, forward) -> None:
        self.consumed.note_interrupts(forward)

    parts_of_taking = (note_taken, put_stand_ins, note_interrupts)

    def end_backward(self, forward) -> None:
        self.consumed.end_backward(forward)

    def before_step(self, optimizer, args, kwargs) -> None:
        """Called by `optimizer.step()` at its beginning."""
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
        """Who goes back to a checkpoint leaves the step out that had begun."""
        self.consumed.note_reloaded()

    def watch_step(self, optimizer, has_closure) -> None:
        """Looks whether the optimizer's own step is of the expected course."""
        if ranks.store() is not None:
            self.refuse_for_good("gradients are reduced between processes first")
        elif has_closure:
            self.refuse_this_step("optimizer.step is given a closure")
        elif self.rule.scaler is None and getattr(optimizer, "found_inf", None) is not None:
            self.refuse_for_good(
                "a GradScaler decides about steps when all gradients are there (say so with scaler=)"
            )
        elif self.replayed is None or self.is_declared:
            return
        elif self.rule.options() != self.consumed.options_read:
            self.refuse_for_good("options of the optimizer are changed between forward and step")
        elif self.forwards != 1:
            self.refuse_for_good("several forwards come before a step")
        elif not self.gradients_are_as_handed_out():
            self.refuse_for_good("gradients are changed or replaced between backward and step (clipped, say)")
        else:
            self.watched += 1

    def gradients_are_as_handed_out(self) -> bool:
        """Looks at the optimizer's parameters alone: other gradients may be collected by whom they belong
        to."""
        plan, parameters = self.replayed
        nothing, mine, gradients = torch.empty(0), self.rule.parameter_ids(), []
        for name in plan.gradient_names():
            parameter = parameters.get(name)
            is_asked = parameter is not None and id(parameter) in mine
            gradients.append((nothing if parameter.grad is None else parameter.grad) if is_asked else None)
        return plan.gradients_are_as_handed_out(gradients)

    # The plans.

    def next_role(self) -> Role:
        return Role.UPDATE if self.forwards == self.rule.accumulate or self.rule.accumulate == 1 else Role.SUM

    def plan_for(self, context, step_plan):
        """Returns the plan that takes the gradients itself where this step may run it; else None, and why."""
        plan, self.why = self.find_plan(context, step_plan)
        return plan, self.why

    def find_plan(self, context, step_plan):
        parameters = context.parameters()
        self.replayed = (step_plan.compiled, parameters)
        why = self.why_not_now(context, step_plan, parameters)
        if why:
            return None, why
        role = self.next_role()
        try:
            ending, why = self.endings.find(context, step_plan, role, self.is_declared)
        except NoEnding as error:
            self.refuse_for_good(str(error))
            return None, self.refused_for_good
        if ending is None:
            return None, why
        self.consumed.expect(role, ending.parameters(self.rule, parameters))
        self.replayed, self.open = None, ending.plan
        return ending.plan, ""

    def why_not_now(self, context, step_plan, parameters) -> str:
        """Says why this step may not take its gradients itself; empty where it may."""
        if self.refused_for_good or self.refused_this_step:
            return self.refused_for_good or self.refused_this_step
        if step_plan.compiled.open_forwards() or (context.several and not self.is_declared):
            return "several forwards are open at a time"
        if not self.is_declared and (self.watched < WATCHED_STEPS or step_plan.is_from_shapes):
            return "it has not been watched"
        if self.is_declared and ranks.store() is not None:
            return "gradients are reduced between processes first"
        why = self.why_gradients_are_wanted(parameters)
        if why:
            return why
        if self.rule.clip_norm is not None or self.rule.scaler is not None:
            known = {id(parameter) for parameter in parameters.values()}
            if any(id(parameter) not in known for parameter in self.rule.parameters()):
                what = "scaled" if self.rule.clip_norm is None else "clipped"
                return f"the optimizer has parameters of other modules, whose gradients are {what} with these"
        return unfit(self.rule.optimizer) or ""

    def why_gradients_are_wanted(self, parameters) -> str:
        """Says why gradients must be there after this backward; empty where they need not."""
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
        """See Endings."""
        try:
            return self.endings.plan_directly(context, step_plan)
        except NoEnding as error:
            self.refuse_for_good(str(error))
            return None, self.refused_for_good

    def ended(self, context, step_plan):
        """See Endings."""
        return self.endings.ended(context, step_plan)

    def take_given(self, context, step_plan, text) -> str:
        """See Endings."""
        why = unfit(self.rule.optimizer) or self.endings.take_given(context, step_plan, text)
        self.is_declared = self.is_declared or not why
        return why
