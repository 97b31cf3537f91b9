"""Traps of calls of the model beside training steps: evaluation, errors, copies, transformations, threads."""

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
    """A model with state that each forward in train mode changes, and with random numbers."""

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
    """In train mode but without a graph: statistics and generators move, and no backward follows."""
    seen = []

    def between(model, step):
        with torch.no_grad():
            seen.append(model(data(-step, ROWS, WIDTH)))

    return Trap(Noisy(), between=between, observe=lambda model: seen)


@trap
def inference_mode_between():
    """Tensors of inference mode, among them what is computed from running statistics, may not enter a graph
    later."""
    seen = []

    def between(model, step):
        with torch.inference_mode():
            seen.append(model(data(-step, ROWS, WIDTH)))

    return Trap(Noisy(), between=between, observe=lambda model: seen)


@trap
def evaluation_between():
    """The model is put in eval mode, called with another batch size, and put back in train mode."""
    seen = []

    def between(model, step):
        model.eval()
        with torch.no_grad():
            seen.append(model(data(-step, 7, WIDTH)))
        model.train()

    return Trap(Noisy(), between=between, observe=lambda model: seen)


@trap
def evaluation_with_graph_between():
    """Evaluation without `no_grad`: the call is in eval mode and has a graph, which is dropped."""
    seen = []

    def between(model, step):
        model.eval()
        seen.append(model(data(-step, ROWS, WIDTH)).detach())
        model.train()

    return Trap(Noisy(), between=between, observe=lambda model: seen)


@trap
def forward_without_backward():
    """Each step has a forward whose output is dropped. The statistics and random numbers of this forward
    count nevertheless."""

    def body(model, batch, step):
        model(data(-step, ROWS, WIDTH))
        return ordinary(model, batch, step)

    return Trap(Noisy(), body=body)


@trap
def forward_whose_output_is_kept():
    """As before, but the output with its graph lives on for three steps, in which others begin and end."""
    open_outputs = []

    def body(model, batch, step):
        open_outputs.append(model(data(-step, ROWS, WIDTH)))
        del open_outputs[:-3]
        return ordinary(model, batch, step)

    return Trap(Noisy(), body=body, expected="either", least_replayed=1, observe=lambda model: open_outputs)


@trap
def steps_without_backward():
    """The loop skips the backward of some batches, as it does where the loss is not finite."""

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        if step in (1, 4, 7):
            return loss.detach()
        loss.backward()
        return loss

    return Trap(Noisy(), body=body)


def catching(errors: list, error_type: type):
    """Returns a step that goes on after an error, and notes the error."""

    def body(model, batch, step):
        try:
            return ordinary(model, batch, step)
        except error_type as error:
            errors.append(f"{step}: {type(error).__name__}: {error}")
            model.zero_grad()  # a backward that failed has left some gradients and not others
            return None

    return body


@trap
def input_of_a_wrong_shape():
    """Forward raises in the third and the eighth step; the error must be the one of plain training, and
    training goes on."""
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
    """Forward raises in the third and the eighth step, by a flag on the model, when the statistics have moved
    already."""

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
    """Backward raises half way, when some gradients are there; the loop drops them and goes on."""

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
    """The loss raises in the third and the eighth step: a forward is open whose backward never comes."""
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
    """Trains a copy for one step and puts the generator back. Returns the gradients and parameters of the
    copy."""
    with torch.random.fork_rng(devices=[]):
        model.zero_grad()
        mean_square(model(data(77, ROWS, WIDTH)), 0).backward()
        gradients = [parameter.grad.clone() for parameter in model.parameters()]
        torch.optim.SGD(model.parameters(), lr=0.1).step()
    return [*gradients, *model.state_dict().values()]


@trap
def deep_copy():
    """A copy is made after some steps and trained, then the original goes on: neither may move the other."""
    seen = []

    def between(model, step):
        if step in (2, 4, 7):
            seen.append(train_copy(copy.deepcopy(model)))

    return Trap(Noisy(), between=between, observe=lambda model: seen)


@trap
def pickled():
    """The whole model goes through pickle after some steps, and what comes out is trained."""
    seen = []

    def between(model, step):
        if step in (2, 4, 7):
            seen.append(train_copy(pickle.loads(pickle.dumps(model))))

    return Trap(Noisy(), between=between, observe=lambda model: seen)


@trap
def saved_and_loaded():
    """The whole model goes through `torch.save`; its state goes into a fresh model, whose names must fit."""
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
    """A running average of the model is a deep copy that is made first and moved after each step."""
    averages = []

    def between(model, step):
        if not averages:
            averages.append(torch.optim.swa_utils.AveragedModel(model))
        averages[0].update_parameters(model)

    return Trap(Noisy(), between=between, observe=lambda model: averages[0].module.state_dict())


@trap
def functional_call():
    """The model is called with other tensors in the place of its parameters, which get the gradients."""
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
    """`vmap` and `grad` run forward with tensors of theirs that stand for many, in the second and the eighth
    step."""
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
    """The model is traced by TorchScript between the steps, as for an export."""
    seen = []

    def between(model, step):
        if step in (2, 7):
            traced = torch.jit.trace(model.eval(), data(5, ROWS, WIDTH), check_trace=False)
            seen.append(traced(data(6, ROWS, WIDTH)).detach())
            model.train()

    return Trap(Noisy(), between=between, expected="either", least_replayed=1, observe=lambda model: seen)


@trap
def forward_called_by_name():
    """The loop calls `model.forward`, not the model."""

    def body(model, batch, step):
        loss = model.forward(*batch(step)[0]).square().mean()
        loss.backward()
        return loss

    return Trap(Noisy(), body=body, expected="either")


@trap
def submodule_called_by_the_loop():
    """The loop calls a part of the model by itself and adds its output to the loss."""

    def body(model, batch, step):
        x = batch(step)[0][0]
        loss = model(x).square().mean() + 0.1 * model.first(x).abs().mean()
        loss.backward()
        return loss

    return Trap(Noisy(), body=body)


@trap
def steps_in_threads():
    """Each step runs in a thread of its own. State of one thread is not in force in the next thread."""

    def body(model, batch, step):
        losses = []
        thread = threading.Thread(target=lambda: losses.append(ordinary(model, batch, step)))
        thread.start()
        thread.join()
        return losses[0]

    return Trap(Noisy(), body=body, expected="either", least_replayed=1)


@trap
def steps_in_threads_that_live_on():
    """Each step runs in a thread of its own, and no thread ends before the process. Libraries of a GPU keep
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
    """The forward runs here and the backward in another thread."""

    def body(model, batch, step):
        loss = model(*batch(step)[0]).square().mean()
        thread = threading.Thread(target=loss.backward)
        thread.start()
        thread.join()
        return loss

    return Trap(Noisy(), body=body, expected="either", least_replayed=1)


@trap
def dispatch_mode_of_the_caller():
    """From the seventh step on the loop looks at all ops, and rounds what matrix products give."""

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
    """`double()` and `float()` between the steps give all parameters new memory, with the same values."""

    def between(model, step):
        if step in (3, CHANGE):
            model.double().float()

    return Trap(Noisy(), between=between, expected="either", least_replayed=1)


@trap
def anomalies_detected():
    """The loop asks autograd to check each node's gradients, and to remember where forward made it."""

    def body(model, batch, step):
        with torch.autograd.set_detect_anomaly(True):
            return ordinary(model, batch, step)

    return Trap(Noisy(), body=body, expected="either")


@trap
def parameters_made_by_the_first_call():
    layers = [nn.LazyLinear(WIDTH), nn.GELU(), *blocks()]
    return Trap(nn.Sequential(*layers), expected="either", least_replayed=1)
