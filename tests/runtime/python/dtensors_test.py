"""Several Gloo processes train models whose parameters torch divides among them: with FSDP2, with tensor
parallelism, or with both. Losses and weights are those of training without plans, bit by bit."""

import contextlib
import dataclasses
import datetime
import json
import os
import random
import tempfile
import time
import unittest

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoints
import torch.multiprocessing as multiprocessing
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

import rematlas
from parallel_test import free_port
from slow import slow

WIDTH, HEAD, BATCH, LENGTH, BLOCKS = 64, 16, 4, 16, 3
TIMEOUT = datetime.timedelta(minutes=5)  # timeout of collectives
BESIDE = 300_000  # bytes of the tensor that rank 1 makes before step `beside_at`
SHORT = datetime.timedelta(seconds=15)  # timeout of collectives in tests in which a rank ends


def heads(x):
    return x.view(*x.shape[:2], -1, HEAD).transpose(1, 2)


def attention(q, k, v):
    mixed = functional.scaled_dot_product_attention(heads(q), heads(k), heads(v), is_causal=True)
    return mixed.transpose(1, 2).flatten(2)


class GPTBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        y = self.n1(x)
        x = x + self.o(attention(self.q(y), self.k(y), self.v(y)))
        return x + self.down(functional.gelu(self.up(self.n2(x))))


class LlamaBlock(nn.Module):
    """A block with RMS norms and a gate, without biases."""

    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(WIDTH, 3 * WIDTH, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        y = self.n1(x)
        x = x + self.o(attention(self.q(y), self.k(y), self.v(y)))
        y = self.n2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class ScaledBlock(GPTBlock):
    """A block with a parameter of two numbers, so the shard of each of two ranks has one number."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([0.5, 1.5]))

    def forward(self, x):
        first, second = super().forward(x).chunk(2, -1)
        return torch.cat([first * self.scale[0], second * self.scale[1]], -1)


@dataclasses.dataclass
class Case:
    """`mesh`: {name of a dimension: size}. `words` is odd by default, so shards are uneven. `checkpoints`:
    how the blocks are checkpointed: "within" the shards, or "around" them."""

    block: type = GPTBlock
    mesh: dict = dataclasses.field(default_factory=lambda: {"shard": 2})
    words: int = 101
    budget: str | int = "88%"
    wire_weight: float = 1
    policy: MixedPrecisionPolicy = dataclasses.field(default_factory=MixedPrecisionPolicy)
    options: dict = dataclasses.field(default_factory=dict)  # arguments of `fully_shard`
    parallel: dict | None = None  # the parallel styles of a block's parts, for `parallelize_module`
    checkpoints: str = ""
    reentrant: bool = False
    winds: bool = False  # the first block is called twice, and its first output is used again at the end
    fewer_rows_at: tuple = ()  # steps in which rank 1 has a smaller batch
    forwards: int = 1  # forwards before each backward
    loss_of_parts: bool = False  # the output is a DTensor, and the loss is computed on its parts
    is_disturbed: bool = False  # each rank pauses before some steps, and does not wait for its plan
    accumulate: int = 1
    syncs_each: bool = True
    clip: float | None = None
    evaluates_at: int | None = None  # the step after which all ranks evaluate
    retains_at: tuple = ()  # steps whose backward all ranks run with retain_graph=True
    factor_at: int | None = None  # the step before which FSDP2 gets another divisor of gradients
    changes: str = ""  # which parameters of the root change after the evaluation: "gathered" or "sharded"
    watched_at: int | None = None  # the step that rank 1 runs under a dispatch mode
    fails_at: int | None = None  # the step in which rank 1's forward fails, and is then called again
    # The step in which the forward under a plan fails on all ranks. Then weights change, and the forward runs
    # again.
    fails_everywhere_at: int | None = None
    beside_at: int | None = None  # the step before which rank 1 makes a tensor that it keeps
    dies_at: int | None = None  # the step before which rank 1 ends
    backend: str = "gloo"
    steps: int = 12
    restart: bool = False  # training goes on in a new model, which reads a distributed checkpoint

    @property
    def ranks(self):
        return torch.tensor(list(self.mesh.values())).prod().item()


class Model(nn.Module):
    def __init__(self, case):
        super().__init__()
        self.case = case
        self.fails = False
        self.embedding = nn.Embedding(case.words, WIDTH)
        self.blocks = nn.ModuleList(case.block() for _ in range(BLOCKS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, case.words)

    def forward(self, words):
        if self.fails:
            raise ValueError("this forward fails")
        x = self.embedding(words)
        for block in self.blocks:
            around = self.case.checkpoints == "around"
            x = checkpoint(block, x, use_reentrant=self.case.reentrant) if around else block(x)
            if self.case.winds and block is self.blocks[0]:
                first, x = x, block(x)
        if self.case.winds:
            x = x + first
        return self.head(self.norm(x))


class Checkpointed(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=False)


SPLIT = {
    **{name: ColwiseParallel() for name in ("q", "k", "v", "up", "gate")},
    **{name: RowwiseParallel() for name in ("o", "down")},
}
SEQUENCES = {
    **{name: SequenceParallel() for name in ("n1", "n2")},
    **{name: ColwiseParallel(input_layouts=Shard(1)) for name in ("q", "k", "v", "up")},
    **{name: RowwiseParallel(output_layouts=Shard(1)) for name in ("o", "down")},
}
OUTER = {
    "embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
    "norm": SequenceParallel(),
    "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
}
OF_PARTS = {"head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)}


def model_of(case):
    torch.manual_seed(0)
    model = Model(case)
    mesh = init_device_mesh("cpu", tuple(case.mesh.values()), mesh_dim_names=tuple(case.mesh))
    if case.parallel is not None:
        for block in model.blocks:
            layouts = {name: layout for name, layout in case.parallel.items() if hasattr(block, name)}
            parallelize_module(block, mesh["tensor"], layouts)
        if "n1" in case.parallel:
            parallelize_module(model, mesh["tensor"], OUTER | (OF_PARTS if case.loss_of_parts else {}))
    if case.checkpoints == "within":
        model.blocks = nn.ModuleList(map(Checkpointed, model.blocks))
    shards = tuple(name for name in case.mesh if name != "tensor")
    if shards:
        of_shards = mesh[shards] if len(shards) > 1 else mesh[shards[0]]
        options = {"mesh": of_shards, "mp_policy": case.policy, **case.options}
        for block in model.blocks:
            fully_shard(block, **options)
        options["mp_policy"] = dataclasses.replace(case.policy, output_dtype=torch.float32)
        fully_shard(model, **options)
    if case.factor_at is not None:  # Gloo cannot divide while it sums, so FSDP2 must divide after the sum
        for module in (*model.blocks, model):
            module.set_force_sum_reduction_for_comms(True)
    return model


def restarted(model, case, optimizer):
    """Writes a distributed checkpoint. Returns a new model and a new optimizer that have read it."""
    folders = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folders)
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    checkpoints.save(states, checkpoint_id=folders[0])
    other = model_of(case)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    states = {"model": other.state_dict(), "optimizer": optimizer.state_dict()}
    checkpoints.load(states, checkpoint_id=folders[0])
    other.load_state_dict(states["model"])
    again = torch.optim.AdamW(other.parameters(), 1e-3)
    again.load_state_dict(states["optimizer"])
    return other, again


def watched_steps(rank) -> str:
    return os.path.join(tempfile.gettempdir(), f"rematlas_steps_{os.getppid()}_{rank}.jsonl")


def change_root(model, case, optimizer) -> None:
    """Changes parameters of the root while they are still gathered after an evaluation."""
    if case.changes == "gathered":
        model.norm.weight.requires_grad_(False)
    elif case.changes == "sharded":
        with torch.no_grad():
            for parameter in optimizer.param_groups[0]["params"]:
                local(parameter).mul_(1.01)


def train(case, rank, with_plan):
    """Returns the losses, the local parts of the weights, and the model."""
    model = model_of(case)
    plan = {"budget": case.budget, "time_limit": 1.0, "wire_weight": case.wire_weight}
    if case.beside_at is not None:
        plan["watch"] = watched_steps(rank)
    if with_plan:
        rematlas.apply(model, **plan)
    optimizer, kept = torch.optim.AdamW(model.parameters(), 1e-3), []
    numbers = torch.Generator().manual_seed(0 if case.parallel else rank)
    delays, losses = random.Random(rank), []
    for step in range(case.steps):
        if with_plan and rank == 1 and step == case.dies_at:
            os._exit(1)
        if step == case.beside_at and rank == 1:
            kept.append(torch.empty(BESIDE, dtype=torch.uint8))
        if step == case.factor_at:
            for module in (*model.blocks, model):
                module.set_gradient_divide_factor(16.0)
        for part in range(case.accumulate):
            if not case.syncs_each:
                model.set_requires_gradient_sync(part + 1 == case.accumulate)
            words = torch.randint(0, 101, (BATCH, LENGTH), generator=numbers)
            if rank == 1 and step in case.fewer_rows_at:
                words = words[: BATCH // 2]
            if case.is_disturbed:
                time.sleep(delays.random() / 20)
            # In plain training no forward fails on all ranks: after a failed forward, FSDP2 would compute
            # with the weights that this forward gathered, and not with the weights that are changed below.
            fails_everywhere = with_plan and step == case.fails_everywhere_at
            if fails_everywhere or (rank == 1 and step == case.fails_at):
                model.fails = True
                with contextlib.suppress(ValueError):
                    model(words)
                model.fails = False
            if step == case.fails_everywhere_at:
                with torch.no_grad():
                    for parameter in model.parameters():
                        local(parameter).mul_(1.01)
            is_watched = rank == 1 and step == case.watched_at
            with loss_parallel() if case.loss_of_parts else contextlib.nullcontext():
                with FlopCounterMode(display=False) if is_watched else contextlib.nullcontext():
                    logits = sum(model(words) for _ in range(case.forwards)).flatten(0, 1)
                loss = functional.cross_entropy(
                    logits if case.loss_of_parts else logits.float(), words.flatten()
                )
                loss.backward(retain_graph=step in case.retains_at)
            if with_plan and not case.is_disturbed:
                rematlas.status(model).wait()
            losses.append(local(loss).item())
        if case.clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), case.clip)
        optimizer.step()
        optimizer.zero_grad()
        if step == case.evaluates_at:
            model.eval()
            with torch.no_grad():
                losses.append(local(model(words)).square().mean().item())
            model.train()
            change_root(model, case, optimizer)
        if case.restart and step == case.steps // 2:
            model, optimizer = restarted(model, case, optimizer)
            if with_plan:
                rematlas.apply(model, **plan)
    model.eval()
    with torch.no_grad():
        losses.append(local(model(words)).square().mean().item())
    return losses, [local(parameter).clone() for parameter in model.parameters()], model


def local(parameter):
    return parameter.to_local() if hasattr(parameter, "to_local") else parameter


def run(rank, port, case, results) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    timeout = TIMEOUT if case.dies_at is None else SHORT
    dist.init_process_group(case.backend, rank=rank, world_size=case.ranks, timeout=timeout)
    wanted, weights, _ = train(case, rank, False)
    losses, found, model = train(case, rank, True)
    status = rematlas.status(model)
    is_same = wanted == losses and all(map(torch.equal, weights, found))
    peaks = [(plan.measured_peak_bytes, plan.peak_bytes) for plan in status.plans]
    if case.beside_at is not None:
        with open(watched_steps(rank)) as file:
            steps = [step for step in map(json.loads, file) if step.get("by") == "plan"]
        peaks = [(step["peak_bytes"], case.budget) for step in steps if step["step"] >= case.beside_at]
    gathered = [plan.wire_bytes for plan in status.plans]
    results.put((rank, is_same, status.state, status.reason, status.replayed, peaks, gathered))
    rematlas.remove(model).train()
    local(model(torch.zeros(1, 4, dtype=torch.long))).mean().backward()  # torch still runs the model
    dist.barrier()
    dist.destroy_process_group()


def run_until_error(rank, port, case, results) -> None:
    try:
        run(rank, port, case, results)
    except Exception as error:
        results.put(str(error))
        os._exit(1)


class SeveralProcesses(unittest.TestCase):
    def outcomes(self, case):
        """Trains without and with plans. Returns (state, reason, replayed steps, peaks, bytes from other
        ranks) of all ranks."""
        results = multiprocessing.get_context("spawn").SimpleQueue()
        multiprocessing.spawn(run, (free_port(), case, results), nprocs=case.ranks)
        found = {}
        for _ in range(case.ranks):
            rank, is_same, *found[rank] = results.get()
            self.assertTrue(is_same, f"rank {rank} has other losses or weights than without a plan")
        return [found[rank] for rank in sorted(found)]

    def expect_planned(self, **options):
        first, *others = self.outcomes(Case(**options))
        self.assertEqual(first[:2], ["planned", ""])
        self.assertGreater(first[2], 0)
        for state, reason, replayed, peaks, _ in [first, *others]:
            self.assertEqual((state, replayed), (first[0], first[2]), reason)
            for measured, planned in peaks:
                self.assertLessEqual(measured or 0, planned)
        return sum(first[4])

    def expect_errors(self, function, case):
        """Calls `function` with the arguments of `run_until_error` on two ranks. Rank 1 must end, and rank 0
        must then end with an error."""
        context = multiprocessing.get_context("spawn")
        results = context.SimpleQueue()
        given = free_port(), case, results
        ranks = [context.Process(target=function, args=(rank, *given)) for rank in range(2)]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join()
        self.assertEqual([process.exitcode for process in ranks], [1, 1])
        self.assertRegex(results.get(), "closed by peer|have come to forward|[Tt]ime")

    def expect_refused(self, why, **options):
        for state, reason, replayed, *_ in self.outcomes(Case(**options)):
            self.assertIn(why, reason)
            self.assertNotEqual(state, "planned")
            self.assertEqual(replayed, 0)


class Parameters(SeveralProcesses):
    """Ways to divide parameters among ranks."""

    def test_shards_of_blocks_and_root(self):
        self.expect_planned(clip=0.5, restart=True, steps=18)

    @slow
    def test_times_of_collectives_count_as_much_as_is_asked(self):
        rarely, often = (self.expect_planned(budget="62%", wire_weight=weight) for weight in (1e3, 1e-6))
        self.assertLess(rarely, often)

    def test_mixed_precision_and_checkpoints(self):
        policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
        self.expect_planned(block=LlamaBlock, policy=policy, checkpoints="within")
        self.expect_planned(policy=policy, checkpoints="around", accumulate=2)

    @slow
    def test_gradients_with_other_placements_than_their_parameters(self):
        self.expect_planned(mesh={"tensor": 2}, parallel=SEQUENCES, words=104, clip=0.5, accumulate=2)

    def test_shards_of_one_number(self):
        self.expect_planned(block=ScaledBlock)

    def test_outputs_that_are_dtensors(self):
        self.expect_planned(mesh={"tensor": 2}, parallel=SEQUENCES, words=104, loss_of_parts=True)

    @slow
    def test_a_mesh_of_shards_and_tensors(self):
        policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
        mesh = {"shard": 2, "tensor": 2}
        self.expect_planned(mesh=mesh, parallel=SEQUENCES, words=104, policy=policy)


class Loops(SeveralProcesses):
    """Events in training loops of distributed models."""

    def test_shards_and_replicas_of_four_ranks(self):
        self.expect_planned(mesh={"replica": 2, "shard": 2})

    def test_tensor_parallelism(self):
        self.expect_planned(block=LlamaBlock, mesh={"tensor": 2}, parallel=SPLIT)

    @slow
    def test_blocks_with_several_calls_and_outputs_with_several_uses(self):
        self.expect_planned(winds=True)
        self.expect_planned(winds=True, checkpoints="within")

    def test_all_ranks_run_the_original_where_one_has_fewer_rows(self):
        self.expect_planned(fewer_rows_at=(1, 4, 9), steps=14)

    def test_several_forwards_before_a_backward_run_the_original(self):
        self.expect_refused("several forwards of a module under fully_shard", forwards=2)

    @slow
    def test_budgets_in_bytes_on_ranks_that_come_at_other_times(self):
        for budget in (6_000_000, 3_100_000, 1_000_000):
            found = self.outcomes(Case(budget=budget, is_disturbed=True))
            self.assertEqual(found[0][2], found[1][2], budget)

    def test_sums_of_gradients_that_are_not_reduced_run_the_original(self):
        self.expect_refused("summed before they are reduced", accumulate=2, syncs_each=False)

    @slow
    def test_the_others_end_with_an_error_when_a_rank_has_ended(self):
        for step in (1, 8):  # a step that is recorded, and a step that is planned
            self.expect_errors(run_until_error, Case(dies_at=step))

    def test_a_forward_that_fails_on_one_rank_and_is_called_again(self):
        for step in (0, 1, 9):  # before the ranks agree; a step that is recorded; a step that is planned
            self.expect_planned(fails_at=step)

    @slow
    def test_weights_that_change_after_a_forward_that_fails(self):
        self.expect_planned(fails_everywhere_at=1)

    def test_parameters_that_change_while_they_are_gathered(self):
        """After the evaluation, the parameters stay gathered, and FSDP2 does not gather them again for the
        next step."""
        for changes in ("gathered", "sharded"):
            with self.subTest(changes):
                self.expect_planned(evaluates_at=7, changes=changes)

    def test_backwards_that_no_rank_can_run_by_the_plan(self):
        self.expect_planned(retains_at=(7, 9))
        self.expect_planned(block=LlamaBlock, mesh={"tensor": 2}, parallel=SPLIT, retains_at=(7, 9))

    def test_a_smaller_plan_is_made_where_more_lives_beside_the_step(self):
        self.expect_planned(budget=3_100_000, beside_at=7, steps=14)

    def test_options_of_fsdp2_that_change(self):
        self.expect_planned(factor_at=7)

    def test_a_rank_that_is_watched_after_an_evaluation(self):
        """The evaluation leaves weights gathered. In the next step, either all ranks must gather them again,
        or none."""
        self.expect_planned(evaluates_at=0, watched_at=1)

    def test_what_no_plan_can_gather_is_refused_by_name(self):
        self.expect_refused(
            "CPUOffloadPolicy", options={"offload_policy": CPUOffloadPolicy(pin_memory=False)}
        )
        self.expect_refused("shard_placement_fn", options={"shard_placement_fn": last_dimension}, words=104)
        self.expect_refused("use_reentrant=True", checkpoints="around", reentrant=True)


def last_dimension(parameter):
    return Shard(parameter.ndim - 1)


if __name__ == "__main__":
    unittest.main()
