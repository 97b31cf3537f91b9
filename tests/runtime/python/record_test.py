"""Tests the record of online eviction: rematlas.evict(..., record=True) notes the events of a step, and
`save` writes them to files."""

import copy
import gc
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import torch
from torch import nn

import rematlas
from rematlas.library import ops

torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(64, 64)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)) for _ in range(4)
        )
        self.norm = nn.BatchNorm1d(64)

    def forward(self, x):
        x = self.enter(x)
        for layer in self.layers:
            x = x + layer(x)
        return self.norm(x)


def train(model, optimizer, steps=2):
    generator = torch.Generator().manual_seed(5)
    for _ in range(steps):
        model(torch.randn(128, 64, generator=generator)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def check(name):
    program = pathlib.Path(os.environ["REMATLAS_PROGRAMS"]) / "rematlas"
    return subprocess.run(
        [program, "check", f"{name}.graph.json", f"{name}.schedule.json", "--json"],
        capture_output=True,
        text=True,
    )


class Records(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.name = pathlib.Path(folder.name) / "step"
        gc.collect()  # frees tensors of other tests
        self.alive = ops.counted_bytes()
        self.model = Net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)

    def within(self, kibibytes):
        """Returns a budget: the bytes that were alive before, plus `kibibytes` KiB for the model and its
        training."""
        return self.alive + (kibibytes << 10)

    def read(self):
        return [
            json.loads(pathlib.Path(f"{self.name}.{kind}.json").read_text()) for kind in ("graph", "schedule")
        ]

    def test_the_checker_accepts_a_step_with_evictions(self):
        budget = self.within(2048)
        # Costs are computed from bytes, so the reruns are the same on each machine.
        with rematlas.evict(self.model, budget, record=True, costs_from_bytes=True) as eviction:
            train(self.model, self.optimizer)
            eviction.save(self.name)
            self.assertGreater(eviction.status().rematerializations, 0)
        checked = check(self.name)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        graph, schedule = self.read()
        self.assertGreater(json.loads(checked.stdout)["reruns"], 0)
        self.assertGreater(len(schedule["evicted"]), 0)
        self.assertTrue(all(schedule["steps"][at][0] == "free" for at in schedule["evicted"]))
        self.assertEqual(schedule["budget_bytes"], budget)
        self.assertLessEqual(schedule["predicted"]["peak_bytes"], budget)
        self.assertEqual(schedule["config"]["heuristic"], "dtr-eq")

    def test_ops_and_tensors_have_the_names_of_the_model(self):
        with rematlas.evict(self.model, "64MiB", record=True) as eviction:
            train(self.model, self.optimizer)
            eviction.save(self.name)
        graph, schedule = self.read()
        self.assertNotIn("evicted", schedule)
        modules = {(op["phase"], op.get("module")) for op in graph["ops"] if op["name"] == "aten::addmm"}
        self.assertEqual(
            modules,
            {("forward", "enter"), *(("forward", f"layers.{i}.{j}") for i in range(4) for j in (0, 2))},
        )
        backward = {
            op.get("module")
            for op in graph["ops"]
            if op["phase"] == "backward" and op["name"] == "aten::gelu_backward"
        }
        self.assertEqual(backward, {f"layers.{i}.1" for i in range(4)})
        named = {tensor["name"] for tensor in graph["tensors"] if tensor["kind"] == "parameter"}
        self.assertEqual(named, {name for name, _ in self.model.named_parameters()})
        self.assertIn(
            "norm.running_mean", {tensor["name"] for tensor in graph["tensors"] if tensor["kind"] == "buffer"}
        )

    def test_what_is_recorded_is_the_last_step_that_is_over(self):
        with rematlas.evict(self.model, "64MiB", record=True) as eviction:
            with self.assertRaisesRegex(RuntimeError, "no step is over"):
                eviction.save(self.name)
            train(self.model, self.optimizer, 1)
            self.model(torch.randn(8, 64))  # this step has no backward yet
            eviction.save(self.name)
        graph, _ = self.read()
        self.assertEqual(sum(op["name"] == "aten::addmm" for op in graph["ops"]), 9)
        self.assertTrue(any(op["phase"] == "backward" for op in graph["ops"]))

    def test_it_can_be_saved_afterwards_and_with_the_backward_at_the_end(self):
        with rematlas.evict(self.model, self.within(2048), record=True) as eviction:
            self.model(torch.randn(128, 64)).sum().backward()
        eviction.save(self.name)
        self.assertEqual(check(self.name).returncode, 0)

    def test_steps_of_another_course_are_recorded_as_they_ran(self):
        kept = None
        with rematlas.evict(self.model, self.within(1700), record=True) as eviction:
            for depth in (4, 1, 3):
                x = self.model.enter(torch.randn(128, 64))
                for layer in self.model.layers[:depth]:
                    x = x + layer(x)
                if kept is not None:
                    x = x + kept  # a tensor of the previous step, which was perhaps evicted
                kept = x.detach()
                x.square().sum().backward()
                self.model.zero_grad()
                eviction.save(self.name)
                checked = check(self.name)
                self.assertEqual(checked.returncode, 0, checked.stderr)
                graph, _ = self.read()
                linear = sum(op["name"] == "aten::addmm" and op["phase"] == "forward" for op in graph["ops"])
                self.assertGreaterEqual(linear, 1 + 2 * depth)

    def test_training_is_the_same_with_a_record(self):
        other = copy.deepcopy(self.model)
        train(other, torch.optim.SGD(other.parameters(), lr=0.01, momentum=0.9), 3)
        trained = [value.clone() for value in other.state_dict().values()]
        del other
        gc.collect()
        budget = self.within(2048) + sum(value.nbytes for value in trained)
        with rematlas.evict(self.model, budget, record=True, costs_from_bytes=True) as eviction:
            train(self.model, self.optimizer, 3)
            self.assertGreater(eviction.status().rematerializations, 0)
        for one, another in zip(self.model.state_dict().values(), trained):
            self.assertTrue(torch.equal(one, another))

    def test_without_a_record_nothing_can_be_saved(self):
        with rematlas.evict(self.model, "64MiB") as eviction:
            train(self.model, self.optimizer, 1)
            with self.assertRaisesRegex(RuntimeError, "record=True"):
                eviction.save(self.name)
        with self.assertRaisesRegex(RuntimeError, "has not begun"):
            rematlas.evict("1GiB", record=True).save(self.name)
        with rematlas.evict("64MiB", record=True) as eviction:
            train(self.model, self.optimizer, 1)
            with self.assertRaisesRegex(RuntimeError, "nowhere"):
                eviction.save("/nowhere/step")


if __name__ == "__main__":
    unittest.main()
