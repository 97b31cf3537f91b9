"""Trains PyTorch modules under a budget of memory in bytes: same losses, same gradients, bit by bit.

    import rematlas

    rematlas.apply(model, "60%")            # or 2 * 1024**3, "2GiB", "60% of activations"
    for x, target in batches:               # as usual: first steps are recorded, later steps run by a plan
        loss = criterion(model(x), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(rematlas.status(model))

A module that cannot be captured trains on unchanged, with one warning that says why. Import rematlas before
the model is made, because host memory is counted from the import on.
"""

from rematlas_command import check_torch, is_build_asked

if not is_build_asked():
    check_torch()
    from .api import apply, load, plan, remove, status
    from .cards.fits import fits
    from .checkpointing.policy import SelectivePolicy, checkpoint_policy
    from .errors import Infeasible, Refused, RefusedWarning, Thrashing
    from .fallback.evicting import evict
    from .inductor.entry import compile, compile_options
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
    from .loss_head.chunked_loss import ChunkedLoss, chunked_loss
    from .plan_file import Plan
    from .training_status import Status

__version__ = "0.1.0"
__all__ = [
    "DTR",
    "Checkmate",
    "ChunkedLoss",
    "HRockmate",
    "HiRemate",
    "Hiremate",
    "Infeasible",
    "Plan",
    "PublishedModule",
    "PureRockmate",
    "Refused",
    "RefusedWarning",
    "Rockmate",
    "Rotor",
    "SelectivePolicy",
    "Status",
    "Thrashing",
    "apply",
    "check_config",
    "checkpoint_policy",
    "chunked_loss",
    "compile",
    "compile_options",
    "evict",
    "fits",
    "from_config",
    "generate_config",
    "load",
    "load_config",
    "plan",
    "remove",
    "save_config",
    "status",
]
