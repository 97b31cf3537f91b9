"""Trains a language model with `fully_shard` (FSDP2), in two Gloo processes on this machine: one plan for the
whole step, in which weights are gathered, freed and gathered again.

Run it with `python fully_sharded.py`, and once more with `--plain` to train without rematlas: both print the
same digest.
"""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import common

PROCESSES = 2


class LanguageModel(nn.Module):
    def __init__(self, vocabulary=128, width=64, layers=2, length=64):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        options = {
            "nhead": 4,
            "dim_feedforward": 4 * width,
            "dropout": 0.1,
            "batch_first": True,
            "norm_first": True,
        }
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(width, **options) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

    def forward(self, ids):
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x, src_mask=self.mask, is_causal=True)
        return self.head(x)


def train(rank, port, options):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=PROCESSES)
    mesh = init_device_mesh("cpu", (PROCESSES,))
    model = LanguageModel()
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    if not options.plain:
        import rematlas

        rematlas.apply(model, options.budget)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(rank)
    losses = []
    for step in range(15):
        ids = common.texts(count=6, length=65)
        inputs, targets = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
        loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if step == 4:
            common.wait_for_plan(options, model)
    common.report(options, model, losses, model, rank=rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(train, (common.free_port(), common.options(__doc__)), nprocs=PROCESSES)
