"""Traps of parts without gradients, of buffers, and of counters."""

import contextlib
import itertools
import os
import types

import numpy
import torch
import torch.nn.functional as F
from torch import nn

from traps import WIDTH, Trap, after_change, blocks, data, trap


@trap
def frozen_features():
    """The features are computed without an autograd graph. Only the head has a backward, and no tensor of the
    features is saved."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.features, self.head = blocks(), blocks()

        def forward(self, x):
            with torch.no_grad():
                x = self.features(x)
            return self.head(x)

    return Trap(Model())


@trap
def byol():
    """The target network runs without an autograd graph. Between the steps it is updated in place from the
    online network."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.online, self.target = blocks(), blocks().requires_grad_(False)

        def forward(self, x, y):
            with torch.no_grad():
                goal = self.target(y)
            return self.online(x) - goal

    def follow(model, step):
        with torch.no_grad():
            for mine, its in zip(model.target.parameters(), model.online.parameters()):
                mine.lerp_(its, 0.1)

    return Trap(Model(), lambda step: ((data(step, 64, WIDTH), data(-step, 64, WIDTH)), {}), between=follow)


@trap
def momentum_encoder():
    """The forward itself updates the parameters of the second network before it uses them, as in MoCo."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key = blocks(), blocks().requires_grad_(False)

        def forward(self, x):
            with torch.no_grad():
                for mine, its in zip(self.key.parameters(), self.query.parameters()):
                    mine.mul_(0.9).add_(its, alpha=0.1)
                goal = self.key(x)
            return self.query(x) - goal

    return Trap(Model(), expected="either", least_replayed=1)


@trap
def detached_activation():
    """Gradients stop at a detached activation, although it shares its storage with an activation that has
    gradients."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = blocks(), blocks()

        def forward(self, x):
            h = self.first(x)
            return self.second(h.detach()) + h

    return Trap(Model())


@trap
def straight_through():
    """The values are rounded, but the gradient is that of the identity."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = blocks(), blocks()

        def forward(self, x):
            h = self.first(x)
            return self.second(h + ((h * 4).round() / 4 - h).detach())

    return Trap(Model())


@trap
def data_of_an_activation():
    """`.data` shares its storage with the activation and has no gradient. Writes to `.data` do not change the
    version counter."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = blocks(), blocks()

        def forward(self, x):
            h = self.first(x) * 1.0
            h.data.clamp_(-0.5, 0.5)
            return self.second(h) * h.data.abs()

    return Trap(Model())


@trap
def data_of_a_parameter_written():
    """The forward clips a parameter through `.data`. So the step writes to its own weights, and the version
    counter does not change."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = blocks(), blocks()

        def forward(self, x):
            self.first[0].weight.data.clamp_(-0.2, 0.2)
            return self.second(self.first(x))

    return Trap(Model(), expected="either", least_replayed=1)


@trap
def buffer_written_in_place():
    """A buffer holds a moving average. Each forward reads the value that the previous forward wrote."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks(3)
            self.register_buffer("average", torch.zeros(WIDTH))

        def forward(self, x):
            h = self.layers(x)
            self.average.mul_(0.9).add_(h.detach().mean(0), alpha=0.1)
            return h - self.average

    return Trap(Model())


@trap
def buffer_replaced():
    """The forward replaces a buffer by a new tensor. From then on, the new tensor is the state."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks(3)
            self.register_buffer("average", torch.zeros(WIDTH))

        def forward(self, x):
            h = self.layers(x)
            self.average = 0.9 * self.average + 0.1 * h.detach().mean(0)
            return h - self.average

    return Trap(Model(), expected="either", least_replayed=1)


@trap
def queue_in_a_buffer():
    """The position of the next write is a buffer that Python reads as an index. The position wraps around."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks(3)
            self.register_buffer("queue", data(0, 5, WIDTH))
            self.register_buffer("position", torch.zeros((), dtype=torch.long))

        def forward(self, x):
            h = self.layers(x)
            at = int(self.position)
            scores = h @ self.queue.clone().t()
            self.queue[at] = h.detach().mean(0)
            self.position.copy_((self.position + 1) % 5)
            return scores

    return Trap(Model(), expected="refused")


@trap
def counter_in_the_computation():
    """The forward computes with a Python number that differs in each step. In recorded ops the number is a
    constant."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.calls = blocks(3), 0

        def forward(self, x):
            self.calls += 1
            return self.layers(x) * (1 / self.calls)

    return Trap(Model(), expected="refused", observe=lambda model: model.calls)


@trap
def counter_in_a_branch():
    """All recorded and compared steps take the first branch. Only the counter shows that a second branch will
    be taken."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.calls = blocks(3), 0

        def forward(self, x):
            self.calls += 1
            return self.layers(x) if self.calls <= 7 else self.layers(x).tanh()

    return Trap(Model(), expected="either", observe=lambda model: model.calls)


@trap
def counter_only_kept():
    """No op uses the counter, but it must count every step, although a replay does not run the forward."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.calls = blocks(3), 0

        def forward(self, x):
            self.calls += 1
            return self.layers(x)

    return Trap(Model(), expected="either", observe=lambda model: model.calls)


@trap
def counter_as_a_buffer():
    """The counter is a tensor that ops read, so its value must not become a constant."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks(3)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            return self.layers(x) / self.calls.sqrt()

    return Trap(Model())


@trap
def counter_as_a_buffer_in_a_branch():
    """The forward reads the counter on the host to choose a branch. The branch changes in step 8."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks(3)
            self.register_buffer("calls", torch.zeros((), dtype=torch.long))

        def forward(self, x):
            self.calls += 1
            return self.layers(x) if self.calls <= 7 else self.layers(x).tanh()

    return Trap(Model(), expected="either", least_replayed=1)


@trap
def batch_norm():
    """Running statistics change once in each step, even if the layer runs again."""
    layers = [
        layer for _ in range(3) for layer in (nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.ReLU())
    ]
    return Trap(nn.Sequential(*layers))


@trap
def batch_norm_with_cumulative_average():
    """With momentum None, the factor is 1 / number of batches. It is a Python number that the layer reads
    from its buffer."""
    layers = [
        layer
        for _ in range(3)
        for layer in (nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH, momentum=None), nn.ReLU())
    ]
    return Trap(nn.Sequential(*layers), expected="refused")


@trap
def spectral_norm_by_hook():
    """Before each forward, a hook updates a buffer and replaces the module's weight by a new tensor."""
    layers = [torch.nn.utils.spectral_norm(nn.Linear(WIDTH, WIDTH)) for _ in range(3)]
    return Trap(
        nn.Sequential(*layers, nn.GELU()),
        expected="either",
        least_replayed=1,
        observe=lambda model: model[0].weight,
    )


@trap
def spectral_norm_by_parametrization():
    """The weight is computed at each access, and each access updates buffers in place."""
    layers = [
        layer
        for _ in range(3)
        for layer in (torch.nn.utils.parametrizations.spectral_norm(nn.Linear(WIDTH, WIDTH)), nn.GELU())
    ]
    return Trap(nn.Sequential(*layers))


@trap
def weight_norm_by_hook():
    """Before each forward, a hook computes the weight from its direction and length. The weight is not a
    parameter, but has a gradient."""
    layers = [
        layer for _ in range(3) for layer in (torch.nn.utils.weight_norm(nn.Linear(WIDTH, WIDTH)), nn.GELU())
    ]
    return Trap(
        nn.Sequential(*layers), expected="either", least_replayed=1, observe=lambda model: model[0].weight
    )


@trap
def weight_norm_by_parametrization():
    """At each access, the weight is computed from two parameters."""
    layers = [
        layer
        for _ in range(3)
        for layer in (torch.nn.utils.parametrizations.weight_norm(nn.Linear(WIDTH, WIDTH)), nn.GELU())
    ]
    return Trap(nn.Sequential(*layers))


class Temperature:
    value = 1.0


TABLE = numpy.ones(3)
SETTINGS = types.SimpleNamespace(scale=1.0)


class Scaled(nn.Module):
    """A model that multiplies by the number that `find` returns."""

    def __init__(self, find):
        super().__init__()
        self.layers, self.find = blocks(), find

    def forward(self, x):
        return self.layers(x) * self.find()


@trap
def tensor_attribute_filled():
    """The loop writes in place to a tensor that is neither a parameter nor a buffer."""
    model = Scaled(lambda: model.temperature)
    model.temperature = torch.tensor(1.0)
    return Trap(model, between=after_change(lambda model: model.temperature.fill_(2.0)))


@trap
def tensor_in_a_closure_filled():
    temperature = torch.tensor(1.0)
    return Trap(Scaled(lambda: temperature), between=after_change(lambda model: temperature.fill_(2.0)))


@trap
def tensor_in_a_list_replaced_in_each_step():
    """In each step a tensor in a list is replaced by a new one, which can have the address of the old one."""
    table = [torch.tensor(1.0)]

    def replace(model, step):
        table[0] = None
        table[0] = torch.tensor(1.0 + 0.1 * step)

    return Trap(Scaled(lambda: table[0]), between=replace, expected="refused")


@trap
def attribute_of_a_global_class():
    def change(model):
        Temperature.value = 2.0

    Temperature.value = 1.0
    return Trap(Scaled(lambda: Temperature.value), between=after_change(change))


@trap
def attribute_of_a_global_namespace():
    SETTINGS.scale = 1.0
    return Trap(
        Scaled(lambda: SETTINGS.scale), between=after_change(lambda model: vars(SETTINGS).update(scale=2.0))
    )


@trap
def element_of_a_global_array():
    TABLE[:] = 1.0
    return Trap(Scaled(lambda: float(TABLE[0])), between=after_change(lambda model: TABLE.fill(2.0)))


@trap
def variable_of_the_environment():
    os.environ["SCALE_OF_A_TRAP"] = "1"
    return Trap(
        Scaled(lambda: float(os.environ["SCALE_OF_A_TRAP"])),
        between=after_change(lambda model: os.environ.update(SCALE_OF_A_TRAP="2")),
    )


@trap
def function_of_a_module_replaced():
    original = F.softsign

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks()

        def forward(self, x):
            return F.softsign(self.layers(x))

    def change(model):
        F.softsign = torch.tanh

    @contextlib.contextmanager
    def put_back():
        try:
            yield
        finally:
            F.softsign = original

    return Trap(Model(), between=after_change(change), around=put_back)


@trap
def iterator():
    """The forward reads numbers from an iterator, whose position cannot be seen."""
    numbers = iter([1.0 + 0.1 * step for step in range(100)])
    return Trap(Scaled(lambda: next(numbers)), expected="refused")


@trap
def counting_iterator():
    model = Scaled(lambda: next(model.numbers))
    model.numbers = itertools.count(1)
    return Trap(model, expected="refused")
