"""Optimizers under online eviction: their states are kept from the first step on, and their temporary tensors
are evicted one by one."""

import gc
import unittest

import torch
from torch import nn

import models
import rematlas
from evict_models import data
from evicted import SAME, Course, expect_as_eager
from rematlas.compiled.memory import other_bytes
from rematlas.library import ops

O = torch.optim  # noqa: E741
OPTIMIZERS = {
    "sgd": lambda p: O.SGD(p, lr=0.1, momentum=0.9),
    "sgd_for_loop": lambda p: O.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01, foreach=False),
    "sgd_foreach": lambda p: O.SGD(p, lr=0.1, momentum=0.9, foreach=True),
    "adam": lambda p: O.Adam(p, foreach=False, amsgrad=True),
    "adamw_for_loop": lambda p: O.AdamW(p, foreach=False),
    "adamw_foreach": lambda p: O.AdamW(p, foreach=True),
    "adamw_fused": lambda p: O.AdamW(p, fused=True),
    "rmsprop": lambda p: O.RMSprop(p, foreach=False, momentum=0.9),
    "rmsprop_foreach": lambda p: O.RMSprop(p, foreach=True, centered=True, momentum=0.9),
    "adagrad": lambda p: O.Adagrad(p, foreach=False),
    "adagrad_foreach": lambda p: O.Adagrad(p, foreach=True),
    "nadam": lambda p: O.NAdam(p, foreach=False),
    "nadam_foreach": lambda p: O.NAdam(p, foreach=True),
    "adadelta_foreach": lambda p: O.Adadelta(p, foreach=True),
}


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Dropout(0.1)) for _ in range(8))
        )

    def forward(self, x):
        return self.layers(x)


def layers(optimizer, batch: int) -> Course:
    return Course(Layers(), lambda m, n: m(data(n, batch, 64)).square().mean(), optimizer=optimizer)


class Updates(unittest.TestCase):
    def test_activations_are_most_of_the_memory(self):
        for name, optimizer in OPTIMIZERS.items():
            with self.subTest(optimizer=name):
                found = expect_as_eager(self, lambda: layers(optimizer, 512), (0.7, 0.3), 0.3, 4)
                self.assertGreater(found[-1].evictions, found[0].evictions)

    def test_parameters_are_most_of_the_memory(self):
        """The gradients and one list of temporary tensors of a foreach step take more than half of the
        evictable bytes. Even so, steps must fit in half of the evictable bytes."""
        for name, optimizer in OPTIMIZERS.items():
            # Adadelta keeps two lists of temporary tensors, because the tensors from which they were made are
            # overwritten before they are read.
            fits = 0.9 if name == "adadelta_foreach" else 0.5
            with self.subTest(optimizer=name):
                found = expect_as_eager(self, lambda: layers(optimizer, 64), (0.9, 0.7, 0.5, 0.3), fits, 4)
                self.assertGreater(found[2].evictions, 0)

    def test_what_an_optimizer_keeps_is_never_made_again(self):
        """After the optimizer's first step its states are never recomputed, whatever else needs memory."""
        for name in ("adamw_foreach", "adam", "sgd"):
            with self.subTest(optimizer=name):
                course = layers(OPTIMIZERS[name], 64)
                with rematlas.evict(course.module, ops.counted_bytes() + (2 << 20), **SAME) as context:
                    course.run(0)
                    other = torch.ones(1, 1 << 12) * 2
                    pressing = [torch.ones(1, 1 << 16) * 3 for _ in range(12)]
                    again = context.status().rematerializations
                    total = sum(
                        value.abs().sum()
                        for state in course.trained.state.values()
                        for value in state.values()
                    )
                    self.assertGreater(total.item(), 0)
                    self.assertEqual(context.status().rematerializations, again)
                    self.assertEqual(other.sum().item(), 2 << 12)
                    self.assertGreater(context.status().rematerializations, again)
                    del pressing

    def test_a_list_is_made_again_item_by_item(self):
        made = [torch.randn(1 << 14) for _ in range(8)]
        expected = [one.exp().mul(3).add(one) for one in made]
        with rematlas.evict(ops.counted_bytes() + (9 << 15), **SAME) as context:
            found = torch._foreach_exp(made)
            torch._foreach_mul_(found, [3.0] * 8)
            torch._foreach_add_(found, made)
            self.assertGreater(context.status().evictions, 0)
            for one, other in zip(found, expected):
                self.assertTrue(torch.equal(one, other))


def feed_forward(seed):
    torch.manual_seed(seed)
    layers = [
        layer
        for _ in range(4)
        for layer in (nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256), nn.LayerNorm(256))
    ]
    return nn.Sequential(*layers).to(models.DEVICE)


class PlannedUpdates(unittest.TestCase):
    """A module is planned with its updates. Another module has a budget in bytes that no plan keeps, so that
    online eviction is in force in all steps of the program."""

    STEPS = 8

    def beside(self, room):
        """Returns a module whose steps run under eviction, and a function that trains it."""
        module = feed_forward(1)
        if room:
            device = str(torch.empty(0, device=models.DEVICE).device)
            gc.collect()
            rematlas.apply(module, other_bytes([], [], device) + room, config=models.by_moves())
            self.addCleanup(rematlas.remove, module)  # ends the eviction

        def train(number):
            module(data(50 + number, 512, 256)).square().mean().backward()
            module.zero_grad()
            if room:
                rematlas.status(module).wait()

        return module, train

    def expect_same(self, train, room):
        plain, ours = train(0), train(room)
        self.assertEqual(plain[0], ours[0])
        for one, other in zip(plain[1].parameters(), ours[1].parameters()):
            self.assertTrue(torch.equal(one, other))
        self.assertEqual(rematlas.status(ours[1]).updates, "during backward")
        self.assertGreater(rematlas.status(ours[2]).eviction.evictions, 100)

    def test_results_of_earlier_parameters_are_not_computed_from_later_ones(self):
        def train(room):
            module = feed_forward(0)
            optimizer = torch.optim.AdamW(module.parameters(), 1e-2, fused=True)
            if room:
                rematlas.apply(module, "100%", optimizer=optimizer, accumulate=1, config=models.by_moves())
            beside, train_beside = self.beside(room)
            found = []
            for number in range(self.STEPS):
                train_beside(number)
                module.eval()
                with torch.no_grad():
                    results = [module(data(100 + 10 * number + i, 512, 256)) * 1.5 for i in range(4)]
                module.train()
                module(data(number, 16, 256)).square().mean().backward()
                optimizer.step()
                optimizer.zero_grad()
                found.append([result.sum().item() for result in results])
                if room:
                    rematlas.status(module).wait()
            return found, module, beside

        self.expect_same(train, 10 << 20)

    def test_states_of_the_optimizer_stay(self):
        def train(room):
            beside, train_beside = self.beside(room)
            for number in range(4):
                train_beside(number)
            module = feed_forward(0)
            optimizer = torch.optim.AdamW(module.parameters(), 1e-2, fused=True)
            if room:
                rematlas.apply(module, "100%", optimizer=optimizer, accumulate=1, config=models.by_moves())
            losses = []
            for number in range(self.STEPS):
                loss = module(data(number, 16, 256)).square().mean()
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                losses.append(loss.item())
                if room:
                    rematlas.status(module).wait()
                train_beside(number)
            return losses, module, beside

        self.expect_same(train, 10 << 20)


if __name__ == "__main__":
    unittest.main()
