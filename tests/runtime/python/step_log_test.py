"""Tests the file of `apply(watch=)`, which has one line of JSON for each step."""

import json
import logging
import pathlib
import tempfile
import unittest

import torch
from torch import nn

import rematlas
from models import by_moves

torch.set_num_threads(1)


def net():
    torch.manual_seed(0)
    return nn.Sequential(*(make() for _ in range(6) for make in (lambda: nn.Linear(64, 64), nn.GELU)))


def step(module, rows=512):
    module(torch.ones(rows, 64)).square().sum().backward()
    module.zero_grad()


class StepLogs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "run.jsonl"

    def lines(self):
        header, *steps = map(json.loads, self.path.read_text().splitlines())
        self.assertEqual((header["format"], header["version"]), ("rematlas.steps", 1))
        self.assertEqual([told["step"] for told in steps], list(range(len(steps))))
        self.assertTrue(all(told["seconds"] > 0 and told["peak_bytes"] > 0 for told in steps))
        return header, steps

    def test_each_step_is_told_with_who_ran_it(self):
        module = rematlas.apply(net(), "70%", config=by_moves(), watch=self.path)
        for _ in range(8):
            step(module)
            rematlas.status(module).wait()
        with torch.no_grad():
            module(torch.ones(2, 64))
        status = rematlas.status(module)
        replayed, original = status.replayed, status.original
        plan = status.plans[0]
        rematlas.remove(module)
        header, steps = self.lines()
        self.assertEqual((header["model"], header["budget_bytes"]), ("Sequential", None))
        by = [told["by"] for told in steps]
        self.assertEqual(by[-1], "evaluated")
        self.assertEqual((by.count("plan"), len(by) - by.count("plan") - 1), (replayed, original))
        self.assertEqual(set(by[:-1]), {"recorded", "compared", "plan"})
        planned = [told for told in steps if told["by"] == "plan"]
        self.assertTrue(planned)
        for told in planned:
            self.assertEqual(told["planned_peak_bytes"], plan.peak_bytes + plan.beside_bytes)
            self.assertEqual(told["peak_bytes"], told["planned_peak_bytes"])
            self.assertEqual(told["overhead"], plan.overhead)
            self.assertNotIn("why", told)
        largest_before = max(told["peak_bytes"] for told in steps if told["by"] == "recorded")
        self.assertLess(planned[-1]["peak_bytes"], largest_before)

    def test_a_step_of_the_original_says_why(self):
        module = rematlas.apply(net(), "70%", config=by_moves(), shapes=1, watch=self.path)
        for rows in (512, 512, 512, 512, 512, 256, 256):
            step(module, rows)
            rematlas.status(module).wait()
        rematlas.remove(module)
        _, steps = self.lines()
        originals = [told for told in steps if told["by"] == "original"]
        self.assertEqual(len(originals), 2)
        for told in originals:
            self.assertIn("kinds", told["why"])

    def test_evicted_steps_are_told_as_such(self):
        module = net()
        rematlas.apply(module, "64MiB", unplanned="evict", watch=self.path, shapes=1, config=by_moves())
        for rows in (512, 512, 512, 512, 512, 256):
            step(module, rows)
            rematlas.status(module).wait()
        rematlas.remove(module)
        header, steps = self.lines()
        self.assertEqual(header["budget_bytes"], 64 << 20)
        self.assertEqual(steps[-1]["by"], "evicted")

    def test_a_file_that_cannot_be_written(self):
        with self.assertRaises(OSError):
            rematlas.apply(net(), "70%", watch=self.path.parent / "no" / "run.jsonl")
        module = rematlas.apply(net(), "70%", config=by_moves(), watch=self.path)
        step(module)
        self.path.unlink()
        self.path.mkdir()
        with self.assertLogs("rematlas", logging.WARNING) as told:
            for _ in range(4):
                step(module)
        self.assertEqual(sum("steps are not told any more" in line for line in told.output), 1)
        rematlas.remove(module)

    def test_training_is_the_same_with_and_without(self):
        weights = []
        for watch in (None, self.path):
            module = rematlas.apply(net(), "70%", config=by_moves(), watch=watch)
            optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
            for _ in range(6):
                module(torch.ones(512, 64)).square().mean().backward()
                optimizer.step()
                optimizer.zero_grad()
                rematlas.status(module).wait()
            rematlas.remove(module)
            weights.append([parameter.detach().clone() for parameter in module.parameters()])
        self.assertTrue(all(map(torch.equal, *weights)))


if __name__ == "__main__":
    unittest.main()
