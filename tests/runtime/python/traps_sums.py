"""Traps of gradients that are sums of terms, and of buffers that change in the forward and in the backward. A
plan computes the same terms, but autograd adds them up in an order that depends on the caller's graph."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from traps import CHANGE, ROWS, WIDTH, Trap, blocks, data, trap


class Tied(nn.Module):
    """A model that uses one layer four times."""

    def __init__(self):
        super().__init__()
        self.before, self.layer = blocks(), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        x = self.before(x)
        for _ in range(4):
            x = self.layer(x).tanh()
        return x


class Branches(nn.Module):
    """A model that uses its input three times."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = blocks(), blocks(), blocks()

    def forward(self, x):
        return self.first(x) + self.second(x).tanh() + self.third(x).sin()


class Counting(nn.Module):
    """A layer that counts with what it computes."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.GELU())
        self.register_buffer("seen", torch.zeros(WIDTH))

    def forward(self, x):
        out = self.layers(x * (1 + self.seen * 1e-3))
        with torch.no_grad():
            self.seen += out.mean(0)
        return out


class Checkpointed(nn.Module):
    """A model whose buffers change in the forward, and again when the backward repeats its layers."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Counting() for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = x + checkpoint(layer, x, use_reentrant=False)
        return x


def with_penalty(is_on):
    """Returns a loss with a penalty on the weights of the layer that is used four times. The terms of the
    penalty come before those of the model."""

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        if is_on(step):
            loss = loss + 1e-2 * model.layer.weight.square().sum()
        loss.backward()
        return loss

    return body


@trap
def penalty_on_a_layer_that_is_used_several_times():
    return Trap(Tied(), body=with_penalty(lambda step: True), expected="refused")


@trap
def penalty_in_some_steps():
    """The plan of the steps without penalty cannot run the steps with it."""
    return Trap(Tied(), body=with_penalty(lambda step: step in (7, 9)), least_replayed=2)


@trap
def penalty_in_the_second_step():
    return Trap(Tied(), body=with_penalty(lambda step: step == 2), expected="either")


def with_input(use, observed):
    """Returns a step in which `use(model, x)` makes the output from an input that needs a gradient."""

    def body(model, batch, step):
        x = data(step, ROWS, WIDTH).requires_grad_()
        loss = use(model, x, step).square().mean()
        loss.backward()
        observed[:] = [x.grad]
        return loss

    return body


def input_trap(use, **options) -> Trap:
    observed = []
    return Trap(Branches(), body=with_input(use, observed), observe=lambda model: observed, **options)


@trap
def input_that_is_used_before_the_module():
    return input_trap(lambda model, x, step: x.cos() + model(x))


@trap
def input_that_is_used_after_the_module():
    def use(model, x, step):
        out = model(x)
        return out + x.cos()

    return input_trap(use, expected="refused")


@trap
def result_that_is_used_before_and_after_the_module():
    def use(model, x, step):
        x = x * 1.5
        first = x.cos()
        out = model(x)
        return first + out + x.exp()

    return input_trap(use, expected="refused")


@trap
def input_that_is_used_after_the_module_in_some_steps():
    def use(model, x, step):
        out = model(x)
        return out + x.cos() if step > CHANGE else out

    return input_trap(use, least_replayed=2)


@trap
def input_of_two_forwards():
    def use(model, x, step):
        return model(x) * model(x + 1)

    return input_trap(use, expected="either")


@trap
def gradient_of_a_gradient_of_an_input_that_is_used_twice():
    observed = []

    def body(model, batch, step):
        x = data(step, ROWS, WIDTH).requires_grad_()
        out = model(x) + model(x * 0.5)
        (slope,) = torch.autograd.grad(out.square().mean(), x, create_graph=True)
        loss = out.mean() + slope.square().sum()
        loss.backward()
        observed[:] = [slope, x.grad]
        return loss

    return Trap(Branches(), body=body, observe=lambda model: observed, expected="refused")


@trap
def second_backward_to_an_input_that_is_used_twice():
    observed = []

    def body(model, batch, step):
        x = data(step, ROWS, WIDTH).requires_grad_()
        out = model(x)
        loss = (out + x.cos()).square().mean()
        loss.backward(retain_graph=True)
        loss.backward()
        observed[:] = [x.grad]
        return loss

    return Trap(Branches(), body=body, observe=lambda model: observed, expected="refused")


@trap
def buffers_of_a_checkpoint_between_forward_and_backward():
    seen = []

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        seen[:] = [buffer.clone() for buffer in model.buffers()]
        loss.backward()
        return loss

    return Trap(Checkpointed(), body=body, observe=lambda model: seen, budget="90%")


@trap
def buffers_of_a_checkpoint_after_a_forward_without_backward():
    def between(model, step):
        if step >= CHANGE:
            model(data(-step, ROWS, WIDTH))

    return Trap(Checkpointed(), between=between, budget="90%")


@trap
def statistics_of_a_head_that_the_loss_does_not_use():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.last = blocks(3), blocks(3)
            self.head = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH))

        def forward(self, x):
            x = self.layers(x)
            return self.last(x), self.head(x)

    seen = []

    def body(model, batch, step):
        out, _ = model(*batch(step)[0])
        loss = out.square().mean()
        seen[:] = [buffer.clone() for buffer in model.buffers()]
        loss.backward()
        return loss

    return Trap(Model(), body=body, observe=lambda model: seen)


@trap
def buffer_that_nothing_reads():
    """A solver may put the op that changes the buffer anywhere; the program reads the buffer before the
    backward."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.last = blocks(4), blocks(4)
            self.register_buffer("largest", torch.zeros(WIDTH))

        def forward(self, x):
            x = self.layers(x)
            with torch.no_grad():
                self.largest.copy_(x.detach().exp().mean(0))
            return self.last(x)

    seen = []

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        seen[:] = [model.largest.clone()]
        loss.backward()
        return loss

    return Trap(Model(), body=body, observe=lambda model: seen, budget="70%")
