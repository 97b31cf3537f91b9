"""Losses that are sums over tokens, computed for chunks of the tokens."""

import dataclasses
import typing

import torch
from torch import Tensor
from torch.nn import functional

SHORT = (torch.bfloat16, torch.float16)
REDUCTIONS = ("mean", "sum")


@dataclasses.dataclass(frozen=True)
class CrossEntropy:
    """The cross entropy of logits of shape (tokens, vocabulary) and targets of shape (tokens), which are
    classes. With `upcast`, logits in bf16 or f16 are converted to f32 first. Raises ValueError for an unknown
    reduction."""

    reduction: str = "mean"
    ignore_index: int = -100
    label_smoothing: float = 0.0
    weight: Tensor | None = None  # the weight of each class; None: all weights are 1
    upcast: bool = True
    change: typing.Callable | None = None  # function applied to the logits first

    def __post_init__(self):
        check_reduction(self.reduction, "the loss")

    def check(self, targets, tokens) -> None:
        if targets.shape != tokens or targets.is_floating_point():
            raise ValueError(
                f"rematlas: targets have the shape {tuple(targets.shape)} and type {targets.dtype}; the cross"
                f" entropy of hidden states of {tuple(tokens)} tokens takes a class for each: give"
                " probabilities to a loss that is a callable, with reduction='sum'"
            )

    def parameters(self):
        return ()

    def of_parts(self, targets, count) -> "Parts":
        """Returns the loss, computed in `count` parts of these targets."""
        if count <= 1 or self.reduction == "sum":
            return Parts(lambda logits, wanted: self.value(logits, wanted, self.reduction))
        return Parts(lambda logits, wanted: self.value(logits, wanted, "sum"), self.counted(targets))

    def counted(self, targets) -> Tensor:
        """Returns the divisor of the mean: the number of targets that are not ignored, each counted with the
        weight of its class."""
        is_counted = targets != self.ignore_index
        if self.weight is None:
            return is_counted.sum()
        return self.weight[targets.where(is_counted, 0)].where(is_counted, 0).sum()

    def value(self, logits, targets, reduction) -> Tensor:
        if self.change is not None:
            logits = self.change(logits)
        if self.upcast and logits.dtype in SHORT:
            logits = logits.float()
        return functional.cross_entropy(
            logits,
            targets,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=reduction,
            label_smoothing=self.label_smoothing,
        )


@dataclasses.dataclass(frozen=True)
class TokenLoss:
    """Any callable of (logits, targets) that returns one number. `reduction` says how the loss of all tokens
    follows from the losses of parts. Raises TypeError and ValueError if `loss` or `reduction` is wrong or
    missing."""

    loss: typing.Callable
    reduction: str | None

    def __post_init__(self):
        if not callable(self.loss):
            raise TypeError(
                f"rematlas: the loss is a {type(self.loss).__name__}; expected 'mean', 'sum' or a callable of"
                " (logits, targets)"
            )
        if self.reduction is None:
            raise TypeError(
                "rematlas: reduction is missing, which says of a loss that is a callable how that of all"
                " tokens comes from those of their parts: 'sum', or 'mean' where each counts by its number of"
                " tokens"
            )
        check_reduction(self.reduction, "reduction")

    def check(self, targets, tokens) -> None:
        """Does nothing, because targets may have any shape and type."""

    def parameters(self):
        return self.loss.parameters() if isinstance(self.loss, torch.nn.Module) else ()

    def of_parts(self, targets, count) -> "Parts":
        if count <= 1 or self.reduction == "sum":
            return Parts(self.value)
        tokens = len(targets)
        return Parts(lambda logits, wanted: self.value(logits, wanted) * (len(wanted) / tokens))

    def value(self, logits, targets) -> Tensor:
        value = self.loss(logits, targets)
        if not isinstance(value, Tensor) or value.numel() != 1:
            raise ValueError(
                f"rematlas: the loss returns {told(value)}; expected a tensor of one number, the loss of"
                " these tokens together"
            )
        return value.reshape(())


class Parts(typing.NamedTuple):
    """The loss of all tokens: the sum of the losses of the parts, divided by `divisor`."""

    of_part: typing.Callable  # function of (logits, targets) of a part, which returns the part's loss
    divisor: Tensor | None = None  # None means no division

    def finished(self, total) -> Tensor:
        return total if self.divisor is None else total / self.divisor


def told(value) -> str:
    return f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else repr(value)


def check_reduction(reduction, name) -> None:
    if reduction not in REDUCTIONS:
        raise ValueError(f"rematlas: {name} is {reduction!r}; expected 'mean' or 'sum'")


def cross_entropy_of(loss) -> CrossEntropy | None:
    """Returns the CrossEntropy that computes the same as `loss` if `loss` is torch's own cross entropy, as a
    function or a module; None for any other loss."""
    if loss is functional.cross_entropy:
        return CrossEntropy(upcast=False)
    if type(loss) is not torch.nn.CrossEntropyLoss:
        return None
    return CrossEntropy(loss.reduction, loss.ignore_index, loss.label_smoothing, loss.weight, upcast=False)
