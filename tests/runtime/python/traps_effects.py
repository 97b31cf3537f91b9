"""Traps of counters and logs that a forward keeps on its modules. A step is planned if its code does not read
them."""

import operator

import torch
import torch.utils.checkpoint
from torch import nn

from traps import WIDTH, Trap, blocks, data, trap


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = blocks()
        self.calls, self.log = 0, []

    def told(self):
        """Reads the counter and the log, but no step calls this method."""
        return self.calls, self.log


def counts(model):
    return [(part.calls, getattr(part, "log", None)) for part in model.modules() if hasattr(part, "calls")]


def trap_of(kind, **others):
    return Trap(kind(), observe=counts, **others)


@trap
def counter_that_nothing_reads():
    class Model(Counting):
        def forward(self, x):
            self.calls += 1
            return self.blocks(x)

    return trap_of(Model)


by_name = {"calls": 0, "scale": 1.0}
calls = 1.0  # a global with the same name as the attribute


@trap
def counter_whose_name_is_also_a_text():
    """The code uses the string "calls" in comparisons and as a key of a dictionary, but not to read the
    attribute of this name."""

    class Model(Counting):
        kind = "calls"

        def forward(self, x):
            if self.kind == "calls" or self.kind in ("calls", "all"):
                self.calls += 1
            return self.blocks(x) * by_name["scale"] + by_name["calls"]

    return trap_of(Model)


@trap
def counter_whose_name_is_also_a_global():
    class Model(Counting):
        def forward(self, x):
            self.calls += 1
            return self.scaled(self.blocks(x))

        def scaled(self, x):
            return x * calls

    return trap_of(Model)


@trap
def counter_that_is_read_by_a_text():
    class Model(Counting):
        def forward(self, x):
            self.calls += 1
            return self.blocks(x) * operator.attrgetter("calls")(self)

    return trap_of(Model, expected="refused")


@trap
def counter_that_is_read_by_a_pattern():
    class Model(Counting):
        def forward(self, x):
            self.calls += 1
            match self:
                case Counting(calls=count):
                    return self.blocks(x) * count

    return trap_of(Model, expected="refused")


@trap
def counter_that_the_module_is_asked_for_as_a_container():
    class Model(Counting):
        def __getitem__(self, name):
            return operator.attrgetter(name)(self)

        def forward(self, x):
            self.calls += 1
            return self.blocks(x) * self["calls"]

    return trap_of(Model, expected="refused")


@trap
def counter_of_rows():
    class Model(Counting):
        def forward(self, x):
            self.calls = self.calls + x.shape[0]
            return self.blocks(x)

    return trap_of(Model)


@trap
def log_of_losses():
    """The log must contain the tensor's value at the time of the append. A later op writes to the tensor."""

    class Model(Counting):
        def forward(self, x):
            loss = self.blocks(x).square().mean() * 1
            self.log.append(loss.item())
            loss += 1
            self.log.append(float(loss.detach()))
            return loss

    return trap_of(Model)


@trap
def counters_in_submodules():
    class Counted(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.calls = nn.Linear(WIDTH, WIDTH), 0

        def forward(self, x):
            self.calls += 1
            return self.layer(x).tanh()

    class Model(Counting):
        def __init__(self):
            super().__init__()
            self.first, self.second = Counted(), Counted()

        def forward(self, x):
            return self.blocks(self.second(self.first(self.first(x))))

    return trap_of(Model)


@trap
def counter_that_the_loop_sets_back():
    class Model(Counting):
        def forward(self, x):
            self.calls += 1
            return self.blocks(x)

    def between(model, step):
        if step in (5, 8):
            model.calls = 0

    return trap_of(Model, between=between)


@trap
def log_of_two_open_forwards():
    class Model(Counting):
        def forward(self, x):
            self.calls += 1
            x = self.blocks(x)
            self.log.append(x.abs().max().item())
            return x

    def body(model, batch, step):
        loss = (model(data(step, 64, WIDTH)) - model(data(step + 100, 64, WIDTH))).square().mean()
        loss.backward()
        return loss

    return trap_of(Model, body=body)


@trap
def log_of_a_step_whose_backward_the_original_runs():
    """For the backward, the original runs the forward again, and must not log a second time."""

    class Model(Counting):
        def forward(self, x):
            self.calls += 1
            x = self.blocks(x)
            self.log.append(x.mean().item())
            return x

    def body(model, batch, step):
        loss = model(data(step, 64, WIDTH)).square().mean()
        loss.backward(retain_graph=step > 7)
        return loss

    return trap_of(Model, body=body)


@trap
def counter_that_warms_up():
    class Model(Counting):
        def forward(self, x):
            self.calls += 1
            return self.blocks(x) * min(1.0, self.calls / 5)

    return trap_of(Model, expected="refused")


@trap
def counter_that_is_read_by_a_name_made_up():
    class Model(Counting):
        def forward(self, x):
            self.calls += 1
            kind = "".join(["ca", "lls"])
            return self.blocks(x) * (1 + getattr(self, kind))

    return trap_of(Model, expected="refused")


@trap
def log_whose_length_is_read():
    class Model(Counting):
        def forward(self, x):
            x = self.blocks(x)
            self.log.append(x.mean().item())
            return x * len(self.log)

    return trap_of(Model, expected="refused")


@trap
def counter_within_a_checkpoint():
    """The checkpointed forward runs again in the backward, and counts again."""

    class Counted(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.calls = blocks(), 0

        def forward(self, x):
            self.calls += 1
            return self.layers(x)

    class Model(Counting):
        def __init__(self):
            super().__init__()
            self.part = Counted()

        def forward(self, x):
            return self.blocks(torch.utils.checkpoint.checkpoint(self.part, x, use_reentrant=False))

    return trap_of(Model, expected="refused")


class Remembering(nn.Module):
    """A model whose forward leaves a tensor for the next forward. So this tensor acts as a buffer."""

    def __init__(self):
        super().__init__()
        self.first, self.second = blocks(), blocks()
        self.last = torch.zeros(64, WIDTH)

    def forward(self, x):
        x = self.first(x + 0.5 * self.last)
        self.last = x.detach()
        return self.second(x)


def trap_of_last(model=Remembering, **others):
    return Trap(model(), observe=lambda model: model.last, **others)


@trap
def tensor_for_the_next_step():
    return trap_of_last()


@trap
def tensor_for_the_next_step_that_there_is_not_at_first():
    class Model(Remembering):
        def __init__(self):
            super().__init__()
            self.last = None

        def forward(self, x):
            if self.last is None:
                x = self.first(x)
                self.last = x.detach()
                return self.second(x)
            return super().forward(x)

    return trap_of_last(Model)


@trap
def states_of_a_recurrent_layer():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.last = (
                nn.GRU(WIDTH, 4 * WIDTH, 2, batch_first=True),
                torch.zeros(2, 8, 4 * WIDTH),
            )

        def forward(self, x):
            x, last = self.layer(x.view(8, -1, WIDTH), self.last)
            self.last = last.detach()
            return x

    return trap_of_last(Model, budget="90%")


@trap
def tensor_for_the_next_of_two_open_forwards():
    def body(model, batch, step):
        loss = (model(data(step, 64, WIDTH)) - model(data(step + 100, 64, WIDTH))).square().mean()
        loss.backward()
        return loss

    return trap_of_last(body=body)


@trap
def tensor_for_the_next_step_where_the_original_runs_the_backward():
    """For the backward, the original runs the forward again, and must read the tensor that the previous step
    left."""

    def body(model, batch, step):
        loss = model(data(step, 64, WIDTH)).square().mean()
        loss.backward(retain_graph=step > 7)
        return loss

    return trap_of_last(body=body)


@trap
def tensor_for_the_next_step_that_the_loop_sets_back():
    def between(model, step):
        if step in (5, 8):
            model.last = torch.zeros(64, WIDTH)

    return trap_of_last(between=between)
