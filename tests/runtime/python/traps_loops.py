"""Traps of loops in which a step is not one forward, one loss and one backward."""

import torch
from torch import nn
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

from traps import CHANGE, DEVICE, ROWS, WIDTH, Trap, blocks, data, rows, trap


class Heads(nn.Module):
    """A model with two outputs of one trunk."""

    def __init__(self):
        super().__init__()
        self.trunk, self.left, self.right = blocks(), blocks(), blocks()

    def forward(self, x):
        h = self.trunk(x)
        return self.left(h), self.right(h)


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(blocks(), nn.BatchNorm1d(WIDTH), nn.Dropout(0.3), blocks())

    def forward(self, x):
        return self.layers(x)


def pairs(step: int) -> tuple[tuple, dict]:
    return (data(step, ROWS, WIDTH), data(-step, ROWS, WIDTH)), {}


def siamese_step(model, batch, step):
    x, y = batch(step)[0]
    loss = (model(x) - model(y)).square().mean()
    loss.backward()
    return loss


def siamese_later(model, batch, step):
    """Runs one forward for each backward up to step CHANGE, and two forwards for each backward afterwards."""
    if step > CHANGE:
        return siamese_step(model, batch, step)
    loss = model(batch(step)[0][0]).square().mean()
    loss.backward()
    return loss


@trap
def siamese():
    """Two forwards of one model are open when their common backward begins."""
    return Trap(Noisy(), pairs, body=siamese_step, expected="either", least_replayed=1)


@trap
def siamese_with_weights_used_twice():
    """Two forwards are open when their backward begins, and each forward calls one stack twice."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.stack = blocks()

        def forward(self, x):
            return self.stack(self.stack(x) + x)

    return Trap(Model(), pairs, body=siamese_step, expected="either")


@trap
def siamese_from_the_seventh_step():
    """In the steps that are recorded and replayed first, each backward goes through one forward. Later
    backwards go through two forwards."""
    return Trap(Noisy(), pairs, body=siamese_later, expected="either", least_replayed=1)


@trap
def siamese_with_statistics_moved_on_in_the_backward():
    """When a checkpoint runs its part again in the backward, the running statistics change once more. From
    step 7 on, two forwards are open at a time."""

    class Model(Noisy):
        def forward(self, x):
            return checkpoint(self.layers, x, use_reentrant=False)

    return Trap(Model(), pairs, body=siamese_later, expected="either", least_replayed=1)


@trap
def output_given_back_as_input():
    """The input of the second forward is the output of the first. The backward goes through both."""

    def body(model, batch, step):
        loss = model(model(batch(step)[0][0])).square().mean()
        loss.backward()
        return loss

    return Trap(Noisy(), body=body, expected="either", least_replayed=1)


@trap
def adversarial_networks():
    """The discriminator, which is planned, is called for real and for generated rows before its backward.
    Then the generator learns by a backward through the discriminator."""
    maker, moves = blocks(3), []

    def body(model, batch, step):
        truth, noise = batch(step)[0]
        made = maker(noise)
        loss = (model(truth) - 1).square().mean() + model(made.detach()).square().mean()
        loss.backward()
        gradients = torch.autograd.grad((model(made) - 1).square().mean(), list(maker.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(maker.parameters(), gradients):
                parameter.sub_(gradient, alpha=0.1)
        moves[:] = gradients
        return loss

    return Trap(Noisy(), pairs, body=body, expected="either", least_replayed=1, observe=lambda model: moves)


def two_open_forwards(first_is_first: bool) -> Trap:
    def body(model, batch, step):
        x, y = batch(step)[0]
        losses = [model(x).square().mean(), model(y).abs().mean()]
        for loss in losses if first_is_first else reversed(losses):
            loss.backward()
        return losses[0] + losses[1]

    return Trap(Noisy(), pairs, body=body, expected="either", least_replayed=1, budget="90%")


@trap
def two_forwards_and_their_backwards_in_order():
    """Two forwards run; then the backward of the first runs, and then the backward of the second."""
    return two_open_forwards(True)


@trap
def two_forwards_and_their_backwards_in_reverse():
    """Two forwards run; then the backward of the second runs, and then the backward of the first."""
    return two_open_forwards(False)


@trap
def backward_a_step_late():
    """The backward of each forward runs after the next forward. The weights are not updated, because autograd
    would refuse a backward after an update."""
    waiting = []

    def body(model, batch, step):
        waiting.append(model(*batch(step)[0]).square().mean())
        if step == 1:
            return None
        loss = waiting.pop(0)
        loss.backward()
        return loss

    return Trap(blocks(4), body=body, update=lambda optimizer, step: None, expected="either", budget="90%")


@trap
def two_backwards_of_one_forward():
    """The autograd graph is retained for a second backward of the same loss, so the gradients are twice as
    large."""

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        loss.backward(retain_graph=True)
        loss.backward()
        return loss

    return Trap(Noisy(), body=body, expected="either")


@trap
def one_backward_for_each_output():
    """Each output has its own loss and backward. The first backward retains the autograd graph for the
    second."""

    def body(model, batch, step):
        left, right = model(*batch(step)[0])
        left.square().mean().backward(retain_graph=True)
        loss = right.abs().mean()
        loss.backward()
        return loss

    return Trap(Heads(), body=body, expected="either")


@trap
def gradient_penalty():
    """The loss contains the gradient with respect to the input, so second derivatives are needed."""

    def body(model, batch, step):
        x = batch(step)[0][0].requires_grad_()
        output = model(x)
        gradient = torch.autograd.grad(output.sum(), x, create_graph=True)[0]
        loss = output.square().mean() + gradient.square().sum(1).mean()
        loss.backward()
        return loss

    return Trap(blocks(3), body=body, expected="either")


@trap
def gradient_penalty_now_and_then():
    """Only step 7 has the gradient penalty; all other steps have a plain backward."""

    def body(model, batch, step):
        x = batch(step)[0][0].requires_grad_(step == 7)
        output = model(x)
        loss = output.square().mean()
        if step == 7:
            loss = loss + torch.autograd.grad(output.sum(), x, create_graph=True)[0].square().sum(1).mean()
        loss.backward()
        return loss

    return Trap(blocks(3), body=body, expected="either", least_replayed=1)


@trap
def learning_through_a_step():
    """One step of gradient descent makes new parameters. A second call uses them to compute the loss (as in
    MAML)."""

    def body(model, batch, step):
        x, y = batch(step)[0]
        names, parameters = zip(*model.named_parameters())
        gradients = torch.autograd.grad(model(x).square().mean(), parameters, create_graph=True)
        moved = {name: p - 0.1 * g for name, p, g in zip(names, parameters, gradients)}
        loss = torch.func.functional_call(model, moved, (y,)).square().mean()
        loss.backward()
        return loss

    return Trap(blocks(3), pairs, body=body, expected="either")


@trap
def accumulation():
    """Each step of the optimizer has three forwards and backwards. Only the first backward finds no
    gradients."""

    def body(model, batch, step):
        losses = []
        for part in range(3):
            loss = model(data(100 * step + part, ROWS, WIDTH)).square().mean() / 3
            loss.backward()
            losses.append(loss.detach())
        return torch.stack(losses)

    return Trap(Noisy(), body=body)


@trap
def gradients_set_to_zero():
    """Gradients are set to zero in place, so each backward adds to the same tensors."""
    return Trap(
        Noisy(),
        keeps_gradients=True,
        observe=lambda model: [parameter.grad is not None for parameter in model.parameters()],
    )


@trap
def two_steps_down_and_one_up():
    """Each step has two backwards. Before the second backward the weights are moved along the gradient;
    afterwards they are restored (sharpness-aware minimization)."""

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        loss.backward()
        with torch.no_grad():
            before = [parameter.clone() for parameter in model.parameters()]
            for parameter in model.parameters():
                parameter.add_(parameter.grad, alpha=0.1)
        model.zero_grad()
        loss = model(*batch(step)[0]).square().mean()
        loss.backward()
        with torch.no_grad():
            for parameter, old in zip(model.parameters(), before):
                parameter.copy_(old)
        return loss

    return Trap(Noisy(), body=body)


@trap
def gradients_of_inputs():
    """The input is a leaf that needs a gradient, like the parameters."""
    gradients = []

    def body(model, batch, step):
        x = batch(step)[0][0].requires_grad_()
        loss = model(x).square().mean()
        loss.backward()
        gradients[:] = [x.grad]
        return loss

    return Trap(Noisy(), body=body, expected="either", least_replayed=1, observe=lambda model: gradients)


@trap
def gradients_of_inputs_later():
    """From step 7 on, the input needs a gradient, which the plan does not compute."""
    gradients = []

    def body(model, batch, step):
        x = batch(step)[0][0].requires_grad_(step > CHANGE)
        loss = model(x).square().mean()
        loss.backward()
        gradients[:] = [x.grad]
        return loss

    return Trap(Noisy(), body=body, expected="either", observe=lambda model: gradients, least_replayed=1)


@trap
def gradients_through_a_model_before():
    """The input is the output of another network, which is not planned and must get its gradients."""
    before = blocks(2)

    def body(model, batch, step):
        before.zero_grad()
        loss = model(before(*batch(step)[0])).square().mean()
        loss.backward()
        return loss

    return Trap(
        Noisy(),
        body=body,
        expected="either",
        least_replayed=1,
        observe=lambda model: [parameter.grad for parameter in before.parameters()],
    )


@trap
def part_of_the_outputs():
    """The loss uses one of two outputs. Parameters that only the other output needs get no gradient at all,
    instead of a gradient of zeros."""
    return Trap(Heads(), rows, lambda output, step: output[0].square().mean())


@trap
def other_part_of_the_outputs():
    """From step 7 on, the loss uses the other output; in step 10 it uses both."""

    def loss(output, step):
        left, right = output
        return (
            left.square().mean()
            if step <= CHANGE
            else right.abs().mean()
            if step < 10
            else (left * right).mean()
        )

    return Trap(Heads(), rows, loss, expected="either", least_replayed=1)


@trap
def gradient_without_memory_of_its_own():
    """From step 7 on, the loss is a sum, so the output's gradient is one number that is expanded with strides
    of zero."""
    return Trap(
        blocks(4),
        rows,
        lambda output, step: output.square().mean() if step <= CHANGE else output.sum(),
        least_replayed=1,
    )


@trap
def backward_from_the_output():
    """There is no loss: the loop passes the output's gradient. From step 7 on, this gradient is transposed in
    memory."""

    def body(model, batch, step):
        output = model(*batch(step)[0])
        gradient = data(step, ROWS, WIDTH) if step <= CHANGE else data(step, WIDTH, ROWS).t()
        output.backward(gradient)
        return output.detach().mean()

    return Trap(Noisy(), body=body)


@trap
def loss_weighted_by_the_loop():
    """The loop's weight for the loss differs from step to step, and is zero in some steps. It is not part of
    the model."""
    return Trap(Noisy(), rows, lambda output, step: output.square().mean() * (step % 4))


@trap
def gradients_asked_for():
    """`torch.autograd.grad` returns the gradients and must not store them in `.grad`."""

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        parameters = list(model.parameters())
        for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters)):
            parameter.grad = gradient
        return loss

    return Trap(Noisy(), body=body, expected="either", least_replayed=1)


@trap
def gradients_asked_for_some_parameters():
    """In some steps the loop asks for the gradients of only some parameters. The other parameters must get
    none."""

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        loss.backward(inputs=list(model.parameters())[:: 2 if step % 2 else 1])
        return loss

    return Trap(Noisy(), body=body, expected="either", least_replayed=1)


@trap
def scaled_gradients():
    """A GradScaler scales the loss, and skips updates whose gradients are not finite."""
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=3)

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean() * (float("inf") if step in (2, 8) else 1.0)
        scaler.scale(loss).backward()
        return loss

    def update(optimizer, step):
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 1.0)
        scaler.step(optimizer)
        scaler.update()

    return Trap(Noisy(), body=body, update=update, observe=lambda model: scaler.get_scale())


@trap
def input_written_before_backward():
    """The loop writes to the input before the backward. Plain training has not saved the input, so it does
    not fail. An op that runs again would read the new values."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.bias, self.layers = nn.Parameter(torch.zeros(WIDTH)), blocks(3)

        def forward(self, x):
            return self.layers(x + self.bias)

    def body(model, batch, step):
        x = batch(step)[0][0]
        loss = model(x).square().mean()
        x.fill_(100.0)
        loss.backward()
        return loss

    return Trap(Model(), body=body, expected="either")


@trap
def input_written_that_backward_needs():
    """The loop writes to the input before the backward. Plain training has saved the input, and raises an
    error. Planned training must also raise one."""
    errors = []

    def body(model, batch, step):
        x = batch(step)[0][0]
        loss = model(x).square().mean()
        if step in (3, 8):
            x.fill_(100.0)
        try:
            loss.backward()
        except RuntimeError:
            errors.append(step)
            model.zero_grad()
        return loss

    return Trap(blocks(4), body=body, expected="either", least_replayed=1, observe=lambda model: errors)


@trap
def weights_written_before_backward():
    """The loop writes weights through `.data` before the backward. Plain training does not notice this, and
    uses the new weights."""

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        model[2].weight.data.mul_(0.9)
        loss.backward()
        return loss

    return Trap(blocks(4), body=body, expected="either")


@trap
def buffer_written_before_backward():
    """A forward without gradients changes the running statistics between a forward and its backward."""

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        with torch.no_grad():
            model(data(-step, ROWS, WIDTH))
        loss.backward()
        return loss

    return Trap(Noisy(), body=body, expected="either", least_replayed=1)


@trap
def output_written_by_the_caller():
    """The caller writes to the output in place before the loss. In plain training the backward needs no value
    that this write destroys."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.last = blocks(3), nn.Linear(WIDTH, WIDTH)

        def forward(self, x):
            return self.last(self.layers(x))

    def loss(output, step):
        return output.mul_(2.0).add_(1.0).square().mean()

    return Trap(Model(), rows, loss, expected="either", least_replayed=1)


@trap
def output_written_that_backward_needs():
    """The model ends in tanh, whose backward needs the output. So plain training raises if the caller has
    written to the output."""
    errors = []

    def body(model, batch, step):
        output = model(*batch(step)[0])
        if step in (3, 8):
            output.mul_(2.0)
        loss = output.square().mean()
        try:
            loss.backward()
        except RuntimeError:
            errors.append(step)
            model.zero_grad()
        return loss

    return Trap(
        nn.Sequential(blocks(3), nn.Tanh()),
        body=body,
        expected="either",
        least_replayed=1,
        observe=lambda model: errors,
    )


@trap
def numbers_drawn_before_backward():
    """The loop draws random numbers between forward and backward. If dropout runs again, it must draw its
    former mask, although the generator has advanced since then."""
    return Trap(Noisy(), rows, lambda output, step: (output * torch.rand(WIDTH)).square().mean())


@trap
def loss_within_the_model():
    """The model returns its loss, a tensor without dimensions; the labels are inputs."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks(3)

        def forward(self, x, labels):
            return nn.functional.cross_entropy(self.layers(x), labels)

    def batch(step):
        return (
            data(step, ROWS, WIDTH),
            torch.randint(WIDTH, (ROWS,), generator=torch.Generator(DEVICE).manual_seed(step)),
        ), {}

    return Trap(Model(), batch, lambda output, step: output)


class Critic(Heads):
    """A model whose outputs share nothing."""

    def forward(self, x):
        return self.left(x), self.right(x)


def separately(model, batch, step, first=0):
    """Runs a backward for each output from step `first` on, and one backward for both outputs before."""
    left, right = model(*batch(step)[0])
    losses = left.square().mean(), right.abs().mean()
    if step < first:
        sum(losses).backward()
    else:
        for loss in losses:
            loss.backward()
    return torch.stack([loss.detach() for loss in losses])


@trap
def backward_for_each_output():
    """Plain autograd needs no retain_graph for it, because the outputs share no ops."""
    return Trap(Critic(), body=separately, expected="refused")


@trap
def backward_for_each_output_from_some_step_on():
    return Trap(
        Critic(),
        body=lambda model, batch, step: separately(model, batch, step, CHANGE),
        expected="either",
        least_replayed=1,
    )


@trap
def backward_for_an_output_that_is_detached_from_the_trunk():
    class Model(Heads):
        def forward(self, x):
            h = self.trunk(x)
            return self.left(h), self.right(h.detach())

    return Trap(Model(), body=separately, expected="refused")


@trap
def gradients_of_each_output():
    def body(model, batch, step):
        left, right = model(*batch(step)[0])
        parts = (left.square().mean(), model.left), (right.abs().mean(), model.right)
        for loss, part in parts:
            parameters = list(part.parameters())
            for parameter, found in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
                parameter.grad = found
        return parts[0][0]

    return Trap(Critic(), body=body, expected="refused")


@trap
def forward_mode_differentiation_in_some_steps():
    found = []

    def body(model, batch, step):
        x = batch(step)[0][0]
        if step <= CHANGE:
            found[:] = []
            loss = model(x).square().mean()
        else:
            with forward_ad.dual_level():
                out = model(forward_ad.make_dual(x, torch.ones_like(x)))
                primal, tangent = forward_ad.unpack_dual(out)
                found[:] = [tangent.detach().clone()]
                loss = primal.square().mean() + tangent.square().mean()
        loss.backward()
        return loss

    return Trap(blocks(3), body=body, observe=lambda model: found, least_replayed=2)
