"""Traps of programs that fill `.grad` themselves, that decide between forward and backward which tensors need
gradients, and of hooks of parameters."""

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

from traps import ROWS, WIDTH, Trap, blocks, data, trap


class Reversible(torch.autograd.Function):
    """Runs a part of the model without a graph. The backward runs this part again, and its own backward."""

    @staticmethod
    def forward(context, x, part):
        context.part = part
        context.x = x.detach()
        with torch.no_grad():
            return part(x)

    @staticmethod
    def backward(context, gradient):
        with torch.enable_grad():
            x = context.x.requires_grad_()
            torch.autograd.backward(context.part(x), gradient)
        return x.grad, None


class Filling(torch.autograd.Function):
    """A product whose backward adds the gradient of the weight to `.grad`, and returns none."""

    @staticmethod
    def forward(context, x, weight):
        context.save_for_backward(x)
        context.weight = weight
        return x @ weight

    @staticmethod
    def backward(context, gradient):
        (x,) = context.saved_tensors
        weight, of_weight = context.weight, x.t() @ gradient
        weight.grad = of_weight if weight.grad is None else weight.grad + of_weight
        return gradient @ weight.t(), None


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.part, self.after = blocks(), blocks(), blocks()
        self.weight = nn.Parameter(torch.randn(WIDTH, WIDTH) / 4)


@trap
def reversible_part():
    """The backward of a function runs a backward of its own, which fills `.grad` of its parameters."""

    class Model(Layers):
        def forward(self, x):
            return self.after(Reversible.apply(self.before(x), self.part) @ self.weight)

    return Trap(Model(), expected="refused")


@trap
def gradient_written_by_a_function():
    """The backward of a function assigns to `.grad`."""

    class Model(Layers):
        def forward(self, x):
            return self.after(self.part(Filling.apply(self.before(x), self.weight)))

    return Trap(Model(), expected="refused")


@trap
def backward_within_the_forward():
    """The forward trains a part of the model by a loss of its own."""

    class Model(Layers):
        def forward(self, x):
            h = self.before(x)
            h.square().mean().backward()
            return self.after(self.part(h.detach() @ self.weight))

    return Trap(Model(), expected="refused")


@trap
def argument_that_gets_a_gradient():
    """The forward lets its argument require a gradient, and the program reads this gradient."""

    class Model(Layers):
        def forward(self, x):
            return self.after(self.part(self.before(x.requires_grad_()) @ self.weight))

    def step_with_gradient(model, batch, step):
        x = batch(step)[0][0]
        loss = model(x).square().mean()
        loss.backward()
        return loss + x.grad.square().sum()

    return Trap(Model(), body=step_with_gradient, expected="refused")


@trap
def noise_of_hooks():
    """A hook of each parameter adds random numbers to its gradient, so the order of the hooks matters."""
    model = nn.Sequential(blocks(), blocks())
    for parameter in model.parameters():
        parameter.register_hook(lambda gradient: gradient + 1e-3 * torch.randn_like(gradient))
    return Trap(model, expected="refused")


def freezing_step(model, batch, step):
    """Freezes parameters between forward and backward."""
    frozen = list(model.parameters())[4:]
    loss = model(*batch(step)[0]).square().mean()
    for parameter in frozen:
        parameter.requires_grad_(False)
    loss.backward()
    for parameter in frozen:
        parameter.requires_grad_(True)
    return loss


@trap
def frozen_between_forward_and_backward():
    """Parameters are frozen for the time of the backward, as Lightning's toggle_optimizer does."""
    return Trap(blocks(4), body=freezing_step)


@trap
def other_type_between_forward_and_backward():
    """The parameters have another type for a while between forward and backward, so autograd knows them by
    other nodes afterwards."""

    def converting_step(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        model.double()
        model.float()
        loss.backward()
        return loss

    return Trap(blocks(4), body=converting_step, expected="refused")


@trap
def parametrization_cached_over_two_forwards():
    """Two forwards read a parametrized weight that is computed once. Its gradients are summed before those of
    the parameters are computed."""

    def cached_step(model, batch, step):
        with parametrize.cached():
            x, y = batch(step)[0]
            loss = model(x).square().mean() + model(y).square().mean()
        loss.backward()
        return loss

    def pairs(step):
        return (data(step, ROWS, WIDTH), data(-step, ROWS, WIDTH)), {}

    model = nn.Sequential(parametrizations.weight_norm(nn.Linear(WIDTH, WIDTH)), blocks())
    return Trap(model, pairs, body=cached_step, expected="either")


@trap
def parametrization_cached_over_one_forward():
    """A region of `cached()` is around each step."""

    def cached_step(model, batch, step):
        with parametrize.cached():
            loss = model(*batch(step)[0]).square().mean()
            loss.backward()
        return loss

    model = nn.Sequential(parametrizations.orthogonal(nn.Linear(WIDTH, WIDTH)), blocks())
    return Trap(model, body=cached_step, expected="either")
