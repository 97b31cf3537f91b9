"""The tensors besides parameters that a training keeps between two steps: gradients, and the states of its
optimizers. They do not exist yet in the first steps, in which a budget is checked."""

import collections
import contextlib
import dataclasses
import gc
import inspect

import torch

BLOCK_BYTES = 512  # the block size of libtorch's allocator on a GPU; blocks of the CPU are smaller


@dataclasses.dataclass(frozen=True)
class KeptBytes:
    there: int  # bytes that exist now
    missing: int  # bytes that the next steps will add


@dataclasses.dataclass(frozen=True)
class KeptBetweenSteps:
    gradients: KeptBytes
    states: KeptBytes

    @classmethod
    def of(cls, module) -> "KeptBetweenSteps":
        parameters = list(module.parameters())
        return cls(gradients(parameters), states(parameters))


def gradients(parameters) -> KeptBytes:
    """Returns the bytes of the gradients of these parameters."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    there = sum(in_blocks(parameter.grad) for parameter in trained if parameter.grad is not None)
    return KeptBytes(there, sum(in_blocks(parameter) for parameter in trained if parameter.grad is None))


def states(parameters) -> KeptBytes:
    """Returns the bytes that the optimizers of the process keep for these parameters, on the parameters'
    devices. The missing bytes are counted only for optimizers of `torch.optim`."""
    mine = {id(parameter): parameter for parameter in parameters}
    there = missing = 0
    for optimizer in optimizers():
        for group in optimizer.param_groups:
            trained = [p for p in group["params"] if id(p) in mine and p.requires_grad]
            there += sum(state_bytes(optimizer.state.get(p, {}), p.device) for p in trained)
        missing += missing_states(optimizer, mine)
    return KeptBytes(there, missing)


def missing_states(optimizer, parameters) -> int:
    """Returns the bytes of the states that the optimizer will make in its first step. `parameters`: the
    parameters that count, by their ids."""
    missing = 0
    for group in optimizer.param_groups:
        trained = [p for p in group["params"] if id(p) in parameters and p.requires_grad]
        missing += first_bytes(optimizer, group, [p for p in trained if not optimizer.state.get(p)])
    return missing


def optimizers() -> list:
    """Returns the optimizers of the process. Searches all objects that Python's garbage collector knows,
    which takes tens of milliseconds."""
    found = [thing for thing in gc.get_objects() if issubclass(type(thing), torch.optim.Optimizer)]
    return [optimizer for optimizer in found if hasattr(optimizer, "param_groups")]


def state_bytes(state, device) -> int:
    """Returns the bytes of the state's tensors on the device. Tensors on the meta device count, too."""
    there = [value for value in state.values() if isinstance(value, torch.Tensor)]
    return sum(in_blocks(value) for value in there if value.device == device or value.is_meta)


def in_blocks(tensor) -> int:
    """Returns an upper bound on the bytes that the tensor takes: an allocator hands out whole blocks."""
    return -(-tensor.nbytes // BLOCK_BYTES) * BLOCK_BYTES


def first_bytes(optimizer, group, parameters) -> int:
    """Returns the bytes of the states that the optimizer would make in its first step for these parameters of
    the group. The step is tried on tensors of the meta device. If it raises an error, the states made until
    then count. Returns 0 for optimizers that are not torch's, because their steps may do anything."""
    if not parameters or not f"{type(optimizer).__module__}.".startswith("torch.optim."):
        return 0
    shapes = [torch.empty_like(parameter, device="meta") for parameter in parameters]
    for shape in shapes:
        shape.grad = torch.empty_like(shape)
    state = collections.defaultdict(dict)
    changed = {"params": shapes, "foreach": False, "fused": False, "capturable": False}
    trial = object.__new__(type(optimizer))
    trial.__dict__ = optimizer.__dict__ | {"state": state, "param_groups": [group | changed]}
    with contextlib.suppress(Exception), torch.no_grad():
        inspect.unwrap(type(optimizer).step)(trial)  # skips step hooks of other code
    return sum(state_bytes(state[s], p.device) for s, p in zip(shapes, parameters))
