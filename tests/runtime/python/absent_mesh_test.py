"""Steps of one rank of a distributed model are recorded from shapes, without processes. They have the same
ops, tensors and bytes as steps that real processes record."""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
import transformers
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn import functional

import rematlas
from parallel_test import free_port
from rematlas.api import graph_text, of
from rematlas.cards.absent_device import AbsentDevice
from rematlas.cards.recorded_step import graph_of_step
from rematlas.cards.sharding import Precision, divide
from slow import slow

WIDTH, HEAD, WORDS = 64, 16, 101
MIXED = {"param_dtype": "bf16", "reduce_dtype": "f32"}


def heads(x):
    return x.view(*x.shape[:2], -1, HEAD).transpose(1, 2)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        y = self.n1(x)
        mixed = functional.scaled_dot_product_attention(
            heads(self.q(y)), heads(self.k(y)), heads(self.v(y)), is_causal=True
        )
        x = x + self.o(mixed.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.n2(x))))


class Gpt(nn.Module):
    def __init__(self, words=WORDS):
        super().__init__()
        self.embedding = nn.Embedding(words, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, words)

    def forward(self, words):
        x = self.embedding(words)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x)).flatten(0, 1).float()
        return functional.cross_entropy(logits, words.flatten())


def gpt(device, words=WORDS):
    with torch.device(device):
        return Gpt(words), (torch.zeros(2, 16, dtype=torch.long),), {}


def llama(device, **sizes):
    config = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "vocab_size": 128}
    config |= {"num_attention_heads": 4, "num_key_value_heads": 2, **sizes}
    with torch.device(device):
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**config))
        ids = torch.zeros(2, 16, dtype=torch.long)
    return model, (), {"input_ids": ids, "labels": ids, "use_cache": False}


def divided_gpt(mesh):
    """Makes a model with sequence parallelism, tensor parallelism and sharding."""
    model, args, kwargs = gpt("meta", 104)
    whole = {
        "embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "norm": SequenceParallel(),
        "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
    }
    styles = {
        **{name: SequenceParallel() for name in ("n1", "n2")},
        **{name: ColwiseParallel(input_layouts=Shard(1)) for name in ("q", "k", "v", "up")},
        **{name: RowwiseParallel(output_layouts=Shard(1)) for name in ("o", "down")},
    }
    for block in model.blocks:
        parallelize_module(block, mesh["tp"], styles)
    parallelize_module(model, mesh["tp"], whole)
    for part in (*model.blocks, model):
        fully_shard(part, mesh=mesh["outer"])
    return model, args, kwargs


def step(mesh=None):
    """The function that the command line captures."""
    return gpt("meta") if mesh is None else divided_gpt(mesh)


def shapes(make, mesh, profile="cpu", **options):
    model, args, kwargs = make("meta")
    return graph_of_step(model, args, kwargs, AbsentDevice(profile), mesh=mesh, **options)


def facts(graph):
    """Returns what must be equal in two graphs of the same step: the ops without their times, and the
    tensors."""
    tensors = graph["tensors"]
    ops = [
        (op["name"], op.get("module"), op.get("phase"), op["inputs"], op["outputs"]) for op in graph["ops"]
    ]
    return ops, [(tensor["name"], tensor["kind"], tensor["bytes"]) for tensor in tensors]


def train(rank, port, make, mesh, precision, path) -> None:
    """Records and plans steps of a distributed model in one of several processes. Rank 0 writes the graph."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=math.prod(mesh.values()))
    model, args, kwargs = make("cpu")
    divide(
        model,
        init_device_mesh("cpu", tuple(mesh.values()), mesh_dim_names=tuple(mesh)),
        Precision(**precision),
    )
    rematlas.apply(model, "100%", solver="keep-all")
    for _ in range(6):
        output = model(*args, **kwargs)
        (output if isinstance(output, torch.Tensor) else output.loss).backward()
        rematlas.status(model).wait()
        model.zero_grad()
    if rank == 0:
        path.write_text(graph_text(of(model)) or rematlas.status(model).reason)
    dist.barrier()
    dist.destroy_process_group()


class SameAsProcesses(unittest.TestCase):
    maxDiff = 2000

    def expect_same(self, make, mesh, **precision):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "graph"
            given = free_port(), make, mesh, precision, path
            multiprocessing.spawn(train, given, nprocs=math.prod(mesh.values()))
            real = facts(json.loads(path.read_text()))
        found = facts(json.loads(shapes(make, mesh, **precision).graph_text()))
        for wanted, present in zip(real, found):
            self.assertEqual(wanted, present)

    def test_shards(self):
        self.expect_same(gpt, {"fsdp": 2})

    def test_shards_of_a_model_of_transformers_in_mixed_precision(self):
        self.expect_same(llama, {"fsdp": 2}, **MIXED)

    @slow
    def test_replicas_of_shards(self):
        self.expect_same(gpt, {"dp": 2, "fsdp": 2})

    def test_tensors(self):
        self.expect_same(llama, {"tp": 2})

    @slow
    def test_shards_of_tensors(self):
        self.expect_same(llama, {"fsdp": 2, "tp": 2})


class Steps(unittest.TestCase):
    def graph(self, plan):
        return json.loads(plan.graph_text())

    def test_parameters_are_the_shards_of_the_rank_and_their_wholes_are_activations(self):
        graph = self.graph(shapes(gpt, "fsdp=4", "h100"))
        sizes = {tensor["name"]: tensor["bytes"] for tensor in graph["tensors"]}
        self.assertEqual(sizes["blocks.0.up.weight"], 4 * WIDTH * WIDTH * 4 // 4)
        self.assertEqual(sizes["head.weight"], 26 * WIDTH * 4)  # a quarter of 101 words, rounded up
        kinds = {
            graph["tensors"][place]["kind"]
            for op in graph["ops"]
            if op["name"] == "_c10d_functional::all_gather_into_tensor"
            for place in op["outputs"]
        }
        self.assertEqual(kinds, {"activation"})

    def test_updates_of_shards(self):
        for optimizer in ("sgd", "adamw"):
            plan = shapes(gpt, "fsdp=2", "h100", optimizer=(optimizer, {}))
            self.assertIn("when its gradient is final", plan.answer().updates)
            updates = [op for op in self.graph(plan)["ops"] if f"_fused_{optimizer}" in op["name"]]
            self.assertEqual(len(updates), len(list(Gpt().parameters())))

    def test_updates_behind_the_backward(self):
        def states(mesh):
            plan = shapes(gpt, mesh, optimizer=("adamw", {"foreach": True}))
            tensors = self.graph(plan)["tensors"]
            return sum(tensor["bytes"] for tensor in tensors if tensor["kind"] == "optimizer_state")

        self.assertAlmostEqual(states("fsdp=2") / states(None), 0.5, delta=0.01)

    def test_an_optimizer_that_is_given(self):
        model, args, kwargs = gpt("meta")
        for fused in (False, True):
            optimizer = torch.optim.AdamW(model.parameters(), fused=fused, foreach=not fused)
            plan = graph_of_step(
                model, args, kwargs, AbsentDevice("h100"), mesh="fsdp=2", optimizer=optimizer
            )
            self.assertEqual("when its gradient is final" in plan.answer().updates, fused)

    def test_the_model_stays_as_it_was(self):
        model, args, kwargs = gpt("cpu")
        before = [(type(part), list(part.__dict__)) for part in model.modules()]
        weights = [parameter.clone() for parameter in model.parameters()]
        for profile in ("cpu", "h100", "h100"):
            graph_of_step(model, args, kwargs, AbsentDevice(profile), mesh="fsdp=2")
        self.assertEqual(before, [(type(part), list(part.__dict__)) for part in model.modules()])
        self.assertTrue(all(map(torch.equal, weights, model.parameters())))
        self.assertFalse(dist.is_initialized())
        self.assertIs(sys.excepthook, sys.__excepthook__)

    def test_a_function_that_divides_its_model(self):
        plan = graph_of_step(divided_gpt, (), {}, AbsentDevice("h100"), mesh="outer=4,tp=2")
        names = {op["name"].partition("::")[2] for op in self.graph(plan)["ops"]}
        self.assertLessEqual({"all_gather_into_tensor", "reduce_scatter_tensor", "all_reduce"}, names)
        self.assertEqual(self.graph(plan)["name"], "Gpt")

    def test_outputs_that_are_dtensors(self):
        def parts(mesh):
            block = nn.Sequential(nn.Linear(8, 8, device="meta"))
            return parallelize_module(block, mesh, {"0": ColwiseParallel(use_local_output=False)})

        given = torch.empty(4, 8, device="meta")
        plan = graph_of_step(parts, (given,), {}, AbsentDevice("cpu"), mesh="tp=2")
        self.assertIn(4 * 4 * 4, [tensor["bytes"] for tensor in self.graph(plan)["tensors"]])

    def test_plans_and_cards(self):
        model, args, _ = gpt("meta")
        given = {"mesh": "fsdp=2", "param_dtype": "bf16", "reduce_dtype": "f32"}
        plan = rematlas.plan(model, args, "1GiB", device_profile="h100", **given)
        self.assertEqual(plan.budget_bytes(), 1 << 30)
        one, several = (
            rematlas.fits(model, args, optimizer=("adamw", {}), cards=["h100"], **options)["cards"][0]
            for options in ({}, {"mesh": "fsdp=64"})
        )
        self.assertLess(several["ways"][0]["peak_bytes"], one["ways"][0]["peak_bytes"])


class Groups(unittest.TestCase):
    def spans(self, mesh, make=llama):
        found = shapes(make, mesh, "h100").spans.values()
        in_node = {span.dimensions: sum(rank < 8 for rank in span.ranks) for span in found}
        return {span.dimensions: (len(span.ranks), in_node[span.dimensions]) for span in found}

    def test_groups_of_ranks(self):
        self.assertEqual(self.spans("fsdp=16"), {("fsdp",): (16, 8)})
        self.assertEqual(self.spans("fsdp=8,tp=2"), {("fsdp",): (8, 4), ("tp",): (2, 2)})
        self.assertEqual(self.spans("tp=2,fsdp=8"), {("fsdp",): (8, 8), ("tp",): (2, 1)})
        self.assertEqual(self.spans("dp=4,fsdp=2", gpt), {("dp",): (4, 4), ("fsdp",): (2, 2)})
        self.assertEqual(self.spans("dp=4", gpt), {})

    def test_a_group_along_two_dimensions(self):
        def flat(mesh):
            model, args, kwargs = gpt("meta")
            return fully_shard(model, mesh=mesh["a", "b"]._flatten("ab")), args, kwargs

        plan = graph_of_step(flat, (), {}, AbsentDevice("h100"), mesh={"a": 2, "b": 8})
        self.assertEqual([tuple(span) for span in plan.spans.values()], [(("a", "b"), tuple(range(16)))])


class Blocks(unittest.TestCase):
    def scatters(self, model):
        plan = graph_of_step(
            model, (torch.empty(4, 8, device="meta"),), {}, AbsentDevice("cpu"), mesh="fsdp=2"
        )
        ops = json.loads(plan.graph_text())["ops"]
        return sum("reduce_scatter" in op["name"] for op in ops)

    def test_repeated_blocks_of_any_list_are_groups(self):
        def block():
            return nn.Sequential(nn.Linear(8, 8), nn.GELU())

        with torch.device("meta"):
            with_head = nn.Sequential(block(), block(), block(), nn.Linear(8, 8))
            layers = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 8))
            nested = nn.Sequential(nn.Sequential(block(), block()), nn.Linear(8, 8))
        self.assertEqual([self.scatters(model) for model in (with_head, layers, nested)], [4, 1, 3])


class Links(unittest.TestCase):
    def collectives(self, mesh, make=llama, **options):
        graph = json.loads(shapes(make, mesh, "h100", **options).graph_text())
        return [op for op in graph["ops"] if "queue" in op], graph

    def test_collectives_have_queues_and_times_by_links(self):
        fast, graph = self.collectives("fsdp=8,tp=2")
        slow, _ = self.collectives("fsdp=8,tp=2", rank_links="ib200")
        self.assertEqual({op["queue"] for op in fast}, {"fsdp", "tp"})
        self.assertEqual(graph["provenance"]["links_between_ranks"], "nvlink4,ib400")
        for one, other in zip(fast, slow, strict=True):
            self.assertEqual(one["wire_bytes"], other["wire_bytes"])
            self.assertLess(one["time_ns"], other["time_ns"])
        bytes_of = {tensor["id"]: tensor["bytes"] for tensor in graph["tensors"]}
        for op in fast:
            if "all_gather" in op["name"]:
                whole, part = bytes_of[op["outputs"][0]], bytes_of[op["inputs"][0]]
                # The sizes of tensors are rounded up to blocks of the allocator.
                self.assertAlmostEqual(op["wire_bytes"] / (whole - part), 1, delta=0.05)

    def test_updates_and_other_cards_keep_queues(self):
        model, args, kwargs = llama("meta")
        options = {"mesh": "fsdp=2", "optimizer": ("adamw", {})}
        plan = graph_of_step(model, args, kwargs, AbsentDevice("h100"), **options)
        ops = json.loads(plan.graph_text())["ops"]
        self.assertEqual({op.get("queue") for op in ops if "_c10d_functional" in op["name"]}, {"fsdp"})
        found = rematlas.fits(model, args, kwargs, cards=["a100", "rtx4090"], **options)["cards"]
        self.assertEqual([card["rank_links"] for card in found], ["nvlink3,ib200", "pcie4,ib200"])
        times = [card["ways"][0]["time_ns"] for card in found]
        self.assertTrue(all(times), times)

    def test_wrong_links(self):
        for links, words in (
            ("nvlink9", "are not known; known are"),
            ("nvlink4", "spans several nodes of 8: name the links between nodes too"),
            ("ib200,ib400", "both connect all ranks"),
        ):
            with self.subTest(links), self.assertRaisesRegex(ValueError, words):
                self.collectives("fsdp=16", gpt, rank_links=links)
        model, args, _ = gpt("meta")
        with self.assertRaisesRegex(ValueError, "links between ranks go with mesh"):
            rematlas.plan(model, args, "100%", device_profile="h100", rank_links="nvlink4")


class Refusals(unittest.TestCase):
    def expect(self, words, mesh, make=gpt, kind=rematlas.Refused, **options):
        with self.assertRaisesRegex(kind, words):
            shapes(make, mesh, "h100", **options)

    def test_meshes(self):
        for mesh in (
            "",
            "fsdp",
            "fsdp=",
            "fsdp=0",
            "fsdp=2,fsdp=2",
            "a b=2",
            "fsdp=1e3",
            8,
            {"fsdp": "2"},
            {},
        ):
            self.expect("mesh is .*; expected names with numbers", mesh, kind=ValueError)
        self.expect("expected at most 65,536 ranks", "fsdp=100000", kind=ValueError)
        self.expect("cp: models are divided along dp, .*keyword mesh", "cp=2")
        self.expect("both mean replicas", "dp=2,replicate=2,fsdp=2")

    def test_options(self):
        self.expect("param_dtype is 'f8'", "fsdp=2", kind=ValueError, param_dtype="f8")
        self.expect("reduce_dtype is for shards", "tp=2", kind=ValueError, reduce_dtype="f32")
        self.expect("chunk_loss takes a head", "fsdp=2", make=llama, kind=ValueError, chunk_loss=2)
        self.expect("muon cannot be recorded.*takes whole matrices", "fsdp=2", optimizer=("muon", {}))

    def test_tensor_parallelism(self):
        self.expect("Gpt has no plan of tensor parallelism.*keyword mesh", "tp=2")
        self.expect("128 rows or columns, which 3 ranks", "tp=3", make=llama)

        def other(device):
            made = llama(device)
            made[0]._tp_plan = {"model.layers.*.mlp": "moe_tp_experts"}
            return made

        self.expect("'moe_tp_experts' for model.layers", "tp=2", make=other)

    def test_ranks_of_a_real_training(self):
        from torch.testing._internal.distributed.fake_pg import FakeStore

        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
        self.addCleanup(setattr, sys, "excepthook", sys.__excepthook__)
        self.addCleanup(dist.destroy_process_group)
        self.expect("torch.distributed is initialized already", "fsdp=2")

    def test_what_fsdp_cannot_divide(self):
        def shared(device):
            model, args, kwargs = gpt(device)
            model.blocks[0].up.weight = model.blocks[1].up.weight
            return model, args, kwargs

        self.expect("cannot be (divided|recorded)", "fsdp=2", make=shared)


class Commands(unittest.TestCase):
    def rematlas(self, *given):
        command = [sys.executable, "-m", "rematlas", *given]
        return subprocess.run(command, capture_output=True, text=True)

    @slow
    def test_capture(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.graph.json"
            card = "--device", "meta", "--device-profile", "h100", "-o", path, "--json"
            done = self.rematlas("capture", "absent_mesh_test:step", *card, "--mesh", "outer=2,tp=2")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["ops"], len(json.loads(path.read_text())["ops"]))
            done = self.rematlas("capture", "absent_mesh_test:step", *card, "--param-dtype", "bf16")
            self.assertIn("param_dtype is for shards", done.stderr)
            self.assertEqual(done.returncode, 2)
            done = self.rematlas("capture", "absent_mesh_test:step", *card, "--mesh", "outer=0")
            self.assertIn("outermost first", done.stderr)

    def test_fits(self):
        given = "absent_mesh_test:step", "--mesh", "outer=2,tp=2", "--cards", "h100"
        done = self.rematlas("fits", *given)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"x1\.\d\d, .* MiB, .* s")
        self.assertIn("Links between ranks that have the h100: nvlink4,ib400.", done.stdout)
        done = self.rematlas("fits", *given, "--mesh", "outer=1,tp=4", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        meshes = [card["mesh"] for card in json.loads(done.stdout)["cards"]]
        self.assertEqual(meshes, ["outer=2,tp=2", "outer=1,tp=4"])


if __name__ == "__main__":
    unittest.main()
