"""The step of an optimizer, recorded from shapes behind a step that was.

The optimizer is a real one, of shape tensors: a step makes its states, and a later one is recorded, which is
told that it is the thousandth, so that warming up is over. What it keeps are residents of the plan, its
temporaries the workspaces of ops that stand for parts of it (runtime/capture/recorded_update_ops.h).
"""

import contextlib
import copy
import json
from unittest import mock

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from ..compiled.compiled_plan import CompiledPlan
from ..errors import Refused, message
from ..library import classes, ops
from ..lifecycle.from_shapes import generators_put_back

LATE_STEP = 1000  # the step that is recorded
LARGEST_REPLACED = 1 << 20  # bytes of states that a step may make anew
LARGEST_NUMBER = 64  # bytes of a tensor of an optimizer that keeps its value


def with_recorded_update(plan, chosen, model, card) -> CompiledPlan:
    """Returns the plan's step with the optimizer's behind it. The plan has been recorded on the card, whose
    context is open. Raises Refused."""
    why = f"rematlas: the step of {chosen.name} cannot be recorded from shapes: "
    try:
        with torch.no_grad(), generators_put_back("cpu"), Uncompiled() as uncompiled:
            update = Update(plan, chosen, model, card)
            recorded = update.recorded()
    except Refused as error:
        raise Refused(f"{why}{message(error).removeprefix('rematlas: ')}") from None
    except (RuntimeError, TypeError, ValueError, KeyError, AttributeError, NotImplementedError) as error:
        raise Refused(f"{why}{message(error)}") from None
    facts = json.loads(recorded.facts())
    return plan.with_recorded_update(recorded, told(update, facts, uncompiled.were_asked))


class Uncompiled:
    """Within it torch.compile hands functions back as they are, and compiled ones run as they were
    written."""

    def __init__(self):
        self.were_asked = False
        self.open = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as entered:
            entered.enter_context(mock.patch.object(torch, "compile", self.as_it_is))
            entered.enter_context(torch.compiler.set_stance("force_eager"))
            self.open = entered.pop_all()
        return self

    def __exit__(self, *_):
        self.open.close()

    def as_it_is(self, function=None, **options):
        self.were_asked = True
        return (lambda later: later) if function is None else function


class Update:
    """An optimizer of shape tensors of the card, which stand for the parameters of the model."""

    def __init__(self, plan, chosen, model, card):
        self.chosen, self.card = chosen, card
        trained = set(plan.trained_names())
        named = dict(model.named_parameters(remove_duplicate=False))
        self.twins = {}  # by the id of the parameter: its name, and what stands for it on the card
        firsts = {}
        for name, parameter in named.items():
            if id(parameter) not in firsts or name in trained:
                firsts[id(parameter)] = name, parameter
        given = [parameter for _, parameter in firsts.values()]
        for (name, parameter), shape in zip(firsts.values(), ops.shapes_like(given, 0, card.recorded_as)):
            twin = torch.nn.Parameter(shape, requires_grad=parameter.requires_grad)
            self.twins[id(parameter)] = name, twin
        self.updated = {name: twin for name, twin in self.twins.values() if name in trained}
        self.gradients = dict(zip(self.updated, self.shapes_like(list(self.updated.values()))))
        self.masters = self.master_weights() if chosen.masters is not None else {}
        with self.unrecorded():
            self.optimizer = self.made()
        self.all_at_once = not self.masters or self.works_on_lists()

    def shapes_like(self, tensors) -> list:
        return ops.shapes_like(tensors, 0, self.card.recorded_as)

    def master_weights(self) -> dict:
        """Returns copies of the parameters that have fewer bits, by name. Raises Refused where none has."""
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

    def target(self, name):
        """Returns what the optimizer updates for a parameter."""
        return self.masters.get(name, self.updated[name])

    def made(self):
        """Returns the optimizer. Raises Refused where it has nothing to update."""
        if not self.updated:
            raise Refused("the step makes no gradient of a parameter: let some require gradients")
        if self.chosen.instance is None:
            trained = [
                self.masters.get(name, twin) for name, twin in self.twins.values() if twin.requires_grad
            ]
            return self.chosen.made(trained)
        original = self.chosen.instance
        places = [parameter for group in original.param_groups for parameter in group["params"]]
        if not any(id(parameter) in self.twins for parameter in places):
            raise Refused("it has none of the model's parameters: make it of model.parameters()")
        memo = {id(parameter): self.stand_in(parameter) for parameter in places}
        for group in original.param_groups:
            numbers = {name: value for name, value in group.items() if name != "params"}
            memo |= {id(number): number.detach().clone() for number in tensors_of(numbers.values())}
            counts_on_host = not (group.get("fused") or group.get("capturable"))
            for parameter in group["params"]:
                memo |= self.states_like(original.state.get(parameter, {}), counts_on_host)
        found = object.__new__(type(original))
        # What a scheduler has put around `step` runs the original's.
        kept = {name: value for name, value in vars(original).items() if name != "step"}
        found.__dict__.update(copy.deepcopy(kept, memo))
        for parameter, state in list(found.state.items()):
            # States of classes of their own begin anew, and so do those that lie as other parameters do.
            if self.chosen.masters is not None or any(map(is_wrapper, tensors_of(state.values()))):
                del found.state[parameter]
        return found

    def stand_in(self, parameter):
        if id(parameter) not in self.twins:
            return torch.nn.Parameter(self.shapes_like([parameter])[0])
        name, twin = self.twins[id(parameter)]
        return self.masters.get(name, twin)

    def states_like(self, state, counts_on_host) -> dict:
        """Returns a tensor for each that the optimizer has already for a parameter, by id. Those lie on the
        card, but for the count of steps, which may stay on the host as where states are loaded."""
        found = {}
        for name, value in state.items():
            for tensor in tensors_of([value]):
                stays = is_wrapper(tensor) or (name == "step" and counts_on_host)
                found[id(tensor)] = (
                    tensor.detach().clone()
                    if stays
                    else ops.shapes_like([tensor], LARGEST_NUMBER, self.card.recorded_as)[0]
                )
        return found

    def works_on_lists(self) -> bool:
        """Says whether the optimizer updates all parameters at once (foreach)."""
        for group in self.optimizer.param_groups:
            foreach = group.get("foreach")
            if foreach or (
                foreach is None and "foreach" in group and self.card.is_cuda and not group.get("fused")
            ):
                return True
        return False

    def step(self) -> None:
        names = list(self.updated)
        for some in [names] if self.all_at_once else [[name] for name in names]:
            for name in some:
                gradient, target = self.gradients[name], self.target(name)
                target.grad = gradient.to(target.dtype) if name in self.masters else gradient
            del gradient, target
            type(self.optimizer).step(self.optimizer)
            for name in some:
                if name in self.masters:
                    self.updated[name].copy_(self.masters[name])
                self.target(name).grad = None

    def recorded(self):
        """Returns a recording of a late step. Raises Refused."""
        with self.unrecorded():
            self.step()
            tell_step(self.optimizer, LATE_STEP)
        before = self.states()
        first, second = self.recording(before), self.recording(before)
        replaced = [
            name
            for name, tensor in self.states().items()
            if name not in before or storage_of(tensor) != storage_of(before[name])
        ]
        anew = sum(tensor.nbytes for name, tensor in self.states().items() if name in replaced)
        if anew > LARGEST_REPLACED:
            raise Refused(
                f"it makes its state {replaced[0]} anew in each step: write to the state in place (copy_), so"
                " that its memory stays"
            )
        if first.facts() != second.facts():
            raise Refused("it does other work in the next step")
        return second

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
        """Within it ops run on shapes."""
        return running(classes.UpdateRecording([], [], [], self.card.recorded_as))

    def states(self) -> dict:
        """Returns what the optimizer keeps, by name: plain tensors, those within tensors of other classes."""
        own = {id(self.masters.get(name, twin)): name for name, twin in self.twins.values()}
        found = {}
        for parameter, state in self.optimizer.state.items():
            found |= named_in(state, own.get(id(parameter), "other"))
        for place, group in enumerate(self.optimizer.param_groups):
            numbers = {name: value for name, value in group.items() if name != "params"}
            found |= named_in(numbers, f"group{place}")
        return found


@contextlib.contextmanager
def running(recording):
    recording.begin()
    try:
        yield
    finally:
        recording.end()


def is_wrapper(tensor) -> bool:
    return is_traceable_wrapper_subclass(tensor)


def storage_of(tensor):
    return tensor.untyped_storage()._cdata


def tensors_of(values) -> list:
    """Returns the tensors in these containers."""
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, dict):
            found += tensors_of(value.values())
        elif isinstance(value, (list, tuple)):
            found += tensors_of(value)
    return found


def named_in(value, name) -> dict:
    """Returns the plain tensors in it, by name."""
    if isinstance(value, torch.Tensor):
        if not is_wrapper(value):
            return {name: value}
        inner, _ = value.__tensor_flatten__()
        value = {part: getattr(value, part) for part in inner}
    found = {}
    if isinstance(value, dict):
        for key, part in value.items():
            found |= named_in(part, f"{name}.{key}")
    elif isinstance(value, (list, tuple)):
        for place, part in enumerate(value):
            found |= named_in(part, f"{name}.{place}")
    return found


def tell_step(optimizer, step) -> None:
    """Sets the numbers of steps that the optimizer has counted."""
    for counted in [*optimizer.state.values(), *optimizer.param_groups]:
        if not isinstance(counted, dict) or "step" not in counted:
            continue
        if isinstance(counted["step"], torch.Tensor):
            counted["step"].fill_(step)
        else:
            counted["step"] = step


def told(update, facts, were_compiled) -> str:
    """Says in a sentence how the updates run, and what they take."""
    mebibytes = {name: f"{facts[name] / 2**20:,.1f} MiB" for name in ("state_bytes", "temporary_bytes")}
    form = " on lists of all parameters (foreach)" if update.works_on_lists() else ""
    words = f"{update.chosen.name}{form}: its step comes after the backward and is not run by the plan (call"
    words += f" optimizer.step()); recorded as {facts['calls']} calls of ATen, in the schedule as"
    words += f" {facts['parts']} ops; states {mebibytes['state_bytes']}"
    if update.masters:
        words += f", {len(update.masters)} master weights in f32 among them"
    words += f"; temporaries of at most {mebibytes['temporary_bytes']}"
    if were_compiled:
        words += "; its step is compiled when it runs and was recorded uncompiled: it may hold far less"
    if facts["reads_values"]:
        words += "; numbers that it reads from tensors were taken to be 1"
    if facts["unknown_kernels"]:
        words += f"; {', '.join(facts['unknown_kernels'])} taken to hold nothing more than their arguments"
    return words
