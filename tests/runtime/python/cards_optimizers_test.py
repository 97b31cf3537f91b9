"""Optimizers in steps for a card that is not installed: their states, the temporary tensors of their updates,
and the implementation that torch chooses."""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

import torch
from torch import nn

import rematlas
from rematlas.api import graph_of
from rematlas.cards.absent_device import AbsentDevice
from rematlas.cards.optimizer_copies import named_in
from rematlas.cards.optimizers import OF_TORCH, OF_TORCHAO, Chosen, options_of
from rematlas.cards.recorded_step import graph_of_step
from slow import slow
from updated_models import (
    FEW_BYTES,
    UPDATE,
    Adapted,
    KeepsACopy,
    MakesStatesAnew,
    Net,
    OpaqueUpdates,
    Quantized,
    graph,
    held,
    kept_bytes,
    measured,
    plan_of,
    rows,
    updates,
)

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "resources" / "models"))
import adapters  # noqa: E402

HAS_TORCHAO = importlib.util.find_spec("torchao") is not None


def command(*words, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "rematlas", *words], capture_output=True, text=True, timeout=300, cwd=cwd
    )


class OfTorch(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def test_take_what_they_take_in_a_real_step(self):
        for name in OF_TORCH:
            for form in ({"foreach": True}, {"foreach": False}) if "foreach" in options_of(name) else ({},):
                with self.subTest(name, **form):
                    chosen = Chosen.of((name, form))
                    most, optimizer = measured(Net, rows, lambda model: chosen.of_name(model.parameters()))
                    plan = plan_of(Net(), rows(), (name, form))
                    self.assertEqual(
                        held(json.loads(plan.graph_text()), "optimizer_state"), kept_bytes(optimizer)
                    )
                    found = plan.answer().whole_peak_bytes
                    if name == "muon":  # the workspace of its 16-bit products depends on the processor
                        self.assertLessEqual(found, most + FEW_BYTES)
                        self.assertGreater(found, 0.9 * most)
                    else:
                        self.assertLessEqual(abs(found - most), FEW_BYTES)

    def test_hold_temporaries_on_lists_that_plain_and_fused_ones_do_not(self):
        parameters = sum(parameter.nbytes for parameter in Net().parameters())
        found = {form: graph(Net(), rows(), ("adamw", {"foreach": form}), "h100") for form in (True, False)}
        self.assertEqual([op.get("workspace_bytes", 0) for op in updates(found[True])], [parameters])
        plain = updates(found[False])
        self.assertEqual(len(plain), 3)
        self.assertEqual({op["module"] for op in plain}, {"layers.0", "layers.2", "last"})
        self.assertLess(max(op.get("workspace_bytes", 0) for op in plain), 4 * 512 * 512 * 4)
        self.assertEqual(updates(graph(Net(), rows(), "adamw", "h100")), [])

    def test_are_on_lists_where_torch_makes_them_so(self):
        model = Net()
        instance = torch.optim.AdamW(model.parameters())
        self.assertEqual(len(updates(graph(model, rows(), instance, "h100"))), 1)
        self.assertEqual(len(updates(graph(model, rows(), instance, "cpu"))), 3)
        self.assertEqual(len(updates(graph(model, rows(), "rmsprop", "h100"))), 1)

    def test_come_behind_the_backward_and_leave_gradients(self):
        found = graph(Net(), rows(), ("adam", {"foreach": False}), "h100")
        phases = [op["phase"] for op in found["ops"]]
        self.assertEqual(phases[-3:], ["optimizer"] * 3)
        self.assertEqual(phases.count("optimizer"), 3)
        kept = [found["tensors"][tensor] for tensor in found["results"]]
        of_parameters = sum(parameter.nbytes for parameter in Net().parameters())
        self.assertEqual(sum(one["bytes"] for one in kept if one["kind"] == "gradient"), of_parameters)
        for op in updates(found):
            self.assertFalse(op.get("recomputable", True))
            self.assertNotIn("host_time_ns", op)
            self.assertGreater(op["time_ns"], 0)

    def test_are_two_where_one_is_for_matrices(self):
        model, args, kwargs = adapters.large.llama3_8b(batch=2, length=16, small=True)
        plan = graph_of_step(model, args, kwargs, AbsentDevice("h100"), optimizer="muon")
        found = json.loads(plan.graph_text())
        edges = [model.get_input_embeddings().weight, model.get_output_embeddings().weight]
        others = [one for one in model.parameters() if one.ndim != 2 or any(one is edge for edge in edges)]
        whole = sum(one.nbytes for one in model.parameters())
        states = held(found, "optimizer_state") - whole - sum(one.nbytes for one in others)
        self.assertGreaterEqual(states, 0)  # a matrix has one state, and any other parameter has two
        self.assertLess(states, 512 * 3 * len(list(model.parameters())))  # the allocator rounds sizes up

        net = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 64))
        matrices = [one for one in net.parameters() if one.ndim == 2]
        rest = [one for one in net.parameters() if one.ndim != 2]
        pair = [torch.optim.Muon(matrices), torch.optim.AdamW(rest)]
        found = graph(net, rows(), pair)
        expected = sum(one.nbytes for one in matrices) + sum(2 * one.nbytes + 4 for one in rest)
        self.assertEqual(held(found, "optimizer_state"), expected)
        fused = [torch.optim.SGD(matrices, fused=True), torch.optim.AdamW(rest, fused=True)]
        names = [op["name"] for op in graph(net, rows(), fused)["ops"]]
        self.assertEqual((names.count("aten::_fused_sgd_"), names.count("aten::_fused_adamw_")), (2, 2))

    def test_cost_what_they_cost_on_another_card(self):
        plan = plan_of(Net(), rows(), ("adamw", {"foreach": True}), "h100")
        other = plan.on_card(AbsentDevice("h200").recorded_as)
        times = [updates(json.loads(one.graph_text()))[0]["time_ns"] for one in (plan, other)]
        self.assertGreater(times[0], times[1])  # the other card has faster memory
        self.assertGreater(times[1], 0)


class MasterWeights(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def test_take_what_they_take_in_a_real_step(self):
        def with_masters(model, **options):
            masters = [nn.Parameter(parameter.detach().float()) for parameter in model.parameters()]
            return torch.optim.AdamW(masters, **options)

        def step(optimizer, model, at_once):
            pairs = list(zip(model.parameters(), optimizer.param_groups[0]["params"]))
            for some in [pairs] if at_once else [[pair] for pair in pairs]:
                for parameter, master in some:
                    master.grad = parameter.grad.float()
                optimizer.step()
                for parameter, master in some:
                    with torch.no_grad():
                        parameter.copy_(master)
                    master.grad = None

        for form, at_once in (({}, False), ({"foreach": True}, True), ({"foreach": False}, False)):
            with self.subTest(**form):
                of_torch = form or {"fused": True}
                most, optimizer = measured(
                    lambda: Net(torch.bfloat16),
                    lambda: rows(torch.bfloat16),
                    lambda model: with_masters(model, **of_torch),
                    lambda optimizer, model: step(optimizer, model, at_once),
                )
                plan = plan_of(
                    Net(torch.bfloat16), rows(torch.bfloat16), ("adamw", form), master_weights="f32"
                )
                found = json.loads(plan.graph_text())
                masters = sum(master.nbytes for master in optimizer.param_groups[0]["params"])
                self.assertEqual(held(found, "optimizer_state"), kept_bytes(optimizer) + masters)
                self.assertEqual(held(found, "parameter"), masters // 2)
                self.assertLessEqual(abs(plan.answer().whole_peak_bytes - most), FEW_BYTES)
                self.assertRegex(plan.answer().updates, "3 master weights in f32")

    def test_are_refused_where_there_is_nothing_to_do(self):
        with self.assertRaisesRegex(rematlas.Refused, "leave master_weights out"):
            plan_of(Net(), rows(), "adamw", master_weights="f32")
        with self.assertRaisesRegex(ValueError, "expected 'f32'"):
            plan_of(Net(), rows(), "adamw", master_weights="f64")
        with self.assertRaisesRegex(ValueError, "give optimizer"):
            plan_of(Net(), rows(), None, master_weights="f32")


class FrozenParts(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def test_have_no_states(self):
        model = Adapted()
        adapter = 2 * 8 * 256 * 4
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        some = torch.optim.AdamW([model.up.weight], foreach=True)
        for optimizer, expected in (
            (("adamw", {"foreach": True}), 2 * adapter),
            (("sgd", {"momentum": 0.9}), adapter),
            (torch.optim.AdamW(trained, foreach=True), 2 * adapter),
            (some, adapter),
        ):
            found = graph(model, rows(), optimizer, "h100")
            numbers = 512  # bytes of the resident tensor with the learning rate of a fused optimizer
            states = held(found, "optimizer_state")
            self.assertLessEqual(states - expected, numbers)
            self.assertGreaterEqual(states, expected)

    def test_of_four_bits_take_what_they_take_in_a_real_step(self):
        def make():
            torch.manual_seed(0)
            return Quantized()

        x = torch.randn(16, 512)
        most, optimizer = measured(
            make, x.clone, lambda model: torch.optim.AdamW(model.parameters(), foreach=True)
        )
        plan = plan_of(make(), x, ("adamw", {"foreach": True}))
        found = json.loads(plan.graph_text())
        self.assertEqual(held(found, "optimizer_state"), kept_bytes(optimizer))
        self.assertEqual(held(found, "buffer"), sum(buffer.nbytes for buffer in make().buffers()))
        self.assertLessEqual(abs(plan.answer().whole_peak_bytes - most) / most, 0.002)
        real = json.loads(graph_of(make(), (x,)))
        self.assertEqual(
            [op["name"] for op in real["ops"]], [op["name"] for op in found["ops"] if op["name"] != UPDATE]
        )

    def test_of_large_models_are_those_that_really_run(self):
        for function in adapters.MODELS:
            with self.subTest(function.__name__):
                model, args, kwargs = function(batch=2, length=16, small=True)
                real = json.loads(graph_of(model, args, kwargs))
                optimizer = ("adamw", {"foreach": False})
                shapes = json.loads(
                    graph_of_step(model, args, kwargs, AbsentDevice("cpu"), optimizer=optimizer).graph_text()
                )
                ops_of = [[op["name"] for op in found["ops"]] for found in (real, shapes)]
                self.assertEqual(ops_of[0], [name for name in ops_of[1] if name != UPDATE])
                trained = [one for one in model.parameters() if one.requires_grad]
                self.assertEqual(len(updates(shapes)), len(trained))
                states = sum(2 * one.nbytes + 4 for one in trained)
                self.assertEqual(held(shapes, "optimizer_state"), states)

    def test_of_four_bits_are_dequantized_again(self):
        x = torch.randn(16, 512)
        whole = plan_of(Quantized(), x, ("adamw", {"foreach": True})).answer().whole_peak_bytes
        plan = rematlas.plan(
            Quantized(),
            (x,),
            int(0.85 * whole),
            device_profile="cpu",
            optimizer=("adamw", {"foreach": True}),
            time_limit=2,
        )
        answer = plan.compiled("cpu").answer()
        self.assertLessEqual(answer.peak_bytes, int(0.85 * whole))
        self.assertGreater(answer.overhead, 1)


class Instances(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def test_are_left_as_they_were(self):
        model, x = Net(), rows()
        optimizer = torch.optim.Adam(model.parameters())
        schedule = torch.optim.lr_scheduler.LinearLR(optimizer)
        model(x).backward()
        optimizer.step()
        schedule.step()
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        states = {name: tensor.clone() for name, tensor in named_in(optimizer.state_dict(), "").items()}
        gradients = [parameter.grad for parameter in model.parameters()]
        found = graph(model, x, optimizer, "cpu")
        self.assertEqual(held(found, "optimizer_state"), kept_bytes(optimizer))
        self.assertTrue(all(parameter.grad is one for parameter, one in zip(model.parameters(), gradients)))
        for name, tensor in model.state_dict().items():
            self.assertTrue(torch.equal(tensor, before[name]), name)
        for name, tensor in named_in(optimizer.state_dict(), "").items():
            self.assertTrue(torch.equal(tensor, states[name]), name)

    def test_of_classes_of_their_own_are_recorded(self):
        most, optimizer = measured(Net, rows, lambda model: KeepsACopy(model.parameters()))
        model = Net()
        plan = plan_of(model, rows(), KeepsACopy(model.parameters()))
        found = json.loads(plan.graph_text())
        self.assertEqual(held(found, "optimizer_state"), sum(kept.nbytes for kept in optimizer.sums.values()))
        self.assertLessEqual(abs(plan.answer().whole_peak_bytes - most), FEW_BYTES)

    def test_whose_updates_nobody_knows_say_so(self):
        model = Net()
        plan = plan_of(model, rows(), OpaqueUpdates(model.parameters()), "h100")
        found = json.loads(plan.graph_text())
        numbers = sum(parameter.numel() for parameter in model.parameters())
        self.assertEqual(held(found, "optimizer_state"), numbers)
        self.assertIn("rematlas_test::update taken to hold nothing more", plan.answer().updates)

    def test_that_cannot_be_are_refused(self):
        model, x = Net(), rows()
        for optimizer, why in (
            (("adamw", {"capturable": True}), "capturable=True"),  # capturable=True does not run on the CPU
            (torch.optim.LBFGS(model.parameters()), "LBFGS.*closure"),
            (MakesStatesAnew(model.parameters()), r"makes its state .*sum anew.*copy_"),
            (torch.optim.Adagrad(Net().parameters()), "none of the model's parameters"),
        ):
            with self.assertRaisesRegex(rematlas.Refused, why):
                plan_of(model, x, optimizer)
        for optimizer, why in (
            ("lion", "expected .'adamw'"),
            (("adamw", {"momentum": 0.9}), "adamw has no option momentum; it has lr"),
            (("muon", {"foreach": True}), "no option foreach"),
        ):
            with self.assertRaisesRegex(ValueError, why):
                plan_of(model, x, optimizer)
        with self.assertRaisesRegex(TypeError, "instance of torch.optim.Optimizer"):
            plan_of(model, x, 3)


class Plans(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def deep(self):
        return nn.Sequential(*(nn.Sequential(nn.Linear(128, 128), nn.GELU()) for _ in range(8)))

    def test_run_forwards_again_before_a_recorded_update(self):
        x = torch.randn(4096, 128)
        for form in (True, False):
            optimizer = ("adamw", {"foreach": form})
            whole = plan_of(self.deep(), x, optimizer).answer().whole_peak_bytes
            budget = int(0.7 * whole)
            plan = rematlas.plan(
                self.deep(), (x,), budget, device_profile="cpu", optimizer=optimizer, time_limit=2
            )
            answer = plan.compiled("cpu").answer()
            self.assertLessEqual(answer.peak_bytes, budget)
            self.assertLess(answer.overhead, 1.5)
            self.assertIn("is not run by the plan", plan.updates())

    def test_let_states_of_a_plain_optimizer_live_on_the_host(self):
        with torch.device("meta"):
            model = nn.Sequential(*(nn.Linear(1024, 1024) for _ in range(8)))
        x = torch.zeros(64, 1024)
        optimizer = ("adamw", {"foreach": False})
        whole = plan_of(model, x, optimizer, "a100").answer()
        budget = int(0.7 * whole.whole_peak_bytes)
        self.assertLess(budget, whole.resident_bytes + whole.gradient_bytes)
        options = {"device_profile": "a100", "optimizer": optimizer, "time_limit": 3}
        with self.assertRaises(rematlas.Infeasible):
            rematlas.plan(model, (x,), budget, **options)
        answer = rematlas.plan(model, (x,), budget, offload="all", **options).compiled("cpu").answer()
        self.assertLessEqual(answer.peak_bytes, budget)
        self.assertGreater(answer.host_peak_bytes, 0)

    def test_with_recorded_updates_do_not_train(self):
        model, x = Net(), rows()
        options = {"device_profile": "cpu", "optimizer": ("adamw", {"foreach": True}), "time_limit": 1}
        plan = rematlas.plan(model, (x,), "100%", **options)
        for optimizer in (None, torch.optim.AdamW(model.parameters(), fused=True)):
            rematlas.apply(model, plan=plan, optimizer=optimizer, on_refuse="raise")
            with self.assertRaisesRegex(rematlas.Refused, "make it without an optimizer"):
                model(x)
            rematlas.remove(model)

    def test_are_told_of_by_fits_and_capture(self):
        with torch.device("meta"):
            model = Net()
        asked = {"optimizer": ("muon", {}), "cards": "h100"}
        card = rematlas.fits(model, (rows(),), **asked)["cards"][0]
        self.assertRegex(card["updates"], r"muon: its step comes after the backward .*states 1.6 MiB")
        here = pathlib.Path(__file__).parent
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.graph.json"
            words = ("--device", "meta", "--device-profile", "h100", "-o", str(path))
            ends = (
                "--optimizer",
                "adamw",
                "--optimizer-options",
                "lr=0.1,foreach=1",
                "--master-weights",
                "f32",
            )
            done = command("capture", "updated_models:halves", *words, *ends, cwd=here)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(path.read_text())
            program = str(rematlas.library.folder() / "rematlas")
            told = subprocess.run([program, "inspect", str(path)], capture_output=True, text=True)
        self.assertRegex(told.stdout, r"updates\n  adamw on lists of parameters \(foreach\): its step comes")
        self.assertIn("3 master weights in f32", found["provenance"]["optimizer"])
        self.assertEqual(held(found, "optimizer_state"), 6 * held(found, "parameter"))
        done = command("fits", "updated_models:halves", "--cards", "h100", *ends, cwd=here)
        self.assertRegex(done.stdout, "Optimizer: adamw on lists of parameters")

    @slow
    def test_of_steps_that_run_have_fused_updates_alone(self):
        here = pathlib.Path(__file__).parent
        for words, why in (
            (("--optimizer", "muon"), "goes with --device meta"),
            (("--optimizer", "adamw", "--optimizer-options", "foreach=1"), "has the options lr, beta1"),
            (("--optimizer", "adamw", "--master-weights", "f32"), "goes with --device meta"),
            (("--master-weights", "f32"), "goes with --optimizer"),
            (("--optimizer", "adamw", "--optimizer-options", "amsgrad=2"), "amsgrad is 0 or 1"),
        ):
            done = command("capture", "updated_models:halves", *words, cwd=here)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(why, done.stderr)


class OfTorchao(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    @unittest.skipUnless(HAS_TORCHAO, "torchao is not installed")
    def test_take_what_they_take_in_a_real_step(self):
        for name in OF_TORCHAO:
            with self.subTest(name), torch.compiler.set_stance("force_eager"):
                made = Chosen.of(name).of_name
                most, optimizer = measured(Net, rows, lambda model: made(model.parameters()))
                plan = plan_of(Net(), rows(), name)
                rates = 4  # bytes of the learning rate, which is a tensor
                states = held(json.loads(plan.graph_text()), "optimizer_state")
                self.assertEqual(states, kept_bytes(optimizer) + rates)
                self.assertLessEqual(abs(plan.answer().whole_peak_bytes - most) / most, 0.002)
                self.assertIn("was recorded uncompiled", plan.answer().updates)

    @unittest.skipUnless(HAS_TORCHAO, "torchao is not installed")
    def test_weights_in_their_classes_are_refused_and_unwrapped_ones_count(self):
        from torchao.quantization import Int8WeightOnlyConfig, quantize_
        from torchao.utils import unwrap_tensor_subclass

        model = Adapted()
        quantize_(model, Int8WeightOnlyConfig(), filter_fn=lambda module, name: name == "base")
        with self.assertRaisesRegex(rematlas.Refused, "base.weight is a .*unwrap_tensor_subclass"):
            plan_of(model, rows(), "adamw", "h100")
        unwrap_tensor_subclass(model)
        own = {id(one): one.nbytes for one in model.parameters()}
        found = graph(model, rows(), ("adamw", {"foreach": True}))
        self.assertEqual(held(found, "parameter"), sum(own.values()))

    @unittest.skipIf(HAS_TORCHAO, "torchao is installed")
    def test_are_refused_where_it_is_not_installed(self):
        with self.assertRaisesRegex(rematlas.Refused, "install torchao"):
            plan_of(Net(), rows(), "adamw8bit")


if __name__ == "__main__":
    unittest.main()
