"""Trains a network with BatchNorm in DistributedDataParallel, in two Gloo processes on this machine.

Run it with `python distributed_data_parallel.py`, and once more with `--plain` to train without rematlas:
both print the same digest.
"""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

import common

PROCESSES = 2


def convolution(inputs, outputs, stride):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


def network():
    body = [
        convolution(3, 16, 1),
        convolution(16, 16, 1),
        convolution(16, 32, 2),
        convolution(32, 32, 1),
        convolution(32, 32, 1),
    ]
    return nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.1), nn.Linear(32, 10))


def train(rank, port, options):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=PROCESSES)
    model, data = network(), common.images(count=96)
    if not options.plain:
        import rematlas

        rematlas.apply(model, options.budget)  # each process makes its own plan
    replica = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(replica.parameters(), lr=0.05, momentum=0.9)
    sampler = DistributedSampler(data, seed=0)
    torch.manual_seed(rank)
    losses = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for images, labels in DataLoader(data, batch_size=6, sampler=sampler):
            loss = nn.functional.cross_entropy(replica(images), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
            if len(losses) == 5:
                common.wait_for_plan(options, model)
    common.report(options, model, losses, rank=rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(train, (common.free_port(), common.options(__doc__)), nprocs=PROCESSES)
