"""Endings. An ending is a plan of a kind of call that also has the optimizer's part of the step: it takes the
gradients itself, and updates parameters with them or adds them to sums."""

import typing

from ..compiled.memory import other_bytes
from ..errors import infeasible_text, message
from .plan_states import names_of_parameters
from .update_rule import Role


class StepContext(typing.NamedTuple):
    """The facts that updates need about a step that begins, or about a step to plan."""

    options: object  # the options of `apply`
    owner: str  # the module's name, for messages about plans
    watch: object
    tensors: list  # parameters and buffers
    inputs: list
    device: str
    several: bool  # several forwards have been open at a time

    def parameters(self) -> dict:
        """Returns the parameters by their names."""
        return dict(zip(self.watch.names[: len(self.watch.parameters)], self.tensors))


class NoEnding(Exception):
    """Raised with the reason why no plan of this module can include the updates."""


class Ending:
    """An ending (see the top of this file) for one Role."""

    def __init__(self, plan, text, fixed, other_bytes):
        self.plan = plan
        self.text = text  # see UpdateRule.text
        self.fixed = fixed  # text about the optimizer's groups, without numbers that may change
        self.other_bytes = other_bytes  # bytes that did not belong to the step when it was planned
        # for each group: the optimizer's numbers that the plan uses, except the learning rate
        self.numbers = []
        self.is_bound = False
        self.answer = None

    def settle(self, solver) -> str:
        """Called when planning has ended. Returns why there is no plan; empty if there is one."""
        if self.answer is None:
            self.answer = self.plan.answer()
        if self.answer.infeasible is not None:
            return infeasible_text(solver, self.answer)
        return self.answer.error or ""

    def bind(self, context, states, groups, sums) -> None:
        """Makes the plan ready for the step that begins. Raises NoEnding if that is impossible."""
        told = [told for _, told in groups]
        try:
            if self.is_bound:
                self.plan.rebind_states(states)
            else:
                self.plan.bind(context.watch, context.tensors, context.owner, states)
                self.plan.set_sums_gradients(sums)
                self.is_bound = True
            numbers = [group["optimizer"] | {"lr": 0} for group in told]
            if self.numbers != numbers:
                self.plan.change_numbers(told)
                self.numbers = numbers
        except RuntimeError as error:
            raise NoEnding(message(error)) from None

    def parameters(self, rule, by_name) -> list:
        """Returns the parameters whose gradients this plan takes."""
        if rule.accumulate > 1:
            trained = names_of_parameters(self.plan)
            return [parameter for name, parameter in by_name.items() if name in trained]
        mine = rule.parameter_ids()
        return [
            parameter for parameter in by_name.values() if parameter.requires_grad and id(parameter) in mine
        ]


class Endings:
    """Finds the endings of a StepPlan (see the top of this file), and makes missing ones."""

    def __init__(self, rule, states):
        self.rule = rule
        self.states = states

    def find(self, context, step_plan, role, makes_missing):
        """Returns a pair: the ending for the role, ready to run, and an empty text; or, if the ending is not
        ready yet, None and the reason. Raises NoEnding if the ending cannot be made."""
        groups, fixed = self.rule.groups(context.parameters())
        ending = step_plan.endings.get(role)
        if ending is None or ending.fixed != fixed:
            ending = self.start(context, step_plan, role, groups, fixed)
        if step_plan.is_direct:
            ending.plan.wait()
        if ending.plan.busy():
            return None, "it is being planned"
        why = self.prepare(context, step_plan, role, groups, makes_missing)
        if why and step_plan.is_direct and role not in step_plan.endings:
            self.start(context, step_plan, role, groups, fixed).plan.wait()
            why = self.prepare(context, step_plan, role, groups, makes_missing)
        return (None, why) if why else (step_plan.endings[role], "")

    def start(self, context, step_plan, role, groups, fixed) -> Ending:
        """Starts to plan the ending (see the top of this file) for a role. The role says whether the ending
        updates parameters or adds gradients to sums. Drops an earlier ending for the role. Raises NoEnding if
        the ending cannot be planned."""
        step_plan.endings.pop(role, None)
        others = self.other_bytes(context, role)
        try:
            plan = step_plan.without_updates.with_optimizer(
                [told for _, told in groups], self.rule.ending(role)
            )
            plan.start(context.options, frames=1, other_bytes=others, device=context.device)
        except RuntimeError as error:
            raise NoEnding(message(error)) from None
        step_plan.endings[role] = Ending(plan, self.rule.text(role, fixed), fixed, others)
        return step_plan.endings[role]

    def prepare(self, context, step_plan, role, groups, makes_missing) -> str:
        """Binds the ending. Returns why the ending cannot run; empty if it can. If the ending no
        longer fits beside the other tensors on the device, drops it. The caller then plans a new ending:
        for this step if the step has no other plan, otherwise for the next step. Raises NoEnding."""
        ending = step_plan.endings[role]
        why = ending.settle(context.options.solver)
        if why:
            raise NoEnding(why)
        states = self.states.of_plan(ending.plan, role, groups, context.parameters(), makes_missing)
        if states is None:
            return "the optimizer has not made its states yet"
        ending.bind(context, states, groups, step_plan.sums)
        budget = context.options.budget_bytes
        if budget is not None:
            others = self.other_bytes(context, role)
            needed = ending.answer.kept_by_loss_bytes + ending.answer.peak_bytes
            if others > ending.other_bytes and others + needed > budget:
                del step_plan.endings[role]
                return "it does not fit beside what else is alive"
        return ""

    def other_bytes(self, context, role) -> int:
        """Returns the bytes of the tensors that belong neither to the step nor to the optimizer's part of the
        step."""
        return other_bytes(
            [*context.tensors, *self.states.alive(role, context.tensors)], context.inputs, context.device
        )

    def plan_directly(self, context, step_plan):
        """Plans the endings of a kind of call for all roles, and waits for the plans. If all endings have
        plans, all steps of this kind use these plans from now on. Returns the planner's answer, and the
        reason if some ending has no plan (else an empty text)."""
        groups, fixed = self.rule.groups(context.parameters())
        roles = self.rule.roles()
        for role in roles:
            self.start(context, step_plan, role, groups, fixed)
        for role in roles:
            ending = step_plan.endings[role]
            ending.plan.wait()
            why = ending.settle(context.options.solver)
            if why:
                return ending.answer, why
        step_plan.run_by(step_plan.endings[Role.UPDATE], moves_buffers_in_backward=False)
        return step_plan.endings[Role.UPDATE].answer, ""

    def ended(self, context, step_plan):
        """Returns the graph of the step including the updates, without a schedule, and its `UpdateRule.text`.
        Raises RuntimeError."""
        groups, fixed = self.rule.groups(context.parameters())
        told = [told for _, told in groups]
        plan = step_plan.compiled.with_optimizer(told, self.rule.ending(Role.UPDATE))
        return plan, self.rule.text(Role.UPDATE, fixed)

    def take_given(self, context, step_plan, text) -> str:
        """Makes a plan from a file the only plan of the step. The plan includes the updates. Returns why the
        plan cannot be used with this optimizer; empty if it can."""
        _, fixed = self.rule.groups(context.parameters())
        if text != self.rule.text(Role.UPDATE, fixed):
            return (
                "it ends with the updates of another optimizer (kind, options or parameters; accumulate,"
                " clip_norm and scaler are part of it)"
            )
        if self.rule.accumulate > 1:
            return "plans of steps that sum gradients come in two, of which a file has one: plan it here"
        others = self.other_bytes(context, Role.UPDATE)
        ending = Ending(step_plan.compiled, text, fixed, others)
        ending.answer = step_plan.compiled.answer()
        step_plan.endings[Role.UPDATE] = ending
        step_plan.run_by(ending)
        return ""
