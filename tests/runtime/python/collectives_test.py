"""Several Gloo processes train a module whose own forward and backward exchange data. The collectives are ops
of the plan, and in each step all ranks take the same course."""

import contextlib
import dataclasses
import os
import random
import time
import typing
import unittest

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives
import torch.multiprocessing as multiprocessing
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import rematlas
from parallel_test import free_port
from slow import slow

WIDTH, ROWS, BLOCKS, STEPS = 32, 256, 3, 14
collectives = torch.ops._c10d_functional
meshes = {}  # for ranks in a 2 x 2 mesh: the groups of this rank's row and column
BUDGET, BALLAST = 1_700_000, 400_000  # bytes
ballast = []


class GatheredInGroup(torch.autograd.Function):
    """Gathers a parameter from the shards of the ranks of a group. The backward sums the gradient over the
    ranks, and returns this rank's part of the sum."""

    @staticmethod
    def forward(context, shard, group):
        context.group = group
        return collectives.wait_tensor(
            collectives.all_gather_into_tensor(shard, group.size(), group.group_name)
        )

    @staticmethod
    def backward(context, gradient):
        size, name = context.group.size(), context.group.group_name
        part = collectives.reduce_scatter_tensor(gradient.contiguous(), "sum", size, name)
        return collectives.wait_tensor(part), None


class SummedInGroup(torch.autograd.Function):
    """Sums a tensor over the ranks of a group."""

    @staticmethod
    def forward(context, part, group):
        return collectives.wait_tensor(collectives.all_reduce(part, "sum", group.group_name))

    @staticmethod
    def backward(context, gradient):
        return gradient, None


def shard_of(count, seed):
    whole = torch.randn(count, generator=torch.Generator().manual_seed(seed)) * 0.05
    return nn.Parameter(whole.chunk(dist.get_world_size())[dist.get_rank()].clone())


class ShardedLinear(nn.Module):
    """A linear layer whose weight is gathered from flat shards in each forward."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.shape = (outputs, inputs)
        self.shard = shard_of(inputs * outputs, inputs)

    def forward(self, x):
        return nn.functional.linear(x, GatheredInGroup.apply(self.shard, dist.group.WORLD).view(self.shape))


class ShardedBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = ShardedLinear(WIDTH, 4 * WIDTH), ShardedLinear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class ParallelBlock(nn.Module):
    """A block whose hidden features are divided among the ranks. A collective that writes to its argument
    computes the mean over rows and ranks, which the block subtracts."""

    def __init__(self):
        super().__init__()
        hidden = 4 * WIDTH // dist.get_world_size()
        self.up, self.down = nn.Linear(WIDTH, hidden), nn.Linear(hidden, WIDTH, bias=False)

    def forward(self, x):
        x = x + SummedInGroup.apply(self.down(nn.functional.gelu(self.up(x))), dist.group.WORLD)
        mean = x.detach().mean(0)
        dist.all_reduce(mean)
        return x - mean / dist.get_world_size()


class MeshBlock(nn.Module):
    """A block for a mesh of 2 x 2 ranks. The hidden features are divided among the two ranks of a row, and
    the first weight is sharded over the two ranks of a column. The groups have different names on each rank,
    and each rank adds a different number."""

    def __init__(self):
        super().__init__()
        self.shape = (2 * WIDTH, WIDTH)
        self.shard = nn.Parameter(torch.randn(2 * WIDTH * WIDTH // 2) * 0.05)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        weight = GatheredInGroup.apply(self.shard, meshes["column"]).view(self.shape)
        hidden = nn.functional.gelu(nn.functional.linear(x, weight) + dist.get_rank() / 8)
        return x + SummedInGroup.apply(self.down(hidden), meshes["row"])


class Seeding(ShardedBlock):
    """A block that no plan can run on rank 1, because it seeds the random numbers there."""

    def forward(self, x):
        if dist.get_rank() == 1:
            torch.manual_seed(3)
        return super().forward(x) + 0.0 * torch.rand_like(x)


class Sending(nn.Module):
    """A block that gets its input from the other rank."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        other = torch.empty(ROWS, WIDTH)
        if dist.get_rank() == 0:
            dist.send(x.detach(), 1)
            dist.recv(other, 1)
        else:
            dist.recv(other, 0)
            dist.send(x.detach(), 0)
        return self.layer(other)


class Indescribable:
    """An argument that cannot be described, so no call with it is planned."""

    def __reduce_ex__(self, protocol):
        raise TypeError("no description")


class Blocks(nn.Module):
    fails = ""  # where the forward raises: "before" or "after" the collectives

    def __init__(self, block):
        super().__init__()
        self.blocks = nn.Sequential(*(block() for _ in range(BLOCKS)))

    def forward(self, x, given=None):
        if self.fails == "before":
            raise ValueError(self.fails)
        if isinstance(given, torch.Tensor):
            x = x + collectives.wait_tensor(given).sum()
        x = self.blocks(x)
        if self.fails == "after":
            raise ValueError(self.fails)
        return x


def module_of(block):
    torch.manual_seed(0)
    return Blocks(block)


def nothing(step):
    return None


def indescribable_on_rank_1(step):
    return Indescribable() if dist.get_rank() == 1 else None


def begun(step):
    """Starts a collective outside the module. The module waits for its result."""
    return collectives.all_reduce(torch.ones(2), "sum", dist.group.WORLD.group_name)


def same_rows(step):
    return ROWS


def fewer_rows_on_rank_1_at_times(step):
    return ROWS // 2 if dist.get_rank() == 1 and step in (9, 12) else ROWS


def called(module, step, *given):
    return module(*given)


def called_in_eval_on_rank_1_once(module, step, *given):
    module.train(not (dist.get_rank() == 1 and step == 8))
    return module(*given)


def called_in_eval_on_rank_1_at_first(module, step, *given):
    module.train(not (dist.get_rank() == 1 and step < 2))
    return module(*given)


def called_beside_ballast_of_rank_1(module, step, *given):
    """Rank 1 holds another tensor, so its budget is too small for the plan and the original together."""
    if dist.get_rank() == 1 and not ballast:
        ballast.append(torch.empty(BALLAST, dtype=torch.uint8))
    return module(*given)


def watched_on_rank_1_once(module, step, *given):
    with FlopCounterMode(display=False) if dist.get_rank() == 1 and step == 8 else contextlib.nullcontext():
        return module(*given)


def tried_again_on_rank_1_once(module, step, *given):
    if dist.get_rank() == 1 and step == 8:
        module.fails = "before"
        with contextlib.suppress(ValueError):
            module(*given)
        module.fails = ""
    return module(*given)


def left_out_after_an_error_on_rank_1(module, step, *given):
    """Returns None in the first step, and all ranks skip that step."""
    module.fails = "after" if dist.get_rank() == 1 and step == 0 else ""
    try:
        output = module(*given)
    except ValueError:
        output = None
    module.fails = ""
    return output if step > 0 else None


@dataclasses.dataclass
class Training:
    """`rows` and `given` are functions of the step. `call` calls the module. If `is_disturbed`, each rank
    pauses before some steps, and does not wait for its plan."""

    block: type
    budget: str | int = "70%"
    rows: typing.Callable = same_rows
    given: typing.Callable = nothing
    call: typing.Callable = called
    is_disturbed: bool = False
    waits: tuple = (0, 1)  # the ranks that wait for their plan after each step
    ranks: int = 2
    unplanned: str | None = None


def make_mesh(rank) -> None:
    """Makes the groups of rows and columns of a 2 x 2 mesh. All ranks make all groups in the same order."""
    for name, groups in {"row": ([0, 1], [2, 3]), "column": ([0, 2], [1, 3])}.items():
        for members in groups:
            group = dist.new_group(members)
            if rank in members:
                meshes[name] = group


def train(module, rank, training, with_plan):
    optimizer = torch.optim.SGD(module.parameters(), 0.01)
    numbers, delays = torch.Generator().manual_seed(rank), random.Random(rank)
    losses = []
    for step in range(STEPS):
        if training.is_disturbed:
            time.sleep(delays.random() / 20)
        x = torch.randn(training.rows(step), WIDTH, generator=numbers)
        output = training.call(module, step, x, training.given(step))
        if output is None:
            continue
        loss = output.square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if with_plan and not training.is_disturbed and rank in training.waits:
            rematlas.status(module).wait()
        losses.append(loss.item())
    return losses


def run(rank, port, training, results) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=training.ranks)
    if training.ranks == 4:
        make_mesh(rank)
    plain = module_of(training.block)
    wanted = train(plain, rank, training, False)
    module = rematlas.apply(
        module_of(training.block), training.budget, time_limit=1.0, unplanned=training.unplanned
    )
    losses = train(module, rank, training, True)
    status = rematlas.status(module)
    status.wait()  # on a busy machine, planning perhaps still runs
    is_same = wanted == losses and all(
        torch.equal(a, b) for a, b in zip(plain.parameters(), module.parameters(), strict=True)
    )
    results.put((rank, is_same, status.state, status.reason, status.replayed))
    dist.barrier()
    dist.destroy_process_group()


class SeveralProcesses(unittest.TestCase):
    def outcomes(self, *arguments, **options):
        """Trains without and with plans. Returns (state, reason, replayed steps) of all ranks. The arguments
        are those of Training."""
        results = multiprocessing.get_context("spawn").SimpleQueue()
        training = Training(*arguments, **options)
        multiprocessing.spawn(run, (free_port(), training, results), nprocs=training.ranks)
        found = {}
        for _ in range(training.ranks):
            rank, is_same, *found[rank] = results.get()
            self.assertTrue(is_same, f"rank {rank} has other losses or weights than without a plan")
        return [found[rank] for rank in sorted(found)]

    def expect_planned(self, *arguments, **options) -> int:
        first, *others = self.outcomes(*arguments, **options)
        self.assertEqual(first[:2], ["planned", ""])
        for state, reason, replayed in others:
            self.assertEqual((state, replayed), (first[0], first[2]), reason)
        self.assertGreater(first[2], 0)
        return first[2]

    def test_gathers_of_shards(self):
        self.expect_planned(ShardedBlock)

    def test_reductions_of_parallel_blocks(self):
        self.expect_planned(ParallelBlock)

    def test_rows_and_columns_of_a_mesh(self):
        self.expect_planned(MeshBlock, ranks=4)

    @slow
    def test_ranks_that_come_at_other_times(self):
        for attempt in range(2):
            first, second = self.outcomes(ShardedBlock, is_disturbed=True)
            self.assertEqual(first, second, f"attempt {attempt}")

    def test_what_a_plan_cannot_repeat_is_refused(self):
        first, second = self.outcomes(ShardedBlock, given=begun)
        self.assertIn("waits for a collective that began before the step", first[1])
        self.assertEqual(first[0], second[0])
        first, second = self.outcomes(Sending)
        self.assertIn("in a way that a plan cannot repeat", first[1])
        self.assertEqual(first[0], second[0])

    def test_a_refusal_of_one_rank_is_a_refusal_of_all(self):
        first, second = self.outcomes(Seeding)
        self.assertEqual([first[0], second[0]], ["refused", "refused"])
        self.assertIn("another rank refuses the step: rank 1", first[1])
        self.assertEqual([first[2], second[2]], [0, 0])

    def test_a_rank_that_records_nothing_is_waited_for(self):
        first, second = self.outcomes(ShardedBlock, given=indescribable_on_rank_1)
        self.assertEqual([first[0], second[0]], ["refused", "refused"])
        self.assertIn("an argument cannot be described", first[1])

    def test_the_original_runs_where_one_rank_has_other_sizes(self):
        replayed = self.expect_planned(ShardedBlock, rows=fewer_rows_on_rank_1_at_times)
        self.assertLess(replayed, STEPS - 4)

    @slow
    def test_a_rank_that_cannot_use_its_plan_for_once_is_waited_for(self):
        for call in (called_in_eval_on_rank_1_once, watched_on_rank_1_once, tried_again_on_rank_1_once):
            with self.subTest(call.__name__):
                states = self.outcomes(ShardedBlock, call=call)
                self.assertEqual([state for state, *_ in states], ["planned", "planned"], states)
                self.assertTrue(all(replayed > 0 for *_, replayed in states), states)

    def test_a_rank_that_waits_for_its_plan_alone(self):
        for rank in (0, 1):  # the rank that makes the plan, and the other rank
            self.expect_planned(ShardedBlock, waits=(rank,))

    @slow
    def test_a_rank_without_room_to_compare_its_plan(self):
        in_bytes = {"budget": BUDGET, "unplanned": "original"}
        # Four steps are recorded or compared.
        self.assertEqual(self.expect_planned(ShardedBlock, **in_bytes), STEPS - 4)
        replayed = self.expect_planned(ShardedBlock, call=called_beside_ballast_of_rank_1, **in_bytes)
        self.assertEqual(replayed, STEPS - 2)

    @slow
    def test_a_rank_whose_first_forwards_are_in_eval_mode(self):
        states = self.outcomes(ShardedBlock, call=called_in_eval_on_rank_1_at_first)
        self.assertEqual([state for state, *_ in states], ["planned", "planned"], states)

    def test_a_first_forward_that_fails_on_one_rank(self):
        self.expect_planned(ShardedBlock, call=left_out_after_an_error_on_rank_1)


if __name__ == "__main__":
    unittest.main()
