"""Records the step of an optimizer from shapes, after a training step that was recorded from shapes.

The optimizer is a real one, but its tensors are shape tensors. In its first step it makes its states. A later
step is recorded, with the step count set to a thousand, so that the optimizer's warm-up is over. The states
become residents of the plan. The temporaries of the step become workspaces of the ops that represent the step
(runtime/capture/recorded_update_ops.h).
"""

import contextlib
import json
from unittest import mock

import torch

from ..calls.modes import generators_put_back
from ..compiled.compiled_plan import CompiledPlan
from ..errors import Refused, message
from ..library import classes, ops
from .optimizer_copies import kept_by, on_shapes, tell_step

LATE_STEP = 1000  # the step count with which a step is recorded
LARGEST_REPLACED = 1 << 20  # the most bytes of states that a step may replace by new tensors


def with_recorded_update(plan, chosen, model, card, parts=None) -> CompiledPlan:
    """Returns a plan of the step of `plan` followed by the optimizer's step. `plan` must have been recorded
    on the card, and the card's context must be open. `parts`: the parts of the model's parameters on this
    rank, by name, if they are divided. Raises Refused."""
    why = f"rematlas: the step of {chosen.name} cannot be recorded from shapes: "
    try:
        with torch.no_grad(), generators_put_back("cpu"), uncompiled() as compiled:
            update = Update(plan, chosen, model, card, parts or {})
            recorded = update.recorded()
    except Refused as error:
        raise Refused(f"{why}{message(error).removeprefix('rematlas: ')}") from None
    except Exception as error:  # the optimizer may be anybody's code
        raise Refused(f"{why}{message(error)}") from None
    return plan.with_recorded_update(recorded, told(update, facts_of(recorded), bool(compiled)))


def facts_of(recording) -> dict:
    return json.loads(recording.facts())


@contextlib.contextmanager
def uncompiled():
    """A context in which torch.compile returns functions unchanged, and compiled functions run uncompiled.
    Yields a list with the options of each call of torch.compile."""
    asked = []

    def as_it_is(function=None, **options):
        asked.append(options)
        return (lambda later: later) if function is None else function

    with mock.patch.object(torch, "compile", as_it_is), torch.compiler.set_stance("force_eager"):
        yield asked


class Update:
    """The optimizers' step on stand-ins of the model's parameters: shape tensors of the card."""

    def __init__(self, plan, chosen, model, card, parts):
        self.chosen, self.card = chosen, card
        if parts and chosen.takes_matrices:
            raise Refused("it takes whole matrices, and the parameters are divided among ranks: take adamw")
        trained = set(plan.trained_names())
        if not trained:
            raise Refused("the step makes no gradient of a parameter: let some require gradients")
        firsts = {}
        for name, parameter in model.named_parameters(remove_duplicate=False):
            if id(parameter) not in firsts or name in trained:
                firsts[id(parameter)] = name, parameter
        shapes = self.shapes_like([parts.get(name, parameter) for name, parameter in firsts.values()])
        self.twins = {}  # by the id of a parameter: its name, and the stand-in on the card
        for (name, parameter), shape in zip(firsts.values(), shapes):
            twin = torch.nn.Parameter(shape, requires_grad=parameter.requires_grad)
            self.twins[id(parameter)] = name, twin
        self.updated = {name: twin for name, twin in self.twins.values() if name in trained}
        self.gradients = dict(zip(self.updated, self.shapes_like(list(self.updated.values()))))
        self.masters = self.master_weights() if chosen.masters is not None else {}
        self.all_at_once = True
        with self.unrecorded():
            self.optimizers = self.made(model)

    def shapes_like(self, tensors) -> list:
        return ops.shapes_like(tensors, 0, self.card.recorded_as) if tensors else []

    def master_weights(self) -> dict:
        """Returns new master weights, by name, for the parameters with fewer bits than a master weight has.
        Raises Refused if there are no such parameters."""
        wide = self.chosen.masters
        found = {
            name: torch.nn.Parameter(
                self.shapes_like([torch.empty(twin.shape, dtype=wide, device="meta")])[0]
            )
            for name, twin in self.updated.items()
            if twin.is_floating_point() and twin.element_size() < wide.itemsize
        }
        if not found:
            raise Refused(
                "no parameter that is trained has fewer bits than master weights: leave master_weights out,"
                " or load the model in bf16"
            )
        return found

    def made(self, model) -> list:
        """Returns the optimizers. Raises Refused if one of them has no parameter of the model."""
        targets = {place: self.masters.get(name, twin) for place, (name, twin) in self.twins.items()}
        if not self.chosen.instances:
            return self.chosen.made(model, targets)
        found = []
        for original in self.chosen.instances:
            places = [parameter for group in original.param_groups for parameter in group["params"]]
            if not any(id(parameter) in targets for parameter in places):
                raise Refused(
                    f"the {type(original).__name__} has none of the model's parameters: make it of"
                    " model.parameters()"
                )
            others = [parameter for parameter in places if id(parameter) not in targets]
            others = {
                id(one): torch.nn.Parameter(shape) for one, shape in zip(others, self.shapes_like(others))
            }
            found.append(on_shapes(original, targets | others, self.card, bool(self.masters)))
        return found

    def step(self) -> None:
        names = list(self.updated)
        for some in [names] if self.all_at_once else [[name] for name in names]:
            self.step_of(some)

    def step_of(self, names) -> None:
        """Updates the parameters with these names."""
        targets = {name: self.masters.get(name, self.updated[name]) for name in names}
        for name, target in targets.items():
            # The gradient has no local variable, so that it is freed as soon as `grad` is set to None.
            target.grad = self.gradients[name].to(target.dtype)
        for optimizer in self.optimizers:
            type(optimizer).step(optimizer)
        for name, target in targets.items():
            if name in self.masters:
                self.updated[name].copy_(target)
            target.grad = None

    def recorded(self):
        """Returns a recording of an optimizer step after the warm-up (see LATE_STEP). Raises Refused."""
        with self.unrecorded():
            self.step()
            for optimizer in self.optimizers:
                tell_step(optimizer, LATE_STEP)
        if self.masters and not self.works_on_lists(facts_of(self.recording(self.states()))):
            self.all_at_once = False
        before = self.states()
        first, second = self.recording(before), self.recording(before)
        now = self.states()
        replaced = [name for name, kept in now.items() if storage_of(kept) != storage_of(before.get(name))]
        if sum(now[name].nbytes for name in replaced) > LARGEST_REPLACED:
            raise Refused(
                f"it makes its state {replaced[0]} anew in each step: write to the state in place (copy_), so"
                " that its memory stays"
            )
        if facts_of(first) != facts_of(second):
            raise Refused("it does other work in the next step")
        return second

    def is_fused(self) -> bool:
        return any(group.get("fused") for optimizer in self.optimizers for group in optimizer.param_groups)

    def works_on_lists(self, facts) -> bool:
        """Says whether the optimizer updates several parameters together by ops on lists (foreach) that are
        not fused."""
        return not self.is_fused() and facts["parts"] < len(self.updated)

    def recording(self, states):
        named = [
            *(("parameter", name, twin) for name, twin in self.updated.items()),
            *(("gradient", name, gradient) for name, gradient in self.gradients.items()),
            *(("state", f"{name}.master", master) for name, master in self.masters.items()),
            *(("state", name, tensor) for name, tensor in states.items()),
        ]
        kinds, names, tensors = map(list, zip(*named))
        made = classes.UpdateRecording(kinds, names, [one.detach() for one in tensors], self.card.recorded_as)
        with running(made):
            self.step()
        return made

    def unrecorded(self):
        """Returns a context in which ops run on shapes and are not recorded."""
        return running(classes.UpdateRecording([], [], [], self.card.recorded_as))

    def states(self) -> dict:
        names = {id(self.masters.get(name, twin)): name for name, twin in self.twins.values()}
        found = {}
        for place, optimizer in enumerate(self.optimizers):
            prefix = "" if place == 0 else f"optimizer{place}."
            found |= {prefix + name: kept for name, kept in kept_by(optimizer, names).items()}
        return found


@contextlib.contextmanager
def running(recording):
    recording.begin()
    try:
        yield
    finally:
        recording.end()


def storage_of(tensor):
    return None if tensor is None else tensor.untyped_storage()._cdata


def told(update, facts, were_compiled) -> str:
    """Returns a sentence that says how the updates run, and how much memory they take."""
    mebibytes = {name: f"{facts[name] / 2**20:,.1f} MiB" for name in ("state_bytes", "temporary_bytes")}
    form = ", fused" if update.is_fused() else ""
    form = " on lists of parameters (foreach)" if update.works_on_lists(facts) else form
    words = f"{update.chosen.name}{form}: its step comes after the backward and is not run by the plan (call"
    words += f" optimizer.step()); recorded as {facts['calls']} calls of ATen, in the schedule as"
    words += f" {facts['parts']} op{'s' if facts['parts'] > 1 else ''}; states {mebibytes['state_bytes']}"
    if update.masters:
        words += f", {len(update.masters)} master weights in f32 among them"
    words += f"; temporaries of at most {mebibytes['temporary_bytes']}"
    if were_compiled:
        words += ", as it was recorded uncompiled: where torch.compile fuses it, it holds less"
    if facts["reads_values"]:
        words += "; numbers that it reads from tensors were taken to be 1"
    if facts["unknown_kernels"]:
        words += f"; {', '.join(facts['unknown_kernels'])} taken to hold nothing more than their arguments"
    return words
