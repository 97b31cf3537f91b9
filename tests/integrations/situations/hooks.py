"""Hooks, threads and functions of weights that programs put around a network."""

import queue
import threading

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from inputs import classes, normal
from situation import Situation, situation
from situations.networks import adamw, convolutions, images, minimize, perceptron


@situation("features_by_hooks")
def features_by_hooks():
    """A perceptual loss: a network makes an image, and hooks on a second, frozen network collect features of
    this image."""
    model = nn.Sequential(
        nn.Conv2d(3, 12, 3, 1, 1), nn.ReLU(), nn.Conv2d(12, 12, 3, 1, 1), nn.ReLU(), nn.Conv2d(12, 3, 3, 1, 1)
    )
    judge = convolutions().eval().requires_grad_(False)
    features = []
    for layer in (judge[2], judge[8]):
        layer.register_forward_hook(lambda module, given, output: features.append(output))
    optimizer = adamw(model)

    def seen(x):
        features.clear()
        judge(x)
        return list(features)

    def step(number):
        x, wanted = normal(number, 8, 3, 32, 32), normal(number + 50, 8, 3, 32, 32)
        with torch.no_grad():
            right = seen(wanted)
        return minimize(optimizer, lambda: sum((a - b).abs().mean() for a, b in zip(seen(model(x)), right)))

    return Situation(nn.ModuleList([model, judge]), step, [optimizer], planned=[model])


@situation("gradient_reversed")
def gradient_reversed():
    """DANN: a classifier of domains is trained through a layer that negates the gradient."""

    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            return -0.3 * gradient

    class Adversary(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.kind, self.domain = convolutions(outputs=32), nn.Linear(32, 10), nn.Linear(32, 2)

        def forward(self, x):
            h = self.body(x).relu()
            return self.kind(h), self.domain(Reverse.apply(h))

    model = Adversary()
    optimizer = adamw(model)

    def step(number):
        x, target = images(number)

        def loss():
            kind, domain = model(x)
            return cross_entropy(kind, target) + cross_entropy(domain, classes(number, 16, 2))

        return minimize(optimizer, loss)

    return Situation(model, step, [optimizer], in_bytes=0.88)


@situation("loss_in_a_log_of_the_module")
def loss_in_a_log_of_the_module():
    """The module returns its loss, counts its steps, and appends the loss to a list, for example for a
    plot."""

    class Logging(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.calls, self.history = convolutions(), 0, []

        def forward(self, x, target):
            self.calls += 1
            loss = cross_entropy(self.body(x), target)
            self.history.append(loss.item())
            return loss

    model = Logging()
    optimizer = adamw(model)
    return Situation(
        model,
        lambda number: minimize(optimizer, lambda: model(*images(number))),
        [optimizer],
        in_bytes=0.88,
        observed=lambda: torch.tensor([model.calls, *model.history]),
    )


@situation("batches_from_a_thread")
def batches_from_a_thread():
    """A thread prepares batches while the network trains, as prefetchers do."""
    model = convolutions()
    optimizer = adamw(model)

    def loop(steps, after_step):
        ready = queue.Queue(maxsize=2)

        def prepare():
            torch.set_num_threads(1)  # the number is set per thread; thread pools do not survive a fork
            for number in range(steps):
                x, target = images(number)
                ready.put(((x - x.mean()) / x.std(), target))

        thread = threading.Thread(target=prepare)
        thread.start()
        for _ in range(steps):
            x, target = ready.get()
            after_step(minimize(optimizer, lambda: cross_entropy(model(x), target)))
        thread.join()

    return Situation(model, optimizers=[optimizer], loop=loop, steps=16)


@situation("weights_made_by_a_network")
def weights_made_by_a_network():
    """A hypernetwork makes the weights of a layer from an embedding of the task."""

    class Hyper(nn.Module):
        def __init__(self):
            super().__init__()
            self.tasks = nn.Embedding(4, 16)
            self.make = perceptron(16, 32, 32 * 32)
            self.before, self.after = nn.Linear(32, 32), nn.Linear(32, 4)

        def forward(self, x, task):
            weight = self.make(self.tasks(task)).view(32, 32)
            return self.after(nn.functional.linear(self.before(x).relu(), weight).relu())

    model = Hyper()
    optimizer = adamw(model)

    def step(number):
        x = normal(number, 512, 32)
        return minimize(
            optimizer,
            lambda: cross_entropy(model(x, torch.tensor(number % 4)), classes(number, 512, 4)),
        )

    return Situation(model, step, [optimizer], in_bytes=0.9)
