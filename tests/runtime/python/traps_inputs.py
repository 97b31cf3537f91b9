"""Traps of the forward's inputs and outputs: containers, numbers, shapes, and tensors that share memory."""

import dataclasses
from typing import NamedTuple

import torch
from torch import nn

from traps import CHANGE, DEVICE, ROWS, WIDTH, Trap, blocks, data, rows, trap


class TwoStacks(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = blocks(), blocks()

    def forward(self, x, y):
        return self.first(x) * self.second(y)


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


@dataclasses.dataclass
class Batch:
    left: torch.Tensor
    right: torch.Tensor
    weight: float = 0.5


def two(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    return data(step, ROWS, WIDTH), data(1000 + step, ROWS, WIDTH)


@trap
def nested_dictionaries():
    """Inputs and outputs are nested dictionaries and lists of tensors. A replay must return the same
    structure with the same keys."""

    class Model(TwoStacks):
        def forward(self, batch):
            left = self.first(batch["images"]["left"])
            return {
                "parts": [left, {"right": self.second(batch["images"]["right"])}],
                "scale": 2.0,
                "none": None,
            }

    def batch(step):
        left, right = two(step)
        return ({"images": {"left": left, "right": right}, "name": "a"},), {}

    def loss(output, step):
        assert list(output) == ["parts", "scale", "none"] and output["none"] is None
        return (output["parts"][0] * output["parts"][1]["right"] * output["scale"]).square().mean()

    return Trap(Model(), batch, loss)


@trap
def dictionary_in_another_order():
    """The keys of the input come in another order in each step. Tensors belong to keys, not to positions."""

    class Model(TwoStacks):
        def forward(self, batch):
            return self.first(batch["left"]) * self.second(batch["right"])

    def batch(step):
        left, right = two(step)
        return ({"left": left, "right": right} if step % 2 else {"right": right, "left": left},), {}

    return Trap(Model(), batch, expected="either", least_replayed=1)


@trap
def named_tuples():
    """Input and output are named tuples, and the loss reads their fields."""

    class Model(TwoStacks):
        def forward(self, batch):
            return Pair(self.first(batch.left), self.second(batch.right))

    return Trap(
        Model(),
        lambda step: ((Pair(*two(step)),), {}),
        lambda output, step: (output.left - output.right).square().mean(),
    )


@trap
def data_classes():
    """Input and output are data classes that contain tensors and a number."""

    class Model(TwoStacks):
        def forward(self, batch):
            return Batch(self.first(batch.left) * batch.weight, self.second(batch.right), 0.25)

    def loss(output, step):
        return (output.left - output.right * output.weight).square().mean()

    return Trap(Model(), lambda step: ((Batch(*two(step)),), {}), loss, expected="either", least_replayed=1)


@trap
def data_class_with_a_changing_number():
    """The number in the data class changes after some steps. The tensors' shapes stay the same."""

    class Model(TwoStacks):
        def forward(self, batch):
            return self.first(batch.left) * batch.weight - self.second(batch.right)

    return Trap(
        Model(),
        lambda step: ((Batch(*two(step), 0.5 if step <= CHANGE else 0.25),), {}),
        expected="either",
        least_replayed=1,
    )


@trap
def keyword_inputs():
    """Tensors are given by keyword. From step 7 on, the keywords have another order than in the recorded
    steps."""

    def batch(step):
        x, y = two(step)
        return (), ({"x": x, "y": y} if step <= CHANGE else {"y": y, "x": x})

    return Trap(TwoStacks(), batch)


@trap
def inputs_by_place_then_by_name():
    """The same inputs are given by position in the first steps and by keyword later."""

    def batch(step):
        x, y = two(step)
        return ((x, y), {}) if step <= CHANGE else ((x,), {"y": y})

    return Trap(TwoStacks(), batch, expected="either", least_replayed=1)


class Optional(TwoStacks):
    def forward(self, x, y=None):
        x = self.first(x)
        return x if y is None else x * self.second(y)


@trap
def none_as_an_input():
    """An optional input is None, so half of the parameters get no gradient."""
    return Trap(Optional(), lambda step: ((data(step, ROWS, WIDTH), None), {}))


@trap
def none_and_then_a_tensor():
    """An optional input is None in the first six steps and a tensor later."""
    return Trap(
        Optional(),
        lambda step: ((two(step)[0], two(step)[1] if step > CHANGE else None), {}),
        expected="either",
        least_replayed=1,
    )


@trap
def number_as_an_input():
    """An argument of the forward is a Python number that differs in each step."""

    class Model(TwoStacks):
        def forward(self, x, factor):
            return self.second(self.first(x) * factor)

    return Trap(Model(), lambda step: ((data(step, ROWS, WIDTH), 1 / step), {}), expected="either")


@trap
def number_as_an_input_changed():
    """An argument is the same number in the first six steps, and another number later."""

    class Model(TwoStacks):
        def forward(self, x, factor=1.0):
            return self.second(self.first(x) * factor)

    return Trap(
        Model(),
        lambda step: ((data(step, ROWS, WIDTH),), {"factor": 1.0 if step <= CHANGE else 0.5}),
        expected="either",
        least_replayed=1,
    )


@trap
def truth_value_as_an_input():
    """A flag is True, then 1, then False. For this model True and 1 are the same, because they are equal;
    False differs."""

    class Model(TwoStacks):
        def forward(self, x, squashed):
            x = self.first(x)
            return self.second(x.tanh() if squashed else x)

    return Trap(
        Model(),
        lambda step: ((data(step, ROWS, WIDTH), True if step <= 6 else 1 if step <= 8 else False), {}),
        expected="either",
        least_replayed=1,
    )


@trap
def scalar_tensor_as_an_input():
    """An input is a tensor without dimensions, new in each step. On the CPU, ops below autograd treat it like
    a Python number."""

    class Model(TwoStacks):
        def forward(self, x, factor):
            return self.second(self.first(x) * factor)

    return Trap(Model(), lambda step: ((data(step, ROWS, WIDTH), torch.tensor(1 / step)), {}))


@trap
def two_shapes():
    """Batches of two sizes alternate, as when lengths are sorted into buckets."""
    return Trap(
        blocks(4),
        lambda step: ((data(step, ROWS if step % 2 else ROWS // 2, WIDTH),), {}),
        expected="either",
        least_replayed=1,
    )


@trap
def smaller_last_batch():
    """After some steps, one batch has a smaller size than planned. The later batches have the planned size
    again."""
    return Trap(
        blocks(4),
        lambda step: ((data(step, ROWS if step != 7 else 5, WIDTH),), {}),
        expected="either",
        least_replayed=1,
    )


@trap
def other_type_later():
    """From step 7 on, the inputs have another type, and the model casts them."""

    class Model(TwoStacks):
        def forward(self, x):
            return self.second(self.first(x.float()))

    def batch(step):
        return (data(step, ROWS, WIDTH).to(torch.float64 if step > CHANGE else torch.float32),), {}

    return Trap(Model(), batch, expected="either", least_replayed=1)


@trap
def same_tensor_twice():
    """The same tensor is given for both inputs."""
    return Trap(TwoStacks(), lambda step: ((data(step, ROWS, WIDTH),) * 2, {}))


@trap
def same_tensor_twice_and_then_two():
    """In the first six steps the same tensor is given for both inputs. Later two tensors are given, which
    must not be confused."""

    def batch(step):
        x, y = two(step)
        return (x, x if step <= CHANGE else y), {}

    return Trap(TwoStacks(), batch, expected="either", least_replayed=1)


@trap
def inputs_that_overlap():
    """A text and its continuation are views of one storage, so an address does not identify an input."""

    class Model(TwoStacks):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(20, WIDTH)

        def forward(self, ids, targets):
            return nn.functional.cross_entropy(
                self.second(self.first(self.embedding(ids))).flatten(0, 1), targets.flatten() % WIDTH
            )

    def batch(step):
        ids = torch.randint(20, (8, 17), generator=torch.Generator(DEVICE).manual_seed(step))
        return (ids[:, :-1], ids[:, 1:]), {}

    return Trap(Model(), batch, lambda output, step: output)


@trap
def inputs_that_overlap_and_then_not():
    """The inputs are two halves of one tensor. From step 7 on, they are two separate tensors with the same
    strides."""

    def batch(step):
        both = data(step, ROWS, 2 * WIDTH)
        x, y = both[:, :WIDTH], both[:, WIDTH:]
        return (x, y if step <= CHANGE else y.repeat(1, 2)[:, :WIDTH]), {}

    return Trap(TwoStacks(), batch, expected="either", least_replayed=1)


@trap
def rows_of_a_data_set():
    """Each batch is a slice of one large tensor, so each step has the same storage with another offset."""
    whole = data(0, 12 * ROWS, WIDTH)
    return Trap(blocks(4), lambda step: ((whole[step * ROWS : (step + 1) * ROWS],), {}))


@trap
def one_buffer_refilled():
    """The loop copies each batch into one tensor, which is the input in all steps, as with pinned memory."""
    buffer = torch.empty(ROWS, WIDTH)
    return Trap(blocks(4), lambda step: ((buffer.copy_(data(step, ROWS, WIDTH)),), {}))


@trap
def transposed_later():
    """From step 7 on, the input has other strides."""
    return Trap(
        blocks(4),
        lambda step: ((data(step, ROWS, WIDTH) if step <= CHANGE else data(step, WIDTH, ROWS).t(),), {}),
        expected="either",
        least_replayed=1,
    )


@trap
def expanded_input():
    """The input is one row that is expanded to all rows, with a stride of zero."""
    return Trap(
        blocks(4),
        lambda step: ((data(step, 1, WIDTH).expand(ROWS, WIDTH),), {}),
        expected="either",
        least_replayed=1,
    )


@trap
def channels_last_inputs():
    """The channels-last layout of the input goes through the convolutions to the gradients of the weights. On
    some processors the workspaces of the kernels are so large that a plan can save little."""
    layers = [
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, padding=1),
        nn.ReLU(),
    ]
    model = nn.Sequential(*layers).to(memory_format=torch.channels_last)
    return Trap(
        model,
        lambda step: ((data(step, 4, 3, 8, 8).to(memory_format=torch.channels_last),), {}),
        budget="95%",
    )


@trap
def input_is_a_buffer():
    """The loop passes a buffer of the model as input. The forward also reads and updates this buffer."""

    class Model(TwoStacks):
        def __init__(self):
            super().__init__()
            self.register_buffer("state", data(0, ROWS, WIDTH))

        def forward(self, x):
            h = self.first(x * 1.0) + self.second(self.state.clone())
            self.state.mul_(0.5).add_(h.detach())
            return h

    model = Model()
    return Trap(
        model, lambda step: ((model.state if step % 3 else data(step, ROWS, WIDTH),), {}), expected="either"
    )


@trap
def input_is_a_parameter():
    """The loop passes a parameter of the model as input, so a part of the parameter's gradient comes from the
    input."""

    class Model(TwoStacks):
        def __init__(self):
            super().__init__()
            self.prompt = nn.Parameter(data(0, ROWS, WIDTH))

        def forward(self, x, y):
            return self.first(x) * self.second(y) + self.prompt

    model = Model()
    return Trap(
        model, lambda step: ((data(step, ROWS, WIDTH), model.prompt), {}), expected="either", least_replayed=1
    )


@trap
def input_written_by_forward():
    """The forward normalizes its input in place, which the caller sees. If the op runs again, it must not
    normalize a second time."""
    given = []

    class Model(TwoStacks):
        def forward(self, x):
            x.sub_(x.mean(0)).div_(2.0)
            return self.second(self.first(x))

    def batch(step):
        given[:] = [data(step, ROWS, WIDTH)]
        return tuple(given), {}

    return Trap(Model(), batch, expected="either", observe=lambda model: given)


@trap
def output_is_an_input():
    """The forward returns its input in addition to the result. The caller must get back the tensor object
    that it passed."""

    class Model(TwoStacks):
        def forward(self, x, y):
            return super().forward(x, y), x

    def body(model, batch, step):
        x, y = batch(step)[0]
        output, same = model(x, y)
        identical.append(same is x)
        loss = (output - same).square().mean()
        loss.backward()
        return loss

    identical = []
    return Trap(
        Model(),
        lambda step: (two(step), {}),
        body=body,
        expected="either",
        least_replayed=1,
        observe=lambda model: identical,
    )


@trap
def output_is_a_parameter():
    """The forward returns one of its parameters for a penalty in the loss. So the parameter's gradient has
    two sources."""

    class Model(TwoStacks):
        def forward(self, x):
            return self.second(self.first(x)), self.first[0].weight

    return Trap(
        Model(),
        rows,
        lambda output, step: output[0].square().mean() + 0.01 * output[1].square().sum(),
        expected="either",
        least_replayed=1,
    )


@trap
def same_output_twice():
    """One tensor is returned as two outputs, and a view of it as a third. The gradients of all three are
    summed."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.second(self.first(x))
            return h, h, h[:, :4]

    return Trap(
        Model(),
        rows,
        lambda output, step: (output[0] * output[1]).mean() + output[2].square().mean(),
        expected="either",
        least_replayed=1,
    )


@trap
def outputs_that_are_no_tensors():
    """The outputs are a tensor, a number, a text and a shape."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.second(self.first(x))
            return h, 0.5, "mean", h.shape

    return Trap(
        Model(),
        rows,
        lambda output, step: getattr(output[0].square(), output[2])() * output[1] * len(output[3]),
    )


@trap
def output_without_gradient():
    """One output is an integer tensor, another a detached tensor. The loss uses both as constants."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.second(self.first(x))
            return h, h.argmax(1), h.detach()

    return Trap(
        Model(),
        rows,
        lambda output, step: nn.functional.cross_entropy(output[0] - output[2].mean(), output[1]),
    )
