"""Optimizers under online eviction: their states are kept from the first step on, and their temporary tensors
are evicted one by one."""

import unittest

import torch
from torch import nn

import rematlas
from evict_models import data
from evicted import SAME, Course, expect_as_eager
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


if __name__ == "__main__":
    unittest.main()
