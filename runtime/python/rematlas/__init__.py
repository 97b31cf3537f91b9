"""Trains PyTorch modules under a budget of memory in bytes: same losses, same gradients, bit by bit.

    import rematlas

    plan = rematlas.plan(model, sample, "60%")      # or 2 * 1024**3, or "2GiB"
    print(plan)                                     # overhead, peak, bound
    scheduled = rematlas.load(model, plan)          # an nn.Module with the model's own parameters
    for x, target in batches:
        loss = criterion(scheduled(x), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

Shapes, types and the number of inputs are those of the sample. One forward is open at a time. In eval mode and
where gradients are switched off, the model itself runs.
"""

from .interface import (
    Checkmate,
    DTR,
    HiRemate,
    Hiremate,
    HRockmate,
    PureRockmate,
    Rockmate,
    Rotor,
    from_config,
    generate_config,
    load_config,
    save_config,
)
from .plans import Infeasible, Plan, plan
from .scheduled import ScheduledModule, load

__all__ = [
    "Checkmate",
    "DTR",
    "HRockmate",
    "HiRemate",
    "Hiremate",
    "Infeasible",
    "Plan",
    "PureRockmate",
    "Rockmate",
    "Rotor",
    "ScheduledModule",
    "from_config",
    "generate_config",
    "load",
    "load_config",
    "plan",
    "save_config",
]
