"""An optimizer whose updates are part of the planned step: `apply(model, budget, optimizer=optimizer)`.

The updates run within the backward, each as soon as its gradient is final, which is freed with it. That is the same training only
where every backward is followed by `optimizer.step()`, and where nothing reads or changes gradients in between. So it is watched
first, on planned steps that the optimizer itself ends; where it is otherwise (accumulation, clipping, a GradScaler, a closure) the
optimizer goes on to do its own steps. Later, whoever looks at a gradient that is gone is told so: `Taken` stands in its place until
`optimizer.step()`, which has nothing left to do.

What comes between backward and step can be told beforehand instead: `accumulate` backwards before each step, `clip_norm` before
it, and a `scaler` by which the loss is multiplied. Then nothing has to be watched. Backwards before the last one of a step run by
a plan of their own, which adds the gradients to sums: the parameters' `.grad`, as ever, which lives on the host where weights do.
Where the step does not fit without its updates there are such plans alone (`Entry.direct`).
"""

import json
import logging

import torch

from . import ranks
from .errors import infeasible_text, message
from .library import ops, raise_kept
from .optimizers import described, described_states, inverse_of, unfit, without_numbers
from .taken import FROM_OUTSIDE, Taken

log = logging.getLogger("rematlas")
WATCHED_STEPS = 2  # of the expected course, before updates move into the backward
UPDATE, SUM = "update", "sum"  # what becomes of the gradients of a backward
NUMBERS = ("norm", "found_inf", "inverse_scale", "scale")  # a plan's states that are of no parameter; learning rates too


def number_of_rate(state):
    """Of a plan's state that is a learning rate, the number of its group; None of others."""
    if state == "lr":
        return 0
    return int(state[3:]) if state.startswith("lr.") and state[3:].isdigit() else None


def is_hooked(parameter):
    return bool(parameter._backward_hooks or parameter._post_accumulate_grad_hooks)


def names_of_parameters(plan):
    """Those that the plan has a state of."""
    return {name.rpartition(".")[0] for name in plan.state_names() if name not in NUMBERS and number_of_rate(name) is None}


class Ending:
    """The plan of one kind of call that ends with what becomes of its gradients."""

    def __init__(self, plan, groups, beside, text=""):
        self.plan = plan
        self.text = text  # see Updates.ending_text
        self.groups = groups  # that it was made for, without their numbers
        self.numbers = []  # that it updates by, of each group, but for learning rates
        self.beside = beside
        self.bound = False
        self.answer = {}

    def settle(self, solver):
        """Why there is no plan; none where there is one. Planning has ended."""
        if not self.answer:
            self.answer = json.loads(self.plan.answer())
        if "infeasible" in self.answer:
            return infeasible_text(solver, self.answer["step_budget_bytes"], self.answer["infeasible"])
        return self.answer.get("error")


class Updates:
    def __init__(self, module, optimizer, copies, accumulate=1, clip_norm=None, scaler=None):
        self.module = module
        self.optimizer = optimizer
        self.copies = copies
        self.accumulate = accumulate
        self.clip_norm = clip_norm
        self.scaler = scaler
        self.declared = accumulate > 1 or clip_norm is not None or scaler is not None or copies.moves_weights
        self.own = ""  # why it does its own steps for good
        self.aside = ""  # why it does the next one
        self.seen = 0
        self.steps = 0  # updates that were done during backward
        self.forwards = 0  # in train mode, since the last step
        self.replayed = None  # the plan whose gradients the optimizer takes next
        self.done = False  # by the last backward; `optimizer.step()` has not been called since
        self.open = None  # the plan with an ending whose forward may be open
        self.role = UPDATE  # of that plan
        self.parameters = []  # whose gradients it takes
        self.taken_in = None  # the number of the forward whose backward takes them, while it goes on
        self.sums_taken = []  # and the sums with their versions, when it had added to them
        self.taken = []  # those whose gradient is gone
        self.rates = {}  # per group of the plan, what its ops read
        self.sums = {}  # per parameter, by id: memory for its gradients' sum
        self.numbers = {}  # memory of NUMBERS, and the norm of the gradients before they were clipped last
        self.scale_read = None  # the scale and its version, as the last forward found it
        self.rates_read = None  # options of the groups, as the last forward found them
        self.versions = []  # of the parameters, when they had been updated
        self.interrupted = False  # the last backward that took gradients: it went on to its end, and raised then
        self.fault = ""  # of the last backward: why it was not the training that it would be without us
        self.why = ""  # the last forward could not take its gradients itself
        self.reloaded = False  # optimizer.load_state_dict was called since the last forward
        self.state_versions = []  # of the states, with them, when they had been updated
        self.hook = optimizer.register_step_pre_hook(self.before_step)
        self.after = optimizer.register_step_post_hook(self.after_step)
        self.loads = optimizer.register_load_state_dict_post_hook(self.after_loading)

    def close(self):
        self.hook.remove()
        self.after.remove()
        self.loads.remove()
        self.give_back()

    def be_last(self):
        """Hooks of others see the gradients, or that they are gone, before this one hands them over."""
        if next(reversed(self.optimizer._optimizer_step_pre_hooks)) != self.hook.id:
            self.hook.remove()
            self.hook = self.optimizer.register_step_pre_hook(self.before_step)

    def leave(self, why):
        """The optimizer does its own steps from here on."""
        if not self.own:
            log.info("rematlas: the updates are no part of the plan: %s", why)
        self.own = why

    def leave_for_now(self, why):
        """What comes before a step was told beforehand: a step that is otherwise is the optimizer's own, and no other."""
        if self.declared:
            self.aside = why
        else:
            self.leave(why)

    # What training does.

    def before_forward(self):
        self.be_last()
        self.raise_fault()
        for parameter in self.taken:
            if type(parameter.grad) is Taken and parameter.grad.zeroed:
                parameter.grad = None
        self.rates_read = self.options()
        if self.done and (self.interrupted or self.reloaded):
            if self.interrupted:
                log.warning("rematlas: the last backward was interrupted when it had updated the parameters: its step counts as done")
            self.give_back()
            self.done, self.forwards, self.replayed = False, 0, None
        self.interrupted = self.reloaded = False
        if self.done:
            raise RuntimeError(
                f"rematlas: the parameters were updated during the last backward, which was the last one of a step (accumulate={self.accumulate}),"
                " and optimizer.step() was not called since; where another number of backwards comes before each step, give accumulate= that"
                " number; where it is not always the same, or steps are left out, leave optimizer= out"
            )
        if self.open is not None and not self.open.open():
            self.note_no_forward()  # the last one never had its backward
        if self.accumulate > 1 and self.forwards and all(parameter.grad is None or type(parameter.grad) is Taken for parameter in self.module.parameters()):
            self.forwards = 0  # what was begun was given up: an interrupt, say, and then zero_grad
        self.forwards += 1
        if self.accumulate > 1 and self.forwards > self.accumulate:
            raise RuntimeError(
                f"rematlas: accumulate={self.accumulate}, and another forward comes before optimizer.step(); where so many backwards"
                " do not come before each step, leave accumulate= out"
            )
        if self.open is not None and self.open.open():
            self.open.give_open_forwards_up()
            self.leave_for_now("several forwards are open at a time")
        self.open = None

    def note_no_forward(self):
        """The last one has, or will have, no backward."""
        self.forwards = max(0, self.forwards - 1)
        self.open = None

    def note_original(self):
        """The plan could not run the step that has begun: gradients come to `.grad`."""
        self.open = None

    def before_step(self, optimizer, args, kwargs):
        """Called by `optimizer.step()` at its beginning."""
        self.check_done()
        if not self.done:
            if not self.own:
                self.watch_step(optimizer, len(args) > 1 and args[1] is not None or kwargs.get("closure") is not None)
            self.clip()
        self.give_back()
        self.done, self.forwards, self.replayed = False, 0, None

    def after_step(self, optimizer, args, kwargs):
        """Gradients that are gone are still not zeroed: whoever adds to them, or uses them again, is told."""
        self.aside = ""
        for parameter in self.taken:
            if parameter.grad is None:
                parameter.grad = Taken(parameter)
                parameter.grad.spent = True

    def after_loading(self, optimizer):
        """Whoever goes back to a checkpoint leaves the step that had begun out."""
        self.reloaded = True

    def options(self):
        return [{name: float(value) if isinstance(value, torch.Tensor) else value for name, value in group.items() if name != "params"} for group in self.optimizer.param_groups]

    def check_done(self):
        """What happened between the backward that updated the parameters and `optimizer.step()` would have changed these updates."""
        if self.done:
            if self.options() != self.rates_read:
                self.fault = self.fault or "options of the optimizer (lr, ...) were changed between the forward and optimizer.step(): they are read when the forward begins"
            if any(type(parameter.grad) is not Taken for parameter in self.taken):
                self.fault = self.fault or "gradients were zeroed or replaced between backward and optimizer.step()"
            if any(parameter._version != version for parameter, version in zip(self.parameters, self.versions)):
                self.fault = self.fault or "parameters were written to between backward and optimizer.step()"
            if self.reloaded or self.versions_of_states() != self.state_versions:
                self.fault = self.fault or "states of the optimizer were loaded or written to between backward and optimizer.step()"
            if self.scaler is not None and getattr(self.optimizer, "found_inf", None) is None:
                self.fault = self.fault or "a scaler was given, and optimizer.step() is not called by scaler.step(optimizer)"
            elif self.scaler is not None and self.clip_norm is None and getattr(self.optimizer, "grad_scale", None) is None:
                self.fault = self.fault or "scaler.unscale_ was called, without clip_norm= (updates unscale themselves, to other bits)"
            elif self.scaler is not None and self.scale_read != self.version_of(self.scaler._scale):
                self.fault = self.fault or "the scale was changed between the forward and scaler.step(optimizer)"
        elif any(type(parameter.grad) is Taken for parameter in self.taken):
            self.fault = "optimizer.step() is called again, and the gradients are gone"
        self.raise_fault()

    def raise_fault(self):
        raise_kept()
        fault, self.fault = self.fault, ""
        if fault:
            what = "the parameters were updated" if self.role == UPDATE else "gradients were summed"
            self.done = False
            raise RuntimeError(f"rematlas: {what} during the last backward, and without a plan they would be others: {fault}; where that is meant, leave optimizer= out")

    def clip(self):
        if self.clip_norm is None:
            return
        mine = self.parameters_of_optimizer()
        parameters = [parameter for parameter in self.module.parameters() if id(parameter) in mine]
        known = {id(parameter) for parameter in parameters}
        others = [parameter for group in self.optimizer.param_groups for parameter in group["params"] if id(parameter) not in known]
        self.unscale(parameters + others)
        self.numbers["norm"] = torch.nn.utils.clip_grad_norm_(parameters + others, self.clip_norm)

    def unscale(self, parameters):
        """What the optimizer was about to do with gradients that are still scaled: they are clipped behind that."""
        scale = getattr(self.optimizer, "grad_scale", None)
        if scale is not None:
            gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
            torch._amp_foreach_non_finite_check_and_unscale_(gradients, torch.zeros_like(scale), inverse_of(scale))
            self.optimizer.grad_scale = None

    def watch_step(self, optimizer, closure):
        if ranks.store() is not None:
            self.leave("gradients are reduced between processes first")
        elif closure:
            self.leave_for_now("optimizer.step is given a closure")
        elif self.scaler is None and getattr(optimizer, "found_inf", None) is not None:
            self.leave("a GradScaler decides about steps when all gradients are there (say so with scaler=)")
        elif self.replayed is None or self.declared:
            return
        elif self.options() != self.rates_read:
            self.leave("options of the optimizer are changed between forward and step")
        elif self.forwards != 1:
            self.leave("several forwards come before a step")
        elif not self.as_handed_out():
            self.leave("gradients are changed or replaced between backward and step (clipped, say)")
        else:
            self.seen += 1

    def as_handed_out(self):
        """Those of the optimizer's parameters: what else has gradients may collect them."""
        plan, parameters = self.replayed
        nothing, mine, gradients = torch.empty(0), self.parameters_of_optimizer(), []
        for name in plan.gradient_names():
            parameter = parameters.get(name)
            asked = parameter is not None and id(parameter) in mine
            gradients.append((nothing if parameter.grad is None else parameter.grad) if asked else None)
        return plan.gradients_are_as_handed_out(gradients)

    def note_faults(self):
        """The backward has taken the gradients. What is wrong is told by the next call that can raise."""
        self.open = None
        if any(type(parameter.grad) is Taken and not parameter.grad.zeroed for parameter in self.parameters):
            self.fault = "gradients were not zeroed since the last optimizer.step(), and would be added to"
        if self.role == UPDATE and self.accumulate == 1 and any(parameter.grad is not None and type(parameter.grad) is not Taken for parameter in self.parameters):
            self.fault = FROM_OUTSIDE

    def has_hooks(self):
        return any(map(is_hooked, self.parameters))

    def take_over(self):
        """What stands for the gradients from here on. It may be called again where it was interrupted."""
        if self.role == SUM:
            for parameter in self.parameters:
                if parameter.grad is None or type(parameter.grad) is Taken:
                    parameter.grad = self.sums[id(parameter)]
            self.sums_taken = [(parameter.grad, parameter.grad._version) for parameter in self.parameters]
            return
        self.done = True
        self.taken = self.parameters
        self.versions = [parameter._version for parameter in self.parameters]
        self.state_versions = self.versions_of_states()
        for parameter in self.taken:
            parameter.grad = Taken(parameter)
            parameter.grad.found_inf = self.numbers.get("found_inf")
        self.steps += 1

    def end_backward(self):
        """Of a backward that took the gradients. What else came in it to `.grad` was added behind them."""
        self.taken_in = None
        if self.role == SUM and any(total._version != version for total, version in self.sums_taken):
            self.fault = self.fault or FROM_OUTSIDE
        self.sums_taken = []

    def give_back(self):
        """So that the optimizer finds nothing to do."""
        for parameter in self.taken:
            if type(parameter.grad) is Taken:
                parameter.grad = None

    # The plan.

    def parameters_of_optimizer(self):
        """By id."""
        return {id(parameter) for group in self.optimizer.param_groups for parameter in group["params"]}

    def groups(self, names_of):
        found = []
        for group in self.optimizer.param_groups:
            names = [name for parameter in group["params"] for name in names_of.get(id(parameter), ())]
            if names:
                found.append((group, {"optimizer": described(self.optimizer, group), "parameters": names}))
        return found

    def states(self, plan, groups, parameters):
        """The optimizer's own tensors, in the order of the plan. None: it has not made them yet."""
        if self.declared:
            self.make_states(plan, groups, parameters)
        states = []
        if self.scaler is not None and self.role == UPDATE:
            self.read_scale(next(iter(parameters.values())))
        for name in plan.state_names():
            if name in NUMBERS:
                if name not in self.numbers:
                    self.numbers[name] = next(iter(parameters.values())).new_zeros((), dtype=torch.float32 if name != "norm" else None)
                states.append(self.numbers[name])
                continue
            number = number_of_rate(name)
            if number is not None:
                rate = self.rates.setdefault(number, torch.zeros((), dtype=torch.float64, device="cpu"))
                states.append(rate.fill_(float(groups[number][0]["lr"])))
                continue
            name, _, state = name.rpartition(".")
            parameter = parameters[name]
            if state == "grad":
                kept = self.sum_of(parameter)
            else:
                kept = self.optimizer.state.get(parameter, {}).get(state)
            if kept is None:
                return None
            states.append(kept)
        return states

    def read_scale(self, parameter):
        """The scaler makes its scale when it scales the first loss; it is asked to before that."""
        if self.scaler._scale is None:
            self.scaler.scale(parameter.new_zeros(()))
        scale = self.scaler._scale
        self.scale_read = self.version_of(scale)
        for name in NUMBERS[1:]:
            self.numbers.setdefault(name, parameter.new_zeros((), dtype=torch.float32))
        self.numbers["scale"].copy_(scale)
        if self.clip_norm is None:
            self.numbers["inverse_scale"].fill_(1)
        else:
            self.numbers["inverse_scale"].copy_(inverse_of(scale))

    @staticmethod
    def version_of(tensor):
        return id(tensor), None if tensor is None else tensor._version

    def make_states(self, plan, groups, parameters):
        """Those that there are not yet, as the optimizer itself begins; where weights live on the host, there."""
        trained = names_of_parameters(plan)
        new = {}
        for group, described in groups:
            for name in described["parameters"]:
                if name in trained and not self.optimizer.state.get(parameters[name]) and self.role == UPDATE:
                    for state, first in described_states(self.optimizer, group).items():
                        new.setdefault(first, []).append((parameters[name], state))
        for first, wanted in new.items():
            for (parameter, state), tensor in zip(wanted, self.copies.filled([parameter for parameter, _ in wanted], first)):
                self.optimizer.state[parameter][state] = tensor
                if type(self.optimizer) is not torch.optim.SGD and "step" not in self.optimizer.state[parameter]:
                    self.optimizer.state[parameter]["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
        if self.accumulate > 1:
            # A gradient that an earlier backward of this step has left goes on as the sum: a second one would lie beside it.
            for name, parameter in parameters.items():
                if name in trained and id(parameter) not in self.sums and self.can_be_sum(parameter):
                    self.sums[id(parameter)] = parameter.grad
            without = [parameters[name] for name in parameters if name in trained and id(parameters[name]) not in self.sums]
            for parameter, tensor in zip(without, self.copies.filled(without, -0.0)):
                self.sums[id(parameter)] = tensor

    def versions_of_states(self):
        """Of what the optimizer keeps of the parameters that the plan updates."""
        return [self.version_of(state) for parameter in self.parameters for state in self.optimizer.state.get(parameter, {}).values() if isinstance(state, torch.Tensor)]

    def can_be_sum(self, parameter):
        """Whether the gradient that is there lies as its parameter does, in memory of its own."""
        gradient = parameter.grad
        if gradient is None or type(gradient) is not torch.Tensor or self.copies.moves_weights:
            return False
        same = gradient.dtype == parameter.dtype and gradient.device == parameter.device and gradient.stride() == parameter.stride()
        return same and not gradient.requires_grad and gradient.untyped_storage().nbytes() == parameter.nbytes

    def sum_of(self, parameter):
        """What the gradient is added to. Adding to negative zeros changes no bit."""
        if parameter.grad is not None and type(parameter.grad) is not Taken:
            return parameter.grad
        return self.sums[id(parameter)].fill_(-0.0)

    def next_role(self):
        return UPDATE if self.accumulate == 1 or self.forwards == self.accumulate else SUM

    def cannot(self, applied, entry, parameters):
        """Why this step may not take its gradients itself; None: for now."""
        if self.own or self.aside:
            return self.own or self.aside
        if entry.plan.open() or applied.several and not self.declared:
            return "several forwards are open at a time"
        if not self.declared and (self.seen < WATCHED_STEPS or entry.from_shapes):
            return "it has not been watched"
        if self.declared and ranks.store() is not None:
            return "gradients are reduced between processes first"
        mine = self.parameters_of_optimizer()
        for parameter in parameters.values():
            if id(parameter) not in mine:
                continue
            if parameter.grad is not None and type(parameter.grad) is not Taken and self.accumulate == 1:
                return "there are gradients of earlier backwards (optimizer.zero_grad was not called, or with set_to_none=False)"
            if is_hooked(parameter):
                return "parameters have hooks"
        if self.clip_norm is not None or self.scaler is not None:
            known = {id(parameter) for parameter in parameters.values()}
            if any(id(parameter) not in known for group in self.optimizer.param_groups for parameter in group["params"]):
                return f"the optimizer has parameters of other modules, whose gradients are {'scaled' if self.clip_norm is None else 'clipped'} with these"
        return unfit(self.optimizer)

    def plan_for(self, applied, entry, tensors, inputs):
        """The plan that takes the gradients itself, where this step may run it; else None, and why."""
        plan, why = self.find_plan(applied, entry, tensors, inputs)
        self.why = why if plan is None else ""
        return plan, why

    def find_plan(self, applied, entry, tensors, inputs):
        watch = applied.watch
        parameters = dict(zip(watch.names[: len(watch.parameters)], tensors))
        self.replayed = (entry.plan, parameters)
        why = self.cannot(applied, entry, parameters)
        if why:
            return None, why
        self.role = self.next_role()
        groups, fixed = self.described_groups(parameters)
        ending = entry.endings.get(self.role)
        if ending is None or ending.groups != fixed:
            ending = self.start(applied, entry, self.role, groups, fixed, tensors, inputs)
        if ending is None:
            return None, self.own
        if entry.direct:
            ending.plan.wait()
        if ending.plan.busy():
            return None, "it is being planned"
        plan = self.bound(applied, entry, ending, groups, parameters, tensors, inputs)
        if plan is None and entry.direct and self.role not in entry.endings:
            ending = self.start(applied, entry, self.role, groups, fixed, tensors, inputs)
            if ending is not None:
                ending.plan.wait()
                plan = self.bound(applied, entry, ending, groups, parameters, tensors, inputs)
        return plan, self.own or "it does not fit beside what else is alive"

    def described_groups(self, parameters):
        names_of = {}
        for name, parameter in parameters.items():
            names_of.setdefault(id(parameter), []).append(name)
        groups = self.groups(names_of)
        return groups, json.dumps([group | {"optimizer": without_numbers(group["optimizer"])} for _, group in groups])

    def plan_directly(self, applied, entry, tensors, inputs):
        """Where the step cannot be planned without its end: the plans with it, found before it runs. Why there are none."""
        watch = applied.watch
        groups, fixed = self.described_groups(dict(zip(watch.names[: len(watch.parameters)], tensors)))
        entry.direct, entry.base_plan = True, entry.plan
        roles = (UPDATE, SUM) if self.accumulate > 1 else (UPDATE,)
        for role in roles:
            if self.start(applied, entry, role, groups, fixed, tensors, inputs) is None:
                return self.own
        for role in roles:
            ending = entry.endings[role]
            ending.plan.wait()
            why = ending.settle(applied.solver)
            if why:
                entry.answer = ending.answer
                return why
        entry.plan, entry.answer = entry.endings[UPDATE].plan, entry.endings[UPDATE].answer
        return None

    def end(self, role):
        """What becomes of the gradients of a backward, for the compiled part."""
        end = {"sums": self.accumulate > 1, "updates": role == UPDATE}
        if self.clip_norm is not None and role == UPDATE:
            end["clip_norm"] = float(self.clip_norm)
        if self.scaler is not None and role == UPDATE:
            end["scaled"] = True
        return end

    def ending_text(self, role, fixed):
        return json.dumps([json.loads(fixed), self.end(role)], sort_keys=True)

    def ended(self, applied, entry):
        """The step with its updates, which is not planned, and `ending_text` of it. Raises RuntimeError."""
        watch = applied.watch
        groups, fixed = self.described_groups(dict(zip(watch.names[: len(watch.parameters)], watch.tensors())))
        plan = entry.plan.with_optimizer(json.dumps([group for _, group in groups]), json.dumps(self.end(UPDATE)))
        return plan, self.ending_text(UPDATE, fixed)

    def take_given(self, applied, entry, text, tensors):
        """A plan from a file that ends with updates is the only one. Why it is not for this optimizer; None where it is."""
        why = unfit(self.optimizer)
        if why:
            return why
        watch = applied.watch
        groups, fixed = self.described_groups(dict(zip(watch.names[: len(watch.parameters)], tensors)))
        if text != self.ending_text(UPDATE, fixed):
            return "it ends with the updates of another optimizer (kind, options or parameters; accumulate, clip_norm and scaler are part of it)"
        self.declared = True
        if self.accumulate > 1:
            return "plans of steps that sum gradients come in two, of which a file has one: plan it here"
        entry.direct, entry.base_plan = True, entry.plan
        entry.endings[UPDATE] = Ending(entry.plan, fixed, self.beside(applied, UPDATE, tensors, []), text)
        entry.answer = entry.endings[UPDATE].answer = json.loads(entry.plan.answer())
        return None

    def start(self, applied, entry, role, groups, fixed, tensors, inputs):
        entry.endings.pop(role, None)
        end = self.end(role)
        try:
            plan = (entry.plan if entry.base_plan is None else entry.base_plan).with_optimizer(json.dumps([group for _, group in groups]), json.dumps(end))
            beside = self.beside(applied, role, tensors, inputs)
            options = json.dumps(applied.config) if applied.config else ""
            plan.start(str(applied.budget), applied.solver, options, float(applied.time_limit), 1, beside, self.copies.text, applied.in_arena())
        except RuntimeError as error:
            self.leave(message(error))
            return None
        entry.endings[role] = Ending(plan, fixed, beside, self.ending_text(role, fixed))
        return entry.endings[role]

    def beside(self, applied, role, tensors, inputs):
        """What lives beside the step and the tensors of its end."""
        states = self.optimizer.state.values() if role == UPDATE else ()
        kept = [state for of_parameter in states for state in of_parameter.values() if isinstance(state, torch.Tensor)]
        mine = self.parameters_of_optimizer() if self.accumulate > 1 else ()
        gradients = [parameter.grad for parameter in tensors if id(parameter) in mine and parameter.grad is not None and type(parameter.grad) is not Taken]
        return ops.beside([*tensors, *kept, *gradients, *self.sums.values()], inputs, applied.device())

    def bound(self, applied, entry, ending, groups, parameters, tensors, inputs):
        plan = ending.plan
        why = ending.settle(applied.solver)
        if why:
            self.leave(why)
            return None
        states = self.states(plan, groups, parameters)
        if states is None:
            return None
        try:
            if ending.bound:
                plan.rebind_states(states)
            else:
                names, owner = applied.watch.names, type(applied.module).__name__
                plan.bind_with_states(names, tensors, len(applied.watch.parameters), owner, states)
                plan.set_sums_gradients(entry.sums_within)
                ending.bound = True
            numbers = [group["optimizer"] | {"lr": 0} for _, group in groups]
            if ending.numbers != numbers:
                plan.change_numbers(json.dumps([group for _, group in groups]))
                ending.numbers = numbers
        except RuntimeError as error:
            self.leave(message(error))
            return None
        if applied.bytes is not None:
            beside = self.beside(applied, self.role, tensors, inputs)
            needed = ending.answer["kept_by_loss_bytes"] + ending.answer["peak_bytes"]
            if beside > ending.beside and beside + needed > applied.bytes:
                del entry.endings[self.role]  # planned anew: for the next step, or for this one where it has no other
                return None
        trained = names_of_parameters(plan)
        mine = self.parameters_of_optimizer()
        taken = [parameter for parameter in parameters.values() if parameter.requires_grad and id(parameter) in mine]
        self.parameters = [parameters[name] for name in parameters if name in trained] if self.accumulate > 1 else taken
        self.replayed, self.open = None, plan
        return plan
