"""Two Gloo processes train as without plans, even if their steps differ, if FSDP2 shards the parameters of
their blocks, or if the processes are the stages of a pipeline."""

import os
import unittest

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.nn.parallel import DistributedDataParallel

import rematlas
from parallel_test import free_port

WIDTH = 32


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def train(module, rows, rank, steps, after) -> list[float]:
    optimizer = torch.optim.SGD(module.parameters(), 0.01)
    numbers = torch.Generator().manual_seed(rank)
    losses = []
    for _ in range(steps):
        loss = module(torch.randn(rows, WIDTH, generator=numbers)).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        after()
        losses.append(loss.item())
    return losses


def replicas_of_other_sizes(rank, with_plan):
    """Returns the losses and the states of a replica whose batch is larger on rank 1 than on rank 0."""
    module = nn.Sequential(Block(), Block())
    replica = DistributedDataParallel(module)
    if with_plan:
        rematlas.apply(replica, "90%", time_limit=1.0)
    losses = train(replica, 256 + 64 * rank, rank, 8, lambda: with_plan and rematlas.status(replica).wait())
    return losses, [module] if with_plan else []


def shards_in_short_types(rank, with_plan):
    """Returns the losses and the states of a model whose blocks are sharded and compute in bf16."""
    module = nn.Sequential(Block(), Block())
    for part in (*module, module):
        fully_shard(part, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    blocks = list(module) if with_plan else []
    for block in blocks:
        rematlas.apply(block, "95%", time_limit=1.0)
    losses = train(module, 1024, rank, 14, lambda: [rematlas.status(block).wait() for block in blocks])
    return losses, blocks


def stages_of_a_pipeline(rank, with_plan):
    """Returns the losses and the states of a stage. The two stages differ, and each has several open
    forwards."""
    module = nn.Sequential(Block(), Block()) if rank == 0 else nn.Sequential(Block(), nn.Linear(WIDTH, WIDTH))
    if with_plan:
        rematlas.apply(module, "95%", time_limit=1.0)
    stage = PipelineStage(module, rank, 2, torch.device("cpu"))
    schedule = Schedule1F1B(stage, 4, loss_fn=nn.functional.mse_loss)
    optimizer = torch.optim.SGD(module.parameters(), 0.01)
    numbers, losses = torch.Generator().manual_seed(0), []
    for _ in range(8):
        x = torch.randn(512, WIDTH, generator=numbers)
        schedule.step(x) if rank == 0 else schedule.step(target=x, losses=losses)
        optimizer.step()
        optimizer.zero_grad()
        if with_plan:
            rematlas.status(module).wait()
    weights = [value for parameter in module.parameters() for value in parameter.flatten().tolist()]
    return [*map(float, losses), *weights], [module] if with_plan else []


def run(rank, port, program, results) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    runs = []
    for with_plan in (False, True):
        torch.manual_seed(0)
        runs.append(program(rank, with_plan))
    (plain, _), (ours, planned) = runs
    states = [rematlas.status(module) for module in planned]
    results.put((rank, plain == ours, [(status.state, status.reason, status.replayed) for status in states]))
    dist.barrier()
    dist.destroy_process_group()


class TwoProcesses(unittest.TestCase):
    def expect_plans(self, program) -> None:
        results = multiprocessing.get_context("spawn").SimpleQueue()
        multiprocessing.spawn(run, (free_port(), program, results), nprocs=2)
        for _ in range(2):
            rank, is_same, states = results.get()
            self.assertTrue(is_same, f"rank {rank} has other losses than without a plan")
            self.assertTrue(states)
            for state, reason, replayed in states:
                self.assertEqual((state, reason), ("planned", ""), f"rank {rank}")
                self.assertGreater(replayed, 0, f"rank {rank}")

    def test_a_rank_plans_alone_where_the_leading_rank_has_another_graph(self):
        self.expect_plans(replicas_of_other_sizes)

    def test_a_plan_that_was_found_between_forwards_is_bound_in_the_next_one(self):
        self.expect_plans(shards_in_short_types)

    def test_each_stage_of_a_pipeline_has_a_plan(self):
        self.expect_plans(stages_of_a_pipeline)


if __name__ == "__main__":
    unittest.main()
