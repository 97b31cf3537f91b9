"""The commands with --device cuda, on the example models. The device is a GPU or the software stand-in
(tests/simgpu)."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import torch
from torch import nn

from slow import slow

MODELS = pathlib.Path(os.environ["REMATLAS_TEST_MODELS"])
sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "resources" / "models"))
import export  # noqa: E402

RATHER_SMALL = (
    "mlp_scripted",
    "resnet_scripted",
    "gpt_scripted",
    "unet_scripted",
    "translator_scripted",
    "inplace_scripted",
)


class ProgramCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def call(self, *words, **environment):
        program = pathlib.Path(os.environ["REMATLAS_PROGRAMS"]) / "rematlas"
        return subprocess.run(
            [program, *map(str, words), "--json", "--quiet"]
            if words[0] in ("capture", "run")
            else [program, *map(str, words), "--json"],
            cwd=self.folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
        )

    def expect(self, *words, **environment):
        done = self.call(*words, **environment)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def planned(self, path, inputs, budget):
        """Captures a model and solves it. Returns the answer of `capture`."""
        captured = self.expect(
            "capture",
            path,
            *(word for spec in inputs for word in ("--input", spec)),
            "--device",
            "cuda",
            "-o",
            "g.graph.json",
        )
        self.plan_within(budget)
        return captured

    def plan_within(self, budget):
        """Plans within the budget. Returns the overhead of the plan."""
        solve = ("solve", "g.graph.json", "--time-limit", "3s", "-o", "g.schedule.json", "--budget")
        solved = self.call(*solve, budget)
        if solved.returncode == 1:  # no schedule keeps the budget: plans for the smallest peak found
            self.expect(*solve, json.loads(solved.stdout)["smallest_found_bytes"])
        self.assertEqual(self.call("export", "g.schedule.json", "-o", "g.plan").returncode, 0)
        return json.loads((self.folder / "g.schedule.json").read_text())["predicted"]["overhead"]

    def expect_verified(self, path, *flags, **environment):
        ran = self.expect(
            "run", path, "g.plan", "--device", "cuda", "--steps", 3, "--verify", *flags, **environment
        )
        self.assertTrue(ran["verified"], ran)
        self.assertLessEqual(ran["measured_peak_bytes"], ran["budget_bytes"])
        return ran


class Examples(ProgramCase):
    def test_they_train_as_the_originals_within_the_budget(self):
        overheads = []
        for name in RATHER_SMALL:
            with self.subTest(name):
                inputs = json.loads((MODELS / f"{name}.json").read_text())["inputs"]
                captured = self.planned(MODELS / f"{name}.pt", inputs, "100%")
                # Most of the peak is the workspace of the device's libraries, which counts as resident.
                budget = captured["peak_bytes"] - (captured["peak_bytes"] - captured["resident_bytes"]) // 5
                overheads.append(self.plan_within(budget))
                ran = self.expect_verified(MODELS / f"{name}.pt")
                self.assertLessEqual(ran["allocated_peak_bytes"], ran["reserved_peak_bytes"])
                self.assertLess(ran["reserved_peak_bytes"], ran["device_bytes"])
                # The original run also holds the tensors from which it copies its inputs and gradients.
                self.assertLessEqual(ran["original_peak_bytes"], captured["peak_bytes"] * 1.01 + (32 << 10))
                self.assertGreater(ran["arena_bytes"], 0)
                self.assertEqual(ran["system_allocations_per_step"], 0)
                recorded = self.expect_verified(MODELS / f"{name}.pt", "--cuda-graphs")
                self.assertTrue(recorded["cuda_graphs"], recorded)
        self.assertGreater(max(overheads), 1, "some of the plans run ops again")

    def test_another_index(self):
        inputs = json.loads((MODELS / "mlp_scripted.json").read_text())["inputs"]
        self.planned(MODELS / "mlp_scripted.pt", inputs, "100%")
        self.expect("run", MODELS / "mlp_scripted.pt", "g.plan", "--device", "cuda:1", "--verify")
        failed = self.call("run", MODELS / "mlp_scripted.pt", "g.plan", "--device", "cuda:9")
        self.assertEqual(failed.returncode, 2)
        self.assertIn("there is no device 9, there are 2", failed.stderr)
        self.assertEqual(len(failed.stderr.strip().splitlines()), 1, failed.stderr)

    def test_other_workspaces_of_libraries(self):
        inputs = json.loads((MODELS / "mlp_scripted.json").read_text())["inputs"]
        run = ("run", MODELS / "mlp_scripted.pt", "g.plan", "--device", "cuda")
        for captured, here in ((":4096:8", ":16:8"), (":16:8", ":4096:8")):
            with unittest.mock.patch.dict(os.environ, CUBLAS_WORKSPACE_CONFIG=captured):
                self.planned(MODELS / "mlp_scripted.pt", inputs, "100%")
                self.expect(*run)
            failed = self.call(*run, CUBLAS_WORKSPACE_CONFIG=here)
            self.assertEqual(failed.returncode, 2)
            self.assertIn("CUBLAS_WORKSPACE_CONFIG", failed.stderr)
            self.assertEqual(len(failed.stderr.strip().splitlines()), 1, failed.stderr)


class Homes(ProgramCase):
    """Weights and optimizer states that live on the host. A step copies them to the device, or updates them
    on the host."""

    ORDERS = ("lazy", "seeded:7")  # orders in which the stand-in does its work; a GPU has its own order
    LINKS = ("--offload", "all", "--device-profile", "pcie4")

    def planned_gpt(self, layers, budget, *flags, host_time=None):
        """Plans a GPT with AdamW. Its larger matrices are large enough to be copied to the host and back.
        Returns the answers of `capture` and `solve`.

        `host_time` replaces the measured times of updates on the host by this multiple of their times on the
        device. The times decide where the updates run.
        """
        torch.manual_seed(0)
        gpt = export.Gpt(layers=layers, width=512, heads=8, length=32, vocabulary=512, dropout=0.1)
        torch.jit.script(gpt.train()).save(str(self.folder / "gpt.pt"))
        captured = self.expect(
            "capture",
            "gpt.pt",
            "--input",
            "i64[1,32]<512",
            "--device",
            "cuda",
            "--optimizer",
            "adamw",
            "-o",
            "g.graph.json",
        )
        if host_time is not None:
            self.set_costs(host_time)
        solved = self.expect(
            "solve",
            "g.graph.json",
            "--budget",
            budget,
            *self.LINKS,
            "--time-limit",
            "3s",
            "-o",
            "g.schedule.json",
            *flags,
        )
        self.assertEqual(self.call("export", "g.schedule.json", "-o", "g.plan").returncode, 0)
        return captured, solved

    def set_costs(self, host_time):
        """Sets the time of each op to a millisecond. If an op can run on the host, sets its time there to
        `host_time` milliseconds."""
        path = self.folder / "g.graph.json"
        graph = json.loads(path.read_text())
        for op in graph["ops"]:
            op["time_ns"] = 1_000_000
            if "host_time_ns" in op:
                op["host_time_ns"] = int(host_time * op["time_ns"])
        path.write_text(json.dumps(graph))

    def expect_predicted(self, **environment):
        ran = self.expect_verified("gpt.pt", **environment)
        self.assertEqual(ran["measured_peak_bytes"], ran["predicted_peak_bytes"])
        self.assertEqual(ran["host_measured_peak_bytes"], ran["host_predicted_peak_bytes"])
        return ran

    def test_a_gpt_with_its_optimizer_trains_in_a_tenth_of_its_memory(self):
        with unittest.mock.patch.dict(
            os.environ, CUBLAS_WORKSPACE_CONFIG=":16:8"
        ):  # a small workspace of cuBLAS, because the workspace is never offloaded
            captured, _ = self.planned_gpt(6, "10%")
            for order in self.ORDERS:
                with self.subTest(order):
                    ran = self.expect_predicted(SIMGPU_ORDER=order)
                    self.assertLessEqual(ran["measured_peak_bytes"], 0.1 * captured["peak_bytes"])
                    self.assertGreater(ran["host_measured_peak_bytes"], 0.8 * captured["resident_bytes"])
            # The device never has to hold the whole model, not even while the model is loaded.
            self.assertLess(ran["device_bytes"], captured["resident_bytes"])
            alone = self.expect(
                "run", "gpt.pt", "g.plan", "--device", "cuda", SIMGPU_MEMORY=str(ran["device_bytes"])
            )
            self.assertEqual(alone["measured_peak_bytes"], ran["measured_peak_bytes"])

    def test_updates_run_on_the_host_as_those_of_an_original_there(self):
        _, solved = self.planned_gpt(3, "70%", "--solver", "offmate", host_time=0.01)
        self.assertGreater(solved["host_runs"], 10)
        for order in self.ORDERS:
            with self.subTest(order):
                ran = self.expect_predicted(SIMGPU_ORDER=order)
                self.assertEqual(ran["host_runs"], solved["host_runs"])
                self.assertTrue(ran["original_updates_on_host"])


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x):
        q, k, v = self.mix(x).reshape(2, 8, 3, 2, 8).permute(2, 0, 3, 1, 4)
        return self.out(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 8, 16))


class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()

    def forward(self, x):
        made = self.attention(x)
        return made + nn.functional.adaptive_avg_pool2d(made[:, None], (3, 16)).mean()


class HostNoise(nn.Module):
    """A model that draws random numbers on the host and writes to a host tensor in place, within a step on a
    device."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 16)

    def forward(self, x):
        scale = torch.zeros(16)
        scale.add_(torch.rand(16))
        scale[3:5].mul_(0.5)
        return self.layer(x) * scale.to(x.device)


class Strided(nn.Module):
    """A model that pools a tensor that is not dense. The pooling's backward makes a dense copy of the tensor,
    so the tensor must exist in the backward."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x):
        made = self.layer(x)
        return (
            nn.functional.max_pool2d(made[:, :, :, ::2], 2).sum()
            + nn.functional.avg_pool2d(made[:, :, ::2], 2).sum()
        )


class Kernels(ProgramCase):
    def save(self, module, example):
        scripted = isinstance(module, (HostNoise, Strided))
        made = torch.jit.script(module) if scripted else torch.jit.trace(module, torch.zeros(example))
        made.save(str(self.folder / "m.pt"))
        return [f"f32[{','.join(map(str, example))}]"]

    def provenance(self):
        return json.loads((self.folder / "g.graph.json").read_text())["provenance"]

    def test_attention_is_fused_and_deterministic(self):
        captured = self.planned("m.pt", self.save(Attention(), (2, 8, 16)), "100%")
        self.assertGreater(captured["ops"], 0)
        ops = [op["name"] for op in json.loads((self.folder / "g.graph.json").read_text())["ops"]]
        self.assertIn("aten::_scaled_dot_product_efficient_attention", ops)
        self.assertEqual(self.provenance()["settings"]["deterministic"], "strict")
        self.expect_verified("m.pt")
        self.assertTrue(self.expect_verified("m.pt", "--cuda-graphs")["cuda_graphs"])

    def test_where_a_kernel_has_no_deterministic_form_the_graph_says_so(self):
        self.planned("m.pt", self.save(Pooled(), (2, 8, 16)), "100%")
        self.assertIn("adaptive_avg_pool2d_backward_cuda", self.provenance()["determinism"])
        self.assertEqual(self.provenance()["settings"]["deterministic"], "warn")
        self.assertFalse(self.provenance()["settings"]["flash_attention"])
        ops = [op["name"] for op in json.loads((self.folder / "g.graph.json").read_text())["ops"]]
        self.assertNotIn("aten::_scaled_dot_product_efficient_attention", ops)
        self.expect_verified("m.pt")

    def test_host_tensors_and_host_random_numbers(self):
        self.planned("m.pt", self.save(HostNoise(), (2, 16)), "100%")
        self.expect_verified("m.pt")
        recorded = self.expect_verified("m.pt", "--cuda-graphs")
        self.assertFalse(recorded["cuda_graphs"])
        self.assertRegex(recorded["why_no_cuda_graphs"], "host")

    def test_operands_that_are_copied_before_use_are_kept(self):
        self.planned("m.pt", self.save(Strided(), (2, 3, 8, 8)), "100%")
        self.expect_verified("m.pt")


@unittest.skipUnless(
    "simgpu" in os.environ.get("LD_PRELOAD", ""), "sets the memory of the stand-in for a GPU"
)
class OutOfMemory(ProgramCase):
    """If the memory runs out in any stage of a command, the error message has one line."""

    MIB = 1 << 20

    def expect_one_line(self, done):
        if done.returncode == 0:
            return False
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertRegex(done.stderr, "out of memory")
        return True

    @slow
    def test_at_falling_capacities(self):
        name = "gpt_scripted"
        path, inputs = MODELS / f"{name}.pt", json.loads((MODELS / f"{name}.json").read_text())["inputs"]
        self.planned(path, inputs, "100%")
        ran = self.expect_verified(path)
        specs = [word for spec in inputs for word in ("--input", spec)]
        commands = (
            ("capture", path, *specs, "--device", "cuda", "-o", "o.graph.json"),
            ("run", path, "g.plan", "--device", "cuda", "--verify"),
            ("run", path, "g.plan", "--device", "cuda", "--cuda-graphs"),
        )
        capacities = [ran["device_bytes"] + step * 6 * self.MIB for step in (-5, -3, -1, 1)] + [
            65 * self.MIB,
            80 * self.MIB,
        ]
        for command in commands:
            failed = [
                self.expect_one_line(self.call(*command, SIMGPU_MEMORY=str(memory))) for memory in capacities
            ]
            self.assertTrue(any(failed), command)

    def test_the_device_has_what_the_run_says(self):
        layers = [layer for _ in range(8) for layer in (nn.Linear(256, 256), nn.Tanh())]
        torch.jit.script(nn.Sequential(*layers)).save(str(self.folder / "m.pt"))
        captured = self.planned("m.pt", ["f32[8192,256]"], "80%")
        run = ("run", "m.pt", "g.plan", "--device", "cuda")
        told = self.expect(*run)
        self.assertEqual(told["system_allocations_per_step"], 0)
        self.expect(*run, SIMGPU_MEMORY=str(told["device_bytes"]))
        context = told["device_bytes"] - told["reserved_peak_bytes"]
        arena_and_residents = told["arena_bytes"] + captured["resident_bytes"]
        self.assertLessEqual(arena_and_residents, told["reserved_peak_bytes"])
        for memory in (told["device_bytes"] - 20 * self.MIB, context + arena_and_residents - self.MIB):
            failed = self.call(*run, SIMGPU_MEMORY=str(memory))
            self.assertTrue(self.expect_one_line(failed))
            self.assertRegex(failed.stderr, "before the step begins")


if __name__ == "__main__":
    unittest.main()
