"""DistributedDataParallel with two Gloo processes on this machine: as with the plain model, bit by bit."""

import os
import socket
import unittest

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

import models
import rematlas

STEPS = 20


def train_replica(rank: int, port: int, name: str, results) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    build, batches, loss, optimizer = {
        "resnet": (models.resnet, models.images, models.image_loss, models.sgd),
        "gpt": (models.gpt, models.texts, models.text_loss, models.adamw),
    }[name]
    runs = []
    for scheduled in (False, True):
        module = build()
        replica = DistributedDataParallel(rematlas.apply(module, "70%", time_limit=1.0) if scheduled else module, bucket_cap_mb=0.1)
        moments = moments_of_buckets(replica)
        torch.manual_seed(rank)
        losses = models.train(replica, lambda step: batches(2 * step + rank), loss, optimizer(replica), STEPS, after=lambda _: scheduled and rematlas.status(module).wait())
        runs.append((losses, {key: value.clone() for key, value in module.state_dict().items()}))
    (plain, weights), (ours, our_weights) = runs
    same = plain == ours and all(torch.equal(weights[key], our_weights[key]) for key in weights)
    same = same and rematlas.status(module).replayed >= STEPS - 4
    # Buckets are reduced between the parts of the backward: when the first one is, gradients are still to come.
    same = same and moments[-2] < moments[-1]
    results.put((rank, same, plain, ours))
    dist.barrier()
    dist.destroy_process_group()


def moments_of_buckets(replica) -> list[int]:
    """How many parameters have gradients when each bucket is reduced, in the order of the buckets."""
    moments, parameters = [], list(replica.parameters())

    def reduce(state, bucket):
        moments.append(sum(p.grad is not None for p in parameters))
        return allreduce_hook(state, bucket)

    replica.register_comm_hook(None, reduce)
    return moments


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class TwoProcesses(unittest.TestCase):
    def expect_same(self, name: str) -> None:
        context = multiprocessing.get_context("spawn")
        results = context.SimpleQueue()
        multiprocessing.spawn(train_replica, (free_port(), name, results), nprocs=2)
        losses = {}
        for _ in range(2):
            rank, same, plain, ours = results.get()
            self.assertTrue(same, f"rank {rank}: {plain} and {ours}")
            losses[rank] = ours
        self.assertNotEqual(losses[0], losses[1])

    def test_resnet(self):
        self.expect_same("resnet")

    def test_gpt_with_dropout(self):
        self.expect_same("gpt")


if __name__ == "__main__":
    unittest.main()
