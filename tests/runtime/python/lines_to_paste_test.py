"""Runs, unchanged, the lines that `rematlas export` prints for users to paste. The explorer shows the same
lines after an export."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

import torch
from torch import nn

import models
import rematlas
from apply_test import planned_by_the_command_line, program, wait


def exported(schedule, graph, file, *words) -> dict:
    """Returns {place: lines}: the lines of an export, by the place into which users paste them."""
    done = subprocess.run(
        [program("rematlas"), "export", schedule, "--graph", graph, *words, "--json", "-o", file],
        capture_output=True,
        text=True,
        check=True,
    )
    return {lines["where"]: lines["text"] for lines in json.loads(done.stdout)["lines"]}


def trained(model, optimizer, steps=4):
    """Trains for `steps` steps. Returns the losses. If `rematlas.apply` was called on the model, waits after
    each step until the background planning is over."""
    torch.manual_seed(3)
    after = wait if "_compiled_call_impl" in vars(model) and model._compiled_call_impl else lambda _: None
    return models.train(model, models.texts, models.text_loss, optimizer, steps, after=after)


class ByHand(nn.Module):
    """A model that checkpoints its block by a call in its forward."""

    def __init__(self, block, checkpointed):
        super().__init__()
        self.block, self.checkpointed = block, checkpointed

    def forward(self, *args):
        return self.checkpointed(self.block, *args)


class Lines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def shell(self, text):
        """Runs the text in a shell that finds the program `rematlas` and the Python with the package."""
        path = os.pathsep.join(
            [
                str(pathlib.Path(program("rematlas")).parent),
                str(pathlib.Path(sys.executable).parent),
                os.environ["PATH"],
            ]
        )
        return subprocess.run(
            ["sh", "-e"],
            input=text,
            text=True,
            capture_output=True,
            cwd=self.folder,
            env=os.environ | {"PATH": path, "REMATLAS_RUNTIME": program("rematlas-runtime")},
        )

    def test_a_plan_is_applied(self):
        graph, schedule, _ = planned_by_the_command_line("sample")
        lines = exported(schedule, graph, self.folder / "x.plan")
        self.assertEqual([*lines], ["program"])
        plain, model = models.gpt(), models.gpt()
        exec(lines["program"], {"model": model})
        losses = [trained(each, models.adamw(each), 6) for each in (plain, model)]
        self.assertEqual(*losses)
        self.assertGreaterEqual(rematlas.status(model).replayed, 3, rematlas.status(model).reason)

    def test_a_plan_that_ends_with_updates_is_applied_with_the_optimizer(self):
        graph, schedule, _ = planned_by_the_command_line("sample", "--optimizer", "adamw")
        lines = exported(schedule, graph, self.folder / "x.plan")
        model = models.gpt()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        exec(lines["program"], {"model": model, "optimizer": optimizer})
        trained(model, optimizer)
        self.assertEqual(rematlas.status(model).updated, 4, rematlas.status(model).reason)

    def test_a_plan_whose_weights_live_on_the_host_is_applied_over_its_links(self):
        graph, *_ = planned_by_the_command_line("sample", "--optimizer", "adamw")
        schedule = self.folder / "x.schedule.json"
        solve = [program("rematlas"), "solve", graph, "--budget", "25%", "--offload", "all"]
        solve += ["--device-profile", "pcie4", "--time-limit", "30s", "--quiet", "-o", schedule]
        subprocess.run(solve, check=True, stdout=subprocess.DEVNULL)
        lines = exported(schedule, graph, self.folder / "x.plan")
        self.assertIn('offload="all", links="pcie4"', lines["program"])
        model = models.gpt()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        exec(lines["program"], {"model": model, "optimizer": optimizer})
        trained(model, optimizer)
        self.assertEqual(rematlas.status(model).updated, 4, rematlas.status(model).reason)

    def test_a_schedule_is_checked_exported_and_applied(self):
        graph, schedule, _ = planned_by_the_command_line("sample")
        (self.folder / graph.name).write_bytes(graph.read_bytes())
        lines = exported(
            schedule, self.folder / graph.name, self.folder / "x.schedule.json", "--format", "schedule"
        )
        done = self.shell(lines["shell"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "x.plan").exists())
        model = models.gpt()
        exec(lines["program"], {"model": model})
        trained(model, models.adamw(model))
        self.assertEqual(rematlas.status(model).replayed, 2, rematlas.status(model).reason)

    def test_a_policy_wraps_the_model_or_is_a_context_fn(self):
        graph, schedule, _ = planned_by_the_command_line("sample")
        lines = exported(schedule, graph, self.folder / "x.policy.json", "--format", "policy")
        plain, model = models.gpt(), models.gpt()
        scope = {"model": model}
        exec(lines["program"], scope)
        self.assertTrue(scope["policy"].regions)
        losses = [trained(each, models.adamw(each)) for each in (plain, model)]
        self.assertEqual(*losses)
        exec(lines["forward"], scope := {})
        by_hand = models.gpt()
        for at, block in enumerate(by_hand.blocks):
            by_hand.blocks[at] = ByHand(block, scope["checkpointed"])
        with warnings.catch_warnings():
            warnings.simplefilter("error", rematlas.RefusedWarning)
            self.assertEqual(trained(by_hand, models.adamw(by_hand)), losses[0])

    def test_a_plan_of_a_torchscript_file_is_run_and_applied_to_the_original(self):
        torch.manual_seed(0)
        original = nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(32, 32), nn.Tanh())))
        torch.jit.script(original).save(self.folder / "it's net.pt")
        script = """
            rematlas capture "it's net.pt" --input 'f32[64,32]' --quiet -o net.graph.json
            rematlas solve net.graph.json --budget 90% --time-limit 0.5s --quiet -o net.schedule.json
        """
        done = self.shell(script)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = exported(
            self.folder / "net.schedule.json", self.folder / "net.graph.json", self.folder / "net.plan"
        )
        done = self.shell(lines["shell"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("verified    yes", done.stdout)
        exec(lines["program"], {"model": original})
        for _ in range(4):
            original(torch.randn(64, 32)).square().mean().backward()
            wait(original)
        self.assertGreaterEqual(rematlas.status(original).replayed, 1, rematlas.status(original).reason)

    def test_a_plan_that_no_program_can_take_has_no_lines(self):
        graph, schedule = self.folder / "x.graph.json", self.folder / "x.schedule.json"
        card = ["--device", "meta", "--device-profile", "h100", "--optimizer", "rmsprop"]
        solve = [program("rematlas"), "solve", graph, "--budget", "100%", "--solver", "keep-all"]
        for command in (
            [sys.executable, "-m", "rematlas", "capture", "apply_test:sample", *card, "-o", graph],
            [*solve, "--quiet", "-o", schedule],
        ):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=pathlib.Path(__file__).parent)
        self.assertEqual(exported(schedule, graph, self.folder / "x.plan"), {})


if __name__ == "__main__":
    unittest.main()
