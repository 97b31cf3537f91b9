"""One call of the module."""

from . import modes, structure


class Call:
    __slots__ = ("args", "autocast", "device", "inputs", "kwargs", "template")

    def __init__(self, args, kwargs, template, inputs, device):
        self.args = args
        self.kwargs = kwargs
        self.template = template  # of the arguments, see structure.py
        self.inputs = inputs  # their tensors
        self.device = device  # of the module, with its index: "cpu", or "cuda:1"
        self.autocast = modes.Autocast(device)

    def run(self, forward, given):
        """Runs `forward` on these arguments, with other tensors in the place of theirs."""
        return structure.call(forward, self.args, self.kwargs, self.inputs, given)
