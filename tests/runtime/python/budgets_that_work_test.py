"""The error for a budget that no plan can keep names a budget that works, even later in the training."""

import gc
import json
import re
import tempfile
import unittest

import torch
from torch import nn
from torch.nn import functional

import models
import rematlas
from rematlas.library import ops


class BudgetsThatWork(unittest.TestCase):
    """These tests run in their own process, because a budget counts all tensors of the process."""

    def setUp(self):
        gc.collect()  # otherwise tensors of a failed training stay alive

    def refused(self, trained, budget):
        """Trains under a budget that is too small. Returns the error without its traceback, whose frames hold
        the training's tensors."""
        with self.assertRaises(rematlas.Infeasible) as caught:
            trained(budget)
        error = caught.exception
        del caught
        gc.collect()
        return error.with_traceback(None)

    def expect_bytes_that_work(self, trained):
        """Checks that the error for a small budget names a budget that works. `trained` is a function that
        takes a budget, trains a module under it, and returns the module."""
        works = self.refused(trained, ops.counted_bytes() + 10_000).works
        self.assertIsNotNone(works)
        status = rematlas.status(trained(works.bytes))
        self.assertEqual(status.state, "planned", status.reason)
        return works

    def training(self, optimizer, accumulate=1, **options):
        def trained(budget):
            asked = {"config": models.by_moves()} | options
            module = rematlas.apply(models.resnet(), budget, on_refuse="raise", time_limit=60, **asked)
            models.train(
                module,
                models.images,
                models.image_loss,
                optimizer(module.parameters()),
                4,
                accumulate,
                after=lambda module: rematlas.status(module).wait(),
            )
            return module

        return trained

    def test_shares_and_bytes_are_told(self):
        trained = self.training(lambda parameters: torch.optim.SGD(parameters, lr=0.01))
        error = self.refused(trained, "1%")
        works = error.works
        for budget in (works.share, works.share_of_activations):
            self.assertIn(f'"{budget}"', str(error))
            self.assertEqual(rematlas.status(trained(budget)).state, "planned")
        self.assertIn(f"a budget that works: {works.bytes}, or", str(error))

    def test_gradients_may_live_on_to_the_next_step(self):
        works = self.expect_bytes_that_work(
            self.training(lambda parameters: torch.optim.SGD(parameters, lr=0.01))
        )
        parameters = sum(parameter.nbytes for parameter in models.resnet().parameters())
        self.assertGreaterEqual(works.to_come, parameters)
        self.assertIn(f"{works.to_come} of them for gradients, optimizer states", str(works))

    def test_the_states_of_an_optimizer_come_later(self):
        works = self.expect_bytes_that_work(self.training(torch.optim.AdamW))
        parameters = sum(parameter.nbytes for parameter in models.resnet().parameters())
        self.assertGreaterEqual(works.to_come, 3 * parameters)

    def test_optimizers_that_no_plan_ends_with_count_too(self):
        for optimizer in (torch.optim.RMSprop, torch.optim.NAdam, torch.optim.Adadelta):
            with self.subTest(optimizer.__name__):
                self.expect_bytes_that_work(self.training(optimizer))

    def test_an_optimizer_in_the_plan_has_its_states_there(self):
        def trained(budget):
            module = models.resnet()
            optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3, fused=True)
            rematlas.apply(
                module,
                budget,
                optimizer=optimizer,
                on_refuse="raise",
                time_limit=60,
                config=models.by_moves(),
            )
            models.train(module, models.images, models.image_loss, optimizer, 4)
            return module

        self.expect_bytes_that_work(trained)

    def test_gradients_are_summed_over_several_steps(self):
        self.expect_bytes_that_work(
            self.training(lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9), 3)
        )

    def test_two_forwards_are_open_at_a_time(self):
        def trained(budget):
            torch.manual_seed(0)
            module = nn.Sequential(
                *(make() for _ in range(4) for make in (lambda: nn.Linear(64, 64), nn.Tanh))
            )
            rematlas.apply(
                module,
                budget,
                frames=2,
                on_refuse="raise",
                time_limit=60,
                config=models.by_moves(),
            )
            optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
            for _ in range(6):
                ones, twos = torch.randn(256, 64), torch.randn(256, 64)
                functional.mse_loss(module(ones), module(twos)).backward()
                optimizer.step()
                optimizer.zero_grad()
                rematlas.status(module).wait()
            return module

        self.expect_bytes_that_work(trained)

    def test_forwards_that_are_open_in_turn(self):
        """A forward begins while another forward is open, and gradients of earlier backwards are alive at the
        same time."""
        torch.manual_seed(0)
        makes = (lambda: nn.Linear(64, 256), nn.GELU, lambda: nn.Linear(256, 64))
        module = nn.Sequential(*(make() for _ in range(4) for make in makes))
        budget = ops.counted_bytes() + 2_800_000
        with tempfile.NamedTemporaryFile() as log:
            options = {"config": models.by_moves(), "watch": log.name}
            rematlas.apply(module, budget, frames=2, time_limit=60, **options)
            optimizer, x = torch.optim.SGD(module.parameters(), lr=0.01), torch.randn(128, 64)
            for _ in range(8):
                outputs = [module(x), module(x)]
                for number in range(4):
                    outputs[number].square().mean().backward()
                    outputs[number] = None
                    if len(outputs) < 4:
                        outputs.append(module(x))
                optimizer.step()
                optimizer.zero_grad()
                rematlas.status(module).wait()
            steps = [step for step in map(json.loads, log) if step.get("by") == "plan"]
        later = [step["peak_bytes"] for step in steps if step["step"] >= 12]
        self.assertGreater(len(later), 10)
        self.assertLessEqual(max(later), budget)

    def test_a_solver_that_tells_no_smallest_schedule(self):
        self.expect_bytes_that_work(
            self.training(
                lambda parameters: torch.optim.SGD(parameters, lr=0.01), config=None, solver="rotor"
            )
        )

    def test_what_is_told_grows_with_what_lives_beside(self):
        module = models.resnet()
        with self.assertWarns(rematlas.RefusedWarning):
            rematlas.apply(module, ops.counted_bytes() + 10_000, config=models.by_moves())
            kept, told = [], []
            for number in range(12):
                x, target = models.images(number)
                models.image_loss(module(x), target).backward()
                reason = rematlas.status(module).wait().reason
                told += re.findall("a budget that works: ([0-9]+)", reason)
                kept.append(torch.zeros(1_000_000))
        self.assertGreaterEqual(int(told[-1]), int(told[0]) + 2 * kept[0].nbytes)


if __name__ == "__main__":
    unittest.main()
