"""Traps of tensors and lists that outlive the step, or that the forward reads although they are neither
parameters nor buffers."""

import torch
from torch import nn

from traps import CHANGE, WIDTH, Trap, after_change, blocks, data, trap

scale = torch.ones(WIDTH)  # the trap `global_tensor` replaces it


class TwoStacks(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = blocks(), blocks()


class TwoStacksInARow(TwoStacks):
    def forward(self, x):
        return self.second(self.first(x))


@trap
def activation_kept_for_a_log():
    """The module keeps an activation of its newest forward. No op reads this activation, but it must be up to
    date."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.first(x)
            self.last = h.detach()
            return self.second(h)

    return Trap(Model(), expected="either", least_replayed=1, observe=lambda model: model.last)


@trap
def activation_kept_with_its_graph():
    """The module keeps an activation that is not detached. A caller may read its shape and its values, and
    may ask whether it has a gradient."""

    class Model(TwoStacks):
        def forward(self, x):
            self.last = self.first(x)
            return self.second(self.last)

    return Trap(
        Model(),
        expected="either",
        least_replayed=1,
        observe=lambda model: (model.last, model.last.requires_grad),
    )


@trap
def activation_used_in_the_next_step():
    """The module keeps a recurrent state. Each step reads the state of the previous step; the first step has
    none."""

    class Model(TwoStacks):
        last = None

        def forward(self, x):
            h = self.first(x)
            if self.last is not None:
                h = h + 0.5 * self.last
            self.last = h.detach()
            return self.second(h)

    return Trap(Model(), expected="either", observe=lambda model: model.last)


class Recurrent(TwoStacks):
    """A model that keeps a state from step to step."""

    def __init__(self):
        super().__init__()
        self.state = None

    def forward(self, x):
        h = self.first(x)
        h = h * 2 if self.state is None else h + 0.5 * self.state
        self.state = h.detach()
        return self.second(h)


def every_third(change):
    """Returns a function for `Trap.between` that makes the change after every third step."""
    return lambda model, step: change(model) if step % 3 == 0 else None


def state_trap(change, model=None):
    """Returns a trap in which the program changes the state after every third step. This begins a new
    sequence."""
    return Trap(
        Recurrent() if model is None else model,
        expected="either",
        between=every_third(change),
        observe=lambda model: getattr(model, "state", None),
    )


@trap
def state_set_back_to_none():
    """The program sets the state to None when a sequence begins, and the forward then runs other ops."""
    return state_trap(lambda model: setattr(model, "state", None))


@trap
def state_set_back_to_a_number():
    """Each sequence of steps begins with a plain number as state."""

    class Model(Recurrent):
        def __init__(self):
            super().__init__()
            self.state = 0.0

        def forward(self, x):
            h = self.first(x) + 0.5 * self.state
            self.state = h.detach()
            return self.second(h)

    return state_trap(lambda model: setattr(model, "state", 0.0), Model())


@trap
def state_deleted():
    """When a sequence begins, the program deletes the attribute. The forward then reads the attribute of the
    class."""

    class Model(Recurrent):
        state = None

        def __init__(self):
            super().__init__()
            del self.__dict__["state"]

    return state_trap(lambda model: model.__dict__.pop("state"), Model())


@trap
def state_that_nothing_computes_with():
    """No op reads the state, but its existence decides which ops run."""

    class Model(Recurrent):
        def forward(self, x):
            h = self.first(x)
            h = h * 2 if self.state is None else h
            self.state = h.detach()
            return self.second(h)

    return state_trap(lambda model: setattr(model, "state", None), Model())


@trap
def state_dropped_before_the_backward():
    """The program drops the state after the loss was computed and before its backward."""

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        if step % 3 == 0:
            model.state = None
        loss.backward()
        return loss

    return Trap(Recurrent(), body=body, expected="either", observe=lambda model: model.state)


@trap
def state_with_a_second_backward():
    """The state is None before each step. When the original runs the forward again for a backward, the state
    must also be None."""

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        if step > CHANGE:
            (gradient,) = torch.autograd.grad(loss, [model.first[0].weight], create_graph=True)
            loss = loss + gradient.square().sum()
        loss.backward()
        return loss

    return Trap(
        Recurrent(),
        body=body,
        expected="either",
        between=lambda model, step: setattr(model, "state", None),
        observe=lambda model: model.state,
    )


@trap
def state_of_another_length():
    """Each new sequence begins with a state of one row, which is broadcast."""
    return state_trap(lambda model: setattr(model, "state", torch.ones(1, WIDTH)))


@trap
def state_that_requires_gradients():
    """Each new sequence begins with a state that requires gradients."""

    def begin(model):
        model.state = model.first[0].bias.detach().requires_grad_()

    return state_trap(begin)


@trap
def buffer_set_to_none():
    """The forward replaces a buffer, and the program sets it to None between sequences."""

    class Model(Recurrent):
        def __init__(self):
            super().__init__()
            del self.state
            self.register_buffer("state", None)

    return state_trap(lambda model: setattr(model, "state", None), Model())


@trap
def bias_set_to_none():
    """After step 6, a layer no longer has a bias."""

    def drop(model):
        model.second[0].bias = None

    return Trap(TwoStacksInARow(), expected="either", least_replayed=1, between=after_change(drop))


@trap
def auxiliary_loss_on_the_module():
    """The loss reads a tensor with a gradient from the module. This tensor is not an output of the
    forward."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.first(x)
            self.auxiliary_loss = h.abs().mean()
            return self.second(h)

    model = Model()
    return Trap(
        model,
        loss=lambda output, step: output.square().mean() + 0.1 * model.auxiliary_loss,
        expected="either",
        least_replayed=1,
    )


@trap
def auxiliary_losses_in_a_list():
    """Submodules append their losses to a list that the loop sums and clears, as in a mixture of experts."""

    class Model(TwoStacks):
        def __init__(self):
            super().__init__()
            self.losses = []

        def forward(self, x):
            h = self.first(x)
            self.losses.append(h.square().mean())
            h = self.second(h)
            self.losses.append(h.abs().mean())
            return h

    model = Model()

    def loss(output, step):
        total = output.square().mean() + 0.1 * sum(model.losses)
        model.losses.clear()
        return total

    return Trap(model, loss=loss, expected="either")


@trap
def list_given_and_appended_to():
    """The forward appends activations to a list that the caller passed. The loss uses these activations, so
    gradients must go back through them."""

    class Model(TwoStacks):
        def forward(self, x, activations):
            h = self.first(x)
            activations.append(h)
            return self.second(h)

    given = []

    def batch(step):
        given.clear()
        return (data(step, 64, WIDTH), given), {}

    return Trap(
        Model(),
        batch,
        lambda output, step: output.square().mean() + given[0].abs().mean(),
        expected="either",
        observe=lambda model: [len(given), *given],
    )


@trap
def dictionary_given_and_written():
    """The forward stores a Python number and a detached tensor in a dictionary of the caller."""

    class Model(TwoStacks):
        def forward(self, x, log):
            h = self.first(x)
            log["mean"] = h.detach().mean()
            log["calls"] = log.get("calls", 0) + 1
            return self.second(h)

    log = {}
    return Trap(
        Model(),
        lambda step: ((data(step, 64, WIDTH),), {"log": log}),
        expected="either",
        observe=lambda model: log,
    )


@trap
def tensor_with_gradient_in_a_plain_list():
    """A leaf tensor is trained, but is not registered as a parameter. It must get its gradient, with which
    the loop updates it."""

    class Model(TwoStacks):
        def __init__(self):
            super().__init__()
            self.extra = [torch.ones(WIDTH, requires_grad=True)]

        def forward(self, x):
            return self.second(self.first(x) * self.extra[0])

    def descend(model, step):
        with torch.no_grad():
            model.extra[0].sub_(model.extra[0].grad, alpha=0.1)

    def body(model, batch, step):
        model.extra[0].grad = None
        loss = model(*batch(step)[0]).square().mean()
        loss.backward()
        return loss

    return Trap(
        Model(),
        body=body,
        between=descend,
        expected="either",
        observe=lambda model: [model.extra[0], model.extra[0].grad],
    )


@trap
def plain_tensor_attribute_written():
    """An attribute is a tensor that is neither parameter nor buffer. The loop writes to it in place between
    the steps."""

    class Model(TwoStacks):
        def __init__(self):
            super().__init__()
            self.scale = torch.ones(WIDTH)

        def forward(self, x):
            return self.second(self.first(x) * self.scale)

    return Trap(Model(), expected="either", between=lambda model, step: model.scale.mul_(0.9))


@trap
def plain_tensor_attribute_replaced():
    """From step 7 on, a plain tensor attribute is another tensor. The first tensor still exists with its old
    values."""

    class Model(TwoStacks):
        def __init__(self):
            super().__init__()
            self.scale = torch.ones(WIDTH)
            self.first_scale = self.scale

        def forward(self, x):
            return self.second(self.first(x) * self.scale)

    def replace(model):
        model.scale = torch.full((WIDTH,), 0.5)

    return Trap(Model(), expected="either", least_replayed=1, between=after_change(replace))


@trap
def closure_tensor_written():
    """The forward reads a tensor that is a local variable of the function around the forward. The loop writes
    to this tensor between the steps."""
    schedule = torch.ones(())

    class Model(TwoStacks):
        def forward(self, x):
            return self.second(self.first(x) * schedule)

    return Trap(Model(), expected="either", between=lambda model, step: schedule.mul_(0.9))


@trap
def closure_tensor_replaced():
    """From step 7 on, the local variable of the function around the forward is another tensor."""
    schedule = torch.ones(())

    class Model(TwoStacks):
        def forward(self, x):
            return self.second(self.first(x) * schedule)

    def replace(model):
        nonlocal schedule
        schedule = torch.tensor(0.5)

    return Trap(Model(), expected="either", least_replayed=1, between=after_change(replace))


@trap
def global_tensor():
    """The forward reads a tensor that is a global variable. The loop writes to it after each step and
    replaces it once."""
    global scale
    scale = torch.ones(WIDTH)

    class Model(TwoStacks):
        def forward(self, x):
            return self.second(self.first(x) * scale)

    def between(model, step):
        global scale
        if step == CHANGE:
            scale = torch.full((WIDTH,), 0.5)
        scale.mul_(0.9)

    return Trap(Model(), expected="either", between=between)


@trap
def cache_of_a_derived_tensor():
    """The first forward computes a table and keeps it, so the first step has ops that later steps do not
    have."""

    class Model(TwoStacks):
        table = None

        def forward(self, x):
            if self.table is None:
                self.table = torch.arange(WIDTH).float().add(1).rsqrt()
            return self.second(self.first(x) * self.table)

    return Trap(Model(), expected="either", least_replayed=1, observe=lambda model: model.table)


@trap
def outputs_kept():
    """The caller keeps the outputs of all steps. A replay must not overwrite them."""
    kept = []

    def body(model, batch, step):
        output = model(*batch(step)[0])
        kept.append(output.detach())
        loss = output.square().mean()
        loss.backward()
        return loss

    return Trap(blocks(4), body=body, observe=lambda model: kept)


@trap
def gradients_kept():
    """The caller keeps the gradients of all steps and removes them from the parameters. Later gradients must
    not use their memory."""
    kept = []

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        loss.backward()
        kept.append([parameter.grad for parameter in model.parameters()])
        return loss

    return Trap(blocks(4), body=body, observe=lambda model: kept)
