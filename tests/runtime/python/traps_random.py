"""Traps of random numbers of torch, Python and numpy, from the global generators and from the program's own
generators."""

import random

import numpy
import torch
from torch import nn

from traps import DEVICE, WIDTH, Trap, blocks, trap


class ThreeStacks(nn.Module):
    """A model of three stacks. Subclasses can skip the first two stacks."""

    def __init__(self):
        super().__init__()
        self.stacks = nn.ModuleList([blocks(), blocks(), blocks()])

    def forward(self, x):
        for stack in self.stacks[:-1]:
            if not self.left_out():
                x = x + stack(x)
        return self.stacks[-1](x)

    def left_out(self):
        return False


@trap
def dropout():
    """A recomputed dropout needs the mask of its first run, and the generator must end where plain training
    leaves it."""
    return Trap(nn.Sequential(blocks(), nn.Dropout(0.3), blocks(), nn.Dropout(0.3), blocks()))


@trap
def many_distributions():
    """Random ops of many kinds, some of them in place. Some draw integers and permutations that are used as
    indices."""

    class Model(ThreeStacks):
        def forward(self, x):
            x = self.stacks[0](x) + 0.1 * torch.randn_like(x)
            x = self.stacks[1](x[torch.randperm(len(x))])
            x = x * torch.empty_like(x).bernoulli_(0.8) + torch.rand(WIDTH).exponential_()
            rows = torch.randint(len(x), (len(x),))
            return self.stacks[2](x[rows]) + torch.normal(0.0, 0.1, (WIDTH,))

    return Trap(Model())


@trap
def samples_of_the_output():
    """Samples are drawn with the model's own probabilities. The number of draws is fixed, but the sampled
    indices depend on the values of tensors."""

    class Model(ThreeStacks):
        def forward(self, x):
            h = self.stacks[0](x)
            chosen = h.softmax(1).multinomial(3)
            return (
                self.stacks[1](h) + h.gather(1, chosen).sum(1, keepdim=True) + nn.functional.gumbel_softmax(h)
            )

    return Trap(Model(), expected="either", least_replayed=1)


@trap
def layer_drop_by_python():
    """Python's generator decides which layers run. A replay of one recording would not draw from this
    generator."""

    class Model(ThreeStacks):
        def left_out(self):
            return random.random() < 0.4

    return Trap(Model(), expected="refused")


@trap
def layer_drop_by_python_rarely():
    """Each forward draws two numbers from Python's generator, but a layer is skipped for the first time in
    step 7."""

    class Model(ThreeStacks):
        def left_out(self):
            return random.random() > 0.7

    return Trap(Model(), expected="refused")


@trap
def layer_drop_by_torch():
    """The model reads a number from torch's generator and skips a layer depending on it, as most LayerDrop
    code does."""

    class Model(ThreeStacks):
        def left_out(self):
            return torch.rand(1).item() < 0.4

    return Trap(Model(), expected="either")


@trap
def layer_drop_by_a_generator_of_its_own():
    """The model holds its own Python generator, so no global state changes. A layer is skipped for the first
    time in step 8."""

    class Model(ThreeStacks):
        def __init__(self):
            super().__init__()
            self.random = random.Random(11)

        def left_out(self):
            return self.random.random() < 0.08

    return Trap(Model(), expected="either", observe=lambda model: hash(model.random.getstate()))


@trap
def mixing_by_numpy():
    """Numpy draws a factor, which is a Python number in the computation, as in mixup."""

    class Model(ThreeStacks):
        def forward(self, x):
            factor = numpy.random.beta(1.0, 1.0)
            return self.stacks[1](self.stacks[0](factor * x + (1 - factor) * x.flip(0)))

    return Trap(Model(), expected="refused")


@trap
def mixing_by_a_numpy_generator():
    """A numpy generator that the model holds draws the factor."""

    class Model(ThreeStacks):
        def __init__(self):
            super().__init__()
            self.random = numpy.random.default_rng(0)

        def forward(self, x):
            factor = float(self.random.beta(1.0, 1.0))
            return self.stacks[1](self.stacks[0](factor * x + (1 - factor) * x.flip(0)))

    return Trap(Model(), expected="refused", observe=lambda model: str(model.random.bit_generator.state))


@trap
def noise_by_numpy():
    """Numpy draws noise, which becomes a tensor. Each step has the same shapes and ops but other numbers."""

    class Model(ThreeStacks):
        def forward(self, x):
            noise = torch.from_numpy(numpy.random.standard_normal(x.shape).astype("float32"))
            return self.stacks[1](self.stacks[0](x) + 0.1 * noise.to(x.device))

    return Trap(Model(), expected="refused")


@trap
def python_number_drawn_and_dropped():
    """The forward draws a number from Python's generator only for a log. The generator must still advance."""
    log = []

    class Model(ThreeStacks):
        def forward(self, x):
            log.append(random.random())
            return super().forward(x)

    return Trap(Model(), expected="either", observe=lambda model: log)


@trap
def crop_at_a_random_place():
    """Torch draws the start of a window, and Python reads it. The start is an argument of a view, and no
    shape depends on it."""

    class Model(ThreeStacks):
        def forward(self, x):
            start = torch.randint(0, 8, ()).item()
            return super().forward(x[start : start + 32])

    return Trap(Model(), expected="refused")


@trap
def seed_set_in_forward():
    """The forward seeds the global generator, so each step draws the same numbers. The code after a step also
    draws the same numbers each time."""

    class Model(ThreeStacks):
        def forward(self, x):
            torch.manual_seed(5)
            return nn.functional.dropout(super().forward(x), 0.3)

    return Trap(Model(), expected="either")


@trap
def seed_counted_in_forward():
    """The forward uses another seed in each step. No op has the seed as an argument."""

    class Model(ThreeStacks):
        calls = 0

        def forward(self, x):
            self.calls += 1
            torch.manual_seed(self.calls)
            return nn.functional.dropout(super().forward(x), 0.3)

    return Trap(Model(), expected="refused")


@trap
def generator_forked_in_forward():
    """The forward restores the generator after an inner block, so the numbers that the block draws are drawn
    again later."""

    class Model(ThreeStacks):
        def forward(self, x):
            x = self.stacks[0](x)
            with torch.random.fork_rng(devices=[]):
                x = nn.functional.dropout(x, 0.3)
            return nn.functional.dropout(self.stacks[1](x), 0.3)

    return Trap(Model(), expected="either")


@trap
def generator_forked_and_seeded():
    """A part of the forward draws from a fixed seed and restores the global generator."""

    class Model(ThreeStacks):
        def forward(self, x):
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(11)
                x = nn.functional.dropout(self.stacks[0](x), 0.3)
            return nn.functional.dropout(self.stacks[1](x), 0.3)

    return Trap(Model(), expected="either")


@trap
def generator_of_its_own():
    """Noise comes from the model's own generator, which must advance as in plain training. The global
    generator must not advance."""

    class Model(ThreeStacks):
        def __init__(self):
            super().__init__()
            self.generator = torch.Generator(DEVICE).manual_seed(3)

        def forward(self, x):
            x = self.stacks[0](x)
            return self.stacks[1](x + 0.1 * torch.randn(x.shape, generator=self.generator))

    return Trap(Model(), expected="either", observe=lambda model: model.generator.get_state())


@trap
def generator_made_in_forward():
    """Each forward makes a new generator with the same seed, so its noise is constant."""

    class Model(ThreeStacks):
        def forward(self, x):
            generator = torch.Generator(DEVICE).manual_seed(3)
            x = self.stacks[0](x)
            return self.stacks[1](x + 0.1 * torch.randn(x.shape, generator=generator))

    return Trap(Model(), expected="either")


@trap
def random_numbers_in_backward():
    """A function draws noise in its backward. Before that, the loop has drawn numbers between forward and
    backward."""

    class NoisyGradient(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x.clone()

        @staticmethod
        def backward(context, gradient):
            return gradient + 0.01 * torch.randn_like(gradient)

    class Model(ThreeStacks):
        def forward(self, x):
            return self.stacks[1](NoisyGradient.apply(nn.functional.dropout(self.stacks[0](x), 0.3)))

    def loss(output, step):
        return (output * torch.rand(WIDTH)).square().mean()

    return Trap(Model(), loss=loss)


@trap
def seed_set_between():
    """Between the steps the loop seeds the generator and draws numbers. How many it draws differs from step
    to step."""

    def between(model, step):
        if step % 3 == 0:
            torch.manual_seed(step)
        torch.rand(step)

    return Trap(nn.Sequential(blocks(), nn.Dropout(0.3), blocks(), nn.Dropout(0.3)), between=between)


@trap
def normal_numbers_of_odd_count():
    """On the CPU, short tensors of normal numbers are drawn in pairs. The second number of a pair is kept in
    the generator, here until the next step."""

    class Model(ThreeStacks):
        def forward(self, x):
            x = self.stacks[0](x) + torch.randn(())
            return self.stacks[1](x) + 0.1 * torch.randn(2).sum()

    return Trap(Model())
