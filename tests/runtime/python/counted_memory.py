"""Counts of a training step's memory that use no graph: the sizes of the tensors that a module holds, and of
those that autograd keeps for the backward.

The counts run on the fake tensors of torch, whose shapes, strides and devices come from the formulas of torch
itself, so that they share nothing with the shapes of a captured step. All numbers are bytes.
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
    """Returns the bytes that the allocator of CUDA takes for so many: it gives out multiples of 512."""
    return -(-size // 512) * 512


def total(tensors) -> int:
    """Returns the bytes of these tensors. A tensor that comes several times counts once."""
    return sum(rounded(tensor.nbytes) for tensor in {id(tensor): tensor for tensor in tensors}.values())


class Counted(NamedTuple):
    """The counts of a step. `kept`: the bytes of activations that autograd keeps, either when the forward has
    returned, or when the gradient of a module's output exists. `trained`: the names of parameters with a
    gradient. `output`: the output of the model."""

    kept: int
    trained: frozenset
    output: object


class Kept:
    """Stands in autograd for a tensor that is kept for the backward, and is freed when autograd frees that
    tensor."""

    def __init__(self, tensor):
        self.tensor = tensor


class Keeper:
    """Its hooks let autograd keep a Kept for each tensor. `given`: tensors whose memory does not count."""

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
    """A context in which torch makes fake tensors on the card.

    With fake tensors, transformers assumes a trace: it makes an attention mask of its own, and repeats keys
    and values for each head. In this context it takes the course of an eager step, because it is told that
    there is no trace, and that each row is one text.
    """
    eager = {"is_tracing": lambda *_: False, "find_packed_sequence_indices": lambda *_: None}
    with mock.patch.multiple(transformers.masking_utils, **eager):
        with AbsentDevice(card), FakeTensorMode(allow_non_fake_inputs=True):
            yield


def faked(tensor):
    """Returns a fake tensor of the card like this tensor of the meta device."""
    made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cuda:0")
    return nn.Parameter(made, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else made


def count(model, args, kwargs, card="h100", at=None) -> Counted:
    """Runs the model, which lies on the meta device, and its backward with fake tensors of the card; they
    take the places of its parameters and buffers. `at`: the path of the module whose output's gradient must
    be there when the kept bytes are counted; None: they are counted when the forward has returned."""
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
