"""An optimizer whose updates are part of the planned step: `apply(model, budget, optimizer=optimizer)`.

The updates run within the backward, each as soon as its gradient is final, which is freed with it. That is the same training only
where every backward is followed by `optimizer.step()`, and where nothing reads or changes gradients in between. So it is watched
first, on planned steps that the optimizer itself ends; where it is otherwise (accumulation, clipping, a GradScaler, a closure) the
optimizer goes on to do its own steps. Later, whoever looks at a gradient that is gone is told so: `Taken` stands in its place until
`optimizer.step()`, which has nothing left to do.
"""

import json
import logging

import torch

from . import ranks
from .errors import infeasible_text, message
from .library import ops

log = logging.getLogger("rematlas")
WATCHED_STEPS = 2  # of the expected course, before updates move into the backward


class Taken(torch.Tensor):
    """In the place of a gradient that the planned step has used and freed."""

    @staticmethod
    def __new__(cls, parameter):
        return torch.Tensor._make_wrapper_subclass(
            cls, parameter.shape, strides=parameter.stride(), dtype=parameter.dtype, device=parameter.device
        )

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError(
            "rematlas: this gradient is gone: its parameter was updated during backward (apply(..., optimizer=...)); where gradients"
            " are clipped, scaled, summed or looked at, leave optimizer= out"
        )

    def __repr__(self):
        return "a gradient that was used during backward"


def unfit(optimizer):
    """Why the updates of this optimizer cannot be part of a plan; None where they can."""
    if type(optimizer) not in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        return f"a torch.optim.SGD, Adam or AdamW can be part of a plan, this is a {type(optimizer).__name__}"
    for group in optimizer.param_groups:
        if not group.get("fused"):
            return "its updates have other bits than the fused ones that a plan has; make it with fused=True"
        if group.get("dampening"):
            return "dampening cannot be part of a plan"
        if group.get("differentiable"):
            return "a differentiable optimizer cannot be part of a plan"
    return None


def described(optimizer, group):
    numbers = {"lr": float(group["lr"]), "weight_decay": float(group["weight_decay"]), "maximize": bool(group["maximize"])}
    if type(optimizer) is torch.optim.SGD:
        return numbers | {"name": "sgd", "momentum": float(group["momentum"]), "nesterov": bool(group["nesterov"])}
    decoupled = type(optimizer) is torch.optim.AdamW or group.get("decoupled_weight_decay")
    beta1, beta2 = map(float, group["betas"])
    adam = {"name": "adamw" if decoupled else "adam", "beta1": beta1, "beta2": beta2}
    return numbers | adam | {"eps": float(group["eps"]), "amsgrad": bool(group["amsgrad"])}


class Updating:
    """The plan of one kind of call that ends with updates."""

    def __init__(self, plan, groups, beside):
        self.plan = plan
        self.groups = groups  # that it was made for, but for their learning rates
        self.beside = beside
        self.bound = False
        self.answer = {}


class Updates:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.own = ""  # why it does its own steps for good
        self.seen = 0
        self.steps = 0  # updates that were done during backward
        self.forwards = 0  # in train mode, since the last step
        self.replayed = None  # the plan whose gradients the optimizer takes next
        self.done = False  # by the last backward; `optimizer.step()` has not been called since
        self.open = None  # the plan with updates whose forward may be open
        self.parameters = []  # that the plan updates
        self.taken = []  # those whose gradient is gone
        self.rates = {}  # per group of the plan, what its ops read
        self.hook = optimizer.register_step_pre_hook(self.before_step)

    def end(self):
        self.hook.remove()
        self.give_back()

    def leave(self, why):
        """The optimizer does its own steps from here on."""
        if not self.own:
            log.info("rematlas: the updates are no part of the plan: %s", why)
        self.own = why

    # What training does.

    def before_forward(self):
        if self.done:
            raise RuntimeError(
                "rematlas: the parameters were updated during the last backward, and optimizer.step() was not called since; where"
                " several backwards come before a step, or steps are left out, leave optimizer= out"
            )
        self.forwards += 1
        if self.open is not None and self.open.open():
            self.open.give_open_forwards_up()
            self.leave("several forwards are open at a time")
        self.open = None

    def before_step(self, optimizer, args, kwargs):
        """Called by `optimizer.step()` at its beginning."""
        if not self.done and not self.own:
            self.watch_step(optimizer, len(args) > 1 and args[1] is not None or kwargs.get("closure") is not None)
        self.give_back()
        self.done, self.forwards, self.replayed = False, 0, None

    def watch_step(self, optimizer, closure):
        if ranks.store() is not None:
            self.leave("gradients are reduced between processes first")
        elif closure:
            self.leave("optimizer.step is given a closure")
        elif getattr(optimizer, "grad_scale", None) is not None or getattr(optimizer, "found_inf", None) is not None:
            self.leave("a GradScaler decides about steps when all gradients are there")
        elif self.replayed is None:
            return
        elif self.forwards != 1:
            self.leave("several forwards come before a step")
        elif not self.as_handed_out():
            self.leave("gradients are changed or replaced between backward and step (clipped, say)")
        else:
            self.seen += 1

    def as_handed_out(self):
        plan, parameters = self.replayed
        nothing = torch.empty(0)
        gradients = [parameters[name].grad if name in parameters else None for name in plan.gradient_names()]
        return plan.gradients_are_as_handed_out([nothing if gradient is None else gradient for gradient in gradients])

    def finished(self):
        """The backward has updated the parameters."""
        self.done, self.open = True, None
        self.steps += 1
        self.taken = [parameter for parameter in self.parameters if parameter.requires_grad and parameter.grad is None]
        for parameter in self.taken:
            parameter.grad = Taken(parameter)

    def give_back(self):
        for parameter in self.taken:
            if type(parameter.grad) is Taken:
                parameter.grad = None
        self.taken = []

    # The plan.

    def groups(self, names_of):
        found = []
        for group in self.optimizer.param_groups:
            names = [name for parameter in group["params"] for name in names_of.get(id(parameter), ())]
            if names:
                found.append((group, {"optimizer": described(self.optimizer, group), "parameters": names}))
        return found

    def states(self, plan, groups, parameters):
        """The optimizer's own tensors, in the order of the plan. None: it has not made them yet."""
        states = []
        for name in plan.state_names():
            if name == "lr" or name.startswith("lr.") and name[3:].isdigit():
                number = 0 if name == "lr" else int(name[3:])
                rate = self.rates.setdefault(number, torch.zeros((), dtype=torch.float64))
                states.append(rate.fill_(float(groups[number][0]["lr"])))
                continue
            parameter, _, state = name.rpartition(".")
            kept = self.optimizer.state.get(parameters[parameter], {}).get(state)
            if kept is None:
                return None
            states.append(kept)
        return states

    def plan_for(self, applied, entry, tensors, inputs):
        """The plan that ends with updates, where this step may run it; else None."""
        watch = applied.watch
        parameters = dict(zip(watch.names[: len(watch.parameters)], tensors))
        self.replayed = (entry.plan, parameters)
        if self.own or self.seen < WATCHED_STEPS or applied.several or entry.plan.open() or entry.from_shapes:
            return None
        for parameter in parameters.values():
            if parameter.grad is not None or parameter._backward_hooks or parameter._post_accumulate_grad_hooks:
                return None
        names_of = {}
        for name, parameter in parameters.items():
            names_of.setdefault(id(parameter), []).append(name)
        why = unfit(self.optimizer)
        if why:
            self.leave(why)
            return None
        groups = self.groups(names_of)
        fixed = json.dumps([group | {"optimizer": group["optimizer"] | {"lr": 0}} for _, group in groups])
        if entry.updating is None or entry.updating.groups != fixed:
            self.start(applied, entry, groups, fixed, tensors, inputs)
        if entry.updating is None or entry.updating.plan.busy():
            return None
        return self.bound(applied, entry, groups, parameters, tensors, inputs)

    def start(self, applied, entry, groups, fixed, tensors, inputs):
        entry.updating = None
        try:
            plan = entry.plan.with_optimizer(json.dumps([group for _, group in groups]))
            beside = self.beside(applied, tensors, inputs)
            entry.updating = Updating(plan, fixed, beside)
            options = json.dumps(applied.config) if applied.config else ""
            plan.start(str(applied.budget), applied.solver, options, float(applied.time_limit), 1, beside)
        except RuntimeError as error:
            entry.updating = None
            self.leave(message(error))

    def beside(self, applied, tensors, inputs):
        """What lives beside the step and the optimizer's states."""
        kept = [state for states in self.optimizer.state.values() for state in states.values() if isinstance(state, torch.Tensor)]
        return ops.beside([*tensors, *kept], inputs, applied.device())

    def bound(self, applied, entry, groups, parameters, tensors, inputs):
        updating = entry.updating
        plan = updating.plan
        if not updating.bound:
            updating.answer = json.loads(plan.answer())
            why = updating.answer.get("error")
            if "infeasible" in updating.answer:
                why = infeasible_text(applied.solver, updating.answer["step_budget_bytes"], updating.answer["infeasible"])
            if why:
                self.leave(why)
                return None
        states = self.states(plan, groups, parameters)
        if states is None:
            return None
        try:
            if updating.bound:
                plan.rebind_states(states)
            else:
                names, owner = applied.watch.names, type(applied.module).__name__
                plan.bind_with_states(names, tensors, len(applied.watch.parameters), owner, states)
                updating.bound = True
        except RuntimeError as error:
            self.leave(message(error))
            return None
        if applied.bytes is not None:
            beside = self.beside(applied, tensors, inputs)
            needed = updating.answer["kept_by_loss_bytes"] + updating.answer["peak_bytes"]
            if beside > updating.beside and beside + needed > applied.bytes:
                entry.updating = None  # planned anew for the next step
                return None
        self.parameters = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        known = {id(parameter) for parameter in parameters.values()}
        self.parameters = [parameter for parameter in self.parameters if id(parameter) in known]
        self.replayed, self.open = None, plan
        return plan
