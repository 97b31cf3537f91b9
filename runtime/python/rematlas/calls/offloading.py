"""Saved tensor hooks of the caller that only move the tensors saved for the backward to other memory and
back. A plan itself decides which tensors are kept, so the module's forward runs without these hooks.

Such hooks return each tensor with the same bits, but perhaps in another layout. The bits of a gradient may
depend on that layout. So in a forward that is recorded or compared, each saved tensor stays where it is, and
the backward gets it in the layout that the hooks would give it.
"""

import contextlib
import typing

import torch

CHANGED = (
    "rematlas: a tensor that the backward needs was changed in place after it was saved. The hooks around the"
    " module had kept a copy of it, and a plan does not: call the module outside of them"
)


class Closure:
    """The variables of a function's closure as attributes. Any other attribute is None."""

    def __init__(self, function):
        cells = zip(function.__code__.co_freevars, function.__closure__ or ())
        self.__dict__.update({name: cell.cell_contents for name, cell in cells})

    def __getattr__(self, name):
        return None


# The functions below return the layout that a saved tensor has when it comes back from the hooks. The layout
# is given as the memory format for `clone`; None if the layout does not change. `weights`: the storages of
# the module's parameters.


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
    name: str  # the name that messages show
    layout: typing.Callable  # a function of (pack, tensor, weights), one of those above
    # A function of (pack, type of the module's device). It describes the layouts that the hooks give tensors:
    # equal values mean equal layouts, and None means that the hooks change no layout.
    facts: typing.Callable
    is_stateless: bool  # the same hooks may serve several forwards, and a forward within a backward


SAVE_ON_CPU = Kind("torch.autograd.graph.save_on_cpu", of_save_on_cpu, facts_of_save_on_cpu, True)
OFFLOAD = Kind("OffloadActivations", of_offload_activations, facts_of_offload_activations, False)
NO_OP = Kind("NoOpManager", as_it_was, lambda pack, device: None, True)

# The kinds of hooks. A key is the place where the hooks are defined: the Python module, and the function in
# which both hooks, pack and unpack, are made.
KNOWN = {
    # These hooks copy each tensor to the host, and back when the backward needs it. On the CPU they keep the
    # tensor itself. With pin_memory they make contiguous copies even on the CPU.
    ("torch.autograd.graph", "save_on_cpu.__init__.<locals>"): SAVE_ON_CPU,
    # These hooks copy large tensors of the accelerator that are not weights, perhaps on a separate stream.
    # They look up each tensor by a number, and allow this only once.
    ("trl.models.activation_offloading", "OffloadActivations.__init__.<locals>"): OFFLOAD,
    # The same class is in torchtune, from which TRL took it over.
    ("torchtune.training._activation_offloading", "OffloadActivations.__init__.<locals>"): OFFLOAD,
    # Both libraries put these hooks around parts that must not be offloaded. The hooks return each tensor
    # unchanged.
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


# The stack of hooks of this thread, as pairs (pack, unpack). Autograd calls only the last pair.


def top():
    """Returns the last pair of hooks; None if there are none."""
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
    """Returns the topmost pair on the stack of saved-tensor hooks that is not known to only move tensors;
    None if there is none."""
    if top() is None:
        return None
    return next((hooks for hooks in reversed(in_force()) if kind_of(hooks) is None), None)


@contextlib.contextmanager
def only(stack):
    """A context in which the hooks in `stack` are in force, and no others. At the end, the hooks from
    before the context are in force again, and above them the hooks that were pushed within the context and
    not popped."""
    around = take_all()
    push(stack)
    try:
        yield
    finally:
        left = take_all()[len(stack) :]
        push(around + left)


class Offloading:
    """The hooks around a call, each of a known kind. There may be none."""

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
        """Returns a hashable value that describes the layouts in which the hooks return saved tensors on this
        device. If two Offloadings return equal values, they give the same layouts. None means that the hooks
        change no layout."""
        if not self.stack:
            return None
        kind = kind_of(self.stack[-1])
        facts = kind.facts(self.stack[-1][0], device.partition(":")[0])
        return facts and (kind.name, facts)

    def aside(self, module, device: str):
        """Returns a context for a forward of the module. The forward runs without the hooks, but saved
        tensors get the layouts that the hooks would give them."""
        return only([self.in_their_layouts(module)] if self.facts(device) else [])

    def again(self, module, device: str):
        """Returns a context for a forward of the module that runs later, perhaps in a backward. If all hooks
        around the call are stateless, they are in force in the context. Otherwise only the layouts that the
        hooks would give are applied, because hooks with a state work only for one forward and its
        backward."""
        if all(kind_of(hooks).is_stateless for hooks in self.stack):
            return only(self.stack)
        return self.aside(module, device)

    def in_their_layouts(self, module) -> tuple:
        """Returns hooks that keep each tensor where it is, and return it in the layout that the caller's
        hooks would give it."""
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
    """Says whether the tensor has the strides that a clone with the memory format `form` would have."""
    sizes, strides = list(tensor.size()), list(tensor.stride())
    if form is torch.preserve_format:
        return is_dense(sizes, strides)
    return strides == contiguous_strides(sizes)


def is_dense(sizes, strides) -> bool:
    """Says whether the elements are in memory without gaps, and no two elements overlap."""
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
