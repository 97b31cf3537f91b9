"""Parts of a model, and what stands beside it, that run by torch.compile: they train as without `apply`, and
dynamo says nothing that it does not say without it.

    python -m unittest compiled_parts_test
"""

import unittest
import warnings

import torch
from torch import nn

import rematlas
from models import by_moves
from traps import digest

torch.set_num_threads(1)
STEPS, ROWS, WIDTH = 8, 256, 32


def layers(count=3):
    return nn.Sequential(*(layer for _ in range(count) for layer in (nn.Linear(WIDTH, WIDTH), nn.GELU())))


class Counted:
    """How often dynamo has compiled something."""

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
    """The function calls layers of the model."""

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
        """Returns digests, the number of compilations, and what has been said. `beside`: another module,
        compiled, stands between the model and its loss."""
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


if __name__ == "__main__":
    unittest.main()
