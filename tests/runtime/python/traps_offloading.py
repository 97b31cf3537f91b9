"""Traps of saved tensor hooks that the caller puts around the module. The hooks only move tensors, but can
change their layouts."""

import contextlib

import torch
from torch import nn
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from traps import CHANGE, ON_HOST, WIDTH, Trap, blocks, data, trap


def within(*contexts, around_backward=False, loss=lambda output: output.square().mean()):
    """Returns a body that enters new contexts in each step. The forward and the loss run in these contexts.
    The backward runs in them if `around_backward`, and otherwise after them."""

    def body(model, batch, step):
        args, kwargs = batch(step)
        with contextlib.ExitStack() as stack:
            for context in contexts:
                stack.enter_context(context())
            value = loss(model(*args, **kwargs))
            if around_backward:
                value.backward()
        if not around_backward:
            value.backward()
        return value

    return body


def pinned():
    return save_on_cpu(pin_memory=True)


class Images(nn.Module):
    """A model with channels-last activations. If hooks make contiguous copies on the host, the gradients of
    convolutions have other bits."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1),
            nn.GELU(),
            nn.Conv2d(16, 8, 3, padding=1),
        )
        self.to(memory_format=torch.channels_last)

    def forward(self, x):
        return self.layers(x.to(memory_format=torch.channels_last)).sin()


def images(step):
    return (data(step, 4, 3, 8, 8),), {}


class Halves(nn.Module):
    """A model that saves slices of a tensor, and a transposed slice."""

    def __init__(self):
        super().__init__()
        self.wide, self.narrow = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        for _ in range(3):
            gate, value = self.wide(x).chunk(2, dim=-1)
            scores = (gate.sigmoid() * value).transpose(0, 1) @ value
            x = self.drop(self.narrow(torch.tanh(x @ scores)))
        return x


def encoder():
    return nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, 0.1, batch_first=True)


def sequences(step):
    return (data(step, 4, 16, WIDTH),), {}


@trap
def saved_on_the_host():
    return Trap(blocks(4), body=within(save_on_cpu))


@trap
def saved_in_pinned_memory():
    return Trap(blocks(4), body=within(pinned))


@trap
def saved_within_the_backward():
    """The context of the hooks includes the backward, as the context of a trainer's step does."""
    return Trap(blocks(4), body=within(pinned, around_backward=True))


@trap
def images_saved_on_the_host():
    return Trap(Images(), images, body=within(save_on_cpu))


@trap
def images_saved_in_pinned_memory():
    return Trap(Images(), images, body=within(pinned))


@trap
def slices_saved_on_the_host():
    return Trap(Halves(), body=within(save_on_cpu))


@trap
def slices_saved_in_pinned_memory():
    return Trap(Halves(), body=within(pinned))


@trap
def attention_saved_on_the_host():
    return Trap(encoder(), sequences, body=within(save_on_cpu))


@trap
def attention_saved_in_pinned_memory():
    return Trap(encoder(), sequences, body=within(pinned))


@trap
def saved_under_autocast():
    def autocast():
        return torch.autocast(data(0, 1).device.type, torch.bfloat16)

    return Trap(blocks(4), body=within(pinned, autocast))


@trap
def hooks_in_hooks():
    """Two pairs of hooks are nested. Autograd calls only the innermost pair."""
    return Trap(Images(), images, body=within(pinned, save_on_cpu))


@trap
def unknown_hooks_around_known_ones():
    def halved():
        return saved_tensors_hooks(lambda saved: saved.bfloat16(), lambda packed: packed.float())

    return Trap(blocks(4), body=within(halved, save_on_cpu), expected="either")


@trap
def known_hooks_around_unknown_ones():
    def halved():
        return saved_tensors_hooks(lambda saved: saved.bfloat16(), lambda packed: packed.float())

    return Trap(blocks(4), body=within(save_on_cpu, halved), expected="either")


@trap
def a_known_function_with_another():
    """The pack function is the one of save_on_cpu, but the unpack function is the loop's own."""

    def doubled():
        return saved_tensors_hooks(save_on_cpu().pack_hook, lambda packed: packed[1] * 2)

    return Trap(blocks(4), body=within(doubled), expected="either")


@trap
def hooks_of_the_module_within():
    """The module itself contains a checkpoint, and hooks that round saved tensors."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.third = blocks(), blocks(), blocks()
            self.drop = nn.Dropout(0.3)

        def forward(self, x):
            x = self.drop(checkpoint(self.first, x, use_reentrant=False))
            with saved_tensors_hooks(lambda saved: saved.bfloat16(), lambda packed: packed.float()):
                x = self.second(x)
            return self.third(x)

    # Tensors that a checkpoint saves cannot be pinned if the default device is a GPU.
    return Trap(Model(), body=within(pinned if ON_HOST else save_on_cpu))


@trap
def module_that_turns_hooks_off():
    """The module runs its last layer under hooks that do nothing, as libraries for offloading do."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.head = Images(), nn.Conv2d(8, 4, 1).to(memory_format=torch.channels_last)

        def forward(self, x):
            x = self.layers(x)
            with saved_tensors_hooks(lambda saved: saved, lambda packed: packed):
                return self.head(x).sigmoid()

    return Trap(Model(), images, body=within(pinned))


@trap
def hooks_from_some_step_on():
    """The hooks begin when there is a plan for calls without hooks. Calls under the hooks are of another
    kind, because their saved tensors get other layouts."""
    plain, hooked = within(), within(pinned)

    def body(model, batch, step):
        return (plain if step < CHANGE else hooked)(model, batch, step)

    return Trap(Images(), images, body=body)


@trap
def hooks_around_every_other_step():
    plain, hooked = within(), within(pinned)

    def body(model, batch, step):
        return (plain if step % 2 else hooked)(model, batch, step)

    return Trap(Images(), images, body=body, expected="either")


@trap
def hooks_between_two_forwards():
    """Two forwards are open. The second forward and the loss run under hooks."""

    def body(model, batch, step):
        first = model(*batch(step)[0])
        with pinned():
            second = model(*batch(step + 50)[0])
            loss = (first * second).mean() + second.tanh().sum()
        loss.backward()
        return loss

    return Trap(Images(), images, body=body, expected="either")


@trap
def graph_retained_under_hooks():
    """The original runs the backward of steps that retain the graph. The hooks must apply to the original,
    too."""

    def body(model, batch, step):
        with pinned():
            loss = model(*batch(step)[0]).square().mean()
        loss.backward(retain_graph=step % 3 == 0)
        return loss

    return Trap(Images(), images, body=body, least_replayed=1)


@trap
def hooks_around_the_backward_alone():
    """The original's forward runs again within a backward that retains the graph. It must not run under the
    hooks around this backward."""

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        with pinned():
            loss.backward(retain_graph=step % 3 == 0)
        return loss

    return Trap(Images(), images, body=body, least_replayed=1)


@trap
def number_read_under_hooks():
    """The forward reads a number. If it differs from the recorded number, the original runs the step under
    the hooks."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.images = Images()

        def forward(self, x, times):
            for _ in range(int(times)):
                x = x * 1.1
            return self.images(x)

    def batch(step):
        times = torch.tensor(2 if step % 4 else 3)
        return (data(step, 4, 3, 8, 8), times), {}

    return Trap(Model(), batch, body=within(pinned), expected="either")


@trap
def forward_that_fails_under_hooks():
    """After a forward has failed, the hooks around it must be active again. The loop records which pack
    function is active."""
    packed = []

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.fails = blocks(4), False

        def forward(self, x, fails):
            x = self.layers(x)
            if fails:
                raise KeyError("of the module")
            return x

    def body(model, batch, step):
        (x,), _ = batch(step)
        with save_on_cpu():
            if step in (1, 2, 8):
                with contextlib.suppress(KeyError):
                    model(x, True)
            loss = model(x, False).square().mean()
            hooks = torch._C._autograd._top_saved_tensors_default_hooks(True)
            packed.append(getattr(hooks[0], "__qualname__", None) if hooks else None)
        loss.backward()
        packed.append(torch._C._autograd._top_saved_tensors_default_hooks(True))
        return loss

    return Trap(Model(), body=body, observe=lambda model: packed)
