"""The user's own models train under `rematlas.apply` as in plain training, and within the budget."""

import contextlib
import copy
import functools
import inspect
import io
import json
import math
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import warnings

import torch
from torch import nn

import models
import rematlas
from rematlas.__main__ import main
from rematlas.api import of

STEPS = 12


def wait(module):
    rematlas.status(module).wait()


def state_of(module):
    return {name: value.clone() for name, value in module.state_dict().items()}


class TrainingCase(unittest.TestCase):
    def expect_as_plain(self, build, batches, loss, optimizer, budget, accumulate=1, **options):
        plain = build()
        torch.manual_seed(1)
        losses = models.train(plain, batches, loss, optimizer(plain), STEPS, accumulate)
        random = models.generator_states()

        module = rematlas.apply(build(), budget, time_limit=0.4, **options)
        torch.manual_seed(1)
        ours = models.train(module, batches, loss, optimizer(module), STEPS, accumulate, after=wait)
        status = rematlas.status(module)
        self.assertEqual(losses, ours)
        self.assertTrue(all(map(torch.equal, random, models.generator_states())))
        for name, value in plain.state_dict().items():
            self.assertTrue(torch.equal(value, module.state_dict()[name]), name)
        self.assertEqual(status.state, "planned", status.reason)
        self.assertGreaterEqual(status.replayed, STEPS - 4)
        return module, status


class Training(TrainingCase):
    def test_a_resnet_at_a_share_of_its_activations(self):
        _, status = self.expect_as_plain(
            models.resnet, models.images, models.image_loss, models.sgd, "60% of activations"
        )
        plan = status.plans[0]
        self.assertLessEqual(plan.peak_bytes, plan.budget_bytes)
        self.assertLess(plan.budget_bytes, plan.whole_peak_bytes)
        self.assertGreaterEqual(plan.overhead, plan.bound)
        self.assertLessEqual(plan.measured_peak_bytes, plan.peak_bytes)
        self.assertEqual(plan.at_most, plan.measured_peak_bytes < plan.peak_bytes)
        if models.DEVICE.type == "cpu":
            self.assertLessEqual(plan.last["peak_bytes"], plan.peak_bytes)
        else:  # on a GPU, a measurement would reset the caller's own statistics
            self.assertIsNone(plan.last["peak_bytes"])
            self.assertLessEqual(plan.peak_bytes, plan.allocated_peak_bytes)
            self.assertLess(plan.reserved_peak_bytes, plan.device_bytes)
        self.assertIn("float32[8,3,32,32]", repr(plan))

    def test_a_gpt_with_dropout_at_a_share_of_its_peak(self):
        self.expect_as_plain(models.gpt, models.texts, models.text_loss, models.adamw, "70%")

    def test_gradients_accumulate(self):
        self.expect_as_plain(models.resnet, models.images, models.image_loss, models.sgd, "80%", accumulate=2)

    def test_bytes_bound_all_tensors_of_the_process(self):
        kept = torch.zeros(1 << 20)  # 4 MiB that are alive beside the step
        whole = models.resnet()
        rematlas.apply(whole, "100%", solver="keep-all")
        models.train(whole, models.images, models.image_loss, models.sgd(whole), 4, after=wait)
        plan = rematlas.status(whole).plans[0]
        budget = plan.whole_peak_bytes + plan.beside_bytes - (1 << 20)
        rematlas.remove(whole)
        del whole

        module = rematlas.apply(models.resnet(), budget, time_limit=0.4)
        optimizer = models.sgd(module)
        peaks = []
        for step in range(8):
            x, target = models.images(step)
            models.reset_peak()
            models.image_loss(module(x), target).backward()
            peaks.append(models.peak())
            optimizer.step()
            optimizer.zero_grad()
            wait(module)
        status = rematlas.status(module)
        self.assertEqual(status.state, "planned", status.reason)
        self.assertGreaterEqual(status.replayed, 4)
        self.assertLessEqual(max(peaks), budget)
        self.assertEqual(kept.numel(), 1 << 20)


class Mean(torch.autograd.Function):
    """A loss whose backward is written in Python, as in fused losses of libraries. The gradient of the output
    is a tensor that Python code makes."""

    @staticmethod
    def forward(ctx, output):
        ctx.shape, ctx.device = output.shape, output.device
        return output.mean()

    @staticmethod
    def backward(ctx, scale):
        return torch.full(ctx.shape, scale.item() / ctx.shape.numel(), device=ctx.device)


class GradientsOfOutputs(TrainingCase):
    def test_one_that_python_made_is_taken_over_as_others_are(self):
        module = rematlas.apply(models.gpt(), "100%", solver="keep-all")
        of(module).measure_peaks()
        for step in range(8):
            Mean.apply(module(models.texts(step)[0])).backward()
            module.zero_grad()
            wait(module)
        status = rematlas.status(module)
        self.assertGreaterEqual(status.replayed, 4)
        self.assertEqual(status.plans[0].last["peak_bytes"], status.plans[0].peak_bytes)


class InPlace(TrainingCase):
    """`apply` does not change how other code sees the module."""

    def test_names_signature_and_class_stay(self):
        module = models.gpt()
        kind, signature, names = type(module), inspect.signature(module.forward), list(module.state_dict())
        self.assertIs(rematlas.apply(module, "70%"), module)
        self.assertIs(type(module), kind)
        self.assertEqual(inspect.signature(module.forward), signature)
        self.assertEqual(list(module.state_dict()), names)
        self.assertEqual(rematlas.status(module).state, "waiting")
        self.assertIn("not been called", rematlas.status(module).reason)

    def test_copies_are_plain(self):
        module, _ = self.expect_as_plain(models.resnet, models.images, models.image_loss, models.sgd, "80%")
        for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
            with self.assertRaises(ValueError):
                rematlas.status(other)
            x, target = models.images(99)
            models.image_loss(other(x), target).backward()
            module.zero_grad()
            models.image_loss(module(x), target).backward()
            for a, b in zip(other.parameters(), module.parameters()):
                self.assertTrue(torch.equal(a.grad, b.grad))

    def test_copies_of_recurrent_networks_are_plain(self):
        """Copies of a recurrent network have no plan. Torch copies and pickles the whole `__dict__` of such a
        module."""
        for network in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
            for module in (network(8, 8), torch.nn.Sequential(network(8, 8))):
                rematlas.apply(module, "80%")
                output = module(torch.randn(4, 2, 8))[0]
                for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
                    with self.assertRaises(ValueError):
                        rematlas.status(other)
                    other(torch.randn(4, 2, 8))[0].sum().backward()
                output.sum().backward()
                self.assertEqual(rematlas.status(module).state, "recording")

    def test_eval_and_no_grad_run_the_original(self):
        module, status = self.expect_as_plain(
            models.resnet, models.images, models.image_loss, models.sgd, "80%"
        )
        replayed = status.replayed
        with torch.no_grad():
            module(models.images(0)[0])
        module.eval()
        module(models.images(0)[0])
        self.assertEqual(status.replayed, replayed)
        module.train()
        module(models.images(0)[0])
        self.assertEqual(status.replayed, replayed + 1)

    def test_remove_gives_the_original_back(self):
        module, status = self.expect_as_plain(
            models.resnet, models.images, models.image_loss, models.sgd, "80%"
        )
        self.assertIs(rematlas.remove(module), module)
        replayed = status.replayed
        models.image_loss(module(models.images(0)[0]), models.images(0)[1]).backward()
        self.assertEqual(status.replayed, replayed)
        with self.assertRaisesRegex(ValueError, "nothing is applied"):
            rematlas.status(module)
        rematlas.apply(module, "80%")

    def test_gradients_come_while_the_backward_runs(self):
        module, _ = self.expect_as_plain(models.resnet, models.images, models.image_loss, models.sgd, "80%")
        alive = []
        for parameter in module.parameters():
            parameter.register_post_accumulate_grad_hook(
                lambda p: alive.append(sum(q.grad is not None for q in module.parameters()))
            )
        module.zero_grad()
        models.image_loss(module(models.images(0)[0]), models.images(0)[1]).backward()
        self.assertEqual(alive, sorted(alive))
        self.assertGreater(len(set(alive)), 4)
        self.assertEqual(alive[0], 1)


class LargeModules(unittest.TestCase):
    def test_many_submodules_are_walked_once(self):
        class Many(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.Sequential(
                    *(layer for _ in range(6) for layer in (nn.Linear(32, 32), nn.GELU()))
                )
                self.idle = nn.ModuleList(nn.Identity() for _ in range(400))

            def forward(self, x):
                return self.layers(x)

        module = rematlas.apply(Many(), "90%", time_limit=0.5)
        for _ in range(5):
            module(torch.randn(128, 32)).square().mean().backward()
            wait(module)
        watch = of(module).state.watch
        module(torch.randn(128, 32)).square().mean().backward()
        self.assertEqual(rematlas.status(module).state, "planned", rematlas.status(module).reason)
        self.assertIs(of(module).state.watch, watch)


class Threads(unittest.TestCase):
    def train(self, module, steps, losses):
        x, target = models.images(0)
        optimizer = models.sgd(module)
        for _ in range(steps):
            optimizer.zero_grad()
            loss = models.image_loss(module(x), target)
            loss.backward()
            losses.append(loss.item())
            optimizer.step()
            if module._compiled_call_impl is not None:
                wait(module)

    def train_side_by_side(self, modules):
        """Trains each module for ten steps in its own thread. Returns the losses of each module."""
        found = [[] for _ in modules]
        threads = [threading.Thread(target=self.train, args=(m, 10, f)) for m, f in zip(modules, found)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    def test_two_models_train_in_two_threads(self):
        """Each module must train as it does without a plan. The status is not checked: a recording counts the
        memory of both threads, so it depends on the timing whether a plan is made."""
        plain = []
        self.train(models.resnet(), 10, plain)
        modules = [rematlas.apply(models.resnet(), "80%", config=models.by_moves()) for _ in range(2)]
        self.assertEqual(self.train_side_by_side(modules), [plain, plain])

    def test_two_plans_run_in_two_threads(self):
        plain, original = [], models.resnet()
        for steps in (6, 10):
            self.train(original, steps, plain)
        modules = [rematlas.apply(models.resnet(), "80%", config=models.by_moves()) for _ in range(2)]
        for module in modules:
            self.train(module, 6, [])
        self.assertEqual(self.train_side_by_side(modules), [plain[6:], plain[6:]])
        for module in modules:
            status = rematlas.status(module)
            self.assertEqual((status.state, status.replayed), ("planned", 12), status.reason)


class PlanFiles(TrainingCase):
    def test_a_plan_is_saved_and_applied_elsewhere(self):
        _, status = self.expect_as_plain(models.gpt, models.texts, models.text_loss, models.adamw, "70%")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "gpt.plan"
            status.save(path)
            plain, module = models.gpt(), rematlas.apply(models.gpt(), plan=path)
            losses = []
            for each in (plain, module):
                torch.manual_seed(3)
                losses.append(
                    models.train(
                        each,
                        models.texts,
                        models.text_loss,
                        models.adamw(each),
                        6,
                        after=wait if each is module else lambda m: None,
                    )
                )
            self.assertEqual(*losses)
            self.assertGreaterEqual(rematlas.status(module).replayed, 4)

    def test_a_plan_ahead_of_training_leaves_the_model_alone(self):
        module = models.resnet().eval()
        before, random = state_of(module), models.generator_states()
        plan = rematlas.plan(module, models.images(0)[0], "80%", time_limit=0.4)
        self.assertTrue(all(map(torch.equal, random, models.generator_states())))
        self.assertFalse(module.training)
        self.assertTrue(all(p.grad is None for p in module.parameters()))
        for name, value in module.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)
        rematlas.load(module.train(), plan)
        models.train(module, models.images, models.image_loss, models.sgd(module), 4, after=wait)
        self.assertEqual(rematlas.status(module).replayed, 2)

    def test_a_captured_graph_is_one_of_the_command_line(self):
        graph, _, plan = planned_by_the_command_line("sample")
        inspected = subprocess.run(
            [program("rematlas"), "inspect", graph, "--json"], check=True, capture_output=True
        )
        self.assertIn("ops", json.loads(inspected.stdout))
        self.tells_what_tensors_are(json.loads(graph.read_text()))
        module = rematlas.apply(models.gpt(), plan=plan)
        models.train(module, models.texts, models.text_loss, models.adamw(module), 4, after=wait)
        self.assertEqual(rematlas.status(module).replayed, 2, rematlas.status(module).reason)
        failed = subprocess.run(
            [*COMMAND, "capture", "apply_test:nothing"],
            cwd=pathlib.Path(__file__).parent,
            capture_output=True,
            text=True,
        )
        self.assertNotEqual(failed.returncode, 0)
        self.assertEqual(len(failed.stderr.strip().splitlines()), 1)

    def tells_what_tensors_are(self, graph):
        """Checks that each matrix product of the graph names its line in the model's source and the class of
        its module."""
        products = [op for op in graph["ops"] if op["name"] in ("aten::addmm", "aten::mm")]
        self.assertTrue(products)
        for op in products:
            self.assertRegex(op["source"], r"^export\.py:\d+$")
            self.assertEqual(graph["module_classes"][op["module"]], "Linear")
            made = graph["tensors"][op["outputs"][0]]
            self.assertEqual(made["dtype"], "f32")
            self.assertLessEqual(4 * math.prod(made["shape"]), made["bytes"])
        (ids,) = (tensor for tensor in graph["tensors"] if tensor["name"] == "input0")
        self.assertEqual((ids["dtype"], ids["shape"]), ("i64", list(models.texts(0)[0].shape)))

    def test_a_graph_that_ends_with_updates_is_one_of_the_command_line(self):
        graph, _, plan = planned_by_the_command_line(
            "sample", "--optimizer", "adamw", "--optimizer-options", "lr=0.5,beta2=0.9,eps=1e-3"
        )
        phases = {op["phase"] for op in json.loads(graph.read_text())["ops"]}
        self.assertIn("optimizer", phases)
        trained = []
        for planned in (False, True):
            module = models.gpt()
            optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3, fused=True)
            if planned:
                rematlas.apply(module, plan=plan, optimizer=optimizer)
            torch.manual_seed(1)
            models.train(
                module,
                models.texts,
                models.text_loss,
                optimizer,
                4,
                after=wait if planned else lambda module: None,
            )
            trained.append(module.state_dict())
        self.assertEqual(rematlas.status(module).updated, 4, rematlas.status(module).reason)
        for name, value in trained[0].items():
            self.assertTrue(torch.equal(value, trained[1][name]), name)

    def test_schedules_are_plans_with_their_graph_beside_them(self):
        graph, schedule, _ = planned_by_the_command_line("sample_that_remembers")
        module = rematlas.apply(Remembers(), plan=schedule)
        models.train(
            module, models.images, lambda output, target: output["loss"], models.sgd(module), 4, after=wait
        )
        self.assertEqual(rematlas.status(module).replayed, 2, rematlas.status(module).reason)
        with tempfile.TemporaryDirectory() as folder:
            alone = pathlib.Path(folder) / "alone.schedule.json"
            for text in ("", "{}", schedule.read_text()):
                alone.write_text(text)
                with self.assertRaises(ValueError):
                    rematlas.apply(Remembers(), plan=alone)

    def test_plans_pack_outputs_and_attributes_as_the_module_does(self):
        *_, plan = planned_by_the_command_line("sample_that_remembers")
        plain, module = Remembers(), rematlas.apply(Remembers(), plan=plan, verify=0)
        for step in range(3):
            x = models.images(step)[0]
            for each in (plain, module):
                output = each(x)
                self.assertEqual(list(output), ["loss", "features"])
                output["loss"].backward()
            self.assertTrue(torch.equal(plain.last, module.last))
            for a, b in zip(plain.parameters(), module.parameters()):
                self.assertTrue(torch.equal(a.grad, b.grad))
        self.assertEqual(rematlas.status(module).replayed, 3, rematlas.status(module).reason)

    def test_a_plan_of_another_module_is_refused(self):
        *_, plan = planned_by_the_command_line("sample_that_remembers")
        module = rematlas.apply(models.resnet(), plan=plan, on_refuse="raise")
        with self.assertRaises(rematlas.Refused):
            module(models.images(0)[0])


class RunsOfPlans(unittest.TestCase):
    """Tests `python -m rematlas run`, and `rematlas run` on plans made from Python."""

    def run_of(self, *words):
        path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
        return subprocess.run(
            list(map(str, words)),
            cwd=pathlib.Path(__file__).parent,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
        )

    def test_plans_are_compared_with_eager(self):
        for made in ("sample", "sample_that_remembers"):
            *_, plan = planned_by_the_command_line(made)
            done = self.run_of(
                *COMMAND, "run", f"apply_test:{made}", plan, "--steps", "2", "--verify", "--json"
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            for name in (
                "verified",
                "outputs_identical",
                "gradients_identical",
                "buffers_identical",
                "random_state_identical",
            ):
                self.assertIs(report[name], True, name)
            self.assertEqual(len(report["step_seconds"]), 2)
            self.assertLessEqual(report["measured_peak_bytes"], report["predicted_peak_bytes"])
            self.assertGreater(report["measured_peak_bytes"], 0.97 * report["predicted_peak_bytes"])
            self.assertLess(report["measured_peak_bytes"], report["original_peak_bytes"])

    def test_steps_that_take_another_course_are_counted(self):
        """`one_hot` reads its smallest and its largest code on the host. If one of the two differs from the
        recorded value, the original runs the step."""
        *_, plan = planned_by_the_command_line("sample_with_a_codebook")
        run = [*COMMAND, "run", "apply_test:sample_with_a_codebook", plan, "--steps", "4", "--verify"]
        done = self.run_of(*run, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertTrue(report["verified"], report)
        self.assertLess(report["original_steps"], 5)
        if report["original_steps"]:
            self.assertIn("its course depends on the data", report["why_original"])
            self.assertIn(
                "steps, the one that warms up included: the program reads", self.run_of(*run).stdout
            )

    def test_a_model_that_computes_something_else_is_told(self):
        *_, plan = planned_by_the_command_line("sample_that_remembers")
        done = self.run_of(
            *COMMAND,
            "run",
            "apply_test:sample_with_a_region_without_gradients",
            plan,
            "--steps",
            "1",
            "--verify",
        )
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("gradients differ from the original's", done.stdout)
        done = self.run_of(*COMMAND, "run", "apply_test:sample", plan, "--verify")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("has no parameter", done.stderr)

    def test_classes_of_a_script_are_found_where_it_is_imported(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "training.py"
            script.write_text(SCRIPT)
            done = subprocess.run([sys.executable, script], cwd=folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = subprocess.run(
                [*COMMAND, "run", "training:made", "x.plan", "--steps", "1", "--verify"],
                cwd=folder,
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_command_line_hands_over(self):
        *_, plan = planned_by_the_command_line("sample_that_remembers")
        done = self.run_of(
            program("rematlas"), "run", "apply_test:sample_that_remembers", plan, "--steps", "1", "--verify"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("identical to eager", done.stdout)
        script = pathlib.Path(planned_folder.name) / "remembers.pt"
        with warnings.catch_warnings(action="ignore"):
            torch.jit.trace(Body(), models.images(0)[0]).save(script)
        done = self.run_of(program("rematlas"), "run", script, plan, "--verify")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)

    def test_wrong_usage_is_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            nothing = pathlib.Path(folder) / "nothing.plan"
            nothing.write_text("nothing")
            for words in (
                ["run", "apply_test:sample"],
                ["run", "apply_test:sample", nothing],
                ["run", "apply_test:sample", folder + "/x.plan"],
                ["capture", "apply_test"],
                ["run", "apply_test:STEPS", nothing],
                ["capture", "apply_test:sample_of_another_shape"],
                ["capture", "apply_test:sample", "--optimizer", "sgd", "--optimizer-options", "beta1=0.9"],
                ["capture", "apply_test:sample", "-o", folder + "/no/x.graph.json"],
            ):
                told = io.StringIO()
                # The command runs in this process, because a new process would take seconds to begin.
                with (
                    unittest.mock.patch.object(sys, "argv", ["rematlas", *map(str, words)]),
                    contextlib.redirect_stderr(told),
                    self.assertRaises(SystemExit) as ended,
                ):
                    sys.exit(main())
                self.assertEqual(ended.exception.code, 2, told.getvalue())
                self.assertEqual(len(told.getvalue().strip().splitlines()), 1, told.getvalue())


SCRIPT = """
import rematlas, torch
from torch import nn

class Out(dict):
    pass

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(layer for _ in range(3) for layer in (nn.Linear(32, 32), nn.GELU())))
    def forward(self, x):
        h = self.layers(x)
        return Out(loss=h.square().mean(), features=h)

def made():
    torch.manual_seed(0)
    return Model(), (torch.randn(64, 32),)

if __name__ == "__main__":
    model, (x,) = made()
    rematlas.apply(model, "80%", time_limit=0.5)
    for _ in range(3):
        model(x)["loss"].backward()
        rematlas.status(model).wait()
    rematlas.status(model).save("x.plan")
"""
COMMAND = [sys.executable, "-m", "rematlas"]


def program(name):
    return str(rematlas.library.folder() / name)


@functools.cache
def planned_by_the_command_line(made, *options):
    """Captures a model, solves with a budget of 70 %, and exports the plan. Returns the paths of graph,
    schedule and plan."""
    folder = pathlib.Path(planned_folder.name)
    graph, schedule, plan = (
        folder / f"{''.join((made, *options))}.{kind}" for kind in ("graph.json", "schedule.json", "plan")
    )
    solve = [
        program("rematlas"),
        "solve",
        graph,
        "--budget",
        "70%",
        "--time-limit",
        "0.5s",
        "--quiet",
        "-o",
        schedule,
    ]
    for command in (
        [*COMMAND, "capture", f"apply_test:{made}", *options, "-o", graph],
        solve,
        [program("rematlas"), "export", schedule, "-o", plan],
    ):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=pathlib.Path(__file__).parent)
    return graph, schedule, plan


planned_folder = tempfile.TemporaryDirectory()


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.features, self.classes = models.ResNet20(), nn.Linear(10, 10)

    def forward(self, x):
        return self.classes(self.features(x)).square().mean()


class Remembers(Body):
    """A model that returns a dictionary and keeps a tensor as an attribute."""

    without_gradients = False

    def forward(self, x):
        with torch.set_grad_enabled(not self.without_gradients):
            features = self.features(x)
        self.last = features.detach().mean(0)
        return {"loss": self.classes(features).square().mean(), "features": features.detach()}


class WithoutGradients(Remembers):
    without_gradients = True


def sample():
    return models.gpt(), (models.texts(0)[0],)


def sample_of_another_shape():
    return Remembers(), (torch.zeros(3),)


def sample_that_remembers():
    return Remembers(), (models.images(0)[0],)


class Codebook(nn.Module):
    """Replaces each row by the nearest code. The codes follow averages of their rows (van den Oord et al.,
    NeurIPS 2017, appendix A.1)."""

    def __init__(self, codes: int = 16, width: int = 32, decay: float = 0.9):
        super().__init__()
        self.decay = decay
        self.register_buffer("codes", torch.randn(codes, width))
        self.register_buffer("sizes", torch.ones(codes))
        self.register_buffer("sums", self.codes.clone())

    def forward(self, rows):
        nearest = torch.cdist(rows, self.codes).argmin(1)
        found = nn.functional.embedding(nearest, self.codes)
        if self.training:
            with torch.no_grad():
                chosen = nn.functional.one_hot(nearest, len(self.codes)).to(rows.dtype)
                self.sizes.mul_(self.decay).add_(chosen.sum(0), alpha=1 - self.decay)
                self.sums.mul_(self.decay).add_(chosen.t() @ rows, alpha=1 - self.decay)
                self.codes.copy_(self.sums / self.sizes.unsqueeze(1))
        return rows + (found - rows).detach(), (rows - found.detach()).square().mean()


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 32))
        self.codebook = Codebook()
        self.decoder = nn.Sequential(nn.Linear(32, 128), nn.GELU(), nn.Linear(128, 64))

    def forward(self, x):
        rows, commitment = self.codebook(self.encoder(x))
        return (self.decoder(rows) - x).square().mean() + 0.25 * commitment


def sample_with_a_codebook():
    torch.manual_seed(0)
    return Quantized(), (torch.randn(256, 64),)


def sample_with_a_region_without_gradients():
    return WithoutGradients(), (models.images(0)[0],)


class Refusals(unittest.TestCase):
    def test_what_lives_beside_the_step_may_be_larger_than_the_budget(self):
        beside = torch.zeros(2**20)
        with self.assertRaisesRegex(
            rematlas.Infeasible,
            r"what lives beside the step is \d+ bytes \([0-9.]+ MiB\) larger than the budget",
        ):
            module = rematlas.apply(nn.Linear(8, 8), "200KiB", on_refuse="raise")
            for _ in range(4):
                module(torch.zeros(4, 8)).sum().backward()
                rematlas.status(module).wait()
        self.assertEqual(beside.sum(), 0)

    def test_a_budget_that_nothing_keeps_is_infeasible(self):
        module = rematlas.apply(models.resnet(), "1%", on_refuse="raise")
        with self.assertRaisesRegex(rematlas.Infeasible, "every schedule needs at least") as caught:
            models.train(module, models.images, models.image_loss, models.sgd(module), 4, after=wait)
        self.assertTrue(caught.exception.proven)
        self.assertGreater(caught.exception.needed, 0)

    def test_training_goes_on_with_one_warning(self):
        module = rematlas.apply(models.resnet(), "1%")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            models.train(module, models.images, models.image_loss, models.sgd(module), 6, after=wait)
        self.assertEqual(
            [w.category for w in caught if w.category is rematlas.RefusedWarning], [rematlas.RefusedWarning]
        )
        self.assertEqual(rematlas.status(module).state, "refused")
        self.assertIn("infeasible", rematlas.status(module).reason)

    def test_wrong_requests(self):
        for budget, error in (
            (None, TypeError),
            ("much", ValueError),
            (True, TypeError),
            ("0%", ValueError),
            ("-5", ValueError),
            (1.5, TypeError),
        ):
            with self.subTest(budget), self.assertRaises(error):
                rematlas.apply(models.resnet(), budget)
        for options in (
            {"frames": 0},
            {"shapes": -1},
            {"verify": -1},
            {"verify": "a"},
            {"time_limit": "1s"},
            {"time_limit": -1},
            {"wire_weight": 0},
            {"wire_weight": float("inf")},
            {"wire_weight": "2"},
        ):
            with self.subTest(options), self.assertRaisesRegex(ValueError, next(iter(options))):
                rematlas.apply(models.resnet(), "60%", **options)
        with self.assertRaisesRegex(ValueError, "on_refuse"):
            rematlas.apply(models.resnet(), "60%", on_refuse="shout")
        with self.assertRaisesRegex(TypeError, "torch.nn.Module"):
            rematlas.apply(lambda x: x, "60%")
        module = rematlas.apply(models.resnet(), "60%")
        with self.assertRaisesRegex(ValueError, "already"):
            rematlas.apply(module, "60%")

    def test_an_unknown_solver_is_named(self):
        with self.assertRaisesRegex(ValueError, "'magic' is not known; there are: atlas, "):
            rematlas.apply(models.resnet(), "80%", solver="magic")


class PublishedInterface(unittest.TestCase):
    def test_published_solvers_train(self):
        x, target = models.images(0)
        for make in (rematlas.Rotor, rematlas.DTR, rematlas.PureRockmate, rematlas.Hiremate):
            plain, module = models.resnet(), make(models.resnet(), x, "80%", time_limit=30)
            for _ in range(4):
                models.image_loss(plain(x), target).backward()
                models.image_loss(module(x), target).backward()
                module.backward()
            for a, b in zip(plain.parameters(), module.parameters()):
                self.assertTrue(torch.equal(a.grad, b.grad))
            self.assertGreaterEqual(module.status().replayed, 2)
            module.reinit()

    def test_a_schedule_may_come_later(self):
        x = models.images(0)[0]
        module = rematlas.from_config(models.resnet(), x, rematlas.generate_config("rotor"))
        with self.assertRaisesRegex(RuntimeError, "solve_sched"):
            module(x)
        module.solve_sched("80%")
        self.assertTrue(module(x).requires_grad)
        self.assertEqual(module.status().plans[0].solver, "rotor")

    def test_a_type_that_is_not_known_is_told_with_those_that_are(self):
        with self.assertRaisesRegex(RuntimeError, "pofo.*there are:? .*rotor"):
            rematlas.generate_config("pofo")

    def test_configurations_are_files(self):
        config = rematlas.generate_config("rotor")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rotor.json"
            rematlas.save_config(config, path)
            self.assertEqual(rematlas.load_config(path), config)
            config["options"]["slotz"] = 3
            with self.assertRaisesRegex(RuntimeError, "slotz"):
                rematlas.save_config(config, path)


if __name__ == "__main__":
    unittest.main()
