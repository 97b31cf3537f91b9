"""Plans models with kernels that do not belong to libtorch: ops of torch.library, and Triton kernels that
Python launches without any op.

    python -m unittest custom_kernels_test
"""

import importlib.util
import json
import os
import unittest
import warnings

os.environ["TRITON_INTERPRET"] = "1"  # must be set before anything imports Triton

import torch
from torch import nn

import rematlas
from models import by_moves
from rematlas.lifecycle.graph_text import graph_text
from traps import digest

torch.set_num_threads(1)
STEPS, ROWS, WIDTH = 8, 256, 32
HAS_TRITON = importlib.util.find_spec("triton") is not None


@torch.library.custom_op("rematlas_tests::square", mutates_args=())
def square(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.detach().numpy() ** 2)


square.register_autograd(
    lambda ctx, gradient: 2 * gradient * ctx.saved_tensors[0],
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)


@torch.library.custom_op("rematlas_tests::halve_", mutates_args=("x",))
def halve_(x: torch.Tensor) -> None:
    x.numpy()[:] *= 0.5


@torch.library.custom_op("rematlas_tests::halve_in_secret", mutates_args=())
def halve_in_secret(x: torch.Tensor) -> torch.Tensor:
    x.numpy()[:] *= 0.5
    return x.clone()


class Halves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, halve):
        halved = x.clone()
        halve(halved)
        return halved

    @staticmethod
    def backward(ctx, gradient):
        return gradient / 2, None


class Model(nn.Module):
    """A model of blocks. Each block calls `between(a, b)` between its two layers."""

    def __init__(self, between):
        super().__init__()
        self.between = between
        self.first = nn.ModuleList(nn.Linear(WIDTH, 8 * WIDTH) for _ in range(3))
        self.last = nn.ModuleList(nn.Linear(4 * WIDTH, WIDTH) for _ in range(3))

    def forward(self, x):
        for first, last in zip(self.first, self.last):
            a, b = first(x).chunk(2, 1)
            x = x + last(self.between(a.contiguous(), b.contiguous()))
        return x


class Case(unittest.TestCase):
    def train(self, between, budget=None, steps=STEPS, **options):
        """Trains a model. Returns digests of each step. If a budget is given, applies it to the model. Sets
        `self.model` to the model."""
        torch.manual_seed(0)
        self.model = Model(between)
        if budget is not None:
            rematlas.apply(self.model, budget, config=by_moves(200), **options)
        optimizer = torch.optim.SGD(self.model.parameters(), 0.05)
        found = []
        for _ in range(steps):
            optimizer.zero_grad()
            loss = self.model(torch.randn(ROWS, WIDTH)).square().mean()
            loss.backward()
            optimizer.step()
            found.append([digest(loss), *map(digest, self.model.parameters())])
            if budget is not None:
                rematlas.status(self.model).wait()
        return found

    def expect_planned(self, between, op, count):
        """Checks that training is planned, and that `count` ops of the step are named `op`."""
        plain = self.train(between)
        with warnings.catch_warnings():
            warnings.simplefilter("error", rematlas.RefusedWarning)
            ours = self.train(between, "80%")
        self.assertEqual(ours, plain)
        status = rematlas.status(self.model)
        self.assertEqual(status.state, "planned", status)
        self.assertGreater(status.replayed, 0)
        plan = status.plans[0]
        self.assertLessEqual(plan.peak_bytes, 0.8 * plan.whole_peak_bytes)
        graph = json.loads(graph_text(self.model._compiled_call_impl))
        self.assertEqual(sum(found["name"] == op for found in graph["ops"]), count)

    def expect_refused(self, between, why):
        plain = self.train(between)
        with self.assertWarnsRegex(rematlas.RefusedWarning, why):
            ours = self.train(between, "80%")
        self.assertEqual(ours, plain)


class OpsOfTorchLibrary(Case):
    def test_an_op(self):
        self.expect_planned(lambda a, b: square(a) + b, "rematlas_tests::square", 3)

    def test_an_op_that_writes_to_its_argument(self):
        self.expect_planned(lambda a, b: Halves.apply(a, halve_) * b, "rematlas_tests::halve_", 3)

    def test_an_op_that_writes_to_what_it_does_not_declare(self):
        self.expect_refused(
            lambda a, b: Halves.apply(a, halve_in_secret) * b,
            "rematlas_tests::halve_in_secret.* writes to its argument 0 without declaring it",
        )


@unittest.skipUnless(HAS_TRITON, "Triton is not installed")
class KernelsOfTriton(Case):
    def setUp(self):
        import triton_kernels

        self.kernels = triton_kernels

    def test_ops(self):
        gate = self.kernels.gate
        self.expect_planned(gate, "rematlas_tests::gate", 3)
        self.expect_planned(gate, "rematlas_tests::gate_backward", 3)

    def test_launches_past_all_ops(self):
        """Each launch of the three forward kernels and three backward kernels is recorded as an op."""
        self.expect_planned(self.kernels.RawGate.apply, "rematlas::unseen", 6)

    def test_a_launch_that_can_be_no_op(self):
        self.addCleanup(setattr, self.kernels.RawGate, "note", None)
        self.kernels.RawGate.note = {"some": "note"}
        self.expect_refused(
            self.kernels.RawGate.apply,
            "the kernel gate_forward is launched where no op shows it, with a dict: wrap it by"
            r" torch\.library\.triton_op",
        )

    def test_a_launch_on_one_tensor_under_two_names(self):
        self.expect_refused(self.kernels.GateInPlace.apply, "gate_forward .* with two tensors in one memory")

    def test_no_kernel_runs_on_shapes(self):
        """The budget is too small for the step, so `apply` first tries to record the step from shapes. This
        must not run a kernel."""
        apply = self.kernels.RawGate.apply
        plain = self.train(apply, steps=2)
        with warnings.catch_warnings(), self.assertLogs("rematlas", "WARNING") as logs:
            warnings.simplefilter("ignore", rematlas.RefusedWarning)
            ours = self.train(apply, 1 << 20, steps=2, unplanned="original")
        self.assertEqual(ours, plain)
        self.assertIn("recorded from shapes: the kernel gate_forward is launched", logs.output[0])


if __name__ == "__main__":
    unittest.main()
