"""Traps of the parts of autograd that are no ops: functions with their own backward, checkpointing, hooks."""

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
    """Its number is kept on the context, not as a tensor."""

    @staticmethod
    def forward(context, x, number):
        context.number = number
        return x * number

    @staticmethod
    def backward(context, gradient):
        return gradient * context.number, None


class Flip(torch.autograd.Function):
    """The identity with a gradient of the other sign, as for adversarial domains."""

    @staticmethod
    def forward(context, x):
        return x.view_as(x)

    @staticmethod
    def backward(context, gradient):
        return gradient.neg()


@trap
def function_with_saved_tensors():
    """A function with its own backward saves tensors: its ops are recorded, but not which of them autograd
    would save."""

    class Model(TwoStacks):
        def forward(self, x):
            return self.second(Swish.apply(self.first(x)))

    return Trap(Model())


@trap
def function_with_a_number():
    """What forward leaves for backward is a Python number that stays the same."""

    class Model(TwoStacks):
        def forward(self, x):
            return self.second(Scale.apply(self.first(x), 0.5))

    return Trap(Model())


@trap
def function_with_a_changing_number():
    """The number is only used in backward, and is another one in each step."""

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
    """In forward the function gives a view of its input. This identity must not be dropped, because its
    backward is no identity."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.first(x)
            return self.second(Flip.apply(h)) + h

    return Trap(Model())


@trap
def function_that_logs_in_backward():
    """Python code in backward appends to a list; a replay does not run it."""
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
    """The backward runs a forward and a backward of its own, as reversible layers do."""

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
    """Plain training runs the middle twice, too: the second time within its backward, with the states of the
    generators put back and forth."""

    class Model(TwoStacks):
        def __init__(self):
            super().__init__()
            self.middle = nn.Sequential(blocks(1), *inner, blocks(1))

        def forward(self, x):
            return self.second(checkpoint(self.middle, self.first(x), use_reentrant=reentrant))

    return Trap(Model(), expected="either", least_replayed=1, **options)


@trap
def reentrant_checkpoint_with_dropout():
    """Backward calls forward and then another backward within itself; dropout must draw the same mask
    there."""
    return checkpointed(True, nn.Dropout(0.3))


@trap
def checkpoint_with_dropout():
    """Saved tensors are computed again when backward asks for them; dropout must draw the same mask there."""
    return checkpointed(False, nn.Dropout(0.3))


@trap
def reentrant_checkpoint_with_batch_norm():
    """Running statistics move twice in each step of plain training, and must do so here."""
    return checkpointed(True, nn.BatchNorm1d(WIDTH))


@trap
def checkpoint_with_batch_norm():
    """As before, but in the order in which backward asks for saved tensors."""
    return checkpointed(False, nn.BatchNorm1d(WIDTH))


@trap
def saved_tensors_packed():
    """Hooks of the loop store what is saved for backward in lower precision, so that the gradients are
    others."""

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
    """As before, but from the seventh step on, when there is a plan."""

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
    """The hook halves the gradient: if its op is replayed and the hook runs on the result, it is halved
    twice."""
    model = blocks(4)
    model[2].weight.register_hook(lambda gradient: gradient * 0.5)
    return Trap(model, expected="either", least_replayed=1)


@trap
def hook_on_a_parameter_that_logs():
    """The hook keeps the gradients that it is given, and leaves them as they are."""
    log, model = [], blocks(4)
    model[2].weight.register_hook(lambda gradient: log.append(gradient.clone()))
    return Trap(model, expected="either", least_replayed=1, observe=lambda model: log)


@trap
def hook_on_an_activation():
    """Forward puts a hook on an activation that clips its gradient."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.first(x)
            h.register_hook(lambda gradient: gradient.clamp(-1e-3, 1e-3))
            return self.second(h)

    return Trap(Model(), expected="either", least_replayed=1)


@trap
def gradient_kept_by_an_activation():
    """An activation of the last step is on the module, and the loop looks at its gradient."""

    class Model(TwoStacks):
        def forward(self, x):
            self.middle = self.first(x)
            self.middle.retain_grad()
            return self.second(self.middle)

    return Trap(Model(), expected="either", observe=lambda model: model.middle.grad)


@trap
def hook_after_accumulation():
    """The hook sees the parameter's gradient after it was added up, keeps it, and halves it in place."""
    log, model = [], blocks(4)

    def halve(parameter):
        log.append(parameter.grad.clone())
        parameter.grad.mul_(0.5)

    model[2].weight.register_post_accumulate_grad_hook(halve)
    return Trap(model, expected="either", least_replayed=1, observe=lambda model: log)


@trap
def optimizer_within_backward():
    """Each parameter is moved as soon as its gradient is there, and the gradient is dropped: weights change
    before backward ends."""
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
    """A hook of a submodule computes: its ops are those of forward."""
    model = blocks(4)
    model[2].register_forward_hook(lambda module, inputs, output: output * 0.5)
    return Trap(model, expected="either", least_replayed=1)


@trap
def forward_hook_that_logs():
    """A hook of a submodule keeps its outputs, as tools that look into models do."""
    log, model = [], blocks(4)
    model[2].register_forward_hook(lambda module, inputs, output: log.append(output.detach().mean()))
    return Trap(model, expected="either", observe=lambda model: log)


@trap
def hooks_of_the_model_itself():
    """Hooks before and after the model that was applied to: they change its input and its output, once."""
    model = TwoStacks()
    model.register_forward_pre_hook(lambda module, inputs: (inputs[0] * 2,))
    model.register_forward_hook(lambda module, inputs, output: output * 0.5)
    return Trap(model, expected="either", least_replayed=1)


@trap
def backward_hook_of_a_module():
    """The hook changes the gradient of a module's input, and a second one notes how often it is called."""
    calls, model = [], blocks(4)
    model[2].register_full_backward_hook(lambda module, inputs, outputs: (inputs[0] * 0.5,))
    model[4].register_full_backward_pre_hook(lambda module, outputs: calls.append(len(outputs)))
    return Trap(model, expected="either", observe=lambda model: calls)


@trap
def hook_of_all_modules():
    """A hook for all modules of the process, for as long as the training lasts."""

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
    """Only some rows of a parameter are used: the gradient of the others is zero, not none."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.layers = nn.Parameter(data(0, 100, WIDTH)), blocks(3)

        def forward(self, x):
            return self.layers(x) + self.table[: len(x)]

    return Trap(Model())


@trap
def gradient_computed_in_forward():
    """Forward asks autograd for the gradient of an energy, as models of forces do; the loss differentiates it
    again."""

    class Model(TwoStacks):
        def forward(self, x):
            x = x.clone().requires_grad_()
            energy = self.second(self.first(x)).tanh().sum()
            return torch.autograd.grad(energy, x, create_graph=True)[0]

    return Trap(Model(), expected="either", least_replayed=1)


@trap
def parameters_with_gradients_before():
    """Backward finds gradients on the parameters already, and adds to them in the tensors that are there."""
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
    """Each parameter moves as soon as its gradient is there, while other gradients are still to be
    computed."""
    model = nn.Sequential(*(blocks(1) for _ in range(8)))
    for parameter in model.parameters():
        optimizer = torch.optim.SGD([parameter], lr=0.1)

        def step(parameter, optimizer=optimizer):
            optimizer.step()

        parameter.register_post_accumulate_grad_hook(step)
    return Trap(model, budget="60%")


@trap
def output_and_a_part_of_it():
    """One output is a part of the other. A write of the loop to one output in place changes the other, too,
    and the gradient has a part from each."""

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
    """They share memory, and nobody writes to them."""

    class Model(TwoStacks):
        def forward(self, x):
            h = super().forward(x)
            return h, h.t()

    return Trap(Model(), loss=lambda outputs, step: (outputs[0] @ outputs[1]).square().mean())


@trap
def halves_of_one_tensor():
    """Two views that share a storage and no bytes."""

    class Model(TwoStacks):
        def forward(self, x):
            return super().forward(x).chunk(2, 1)

    return Trap(Model(), loss=lambda outputs, step: (outputs[0] * outputs[1].tanh()).square().mean())


@trap
def compiled_layer():
    """torch.compile traces on stand-ins of tensors while the step is recorded."""
    return Trap(
        nn.Sequential(blocks(), torch.compile(nn.Linear(WIDTH, WIDTH), backend="eager"), blocks()),
        expected="either",
        least_replayed=1,
    )


@trap
def compiled_around():
    """torch.compile around the model meets what is called in its place."""

    def body(model, batch, step):
        if step == 1:
            compiled.append(torch.compile(model, backend="eager"))
        loss = compiled[0](*batch(step)[0]).square().mean()
        loss.backward()
        return loss

    compiled = []
    return Trap(nn.Sequential(blocks(), blocks()), body=body, expected="either")
