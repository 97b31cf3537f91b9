"""One call of the module."""

import copy

from ..errors import message
from . import modes, offloading, structure
from .exchange import NotExchangeable, exchanged


class Call:
    __slots__ = ("args", "autocast", "device", "inputs", "kwargs", "offloading", "template")

    def __init__(self, args, kwargs, template, inputs, device, autocast=None, offloads=offloading.NONE):
        self.args = args
        self.kwargs = kwargs
        self.template = template  # the structure of the arguments, see structure.py
        self.inputs = inputs  # the tensors among the arguments
        self.device = device  # the module's device with its index: "cpu", or "cuda:1"
        self.autocast = autocast or modes.Autocast(device)  # autocast's settings when the call was made
        self.offloading = offloads  # the saved tensor hooks around the call

    def run(self, forward, given):
        """Runs `forward` on the caller's own arguments, in which the tensors `given` replace those in
        `inputs`."""
        with exchanged(self.args, self.kwargs, self.inputs, given) as (args, kwargs):
            return forward(*args, **kwargs)

    def unfit_to_run(self) -> str:
        """Returns why `run` cannot put other tensors into the arguments; empty if it can."""
        others = [tensor.detach() if tensor.requires_grad else tensor for tensor in self.inputs]
        try:
            with exchanged(self.args, self.kwargs, self.inputs, others):
                return ""
        except NotExchangeable as error:
            return message(error)

    def given_for(self, tensors, given) -> list:
        """Returns a copy of the list `tensors`. In the copy, each tensor of `inputs` is replaced by the
        tensor at the same place in `given`. `given`: the tensors that `run` was called with. This is needed
        for outputs of `run`: if the forward returns a container of the caller, `run` puts the caller's
        tensors back into it."""
        places = {id(own): other for own, other in zip(self.inputs, given)}
        return [places.get(id(tensor), tensor) for tensor in tensors]

    def change(self) -> str:
        """Returns how the arguments have changed since the call was made; empty if they have not changed."""
        try:
            template, tensors = structure.flatten_call(self.args, self.kwargs)
        except Exception as error:
            return f"they cannot be described any more: {message(error)}"
        if template != self.template:
            return "they hold other values, or have another structure"
        if any(one is not other for one, other in zip(tensors, self.inputs)):
            return "they hold other tensors"
        return ""

    def as_made(self) -> "Call":
        """Returns the call with its arguments as they were when the call was made. If the caller has changed
        the arguments since, they are rebuilt."""
        if not isinstance(self.template, bytes) or not self.change():
            return self
        args, kwargs = structure.rebuild(self.template, self.inputs)
        return self.with_arguments(args, kwargs, self.template)

    def with_arguments(self, args, kwargs, template) -> "Call":
        return Call(args, kwargs, template, self.inputs, self.device, self.autocast, self.offloading)

    def copied(self, memo) -> "Call":
        """Returns the call with a copy of each container among the arguments. Tensors are not copied. `memo`
        is the memo of deepcopy: for an object that the memo has, such as a container of the module, the copy
        in the memo is used. Raises the errors of deepcopy."""
        places = {id(tensor): tensor for tensor in self.inputs}
        args, kwargs = copy.deepcopy((self.args, self.kwargs), memo | places)
        # The template is made again, because the entries of a copied set may come in another order.
        template, _ = structure.flatten_call(args, kwargs)
        return self.with_arguments(args, kwargs, template)
