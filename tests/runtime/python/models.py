"""The example models in the sizes that these tests use, and functions that train them."""

import gc
import importlib.util
import os
import pathlib
import sys

import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[3]
_spec = importlib.util.spec_from_file_location("export", ROOT / "resources" / "models" / "export.py")
export = importlib.util.module_from_spec(_spec)
sys.modules["export"] = export  # for pickling objects of its classes
_spec.loader.exec_module(export)

torch.set_num_threads(1)
gc.freeze()  # later collections then skip PyTorch's objects
DEVICE = torch.device(os.environ.get("REMATLAS_TEST_DEVICE", "cpu"))
if DEVICE.type != "cpu":
    torch.set_default_device(DEVICE)
    # These ops make libraries allocate their permanent memory, for this thread and for autograd's thread,
    # before anything is measured.
    (torch.ones(8, 8, requires_grad=True) @ torch.ones(8, 8)).sum().backward()


class ResNet20(nn.Module):
    """ResNet-20 (He et al., 2016, section 4.2)."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)
        )
        widths = [16, 16, 16, 16, 32, 32, 32, 64, 64, 64]
        blocks = zip(widths, widths[1:])
        self.blocks = nn.Sequential(*(export.BasicBlock(a, b, 1 if a == b else 2) for a, b in blocks))
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


def resnet() -> nn.Module:
    torch.manual_seed(0)
    return ResNet20()


def gpt() -> nn.Module:
    torch.manual_seed(0)
    return export.Gpt(layers=4, width=64, heads=4, length=32, vocabulary=64, dropout=0.1)


def wide_gpt() -> nn.Module:
    torch.manual_seed(0)
    return export.Gpt(layers=2, width=32, heads=2, length=32, vocabulary=2048, dropout=0.1)


def images(step: int):
    generator = torch.Generator(DEVICE).manual_seed(step)
    return torch.randn(8, 3, 32, 32, generator=generator, device=DEVICE), torch.randint(
        10, (8,), generator=generator, device=DEVICE
    )


def texts(step: int):
    generator = torch.Generator(DEVICE).manual_seed(step)
    ids = torch.randint(64, (8, 33), generator=generator, device=DEVICE)
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()


def image_loss(output, target):
    return nn.functional.cross_entropy(output, target)


def text_loss(output, target):
    return nn.functional.cross_entropy(output.flatten(0, 1), target.flatten())


def reset_peak() -> int:
    """Begins a new measurement of the peak. Returns the bytes that are alive now."""
    if DEVICE.type == "cpu":
        torch.ops.rematlas.reset_counted_peak()
        return torch.ops.rematlas.counted_bytes()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


def peak() -> int:
    return (
        torch.ops.rematlas.counted_peak_bytes() if DEVICE.type == "cpu" else torch.cuda.max_memory_allocated()
    )


def generator_states() -> list[torch.Tensor]:
    return [torch.get_rng_state()] + ([] if DEVICE.type == "cpu" else [torch.cuda.get_rng_state()])


def train(
    module, batches, loss_of, optimizer, steps: int, accumulate: int = 1, after=lambda module: None
) -> list[float]:
    losses = []
    for step in range(steps):
        for part in range(accumulate):
            x, target = batches(step * accumulate + part)
            loss = loss_of(module(x), target) / accumulate
            loss.backward()
            losses.append(loss.item())
            after(module)
        optimizer.step()
        optimizer.zero_grad(set_to_none=step % 2 == 0)
    return losses


def by_moves(moves: int = 1000) -> dict:
    """Returns a `config` for `apply` with the default solver. The search is limited by moves and not by time,
    so it finds the same plan on each machine."""
    return {"format": "rematlas.config", "version": 1, "type": "atlas", "options": {"max_moves": moves}}


def sgd(module):
    return torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)


def adamw(module):
    return torch.optim.AdamW(module.parameters(), lr=1e-3)
