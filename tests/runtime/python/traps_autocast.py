"""Traps of autocast: all forwards within one autocast region share the casts of weights."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from traps import DEVICE, Trap, blocks, trap


def region(**options):
    return torch.autocast(DEVICE.type, torch.bfloat16, **options)


def difference(one, other):
    return (one.float() - other.float()).square().mean()


def with_step(step_of, **options):
    """Returns a trap whose steps run `step_of` and a backward. `step_of` takes the model, the batch and the
    number of the step, and returns the loss."""

    def body(model, batch, step):
        loss = step_of(model, batch, step)
        loss.backward()
        return loss

    return Trap(blocks(4), body=body, **options)


@trap
def two_forwards_in_one_region():
    """Autograd sums the gradients of the shared casts, and then casts the sum back to the type of the
    weights."""

    def step_of(model, batch, step):
        with region():
            return difference(model(*batch(step)[0]), model(*batch(step + 100)[0]))

    return with_step(step_of, expected="refused")


@trap
def three_forwards_in_one_region():
    def step_of(model, batch, step):
        with region():
            one, other, third = (model(*batch(step + 100 * n)[0]) for n in range(3))
        return difference(one, other) + third.float().abs().mean()

    return with_step(step_of, expected="refused")


@trap
def two_forwards_in_two_regions():
    def step_of(model, batch, step):
        with region():
            one = model(*batch(step)[0])
        with region():
            other = model(*batch(step + 100)[0])
        return difference(one, other)

    return with_step(step_of)


@trap
def two_forwards_without_a_cache():
    def step_of(model, batch, step):
        with region(cache_enabled=False):
            return difference(model(*batch(step)[0]), model(*batch(step + 100)[0]))

    return with_step(step_of)


@trap
def two_forwards_in_nested_regions():
    """Two forwards in inner regions share casts, because casts are cached until the outermost region ends."""

    def step_of(model, batch, step):
        with region():
            with region():
                one = model(*batch(step)[0])
            with region():
                other = model(*batch(step + 100)[0])
        return difference(one, other)

    return with_step(step_of, expected="refused")


@trap
def two_forwards_of_other_shapes():
    """Each forward could be planned alone, but the two share one region."""

    def step_of(model, batch, step):
        x = batch(step)[0][0]
        with region():
            return difference(model(x).mean(0), model(x[: len(x) // 2]).mean(0))

    return with_step(step_of, expected="refused")


@trap
def a_second_forward_from_the_seventh_step():
    """In the first six steps, one forward is alone in its region, and is planned. From step 7 on, a second
    forward runs in the same region."""

    def step_of(model, batch, step):
        with region():
            one = model(*batch(step)[0])
            other = model(*batch(step + 100)[0]) if step > 6 else one * 0.5
        return difference(one, other)

    return with_step(step_of, expected="either", least_replayed=2)


@trap
def a_second_forward_in_another_region_from_the_seventh_step():
    """From step 7 on, a second forward runs in another region. The layers are used twice in each forward, so
    one plan cannot run several open forwards."""

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks()

        def forward(self, x):
            return self.layers(self.layers(x))

    def body(model, batch, step):
        with region():
            one = model(*batch(step)[0])
        with region():
            other = model(*batch(step + 100)[0]) if step > 6 else one * 0.5
        loss = difference(one, other)
        loss.backward()
        return loss

    return Trap(Twice(), body=body, expected="either")


@trap
def a_teacher_first():
    """A forward without gradients runs first in the region, and makes the casts."""

    def step_of(model, batch, step):
        with region():
            with torch.no_grad():
                target = model(*batch(step + 100)[0])
            return difference(model(*batch(step)[0]), target)

    return with_step(step_of)


@trap
def a_teacher_that_evaluates_first():
    def step_of(model, batch, step):
        with region():
            model.eval()
            with torch.no_grad():
                target = model(*batch(step + 100)[0])
            model.train()
            return difference(model(*batch(step)[0]), target)

    return with_step(step_of)


@trap
def a_teacher_afterwards():
    def step_of(model, batch, step):
        with region():
            output = model(*batch(step)[0])
            with torch.no_grad():
                target = model(*batch(step + 100)[0])
            return difference(output, target)

    return with_step(step_of)


@trap
def a_part_of_the_model_first():
    """A part of the model runs alone, and then the whole model runs in the same autocast region. Both share
    the cast weights of the part, so autograd sums two gradients for each cast weight."""

    def step_of(model, batch, step):
        with region():
            first = model[0](*batch(step + 100)[0]).float().square().mean()
            return first + model(*batch(step)[0]).float().square().mean()

    return with_step(step_of, expected="refused")


@trap
def small_batches_in_one_region():
    """Several forwards run in one region. The backward of each forward runs before the next forward."""

    def body(model, batch, step):
        with region():
            for part in range(3):
                loss = model(*batch(step + 100 * part)[0]).float().square().mean()
                loss.backward()
        return loss

    return Trap(blocks(4), body=body)


@trap
def small_batches_with_checkpoints_in_one_region():
    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.stacks = nn.ModuleList(blocks() for _ in range(3))

        def forward(self, x):
            for stack in self.stacks:
                x = checkpoint(stack, x, use_reentrant=False)
            return x

    def body(model, batch, step):
        with region():
            for part in range(2):
                loss = model(*batch(step + 100 * part)[0]).float().square().mean()
                loss.backward()
        return loss

    return Trap(Checkpointed(), body=body, expected="either")


@trap
def a_step_of_the_optimizer_within_the_region():
    """The optimizer steps between two forwards of a region, so the second forward uses casts of the old
    weights."""

    def body(model, batch, step):
        with region():
            for part in range(2):
                loss = model(*batch(step + 100 * part)[0]).float().square().mean()
                loss.backward()
                with torch.no_grad():
                    for parameter in model.parameters():
                        parameter.add_(parameter.grad, alpha=-0.1)
        return loss

    return Trap(blocks(4), body=body, expected="either")


@trap
def a_backward_twice_outside_of_the_region():
    """For the second backward the original must run the forward again, with the autocast settings of the
    region, although the region has ended."""

    def body(model, batch, step):
        with region():
            loss = model(*batch(step)[0]).float().square().mean()
        if step > 6:
            loss.backward(retain_graph=True)
        loss.backward()
        return loss

    return Trap(blocks(4), body=body, least_replayed=2)


@trap
def a_backward_twice_in_another_region():
    """For the second backward, the original must run the forward again without autocast, because the first
    forward ran without it. Now a region is active."""

    def body(model, batch, step):
        loss = model(*batch(step)[0]).float().square().mean()
        with region():
            if step > 6:
                loss.backward(retain_graph=True)
            loss.backward()
        return loss

    return Trap(blocks(4), body=body, least_replayed=2)


@trap
def a_float16_loss_scaled():
    def step_of(model, batch, step):
        with torch.autocast(DEVICE.type, torch.float16):
            return difference(model(*batch(step)[0]), model(*batch(step + 100)[0])) * 256.0

    return with_step(step_of, expected="refused")


@trap
def a_second_forward_under_hooks_from_the_seventh_step():
    """Forwards under the program's own saved tensor hooks are not planned, but they share the region's
    casts."""

    def step_of(model, batch, step):
        with region():
            one = model(*batch(step)[0])
            if step <= 6:
                return difference(one, one * 0.5)
            with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
                return difference(one, model(*batch(step + 100)[0]))

    return with_step(step_of, expected="either", least_replayed=2)


@trap
def a_second_forward_that_evaluates_from_the_seventh_step():
    """From step 7 on, a second forward of the region runs in eval mode, with gradients."""

    def step_of(model, batch, step):
        with region():
            one = model(*batch(step)[0])
            if step <= 6:
                return difference(one, one * 0.5)
            model.eval()
            other = model(*batch(step + 100)[0])
            model.train()
            return difference(one, other)

    return with_step(step_of, expected="either", least_replayed=2)


@trap
def a_forward_without_autocast_between_two_from_the_eighth_step():
    """A forward without autocast runs between two forwards of a region. The region stays the same."""

    def step_of(model, batch, step):
        with region():
            one = model(*batch(step)[0])
            if step <= 7:
                return difference(one, one * 0.5)
            with region(enabled=False):
                between = model(*batch(step + 200)[0])
            return difference(one, model(*batch(step + 100)[0])) + between.abs().mean()

    return with_step(step_of, expected="either", least_replayed=2)


@trap
def forwards_that_are_open_in_two_regions():
    """Two forwards of one region are freed while a forward of another region is open under the same plan."""

    def step_of(model, batch, step):
        with region():
            first = model(*batch(step + 200)[0])
        with region():
            one = model(*batch(step)[0])
            other = model(*batch(step + 100)[0]) if step > 6 else one * 0.5
        return difference(one, other) + first.float().abs().mean()

    return with_step(step_of, expected="either", least_replayed=2)
