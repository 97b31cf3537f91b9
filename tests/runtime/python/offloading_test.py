"""Some saved tensor hooks only move tensors. Calls under such hooks are planned. The plan runs the module's
forward without the hooks; steps that no plan runs stay under the hooks. (traps_offloading.py compares the
bits.)"""

import contextlib
import gc
import unittest
import warnings
from unittest import mock

import torch
from torch import nn
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks

import rematlas
from models import DEVICE
from traps import digest

ROWS, WIDTH = 512, 64
STEP_BYTES = 3_600_000  # a budget in bytes that is too small for a step without a plan
STEPS = 8
TRL = "trl.models.activation_offloading"


class Model(nn.Module):
    def __init__(self, reads=False):
        super().__init__()
        self.layers = nn.Sequential(
            *(
                nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
                for _ in "12345"
            )
        )
        self.reads, self.mean = reads, 0.0

    def forward(self, x):
        x = self.layers(x)
        if self.reads:  # reading a value makes the step impossible to plan
            self.mean = 0.9 * self.mean + 0.1 * x.detach().mean().item()
            x = x * (1 + 0 * self.mean)
        return x


class OffloadActivations(saved_tensors_hooks):
    """A class with the attributes and functions of TRL's class of this name. It gives each packed tensor a
    number, and unpacks each number once."""

    def __init__(self):
        self.min_tensor_size_bytes, self.accelerator_type, self.tracker = 1024, DEVICE.type, {}
        self.packed = 0

        def pack_tensor(activation):
            self.packed += 1
            activation = (
                activation.contiguous() if activation.nbytes >= self.min_tensor_size_bytes else activation
            )
            self.tracker[self.packed] = activation.detach().clone()
            return self.packed

        def unpack_tensor(number):
            return self.tracker.pop(number)

        for function in (pack_tensor, unpack_tensor):
            function.__module__ = TRL
        super().__init__(pack_tensor, unpack_tensor)


@contextlib.contextmanager
def packs_counted():
    """A context manager that counts the tensors that the hooks of save_on_cpu() pack."""
    copy, count = torch.Tensor.cpu, [0]

    def counted(tensor):
        count[0] += 1
        return copy(tensor)

    with mock.patch.object(torch.Tensor, "cpu", counted):
        yield count


def budget() -> int:
    """Returns a budget that is too small for a step without a plan, given the tensors that are alive now."""
    gc.collect()
    return STEP_BYTES + (torch.cuda.memory_allocated() if DEVICE.type == "cuda" else 0)


class Case(unittest.TestCase):
    def setUp(self):
        gc.collect()  # frees models of other tests, because their bytes count in the budget

    def model(self, **options):
        torch.manual_seed(0)
        return Model(**options).to(DEVICE)

    def train(self, model, context, is_planned=False):
        """Trains for `STEPS` steps. Returns digests of losses and gradients, and for each step the number of
        tensors that the hooks packed in the forward and in the loss."""
        found, packed = [], []
        for step in range(STEPS):
            x = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(step), device="cpu").to(
                DEVICE
            )
            with packs_counted() as count, context():
                output = model(x)
                in_forward = count[0]
                loss = output.square().mean()
            packed.append((in_forward, count[0] - in_forward))
            loss.backward()
            found.append([digest(tensor) for tensor in (loss, *(p.grad for p in model.parameters()))])
            model.zero_grad()
            del loss, output
            if is_planned:
                rematlas.status(model).wait()
        return found, packed

    def applied(self, budget="60% of activations", model=None, **options):
        model = rematlas.apply(model or self.model(), budget, time_limit=0.3, **options)
        self.addCleanup(rematlas.remove, model)
        return model

    def expect_planned(self, model, context):
        plain, _ = self.train(self.model(), context)
        with warnings.catch_warnings():
            warnings.simplefilter("error", rematlas.RefusedWarning)
            ours, packed = self.train(model, context, True)
        status = rematlas.status(model)
        self.assertEqual(plain, ours)
        self.assertEqual((status.state, status.left_alone), ("planned", []), status)
        self.assertGreater(status.replayed, 0)
        return status, packed


class Planned(Case):
    def test_the_loss_stays_under_the_hooks_and_the_forward_does_not(self):
        _, plain = self.train(self.model(), save_on_cpu)
        self.assertGreater(plain[0][0], 0)
        status, packed = self.expect_planned(self.applied(), save_on_cpu)
        self.assertEqual([in_loss for _, in_loss in packed], [in_loss for _, in_loss in plain])
        in_forward = [count for count, _ in packed]
        self.assertEqual(in_forward[-status.replayed :], [0] * status.replayed)

    def test_hooks_that_count_on_one_backward(self):
        context = OffloadActivations()
        status, _ = self.expect_planned(self.applied(), lambda: context)
        self.assertEqual(context.tracker, {})

    def expect_kept(self, context):
        """Checks that the step, which needs more than the budget without a plan, is planned from shapes and
        keeps the budget."""
        status, _ = self.expect_planned(self.applied(budget()), context)
        self.assertEqual((status.original, status.unkept), (0, ""), status)

    def test_a_budget_in_bytes_is_kept(self):
        self.expect_kept(save_on_cpu)

    def test_a_budget_in_bytes_is_kept_under_hooks_that_change_layouts(self):
        self.expect_kept(lambda: save_on_cpu(pin_memory=True))

    def test_a_budget_in_bytes_is_kept_by_eviction_until_there_is_a_plan(self):
        status, _ = self.expect_planned(self.applied(budget(), unplanned="evict"), save_on_cpu)
        self.assertEqual(status.evicted, status.original)
        self.assertEqual(status.unkept, "")

    def test_is_said_once(self):
        with self.assertLogs("rematlas", "INFO") as logged:
            self.train(self.applied(), save_on_cpu, True)
        said = [line for line in logged.output if "plans decide in the place of" in line]
        self.assertEqual(len(said), 1, logged.output)
        self.assertIn("torch.autograd.graph.save_on_cpu", said[0])

    def test_hooks_that_change_no_layout_share_the_plan_of_calls_without(self):
        model = self.applied()
        self.expect_planned(model, contextlib.nullcontext)
        replayed = rematlas.status(model).replayed
        self.train(model, save_on_cpu if DEVICE.type == "cpu" else contextlib.nullcontext)
        self.assertEqual(rematlas.status(model).replayed, replayed + STEPS)

    def test_changed_in_place_after_it_was_saved(self):
        """The hooks keep a copy of the saved tensor, so plain training does not fail. The planned step raises
        an error."""

        class Changing(Model):
            def forward(self, x):
                y = super().forward(x).sigmoid()
                return y.mul_(2.0)

        model = self.applied(model=Changing().to(DEVICE))
        with save_on_cpu(pin_memory=True):
            loss = model(torch.randn(ROWS, WIDTH, device=DEVICE)).sum()
        with self.assertRaisesRegex(RuntimeError, "changed in place after it was saved"):
            loss.backward()


class Unplanned(Case):
    def test_a_module_that_is_refused_stays_under_the_hooks(self):
        plain, packed_plainly = self.train(self.model(reads=True), save_on_cpu)
        model = self.applied(model=self.model(reads=True))
        with self.assertWarnsRegex(rematlas.RefusedWarning, "training goes on with the original"):
            ours, packed = self.train(model, save_on_cpu)
        self.assertEqual(plain, ours)
        self.assertEqual(rematlas.status(model).state, "refused")
        self.assertEqual(packed[-2:], packed_plainly[-2:])

    def test_calls_of_further_kinds_than_planned_for_stay_under_the_hooks(self):
        _, packed_plainly = self.train(self.model(), save_on_cpu)
        model = self.applied("60% of activations", shapes=1)
        self.train(model, save_on_cpu, True)
        with warnings.catch_warnings():  # there are more shapes than `shapes` allows
            warnings.simplefilter("ignore", rematlas.RefusedWarning)
            with packs_counted() as count, save_on_cpu():
                model(torch.randn(ROWS // 2, WIDTH, device=DEVICE))
        self.assertEqual(count[0], packed_plainly[0][0])

    def test_unknown_hooks_around_known_ones_are_left_alone(self):
        model = self.applied()

        @contextlib.contextmanager
        def both():
            with saved_tensors_hooks(lambda x: x, lambda x: x), save_on_cpu():
                yield

        with self.assertWarnsRegex(rematlas.RefusedWarning, "saved tensor hooks"):
            self.train(model, both)
        self.assertEqual(rematlas.status(model).replayed, 0)

    def test_a_backward_that_the_original_runs_is_under_the_hooks_of_its_forward(self):
        model = self.applied()
        _, packed_plainly = self.train(self.model(), save_on_cpu)
        self.train(model, save_on_cpu, True)
        with packs_counted() as count:
            with save_on_cpu():
                loss = model(torch.randn(ROWS, WIDTH, device=DEVICE)).sum()
            self.assertEqual(count[0], 0)
            loss.backward(retain_graph=True)
        self.assertEqual(count[0], packed_plainly[0][0])


if __name__ == "__main__":
    unittest.main()
