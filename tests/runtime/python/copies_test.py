"""Plans that copy tensors to the host and are read from a file train like the plain model."""

import hashlib
import json
import pathlib
import subprocess
import tempfile
import unittest

import torch

import models
import rematlas
from apply_test import planned_by_the_command_line, program, wait

LINK = {"to_host_bytes_per_second": 1e10, "to_device_bytes_per_second": 1e10}


def with_copies(graph_file, schedule_file, folder, residents=False, trips=12):
    """Adds copies to a schedule. The largest tensors are offloaded during the longest time in which no op
    reads them. Returns the path of a plan, and the schedule."""
    graph, schedule = json.loads(graph_file.read_text()), json.loads(schedule_file.read_text())
    graph["device"] = {"name": "cpu", "kind": "cpu", **graph.get("device", {}), **LINK}
    text = json.dumps(graph)
    new_graph, new_schedule, plan = (
        folder / name for name in ("copies.graph.json", "copies.schedule.json", "copies.plan")
    )
    new_graph.write_text(text)
    steps = [list(step) for step in schedule["steps"]]
    ops = {op["id"]: op for op in graph["ops"]}
    made = {tensor for op in graph["ops"] for tensor in op["outputs"]}
    by_size = sorted(
        (
            t
            for t in graph["tensors"]
            if (t["id"] not in made) == residents
            and t["kind"] in (("parameter",) if residents else ("activation",))
        ),
        key=lambda t: -t["bytes"],
    )

    def touches(step, tensor):
        if step[0] in ("run", "run_inplace"):
            return tensor in ops[step[1]]["inputs"] + ops[step[1]]["outputs"] + ops[step[1]].get(
                "mutates", []
            )
        return step[1] == tensor

    for tensor in [t["id"] for t in by_size[:trips]]:
        at = [i for i, step in enumerate(steps) if touches(step, tensor)]
        gaps = [(b - a, a, b) for a, b in zip(at, at[1:]) if steps[a] != ["free", tensor] and b - a > 2]
        if not gaps:
            continue
        _, first, last = max(gaps)
        steps[last:last] = [["fetch", tensor]]
        steps[first + 1 : first + 1] = [["offload", tensor], ["free", tensor]]
    schedule |= {"steps": steps, "graph_sha256": hashlib.sha256(text.encode()).hexdigest(), "bound": None}
    for key in ("addresses", "config", "budget_bytes"):
        schedule.pop(key, None)
    schedule["predicted"] = {"time_ns": 0, "overhead": 1.0, "peak_bytes": 0}
    new_schedule.write_text(json.dumps(schedule))
    checked = subprocess.run(
        [program("rematlas"), "check", new_graph, new_schedule, "--json"], capture_output=True, text=True
    )
    found = json.loads(checked.stdout)
    schedule["predicted"] = {key: found[key] for key in ("time_ns", "overhead", "peak_bytes")} | {
        "host_peak_bytes": found["host_peak_bytes"]
    }
    new_schedule.write_text(json.dumps(schedule))
    subprocess.run(
        [program("rematlas"), "export", new_schedule, "--graph", new_graph, "-o", plan],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return plan, schedule


class Copies(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.graph, *_ = planned_by_the_command_line("sample")
        # The schedule keeps all tensors: in other schedules, measured times would decide which tensors are
        # idle.
        self.schedule = pathlib.Path(self.folder.name) / "keep_all.schedule.json"
        solve = [program("rematlas"), "solve", self.graph, "--solver", "keep-all", "--budget", "100%"]
        subprocess.run([*solve, "--quiet", "-o", self.schedule], check=True, stdout=subprocess.DEVNULL)

    def test_what_ops_make_goes_to_the_host_and_back(self):
        plan, schedule = with_copies(self.graph, self.schedule, pathlib.Path(self.folder.name))
        copies = [step for step in schedule["steps"] if step[0] in ("offload", "fetch")]
        self.assertGreater(len(copies), 10)
        self.assertGreater(schedule["predicted"]["host_peak_bytes"], 0)
        plain, module = models.gpt(), rematlas.apply(models.gpt(), plan=plan)
        losses = []
        for each in (plain, module):
            torch.manual_seed(3)
            losses.append(
                models.train(
                    each,
                    models.texts,
                    models.text_loss,
                    models.adamw(each),
                    8,
                    after=wait if each is module else lambda m: None,
                )
            )
        self.assertEqual(*losses)
        status = rematlas.status(module)
        self.assertGreaterEqual(status.replayed, 6, status.reason)
        for name, value in plain.state_dict().items():
            self.assertTrue(torch.equal(value, module.state_dict()[name]), name)

    def test_parameters_that_would_leave_are_refused_in_one_line_when_the_plan_is_loaded(self):
        plan, _ = with_copies(self.graph, self.schedule, pathlib.Path(self.folder.name), residents=True)
        with self.assertRaisesRegex(
            ValueError, "leaves the device and does not live on the host: in training"
        ) as refused:
            rematlas.apply(models.gpt(), plan=plan, on_refuse="raise")
        self.assertEqual(len(str(refused.exception).splitlines()), 1)

    def test_what_the_program_is_handed_stays_on_the_device(self):
        """The module returns tensors that its own layers also read. The program may hold them, so a copy to
        the host would free no memory."""

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(0)
                self.layers = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(12))

            def forward(self, x):
                hidden = []
                for layer in self.layers:
                    x = torch.tanh(layer(x))
                    hidden.append(x)
                return {"loss": x.square().mean(), "hidden": tuple(hidden[::3])}

        trained = []
        for planned in (False, True):
            module = Model()
            if planned:
                rematlas.apply(module, "70%", offload="activations", links="pcie5", config=models.by_moves())
            for step in range(8):
                output = module(torch.randn(256, 64, generator=torch.Generator().manual_seed(step)))
                output["loss"].backward()
                with torch.no_grad():
                    for parameter in module.parameters():
                        parameter -= 0.1 * parameter.grad
                module.zero_grad()
                if planned:
                    wait(module)
                trained.append(output["loss"].item())
                del output
        self.assertEqual(trained[:8], trained[8:])
        status = rematlas.status(module)
        self.assertEqual((status.state, status.reason), ("planned", ""))
        self.assertEqual(status.plans[0].compared, 2)


if __name__ == "__main__":
    unittest.main()
