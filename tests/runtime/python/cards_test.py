"""Steps for a card that is not installed are recorded from shapes and planned. The model and its arguments do
not change."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import torch
import transformers
from torch import nn

import rematlas
from rematlas.api import graph_of
from rematlas.cards import fits
from rematlas.cards.absent_device import AbsentDevice
from rematlas.cards.recorded_step import graph_of_step
from rematlas_command.builds import minor_of
from slow import slow

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "resources" / "models"))
import large  # noqa: E402
from chain_models import wide  # noqa: E402

MIB = 1 << 20


class Attention(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.causal = causal
        self.projection = nn.Linear(128, 3 * 128)

    def forward(self, x):
        query, key, value = self.projection(x).chunk(3, dim=-1)
        return nn.functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal).sum()


class LooksAtMask(nn.Module):
    """A model that runs different ops if the mask hides nothing. For this it reads the mask's values."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x, mask):
        y = self.linear(x)
        return y if mask.all() else y.masked_fill(~mask, 0.0).tanh()


class Total(nn.Module):
    def forward(self, x):
        return x.sum()


class Checkpoints(nn.Module):
    """A model with checkpoints. Its backward draws the dropout masks again."""

    def __init__(self, reentrant=False):
        super().__init__()
        self.reentrant = reentrant
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Dropout(0.2), nn.Linear(32, 16)) for _ in range(3)
        )

    def forward(self, x):
        for layer in self.layers:
            x = x + torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=self.reentrant)
        return x


class Casts(nn.Module):
    """A model with an autocast region within its forward."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x):
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            y = self.first(x).relu()
        return self.second(y.float())


class DecidesOnce(nn.Module):
    """A model whose first forward sets an attribute that later forwards read, like `problem_type` of the
    classifiers in transformers."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.config = {"loss": None}

    def forward(self, x):
        if self.config["loss"] is None:
            self.config["loss"] = "square"
        return self.linear(x).square().mean()


class AsksTheCard(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.seen = None

    def forward(self, x):
        cuda = torch.cuda
        said = (cuda.is_available(), cuda.get_device_capability(), x.is_cuda, cuda.get_rng_state().dtype)
        torch.cuda.synchronize()
        if said != (True, (9, 0), True, torch.uint8) or torch.tensor([1, 2], device=x.device).tolist() != [
            1,
            2,
        ]:
            raise ValueError(f"the card says {said}")
        return torch.utils.checkpoint.checkpoint(self.linear, x, use_reentrant=False)


def graph(model, *args, card="h100", **options):
    kwargs = options.pop("kwargs", {})
    return json.loads(graph_of_step(model, args, kwargs, AbsentDevice(card), **options).graph_text())


def names(found):
    return [op["name"] for op in found["ops"]]


def held(found, kind):
    return sum(tensor["bytes"] for tensor in found["tensors"] if tensor["kind"] == kind)


class Steps(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")
        transformers.logging.set_verbosity_error()

    def test_of_small_models_are_those_that_really_run(self):
        for function in large.MODELS:
            if function is large.qwen3_30b_a3b and minor_of(torch.__version__) == "2.11":
                continue  # the shape function of this torch for grouped products takes bf16 only
            with self.subTest(function.__name__):
                torch.manual_seed(0)
                model, args, kwargs = function(batch=2, length=16, small=True)
                real = json.loads(graph_of(model, args, kwargs))
                shapes = graph(model, *args, kwargs=kwargs, card="cpu")
                for part, fields in (("ops", ("name", "module", "phase")), ("tensors", ("kind", "bytes"))):
                    of_real, of_shapes = (
                        [[one.get(field) for field in fields] for one in found[part]]
                        for found in (real, shapes)
                    )
                    self.assertEqual(of_real, of_shapes, part)

    def test_are_those_that_really_run_with_random_numbers_and_casts(self):
        for make, rows in ((Checkpoints, 4), (Casts, 16)):
            model, x = make(), torch.randn(rows, 16)
            real, shapes = json.loads(graph_of(model, (x,))), graph(model, x, card="cpu")
            self.assertEqual(names(real), names(shapes))
            self.assertEqual([op["inputs"] for op in real["ops"]], [op["inputs"] for op in shapes["ops"]])

    def test_draw_each_mask_of_a_checkpoint_once_more(self):
        found = graph(Checkpoints(), torch.randn(4, 16))
        drawn = [set(op["outputs"]) for op in found["ops"] if op["name"] == "aten::native_dropout"]
        masks = [
            [tensor for tensor in op["inputs"] if any(tensor in made for made in drawn)]
            for op in found["ops"]
            if op["name"] == "aten::native_dropout_backward"
        ]
        self.assertEqual(len(drawn), 3)
        self.assertEqual(len(masks), 3)
        self.assertEqual(len({tensor for found in masks for tensor in found}), 3)

    def test_of_several_threads_take_turns(self):
        model = nn.Sequential(nn.Embedding(64, 32), nn.Linear(32, 8))
        texts, found = torch.zeros(2, 16, dtype=torch.long), []
        threads = [
            threading.Thread(target=lambda: found.extend(names(graph(model, texts)) for _ in range(4)))
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 12)
        self.assertEqual(len(set(map(tuple, found))), 1)

    def test_of_a_model_on_the_meta_device_hold_all_residents(self):
        model, args, kwargs = large.gpt2_xl(batch=1, length=1024)
        found = graph(model, *args, kwargs=kwargs, optimizer=("adamw", {"lr": 1e-4}))
        numbers = sum(parameter.numel() for parameter in model.parameters())
        self.assertEqual(numbers, 1_557_611_200)
        self.assertAlmostEqual(held(found, "parameter") / (2 * numbers), 1, delta=1e-3)
        self.assertAlmostEqual(held(found, "optimizer_state") / (4 * numbers), 1, delta=1e-3)
        self.assertEqual(names(found).count("aten::_fused_adamw_"), len(list(model.parameters())))

    def test_keep_causal_attention_and_autocast(self):
        x = torch.randn(1, 2, 16, 128)
        for causal in (True, False):
            found = graph(Attention(causal), x, card="a100", autocast="bf16")
            of_cards = [op for op in found["replay"]["ops"] if "_scaled_dot_product_" in op["op"]]
            self.assertEqual(len(of_cards), 2)  # forward and backward
            for op in of_cards:
                self.assertEqual(next(one for one in op["arguments"] if isinstance(one, bool)), causal)
                self.assertNotIn("math", op["op"])
            self.assertIn("aten::_to_copy", names(found))

    def test_read_values_where_they_are_given(self):
        x, mask = torch.randn(4, 8), torch.ones(4, 8, dtype=torch.bool)
        with self.assertRaisesRegex(rematlas.Refused, "aten::.* the value of a tensor is needed"):
            graph(LooksAtMask(), x, mask)
        self.assertNotIn("aten::tanh", names(graph(LooksAtMask(), x, mask, values=True)))
        mask[0, 0] = False
        self.assertIn("aten::tanh", names(graph(LooksAtMask(), x, mask, values=True)))

    def test_are_those_that_the_card_would_run(self):
        if torch.cuda.is_available():
            self.skipTest("the card that is there says what it is")
        graph(AsksTheCard(), torch.randn(2, 8))
        self.assertFalse(torch.cuda.is_available() or torch.cuda.is_initialized())
        with self.assertRaises((RuntimeError, AssertionError)):
            torch.zeros(2, device="cuda")

    def test_are_those_of_a_module_that_has_decided(self):
        model = DecidesOnce()
        self.assertIn("aten::mean", names(graph(model, torch.randn(2, 8))))
        self.assertIsNone(model.config["loss"])

    def test_leave_the_model_as_it_was(self):
        model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.5)).eval()
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        torch.manual_seed(3)
        expected = torch.rand(3)
        torch.manual_seed(3)
        graph(model, torch.randn(4, 8, generator=torch.Generator()))
        self.assertTrue(torch.equal(torch.rand(3), expected))
        self.assertFalse(any(module.training for module in model.modules()))
        for name, tensor in model.state_dict().items():
            self.assertTrue(torch.equal(tensor, before[name]) and tensor.device.type == "cpu", name)
        y = model(torch.ones(1, 8)).sum()
        y.backward()  # autograd and the host still work after the capture
        self.assertIsNotNone(model[0].weight.grad)

    def test_differ_with_the_card(self):
        x = torch.randn(1, 2, 16, 128, dtype=torch.bfloat16)
        of = {
            card: names(graph(Attention(False).bfloat16(), x, card=card)) for card in ("h100", "a100", "v100")
        }
        self.assertIn("aten::_scaled_dot_product_cudnn_attention", of["h100"])
        self.assertIn("aten::_scaled_dot_product_flash_attention", of["a100"])
        self.assertNotIn("aten::_scaled_dot_product_flash_attention", of["v100"])

    def test_may_run_batch_norms_again(self):
        model = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.LazyLinear(1)
        )
        x = torch.randn(4, 3, 8, 8)
        model(x)
        for card, library in (("v100", "cudnn"), ("cpu", "native")):
            found = graph(nn.Sequential(*model, Total()), x, card=card)
            kinds = {tensor["id"]: tensor["kind"] for tensor in found["tensors"]}
            (norm,) = [op for op in found["ops"] if op["name"].endswith("_batch_norm")]
            if not torch.cuda.is_available():  # with CUDA, the libraries of CUDA decide which op runs
                self.assertEqual(norm["name"], f"aten::{library}_batch_norm")
            self.assertTrue(norm.get("recomputable", True), card)
            self.assertEqual([kinds[tensor] for tensor in norm["mutates"]], ["buffer", "buffer"], card)


class Plans(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def test_keep_the_budget(self):
        model, args, kwargs = large.gpt2_xl(batch=4, length=512)
        plan = rematlas.plan(
            model,
            args,
            "36GiB",
            kwargs,
            device="cuda",
            device_profile="a100",
            optimizer=("adamw", {}),
            time_limit=1,
        )
        answer = plan.compiled("cpu").answer()
        self.assertLessEqual(answer.peak_bytes, 36 << 30)
        self.assertLessEqual(answer.bound, answer.overhead)
        self.assertEqual(plan.budget_bytes(), 36 << 30)

    def test_train_on_the_device_when_it_is_there(self):
        torch.manual_seed(0)
        model = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(8)))
        x = torch.randn(256, 64)
        with torch.device("meta"):
            twin = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(8)))
        plan = rematlas.plan(
            twin, torch.randn(256, 64, device="meta"), "70%", device_profile="cpu", time_limit=1
        )
        plain = [
            gradient.clone()
            for gradient in torch.autograd.grad(model(x).square().sum(), list(model.parameters()))
        ]
        rematlas.apply(model, plan=plan, on_refuse="raise")
        for _ in range(6):
            model.zero_grad()
            model(x).square().sum().backward()
            for parameter, gradient in zip(model.parameters(), plain):
                self.assertTrue(torch.equal(parameter.grad, gradient))
        self.assertEqual(rematlas.status(model).state, "planned")
        self.assertGreater(rematlas.status(model).replayed, 0)

    def test_say_what_cannot_be(self):
        model, args, kwargs = large.gpt2_xl(batch=1, length=256)
        with self.assertRaisesRegex(rematlas.Infeasible, "every schedule needs at least"):
            rematlas.plan(model, args, "2GiB", kwargs, device_profile="h100", time_limit=1)
        with self.assertRaisesRegex(ValueError, "h101"):
            rematlas.plan(model, args, "2GiB", kwargs, device_profile="h101")
        with self.assertRaisesRegex(ValueError, "is of a cuda device"):
            rematlas.plan(model, args, "2GiB", kwargs, device="cpu", device_profile="h100")
        with self.assertRaisesRegex(ValueError, "give 'cuda'"):
            rematlas.plan(model, args, "2GiB", kwargs, device="cuda:5", device_profile="h100")
        with self.assertRaisesRegex(TypeError, "shapes says how steps run"):
            rematlas.plan(model, args, "2GiB", kwargs, device_profile="h100", shapes=3)


def command(*words, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "rematlas", *words], capture_output=True, text=True, timeout=300, cwd=cwd
    )


class Fits(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def card(self, folder, mebibytes):
        profile = json.loads((ROOT / "resources" / "devices" / "rtx4090.json").read_text())
        profile["memory_bytes"] = mebibytes * MIB + fits.DRIVERS_BYTES
        profile["matmul_workspace_bytes"] = 0
        path = pathlib.Path(folder) / f"small{mebibytes}.json"
        path.write_text(json.dumps(profile))
        return str(path)

    def test_tells_each_way(self):
        model, args = wide(batch=16384)
        with tempfile.TemporaryDirectory() as folder:
            cards = [self.card(folder, mebibytes) for mebibytes in (1000, 200, 100, 20)]
            found = rematlas.fits(model, args, cards=cards, offload="activations", time_limit=1)["cards"]
        self.assertEqual([card["memory_bytes"] for card in found[:1]], [1000 * MIB + fits.DRIVERS_BYTES])
        ways = [{way["way"]: way for way in card["ways"]} for card in found]
        self.assertEqual([way["plain"]["fits"] for way in ways], [True, False, False, False])
        self.assertEqual([way["recompute"]["fits"] for way in ways], [True, True, False, False])
        self.assertTrue(ways[1]["offload"]["fits"])
        self.assertFalse(ways[3]["offload"]["fits"])
        for way in ways:
            for one in way.values():
                if one["fits"]:
                    self.assertLessEqual(one["bound"], one["overhead"] * (1 + 1e-9))
        self.assertLessEqual(ways[1]["recompute"]["peak_bytes"], 200 * MIB)
        self.assertGreater(ways[1]["recompute"]["overhead"], 1)
        self.assertGreater(ways[3]["recompute"]["needed_bytes"], 20 * MIB)

    def test_takes_no_more_time_than_allowed(self):
        model, args = wide(batch=16384)
        with tempfile.TemporaryDirectory() as folder:
            cards = [self.card(folder, 200)]
            found = rematlas.fits(model, args, cards=cards, max_overhead=1.0001, time_limit=1)["cards"]
        self.assertFalse(found[0]["ways"][1]["fits"])
        self.assertGreater(found[0]["ways"][1]["overhead"], 1.0001)

    def test_the_largest_batch_fits_and_a_larger_one_does_not(self):
        with tempfile.TemporaryDirectory() as folder:
            card = self.card(folder, 400)
            asked = ["chain_models:wide", "--cards", card, "--vary", "batch", "--time-limit", "1", "--json"]
            done = command("fits", *asked, cwd=pathlib.Path(__file__).parent)
            self.assertEqual(done.returncode, 0, done.stderr)
            plain, recompute = json.loads(done.stdout)["cards"][0]["ways"]
            self.assertEqual(plain["largest_overhead"], 1)
            self.assertGreater(recompute["largest_overhead"], 1)
            self.assertGreater(recompute["largest"], plain["largest"])
            room = 400 * MIB
            for batch, is_less in ((plain["largest"], True), (plain["largest"] * 9 // 8, False)):
                model, args = wide(batch=batch)
                whole = graph_of_step(model, args, {}, AbsentDevice(card)).answer().whole_peak_bytes
                self.assertEqual(whole <= room, is_less, batch)

    def test_is_a_table_for_people(self):
        done = command("fits", "chain_models:wide", "--cards", "h100,t4", cwd=pathlib.Path(__file__).parent)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(
            done.stdout, r"(?s)card +memory +as it is +recomputed\nh100 +80 GiB +x1.00, .*\nt4 +"
        )

    def test_says_what_is_proven_and_what_was_only_found(self):
        way = {"fits": False, "overhead": None, "needed_bytes": 3 << 30, "peak_bytes": 4 << 30}
        self.assertEqual(fits.cell_of(way, None), "no: needs 3.0 GiB")
        self.assertEqual(fits.cell_of(way | {"needed_bytes": None}, None), "no: least found 4.0 GiB")
        self.assertEqual(fits.cell_of(way | {"needed_bytes": None, "peak_bytes": None}, None), "no")

    def test_refuses_what_is_no_question(self):
        model, args = wide()
        for given, why in (
            ({"cards": []}, "expected names such as h100"),
            ({"cards": "cpu"}, "does not say how much memory"),
            ({"max_overhead": 0.5}, "at least 1"),
            ({"max_overhead": float("nan")}, "at least 1"),
            ({"time_limit": -1}, "expected seconds"),
            ({"optimizer": "lion", "cards": "h100"}, "expected .'adamw'"),
            ({"optimizer": ("adamw", {"lr": float("nan")}), "cards": "h100"}, "expected a number"),
        ):
            with self.assertRaisesRegex(ValueError, why):
                rematlas.fits(model, args, **given)
        with self.assertRaisesRegex(TypeError, "torch.nn.Module"):
            rematlas.fits(3, args, cards="h100")
        self.assertEqual(len(rematlas.fits(model, args, cards="h100, h100")["cards"]), 1)

    def test_knows_all_cards(self):
        found = fits.known_cards()
        self.assertGreaterEqual(len(found), 17)
        self.assertLessEqual({"h100", "rtx4090", "t4", "mi300x"}, set(found))

    def test_says_what_is_wrong(self):
        for words, why in (
            (("--cards", "h101"), "h101"),
            (("--vary", "length"), "takes no keyword length"),
            (("--set", "width"), "expected NAME=VALUE"),
            (("--max-overhead", "0.5"), "at least 1"),
        ):
            done = command("fits", "chain_models:wide", *words, cwd=pathlib.Path(__file__).parent)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(why, done.stderr)


class Commands(unittest.TestCase):
    @slow
    def test_maxbatch_takes_a_function(self):
        here = pathlib.Path(__file__).parent
        environment = os.environ | {"REMATLAS_PYTHON": sys.executable}
        words = ["maxbatch", "chain_models:wide", "--device", "meta", "--device-profile", "h100", "--json"]
        words += ["--optimizer", "adamw", "--budget", "100MiB", "--max-overhead", "1.2", "--time-limit", "5s"]
        done = subprocess.run(
            [str(rematlas.library.folder() / "rematlas"), *words],
            capture_output=True,
            text=True,
            cwd=here,
            env=environment,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertGreater(found["batch"], found["without_recomputation"])
        self.assertEqual(found["varies"], "batch")
        model, args = wide(batch=found["without_recomputation"])
        plan = graph_of_step(model, args, {}, AbsentDevice("h100"), optimizer=("adamw", {}))
        self.assertLessEqual(plan.answer().whole_peak_bytes, 100 * MIB)

    def test_values_of_which_there_is_no_step_end_the_search(self):
        here = pathlib.Path(__file__).parent
        words = ("--vary", "batch", "--cards", "h100", "--json")
        done = command("fits", "chain_models:limited", *words, cwd=here)
        self.assertEqual(done.returncode, 0, done.stderr)
        for way in json.loads(done.stdout)["cards"][0]["ways"]:
            self.assertGreaterEqual(way["largest"], 96)
            self.assertLessEqual(way["largest"], 100)
            self.assertRegex(
                way["ends"], r"chain_models:limited\(batch=1\d\d\) raises IndexError: 1\d\d is too"
            )
        done = command("fits", "chain_models:limited", "--set", "batch=200", *words, cwd=here)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("200 is too many", done.stderr)

    def test_fits_writes_its_answer_and_draws_it(self):
        here = pathlib.Path(__file__).parent
        with tempfile.TemporaryDirectory() as folder:
            answer, picture = pathlib.Path(folder) / "x.fits.json", pathlib.Path(folder) / "x.svg"
            cards = ("--cards", "h100,t4", "--set", "width=64", "--json")
            done = command(
                "fits", "chain_models:wide", *cards, "-o", str(answer), "--plot", str(picture), cwd=here
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(done.stdout)
            self.assertEqual(json.loads(answer.read_text()), found)
            self.assertEqual((found["format"], found["name"]), ("rematlas.fits", "chain_models:wide"))
            self.assertIn("chain_models:wide: on which cards it fits", picture.read_text())
            for wrong, why in (
                (("--plot", "x.gif"), "ends in .svg"),
                (("-o", f"{folder}/no/x"), "No such file"),
            ):
                done = command("fits", "chain_models:wide", *cards, *wrong, cwd=here)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(why, done.stderr)

    def test_capture_writes_the_graph(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.graph.json"
            words = ("--device", "meta", "--device-profile", "h100", "--optimizer", "adamw", "-o", str(path))
            done = command("capture", "large:gpt2_xl", *words, cwd=ROOT / "resources" / "models")
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(path.read_text())
            self.assertEqual(found["provenance"]["captured"], "from shapes")
            self.assertIn("NVIDIA H100", found["provenance"]["times"])

    def test_the_host_decides_how_long_updates_take_there(self):
        model, args = wide(batch=4)
        adamw = {"optimizer": ("adamw", {})}
        slow, fast = (
            json.loads(graph_of_step(model, args, {}, AbsentDevice("h100", host), **adamw).graph_text())
            for host in ("desktop", "workstation")
        )
        self.assertIn("desktop", slow["provenance"]["host_times"])
        self.assertNotIn("host_memory_bytes", slow["device"])
        pairs = [(a, b) for a, b in zip(slow["ops"], fast["ops"]) if "host_time_ns" in a]
        self.assertTrue(pairs)
        for a, b in pairs:
            self.assertEqual(a["time_ns"], b["time_ns"])
            ratio = (a["host_time_ns"] - 10000) / max(b["host_time_ns"] - 10000, 1)
            if a["host_time_ns"] > 100_000:
                self.assertAlmostEqual(ratio, 245 / 70, delta=0.02)

    def test_the_memory_of_the_host_is_a_budget(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "host.json"
            host = {"format": "rematlas.host", "version": 1, "name": "small", "cores": 2}
            host |= {"memory_bytes_per_second": 2e10, "memory_bytes": 4096}
            path.write_text(json.dumps(host))
            model, args = wide(batch=4, width=1024)
            how = {"device_profile": "h100", "optimizer": ("adamw", {}), "time_limit": 1, "offload": "all"}
            with self.assertRaisesRegex(rematlas.Infeasible, "4.00 KiB on the host"):
                rematlas.plan(model, args, "50%", host_profile=str(path), **how)
            rematlas.plan(model, args, "50%", **how)
            with self.assertRaisesRegex(ValueError, "laptop"):
                rematlas.plan(model, args, "50%", host_profile="laptop", **how)

    @slow
    def test_capture_refuses_in_one_line(self):
        for words, why in (
            (("--device", "meta"), "--device-profile is missing"),
            (("--device", "meta", "--device-profile", "h101"), "h101"),
            (("--device-profile", "h100"), "goes with --device meta"),
            (("--host-profile", "desktop"), "goes with --device meta"),
            (("--device", "meta", "--device-profile", "h100", "--host-profile", "laptop"), "laptop"),
            (("--values",), "goes with --device meta"),
        ):
            done = command("capture", "chain_models:wide", *words, cwd=pathlib.Path(__file__).parent)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(why, done.stderr)
            self.assertEqual(
                len([line for line in done.stderr.splitlines() if line.startswith("rematlas")]), 1
            )


if __name__ == "__main__":
    unittest.main()
