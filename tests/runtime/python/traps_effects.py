"""Traps of counters and logs that a forward keeps on its modules: planned where nothing of the step reads
them."""

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
        """Nothing of the step calls it."""
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


@trap
def counter_of_rows():
    class Model(Counting):
        def forward(self, x):
            self.calls = self.calls + x.shape[0]
            return self.blocks(x)

    return trap_of(Model)


@trap
def log_of_losses():
    """The number is that of the moment: what is returned is written to afterwards."""

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
    """It runs the forward again, which logs no second time."""

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
    """Its forward runs a second time in the backward, and counts again."""

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
