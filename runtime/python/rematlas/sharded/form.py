"""The form in which the original of a module runs and is recorded.

A plain module is recorded as it is. A module whose parameters are DTensors is recorded in a form that is
called its own form: parameters are made from their parts on this rank, so all ops of the step work on plain
tensors of this rank. FSDP2 gathers parameters by hooks that change the size of storages, which no recording
sees. In the own form the parameters are gathered by functional collectives, which are ops of the plan: the
plan decides when they are gathered, freed and gathered again. A gathered parameter is called a whole.
Parameters, state_dict and optimizers stay as they are.
"""

import contextlib
import functools

import torch

from ..calls.offloading import storage_of
from . import fsdp
from .gathered import GroupInStep, is_backward, with_node
from .outputs import OutputForms
from .parts import Whole, dtensor, gradients, is_dtensor, padded_parts

CHANGED = (
    "rematlas: a tensor that the backward needs was changed in place after it was saved: train without a plan"
    " (rematlas.remove), which says which op needs it"
)


class PlainForm:
    """The form of a module that is recorded as it is."""

    is_sharded = False
    reduces = False  # the step reduces gradients over ranks
    is_own = False  # all ranks run the present step in the form in which steps are recorded
    why_never = ""

    def __init__(self, module):
        self.module = module
        # For each group: the wholes of a forward that failed before it freed any of them, and the versions of
        # the shards. (FSDP2 keeps its gathered weights by itself.)
        self.left_over = {}

    def keeps_what_it_gathered(self) -> bool:
        """Says whether the forward that has just failed keeps the parameters for a second try."""
        return (self.reduces and not self.is_own) or bool(self.left_over)

    def run_original(self, args, kwargs):
        return self.module.forward(*args, **kwargs)

    def run_step(self, args, kwargs, state):
        """Runs a training step of the original that is not recorded. `state`: the ModuleState."""
        return self.run_original(args, kwargs)

    def run_again(self, args, kwargs, state, tensors):
        """Called when a plan has run a step's forward but cannot run its backward. Runs the original's
        forward of this step. `tensors`: the tensors that the plan was given, which get the gradients."""
        return self.module.forward(*args, **kwargs)

    def recorded_forward(self, watch, bound, refuse):
        """Returns the forward to record. `bound`: the tensors of the step, in the order of `watch.names`.
        `refuse` is called with the reason if this step cannot be recorded but a later one can."""
        return self.module.forward

    def parts_of_output(self, output):
        """Called with the output of the recorded forward. Returns the output with this rank's parts in place
        of its DTensors, and the OutputForm of each DTensor, see OutputForms.parts."""
        return output, ()

    def parts_from_shapes(self, output):
        """As `parts_of_output`, for a step that is recorded from shapes. Returns only the output."""
        return output

    def process_groups(self) -> list:
        return []

    def options(self) -> tuple:
        """Returns the values of options that change the step."""
        return ()

    def left_alone(self):
        """Returns a fsdp.LeftAlone if the original must run the call that begins; None if a plan may run
        it."""
        return None

    def remove(self) -> None:
        """Restores the module."""


class ShardedForm(PlainForm):
    """The own form of a module with DTensors among its parameters."""

    is_sharded = True

    def __init__(self, module):
        super().__init__(module)
        self.outputs = OutputForms()
        self.last = None  # the newest OwnStep whose backward is not over
        self.joined = None  # the OwnStep with an open forward that the next OwnStep joins
        self.step = None  # the OwnStep whose forward or backward runs
        self.states = fsdp.states_in(module)
        for _, state in self.states:
            if state._is_root is None:
                state._lazy_init()
        self.why_never = next(filter(None, (fsdp.why_never(*each) for each in self.states)), "")
        self.sharded = ()  # ids of the parameters that FSDP2 has divided
        self.hooks = {
            each: fsdp.Hooks(self, each, state) for each, state in self.states if not self.why_never
        }
        self.reduces = bool(self.hooks)
        self.gathered = {}  # see fsdp.left_alone

    def parts_of_output(self, output):
        return self.outputs.parts(output)

    def parts_from_shapes(self, output):
        self.outputs.expect_alike(output)
        return self.outputs.parts(output)[0]

    def options(self) -> tuple:
        return tuple(fsdp.options_of(state) for _, state in self.states) if self.hooks else ()

    def process_groups(self) -> list:
        found = {}
        for parameter in self.module.parameters():
            if is_dtensor(parameter):
                found |= {group.group_name: group for group in parameter.device_mesh.get_all_groups()}
        return list(found)

    def run_original(self, args, kwargs):
        own = self.hooks.get(self.module)
        if own is None:
            return self.module.forward(*args, **kwargs)
        step, self.step = self.step, None
        try:
            args, kwargs = own.before(args, kwargs)
            return own.after(args, self.module.forward(*args, **kwargs))
        finally:
            self.step = step

    def run_step(self, args, kwargs, state):
        if not self.is_own:
            return self.run_original(args, kwargs)
        watch = state.watch or state.look()
        return self.own_step(watch, watch.tensors_of_step(), lambda why: None).forward(*args, **kwargs)

    def run_again(self, args, kwargs, state, tensors):
        watch = state.watch or state.look()
        return self.own_step(watch, tensors, lambda why: None).forward(*args, **kwargs)

    def recorded_forward(self, watch, bound, refuse):
        return self.own_step(watch, bound, refuse).forward

    def own_step(self, watch, bound, refuse):
        places = [(entries, name) for entries, name, _ in watch.parameters]
        self.last = OwnStep(self, places, bound, refuse, self.joined)
        return self.last

    def left_alone(self):
        if not self.hooks:
            return None
        self.note_padding()
        return next(filter(None, (fsdp.left_alone(state, self.gathered) for _, state in self.states)), None)

    def note_padding(self) -> None:
        """Updates `padded_parts`, because the program may have set new parameters."""
        parameters = [
            p for _, state in self.states for group in fsdp.groups_of(state) for p in group.fsdp_params
        ]
        sharded = tuple(id(parameter.sharded_param) for parameter in parameters)
        if sharded != self.sharded:
            self.sharded = sharded
            for parameter in parameters:
                padded_parts[parameter.sharded_param] = functools.partial(fsdp.padded_part, parameter)

    def remove(self) -> None:
        for hooks in self.hooks.values():
            hooks.remove()


class Packed:
    """Stands for a saved tensor that is a view of a gathered parameter (a whole). The parameter is gathered
    again for the backward."""

    def __init__(self, group, place, tensor):
        part = local_of(tensor)
        self.group, self.place = group, place
        self.geometry = part.size(), part.stride(), part.storage_offset()
        self.spec = tensor._spec if is_dtensor(tensor) else None

    def unpacked(self):
        part = self.group.gathered_again()[self.place].as_strided(*self.geometry)
        return part if self.spec is None else dtensor(part, self.spec)


class OwnStep:
    """One step of a module in its own form (see the top of this file). `places`: (dictionary, name) of the
    module's parameters. `bound`: the tensors of the step; the first ones belong to `places`, in the same
    order. `joins`: an OwnStep whose forward is open, or None. If one backward runs both steps, their
    gradients are added before they are reduced, as under FSDP2."""

    def __init__(self, form, places, bound, refuse, joins=None):
        self.form = form
        self.refuse = refuse
        self.wholes = []  # (dictionary, name, parameter, part) of DTensors that FSDP2 does not handle
        self.storages = {}  # (group, place) by the storage of a whole
        self.begun_in = torch._C._current_graph_task_id()  # see is_backward
        parts = {id(entries[name]): part for (entries, name), part in zip(places, bound)}
        self.groups = {
            state: [
                GroupInStep(
                    group,
                    [parts[id(p.sharded_param)] for p in group.fsdp_params],
                    self.storages,
                    [] if joins is None else joins.groups[state][place].histories,
                )
                for place, group in enumerate(fsdp.groups_of(state))
            ]
            for _, state in form.states
        }
        for group in self.all_groups():
            wholes, versions = form.left_over.pop(group.group, (None, None))
            group.left_over = wholes if versions == group.versions() else None
            group.begun_in = self.begun_in
        self.has_let_go = False  # whether the forward of some module has ended and its wholes were freed
        gathered = {
            id(parameter.sharded_param)
            for groups in self.groups.values()
            for group in groups
            for parameter in group.parameters
        }
        for (entries, name), part in zip(places, bound):
            parameter = entries[name]
            if is_dtensor(parameter) and id(parameter) not in gathered and parameter.requires_grad:
                self.wholes.append((entries, name, parameter, part))

    def forward(self, *args, **kwargs):
        form = self.form
        own = form.hooks.get(form.module)
        outer, form.step = form.step, self
        try:
            with self.with_wholes(), self.packing():
                if own is None:
                    return form.module.forward(*args, **kwargs)
                args, kwargs = own.before(*fsdp.on_device(own.state, args, kwargs))
                return own.after(args, form.module.forward(*args, **kwargs))
        except BaseException:
            if not self.has_let_go:
                form.left_over = {
                    group.group: ([whole.detach() for whole in group.entered], group.versions())
                    for group in self.all_groups()
                    if group.entered is not None
                }
            raise
        finally:
            form.step = outer
            for group in self.all_groups():
                group.leave()

    def all_groups(self):
        return (group for groups in self.groups.values() for group in groups)

    @contextlib.contextmanager
    def with_wholes(self):
        """A context in which DTensors that FSDP2 does not handle are made from their parts of this step."""
        made = {}
        for entries, name, parameter, part in self.wholes:
            if id(parameter) not in made:
                made[id(parameter)] = Whole.apply(part, parameter._spec, self.noting(parameter))
            entries[name] = made[id(parameter)]
        try:
            yield
        finally:
            for entries, name, parameter, _ in self.wholes:
                entries[name] = parameter

    def noting(self, parameter):
        """Returns a function that takes the gradient of a DTensor, notes the gradient's placements, and
        returns the gradient's part on this rank. If the placements are not the expected ones, this step adds
        the gradient directly to the parameter, and cannot be recorded. Later steps expect these
        placements."""

        def local_gradient(gradient):
            part = gradient._local_tensor
            part = part.wait() if hasattr(part, "wait") else part
            if gradients.note(parameter, gradient._spec, part.size()):
                return part
            self.refuse(
                "the gradient of a DTensor has other placements than the parameter; the next step knows"
            )
            with torch.enable_grad():
                alias = parameter.view_as(parameter)
            torch.autograd.backward([alias], [gradient])
            return None

        return local_gradient

    def packing(self):
        """Returns a context in which autograd keeps no wholes for the backward. The backward gathers them
        again, as under FSDP2. (A plan may decide to keep them.)"""
        if not self.groups:
            return contextlib.nullcontext()

        def pack(tensor):
            found = self.storages.get(storage_of(local_of(tensor)))
            return (tensor.detach(), tensor._version) if found is None else Packed(*found, tensor)

        def unpack(packed):
            if isinstance(packed, Packed):
                return packed.unpacked()
            tensor, version = packed
            if tensor._version != version:
                raise RuntimeError(CHANGED)
            return tensor

        return torch.autograd.graph.saved_tensors_hooks(pack, unpack)

    # The hooks of a module under fully_shard.

    def before(self, state, args, kwargs):
        args, kwargs = fsdp.with_cast_inputs(state, args, kwargs)
        for group in self.groups[state]:
            group.enter()
            args, kwargs = with_node(args, kwargs)
        return args, kwargs

    def after(self, state, output):
        if not is_backward(self.begun_in):
            for group in self.groups[state]:
                group.leave()
            self.has_let_go = True
            for tensor in tensors_of(output):
                if tensor.requires_grad:
                    tensor.register_hook(lambda gradient: self.before_backward(state))
        return fsdp.with_cast_output(state, output)

    def before_backward(self, state) -> None:
        """Called when the backward reaches an output of a module."""
        if self.form.step is not self:
            outer, self.form.step = self.form.step, self
            torch.autograd.Variable._execution_engine.queue_callback(lambda: self.end_backward(outer))
        for group in self.groups[state]:
            with torch.enable_grad():
                group.enter()

    def end_backward(self, outer) -> None:
        self.form.step = outer
        if self.form.last is self:
            self.form.last = None
        for group in self.all_groups():
            group.let_go()


def local_of(tensor):
    return tensor._local_tensor if is_dtensor(tensor) else tensor


def tensors_of(output) -> list:
    from torch.utils._pytree import tree_leaves

    return [leaf for leaf in tree_leaves(output) if isinstance(leaf, torch.Tensor)]


def form_of(module):
    """Returns the form of a module that is called for the first time."""
    if fsdp.is_within_another(module):
        return PlainForm(module)
    is_sharded = fsdp.states_in(module) or any(map(is_dtensor, module.parameters()))
    return ShardedForm(module) if is_sharded else PlainForm(module)
