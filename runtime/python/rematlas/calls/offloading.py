"""Saved-tensor hooks of the caller that only move what is saved for the backward to other memory and back: a
plan decides itself what is kept, so the module's forward runs without them.

What such hooks give back has the bits of what they were given, and is perhaps laid out otherwise, on which
the bits of a gradient may depend: where a forward is recorded or compared, each tensor that is saved is given
back as the hooks would lay it out, and stays where it is meanwhile.
"""

import contextlib
import typing

import torch

CHANGED = (
    "rematlas: a tensor that the backward needs was changed in place after it was saved. The hooks around the"
    " module had kept a copy of it, and a plan does not: call the module outside of them"
)


class Closure:
    """The variables that a function was made with, as attributes; None: there is no such variable."""

    def __init__(self, function):
        cells = zip(function.__code__.co_freevars, function.__closure__ or ())
        self.__dict__.update({name: cell.cell_contents for name, cell in cells})

    def __getattr__(self, name):
        return None


# How hooks lay out a tensor that they give back: as `clone` with this memory format does; None: as it was.
# `weights`: the storages of the module's parameters.


def as_it_was(pack, tensor, weights):
    return None


def of_save_on_cpu(pack, tensor, weights):
    if Closure(pack).pin_memory:
        return torch.contiguous_format
    return None if tensor.device.type == "cpu" else torch.preserve_format


def of_offload_activations(pack, tensor, weights):
    offload = Closure(pack).self
    accelerator = getattr(offload, "accelerator_type", "cuda")
    if tensor.device.type != accelerator or tensor.nbytes < offload.min_tensor_size_bytes:
        return None
    if isinstance(tensor, (torch.nn.Parameter, torch.nn.Buffer)):
        return None
    if getattr(offload, "param_storages", None) and storage_of(tensor) in weights:
        return None
    if "contiguous" not in pack.__code__.co_names:
        return torch.preserve_format
    return None if 0 in tensor.stride() else torch.contiguous_format


def facts_of_save_on_cpu(pack, device):
    if Closure(pack).pin_memory:
        return "contiguous"
    return None if device == "cpu" else "dense"


def facts_of_offload_activations(pack, device):
    offload = Closure(pack).self
    return (
        getattr(offload, "accelerator_type", "cuda"),
        offload.min_tensor_size_bytes,
        bool(getattr(offload, "param_storages", None)),
        "contiguous" in pack.__code__.co_names,
    )


class Kind(typing.NamedTuple):
    name: str  # in words
    layout: typing.Callable  # (pack, tensor, weights), as above
    # (pack, type of the module's device): equal where tensors are laid out in the same way; None: as they
    # were
    facts: typing.Callable
    is_stateless: bool  # several forwards, and a forward within a backward, may use the same hooks


SAVE_ON_CPU = Kind("torch.autograd.graph.save_on_cpu", of_save_on_cpu, facts_of_save_on_cpu, True)
OFFLOAD = Kind("OffloadActivations", of_offload_activations, facts_of_offload_activations, False)
NO_OP = Kind("NoOpManager", as_it_was, lambda pack, device: None, True)

# By where the hooks were defined: the module, and the function in which both were made.
KNOWN = {
    # Copies each tensor to the host, and back when the backward asks for it; on the CPU it keeps the tensor
    # itself. With pin_memory each copy is contiguous, also on the CPU.
    ("torch.autograd.graph", "save_on_cpu.__init__.<locals>"): SAVE_ON_CPU,
    # Copies large tensors of the accelerator that are no weights, by a stream of its own perhaps, and looks
    # each up by a number, once.
    ("trl.models.activation_offloading", "OffloadActivations.__init__.<locals>"): OFFLOAD,
    # The same class, before TRL took it over.
    ("torchtune.training._activation_offloading", "OffloadActivations.__init__.<locals>"): OFFLOAD,
    # What both put around parts that are not to be offloaded: hooks that give back what they get.
    ("trl.models.activation_offloading", "NoOpManager.__init__.<locals>"): NO_OP,
    ("torchtune.training._activation_offloading", "NoOpManager.__init__.<locals>"): NO_OP,
}


def place_of(function):
    scope = getattr(function, "__qualname__", "").rpartition(".")[0]
    return getattr(function, "__module__", ""), scope


def kind_of(hooks) -> Kind | None:
    pack, unpack = hooks
    place = place_of(pack)
    return KNOWN.get(place) if place_of(unpack) == place else None


def storage_of(tensor) -> int:
    with torch._C.DisableTorchFunction():
        return tensor.untyped_storage()._cdata


# The stack of hooks of this thread, of which autograd asks the last ones alone: (pack, unpack).


def top():
    """Returns the last hooks; None: there are none."""
    return torch._C._autograd._top_saved_tensors_default_hooks(True)


def push(stack) -> None:
    for pack, unpack in stack:
        torch._C._autograd._push_saved_tensors_default_hooks(pack, unpack)


def take_all() -> list:
    stack = []
    while (hooks := top()) is not None:
        torch._C._autograd._pop_saved_tensors_default_hooks()
        stack.insert(0, hooks)
    return stack


def in_force() -> list:
    stack = take_all()
    push(stack)
    return stack


def first_unknown():
    """Returns the hooks nearest to the top which may do more than to move tensors; None: there are none."""
    if top() is None:
        return None
    return next((hooks for hooks in reversed(in_force()) if kind_of(hooks) is None), None)


@contextlib.contextmanager
def only(stack):
    """These hooks, and none of those around it. What is left there at the end stays."""
    around = take_all()
    push(stack)
    try:
        yield
    finally:
        left = take_all()[len(stack) :]
        push(around + left)


class Offloading:
    """The hooks that are around a call, each of a known kind: none, perhaps."""

    __slots__ = ("stack",)

    def __init__(self, stack=()):
        self.stack = stack

    @staticmethod
    def now() -> "Offloading":
        return NONE if top() is None else Offloading(in_force())

    @property
    def name(self) -> str:
        return ", ".join(dict.fromkeys(kind_of(hooks).name for hooks in self.stack))

    def facts(self, device: str):
        """Hashable. Equal facts: a step on this device has the same layouts under both. None: the layouts of
        a step without hooks."""
        if not self.stack:
            return None
        kind = kind_of(self.stack[-1])
        facts = kind.facts(self.stack[-1][0], device.partition(":")[0])
        return facts and (kind.name, facts)

    def aside(self, module, device: str):
        """A forward of the module runs without the hooks, and has what they do to layouts."""
        return only([self.in_their_layouts(module)] if self.facts(device) else [])

    def again(self, module, device: str):
        """The hooks that the call was made under are in force for a forward of the module which runs later,
        in a backward perhaps. Those that count on one forward and its backward are not disturbed: only what
        they do to layouts is done."""
        if all(kind_of(hooks).is_stateless for hooks in self.stack):
            return only(self.stack)
        return self.aside(module, device)

    def in_their_layouts(self, module) -> tuple:
        """Returns hooks that keep each tensor where it is, and give it back as those of the caller would lay
        it out."""
        pack_of_caller, layout = self.stack[-1][0], kind_of(self.stack[-1]).layout
        weights = {storage_of(parameter) for parameter in module.parameters()}

        def pack(tensor):
            form = layout(pack_of_caller, tensor, weights) if tensor.layout is torch.strided else None
            form = None if form is None or is_laid_out(tensor, form) else form
            return tensor.detach(), tensor._version, form

        def unpack(packed):
            tensor, version, form = packed
            if tensor._version != version:
                raise RuntimeError(CHANGED)
            return tensor if form is None else tensor.clone(memory_format=form)

        return pack, unpack


def is_laid_out(tensor, form) -> bool:
    """Says whether a clone of this memory format lies as the tensor does."""
    sizes, strides = list(tensor.size()), list(tensor.stride())
    if form is torch.preserve_format:
        return is_dense(sizes, strides)
    return strides == contiguous_strides(sizes)


def is_dense(sizes, strides) -> bool:
    """Says whether the elements lie without gaps, and each in a place of its own."""
    if 0 in sizes:
        return True
    expected = 1
    for stride, size in sorted((stride, size) for size, stride in zip(sizes, strides) if size > 1):
        if stride != expected:
            return False
        expected *= size
    return True


def contiguous_strides(sizes) -> list:
    strides, next_one = [], 1
    for size in reversed(sizes):
        strides.insert(0, next_one)
        next_one *= max(size, 1)
    return strides


NONE = Offloading()
