"""Traps of values that Python reads or computes: branches, numbers, and shapes that depend on data."""

import math
import time
from unittest import mock

import numpy
import torch
from torch import nn
from torch.nn.utils import rnn

from traps import CHANGE, DEVICE, ROWS, WIDTH, Trap, blocks, data, host_trap, trap


class TwoStacks(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = blocks(), blocks()


def rows_with_mean(sign):
    """Returns a function that makes rows. `sign` maps the number of a step to the sign of the rows' mean."""
    return lambda step: ((data(step, ROWS, WIDTH) * 0.1 + sign(step),), {})


class Branching(TwoStacks):
    def forward(self, x):
        h = self.first(x)
        return self.second(h) if self.of_first_kind(x) else self.second(h.tanh())

    def of_first_kind(self, x):
        return x.mean() > 0


@trap
def branch_by_a_value():
    """Python reads a tensor to choose a branch. The recorded steps take both branches."""
    return Trap(Branching(), rows_with_mean(lambda step: (-1) ** step), expected="either")


@trap
def branch_by_a_value_always_the_same():
    """Python reads a tensor to choose a branch. The branch is the same in all steps."""
    return Trap(Branching(), rows_with_mean(lambda step: 1), expected="either", least_replayed=1)


@trap
def branch_by_a_value_late():
    """The other branch is taken for the first time in step 8. The recorded and the compared steps have taken
    only one branch."""
    return Trap(
        Branching(), rows_with_mean(lambda step: 1 if step <= 7 else -1), expected="either", least_replayed=1
    )


@trap
def branch_by_a_list_late():
    """Python reads the values by `tolist`. The other branch is taken for the first time in step 8."""

    class Model(Branching):
        def of_first_kind(self, x):
            return sum(x.mean(0).tolist()) > 0

    return Trap(Model(), rows_with_mean(lambda step: 1 if step <= 7 else -1), expected="either")


@trap
def branch_by_numpy_late():
    """Python reads the memory through numpy, without an op. The other branch is taken for the first time in
    step 8."""

    class Model(Branching):
        def of_first_kind(self, x):
            return x.cpu().numpy().mean() > 0

    return Trap(Model(), rows_with_mean(lambda step: 1 if step <= 7 else -1), expected="either")


@trap
def branch_by_equal_late():
    """`torch.equal` reads two tensors and returns a Python bool. The other branch is taken for the first time
    in step 8."""

    class Model(Branching):
        def of_first_kind(self, x):
            return torch.equal(x, x.abs())

    return Trap(
        Model(), rows_with_mean(lambda step: 3 if step <= 7 else 0), expected="either", least_replayed=1
    )


@trap
def check_for_finite_values():
    """The model asserts that values are finite, as many models do. The assertion never fails and changes
    nothing."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.first(x)
            assert torch.isfinite(h).all()
            return self.second(h)

    return Trap(Model(), expected="either", least_replayed=1)


@trap
def error_by_a_value():
    """A check of values fails in step 8. The forward must raise then, although nothing else differs."""

    class Model(TwoStacks):
        def forward(self, x):
            if x.abs().max() > 50:
                raise ValueError("an input is too large")
            return self.second(self.first(x))

    raised = []

    def body(model, batch, step):
        try:
            loss = model(*batch(step)[0]).square().mean()
        except ValueError as error:
            raised.append(f"{step}: {error}")
            return None
        loss.backward()
        return loss

    return Trap(
        Model(),
        lambda step: ((data(step, ROWS, WIDTH) * (100 if step == 8 else 1),), {}),
        body=body,
        expected="either",
        least_replayed=1,
        observe=lambda model: raised,
    )


@trap
def item_in_the_computation():
    """Python reads a number from a tensor and passes it to the next op, so it would be a constant in a
    plan."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.first(x)
            return self.second(h / h.abs().max().item())

    return Trap(Model(), expected="refused")


@trap
def item_that_repeats_for_a_while():
    """The number that Python reads is the same in the first seven steps."""

    class Model(TwoStacks):
        def forward(self, x, level):
            return self.second(self.first(x) * level.item())

    return Trap(
        Model(),
        lambda step: ((data(step, ROWS, WIDTH), torch.tensor(1.0 if step <= 7 else 0.5)), {}),
        expected="either",
        least_replayed=1,
    )


@trap
def item_only_logged():
    """The number is only appended to a list. After each step the list must have one more entry, with the
    right number."""
    log = []

    class Model(TwoStacks):
        def forward(self, x):
            h = self.first(x)
            log.append(h.mean().item())
            return self.second(h)

    return Trap(Model(), expected="either", observe=lambda model: log)


@trap
def list_of_values():
    """`tolist` returns Python numbers, which are arguments of the next op."""

    class Model(TwoStacks):
        def forward(self, x):
            low, high = x.detach().flatten()[:2].abs().sort().values.tolist()
            return self.second(self.first(x).clamp(-low, high))

    return Trap(Model(), expected="refused")


@trap
def numpy_in_the_computation():
    """A part of the computation is done by numpy. Its result comes back as a new tensor, and no op shows
    where the values come from."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.first(x)
            weights = torch.from_numpy(numpy.abs(h.detach().cpu().numpy()).mean(0)).to(h.device)
            return self.second(h * weights)

    return Trap(Model(), expected="refused")


@host_trap
def memory_written_through_numpy():
    """The forward writes to an activation through numpy's view of its memory. Neither an op nor the tensor's
    version counter shows this."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.first(x) * 1.0
            h.detach().numpy()[:, 0] = 0.25
            return self.second(h)

    return Trap(Model(), expected="either")


@host_trap
def buffer_written_through_numpy():
    """Between the steps the loop updates a buffer through numpy's view of its memory."""

    class Model(TwoStacks):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.ones(WIDTH))

        def forward(self, x):
            return self.second(self.first(x) * self.scale)

    def between(model, step):
        model.scale.numpy()[:] *= 0.9

    return Trap(Model(), between=between)


@trap
def tensor_of_a_changing_number():
    """The forward makes a tensor from a Python number that differs in each step."""

    class Model(TwoStacks):
        calls = 0

        def forward(self, x):
            self.calls += 1
            return self.second(self.first(x) * torch.tensor(1 / self.calls))

    return Trap(Model(), expected="refused")


@trap
def tensor_of_a_constant():
    """The forward makes tensors from Python numbers and lists that stay the same."""

    class Model(TwoStacks):
        def forward(self, x):
            table = torch.tensor([math.sin(i) for i in range(WIDTH)])
            return self.second(self.first(x) * table + torch.as_tensor(0.5))

    return Trap(Model())


@trap
def hours_since_the_start():
    """A factor depends on the clock, which advances by an hour in each step here."""

    class Model(TwoStacks):
        started = None

        def forward(self, x):
            if self.started is None:
                self.started = time.time()
            hours = (time.time() - self.started) // 3600
            return self.second(self.first(x) * 0.9**hours)

    passed, real_time = [0], time.time

    def between(model, step):
        passed[0] += 1

    def fast_clock():
        return mock.patch("time.time", lambda: real_time() + 3601 * passed[0])

    return Trap(Model(), expected="refused", between=between, around=fast_clock)


@trap
def time_only_logged():
    """The forward appends its own duration to a list. The entries of the list are not compared."""
    times = []

    class Model(TwoStacks):
        def forward(self, x):
            started = time.perf_counter()
            h = self.second(self.first(x))
            times.append(time.perf_counter() - started)
            return h

    return Trap(Model(), expected="either", observe=lambda model: len(times))


@trap
def indices_of_positive_values():
    """The number of rows that `nonzero` returns is the number of positive values."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.first(x)
            return self.second(h[(x[:, 0] > 0).nonzero().squeeze(1)])

    return Trap(Model(), expected="refused")


@trap
def rows_by_a_mask():
    """A mask selects rows. Their number depends on the values of the mask."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.first(x)
            return self.second(h[x[:, 0] > 0])

    return Trap(Model(), expected="refused")


@trap
def rows_by_a_mask_of_constant_count():
    """A mask selects half of the rows in the first seven steps, and a third of the rows later. The selected
    rows differ in each step."""

    def batch(step):
        kept = ROWS // 2 if step <= 7 else ROWS // 3
        chosen = torch.zeros(ROWS, dtype=torch.bool)
        chosen[torch.randperm(ROWS, generator=torch.Generator(DEVICE).manual_seed(step))[:kept]] = True
        return (data(step, ROWS, WIDTH), chosen), {}

    class Model(TwoStacks):
        def forward(self, x, chosen):
            return self.second(self.first(x)[chosen])

    return Trap(Model(), batch, expected="either", least_replayed=1)


@trap
def values_set_by_a_mask():
    """The forward writes to the places that a mask selects. No shape depends on values."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.first(x).clone()
            h[x < 0] = 0.1
            return self.second(h.masked_fill(x > 1, 0.2))

    return Trap(Model(), expected="either", least_replayed=1)


@trap
def unique_values():
    """The number of values that `unique` returns depends on the data."""

    class Model(TwoStacks):
        def forward(self, x):
            kinds, which = (x[:, 0] * 4).round().unique(return_inverse=True)
            return self.second(self.first(x) + kinds.cos()[which].unsqueeze(1))

    return Trap(Model(), expected="refused")


@trap
def length_from_a_tensor():
    """Sequences are cut at the longest length of the batch, which Python reads from a tensor."""

    class Model(TwoStacks):
        def forward(self, x, lengths):
            return self.second(self.first(x[:, : lengths.max()]))

    def batch(step):
        lengths = torch.tensor([3, 5, 4, 6 if step <= 7 else 8] * 4)
        return (data(step, ROWS // 4, 8, WIDTH), lengths), {}

    return Trap(Model(), batch, expected="either", least_replayed=1)


@trap
def one_hot_labels():
    """On the CPU `one_hot` reads its labels to check them."""

    class Model(TwoStacks):
        def forward(self, x):
            labels = x[:, :4].argmax(1)
            return self.second(self.first(x) + nn.functional.one_hot(labels, WIDTH))

    return Trap(Model(), expected="either", least_replayed=1)


@trap
def experts_by_routing():
    """Each row goes to the expert with the largest score, so the number of rows of an expert depends on
    values."""

    class Model(TwoStacks):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(WIDTH, 2)

        def forward(self, x):
            scores, chosen = self.gate(x).softmax(1).max(1)
            output = torch.zeros_like(x)
            for number, expert in enumerate([self.first, self.second]):
                index = torch.where(chosen == number)[0]
                output = output.index_add(0, index, expert(x[index]) * scores[index].unsqueeze(1))
            return output

    return Trap(Model(), expected="refused")


@trap
def filled_by_index():
    """Uninitialized memory is written in parts, and is read only when all parts are written."""

    class Model(TwoStacks):
        def forward(self, x):
            h = self.first(x)
            joined = torch.empty(2 * ROWS, WIDTH)
            even = torch.arange(0, 2 * ROWS, 2)
            joined.index_put_((even,), h)
            joined.index_put_((even + 1,), h * 0.5)
            return self.second(joined)

    return Trap(Model())


def rows_with_mask(step):
    """Returns rows and a mask. The mask is all ones, except in two steps after step CHANGE."""
    mask = torch.ones(ROWS, dtype=torch.bool)
    mask[3] = step not in (CHANGE + 2, CHANGE + 4)
    return (data(step, ROWS, WIDTH),), {"mask": mask}


def masked(layers, budget):
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(
                nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Dropout(0.1)) for _ in range(layers)
            )
            self.norm = nn.BatchNorm1d(WIDTH)

        def forward(self, x, mask):
            full = bool(mask.all())
            for layer in self.layers:
                x = layer(x) + x
            x = self.norm(x)
            return x if full else x * mask[:, None]

    return Trap(Masked(), rows_with_mask, budget=budget, least_replayed=2, expected="either")


# In the traps below, a plan must read a value before it returns outputs, whatever the order in which the
# schedule runs the ops.


@trap
def mask_read_in_three_layers():
    return masked(3, "75%")


@trap
def mask_read_in_five_layers():
    return masked(5, "70%")


@trap
def mask_read_in_eight_layers():
    return masked(8, "65%")


class Packed(nn.Module):
    """A recurrent layer over packed sequences."""

    def __init__(self, kind):
        super().__init__()
        self.layer, self.after = kind(WIDTH, WIDTH, batch_first=True), blocks()

    def forward(self, x, lengths):
        packed = rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return self.after(rnn.pad_packed_sequence(self.layer(packed)[0], batch_first=True)[0])


def sequences_of_other_lengths(step: int) -> tuple[tuple, dict]:
    """Sequences of equal sum and equal largest length, and of other lengths from step CHANGE on."""
    lengths = [6, 4, 2] if step < CHANGE else [6, 3, 3]
    return (data(step, 3, 6, WIDTH), torch.tensor(lengths)), {}


@host_trap
def packed_sequences_of_other_lengths():
    """A recurrent layer reads the sizes of its packed batch where no op shows it."""
    return Trap(Packed(nn.LSTM), sequences_of_other_lengths, budget="95%")


@host_trap
def packed_sequences_of_other_lengths_in_a_plain_recurrence():
    """The same for a layer without gates."""
    return Trap(Packed(nn.RNN), sequences_of_other_lengths, budget="95%")


@host_trap
def split_at_places_in_a_tensor():
    """`tensor_split` reads the places at which it splits where no op shows it."""

    class Model(TwoStacks):
        def forward(self, x, places):
            parts = torch.tensor_split(self.first(x), places)
            return self.second(torch.cat([part * part.mean() for part in parts]))

    def batch(step):
        return (data(step, ROWS, WIDTH), torch.tensor([3, 6] if step < CHANGE else [2, 7])), {}

    return Trap(Model(), batch, budget="95%")
