"""One call of the module."""

import copy

from . import modes, offloading, structure
from .exchange import NotExchangeable, exchanged


class Call:
    __slots__ = ("args", "autocast", "device", "inputs", "kwargs", "offloading", "template")

    def __init__(self, args, kwargs, template, inputs, device, autocast=None, offloads=offloading.NONE):
        self.args = args
        self.kwargs = kwargs
        self.template = template  # of the arguments, see structure.py
        self.inputs = inputs  # their tensors
        self.device = device  # of the module, with its index: "cpu", or "cuda:1"
        self.autocast = autocast or modes.Autocast(device)  # the settings when it was made
        self.offloading = offloads  # what was around it then

    def run(self, forward, given):
        """Runs `forward` on the caller's own arguments, with other tensors in the place of theirs."""
        with exchanged(self.args, self.kwargs, self.inputs, given) as (args, kwargs):
            return forward(*args, **kwargs)

    def unfit_to_run(self) -> str:
        """Says why `run` cannot put other tensors into the arguments; empty where it can."""
        others = [tensor.detach() if tensor.requires_grad else tensor for tensor in self.inputs]
        try:
            with exchanged(self.args, self.kwargs, self.inputs, others):
                return ""
        except NotExchangeable as error:
            return str(error)

    def given_for(self, tensors, given) -> list:
        """Returns the tensors with those that `run` was given in the place of the call's own: containers of
        the caller that the forward returns hold the caller's tensors again."""
        places = {id(own): other for own, other in zip(self.inputs, given)}
        return [places.get(id(tensor), tensor) for tensor in tensors]

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

    def as_made(self) -> "Call":
        """Returns the call with arguments as they were when it was made, whatever the caller has done with
        them since."""
        if not isinstance(self.template, bytes) or not self.change():
            return self
        args, kwargs = structure.rebuild(self.template, self.inputs)
        return self.with_arguments(args, kwargs, self.template)

    def with_arguments(self, args, kwargs, template) -> "Call":
        return Call(args, kwargs, template, self.inputs, self.device, self.autocast, self.offloading)

    def copied(self, memo) -> "Call":
        """Returns the call with a copy of each container among the arguments. `memo` is deepcopy's: what is
        in it already, the module's containers say, is taken from there; so are the tensors. Raises what
        deepcopy raises."""
        places = {id(tensor): tensor for tensor in self.inputs}
        args, kwargs = copy.deepcopy((self.args, self.kwargs), memo | places)
        # Of a copied set another template is made, for its entries come in another order.
        template, _ = structure.flatten_call(args, kwargs)
        return self.with_arguments(args, kwargs, template)
