"""Traps of calls of the model outside training steps: evaluation, errors, copies, transformations,
threads."""

import atexit
import copy
import io
import pickle
import threading

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from traps import CHANGE, ROWS, WIDTH, Trap, blocks, data, mean_square, trap


class Noisy(nn.Module):
    """A model with random numbers, and with state that each forward in train mode changes."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.drop, self.second = (
            blocks(),
            nn.BatchNorm1d(WIDTH),
            nn.Dropout(0.3),
            blocks(),
        )

    def forward(self, x):
        return self.second(self.drop(self.norm(self.first(x))))


def ordinary(model, batch, step):
    loss = model(*batch(step)[0]).square().mean()
    loss.backward()
    return loss


@trap
def forward_without_graph_between():
    """Between the steps, a forward runs in train mode under `no_grad`. It changes running statistics and
    draws random numbers, and no backward follows."""
    seen = []

    def between(model, step):
        with torch.no_grad():
            seen.append(model(data(-step, ROWS, WIDTH)))

    return Trap(Noisy(), between=between, observe=lambda model: seen)


@trap
def inference_mode_between():
    """Between the steps, a forward runs in inference mode. Its tensors, including those made from running
    statistics, must not be used in an autograd graph later."""
    seen = []

    def between(model, step):
        with torch.inference_mode():
            seen.append(model(data(-step, ROWS, WIDTH)))

    return Trap(Noisy(), between=between, observe=lambda model: seen)


@trap
def evaluation_between():
    """Between the steps, the model is called in eval mode with another batch size, and is then put back in
    train mode."""
    seen = []

    def between(model, step):
        model.eval()
        with torch.no_grad():
            seen.append(model(data(-step, 7, WIDTH)))
        model.train()

    return Trap(Noisy(), between=between, observe=lambda model: seen)


@trap
def evaluation_with_graph_between():
    """Between the steps, the model is called in eval mode without `no_grad`. The autograd graph of this call
    is dropped."""
    seen = []

    def between(model, step):
        model.eval()
        seen.append(model(data(-step, ROWS, WIDTH)).detach())
        model.train()

    return Trap(Noisy(), between=between, observe=lambda model: seen)


@trap
def forward_without_backward():
    """Each step also runs a forward whose output is dropped. This forward still changes running statistics
    and draws random numbers."""

    def body(model, batch, step):
        model(data(-step, ROWS, WIDTH))
        return ordinary(model, batch, step)

    return Trap(Noisy(), body=body)


@trap
def forward_whose_output_is_kept():
    """Each step runs a second forward, whose output and autograd graph are kept for three steps."""
    open_outputs = []

    def body(model, batch, step):
        open_outputs.append(model(data(-step, ROWS, WIDTH)))
        del open_outputs[:-3]
        return ordinary(model, batch, step)

    return Trap(Noisy(), body=body, expected="either", least_replayed=1, observe=lambda model: open_outputs)


@trap
def steps_without_backward():
    """The loop skips the backward of some batches, as some loops do when the loss is not finite."""

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        if step in (1, 4, 7):
            return loss.detach()
        loss.backward()
        return loss

    return Trap(Noisy(), body=body)


def catching(errors: list, error_type: type):
    """Returns a step that catches errors of this type and notes them in `errors`."""

    def body(model, batch, step):
        try:
            return ordinary(model, batch, step)
        except error_type as error:
            errors.append(f"{step}: {type(error).__name__}: {error}")
            model.zero_grad()  # a failed backward leaves only some of the gradients
            return None

    return body


@trap
def input_of_a_wrong_shape():
    """The forward raises in steps 3 and 8. The error must be that of plain training, and training must go
    on."""
    errors = []

    def batch(step):
        return (data(step, ROWS, WIDTH + (step in (3, 8))),), {}

    return Trap(
        Noisy(),
        batch,
        body=catching(errors, RuntimeError),
        expected="either",
        least_replayed=1,
        observe=lambda model: errors,
    )


@trap
def error_in_the_middle_of_forward():
    """The forward raises in steps 3 and 8, because of a flag on the model. By then the running statistics
    have changed."""

    class Model(Noisy):
        failing = False

        def forward(self, x):
            x = self.norm(self.first(x))
            if self.failing:
                raise ValueError("asked to fail")
            return self.second(self.drop(x))

    errors = []

    def between(model, step):
        model.failing = step + 1 in (3, 8)

    return Trap(
        Model(),
        body=catching(errors, ValueError),
        between=between,
        expected="either",
        least_replayed=1,
        observe=lambda model: errors,
    )


@trap
def error_in_backward():
    """The backward raises when some of the gradients exist. The loop drops these gradients and goes on."""

    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(context, x, failing):
            context.failing = failing
            return x.view_as(x)

        @staticmethod
        def backward(context, gradient):
            if context.failing:
                raise ValueError("asked to fail")
            return gradient, None

    class Model(Noisy):
        def forward(self, x, failing=False):
            return self.second(Failing.apply(self.drop(self.norm(self.first(x))), failing))

    errors = []
    return Trap(
        Model(),
        lambda step: ((data(step, ROWS, WIDTH), step in (3, 8)), {}),
        body=catching(errors, ValueError),
        expected="either",
        least_replayed=1,
        observe=lambda model: errors,
    )


@trap
def error_in_the_loss():
    """The loss raises in steps 3 and 8, so the backward of the forward in these steps never runs."""
    errors = []

    def body(model, batch, step):
        try:
            output = model(*batch(step)[0])
            if step in (3, 8):
                raise ValueError("asked to fail")
        except ValueError as error:
            errors.append(f"{step}: {error}")
            return None
        loss = output.square().mean()
        loss.backward()
        return loss

    return Trap(Noisy(), body=body, observe=lambda model: errors)


def train_copy(model: nn.Module) -> list[torch.Tensor]:
    """Trains a copy for one step and restores the generator's state. Returns the gradients and parameters of
    the copy."""
    with torch.random.fork_rng(devices=[]):
        model.zero_grad()
        mean_square(model(data(77, ROWS, WIDTH)), 0).backward()
        gradients = [parameter.grad.clone() for parameter in model.parameters()]
        torch.optim.SGD(model.parameters(), lr=0.1).step()
    return [*gradients, *model.state_dict().values()]


@trap
def deep_copy():
    """After some steps a deep copy is made and trained; then the original is trained further. Neither
    training may change the other model."""
    seen = []

    def between(model, step):
        if step in (2, 4, 7):
            seen.append(train_copy(copy.deepcopy(model)))

    return Trap(Noisy(), between=between, observe=lambda model: seen)


@trap
def pickled():
    """After some steps the whole model is pickled and unpickled, and the new model is trained."""
    seen = []

    def between(model, step):
        if step in (2, 4, 7):
            seen.append(train_copy(pickle.loads(pickle.dumps(model))))

    return Trap(Noisy(), between=between, observe=lambda model: seen)


@trap
def saved_and_loaded():
    """The whole model is saved and loaded by `torch.save`; its state is loaded into a fresh model, so the
    names must match."""
    seen = []

    def between(model, step):
        if step in (2, 7):
            file = io.BytesIO()
            torch.save(model, file)
            file.seek(0)
            seen.append(train_copy(torch.load(file, weights_only=False)))
            fresh = Noisy()
            fresh.load_state_dict(model.state_dict())
            seen.append(train_copy(fresh))

    return Trap(Noisy(), between=between, observe=lambda model: seen)


@trap
def average_of_the_weights():
    """The running average of the model starts as a deep copy and is updated after each step."""
    averages = []

    def between(model, step):
        if not averages:
            averages.append(torch.optim.swa_utils.AveragedModel(model))
        averages[0].update_parameters(model)

    return Trap(Noisy(), between=between, observe=lambda model: averages[0].module.state_dict())


@trap
def functional_call():
    """In some steps the model is called with other tensors instead of its parameters, and these tensors get
    the gradients."""
    seen = []

    def body(model, batch, step):
        if step % 4 == 0:
            others = {
                name: (parameter.detach() * 0.9).requires_grad_()
                for name, parameter in model.named_parameters()
            }
            torch.func.functional_call(model, others, batch(step)[0]).square().mean().backward()
            seen.append([other.grad for other in others.values()])
        return ordinary(model, batch, step)

    return Trap(blocks(4), body=body, expected="either", least_replayed=1, observe=lambda model: seen)


@trap
def gradients_of_each_row():
    """In steps 2 and 8, `vmap` and `grad` run the forward on their own tensors. Such a tensor represents one
    tensor for each row."""
    seen = []

    def between(model, step):
        if step in (2, 8):
            parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}

            def loss(parameters, row):
                return torch.func.functional_call(model, parameters, (row.unsqueeze(0),)).square().mean()

            gradients = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(
                parameters, data(5, 8, WIDTH)
            )
            seen.append(list(gradients.values()))

    return Trap(blocks(4), between=between, observe=lambda model: seen)


@trap
def traced():
    """Between the steps TorchScript traces the model, as for an export."""
    seen = []

    def between(model, step):
        if step in (2, 7):
            traced = torch.jit.trace(model.eval(), data(5, ROWS, WIDTH), check_trace=False)
            seen.append(traced(data(6, ROWS, WIDTH)).detach())
            model.train()

    return Trap(Noisy(), between=between, expected="either", least_replayed=1, observe=lambda model: seen)


@trap
def forward_called_by_name():
    """The loop calls `model.forward` instead of the model."""

    def body(model, batch, step):
        loss = model.forward(*batch(step)[0]).square().mean()
        loss.backward()
        return loss

    return Trap(Noisy(), body=body, expected="either")


@trap
def submodule_called_by_the_loop():
    """The loop also calls a submodule directly, and adds its output to the loss."""

    def body(model, batch, step):
        x = batch(step)[0][0]
        loss = model(x).square().mean() + 0.1 * model.first(x).abs().mean()
        loss.backward()
        return loss

    return Trap(Noisy(), body=body)


@trap
def steps_in_threads():
    """Each step runs in a new thread. Thread-local state, such as autocast's, does not exist in the next
    thread."""

    def body(model, batch, step):
        losses = []
        thread = threading.Thread(target=lambda: losses.append(ordinary(model, batch, step)))
        thread.start()
        thread.join()
        return losses[0]

    return Trap(Noisy(), body=body, expected="either", least_replayed=1)


@trap
def steps_in_threads_that_live_on():
    """Each step runs in a new thread, and all threads live until the process ends. Libraries of a GPU keep
    memory for each thread."""
    process_ends = threading.Event()

    def body(model, batch, step):
        losses, is_done = [], threading.Event()

        def run():
            try:
                losses.append(ordinary(model, batch, step))
            finally:
                is_done.set()
            process_ends.wait()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        atexit.register(lambda: (process_ends.set(), thread.join()))
        is_done.wait()
        return losses[0]

    return Trap(Noisy(), body=body, expected="either", least_replayed=1)


@trap
def backward_in_another_thread():
    """The forward runs in the main thread, and the backward in another thread."""

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        thread = threading.Thread(target=loss.backward)
        thread.start()
        thread.join()
        return loss

    return Trap(Noisy(), body=body, expected="either", least_replayed=1)


@trap
def dispatch_mode_of_the_caller():
    """From step 7 on, the loop's dispatch mode handles all ops, and rounds the results of matrix products."""

    class Rounding(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            output = function(*args, **(kwargs or {}))
            return output.bfloat16().float() if function is torch.ops.aten.addmm.default else output

    def body(model, batch, step):
        if step <= CHANGE:
            return ordinary(model, batch, step)
        with Rounding():
            return ordinary(model, batch, step)

    return Trap(blocks(4), body=body, expected="either", least_replayed=1)


@trap
def moved_to_double_and_back():
    """Between some steps `double()` and `float()` give all parameters new memory with the same values."""

    def between(model, step):
        if step in (3, CHANGE):
            model.double().float()

    return Trap(Noisy(), between=between, expected="either", least_replayed=1)


@trap
def anomalies_detected():
    """The loop turns on anomaly detection: autograd checks the gradients of each node, and remembers which
    line of the forward made the node."""

    def body(model, batch, step):
        with torch.autograd.set_detect_anomaly(True):
            return ordinary(model, batch, step)

    return Trap(Noisy(), body=body, expected="either")


@trap
def parameters_made_by_the_first_call():
    layers = [nn.LazyLinear(WIDTH), nn.GELU(), *blocks()]
    return Trap(nn.Sequential(*layers), expected="either", least_replayed=1)
