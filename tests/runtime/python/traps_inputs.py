"""Traps of the inputs and outputs of forward: containers, numbers, shapes, and tensors that share memory."""

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
    """Tensors come and go in dictionaries and lists of them; a replay must give the same structure with the
    same keys."""

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
    """The keys come in another order in each step; tensors belong to names, not to places."""

    class Model(TwoStacks):
        def forward(self, batch):
            return self.first(batch["left"]) * self.second(batch["right"])

    def batch(step):
        left, right = two(step)
        return ({"left": left, "right": right} if step % 2 else {"right": right, "left": left},), {}

    return Trap(Model(), batch, expected="either", least_replayed=1)


@trap
def named_tuples():
    """Input and output are named tuples, and the loss asks for fields."""

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
    """Input and output are data classes, which hold a number beside their tensors."""

    class Model(TwoStacks):
        def forward(self, batch):
            return Batch(self.first(batch.left) * batch.weight, self.second(batch.right), 0.25)

    def loss(output, step):
        return (output.left - output.right * output.weight).square().mean()

    return Trap(Model(), lambda step: ((Batch(*two(step)),), {}), loss, expected="either", least_replayed=1)


@trap
def data_class_with_a_changing_number():
    """The number in the data class changes after some steps; its tensors look as before."""

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
    """Tensors are given by name, and in another order than they were recorded."""

    def batch(step):
        x, y = two(step)
        return (), ({"x": x, "y": y} if step <= CHANGE else {"y": y, "x": x})

    return Trap(TwoStacks(), batch)


@trap
def inputs_by_place_then_by_name():
    """The same inputs are given by place first and by name later."""

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
    """An optional input is None; half of the parameters have no gradient."""
    return Trap(Optional(), lambda step: ((data(step, ROWS, WIDTH), None), {}))


@trap
def none_and_then_a_tensor():
    """An optional input is None until the seventh step."""
    return Trap(
        Optional(),
        lambda step: ((two(step)[0], two(step)[1] if step > CHANGE else None), {}),
        expected="either",
        least_replayed=1,
    )


@trap
def number_as_an_input():
    """A Python number that is another one in each step is an argument of forward."""

    class Model(TwoStacks):
        def forward(self, x, factor):
            return self.second(self.first(x) * factor)

    return Trap(Model(), lambda step: ((data(step, ROWS, WIDTH), 1 / step), {}), expected="either")


@trap
def number_as_an_input_changed():
    """The number is the same in six steps and another one later."""

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
    """A flag is True, then 1, then False: equal values of different types are the same here, others are
    not."""

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
    """A tensor without dimensions, new in each step: on the CPU it looks like a Python number below
    autograd."""

    class Model(TwoStacks):
        def forward(self, x, factor):
            return self.second(self.first(x) * factor)

    return Trap(Model(), lambda step: ((data(step, ROWS, WIDTH), torch.tensor(1 / step)), {}))


@trap
def two_shapes():
    """Batches of two sizes alternate, as when lengths are put in buckets."""
    return Trap(
        blocks(4),
        lambda step: ((data(step, ROWS if step % 2 else ROWS // 2, WIDTH),), {}),
        expected="either",
        least_replayed=1,
    )


@trap
def smaller_last_batch():
    """One batch of another size comes after some steps of the planned one, and then the planned one again."""
    return Trap(
        blocks(4),
        lambda step: ((data(step, ROWS if step != 7 else 5, WIDTH),), {}),
        expected="either",
        least_replayed=1,
    )


@trap
def other_type_later():
    """From the seventh step on inputs are of another type, which the model casts."""

    class Model(TwoStacks):
        def forward(self, x):
            return self.second(self.first(x.float()))

    def batch(step):
        return (data(step, ROWS, WIDTH).to(torch.float64 if step > CHANGE else torch.float32),), {}

    return Trap(Model(), batch, expected="either", least_replayed=1)


@trap
def same_tensor_twice():
    """One tensor is both inputs."""
    return Trap(TwoStacks(), lambda step: ((data(step, ROWS, WIDTH),) * 2, {}))


@trap
def same_tensor_twice_and_then_two():
    """One tensor is both inputs in six steps; then they are two tensors, and neither may be taken for the
    other."""

    def batch(step):
        x, y = two(step)
        return (x, x if step <= CHANGE else y), {}

    return Trap(TwoStacks(), batch, expected="either", least_replayed=1)


@trap
def inputs_that_overlap():
    """Text and its continuation are views of one storage: an address does not tell one input from the
    other."""

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
    """Two halves of one tensor, and from the seventh step on two tensors of the same strides that lie
    elsewhere."""

    def batch(step):
        both = data(step, ROWS, 2 * WIDTH)
        x, y = both[:, :WIDTH], both[:, WIDTH:]
        return (x, y if step <= CHANGE else y.repeat(1, 2)[:, :WIDTH]), {}

    return Trap(TwoStacks(), batch, expected="either", least_replayed=1)


@trap
def rows_of_a_data_set():
    """Each batch is a slice of one large tensor: the same storage in each step, at another offset."""
    whole = data(0, 12 * ROWS, WIDTH)
    return Trap(blocks(4), lambda step: ((whole[step * ROWS : (step + 1) * ROWS],), {}))


@trap
def one_buffer_refilled():
    """The loop copies each batch into the same tensor, as with pinned memory."""
    buffer = torch.empty(ROWS, WIDTH)
    return Trap(blocks(4), lambda step: ((buffer.copy_(data(step, ROWS, WIDTH)),), {}))


@trap
def transposed_later():
    """From the seventh step on the input has other strides."""
    return Trap(
        blocks(4),
        lambda step: ((data(step, ROWS, WIDTH) if step <= CHANGE else data(step, WIDTH, ROWS).t(),), {}),
        expected="either",
        least_replayed=1,
    )


@trap
def expanded_input():
    """All rows of the input are one row: it has a stride of zero."""
    return Trap(
        blocks(4),
        lambda step: ((data(step, 1, WIDTH).expand(ROWS, WIDTH),), {}),
        expected="either",
        least_replayed=1,
    )


@trap
def channels_last_inputs():
    """The input's order in memory goes through the convolutions to the gradients of the weights. On some
    processors the kernels take workspaces that leave little to plan."""
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
    """The loop gives forward a buffer of the model, which forward also reads and moves."""

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
    """The loop gives forward a parameter of the model as an input, so that its gradient comes from there
    too."""

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
    """Forward normalizes its input in place: the caller sees it, and a recomputation must not do it twice."""
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
    """Forward gives back its input beside the result; the caller gets the very tensor that it gave."""

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
    """Forward gives back one of its parameters, for a penalty in the loss: its gradient has two sources."""

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
    """One tensor is two outputs, and a view of it a third: their gradients meet in one."""

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
    """Beside the tensor there are a number, a text and a shape."""

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
    """One output is a tensor of whole numbers, another a detached one; the loss uses both as constants."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.second(self.first(x))
            return h, h.argmax(1), h.detach()

    return Trap(
        Model(),
        rows,
        lambda output, step: nn.functional.cross_entropy(output[0] - output[2].mean(), output[1]),
    )
