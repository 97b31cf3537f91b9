"""Traps of changes that the loop makes to the model after some steps, when there is a plan of the unchanged
model."""

import array
import collections
import contextlib
import contextvars
import math
import types

import numpy
import torch
from torch import nn

from traps import CHANGE, WIDTH, Trap, after_change, blocks, data, trap

factor = 1.0  # a global variable that the forward of `global_number` reads
in_context = contextvars.ContextVar("in_context", default=1.0)


class Scaled(nn.Module):
    """A model that multiplies by a number. Each subclass keeps the number in another place. The traps below
    call this factor "the number"."""

    def __init__(self, **attributes):
        super().__init__()
        self.first, self.second = blocks(), blocks()
        vars(self).update(attributes)

    def forward(self, x):
        return self.second(self.first(x) * self.factor())

    def factor(self):
        return 1.0


def changed(model: nn.Module, change, least_replayed: int = 1, **options) -> Trap:
    """Returns a trap that changes the model after two replayed steps. `least_replayed` is 0 for a model that
    can be refused because it cannot be watched."""
    return Trap(
        model, expected="either", between=after_change(change), least_replayed=least_replayed, **options
    )


def with_dropout() -> nn.Sequential:
    return nn.Sequential(blocks(), nn.Dropout(0.5), blocks(), nn.Dropout(0.5))


@trap
def dropout_rate_changed():
    """The dropout rate is an argument of the recorded op. No tensor shows that the rate has changed."""
    return changed(with_dropout(), lambda model: setattr(model[1], "p", 0.1))


@trap
def dropout_rate_set_to_zero():
    """In train mode, dropout with rate zero runs another op or none, and can draw other random numbers."""
    return changed(with_dropout(), lambda model: setattr(model[3], "p", 0.0))


@trap
def dropout_in_eval():
    """One dropout layer is put in eval mode; the model itself stays in train mode."""
    return changed(with_dropout(), lambda model: model[1].eval())


@trap
def batch_norm_in_eval():
    """One BatchNorm is frozen, as for fine-tuning: it uses its running statistics and no longer changes
    them."""
    layers = [
        layer for _ in range(3) for layer in (nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.ReLU())
    ]
    return changed(nn.Sequential(*layers), lambda model: model[4].eval())


@trap
def whole_model_in_eval_but_trained():
    """The model is put in eval mode, and training goes on. A backward in eval mode is no error."""
    return changed(with_dropout(), lambda model: model.eval())


@trap
def train_mode_reached_late():
    """The first six steps run in eval mode. A plan made from them is wrong for the later steps, which run in
    train mode."""
    model = with_dropout().eval()
    return Trap(model, expected="either", between=after_change(lambda model: model.train()))


@trap
def parameter_frozen():
    """A frozen parameter no longer gets a gradient, and the optimizer skips it."""
    return changed(blocks(4), lambda model: model[2].weight.requires_grad_(False))


@trap
def parameter_thawed():
    """Parameters that got no gradient in the recorded steps get a gradient later."""
    model = blocks(4)
    model[0].requires_grad_(False), model[2].requires_grad_(False)
    return changed(model, lambda model: model[2].requires_grad_(True))


@trap
def parameter_replaced():
    """A new parameter of the same shape replaces an old one. The optimizer still holds the old one."""

    def replace(model):
        model[2].weight = nn.Parameter(data(99, WIDTH, WIDTH) / 4)

    return changed(blocks(4), replace)


@trap
def parameter_with_new_storage():
    """An assignment to `.data` gives a parameter new memory, so its recorded address is wrong."""

    def move(model):
        model[2].weight.data = data(99, WIDTH, WIDTH) / 4

    return changed(blocks(4), move)


@trap
def parameter_with_transposed_storage():
    """An assignment to `.data` gives a parameter memory with the same shape and type, but other strides."""

    def move(model):
        model[2].weight.data = (data(99, WIDTH, WIDTH) / 4).t()

    return changed(blocks(4), move)


@trap
def parameters_tied():
    """Two layers get the same parameter, whose gradient is then the sum of two gradients."""

    def tie(model):
        model[4].weight = model[2].weight

    return changed(blocks(4), tie)


@trap
def parameters_untied():
    """Two layers share a parameter. Then one of the layers gets its own parameter with the same values."""
    model = blocks(4)
    model[4].weight = model[2].weight

    def untie(model):
        model[4].weight = nn.Parameter(model[2].weight.detach().clone())

    return changed(model, untie)


@trap
def submodule_replaced():
    """One activation function is replaced by another. No parameter and no attribute of the model itself
    changes."""

    def replace(model):
        model[1] = nn.Tanh()

    return changed(blocks(4), replace)


@trap
def submodule_added():
    """A layer without parameters is appended to a `Sequential`."""
    return changed(blocks(4), lambda model: model.append(nn.Sigmoid()))


@trap
def forward_replaced():
    """A submodule keeps its type but gets another forward, as tools that patch models do."""

    def patch(model):
        model[1].forward = types.MethodType(lambda self, x: x.sigmoid(), model[1])

    return changed(blocks(4), patch)


@trap
def forward_of_the_class_replaced():
    """The submodule's class gets another forward. The submodule itself does not change."""

    class Activation(nn.Module):
        def forward(self, x):
            return x.relu()

    def patch(model):
        Activation.forward = lambda self, x: x.sigmoid()

    return changed(nn.Sequential(blocks(), Activation(), blocks()), patch)


@trap
def forward_hook_added():
    """From step 7 on, a hook on a submodule changes its output."""
    return changed(
        blocks(4), lambda model: model[2].register_forward_hook(lambda module, inputs, output: output * 0.5)
    )


@trap
def gradient_hook_added():
    """From step 7 on, a hook on a parameter halves its gradient."""
    return changed(blocks(4), lambda model: model[2].weight.register_hook(lambda gradient: gradient * 0.5))


@trap
def parametrization_added():
    """The weight of a layer becomes a function of new parameters. The class of the layer changes, too."""
    return changed(blocks(4), lambda model: torch.nn.utils.parametrizations.weight_norm(model[2]))


@trap
def weights_loaded():
    """`load_state_dict` writes other values into the same parameters and buffers."""
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.GELU(), blocks())
    loaded = {
        name: value * 0.5 if value.is_floating_point() else value + 3
        for name, value in model.state_dict().items()
    }
    return Trap(model, between=after_change(lambda model: model.load_state_dict(loaded)), least_replayed=1)


@trap
def weights_assigned():
    """With `assign`, `load_state_dict` replaces the parameters and buffers by new ones."""
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.GELU(), blocks())
    loaded = {
        name: value * 0.5 if value.is_floating_point() else value + 3
        for name, value in model.state_dict().items()
    }
    return changed(model, lambda model: model.load_state_dict(loaded, assign=True))


@trap
def buffer_assigned():
    """The loop replaces a buffer by a new tensor."""

    class Model(Scaled):
        def factor(self):
            return self.scale

    model = Model()
    model.register_buffer("scale", torch.ones(WIDTH))
    return changed(model, lambda model: setattr(model, "scale", torch.full((WIDTH,), 0.5)))


@trap
def number_on_the_module_changed():
    """The number is an attribute of the module, and a constant in the recorded ops."""

    class Model(Scaled):
        def factor(self):
            return self.temperature

    return changed(Model(temperature=1.0), lambda model: setattr(model, "temperature", 0.5))


@trap
def number_in_a_config_changed():
    """The number is an attribute of an object that the module holds."""

    class Model(Scaled):
        def factor(self):
            return self.config.temperature

    model = Model(config=types.SimpleNamespace(temperature=1.0))
    return changed(model, lambda model: setattr(model.config, "temperature", 0.5))


@trap
def number_in_nested_containers_changed():
    """The number is inside nested dictionaries, lists and objects."""

    class Model(Scaled):
        def factor(self):
            return self.options["schedule"][1].values["now"]

    holder = types.SimpleNamespace(values={"now": 1.0})
    return changed(Model(options={"schedule": [0, holder]}), lambda model: holder.values.update(now=0.5))


@trap
def number_in_a_list_changed():
    """The list stays the same object, but an item of it changes."""

    class Model(Scaled):
        def factor(self):
            return self.factors[0]

    return changed(Model(factors=[1.0, 2.0]), lambda model: model.factors.__setitem__(0, 0.5))


class Holding(Scaled):
    """A module that reads the number from an object that it holds."""

    def factor(self):
        return float(self.read(self.kept))


@trap
def number_in_a_deque_changed():
    """The forward reads the last number of the deque."""
    return changed(
        Holding(kept=collections.deque([1.0]), read=lambda kept: kept[-1]),
        lambda model: model.kept.append(0.5),
    )


@trap
def number_that_a_dictionary_makes_changed():
    """The number is in a dictionary that creates missing entries when they are read."""
    return changed(
        Holding(kept=collections.defaultdict(lambda: 1.0), read=lambda kept: kept["now"]),
        lambda model: model.kept.update(now=0.5),
    )


@trap
def number_in_an_empty_dictionary():
    """The number is put into the dictionary after some steps."""
    return changed(
        Holding(kept={}, read=lambda kept: kept.get("now", 1.0)), lambda model: model.kept.update(now=0.5)
    )


@trap
def number_in_an_array_changed():
    """The number is in an array of the standard library."""
    return changed(
        Holding(kept=array.array("d", [1.0]), read=lambda kept: kept[0]),
        lambda model: model.kept.__setitem__(0, 0.5),
    )


@trap
def number_in_bytes_changed():
    """The number is in a bytearray, and the module holds a view of this memory."""
    kept = bytearray(b"\x01")
    return changed(
        Holding(kept=memoryview(kept), read=lambda kept: kept[0]), lambda model: kept.__setitem__(0, 2)
    )


@trap
def number_in_an_array_of_objects_changed():
    """The number is in a list that is an entry of a numpy array."""
    kept = numpy.array([[1.0], 2], dtype=object)
    return changed(
        Holding(kept=kept, read=lambda kept: kept[0][0]), lambda model: kept[0].__setitem__(0, 0.5)
    )


@trap
def number_of_a_context_changed():
    """The number is the value of a context variable."""
    in_context.set(1.0)

    class Model(Scaled):
        def factor(self):
            return in_context.get()

    return changed(Model(), lambda model: in_context.set(0.5))


@trap
def number_in_deep_lists_changed():
    """The number is inside many nested lists."""
    innermost = kept = [1.0]
    for _ in range(12):
        kept = [kept]

    def read(kept):
        while isinstance(kept, list):
            kept = kept[0]
        return kept

    return changed(Holding(kept=kept, read=read), lambda model: innermost.__setitem__(0, 0.5))


@trap
def number_at_the_end_of_a_chain_changed():
    """The number is at the end of a chain of thirty objects, each of which holds the next."""

    class Link:
        def __init__(self, to):
            self.to = to

    last = kept = Link(1.0)
    for _ in range(30):
        kept = Link(kept)

    def read(kept):
        while isinstance(kept, Link):
            kept = kept.to
        return kept

    return changed(Holding(kept=kept, read=read), lambda model: setattr(last, "to", 0.5))


@trap
def number_in_a_long_table_changed():
    """The numbers are in a list and a dictionary with many thousands of entries."""
    kept = [[1.0] * 6000, dict.fromkeys(range(20000), 1.0)]

    def change(model):
        kept[0][5999] = 0.5
        kept[1][19999] = 0.25

    return changed(Holding(kept=kept, read=lambda kept: kept[0][5999] * kept[1][19999]), change)


@trap
def number_with_slots_changed():
    """The number is in an object without `__dict__`."""

    class Config:
        __slots__ = ("temperature",)

    class Model(Scaled):
        def factor(self):
            return self.config.temperature

    config = Config()
    config.temperature = 1.0
    return changed(Model(config=config), lambda model: setattr(config, "temperature", 0.5))


@trap
def class_attribute_changed():
    """The number by which the module multiplies is an attribute of the module's class."""

    class Model(Scaled):
        temperature = 1.0

        def factor(self):
            return self.temperature

    return changed(Model(), lambda model: setattr(Model, "temperature", 0.5))


@trap
def global_number():
    """The number is a global variable of the module's file."""
    global factor
    factor = 1.0

    class Model(Scaled):
        def factor(self):
            return factor

    def change(model):
        global factor
        factor = 0.5

    return changed(Model(), change)


@trap
def closure_number():
    """The number is a local variable of the function around the forward."""
    now = 1.0

    class Model(Scaled):
        def factor(self):
            return now

    def change(model):
        nonlocal now
        now = 0.5

    return changed(Model(), change)


@trap
def function_attribute_changed():
    """The module holds a function that its forward calls. This function is replaced by another."""

    class Model(Scaled):
        def forward(self, x):
            return self.second(self.activation(self.first(x)))

    return changed(Model(activation=torch.relu), lambda model: setattr(model, "activation", torch.tanh))


@trap
def list_of_layers_reordered():
    """The order in which layers are called is given by a list of indices on the module."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.order = blocks(3), [0, 1, 2, 3, 4, 5]

        def forward(self, x):
            for index in self.order:
                x = self.layers[index](x)
            return x

    return changed(Model(), lambda model: model.order.reverse())


@trap
def number_that_is_not_a_number():
    """An attribute is NaN, so it is not equal to itself. This must not count as a change that ends the
    plan."""

    class Model(Scaled):
        def factor(self):
            return 1.0 if math.isnan(self.best) else 0.5

    return Trap(Model(best=math.nan), least_replayed=1)


@trap
def mode_changed_to_and_fro():
    """A dropout layer is in eval mode for one step only. In all other steps the model is as recorded."""

    def between(model, step):
        model[1].train(step != CHANGE)

    return Trap(with_dropout(), expected="either", between=between, least_replayed=1)


@trap
def default_type_changed():
    """The forward creates a tensor with torch's default type, which is double from step 7 on."""

    @contextlib.contextmanager
    def restored():
        try:
            yield
        finally:
            torch.set_default_dtype(torch.float32)

    class Model(Scaled):
        def forward(self, x):
            return self.second((self.first(x) * torch.full((WIDTH,), 1 / 3)).float())

    return changed(Model(), lambda model: torch.set_default_dtype(torch.float64), around=restored)
