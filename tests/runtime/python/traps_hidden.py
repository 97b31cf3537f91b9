"""Traps of state that the forward reads and that is no part of the module."""

import ctypes
import multiprocessing
import sys
import types
import weakref

import torch
from torch import nn

from traps import CHANGE, WIDTH, Trap, after_change, blocks, trap

settings = types.ModuleType("settings_of_traps")  # a module of the program, which functions import
settings.__file__ = __file__
sys.modules[settings.__name__] = settings


class Scaled(nn.Module):
    """A model that multiplies its output by a number that `read` returns."""

    def __init__(self, read):
        super().__init__()
        self.layers, self.read = blocks(3), read

    def forward(self, x):
        return self.layers(x) * self.read()


def scaled(read, change, **options) -> Trap:
    """Returns a trap of a model that multiplies by the number that `read` returns, and that `change` changes
    after some step."""
    options = {"least_replayed": 2} | options
    return Trap(Scaled(read), between=after_change(lambda model: change()), **options)


class Factor(nn.Module):
    """A module elsewhere in the program."""

    def __init__(self):
        super().__init__()
        self.number = 1.0
        self.register_buffer("scale", torch.ones(WIDTH))
        self.calls = 0  # a counter that no forward reads


class Trainer:
    number = 1.0


class Distilled(nn.Module):
    """A model with a teacher that is no submodule."""

    def __init__(self, hide):
        super().__init__()
        self.student, teacher = blocks(3), blocks(3).requires_grad_(False)
        self.get = hide(self, teacher)

    def forward(self, x):
        with torch.no_grad():
            goal = self.get()(x)
        return self.student(x) - goal

    def synchronize(self):
        self.get().load_state_dict(self.student.state_dict())


def distilled(hide) -> Trap:
    return Trap(
        Distilled(hide),
        between=after_change(lambda model: model.synchronize()),
        expected="comparing",  # with a new plan
        least_replayed=2,
    )


@trap
def teacher_in_a_closure():
    return distilled(lambda model, teacher: lambda: teacher)


@trap
def teacher_in_a_list():
    def hide(model, teacher):
        model.kept = [teacher]
        return lambda: model.kept[0]

    return distilled(hide)


@trap
def teacher_in_an_attribute_that_is_no_submodule():
    def hide(model, teacher):
        object.__setattr__(model, "teacher", teacher)
        return lambda: model.teacher

    return distilled(hide)


@trap
def teacher_that_is_replaced():
    """The old teacher is freed."""

    def hide(model, teacher):
        model.kept = [teacher]
        return lambda: model.kept[0]

    def replace(model):
        model.kept[0] = blocks(3).requires_grad_(False)

    return Trap(Distilled(hide), between=after_change(replace), least_replayed=2)


@trap
def buffer_of_another_module():
    factor = Factor()
    return scaled(
        lambda: factor.scale,
        lambda: factor.scale.fill_(0.5),
        expected="comparing",  # with a new plan
    )


@trap
def attribute_of_another_module():
    """Another attribute of this module counts steps, and does not matter."""
    factor = Factor()

    def between(model, step):
        factor.calls += 1
        if step == CHANGE:
            factor.number = 0.5

    return Trap(Scaled(lambda: factor.number), between=between, least_replayed=2)


@trap
def learning_rate():
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], 1.0)
    group = optimizer.param_groups[0]
    return scaled(lambda: optimizer.param_groups[0]["lr"], lambda: group.update(lr=0.5))


@trap
def learning_rate_of_a_schedule():
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], 1.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, CHANGE)

    def between(model, step):
        optimizer.step()
        schedule.step()

    return Trap(Scaled(lambda: schedule.get_last_lr()[0]), between=between, least_replayed=2)


@trap
def object_behind_a_weak_reference():
    trainer = Trainer()
    found = weakref.ref(trainer)
    return scaled(lambda: found().number, lambda: setattr(trainer, "number", 0.5))


@trap
def number_of_ctypes():
    shared = ctypes.c_double(1.0)
    return scaled(lambda: shared.value, lambda: setattr(shared, "value", 0.5))


@trap
def number_of_several_processes():
    shared = multiprocessing.Value("d", 1.0)
    return scaled(lambda: shared.value, lambda: setattr(shared, "value", 0.5))


@trap
def module_that_the_forward_imports():
    settings.FACTOR = 1.0

    def read():
        import settings_of_traps

        return settings_of_traps.FACTOR

    return scaled(read, lambda: setattr(settings, "FACTOR", 0.5))


@trap
def module_that_the_first_forward_imports():
    """When the module is looked at first, nobody has imported this Python module yet."""
    late = types.ModuleType("late_settings_of_traps")
    late.__file__, late.FACTOR = __file__, 1.0
    sys.modules.pop(late.__name__, None)

    def read():
        sys.modules.setdefault("late_settings_of_traps", late)  # as if it lay in a file
        import late_settings_of_traps

        return late_settings_of_traps.FACTOR

    return scaled(read, lambda: setattr(late, "FACTOR", 0.5), expected="either", least_replayed=1)


@trap
def name_that_the_forward_imports():
    settings.NUMBER = 1.0

    def read():
        from settings_of_traps import NUMBER

        return NUMBER

    return scaled(read, lambda: setattr(settings, "NUMBER", 0.5))


@trap
def hook_of_all_modules_on_inner_modules():
    """The hook comes after the plan, and changes the results of inner modules."""
    hooks = []

    def halve(module, given, out):
        return out * 0.5 if isinstance(module, nn.GELU) else None

    def between(model, step):
        if step == CHANGE:
            hooks.append(nn.modules.module.register_module_forward_hook(halve))
        if step == CHANGE + 2:
            hooks.pop().remove()

    return Trap(blocks(3), between=between, least_replayed=2)
