"""Logits that have not been computed yet."""

import numbers

import torch

from ..errors import Refused


class LogitsToCome:
    """Stands for the logits that a head would make from hidden states of shape (..., width). If the model
    changes each logit independently, the change is noted, and applied later to the logits of each chunk. Any
    other use needs real logits, and raises Refused."""

    def __init__(self, hidden, vocabulary, changes=()):
        self.hidden = hidden
        self.vocabulary = vocabulary
        self.changes = changes  # the noted changes: (name of a method of Tensor, arguments)

    def changed(self, name, *arguments):
        return LogitsToCome(self.hidden, self.vocabulary, (*self.changes, (name, arguments)))

    def made(self, logits):
        """Applies all noted changes to these real logits, and returns them."""
        for name, arguments in self.changes:
            logits = getattr(logits, name)(*arguments)
        return logits

    @property
    def shape(self):
        return torch.Size((*self.hidden.shape[:-1], self.vocabulary))

    @property
    def device(self):
        return self.hidden.device

    def __mul__(self, factor):
        return self.changed("mul", number(factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor):
        return self.changed("div", number(divisor))

    def tanh(self):
        return self.changed("tanh")

    def float(self):
        return self.changed("float")

    def contiguous(self):
        return self.changed("contiguous")

    def to(self, dtype_or_device):
        if dtype_or_device == self.device:
            return self
        if not isinstance(dtype_or_device, torch.dtype):
            raise needs_logits("moves them")
        return self.changed("to", dtype_or_device)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is torch.tanh and len(args) == 1 and not kwargs:
            return args[0].tanh()
        raise needs_logits(f"calls {getattr(function, '__name__', function)} with them")

    def __getattr__(self, name):
        if name.startswith("__"):  # Python and libraries look up such names in any object
            raise AttributeError(name)
        raise needs_logits(f"asks them for {name}")


def number(value):
    if not isinstance(value, numbers.Real):
        raise needs_logits(f"computes with them and a {type(value).__name__}")
    return value


def needs_logits(how) -> Refused:
    return Refused(
        f"rematlas: chunk_loss: the model needs its logits whole, it {how}: leave chunk_loss out, or compute"
        " its head and loss by rematlas.chunked_loss in its forward"
    )
