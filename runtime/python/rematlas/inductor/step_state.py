"""Undoes the changes that a step of a compiled program has made, so that the step can start again."""

import inspect
import io

import torch

from ..calls.kept_state import KeptState
from ..calls.modes import Generators


def modules_of(target) -> list:
    """Returns the target itself if it is a module. If the target is a function, returns the modules that it
    refers to by name or is bound to."""
    if isinstance(target, torch.nn.Module):
        return [target]
    found = [getattr(target, "__self__", None)]
    function = inspect.unwrap(getattr(target, "__func__", target))
    if inspect.isfunction(function):
        reached = inspect.getclosurevars(function)
        found.extend((*reached.nonlocals.values(), *reached.globals.values()))
    return [value for value in found if isinstance(value, torch.nn.Module)]


class StepState:
    """The state before a step: buffers, generators, and the Python objects that the program reaches."""

    def __init__(self, target, args, kwargs, device):
        modules = torch.nn.ModuleList(modules_of(target))
        self.buffers = list(modules.buffers())
        self.text = io.BytesIO()  # the saved buffers as Python bytes, which do not count as memory of tensors
        torch.save([buffer.detach() for buffer in self.buffers], self.text)
        self.generators = Generators(str(device))
        self.kept = KeptState(modules, (args, kwargs), runs_itself=True)

    def put_back(self) -> None:
        self.kept.put_back()
        self.generators.put_back()
        self.text.seek(0)
        with torch.no_grad():
            for buffer, before in zip(self.buffers, torch.load(self.text), strict=True):
                buffer.copy_(before)
