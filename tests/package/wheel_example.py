"""Trains the model of README.md without and with a budget, and compares all bits. wheel_test.sh runs it in an
environment that has only the wheel and torch."""

import torch
from torch import nn

import rematlas  # must come before the models are made, because host memory is counted from then on


def model():
    torch.manual_seed(0)
    block = lambda: nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Dropout(0.1), nn.Linear(256, 64))
    return nn.Sequential(*(block() for _ in range(6)), nn.LayerNorm(64))


def train(module, steps=8):
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
    torch.manual_seed(1)
    losses = []
    for _ in range(steps):
        x, target = torch.randn(1024, 64), torch.randn(1024, 64)
        loss = nn.functional.mse_loss(module(x), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses, [parameter.detach().clone() for parameter in module.parameters()]


plain_losses, plain = train(model())
module = rematlas.apply(model(), "60%", time_limit=2)
losses, trained = train(module)
status = rematlas.status(module)
rematlas.status(module).wait()
assert losses == plain_losses, (losses, plain_losses)
assert all(map(torch.equal, plain, trained))
if status.replayed == 0:  # perhaps all steps above ended before the plan was ready
    losses, trained = train(module)
    assert status.replayed > 0, status
print(f"torch {torch.__version__}: {status.replayed} steps by plan, as plain training bit by bit")
