"""The head of a language model and its loss, computed by chunks of tokens.

    class Model(nn.Module):
        def __init__(self):
            ...
            self.loss = rematlas.chunked_loss(self.head, "mean", chunks=8)

        def forward(self, tokens, targets):
            return self.loss(self.body(tokens), targets)  # was: cross_entropy(self.head(...), ...)

The logits (tokens x vocabulary) and their gradients take the most memory of many steps. No schedule can avoid
this, because all of them exist at the same time. If they are computed by chunks, only the logits and
gradients of one chunk exist at a time.

The forward computes the loss of each chunk and drops its logits. The backward computes the logits of each
chunk again, and from them the chunk's gradients. The gradients of the head's parameters are summed in one
tensor for each parameter. The gradients could also be computed in the forward, for a unit gradient of the
loss, and be scaled in the backward; that would save the second product with the head's weights. This is not
done, for three reasons. First, the factor of the loss, such as that of a GradScaler for f16, would be applied
only after the gradients of the logits were rounded to f16, and small gradients would already be zero. Second,
the gradient of the head's weights would be held from the forward to the backward, once for each open forward,
and scaling it would take a copy. Third, forwards without a backward would compute the gradients for nothing.
The second product takes about a third of the head's time, which is one or two percent of the step of a model
of billions of parameters.

A recorder of the ops below autograd sees the logits in the backward as different tensors from those in the
forward. So a plan cannot hold the logits of all chunks for the backward, as it could with tensors that a
checkpoint recomputes.
"""

import contextlib
import dataclasses
import typing

import torch

from ..calls.modes import Autocast
from ..errors import Refused
from .by_tokens import check_by_tokens
from .heads import Sums, check_leaves, is_plain_linear, made_head
from .losses import CrossEntropy, TokenLoss, cross_entropy_of

AUTO = "auto"
TENSORS_OF_LOGITS = 3  # held at once by the cross entropy: the log of the softmax, and two gradients


def chunked_loss(
    head, loss="mean", chunks=8, *, ignore_index=-100, label_smoothing=0.0, upcast=True, reduction=None
) -> "ChunkedLoss":
    """Returns a callable of (hidden, targets) that computes `loss(head(hidden), targets)` by chunks of
    tokens.

    `hidden` has the shape (..., width) and `targets` the same leading dimensions; the result is one number.
    `head`: a torch.nn.Module from (tokens, width) to (tokens, vocabulary) that treats each token by itself,
    in most models a torch.nn.Linear. It stays a part of the model, and may share its weight with the
    embedding. `chunks`: the number of chunks; "auto" takes the smallest power of two with which the logits of
    a chunk and their gradients take no more memory than the head's parameters.

    `loss`: "mean" or "sum" for the cross entropy with `ignore_index` and `label_smoothing`. "mean" is the
    mean over the targets of all chunks, except ignored targets. With `upcast`, logits in bf16 or f16 become
    f32 first. `loss` may also be a torch.nn.CrossEntropyLoss, or any callable of (logits, targets) that
    returns one number. Such a callable needs `reduction`: "sum" if the loss of all tokens is the sum of the
    losses of parts of the tokens, "mean" if it is the mean of these losses, each weighted by its number of
    tokens.

    `ChunkedLoss.differences` says how the results differ from those of the plain computation. Second
    derivatives are not possible. Raises TypeError and ValueError, which say what is expected.
    """
    if not isinstance(head, torch.nn.Module):
        raise TypeError(
            f"rematlas: the head is a {type(head).__name__}; expected a torch.nn.Module, whose parameters are"
            " known: put what the function computes into the forward of one"
        )
    is_count = isinstance(chunks, int) and not isinstance(chunks, bool) and chunks >= 1
    if not is_count and chunks != AUTO:
        raise ValueError(f"rematlas: chunks is {chunks!r}; expected a whole number of at least 1, or 'auto'")
    if isinstance(loss, str):
        if reduction is not None:
            raise TypeError("rematlas: reduction is for a loss that is a callable, and the loss is a name")
        return ChunkedLoss(head, CrossEntropy(loss, ignore_index, label_smoothing, None, upcast), chunks)
    if (ignore_index, label_smoothing, upcast) != (-100, 0.0, True):
        raise TypeError(
            "rematlas: ignore_index, label_smoothing and upcast are for the losses 'mean' and 'sum'; a loss"
            " that is a callable has its own"
        )
    known = cross_entropy_of(loss) if reduction is None else None
    return ChunkedLoss(head, known or TokenLoss(loss, reduction), chunks)


class ChunkedLoss:
    """The callable that `chunked_loss` returns. It keeps nothing between calls, and is not a module. The
    parameters that it uses belong to the head, which is a part of the model, and to the loss if the loss is a
    module."""

    def __init__(self, head, loss, chunks):
        self.head = head
        self.loss = loss
        self.chunks = chunks

    def __call__(self, hidden, targets):
        """Returns the loss, a tensor of one number. Raises ValueError if the shapes do not match or if
        targets need a gradient, and Refused if the head does not treat each token by itself."""
        tokens, width = hidden.shape[:-1], hidden.shape[-1]
        if targets.shape[: len(tokens)] != tokens:
            raise ValueError(
                f"rematlas: targets of shape {tuple(targets.shape)} do not go with hidden states of shape"
                f" {tuple(hidden.shape)}; a target for each token is expected"
            )
        if targets.requires_grad:
            raise ValueError(
                "rematlas: targets need a gradient, and a loss by chunks gives them none: detach them"
            )
        self.loss.check(targets, tokens)
        hidden = hidden.reshape(-1, width)
        targets = targets.reshape(-1, *targets.shape[len(tokens) :])
        if len(hidden) and not is_plain_linear(self.head, None):
            check_by_tokens(self.head, hidden)
        several = (*self.head.parameters(), *self.loss.parameters())
        parameters = list(dict.fromkeys(parameter for parameter in several if parameter.requires_grad))
        work = Work(self.head, self.loss, self.chunk_size(len(hidden)), autocast_on(hidden.device))
        return HeadAndLoss.apply(work, hidden, targets, *parameters)

    __call__._torchdynamo_disable = True
    __call__._torchdynamo_disable_msg = "a loss by chunks takes gradients within its backward"

    def chunk_size(self, tokens: int) -> int:
        """Returns the number of tokens in a chunk; the last chunk may have fewer."""
        chunks = chunks_for(self.head, tokens) if self.chunks == AUTO else self.chunks
        return max(1, -(-tokens // chunks))

    @property
    def differences(self) -> str:
        """Returns a text about which results may differ from those of the plain computation, and by how
        much."""
        return (
            "With one chunk the loss and all gradients are those of the plain computation to the last bit"
            " (whose logits become f32 first, for the losses 'mean' and 'sum' with upcast)."
            " With several, the loss is the sum of theirs: it differs by at most chunks * 2**-24 of itself in"
            " f32, beside the order in which a chunk's own terms are summed. The gradients of the head's"
            " parameters are summed chunk by chunk in the type of the product, which rounds each sum once"
            " more: by at most chunks * 2**-24 in f32, chunks * 2**-11 in f16 and chunks * 2**-8 in bf16 of"
            " the largest partial sum. The gradient of a hidden state comes from its own token alone. Beside"
            " that, all gradients differ where the device multiplies matrices of fewer rows by other kernels:"
            " by a few such units."
        )


def head_bytes(tokens: int, vocabulary: int) -> int:
    """Returns the peak bytes of the cross entropy of this many tokens in f32."""
    return TENSORS_OF_LOGITS * 4 * tokens * vocabulary


def chunks_for(head, tokens: int) -> int:
    """Returns the smallest power of two such that, with this number of chunks, the logits of a chunk and
    their gradients take no more memory than the head's parameters. Raises ValueError for a head without the
    size of its vocabulary (`out_features`)."""
    vocabulary = getattr(head, "out_features", None)
    if not isinstance(vocabulary, int):
        raise ValueError(
            f"rematlas: chunks is 'auto', and a {type(head).__name__} does not say how many logits it makes"
            " (out_features): give the number of chunks"
        )
    room = sum(parameter.nbytes for parameter in head.parameters())
    chunks = 1
    while chunks < tokens and head_bytes(-(-tokens // chunks), vocabulary) > room:
        chunks *= 2
    return chunks


def autocast_on(device) -> Autocast | None:
    """Returns the present settings of autocast; None for a device that has no autocast."""
    return Autocast(str(device)) if torch.amp.is_autocast_available(device.type) else None


@dataclasses.dataclass(frozen=True)
class Work:
    """The computation of one call of a ChunkedLoss."""

    head: torch.nn.Module
    loss: typing.Any  # CrossEntropy or TokenLoss
    size: int  # the number of tokens in a chunk
    autocast: Autocast | None  # autocast's settings in the forward

    def again(self):
        """Returns a context with the autocast settings of the forward."""
        if self.autocast is None or not (self.autocast.enabled or Autocast(self.autocast.device).enabled):
            return contextlib.nullcontext()
        return self.autocast.again()

    def parts(self, hidden, targets) -> list:
        return list(zip(hidden.split(self.size), targets.split(self.size)))


class HeadAndLoss(torch.autograd.Function):
    """The loss of all chunks. The logits of each chunk are freed before the logits of the next chunk are
    computed."""

    @staticmethod
    def forward(ctx, work, hidden, targets, *parameters):
        ctx.work = work
        ctx.save_for_backward(hidden, targets, *parameters)
        chunks = work.parts(hidden, targets)
        parts = work.loss.of_parts(targets, len(chunks))
        head = made_head(work.head, work.autocast)
        total = None
        for part, wanted in chunks:
            value = parts.of_part(head.logits(part), wanted)
            total = value if total is None else total + value
        return parts.finished(total)

    @staticmethod
    def backward(ctx, gradient):
        """Computes the gradients. The logits are computed again under the autocast settings of the forward.
        The gradients are computed under the settings that are in force now, as autograd does."""
        if torch.is_grad_enabled():
            raise Refused(
                "rematlas: a loss by chunks has no gradient of a gradient: leave create_graph out, or compute"
                " head and loss at once"
            )
        hidden, targets, *parameters = ctx.saved_tensors
        work = ctx.work
        chunks = work.parts(hidden, targets)
        sums = Sums(parameters, len(chunks))
        parts = work.loss.of_parts(targets, len(chunks))
        gradient = parts.finished(gradient)
        head = made_head(work.head, work.autocast)
        others = [parameter for parameter in parameters if not head.is_summed_here(parameter)]
        of_hidden = []
        for part, wanted in chunks:
            part = head.part(part)
            with work.again(), torch.enable_grad():
                value = parts.of_part(head.logits_with_gradients(part, sums), wanted)
            if not of_hidden:
                check_leaves(value, [part, *others])
            made = torch.autograd.grad(value, [part, *others], gradient, allow_unused=True)
            del value
            of_hidden.append(made[0])
            for parameter, one in zip(others, made[1:]):
                sums.add(parameter, one)
        of_parameters = (
            None if found is None else found.to(parameter.dtype)
            for parameter, found in zip(parameters, sums.found)
        )
        return None, torch.cat(of_hidden), None, *of_parameters
