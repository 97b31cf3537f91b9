"""Trains PyTorch modules under a budget of memory in bytes: same losses, same gradients, bit by bit.

    import rematlas

    rematlas.apply(model, "60%")            # or 2 * 1024**3, "2GiB", "60% of activations"
    for x, target in batches:               # training as ever; the first steps are recorded, then it runs by plan
        loss = criterion(model(x), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(rematlas.status(model))

What cannot be captured is trained on as it is, with one warning that says why. Import rematlas before the model is made:
host memory is counted from then on.
"""

from .api import Plan, Status, apply, load, plan, remove, status
from .errors import Infeasible, Refused, RefusedWarning, Thrashing
from .evicting import evict
from .interface import (
    DTR,
    Checkmate,
    HiRemate,
    Hiremate,
    HRockmate,
    PublishedModule,
    PureRockmate,
    Rockmate,
    Rotor,
    check_config,
    from_config,
    generate_config,
    load_config,
    save_config,
)

__version__ = "0.1.0"
__all__ = [
    *("apply", "remove", "status", "plan", "load", "evict", "Plan", "Status", "Refused", "Infeasible", "RefusedWarning", "Thrashing"),
    *("Rockmate", "PureRockmate", "HiRemate", "Hiremate", "HRockmate", "Checkmate", "Rotor", "DTR", "PublishedModule"),
    *("generate_config", "check_config", "load_config", "save_config", "from_config"),
]
