"""Traps of features of autograd that are not ops: functions with their own backward, checkpointing, hooks."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from traps import CHANGE, WIDTH, Trap, blocks, data, trap


class TwoStacks(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = blocks(), blocks()

    def forward(self, x):
        return self.second(self.first(x))


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        gate = x.sigmoid()
        context.save_for_backward(x, gate)
        return x * gate

    @staticmethod
    def backward(context, gradient):
        x, gate = context.saved_tensors
        return gradient * gate * (1 + x * (1 - gate))


class Scale(torch.autograd.Function):
    """A function that keeps a Python number on its context."""

    @staticmethod
    def forward(context, x, number):
        context.number = number
        return x * number

    @staticmethod
    def backward(context, gradient):
        return gradient * context.number, None


class Flip(torch.autograd.Function):
    """An identity whose backward negates the gradient, as in domain-adversarial training."""

    @staticmethod
    def forward(context, x):
        return x.view_as(x)

    @staticmethod
    def backward(context, gradient):
        return gradient.neg()


@trap
def function_with_saved_tensors():
    """A function with its own backward saves tensors. A recording sees its ops, but not which tensors it
    saves."""

    class Model(TwoStacks):
        def forward(self, x):
            return self.second(Swish.apply(self.first(x)))

    return Trap(Model())


@trap
def function_with_a_number():
    """The function's forward leaves a Python number for its backward. The number is the same in each step."""

    class Model(TwoStacks):
        def forward(self, x):
            return self.second(Scale.apply(self.first(x), 0.5))

    return Trap(Model())


@trap
def function_with_a_changing_number():
    """Only the function's backward uses the number, which differs from step to step."""

    class ScaleGradient(Scale):
        @staticmethod
        def forward(context, x, number):
            context.number = number
            return x.view_as(x)

    class Model(TwoStacks):
        calls = 0

        def forward(self, x):
            self.calls += 1
            return self.second(ScaleGradient.apply(self.first(x), 1 / self.calls))

    return Trap(Model(), expected="refused", observe=lambda model: model.calls)


@trap
def function_that_turns_the_gradient():
    """The function's forward returns a view of its input, as the identity does. A plan must not drop the
    function, because its backward negates the gradient."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.first(x)
            return self.second(Flip.apply(h)) + h

    return Trap(Model())


@trap
def function_that_logs_in_backward():
    """Python code in the function's backward appends to a list; a replay does not run such code."""
    log = []

    class Logging(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x.view_as(x)

        @staticmethod
        def backward(context, gradient):
            log.append(gradient.abs().max())
            return gradient

    class Model(TwoStacks):
        def forward(self, x):
            return self.second(Logging.apply(self.first(x)))

    return Trap(Model(), expected="either", observe=lambda model: log)


@trap
def function_that_runs_autograd_inside():
    """The function's backward runs an inner forward and an inner backward, as reversible layers do."""

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(x)
            return x.tanh() * x

        @staticmethod
        def backward(context, gradient):
            with torch.enable_grad():
                x = context.saved_tensors[0].detach().requires_grad_()
                return torch.autograd.grad(x.tanh() * x, x, gradient)[0]

    class Model(TwoStacks):
        def forward(self, x):
            return self.second(Inner.apply(self.first(x)))

    return Trap(Model())


def checkpointed(reentrant: bool, *inner: nn.Module, **options) -> Trap:
    """Returns a trap with a checkpointed middle part. Plain training also runs this part twice. The second
    run is in the backward, with the states that the random generators had in the first run."""

    class Model(TwoStacks):
        def __init__(self):
            super().__init__()
            self.middle = nn.Sequential(blocks(1), *inner, blocks(1))

        def forward(self, x):
            return self.second(checkpoint(self.middle, self.first(x), use_reentrant=reentrant))

    return Trap(Model(), expected="either", least_replayed=1, **options)


@trap
def reentrant_checkpoint_with_dropout():
    """The backward runs the forward again, and then an inner backward. Dropout must draw the same mask
    again."""
    return checkpointed(True, nn.Dropout(0.3))


@trap
def checkpoint_with_dropout():
    """The forward of the middle part runs again when the backward needs its saved tensors. Dropout must draw
    the same mask again."""
    return checkpointed(False, nn.Dropout(0.3))


@trap
def reentrant_checkpoint_with_batch_norm():
    """In plain training the running statistics change twice in each step. A plan must do the same."""
    return checkpointed(True, nn.BatchNorm1d(WIDTH))


@trap
def checkpoint_with_batch_norm():
    """The running statistics change twice in each step. The second change happens when the backward needs
    saved tensors and runs the middle part again."""
    return checkpointed(False, nn.BatchNorm1d(WIDTH))


@trap
def saved_tensors_packed():
    """The training loop's hooks store saved tensors in lower precision, which changes the gradients."""

    def body(model, batch, step):
        with torch.autograd.graph.saved_tensors_hooks(
            lambda saved: saved.bfloat16(), lambda packed: packed.float()
        ):
            loss = model(*batch(step)[0]).square().mean()
        loss.backward()
        return loss

    return Trap(blocks(4), body=body, expected="either")


@trap
def saved_tensors_packed_later():
    """From the seventh step on, when a plan exists, the loop's hooks store saved tensors in lower
    precision."""

    def body(model, batch, step):
        if step <= CHANGE:
            loss = model(*batch(step)[0]).square().mean()
        else:
            with torch.autograd.graph.saved_tensors_hooks(
                lambda saved: saved.bfloat16(), lambda packed: packed.float()
            ):
                loss = model(*batch(step)[0]).square().mean()
        loss.backward()
        return loss

    return Trap(blocks(4), body=body, expected="either", least_replayed=1)


@trap
def hook_on_a_parameter():
    """A hook on a parameter halves its gradient. If a plan both replays the halving and calls the hook, the
    gradient is halved twice."""
    model = blocks(4)
    model[2].weight.register_hook(lambda gradient: gradient * 0.5)
    return Trap(model, expected="either", least_replayed=1)


@trap
def hook_on_a_parameter_that_logs():
    """A hook on a parameter stores the gradients and does not change them."""
    log, model = [], blocks(4)
    model[2].weight.register_hook(lambda gradient: log.append(gradient.clone()))
    return Trap(model, expected="either", least_replayed=1, observe=lambda model: log)


@trap
def hook_on_an_activation():
    """The forward registers a hook on an activation. The hook clips the activation's gradient."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.first(x)
            h.register_hook(lambda gradient: gradient.clamp(-1e-3, 1e-3))
            return self.second(h)

    return Trap(Model(), expected="either", least_replayed=1)


@trap
def gradient_kept_by_an_activation():
    """The module keeps an activation of its newest forward, and the loop reads the gradient of the
    activation."""

    class Model(TwoStacks):
        def forward(self, x):
            self.middle = self.first(x)
            self.middle.retain_grad()
            return self.second(self.middle)

    return Trap(Model(), expected="either", observe=lambda model: model.middle.grad)


@trap
def hook_after_accumulation():
    """A hook that runs after the accumulation copies the parameter's gradient, and halves the gradient in
    place."""
    log, model = [], blocks(4)

    def halve(parameter):
        log.append(parameter.grad.clone())
        parameter.grad.mul_(0.5)

    model[2].weight.register_post_accumulate_grad_hook(halve)
    return Trap(model, expected="either", least_replayed=1, observe=lambda model: log)


@trap
def optimizer_within_backward():
    """Each parameter is updated as soon as its gradient exists, and the gradient is then freed. So weights
    change before the backward ends."""
    model = blocks(4)

    def descend(parameter):
        with torch.no_grad():
            parameter.sub_(parameter.grad, alpha=0.1)
        parameter.grad = None

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(descend)
    return Trap(model, expected="either", least_replayed=1, update=lambda optimizer, step: None)


@trap
def forward_hook_that_changes_the_output():
    """A hook of a submodule computes the output; the hook's ops are part of the forward."""
    model = blocks(4)
    model[2].register_forward_hook(lambda module, inputs, output: output * 0.5)
    return Trap(model, expected="either", least_replayed=1)


@trap
def forward_hook_that_logs():
    """A hook of a submodule keeps the outputs, as tools that inspect models do."""
    log, model = [], blocks(4)
    model[2].register_forward_hook(lambda module, inputs, output: log.append(output.detach().mean()))
    return Trap(model, expected="either", observe=lambda model: log)


@trap
def hooks_of_the_model_itself():
    """Hooks before and after the planned model change its input and its output. They must run exactly
    once."""
    model = TwoStacks()
    model.register_forward_pre_hook(lambda module, inputs: (inputs[0] * 2,))
    model.register_forward_hook(lambda module, inputs, output: output * 0.5)
    return Trap(model, expected="either", least_replayed=1)


@trap
def backward_hook_of_a_module():
    """A hook changes the gradient of a submodule's input, and a second hook counts its calls."""
    calls, model = [], blocks(4)
    model[2].register_full_backward_hook(lambda module, inputs, outputs: (inputs[0] * 0.5,))
    model[4].register_full_backward_pre_hook(lambda module, outputs: calls.append(len(outputs)))
    return Trap(model, expected="either", observe=lambda model: calls)


@trap
def hook_of_all_modules():
    """A hook for all modules of the process is registered during the whole training."""

    class Around:
        def __enter__(self):
            self.handle = nn.modules.module.register_module_forward_hook(
                lambda module, inputs, output: output * 1.01
            )

        def __exit__(self, *error):
            self.handle.remove()

    return Trap(blocks(4), expected="either", least_replayed=1, around=Around)


@trap
def gradient_of_a_view_of_a_parameter():
    """Only some rows of a parameter are used. The gradient of the other rows is zero, not None."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.layers = nn.Parameter(data(0, 100, WIDTH)), blocks(3)

        def forward(self, x):
            return self.layers(x) + self.table[: len(x)]

    return Trap(Model())


@trap
def gradient_computed_in_forward():
    """The forward computes the gradient of an energy by autograd, as models of forces do; the loss
    differentiates this gradient again."""

    class Model(TwoStacks):
        def forward(self, x):
            x = x.clone().requires_grad_()
            energy = self.second(self.first(x)).tanh().sum()
            return torch.autograd.grad(energy, x, create_graph=True)[0]

    return Trap(Model(), expected="either", least_replayed=1)


@trap
def parameters_with_gradients_before():
    """The parameters already have gradients when the backward begins. The backward must add to these
    gradients."""
    model = blocks(4)

    def body(model, batch, step):
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, 0.01 * step)
            first = parameter.grad
        loss = model(*batch(step)[0]).square().mean()
        loss.backward()
        kept.append(parameter.grad is first)
        return loss

    kept = []
    return Trap(model, body=body, observe=lambda model: kept)


@trap
def optimizer_steps_in_the_backward():
    """Each parameter is updated as soon as its gradient exists, while other gradients are not computed
    yet."""
    model = nn.Sequential(*(blocks(1) for _ in range(8)))
    for parameter in model.parameters():
        optimizer = torch.optim.SGD([parameter], lr=0.1)

        def step(parameter, optimizer=optimizer):
            optimizer.step()

        parameter.register_post_accumulate_grad_hook(step)
    return Trap(model, budget="60%")


@trap
def output_and_a_part_of_it():
    """One output is a slice of another. The loop writes to the whole tensor in place, which also changes the
    slice, and computes the loss from the slice."""

    class Model(TwoStacks):
        def forward(self, x):
            h = super().forward(x)
            return h * 1.0, h, h[:, :4]

    def loss(outputs, step):
        _, whole, part = outputs
        whole.mul_(2.0)
        return part.square().mean()

    return Trap(Model(), loss=loss, expected="refused")


@trap
def output_and_its_transpose():
    """The two outputs share memory, and no op writes to them."""

    class Model(TwoStacks):
        def forward(self, x):
            h = super().forward(x)
            return h, h.t()

    return Trap(Model(), loss=lambda outputs, step: (outputs[0] @ outputs[1]).square().mean())


@trap
def halves_of_one_tensor():
    """The two outputs are views of one storage that have no bytes in common."""

    class Model(TwoStacks):
        def forward(self, x):
            return super().forward(x).chunk(2, 1)

    return Trap(Model(), loss=lambda outputs, step: (outputs[0] * outputs[1].tanh()).square().mean())


@trap
def compiled_layer():
    """torch.compile traces the layer on fake tensors while the step is recorded."""
    return Trap(
        nn.Sequential(blocks(), torch.compile(nn.Linear(WIDTH, WIDTH), backend="eager"), blocks()),
        expected="either",
        least_replayed=1,
    )


@trap
def compiled_around():
    """torch.compile is applied to the model, although this package has replaced the model's call."""

    def body(model, batch, step):
        if step == 1:
            compiled.append(torch.compile(model, backend="eager"))
        loss = compiled[0](*batch(step)[0]).square().mean()
        loss.backward()
        return loss

    compiled = []
    return Trap(nn.Sequential(blocks(), blocks()), body=body, expected="either")
