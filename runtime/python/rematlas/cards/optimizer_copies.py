"""Copies of optimizers on shape tensors (tensors without data), and the tensors that an optimizer keeps.

A copy updates stand-ins: shape tensors that take the places of the parameters.
"""

import copy

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from ..library import ops

LARGEST_NUMBER = 64  # bytes; copies of an optimizer's tensors up to this size keep their values


def on_shapes(original, stand_ins, card, begins_anew):
    """Returns a copy of the optimizer that updates stand-ins instead of the parameters. `stand_ins`: the
    stand-ins by the ids of the parameters. The states of the copy are shape tensors of the card. If
    `begins_anew`, the copy has no states. The original is not changed."""
    memo = dict(stand_ins)
    for group in original.param_groups:
        numbers = {name: value for name, value in group.items() if name != "params"}
        memo |= {id(number): number.detach().clone() for number in tensors_of(numbers.values())}
        counts_on_host = not (group.get("fused") or group.get("capturable"))
        for parameter in group["params"]:
            memo |= states_like(original.state.get(parameter, {}), card, counts_on_host)
    # A scheduler's wrapper around `step` is not copied, because it would run the step of the original.
    kept = {name: value for name, value in vars(original).items() if name != "step"}
    for tensor in tensors_of(value for name, value in kept.items() if name not in ("state", "param_groups")):
        if id(tensor) not in memo:
            memo |= {id(tensor): like(tensor, card)}
    found = object.__new__(type(original))
    found.__dict__.update(copy.deepcopy(kept, memo))
    for parameter, state in list(found.state.items()):
        # States that hold tensor subclasses are dropped; the optimizer's step makes new ones.
        if begins_anew or any(map(is_traceable_wrapper_subclass, tensors_of(state.values()))):
            del found.state[parameter]
    return found


def states_like(state, card, counts_on_host) -> dict:
    """Returns a copy of each tensor that the optimizer already keeps for a parameter, by the tensor's id. The
    copies are shape tensors on the card. If `counts_on_host`, the step count stays on the host, as it does
    when torch loads a state."""
    found = {}
    for name, value in state.items():
        for tensor in tensors_of([value]):
            stays = is_traceable_wrapper_subclass(tensor) or (name == "step" and counts_on_host)
            found[id(tensor)] = tensor.detach().clone() if stays else like(tensor, card)
    return found


def like(tensor, card):
    """Returns a shape tensor of the card. A tensor of at most LARGEST_NUMBER bytes keeps its values."""
    return ops.shapes_like([tensor], LARGEST_NUMBER, card.recorded_as)[0]


def tell_step(optimizer, step) -> None:
    """Sets the step count to `step` in all states and groups of the optimizer."""
    for counted in [*optimizer.state.values(), *optimizer.param_groups]:
        if not isinstance(counted, dict) or "step" not in counted:
            continue
        if isinstance(counted["step"], torch.Tensor):
            counted["step"].fill_(step)
        else:
            counted["step"] = step


def tensors_of(values) -> list:
    """Returns the tensors in these values and in the containers among them."""
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, dict):
            found += tensors_of(value.values())
        elif isinstance(value, (list, tuple)):
            found += tensors_of(value)
    return found


def named_in(value, name) -> dict:
    """Returns the plain tensors in the value, by name. A tensor of another class is replaced by the plain
    tensors that it consists of."""
    if isinstance(value, torch.Tensor):
        if not is_traceable_wrapper_subclass(value):
            return {name: value}
        inner, _ = value.__tensor_flatten__()
        value = {part: getattr(value, part) for part in inner}
    found = {}
    if isinstance(value, dict):
        for key, part in value.items():
            found |= named_in(part, f"{name}.{key}")
    elif isinstance(value, (list, tuple)):
        for place, part in enumerate(value):
            found |= named_in(part, f"{name}.{place}")
    return found


def kept_by(optimizer, names) -> dict:
    """Returns the tensors that the optimizer keeps, by name. `names`: the names of the parameters, by id."""
    found = {}
    for parameter, state in optimizer.state.items():
        found |= named_in(state, names.get(id(parameter), "other"))
    for place, group in enumerate(optimizer.param_groups):
        numbers = {key: value for key, value in group.items() if key != "params"}
        found |= named_in(numbers, f"group{place}")
    return found
