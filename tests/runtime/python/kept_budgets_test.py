"""Budgets in bytes are kept in steps that differ from earlier steps, and such steps are planned if possible:
steps with several open forwards, other ops, alternating losses, autocast, or outputs that the caller frees.
"""

import gc
import logging
import unittest

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import rematlas
from models import by_moves
from rematlas.library import ops

torch.set_num_threads(1)
WIDTH, ROWS = 64, 512


def layers(count):
    return nn.Sequential(
        *(make() for _ in range(count) for make in (lambda: nn.Linear(WIDTH, WIDTH), nn.GELU))
    )


class Steps(unittest.TestCase):
    def setUp(self):
        gc.collect()

    def trained(self, build, step, count, budget=None, **options):
        """Trains for `count` steps. Returns the module, the weights, the peak bytes of each step, and the
        bytes between steps."""
        torch.manual_seed(0)
        module = build()
        optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
        if budget is not None:
            rematlas.apply(module, budget, config=by_moves(), time_limit=60, **options)
        peaks, kept = [], 0
        for number in range(count):
            kept = ops.counted_bytes()
            ops.reset_counted_peak()
            torch.manual_seed(number)
            step(module, number).backward()
            optimizer.step()
            optimizer.zero_grad()
            peaks.append(ops.counted_peak_bytes())
            if budget is not None:
                rematlas.status(module).wait()
        return module, [parameter.detach().clone() for parameter in module.parameters()], peaks, kept

    def between(self, build, step, percent):
        """Returns a budget: the bytes that are alive between steps, plus `percent` per cent of the further
        bytes that are alive at the peak of plain training."""
        _, weights, peaks, kept = self.trained(build, step, 4)
        del weights
        gc.collect()
        return kept + (max(peaks) - kept) * percent // 100

    def expect_kept(self, build, step, percent, count=10, first=4, **options):
        """Checks that all steps from number `first` on keep the budget, and that the weights are those of
        plain training."""
        budget = self.between(build, step, percent)
        module, weights, peaks, _ = self.trained(build, step, count, budget, **options)
        self.assertTrue(all(peak <= budget for peak in peaks[first:]), (budget, peaks))
        rematlas.remove(module)
        plain = self.trained(build, step, count)[1]
        self.assertTrue(all(map(torch.equal, weights, plain)))
        return module

    def test_three_forwards_are_open_at_a_time(self):
        def step(module, number):
            anchor, near, far = (module(torch.randn(ROWS, WIDTH)) for _ in range(3))
            return functional.triplet_margin_loss(anchor, near, far)

        for percent, options in ((40, {}), (60, {"unplanned": "evict"}), (60, {"frames": 3})):
            with self.subTest(percent=percent, **options):
                self.expect_kept(lambda: layers(4), step, percent, **options)

    def test_kinds_of_calls_are_open_together_under_eviction(self):
        """The model is called on chunks of rows, as in radiance fields. The last chunk is smaller, so its
        call is of another kind."""

        def step(module, number):
            rows = torch.randn(ROWS * 9 // 4, WIDTH).split(ROWS)
            return torch.cat([module(chunk) for chunk in rows]).pow(2).mean()

        for percent in (80, 95):
            with self.subTest(percent):
                self.expect_kept(lambda: layers(4), step, percent, count=14, unplanned="evict")

    def test_a_step_of_another_course_is_evicted(self):
        class AsFarAsItsData(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = nn.GRUCell(WIDTH, WIDTH)

            def forward(self, x):
                state, rounds = torch.zeros_like(x), 0
                while rounds < 9:
                    state, rounds = self.cell(x, state), rounds + 1
                    if bool(rounds * x.detach().abs().mean() > 3):
                        break
                return state

        def step(module, number):
            return module(torch.randn(ROWS, WIDTH) * (0.01 if number in (7, 9) else 1)).pow(2).mean()

        torch.manual_seed(0)
        long = max(self.trained(AsFarAsItsData, lambda module, number: step(module, 7), 2)[2])
        gc.collect()
        short = max(self.trained(AsFarAsItsData, step, 6)[2])
        gc.collect()
        budget = (short + long) // 2
        module, weights, peaks, _ = self.trained(AsFarAsItsData, step, 10, budget)
        self.assertTrue(all(peak <= budget for peak in peaks), (budget, peaks))
        self.assertEqual(rematlas.status(module).state, "planned", rematlas.status(module).reason)
        rematlas.remove(module)
        self.assertTrue(all(map(torch.equal, weights, self.trained(AsFarAsItsData, step, 10)[1])))

    def test_losses_that_take_turns_are_planned_once_each(self):
        class TwoHeads(nn.Module):
            def __init__(self):
                super().__init__()
                self.trunk, self.one, self.other = layers(6), nn.Linear(WIDTH, 4), nn.Linear(WIDTH, 4)

            def forward(self, x):
                hidden = self.trunk(x)
                return self.one(hidden), self.other(hidden)

        def step(module, number):
            one, other = module(torch.randn(ROWS, WIDTH))
            return one.pow(2).mean() + (other.pow(2).mean() if number % 3 != 2 else 0)

        with self.assertLogs("rematlas", logging.INFO) as logged:
            logging.getLogger("rematlas").info("begins")
            self.expect_kept(TwoHeads, step, 70, count=24, first=0)
        planned = [line for line in logged.output if "planned from shapes" in line or "planned anew" in line]
        self.assertLessEqual(len(planned), 8, logged.output)

    def test_half_precision(self):
        """Casts of weights live until the autocast region ends, and a 16-bit loss is computed in 32 bits."""

        class Blocks(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList(layers(2) for _ in range(3))
                self.head = nn.Linear(WIDTH, 96)

            def forward(self, x):
                for number, block in enumerate(self.blocks):
                    x = checkpoint(block, x, use_reentrant=False) if number % 2 else block(x)
                return self.head(x)

        def step(module, number):
            with torch.autocast("cpu", torch.bfloat16):
                output = module(torch.randn(ROWS, WIDTH))
            return functional.cross_entropy(output.float(), torch.randint(96, (ROWS,)))

        for percent, options in ((70, {}), (95, {}), (85, {"unplanned": "evict"})):
            with self.subTest(percent=percent, **options):
                self.expect_kept(Blocks, step, percent, **options)


class Shares(unittest.TestCase):
    def test_outputs_that_the_caller_lets_go_are_not_counted_while_it_is_compared(self):
        """Like many language models, the model also returns a cache of its layers. The caller frees the cache
        before the backward."""

        class Caching(nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(0)
                self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(6))

            def forward(self, x):
                cached = []
                for layer in self.layers:
                    x = torch.tanh(layer(x))
                    cached.append((x * 2, x.sin()))
                return x.pow(2).mean(), cached

        for share in ("72% of activations", "85% of activations"):
            with self.subTest(share):
                module = rematlas.apply(Caching(), share, config=by_moves())
                for _ in range(6):
                    module(torch.randn(ROWS, WIDTH))[0].backward()
                    rematlas.status(module).wait()
                self.assertEqual(rematlas.status(module).state, "planned", rematlas.status(module).reason)


if __name__ == "__main__":
    unittest.main()
