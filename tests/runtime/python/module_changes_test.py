"""Whatever the program does to the module between two steps, training has the same bits as without `apply`.

python -m unittest module_changes_test
"""

import logging
import tempfile
import unittest
import warnings

import torch
from torch import nn
from torch.nn.utils import parametrize, prune, weight_norm

import rematlas
from models import by_moves
from traps import digest

torch.set_num_threads(1)
STEPS, FIRST, SECOND = 15, 5, 10  # the module changes before the steps FIRST and SECOND
ROWS, WIDTH = 256, 64
BUDGET = 900_000  # bytes; a plain step needs more, even without the optimizer


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(
            *(layer for _ in range(4) for layer in (nn.Linear(WIDTH, WIDTH), nn.GELU()))
        )

    def forward(self, x):
        return self.layers(x).tanh()


class Symmetric(nn.Module):
    def forward(self, weight):
        return weight.triu() + weight.triu(1).transpose(0, 1)


def keeps(module, _, output):
    module.kept = output.detach()


def keeps_history(module, _, output):
    module.kept = output


def hooked(hook):
    def begin(model):
        model.handle = model.layers.register_forward_hook(hook)

    return begin


def unhooked(model):
    model.handle.remove()


def unhooked_and_deleted(model):
    model.handle.remove()
    del model.layers.kept


def renamed(model):
    layer = model.layers[0]
    parameter = layer._parameters.pop("bias")
    layer.register_parameter("other", parameter)
    layer.bias = parameter.detach() * 1


def scaled(model):
    model.layers.register_buffer("scale", torch.full((WIDTH,), 0.5))
    model.layers.register_forward_hook(lambda self, _, y: y if self.scale is None else y * self.scale)


# name -> (the change before step FIRST, the change before step SECOND)
CHANGES = {
    "pruned": (
        lambda model: prune.l1_unstructured(model.layers[0], "weight", 0.5),
        lambda model: prune.remove(model.layers[0], "weight"),
    ),
    "parametrized": (
        lambda model: parametrize.register_parametrization(model.layers[2], "weight", Symmetric()),
        lambda model: parametrize.remove_parametrizations(model.layers[2], "weight"),
    ),
    "normed": (
        lambda model: weight_norm(model.layers[2]),
        lambda model: nn.utils.remove_weight_norm(model.layers[2]),
    ),
    "hooked": (hooked(keeps), unhooked_and_deleted),
    "hooked_with_history": (hooked(keeps_history), unhooked),
    "without_bias": (
        lambda model: setattr(model.layers[0], "bias", None),
        lambda model: setattr(model.layers[0], "bias", nn.Parameter(torch.zeros(WIDTH))),
    ),
    "renamed": (renamed, lambda model: model.layers[0].other.requires_grad_(False)),
    "buffer_without_a_tensor": (scaled, lambda model: setattr(model.layers, "scale", None)),
    "replaced": (
        lambda model: hooked(keeps)(model) or model.layers.__setitem__(2, nn.Linear(WIDTH, WIDTH)),
        lambda model: setattr(model, "layers", model.layers[:6]),
    ),
}


class Returns(Model):
    """A model that keeps the tensor that it returns."""

    def forward(self, x):
        self.last = self.layers(x)
        return self.last


def observed(model, loss):
    attributes = [
        (name, digest(value))
        for part in model.modules()
        for name, value in sorted(vars(part).items())
        if isinstance(value, torch.Tensor)
    ]
    tensors = [*model.named_parameters(), *model.named_buffers()]
    return [digest(loss), *attributes, *((name, digest(tensor)) for name, tensor in tensors)]


def train(model, changes, after=lambda: None):
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    found = []
    for step in range(STEPS):
        torch.manual_seed(step)
        if step in changes:
            optimizer.zero_grad()
            changes[step](model)
            optimizer = torch.optim.SGD(model.parameters(), 0.05)
        loss = model(torch.randn(ROWS, WIDTH)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(observed(model, loss))
        del loss
        after()
    return found


class Changes(unittest.TestCase):
    def expect_same(self, kind, name, budget):
        changes = dict(zip((FIRST, SECOND), CHANGES[name])) if name else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain = train(kind(), changes)
            model = rematlas.apply(kind(), budget, config=by_moves(200))
            ours = train(model, changes, lambda: rematlas.status(model).wait())
        for step, (one, other) in enumerate(zip(plain, ours, strict=True)):
            self.assertEqual(one, other, f"step {step} with {budget}: {rematlas.status(model)}")
        return model, rematlas.status(model)

    def test_of_a_share(self):
        for name in CHANGES:
            with self.subTest(name):
                _, status = self.expect_same(Model, name, "80%")
                self.assertEqual(status.state, "planned", status)
                self.assertEqual(status.reason, "", status)
                with tempfile.NamedTemporaryFile() as file:
                    status.save(file.name)

    def test_of_bytes(self):
        for name in CHANGES:
            with self.subTest(name), self.assertLogs("rematlas", logging.WARNING):
                self.expect_same(Model, name, BUDGET)

    def test_what_is_returned_and_kept_is_not_planned_from_shapes(self):
        with self.assertLogs("rematlas", logging.WARNING) as told:
            self.expect_same(Returns, "", BUDGET)
        self.assertIn("the forward returns what it also keeps as last", "".join(told.output))

    def test_it_is_said_which_attribute_cannot_be_copied(self):
        with self.assertLogs("rematlas", logging.WARNING) as told:
            self.expect_same(Model, "pruned", BUDGET)
        self.assertIn("its attribute layers.0.weight is a result of ops", "".join(told.output))
        self.assertNotIn("deepcopy", "".join(told.output))


if __name__ == "__main__":
    unittest.main()
