"""If torch.compile runs parts of a model, or modules next to it, then the model trains as without `apply`,
and dynamo writes no additional messages.

    python -m unittest compiled_parts_test
"""

import json
import unittest
import warnings
from unittest import mock

import torch
from torch import nn

import rematlas
from models import by_moves
from rematlas.lifecycle.graph_text import graph_text
from rematlas.unseen import compiled_regions
from traps import digest

torch.set_num_threads(1)
STEPS, ROWS, WIDTH = 8, 256, 32


def layers(count=3):
    return nn.Sequential(*(layer for _ in range(count) for layer in (nn.Linear(WIDTH, WIDTH), nn.GELU())))


class Counted:
    """A backend that counts compilations by dynamo."""

    def __init__(self):
        self.count = 0

    def __call__(self, graph, inputs):
        self.count += 1
        return graph.forward


class WithPart(nn.Module):
    def __init__(self, backend):
        super().__init__()
        self.first, self.last = layers(), nn.Linear(WIDTH, WIDTH)
        self.part = torch.compile(layers(), backend=backend)

    def forward(self, x):
        return self.last(self.part(self.first(x)))


class WithPartInPlace(WithPart):
    def __init__(self, backend):
        super().__init__(backend)
        self.part = layers()
        self.part.compile(backend=backend)


class WithPartUnderTwoNames(WithPart):
    def __init__(self, backend):
        super().__init__(backend)
        self.part = torch.compile(self.first, backend=backend)


class WithFunction(WithPart):
    """A model with a compiled function that calls layers of the model."""

    def __init__(self, backend):
        super().__init__(backend)
        self.part = layers()
        self.function = torch.compile(lambda x: self.part(x) + 1, backend=backend)

    def forward(self, x):
        return self.last(self.function(self.first(x)))


class Plain(WithPart):
    def __init__(self, backend):
        super().__init__(backend)
        self.part = layers()


class CompiledParts(unittest.TestCase):
    def train(self, kind, apply, beside=False):
        """Returns digests of the training, the number of compilations, the messages, and the model. `beside`:
        whether another compiled module runs between the model and the loss."""
        torch._dynamo.reset()
        torch.manual_seed(0)
        backend = Counted()
        model = kind(backend)
        other = torch.compile(layers(), backend=backend) if beside else nn.Identity()
        done = apply(model)
        optimizer = torch.optim.SGD(model.parameters(), 0.05)
        found = []
        with warnings.catch_warnings(record=True) as caught, self.assertNoLogs("torch", "WARNING"):
            warnings.simplefilter("always")
            for _ in range(STEPS):
                optimizer.zero_grad()
                loss = other(model(torch.randn(ROWS, WIDTH))).square().mean()
                loss.backward()
                optimizer.step()
                found.append([digest(loss), *map(digest, model.parameters())])
                done(model)
        said = [str(warning.message) for warning in caught]
        return found, backend.count, said, model

    def expect_same(self, kind, beside=False):
        plain, _, said, _ = self.train(kind, lambda model: lambda model: None, beside)

        def apply(model):
            rematlas.apply(model, "80%", config=by_moves(200))
            return lambda model: rematlas.status(model).wait()

        ours, our_count, our_said, model = self.train(kind, apply, beside)
        self.assertEqual(ours, plain)
        self.assertEqual(our_said, said)
        self.assertLess(our_count, torch._dynamo.config.recompile_limit)
        return rematlas.status(model)

    def test_parts(self):
        for kind in (WithPart, WithPartInPlace, WithPartUnderTwoNames, WithFunction):
            with self.subTest(kind.__name__):
                self.assertEqual(self.expect_same(kind).state, "planned")

    def test_a_module_beside_the_model(self):
        self.expect_same(Plain, beside=True)

    def test_a_part_can_be_planned_by_itself_while_the_whole_is_recorded(self):
        model = rematlas.apply(Plain(Counted()), "80%", config=by_moves(200))
        loss = model(torch.randn(ROWS, WIDTH)).square().mean()
        rematlas.apply(model.first, "80%")
        loss.backward()
        self.assertEqual(rematlas.status(model.first).state, "waiting")
        rematlas.remove(model)
        self.assertIsNone(model.last._compiled_call_impl)
        self.assertIsNotNone(model.first._compiled_call_impl)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.drop = nn.LayerNorm(WIDTH), nn.Dropout(0.1)
        self.first, self.last = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.drop(self.last(nn.functional.gelu(self.first(self.norm(x)))))


class Wave(nn.Module):
    """A module whose backward writes the gradient into the memory of its saved tensor."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return torch.sin(self.first(x))


class Blocks(nn.Module):
    def __init__(self, block=Block):
        super().__init__()
        self.blocks, self.head = nn.ModuleList(block() for _ in range(3)), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def mean_of_squares(output):
    return output.square().mean()


def in_place(model, apply):
    for block in model.blocks:
        block.compile()
    apply(model)
    return model, mean_of_squares


def in_place_after(model, apply):
    apply(model)
    for block in model.blocks:
        block.compile()
    return model, mean_of_squares


def put_compiled_blocks_in_place(model):
    for place, block in enumerate(model.blocks):
        model.blocks[place] = torch.compile(block)


def put_back(model, apply):
    put_compiled_blocks_in_place(model)
    apply(model)
    return model, mean_of_squares


def put_back_after(model, apply):
    apply(model)
    put_compiled_blocks_in_place(model)
    return model, mean_of_squares


def of_changing_sizes(model, apply):
    for block in model.blocks:
        block.compile(dynamic=True)
    apply(model)
    sizes = iter([ROWS, ROWS // 2] * STEPS)
    return lambda x: model(x[: next(sizes)]), mean_of_squares


def loss_beside(model, apply):
    apply(model)
    return model, torch.compile(mean_of_squares)


class WithLoss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model, self.loss = model, torch.compile(mean_of_squares)

    def forward(self, x):
        return self.loss(self.model(x))


def loss_within(model, apply):
    whole = WithLoss(model)
    apply(whole)
    return whole, lambda loss: loss


class Regions(unittest.TestCase):
    """Models with blocks and losses that inductor has compiled."""

    steps, block = STEPS, Block

    def train(self, compiled, budget=None, **options):
        """Returns digests of each step. If `budget` is given, sets `self.applied` to the module that `apply`
        has got."""
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        torch.manual_seed(0)
        model = Blocks(self.block)
        self.applied = None

        def apply(module):
            if budget is not None:
                self.applied = rematlas.apply(module, budget, config=by_moves(200), **options)

        call, loss_of = compiled(model, apply)
        optimizer = torch.optim.SGD(model.parameters(), 0.05)
        found = []
        for _ in range(self.steps):
            optimizer.zero_grad()
            loss = loss_of(call(torch.randn(ROWS, WIDTH)))
            loss.backward()
            optimizer.step()
            found.append([digest(loss), *map(digest, model.parameters())])
            if self.applied is not None:
                rematlas.status(self.applied).wait()
        return found

    def expect_planned(self, compiled, regions):
        """Checks that the training is planned. `regions`: the number of calls of compiled code in a step."""
        plain = self.train(compiled)
        with warnings.catch_warnings():
            warnings.simplefilter("error", rematlas.RefusedWarning)
            ours = self.train(compiled, "90%")
        self.assertEqual(ours, plain)
        self.assertEqual(sum(torch._dynamo.utils.counters["graph_break"].values()), 0)
        status = rematlas.status(self.applied)
        self.assertEqual(status.state, "planned", status)
        self.assertGreater(status.replayed, 0)
        graph = json.loads(graph_text(self.applied._compiled_call_impl))
        found = [op["name"] for op in graph["ops"] if op["name"].startswith("rematlas::unseen")]
        self.assertEqual(len(found), regions)
        return status

    def test_blocks_compiled_before(self):
        for compiled in (in_place, put_back):
            with self.subTest(compiled.__name__):
                plan = self.expect_planned(compiled, 6).plans[0]
                self.assertLessEqual(plan.peak_bytes, 0.9 * plan.whole_peak_bytes)
                self.assertGreater(plan.overhead, 1)

    def test_blocks_compiled_after(self):
        for compiled in (in_place_after, put_back_after):
            with self.subTest(compiled.__name__):
                self.expect_planned(compiled, 6)

    def test_batches_of_several_sizes(self):
        self.steps = 2 * STEPS
        self.assertEqual(len(self.expect_planned(of_changing_sizes, 6).plans), 2)

    def test_losses(self):
        self.expect_planned(loss_within, 2)
        self.expect_planned(loss_beside, 0)

    def test_a_backward_that_writes_over_what_is_saved(self):
        self.block = Wave
        self.expect_planned(in_place, 6)

    def test_writes_that_torch_does_not_tell_are_seen(self):
        self.block = Wave
        with (
            mock.patch.object(compiled_regions, "donated", lambda graph: set()),
            self.assertWarnsRegex(rematlas.RefusedWarning, "rematlas::unseen.* writes to its argument"),
        ):
            self.train(in_place, "90%")

    def test_no_region_runs_on_shapes(self):
        """The budget is too small for the step, so `apply` first tries to record the step from shapes. This
        must not run compiled code."""
        self.steps = 2
        plain = self.train(in_place)
        with warnings.catch_warnings(), self.assertLogs("rematlas", "WARNING") as logs:
            warnings.simplefilter("ignore", rematlas.RefusedWarning)
            self.assertEqual(self.train(in_place, 1 << 20, unplanned="original"), plain)
        self.assertIn("cannot be recorded from shapes", logs.output[0])
        self.assertIn("torch.compile", logs.output[0])

    def test_a_plan_of_another_process(self):
        self.train(in_place, "90%")
        plan = rematlas.status(self.applied).plan()
        model = rematlas.load(Blocks(), plan)
        known = compiled_regions.calls.remembered
        with (
            mock.patch.dict(known, clear=True),
            self.assertWarnsRegex(rematlas.RefusedWarning, "torch.compile .* make a plan here"),
        ):
            model(torch.randn(ROWS, WIDTH)).sum().backward()


class WholeModules(unittest.TestCase):
    """Both `apply` and torch.compile are used on the same module."""

    def setUp(self):
        torch._dynamo.reset()

    def test_a_compiled_module_is_refused(self):
        in_place = Block()
        in_place.compile(backend="eager")
        for compiled in (in_place, torch.compile(Block(), backend="eager")):
            with self.assertRaisesRegex(
                ValueError, r"compiled as a whole .* rematlas\.compile\(model, budget\)"
            ):
                rematlas.apply(compiled, "80%")

    def test_a_planned_module_is_not_compiled_in_place(self):
        model = rematlas.apply(Block(), "80%")
        with self.assertRaisesRegex(ValueError, r"Module\.compile .* rematlas\.compile\(model, budget\)"):
            model.compile()
        self.assertEqual(rematlas.status(model).state, "waiting")
        rematlas.remove(model).compile(backend="eager")
        self.assertIsNotNone(model._compiled_call_impl)

    def test_torch_compile_around_a_planned_module(self):
        for first in ("apply", "compile"):
            with self.subTest(first):
                backend, model = Counted(), Blocks()
                if first == "apply":
                    rematlas.apply(model, "90%", config=by_moves(200))
                around = torch.compile(model, backend=backend)
                if first == "compile":
                    rematlas.apply(model, "90%", config=by_moves(200))
                with self.assertLogs("rematlas", "WARNING") as logs, warnings.catch_warnings():
                    warnings.simplefilter("error", rematlas.RefusedWarning)
                    for _ in range(STEPS):
                        around(torch.randn(ROWS, WIDTH)).square().mean().backward()
                        rematlas.status(model).wait()
                self.assertEqual(rematlas.status(model).state, "planned")
                self.assertEqual(backend.count, 0)
                (said,) = logs.output
                self.assertIn("call `rematlas.compile(model, budget)` in the place of torch.compile", said)

    def test_a_compiled_function_that_calls_a_planned_module(self):
        model = rematlas.apply(Blocks(), "90%", config=by_moves(200))
        step = torch.compile(lambda x: model(x) + 1, backend=Counted())
        with self.assertWarnsRegex(
            rematlas.RefusedWarning, r"torch\.compile .*rematlas\.compile\(model, budget\)"
        ):
            for _ in range(2):
                step(torch.randn(ROWS, WIDTH)).square().mean().backward()
        self.assertIn("rematlas.compile(model, budget)", rematlas.status(model).reason)


if __name__ == "__main__":
    unittest.main()
