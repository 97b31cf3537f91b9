"""DistributedDataParallel with two Gloo processes on this machine: as with the plain model, bit by bit."""

import os
import socket
import unittest

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch.nn.parallel import DistributedDataParallel

import models
import rematlas

STEPS = 50


def train_replica(rank: int, port: int, name: str, data: bytes, results) -> None:
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
        replica = DistributedDataParallel(rematlas.load(module, rematlas.Plan(data)) if scheduled else module)
        torch.manual_seed(rank)
        losses = models.train(replica, lambda step: batches(2 * step + rank), loss, optimizer(replica), STEPS)
        runs.append((losses, {key: value.clone() for key, value in module.state_dict().items()}))
    (plain, weights), (ours, our_weights) = runs
    same = plain == ours and all(torch.equal(weights[key], our_weights[key]) for key in weights)
    results.put((rank, same, plain, ours))
    dist.barrier()
    dist.destroy_process_group()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class TwoProcesses(unittest.TestCase):
    def expect_same(self, name: str, build, batches) -> None:
        plan = models.plan_at_half(build(), batches(0)[0])
        context = multiprocessing.get_context("spawn")
        results = context.SimpleQueue()
        multiprocessing.spawn(train_replica, (free_port(), name, plan.data, results), nprocs=2)
        losses = {}
        for _ in range(2):
            rank, same, plain, ours = results.get()
            self.assertTrue(same, f"rank {rank}: {plain} and {ours}")
            losses[rank] = ours
        self.assertNotEqual(losses[0], losses[1])

    def test_resnet(self):
        self.expect_same("resnet", models.resnet, models.images)

    def test_gpt_with_dropout(self):
        self.expect_same("gpt", models.gpt, models.texts)


if __name__ == "__main__":
    unittest.main()
