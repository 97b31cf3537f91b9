"""Reading and applying a plan file from a stranger runs no code that the file chooses."""

import base64
import collections
import dataclasses
import json
import os
import pathlib
import pickle
import tempfile
import unittest

import torch
from torch import nn

import rematlas
from rematlas.calls import plain_pickles, structure
from rematlas.lifecycle.file_ops import op_that_does_more


class Marks:
    """An object whose unpickling calls a function that makes a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@dataclasses.dataclass
class Both:
    first: torch.Tensor
    second: torch.Tensor


ENTER = "profiler::_record_function_enter"
Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Acts:
    """A dataclass of the program whose constructor has a side effect."""

    path: str

    def __post_init__(self):
        os.mkdir(self.path)


class ModelOutput(collections.OrderedDict):
    """A class with the name of a class of transformers."""

    def __post_init__(self):
        os.mkdir(self.path)


@dataclasses.dataclass
class NamedLikeOutputs(ModelOutput):
    path: str


class Counts(dict):
    def __setitem__(self, key, value):
        os.mkdir(value)


class Returns(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 8))
        self.kind = kind

    def forward(self, x):
        y = self.layers(x)
        return self.kind(y, y * 2)


def with_template(plan, template):
    """Returns a plan whose forward returns what the template describes."""
    compiled = plan.compiled("cpu")
    fields = list(pickle.loads(base64.b64decode(compiled.packing())))
    fields[0] = template
    compiled.pack(base64.b64encode(pickle.dumps(tuple(fields))).decode())
    return rematlas.Plan(compiled.to_bytes())


class TrustTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.mark = str(pathlib.Path(folder.name) / "mark")
        self.path = pathlib.Path(folder.name) / "given.plan"

    def planned(self, kind):
        return rematlas.plan(Returns(kind), torch.ones(4, 8), "100%", time_limit=0.2)

    def test_a_call_in_the_template_is_not_made(self):
        template = structure.flatten(Marks(self.mark))[0]
        plan = with_template(self.planned(Pair), template)
        plan.save(self.path)
        module = rematlas.apply(Returns(Pair), plan=self.path)
        module(torch.ones(4, 8)).first.sum().backward()
        self.assertFalse(os.path.exists(self.mark))
        self.assertIn("its outputs name", str(rematlas.status(module).reason))

    def test_a_call_in_the_packing_is_not_made(self):
        compiled = self.planned(Pair).compiled("cpu")
        compiled.pack(base64.b64encode(pickle.dumps(Marks(self.mark))).decode())
        rematlas.Plan(compiled.to_bytes()).save(self.path)
        with self.assertRaisesRegex(Exception, "only tuples and lists may be named"):
            rematlas.Plan.read(self.path).budget_bytes()
        self.assertFalse(os.path.exists(self.mark))

    def test_nothing_is_constructed_that_acts(self):
        for name in (b"Acts", b"NamedLikeOutputs", b"Counts"):
            call = b"\x80\x02c" + __name__.encode() + b"\n" + name + b"\n(V" + self.mark.encode() + b"\ntR."
            plan = with_template(self.planned(Pair), call)
            module = rematlas.apply(Returns(Pair), plan=plan, on_refuse="raise")
            with self.assertRaisesRegex(rematlas.Refused, "may only name dataclasses"):
                module(torch.ones(4, 8))
            self.assertFalse(os.path.exists(self.mark))

    def test_no_class_is_changed(self):
        name = __name__.encode()
        change = b"\x80\x02c" + name + b"\nBoth\n(N}(Vfirst\nI1\nutb."
        with self.assertRaisesRegex(pickle.UnpicklingError, "it changes a class"):
            structure.of_module(change, nn.Linear(1, 1))

    def test_a_damaged_packing_is_told(self):
        for text in (b"", b"\x80\x04r\xff\xff\xff\x7f.", pickle.dumps(3), b"\x00" * 20):
            compiled = self.planned(Pair).compiled("cpu")
            compiled.pack(base64.b64encode(text).decode() or "AA==")
            with self.assertRaisesRegex(ValueError, "packing of outputs cannot be read"):
                rematlas.apply(Returns(Pair), plan=rematlas.Plan(compiled.to_bytes()))

    def test_ops_that_name_files_are_refused(self):
        def graph(*names):
            return json.dumps({"ops": [{"name": name} for name in names]})

        self.assertEqual(op_that_does_more(graph("aten::mm", "aten::from_file")), "aten::from_file")
        self.assertEqual(op_that_does_more(graph("aten::_print")), "aten::_print")
        self.assertEqual(op_that_does_more(graph(ENTER)), ENTER)
        self.assertEqual(op_that_does_more(graph("aten::mm", "aten::empty_strided", "aten::copy_")), "")

    def test_usual_outputs_are_read(self):
        for kind in (Pair, Both, lambda a, b: {"first": a, "second": b}, lambda a, b: [a, (b, 3)]):
            plan = self.planned(kind)
            plan.save(self.path)
            module, plain = rematlas.apply(Returns(kind), plan=self.path), Returns(kind)
            module.load_state_dict(plain.state_dict())
            for _ in range(8):
                found, expected = module(torch.ones(4, 8)), plain(torch.ones(4, 8))
                for one, other in zip(structure.flatten(found)[1], structure.flatten(expected)[1]):
                    self.assertTrue(torch.equal(one, other))
                sum((one * one).sum() for one in structure.flatten(found)[1]).backward()
                rematlas.status(module).wait()
            self.assertEqual(rematlas.status(module).state, "planned", rematlas.status(module).reason)

    def test_only_classes_of_results_may_be_named(self):
        for module, name in (("torch", "float32"), ("torch", "Size"), ("collections", "OrderedDict")):
            self.assertIsNotNone(plain_pickles.class_of_result(module, name))
        for module, name in (
            ("os", "system"),
            ("subprocess", "Popen"),
            ("builtins", "eval"),
            ("torch", "load"),
            ("not.imported", "Class"),
            ("operator", "attrgetter"),
            ("builtins", "type"),
        ):
            with self.subTest(name), self.assertRaises(pickle.UnpicklingError):
                plain_pickles.class_of_result(module, name)


if __name__ == "__main__":
    unittest.main()
