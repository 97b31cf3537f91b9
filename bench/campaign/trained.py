"""A model that faults.py captures and trains. Run as `trained.py PLAN`, this script trains the model and
repeatedly saves its plan to the file PLAN."""

import sys

import torch
from torch import nn

import rematlas


def step():
    torch.manual_seed(0)
    layers = [part for _ in range(3) for part in (nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16))]
    return nn.Sequential(*layers), torch.randn(32, 16)


def main() -> None:
    model, batch = step()
    rematlas.apply(model, "80%", time_limit=0.2)
    for _ in range(40):
        model(batch).square().mean().backward()
        rematlas.status(model).wait()
        if rematlas.status(model).state == "planned":
            rematlas.status(model).save(sys.argv[1])


if __name__ == "__main__":
    main()
