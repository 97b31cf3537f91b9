"""If a step exceeds a budget in bytes, the measured peak is reported, whether the plan or the original ran
the step."""

import contextlib
import copy
import gc
import re
import unittest
import warnings

import torch
from torch import nn

import rematlas
from models import by_moves
from rematlas.library import ops

torch.set_num_threads(1)
WIDTH, ROWS = 96, 512
KIB = 1 << 10
MEASURED = re.compile(r"took up to (\d+) bytes")


class Tower(nn.Module):
    def __init__(self, layers=6, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(layers))

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


class Evaluating(Tower):
    """A model whose evaluation takes more memory than its training."""

    def forward(self, x):
        if not self.training:
            torch.zeros(16 << 20, dtype=torch.uint8)
        return super().forward(x)


class Drawing(Tower):
    """A model whose ops depend on a random number that it reads, so they cannot be known from shapes."""

    def forward(self, x):
        for _ in range(1 + int(torch.rand([]).item() * 2)):
            x = super().forward(x)
        return x


def step(model, number, loss_of=lambda out: out.square().mean()):
    torch.manual_seed(number)
    loss = loss_of(model(torch.randn(ROWS, WIDTH)))
    loss.backward()
    model.zero_grad()
    return loss.item()


def planned(model, budget, **options):
    """Applies the budget and trains the model until it has a plan. Returns the model."""
    rematlas.apply(model, budget, config=by_moves(), **options)
    for number in range(5):
        step(model, number)
        rematlas.status(model).wait()
    return model


class Case(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", rematlas.RefusedWarning)
        gc.collect()

    def applied(self, model, budget, **options):
        rematlas.apply(model, budget, **options)
        self.addCleanup(self.removed, model)
        return model

    def removed(self, model):
        with contextlib.suppress(ValueError):  # the test has already removed it
            rematlas.remove(model)


class Told(Case):
    def check_measured(self, model, budget, who, most):
        """Checks that the status names the plan or the original, whichever ran the steps, and gives the
        measured peak."""
        unkept = rematlas.status(model).unkept
        self.assertIn(who, unkept)
        self.assertIn("beyond the budget", unkept)
        self.assertEqual(max(map(int, MEASURED.findall(unkept))), most)
        self.assertGreater(most, budget)
        self.assertIn(unkept, repr(rematlas.status(model)))

    def test_of_the_original(self):
        budget = ops.counted_bytes() + 512 * KIB
        model = self.applied(Drawing(), budget, unplanned="original")
        model(torch.randn(ROWS, WIDTH))
        ops.reset_counted_peak()
        with self.assertLogs("rematlas", "WARNING") as logged:
            for number in range(8):
                step(model, number)
            rematlas.status(model).unkept  # noqa: B018  reading it also measures the last step
        self.check_measured(model, budget, "that the original ran", ops.counted_peak_bytes())
        told = [line for line in logged.output if "from a step that the original ran" in line]
        self.assertEqual(len(told), 1, logged.output)

    def test_of_a_step_that_is_recorded(self):
        """The step exceeds the budget, because a recording from shapes does not know the memory of the
        caller's loss."""

        def loss_of(out):
            return sum((out * factor).exp().square().mean() for factor in torch.linspace(0, 1, 16))

        model = Tower()
        budget = ops.counted_bytes() + 4096 * KIB
        self.applied(model, budget)
        ops.reset_counted_peak()
        step(model, 0, loss_of)
        self.check_measured(model, budget, "a recorded step", ops.counted_peak_bytes())

    def test_of_what_the_program_does_beside_a_planned_step(self):
        budget = ops.counted_bytes() + 4096 * KIB
        model = planned(Tower(), budget)
        self.addCleanup(rematlas.remove, model)
        self.assertEqual(rematlas.status(model).unkept, "")
        ops.reset_counted_peak()
        step(model, 9)
        torch.zeros(8192 * KIB, dtype=torch.uint8)  # as many bytes as an optimizer's update can take
        self.check_measured(model, budget, "that a plan ran", ops.counted_peak_bytes())

    def test_of_each_step_once(self):
        budget = ops.counted_bytes() + 512 * KIB
        model = self.applied(Drawing(), budget, unplanned="original")
        beyond = 0
        for number in range(8):
            ops.reset_counted_peak()
            step(model, number)
            for _ in range(2):
                rematlas.status(model).unkept  # noqa: B018
            beyond += ops.counted_peak_bytes() > budget
        found = re.findall(r"from (\w+) (?:recorded )?steps? ", rematlas.status(model).unkept)
        self.assertEqual(sum(1 if number == "a" else int(number) for number in found), beyond)
        self.assertGreater(beyond, 0)

    def test_of_evaluation_apart_from_steps(self):
        budget = ops.counted_bytes() + 4096 * KIB
        model = planned(Evaluating(), budget)
        self.addCleanup(rematlas.remove, model)
        step(model, 9)
        model.eval()
        ops.reset_counted_peak()
        with torch.no_grad():
            model(torch.randn(ROWS, WIDTH))
        most = ops.counted_peak_bytes()
        model.train()
        step(model, 10)
        self.check_measured(model, budget, "from a call in eval mode or without gradients", most)
        self.assertNotIn("step", rematlas.status(model).unkept.partition("(")[0])

    def test_inputs_that_are_slices_of_a_larger_tensor_are_counted_with_it(self):
        """Each batch is a slice of one tensor, which holds the whole data set."""
        data = torch.randn(8, ROWS, WIDTH)
        budget = ops.counted_bytes() + 2560 * KIB
        model = self.applied(Tower(), budget, config=by_moves())
        for number in range(10):
            ops.reset_counted_peak()
            model(data[number % 8]).square().mean().backward()
            self.assertLessEqual(ops.counted_peak_bytes(), budget, number)
            model.zero_grad()
            rematlas.status(model).wait()
        status = rematlas.status(model)
        self.assertEqual((status.state, status.unkept), ("planned", ""), status)
        self.assertGreater(status.replayed, 0)

    def test_shares_are_of_the_step_alone(self):
        model = planned(Tower(), "60% of activations")
        torch.zeros(8192 * KIB, dtype=torch.uint8)
        self.assertEqual(rematlas.status(model).unkept, "")

    def test_the_callers_own_counters_stay(self):
        model = self.applied(Tower(), ops.counted_bytes() + 4096 * KIB)
        ops.reset_counted_peak()
        torch.zeros(16 << 20, dtype=torch.uint8)
        most = ops.counted_peak_bytes()
        for number in range(6):
            step(model, number)
            rematlas.status(model).wait()
        self.assertEqual(ops.counted_peak_bytes(), most)


class TwoModules(Case):
    """Two modules share one online eviction. The status of each module describes the steps of this module."""

    def trained(self, one, other, steps=6):
        losses = []
        for number in range(steps):
            torch.manual_seed(number)
            made = one(torch.randn(ROWS, WIDTH))
            loss = other(made).square().mean() + other(torch.randn(ROWS, WIDTH)).mean()
            loss.backward()
            losses.append(loss.item())
            for model in (one, other):
                model.zero_grad()
            del made, loss
        return losses

    def pair(self):
        return Drawing(seed=1), Drawing(seed=2)

    def plain_peak(self):
        ops.reset_counted_peak()
        before = ops.counted_bytes()
        losses = self.trained(*self.pair())
        return losses, ops.counted_peak_bytes() - before

    def test_are_evicted_together(self):
        losses, taken = self.plain_peak()
        one, other = self.pair()
        budget = ops.counted_bytes() + int(0.7 * taken)
        for model in (one, other):
            self.applied(model, budget)
        ops.reset_counted_peak()
        self.assertEqual(self.trained(one, other), losses)
        most = ops.counted_peak_bytes()
        for model in (one, other):
            status = rematlas.status(model)
            self.assertGreater(status.evicted, 0)
            self.assertEqual(bool(status.unkept), most > budget, status)
        self.assertLessEqual(most, budget)

    def test_cannot_be_kept_for_both_alike(self):
        losses, taken = self.plain_peak()
        one, other = self.pair()
        budget = ops.counted_bytes() + int(0.1 * taken)
        for model in (one, other):
            self.applied(model, budget)
        self.assertEqual(self.trained(one, other), losses)
        for model in (one, other):
            self.assertIn("beyond the budget", rematlas.status(model).unkept)
            self.assertNotIn("keeps the budget", repr(rematlas.status(model)))

    def test_one_that_is_removed_leaves_eviction_to_the_other(self):
        one, other = self.pair()
        budget = ops.counted_bytes() + (8 << 20)
        self.applied(one, budget)
        self.applied(other, budget)
        self.trained(one, other, 2)
        rematlas.remove(one)
        self.assertIsNotNone(rematlas.status(other).eviction)
        rematlas.remove(other)
        with rematlas.evict(budget):  # would fail if an eviction were still active
            pass

    def test_one_that_goes_within_an_op_of_the_other(self):
        budget = ops.counted_bytes() + (8 << 20)
        held = [Drawing()]
        rematlas.apply(held[0], budget)
        step(held[0], 0)
        self.assertIsNotNone(rematlas.status(held[0]).eviction)

        @torch.library.custom_op("rematlas_tests::goes", mutates_args=())
        def goes(x: torch.Tensor) -> torch.Tensor:
            held.clear()
            gc.collect()
            return x.clone()

        goes(torch.ones(4))
        self.assertEqual(held, [])
        with rematlas.evict(budget):  # would fail if an eviction were still active
            pass

    def test_one_that_is_made_while_the_other_is_evicted(self):
        """A module is made while eviction is active. Its parameters must not be evicted, because eviction
        does not see that the module's plan reads them."""

        def trained(is_beside):
            other = Drawing(seed=1)
            if is_beside:
                self.applied(other, ops.counted_bytes() + 640 * KIB)
            step(other, 0)
            model = Tower(seed=2)
            if is_beside:
                self.assertIsNotNone(rematlas.status(other).eviction)
                self.applied(model, "60% of activations", config=by_moves())
            losses = []
            for number in range(8):
                losses += [step(other, number), step(model, number)]
                if is_beside:
                    rematlas.status(model).wait()
            return losses, is_beside and rematlas.status(model)

        plain, _ = trained(False)
        ours, status = trained(True)
        self.assertEqual(ours, plain)
        self.assertGreater(status.replayed, 0, status)

    def test_the_smaller_budget_is_kept(self):
        losses, taken = self.plain_peak()
        one, other = self.pair()
        small = ops.counted_bytes() + int(0.7 * taken)
        self.applied(one, small + (64 << 20))
        self.applied(other, small)
        ops.reset_counted_peak()
        self.assertEqual(self.trained(one, other, 6), losses)
        most = ops.counted_peak_bytes()
        self.assertEqual(bool(rematlas.status(other).unkept), most > small)
        self.assertEqual(rematlas.status(one).unkept, "")


class Midway(Case):
    """The first of two forwards fits into the budget by itself, but the two together do not."""

    def trained(self, model, steps):
        losses, peaks = [], []
        for number in range(steps):
            torch.manual_seed(number)
            ops.reset_counted_peak()
            first = model(torch.randn(ROWS, WIDTH))
            loss = (first - model(torch.randn(ROWS, WIDTH))).square().mean()
            del first
            loss.backward()
            losses.append(loss.item())
            model.zero_grad()
            del loss
            peaks.append(ops.counted_peak_bytes())
        return losses, peaks

    def test_eviction_begins_with_the_next_step(self):
        for unplanned in (None, "evict"):
            model = Drawing()
            twin = copy.deepcopy(model)
            before = ops.counted_bytes()
            losses, peaks = self.trained(model, 8)
            budget = before + int(0.6 * (max(peaks) - before))
            self.applied(twin, budget, unplanned=unplanned)
            made, ours = self.trained(twin, 8)
            self.assertEqual(made, losses)
            self.assertLessEqual(max(ours[2:]), budget, unplanned)
            status = rematlas.status(twin)
            self.assertEqual(bool(status.unkept), max(ours) > budget, status)
            rematlas.remove(twin)


if __name__ == "__main__":
    unittest.main()
