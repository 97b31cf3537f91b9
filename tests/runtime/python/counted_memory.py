"""Counts the memory of a training step. The counts do not use the step's graph: they are the bytes of the
tensors that a module holds, and of the tensors that autograd keeps for the backward.

The counts use torch's fake tensors, whose shapes, strides and devices are computed by torch. So they share no
code with the shapes of a captured step. All numbers are bytes.
"""

import contextlib
import weakref
from typing import NamedTuple
from unittest import mock

import torch
import transformers.masking_utils
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from rematlas.cards.absent_device import AbsentDevice


def rounded(size: int) -> int:
    """Returns the bytes that CUDA's allocator takes for `size` bytes: the next multiple of 512."""
    return -(-size // 512) * 512


def total(tensors) -> int:
    """Returns the bytes of these tensors. A tensor that occurs several times counts once."""
    return sum(rounded(tensor.nbytes) for tensor in {id(tensor): tensor for tensor in tensors}.values())


class Counted(NamedTuple):
    """The counts of a step. `kept`: the bytes of activations that autograd keeps, counted either when the
    forward has returned or when the gradient of a module's output exists. `trained`: the names of parameters
    with a gradient. `output`: the output of the model."""

    kept: int
    trained: frozenset
    output: object


class Kept:
    """Replaces a tensor that autograd keeps for the backward. Autograd frees this object when it would free
    the tensor."""

    def __init__(self, tensor):
        self.tensor = tensor


class Keeper:
    """Makes hooks with which autograd keeps a `Kept` instead of each tensor. `given`: tensors whose memory
    does not count."""

    def __init__(self, given):
        self.given = {tensor.untyped_storage()._cdata for tensor in given}
        self.alive = weakref.WeakSet()

    def hooks(self):
        return torch.autograd.graph.saved_tensors_hooks(self.keep, lambda kept: kept.tensor)

    def keep(self, tensor) -> Kept:
        kept = Kept(tensor)
        self.alive.add(kept)
        return kept

    def bytes(self) -> int:
        storages = (kept.tensor.untyped_storage() for kept in self.alive)
        sizes = {storage._cdata: storage.nbytes() for storage in storages}
        return sum(rounded(size) for key, size in sizes.items() if key not in self.given)


@contextlib.contextmanager
def fake_card(card: str):
    """A context manager in which torch makes fake tensors on the card.

    With fake tensors, transformers assumes that it is traced. It then makes its own attention mask, and
    repeats keys and values for each head. This context tells transformers that it is not traced and that each
    row is one text. So transformers runs the ops of an eager step.
    """
    eager = {"is_tracing": lambda *_: False, "find_packed_sequence_indices": lambda *_: None}
    with mock.patch.multiple(transformers.masking_utils, **eager):
        with AbsentDevice(card), FakeTensorMode(allow_non_fake_inputs=True):
            yield


def faked(tensor):
    """Returns a fake tensor on the card with the same geometry as `tensor`, which is on the meta device."""
    made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cuda:0")
    return nn.Parameter(made, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else made


def count(model, args, kwargs, card="h100", at=None) -> Counted:
    """Runs the model and its backward with fake tensors of the card. Fake tensors replace the parameters and
    buffers of the model, which must be on the meta device. `at`: the path of a module; the kept bytes are
    counted when the gradient of this module's output exists. If None, they are counted when the forward has
    returned."""
    found = []
    with fake_card(card):
        made = {}
        for module in model.modules():
            for tensors in (module._parameters, module._buffers):
                for name, tensor in tensors.items():
                    if tensor is not None:
                        tensors[name] = made.setdefault(id(tensor), (tensor, faked(tensor)))[1]
        args = [made.setdefault(id(tensor), (tensor, faked(tensor)))[1] for tensor in args]
        kwargs = {name: made.setdefault(id(one), (one, faked(one)))[1] for name, one in kwargs.items()}
        keeper = Keeper(fake for _, fake in made.values())

        def look(*_):
            found.append(keeper.bytes())

        if at is not None:
            module = model.get_submodule(at)
            module.register_forward_hook(lambda _, __, output: output.register_hook(look) and None)
        model.train()
        with keeper.hooks():
            output = model(*args, **kwargs)
        if at is None:
            look()
        loss = output if isinstance(output, torch.Tensor) else output.loss
        loss.backward()
        trained = frozenset(name for name, one in model.named_parameters() if one.grad is not None)
    (kept,) = found
    return Counted(kept, trained, output)
