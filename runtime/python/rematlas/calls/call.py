"""One call of the module."""

from . import structure


class Call:
    __slots__ = ("args", "device", "inputs", "kwargs", "template")

    def __init__(self, args, kwargs, template, inputs, device):
        self.args = args
        self.kwargs = kwargs
        self.template = template  # of the arguments, see structure.py
        self.inputs = inputs  # their tensors
        self.device = device  # of the module, with its index: "cpu", or "cuda:1"

    def run(self, forward, given):
        """Runs `forward` on these arguments, with other tensors in the place of theirs."""
        return structure.call(forward, self.args, self.kwargs, self.inputs, given)

    def change(self) -> str:
        """Says how the arguments are others than they were when the call was made; empty where they are
        not."""
        try:
            template, tensors = structure.flatten_call(self.args, self.kwargs)
        except Exception as error:
            return f"they cannot be described any more: {error}"
        if template != self.template:
            return "they hold other values, or have another structure"
        if any(one is not other for one, other in zip(tensors, self.inputs)):
            return "they hold other tensors"
        return ""
