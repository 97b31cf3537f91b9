"""The option chunk_loss of `apply`: whether the steps of a module compute head and loss by chunks."""

import logging

from ..errors import Refused, in_bytes, message, warn
from .chunked_loss import AUTO, head_bytes
from .language_models import found_forward

log = logging.getLogger("rematlas")


def check_chunk_loss(asked) -> None:
    """Raises ValueError if `asked` is not a possible value of the option."""
    is_count = isinstance(asked, int) and not isinstance(asked, bool) and asked >= 1
    if asked not in (None, AUTO) and not is_count:
        raise ValueError(
            f"rematlas: chunk_loss is {asked!r}; expected a whole number of chunks, 'auto' or None"
        )


class Chunking:
    """Replaces the forward of the module if chunks are asked for, until `remove` is called. If the head and
    the loss of the module are not found, warns with the reason, or raises Refused if `on_refuse` is
    "raise"."""

    def __init__(self, module, asked, on_refuse):
        self.module = module
        self.forward = None
        self.why_not = ""
        self.largest = None  # (tokens, tokens of a chunk, size of the vocabulary) of the largest loss so far
        if asked is None:
            return
        try:
            self.forward = found_forward(module, asked, note_for(self))
        except Refused as error:
            if on_refuse == "raise":
                raise
            self.why_not = message(error)
            warn(str(error).removeprefix("rematlas: "))
            return
        module.__dict__["forward"] = self.forward
        log.info(
            "rematlas: steps of this %s compute head and loss by chunks of tokens, %s of them; in train mode"
            " their output has a loss and no logits",
            type(module).__name__,
            "as few as needed" if asked == AUTO else asked,
        )

    def note(self, tokens, size, vocabulary) -> None:
        """Notes a loss of this many tokens, computed in chunks of `size` tokens."""
        found = tokens, size, vocabulary
        if self.largest is None or found > self.largest:
            self.largest = found
            log.info("rematlas: %s", self.text())

    @property
    def saved_bytes(self) -> int:
        if self.largest is None:
            return 0
        tokens, size, vocabulary = self.largest
        return head_bytes(tokens, vocabulary) - head_bytes(size, vocabulary)

    def text(self) -> str:
        """Returns a text that says how head and loss are computed; empty if no chunks were asked for."""
        if self.why_not:
            return f"head and loss are computed as ever: {self.why_not}"
        if self.forward is None:
            return ""
        if self.largest is None:
            return f"head and loss are computed by chunks of tokens (chunk_loss={self.forward.chunks!r})"
        tokens, size, vocabulary = self.largest
        return (
            f"head and loss of {tokens} tokens are computed in {-(-tokens // size)} chunks: logits and their"
            f" gradients take {in_bytes(head_bytes(size, vocabulary))} in f32,"
            f" {in_bytes(self.saved_bytes)} less than at once; the output has no logits"
        )

    def remove(self) -> None:
        if self.module.__dict__.get("forward") is self.forward and self.forward is not None:
            del self.module.__dict__["forward"]


def note_for(chunking):
    """Returns a function that passes its arguments to `chunking.note`. The Chunking itself must stay hidden
    from the walk over the objects that the module's forward may change, because its notes do not influence
    which ops the module runs. The walk does not look into this function."""
    return lambda *found: chunking.note(*found)
