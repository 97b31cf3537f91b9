"""A model in DistributedDataParallel with two Gloo processes trains as the plain model does, bit by bit."""

import hashlib
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


def train_replica(rank: int, port: int, name: str, budget: str, solver: str, results) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    if models.DEVICE.type == "cuda":
        torch.cuda.set_device(rank)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    dist._DEFAULT_FIRST_BUCKET_BYTES = 1024  # the small models then have several buckets
    build, batches, loss, optimizer = {
        "resnet": (models.resnet, models.images, models.image_loss, models.sgd),
        "gpt": (models.gpt, models.texts, models.text_loss, models.adamw),
    }[name]
    runs = []
    for scheduled in (False, True):
        module = build()
        if scheduled and name == "resnet":
            rematlas.apply(module, budget, solver=solver, time_limit=1.0)
        replica = DistributedDataParallel(module, bucket_cap_mb=0.1)
        if scheduled and name == "gpt":  # `apply` on a replica applies to the module inside the replica
            assert rematlas.apply(replica, budget, solver=solver, time_limit=1.0) is replica
            assert rematlas.status(replica).state == rematlas.status(module).state
        moments = moments_of_buckets(replica)
        torch.manual_seed(rank)
        losses = models.train(
            replica,
            lambda step: batches(2 * step + rank),
            loss,
            optimizer(replica),
            STEPS,
            after=lambda _: scheduled and rematlas.status(module).wait(),
        )
        runs.append((losses, {key: value.clone() for key, value in module.state_dict().items()}))
    (plain, weights), (ours, our_weights) = runs
    status = rematlas.status(module)
    problems = []
    if plain != ours:
        problems.append(f"losses {plain} and {ours}")
    problems += [f"{key} differs" for key in weights if not torch.equal(weights[key], our_weights[key])]
    if status.replayed < STEPS - 4:
        problems.append(f"{status.state}, {status.replayed} replayed: {status.reason}")
    # If ops run in the captured order, buckets are reduced in the middle of the backward, before the later
    # gradients exist.
    if solver == "keep-all" and len(set(moments[-4:])) < 3:
        problems.append(f"buckets are reduced at {moments[-8:]} gradients")
    results.put((rank, problems, ours, hashlib.sha256(status.plan().data).hexdigest()))
    dist.barrier()
    dist.destroy_process_group()


def moments_of_buckets(replica) -> list[int]:
    """Returns, for each bucket in order, how many gradients had been accumulated when the bucket was
    reduced."""
    moments, accumulated = [], [0]

    def count(parameter):
        accumulated[0] += 1

    def reduce(state, bucket):
        moments.append(accumulated[0])
        return allreduce_hook(state, bucket)

    for parameter in replica.parameters():
        parameter.register_post_accumulate_grad_hook(count)
    replica.register_comm_hook(None, reduce)
    return moments


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class TwoProcesses(unittest.TestCase):
    def expect_same(self, name: str, budget: str, solver: str) -> None:
        context = multiprocessing.get_context("spawn")
        results = context.SimpleQueue()
        multiprocessing.spawn(train_replica, (free_port(), name, budget, solver, results), nprocs=2)
        losses, plans = {}, {}
        for _ in range(2):
            rank, problems, ours, plans[rank] = results.get()
            self.assertEqual(problems, [], f"rank {rank}")
            losses[rank] = ours
        self.assertNotEqual(losses[0], losses[1])
        self.assertEqual(plans[0], plans[1], "the processes use one plan, measured by rank 0")

    def test_resnet(self):
        self.expect_same("resnet", "70%", "atlas")

    def test_buckets_are_reduced_while_the_backward_runs(self):
        self.expect_same("resnet", "100%", "keep-all")

    def test_gpt_with_dropout(self):
        self.expect_same("gpt", "70%", "atlas")


if __name__ == "__main__":
    unittest.main()
