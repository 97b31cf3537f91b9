"""Tests steps that without a plan do not fit in the budget. Even the first step must keep the budget."""

import gc
import logging
import random
import tempfile
import unittest
import warnings

import numpy
import torch
from torch import nn

import models
import rematlas
from rematlas.library import ops

STEPS = 6
WIDTH, ROWS = 128, 256


class Blocks(nn.Module):
    def __init__(self, outputs=1):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Dropout(0.1)) for _ in range(12)
        )
        self.norm = nn.BatchNorm1d(WIDTH)
        self.outputs = outputs

    def body(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return self.norm(x)

    def forward(self, x):
        x = self.body(x)
        return x if self.outputs == 1 else (x, x.tanh().cumsum(0))


class Scaled(Blocks):
    """A model whose buffer is a slice of a longer tensor."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.linspace(0, 2, 2 * WIDTH)[WIDTH:])

    def forward(self, x):
        return (self.body(x) * self.scale.sqrt()).square().mean()


class Remembers(Blocks):
    def forward(self, x):
        self.last = self.body(x)
        return self.last.square().mean()


class Lists(Blocks):
    """A model whose forward appends to a list. No plan can repeat that."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def forward(self, x):
        self.calls.append(len(x))
        return self.body(x).square().mean()


class Counts(Blocks):
    """A model whose steps all differ, because its forward computes with numbers that Python counts or
    draws."""

    kind = "counter"

    def forward(self, x):
        x = self.body(x)
        if self.kind == "counter":
            self.count = getattr(self, "count", 0) + 1
            x = x * self.count
        if self.kind == "random":
            x = x * random.random()
        if self.kind == "numpy":
            x = x * float(numpy.random.rand())
        if self.kind == "state":
            x = x + getattr(self, "last", 0.0)
            self.last = x.detach()
        return x.square().mean()


class Reads(Blocks):
    """A model that skips layers at random. Its forward reads the random numbers, so its ops cannot be known
    from shapes."""

    def forward(self, x):
        for layer in self.layers:
            if torch.rand([]).item() > 0.5:
                x = x + layer(x)
        return self.norm(x).square().mean()


def sgd(module):
    return torch.optim.SGD(module.parameters(), lr=0.05)


def rows(step):
    return torch.randn(ROWS, WIDTH, generator=torch.Generator(models.DEVICE).manual_seed(step))


def train(module, batches, loss_of, steps=STEPS, optimizer=models.adamw, after=lambda: None):
    """Trains for `steps` steps. Returns losses, and the peak bytes of each step. `after` is called after each
    step."""
    torch.manual_seed(1)
    optimizer = optimizer(module)
    losses, peaks = [], []
    for step in range(steps):
        batch = batches(step)
        models.reset_peak()
        loss = loss_of(module, batch)
        loss.backward()
        peaks.append(models.peak())
        losses.append(loss.item())
        del loss
        optimizer.step()
        optimizer.zero_grad()
        after()
    return losses, peaks


def refusals_among(caught):
    """Returns the classes of the warnings, without the warning that online eviction cannot keep the budget.
    On a GPU this warning can come because of the workspace of the GPU's libraries."""
    return [w.category for w in caught if "online eviction cannot keep the budget" not in str(w.message)]


def two_rows(step):
    return rows(2 * step), rows(2 * step + 1)


def loss_of_two(module, batch):
    """Runs both forwards before the backward."""
    first, second = (module(x) for x in batch)
    return (first - second).square().mean()


def blocks():
    torch.manual_seed(0)
    return nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(6)))


class PlansOfFiles(unittest.TestCase):
    """Plans that were made for a budget in bytes and read from files keep that budget, even while they are
    compared."""

    def train(self, module, after=lambda: None):
        loss_of = lambda module, x: (module(x) - 1).square().mean()
        return train(module, rows, loss_of, optimizer=sgd, after=after)

    def planned(self, **options):
        module = rematlas.apply(blocks(), config=models.by_moves(), **options)
        losses, peaks = self.train(module, lambda: rematlas.status(module).wait())
        return losses, max(peaks), rematlas.status(module)

    def test_without_another_budget(self):
        gc.collect()
        alive = models.reset_peak()
        plain = blocks()
        losses, peaks = self.train(plain)
        budget = alive + sum(p.nbytes for p in plain.parameters()) + int(0.75 * (max(peaks) - alive))
        del plain
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, _, status = self.planned(budget=budget)
            status.save(f"{folder}/plan")
            del status
            for options in ({}, {"verify": 0}, {"unplanned": "original"}):
                gc.collect()
                found, peak, status = self.planned(plan=f"{folder}/plan", **options)
                self.assertEqual(found, losses)
                self.assertLessEqual(peak, budget, options)
                self.assertGreater(status.replayed, 0, status)
                self.assertEqual(status.unkept, "")
                del status


class SeveralFrames(unittest.TestCase):
    """Forwards that are open at the same time keep the budget together."""

    build = staticmethod(blocks)

    def setUp(self):
        logging.getLogger("rematlas").setLevel(logging.ERROR)
        self.addCleanup(logging.getLogger("rematlas").setLevel, logging.NOTSET)
        gc.collect()
        alive = models.reset_peak()
        plain = self.build()
        self.losses, peaks = train(plain, two_rows, loss_of_two, optimizer=sgd)
        self.numbers = [parameter.detach().clone() for parameter in plain.parameters()]
        self.budget = alive + sum(number.nbytes for number in self.numbers) + int(0.75 * (max(peaks) - alive))

    def expect_planned(self, module, peaks, of_another_loss=0):
        status = rematlas.status(module)
        self.assertEqual(status.state, "planned", status.reason)
        self.assertLessEqual(max(peaks[-2:]), self.budget + of_another_loss)
        self.assertEqual(status.plans[0].last["originals"], 0)
        return status

    def test_as_told(self):
        for frames in (1, 2):
            module = rematlas.apply(self.build(), self.budget, config=models.by_moves(), frames=frames)
            losses, peaks = train(
                module,
                two_rows,
                loss_of_two,
                optimizer=sgd,
                after=lambda: rematlas.status(module).wait(),  # noqa: F821
            )
            self.assertEqual(losses, self.losses)
            for number, parameter in zip(self.numbers, module.parameters()):
                self.assertTrue(torch.equal(number, parameter))
            self.assertGreaterEqual(self.expect_planned(module, peaks).replayed, 6)
            del module

    def test_where_they_come_later(self):
        module = rematlas.apply(self.build(), self.budget, config=models.by_moves())
        train(
            module,
            rows,
            lambda module, x: (module(x) - 1).square().mean(),
            optimizer=sgd,
            after=lambda: rematlas.status(module).wait(),
        )
        before = rematlas.status(module).replayed
        self.assertEqual(rematlas.status(module).plans[0].overhead, 1)
        _, peaks = train(
            module, two_rows, loss_of_two, optimizer=sgd, after=lambda: rematlas.status(module).wait()
        )
        self.assertGreater(peaks[0], self.budget)
        status = self.expect_planned(module, peaks, of_another_loss=4 * ROWS * WIDTH)
        self.assertGreater(status.plans[0].overhead, 1)
        # The first steps are compared. On a GPU one more step is compared, because there the batch of the
        # second forward also takes memory.
        self.assertGreaterEqual(status.replayed, before + 4)

    def test_shares_are_of_all_that_is_open(self):
        module = rematlas.apply(self.build(), "70%", config=models.by_moves(), frames=2)
        train(module, two_rows, loss_of_two, optimizer=sgd, after=lambda: rematlas.status(module).wait())
        self.assertEqual(rematlas.status(module).state, "planned", rematlas.status(module).reason)

    def test_where_no_plan_has_room_for_them(self):
        def trained(budget):
            gc.collect()
            module = rematlas.apply(self.build(), budget, config=models.by_moves())
            train(
                module,
                rows,
                lambda module, x: module(x).square().mean(),
                optimizer=sgd,
                after=lambda: rematlas.status(module).wait(),
            )
            return module

        plan = rematlas.status(trained("60%")).plans[0]
        budget = plan.budget_bytes + plan.beside_bytes + WIDTH * ROWS * 4 + 4096
        module = trained(budget)
        self.assertEqual(rematlas.status(module).state, "planned")
        with self.assertWarnsRegex(
            rematlas.RefusedWarning, "with 2 forwards open at a time.*budget that works"
        ):
            _, peaks = train(
                module, two_rows, loss_of_two, optimizer=sgd, after=lambda: rematlas.status(module).wait()
            )
        status = rematlas.status(module)
        self.assertEqual(status.state, "refused")
        self.assertGreater(status.evicted, 0)
        self.assertTrue(all(peak <= budget for peak in peaks[-2:]), (budget, peaks))


class LargeSteps(unittest.TestCase):
    def setUp(self):
        gc.collect()  # frees modules of other tests, whose steps perhaps run under eviction
        logging.getLogger("rematlas").setLevel(logging.ERROR)
        self.addCleanup(logging.getLogger("rematlas").setLevel, logging.NOTSET)

    def expect_within(self, build, batches, loss_of, share, optimizer=models.adamw):
        """Trains without a plan, then under a budget: the bytes that stay between steps, plus a share of the
        other bytes that a plain step takes."""
        gc.collect()  # frees tensors of other tests
        alive = models.reset_peak()
        plain = build()
        losses, peaks = train(plain, batches, loss_of, optimizer=optimizer)
        stays = models.reset_peak() - alive
        numbers = {name: value.clone() for name, value in plain.state_dict().items()}
        random = models.generator_states()
        del plain
        noted = models.reset_peak() - alive
        budget = alive + noted + stays + int((max(peaks) - alive - stays) * share)

        module = rematlas.apply(build(), budget, config=models.by_moves())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ours, peaks = train(module, batches, loss_of, optimizer=optimizer)
        status = rematlas.status(module)
        self.assertEqual(losses, ours)
        self.assertTrue(all(map(torch.equal, random, models.generator_states())))
        for name, value in module.state_dict().items():
            self.assertTrue(torch.equal(value, numbers[name]), name)
        self.assertEqual(status.state, "planned", status.reason)
        self.assertLessEqual(max(peaks), budget)
        return status

    def test_the_first_step_runs_by_a_plan_already(self):
        status = self.expect_within(Blocks, rows, lambda module, x: module(x).square().mean(), 0.7, sgd)
        self.assertEqual((status.original, status.replayed), (0, STEPS))
        self.assertEqual(status.plans[0].compared, 0)
        self.assertIn("not compared", repr(status))

    def test_a_gpt_of_tokens(self):
        def loss_of(module, batch):
            return models.text_loss(module(batch[0]), batch[1])

        self.expect_within(models.gpt, models.texts, loss_of, 0.7)

    def test_a_loss_on_other_outputs_than_expected(self):
        status = self.expect_within(
            lambda: Blocks(outputs=2), rows, lambda module, x: module(x)[0].square().mean(), 0.7, sgd
        )
        self.assertEqual((status.original, status.replayed), (0, STEPS))

    def test_buffers_that_are_parts_of_tensors(self):
        self.expect_within(Scaled, rows, lambda module, x: module(x), 0.7, sgd)

    def test_gradients_that_lie_otherwise_than_guessed_come_from_the_original(self):
        class Transposed(Blocks):
            def forward(self, x):
                x = self.body(x)
                return x, x.t()

        def loss_of(module, x):
            return sum(output.square().mean() for output in module(x))

        plain = train(Transposed(), rows, loss_of, optimizer=sgd)[0]
        module = rematlas.apply(Transposed(), models.reset_peak() + (7 << 20), config=models.by_moves())
        waits = {"after": lambda: rematlas.status(module).wait()}
        self.assertEqual(train(module, rows, loss_of, optimizer=sgd, **waits)[0], plain)
        self.assertEqual(rematlas.status(module).state, "planned", rematlas.status(module).reason)

    def test_attributes_that_the_forward_sets(self):
        def loss_of(module, x):
            return module(x) + 0 * module.last.detach().mean()

        self.expect_within(Remembers, rows, loss_of, 0.7)

    def test_what_fits_is_recorded_and_compared(self):
        module = rematlas.apply(Blocks(), 1 << 30, config=models.by_moves())
        for _ in range(2):
            train(module, rows, lambda module, x: module(x).square().mean(), 4)
            status = rematlas.status(module).wait()
        self.assertEqual(status.state, "planned", status.reason)
        self.assertEqual(status.plans[0].compared, 2)

    @unittest.skipUnless(models.DEVICE.type == "cpu", "it counts memory of the host")
    def test_what_kernels_take_beside_tensors_is_kept_within_the_budget_or_told(self):
        """The workspaces of kernels are not known from shapes, so the first step can exceed a tight budget.
        If it does, the status says so."""

        def net():
            torch.manual_seed(0)
            layers = []
            for before, after, stride in [(3, 8, 1), (8, 8, 1), (8, 8, 2), (8, 16, 1), (16, 32, 2)]:
                layers += [nn.Conv2d(before, after, 3, stride, 1), nn.BatchNorm2d(after), nn.ReLU(True)]
            return nn.Sequential(*layers)

        def peaks(module):
            found = []
            for step in range(STEPS):
                ops.reset_counted_peak()
                module(images(step)).square().mean().backward()
                found.append(ops.counted_peak_bytes())
                after(module)
            return found

        def images(step):
            return torch.randn(16, 3, 32, 32, generator=torch.Generator().manual_seed(step))

        after = lambda module: None
        before = ops.counted_bytes()
        plain = max(peaks(net())) - before
        after = lambda module: rematlas.status(module).wait()
        for share in (0.93, 0.95, 0.97, 0.99):
            gc.collect()
            budget = ops.counted_bytes() + int(share * plain)
            module = rematlas.apply(net(), budget, config=models.by_moves())
            with self.assertLogs("rematlas", logging.WARNING) as logged:
                found = peaks(module)
            if max(found) > budget:
                self.assertIn("beyond the budget", " ".join(logged.output), f"{share}: {found} of {budget}")
            self.assertLessEqual(max(found[1:]), budget, share)
            rematlas.remove(module)

    def test_a_look_from_shapes_leaves_no_trace(self):
        plain, module = Lists(), rematlas.apply(Lists(), 12 << 20, config=models.by_moves())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for one in (plain, module):
                losses = train(one, rows, lambda module, x: module(x))[0]
                self.assertEqual(one.calls, [ROWS] * STEPS)
        self.assertIn("the module changes between its steps: calls", rematlas.status(module).reason)
        self.assertEqual(losses, train(Lists(), rows, lambda module, x: module(x))[0])

    def test_what_changes_from_step_to_step_is_not_taken_for_constant(self):
        for kind, why in {
            "counter": "the module changes between its steps: count",
            "random": "draws from Python's random numbers",
            "numpy": "draws from numpy's random numbers",
            "state": "has other contents in the next step",
        }.items():
            results = []
            for apply in (False, True):
                module = Counts()
                module.kind = kind
                random.seed(3), numpy.random.seed(3)
                if apply:
                    # On a GPU, the workspace of its libraries also takes memory.
                    on_cpu = models.DEVICE.type == "cpu"
                    budget = 12 << 20 if on_cpu else models.reset_peak() + (8 << 20)
                    rematlas.apply(module, budget, config=models.by_moves())
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    losses = train(module, rows, lambda module, x: module(x))[0]
                results.append((losses, random.random(), numpy.random.rand()))
            self.assertEqual(*results, kind)
            # A step that leaves a tensor in an attribute for the next step is planned. The other steps are
            # refused.
            refused = [] if kind == "state" else [rematlas.RefusedWarning]
            self.assertEqual(refusals_among(caught), refused, kind)
            self.assertIn("" if kind == "state" else why, rematlas.status(module).reason)

    def test_where_shapes_do_not_tell_the_original_runs(self):
        module = rematlas.apply(Reads(), 12 << 20, config=models.by_moves())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            losses = train(module, rows, lambda module, x: module(x))[0]
        self.assertEqual(losses, train(Reads(), rows, lambda module, x: module(x))[0])
        self.assertEqual(rematlas.status(module).replayed, 0)
        self.assertEqual(refusals_among(caught), [rematlas.RefusedWarning])
        self.assertIn("the program reads a value", rematlas.status(module).reason)


if __name__ == "__main__":
    unittest.main()
