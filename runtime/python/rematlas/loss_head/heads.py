"""Heads of language models that run on chunks of tokens. They compute logits, and sum up the gradients of all
chunks."""

import ctypes

import torch
from torch.nn import functional

from ..calls.module_hooks import runs_hooks
from ..errors import Refused

OF_AUTOCAST = (torch.float32, torch.bfloat16, torch.float16)


class Sums:
    """The gradients of these parameters, summed over `count` chunks."""

    def __init__(self, parameters, count):
        self.places = {id(parameter): place for place, parameter in enumerate(parameters)}
        self.found = [None] * len(parameters)
        self.are_several = count > 1

    def has(self, parameter) -> bool:
        return id(parameter) in self.places

    def add(self, parameter, gradient) -> None:
        if gradient is None:
            return
        place = self.places[id(parameter)]
        if self.found[place] is not None:
            self.found[place].add_(gradient)
        else:  # others may hold the first gradient, but later ones are added to it in place, so it is copied
            self.found[place] = gradient.clone() if self.are_several else gradient

    def add_product(self, parameter, left, right) -> None:
        """Adds left @ right, without a separate tensor for the product."""
        place = self.places[id(parameter)]
        if self.found[place] is None:
            self.found[place] = left.mm(right)
        else:
            self.found[place].addmm_(left, right)


def made_head(head, autocast):
    """Returns an object that computes the head's logits by chunks."""
    return LinearHead(head, autocast) if is_plain_linear(head, autocast) else AnyHead(head)


def is_plain_linear(head, autocast) -> bool:
    """Says whether a call of the head does nothing but call torch.nn.functional.linear."""
    return (
        type(head) is torch.nn.Linear
        and "forward" not in head.__dict__
        and not runs_hooks(head)
        and type(head.weight) is torch.nn.Parameter
        and (not is_on(autocast) or head.weight.dtype in OF_AUTOCAST)
    )


def is_on(autocast) -> bool:
    return autocast is not None and autocast.enabled


class LinearHead:
    """A plain linear head. One matrix product makes a chunk's gradient of the weights and adds it to the
    sum."""

    def __init__(self, head, autocast):
        self.parameters = head.weight, head.bias
        self.casts_input = is_on(autocast)
        self.dtype = autocast.dtype if self.casts_input else head.weight.dtype
        self.weight = head.weight.detach().to(self.dtype)
        self.bias = None if head.bias is None else head.bias.detach().to(self.dtype)

    def is_summed_here(self, parameter) -> bool:
        return any(parameter is own for own in self.parameters)

    def logits(self, hidden):
        if self.casts_input:
            hidden = hidden.to(self.dtype)
        return functional.linear(hidden, self.weight, self.bias)

    def part(self, hidden):
        """Returns the chunk of hidden states as a new leaf, so that gradients for it can be computed."""
        return hidden.detach().requires_grad_()

    def logits_with_gradients(self, hidden, sums):
        return LogitsOfLinear.apply(hidden, self, sums)

    def add_gradients(self, hidden, of_logits, sums) -> None:
        weight, bias = self.parameters
        if sums.has(weight):
            sums.add_product(weight, of_logits.t(), hidden)
        if bias is not None and sums.has(bias):
            sums.add(bias, of_logits.sum(0))


class LogitsOfLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, head, sums):
        ctx.head, ctx.sums, ctx.dtype = head, sums, hidden.dtype
        hidden = hidden.to(head.dtype) if head.casts_input else hidden
        ctx.save_for_backward(hidden)
        return head.logits(hidden)

    @staticmethod
    def backward(ctx, of_logits):
        (hidden,) = ctx.saved_tensors
        ctx.head.add_gradients(hidden, of_logits, ctx.sums)
        return of_logits.mm(ctx.head.weight).to(ctx.dtype), None, None


class AnyHead:
    """Runs the head's module, which must treat each token independently and must draw no random numbers."""

    def __init__(self, head):
        self.head = head

    def is_summed_here(self, _) -> bool:
        return False

    def logits(self, hidden):
        before = states_of_generators(hidden.device)
        logits = self.head(hidden)
        if states_of_generators(hidden.device) != before:
            raise Refused(
                f"rematlas: the head, a {type(self.head).__name__}, draws random numbers, and a loss by"
                " chunks runs it once more in the backward: put its dropout before the head, or take it out"
            )
        return logits

    def part(self, hidden):
        """Returns the chunk of hidden states as a new leaf, so that gradients for it can be computed. The
        leaf is a copy. Otherwise a recorder of the ops below autograd would see the same logits in forward
        and backward, and a plan could hold the logits in between."""
        return hidden.detach().clone().requires_grad_()

    def logits_with_gradients(self, hidden, sums):
        return self.head(hidden)


def states_of_generators(device) -> list:
    """Returns the states of torch's generators as bytes. The bytes are read directly from the memory of the
    state tensors. An op that reads these tensors would become an op of the step, although their values differ
    in each step."""
    states = [torch.get_rng_state()]
    if device.type == "cuda" and torch.cuda.is_initialized():
        if torch.cuda.is_current_stream_capturing():
            return []  # during a capture the state cannot be read
        states.append(torch.cuda.get_rng_state(device))
    return [ctypes.string_at(state.data_ptr(), state.nbytes) for state in states]


def check_leaves(value, known) -> None:
    """Raises Refused if the loss of a chunk depends on a tensor that requires a gradient and is not in
    `known`."""
    known = {id(tensor) for tensor in known}
    left, seen = [value.grad_fn], set()
    while left:
        node = left.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None and id(variable) not in known:
            raise Refused(
                f"rematlas: the head or the loss uses a tensor of shape {tuple(variable.shape)} that needs a"
                " gradient, and is no parameter of the head, nor of a loss that is a module: make it one"
            )
        left.extend(following for following, _ in node.next_functions)
