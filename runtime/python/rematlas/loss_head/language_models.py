"""Computes head and loss by chunks of tokens in causal language models of transformers, whose own forward
computes logits and loss.

The code of the model's forward runs unchanged, but the head in it returns a stand-in for the logits
(`LogitsToCome`). The loss function is replaced by a function that gets the stand-in and computes head and
loss by chunks. From hidden states to loss, the model's code must do no more than call the module that
`get_output_embeddings()` returns, change each logit by itself, and call `loss_function`. A trial on three
tokens, without the model's body, checks beforehand that this is so and that the loss is the same.
"""

import contextlib
import inspect
import sys
import types
from unittest import mock

import torch
from torch.nn import functional

from ..calls.module_hooks import runs_hooks
from ..errors import Refused, message
from .chunked_loss import ChunkedLoss
from .logits_to_come import LogitsToCome
from .losses import CrossEntropy

BY_HAND = "compute its head and loss by rematlas.chunked_loss in its forward, and leave chunk_loss out"
TRIED = 3  # tokens
CLOSE = 2e-2  # the relative tolerance of a trial's loss, because logits may be rounded to bf16


class ChunkedForward:
    """Replaces the model's forward. In train mode with labels, the output has the loss and no logits; without
    labels, or in evaluation, the output is the usual one. For each loss, `note` is called with the number of
    tokens, the tokens of a chunk, and the size of the vocabulary."""

    def __init__(self, model, chunks, note=None):
        self.model = model
        self.chunks = chunks
        self.note = note

    def __getstate__(self):
        return self.__dict__ | {"note": None}

    @property
    def __signature__(self):
        """The signature of the model's own forward. By it, for example, the Trainer of transformers chooses
        the columns of a dataset."""
        return inspect.signature(types.MethodType(type(self.model).forward, self.model))

    def __call__(self, *args, **kwargs):
        model = self.model
        own_forward = type(model).forward
        if not model.training or not torch.is_grad_enabled():
            return own_forward(model, *args, **kwargs)
        with self.without_logits() as loss:
            output = own_forward(model, *args, **kwargs)
        return loss.output_of(output)

    @contextlib.contextmanager
    def without_logits(self):
        """A context in which the first call of the head returns a stand-in for the logits."""
        head = self.model.get_output_embeddings()
        loss = LossOfLogitsToCome(head, self.chunks, self.model.loss_function, self.note)

        def forward_once(hidden):
            del head.__dict__["forward"]
            return LogitsToCome(hidden, head.out_features)

        head.__dict__["forward"] = forward_once
        try:
            with mock.patch.object(self.model, "_loss_function", loss, create=True):
                yield loss
        finally:
            head.__dict__.pop("forward", None)


class LossOfLogitsToCome:
    """Replaces the loss function `ForCausalLMLoss` of transformers."""

    def __init__(self, head, chunks, original, note):
        self.head = head
        self.chunks = chunks
        self.original = original
        self.note = note
        self.are_made = 0  # the number of losses computed by chunks

    def __call__(
        self,
        logits,
        labels,
        vocab_size,
        num_items_in_batch=None,
        ignore_index=-100,
        shift_labels=None,
        **kwargs,
    ):
        if not isinstance(logits, LogitsToCome):
            given = {"num_items_in_batch": num_items_in_batch, "ignore_index": ignore_index}
            return self.original(logits, labels, vocab_size, shift_labels=shift_labels, **given, **kwargs)
        if vocab_size != self.head.out_features:
            raise Refused(
                f"rematlas: chunk_loss: the head makes {self.head.out_features} logits, and the loss is of"
                f" {vocab_size} classes: {BY_HAND}"
            )
        if shift_labels is None:  # each token's logits predict the next token
            shift_labels = functional.pad(labels, (0, 1), value=ignore_index)[..., 1:]
        targets = shift_labels.reshape(logits.hidden.shape[:-1]).to(logits.device)
        reduction = "mean" if num_items_in_batch is None else "sum"
        cross_entropy = CrossEntropy(reduction, ignore_index, change=OfModel(logits))
        loss = ChunkedLoss(self.head, cross_entropy, self.chunks)
        self.are_made += 1
        if self.note is not None:
            size = loss.chunk_size(targets.numel())
            self.note(targets.numel(), size, vocab_size)
        value = loss(logits.hidden, targets)
        if num_items_in_batch is None:
            return value
        if isinstance(num_items_in_batch, torch.Tensor):
            num_items_in_batch = num_items_in_batch.to(value.device)
        return value / num_items_in_batch

    def output_of(self, output):
        """Returns the model's output. Stand-ins in it become None if a loss was computed from them, otherwise
        real logits."""

        def real(value):
            if not isinstance(value, LogitsToCome):
                return value
            return None if self.are_made else value.made(self.head(value.hidden))

        if isinstance(output, tuple):
            return tuple(map(real, output))
        found = [name for name, value in output.items() if isinstance(value, LogitsToCome)]
        if not found:
            return output
        return type(output)(**{name: real(value) for name, value in output.items()})


class OfModel:
    """The changes that the model makes to logits before the loss, as a function. It holds no tensor of the
    forward."""

    def __init__(self, logits):
        self.changes = LogitsToCome(None, logits.vocabulary, logits.changes)

    def __call__(self, logits):
        return self.changes.made(logits).float()


def chunks_of(module):
    """Returns the option chunk_loss of the module (a number of chunks, or "auto"); None if it uses no
    chunks."""
    forward = module.__dict__.get("forward")
    return forward.chunks if isinstance(forward, ChunkedForward) else None


def found_forward(model, chunks, note=None) -> ChunkedForward:
    """Returns the forward that computes head and loss of the model by chunks. Raises Refused if there is no
    such forward; its message says why, and what to do."""
    why = why_not(model)
    if why:
        raise Refused(f"rematlas: chunk_loss: {why}: {BY_HAND}")
    try:
        try_it(model, chunks)
    except Exception as error:
        if isinstance(error, Refused):
            raise
        raise Refused(
            f"rematlas: chunk_loss: a trial of the {type(model).__name__} without its body fails"
            f" ({message(error)}): {BY_HAND}"
        ) from error
    return ChunkedForward(model, chunks, note)


def why_not(model) -> str:
    """Returns why the head and the loss of a model cannot be found; empty if a trial must show whether they
    can."""
    name = type(model).__name__
    library = sys.modules.get("transformers")
    if library is None or not isinstance(model, library.PreTrainedModel):
        return f"a {name} is no language model of transformers, and nobody knows its head and its loss"
    if "forward" in model.__dict__:
        return f"the forward of this {name} is replaced by another one"
    if getattr(model.loss_function, "__name__", "") != "ForCausalLMLoss" or is_own(model.loss_function):
        return f"the loss of a {name} is not that of transformers' causal language models"
    head = model.get_output_embeddings()
    if not isinstance(head, torch.nn.Linear) or "forward" in head.__dict__ or runs_hooks(head):
        return f"the head of this {name} is no torch.nn.Linear without hooks"
    if model.base_model is model or model.base_model._compiled_call_impl is not None:
        return f"the body of this {name} cannot be left out for a trial"
    return ""


def is_own(loss) -> bool:
    """Says whether the function comes from elsewhere than transformers, whatever its name is."""
    return not getattr(loss, "__module__", "").startswith("transformers.")


def try_it(model, chunks) -> None:
    """Compares the losses of a few tokens, computed in the usual way and by chunks. Raises Refused if the
    losses differ. Also raises the errors of the model."""
    head = model.get_output_embeddings()
    like = {"device": head.weight.device, "dtype": head.weight.dtype}
    hidden = torch.empty(1, TRIED, head.in_features, device="cpu")
    hidden = hidden.normal_(generator=torch.Generator("cpu").manual_seed(1)).to(**like)
    tokens = torch.arange(TRIED, device=like["device"])[None] % head.out_features
    chunked = ChunkedForward(model, min(chunks, TRIED) if isinstance(chunks, int) else chunks)
    own_forward = type(model).forward
    with torch.no_grad(), without_body(model.base_model, hidden):
        expected = own_forward(model, input_ids=tokens, labels=tokens).loss
        with chunked.without_logits() as loss:
            found = loss.output_of(own_forward(model, input_ids=tokens, labels=tokens))
    if loss.are_made != 1 or found.logits is not None or expected is None:
        raise Refused(
            f"rematlas: chunk_loss: the forward of this {type(model).__name__} does not compute one loss of"
            f" the logits of its head: {BY_HAND}"
        )
    is_known = expected.device.type != "meta"
    if is_known and not torch.allclose(found.loss.float(), expected.float(), rtol=CLOSE):
        raise Refused(
            f"rematlas: chunk_loss: by chunks the loss of this {type(model).__name__} is another one"
            f" ({found.loss.item():g} for {expected.item():g}): {BY_HAND}"
        )


def without_body(body, hidden):
    """Returns a context in which the body returns these hidden states. All other attributes of the body's
    output are None."""
    kind = type("Output", (types.SimpleNamespace,), {"__getattr__": lambda *_: None})
    return mock.patch.object(body, "forward", lambda *_, **__: kind(last_hidden_state=hidden))
