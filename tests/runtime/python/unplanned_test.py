"""Steps that no plan runs, under online eviction: a budget in bytes is kept all the same."""

import copy
import unittest
import warnings

import torch
from torch import nn

import rematlas
from rematlas.library import ops

WIDTH, ROWS = 128, 512


class AsDeepAsItsData(nn.Module):
    """Each batch takes another number of layers."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(6))
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        for i in range(12 + int(x.sum().item()) % 12):
            x = self.drop(torch.tanh(self.layers[i % 6](x)))
        return x.sum()


def train(model, steps, first=0):
    """Losses, the peak in bytes, parameters."""
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    losses = []
    ops.reset_counted_peak()
    for step in range(first, first + steps):
        torch.manual_seed(step)
        loss = model(torch.randn(ROWS, WIDTH))
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
        optimizer.zero_grad()
    return losses, ops.counted_peak_bytes(), [parameter.detach().clone() for parameter in model.parameters()]


class Unplanned(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", rematlas.RefusedWarning)

    def test_a_course_that_changes_trains_under_the_budget(self):
        model = AsDeepAsItsData()
        twin = copy.deepcopy(model)
        before = ops.counted_bytes()
        wanted = train(model, 24)
        budget = before + (wanted[1] - before) // 2
        rematlas.apply(twin, budget, unplanned="evict")
        made = train(twin, 18)  # until it is clear that no plan runs most steps
        more = train(twin, 6, first=18)
        self.assertEqual(made[0] + more[0], wanted[0])
        for mine, other in zip(more[2], wanted[2]):
            self.assertTrue(torch.equal(mine, other))
        self.assertLessEqual(more[1], budget)
        status = rematlas.status(twin)
        self.assertGreaterEqual(status.evicted, 6)
        self.assertLessEqual(made[1], budget)
        self.assertGreater(status.eviction.evictions, 0)
        self.assertIn("under online eviction", repr(status))
        rematlas.remove(twin)
        with rematlas.evict(budget):  # nothing is in force any more
            pass

    def test_without_it_the_original_runs_as_it_is(self):
        model = AsDeepAsItsData()
        rematlas.apply(model, 2**30, unplanned="original")
        train(model, 18)
        self.assertEqual(rematlas.status(model).state, "refused")
        self.assertEqual(rematlas.status(model).evicted, 0)

    def test_a_planned_step_is_not_evicted(self):
        torch.manual_seed(0)
        model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(6)))
        rematlas.apply(model, 2**30, unplanned="evict")
        for _ in range(3):
            model(torch.randn(ROWS, WIDTH)).sum().backward()
            rematlas.status(model).wait()
        self.assertEqual(rematlas.status(model).evicted, 0)

    def test_what_cannot_be_is_refused(self):
        model = nn.Linear(4, 4)
        with self.assertRaisesRegex(ValueError, "unplanned is 'never'"):
            rematlas.apply(model, 2**20, unplanned="never")
        with self.assertRaisesRegex(ValueError, "budget in bytes"):
            rematlas.apply(model, "60%", unplanned="evict")


if __name__ == "__main__":
    unittest.main()
