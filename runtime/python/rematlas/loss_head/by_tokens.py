"""Checks on a few made-up tokens whether a head treats each token independently."""

import contextlib
import weakref

import torch

from ..calls.modes import generators_put_back
from ..errors import Refused
from .heads import states_of_generators

TRIED = 4  # tokens
# The tolerance, as a share of the largest logit. Logits that are computed for fewer tokens at a time may
# differ a little, because products of fewer rows may run in other kernels, and because types may have few
# bits.
CLOSE = 2e-2
INSTEAD = "compute its logits at once, without rematlas.chunked_loss"

checked = weakref.WeakSet()  # heads


def check_by_tokens(head, hidden) -> None:
    """Raises Refused if the logits of a token depend on other tokens, or if a call of the head changes its
    buffers, because the loss by chunks would then have another value. Each head is checked once, at a time
    when values are known. `hidden` has the shape (tokens, width)."""
    if head in checked or hidden.device.type == "meta":
        return
    generator = torch.Generator("cpu").manual_seed(1)
    made = torch.randn(TRIED, hidden.shape[-1], generator=generator, device="cpu")
    with contextlib.suppress(NotKnown), torch.no_grad(), generators_put_back(str(hidden.device)):
        compare(head, made.to(device=hidden.device, dtype=hidden.dtype))
        checked.add(head)


class NotKnown(Exception):
    """Raised if the values of tensors are not known, because a step is being recorded from shapes."""


def compare(head, hidden) -> None:
    name = type(head).__name__
    kept = {where: buffer.clone() for where, buffer in head.named_buffers()}
    try:
        before = states_of_generators(hidden.device)
        whole = head(hidden)
        if states_of_generators(hidden.device) != before:
            return  # the head draws random numbers, which AnyHead.logits refuses
        parts = torch.cat([head(half) for half in hidden.chunk(2)])
        changed = [where for where, buffer in head.named_buffers() if not is_same(buffer, kept[where])]
    finally:
        for where, buffer in head.named_buffers():
            buffer.copy_(kept[where])
    if changed:
        raise Refused(
            f"rematlas: the head, a {name}, changes its buffer {changed[0]} in each call, and a loss by"
            f" chunks calls it for each chunk and once more in the backward: {INSTEAD}"
        )
    most = CLOSE * float(read(whole.abs().max()))
    if not read(((whole - parts).abs() <= most).logical_or(whole.isnan()).all()):
        raise Refused(
            f"rematlas: the head, a {name}, does not treat each token by itself: the logits of a token are"
            f" others where other tokens are beside it, and so is a loss by chunks: {INSTEAD}"
        )


def is_same(buffer, before) -> bool:
    return buffer.shape == before.shape and bool(read((buffer == before).logical_or(buffer.isnan()).all()))


def read(tensor):
    try:
        return tensor.item()
    except RuntimeError:
        raise NotKnown from None
