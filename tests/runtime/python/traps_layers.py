"""Traps of particular layers: shared weights, recurrence, sparse gradients, in-place writes, complex numbers,
lower precision."""

import torch
from torch import nn

from traps import CHANGE, DEVICE, ROWS, WIDTH, Trap, blocks, data, host_trap, trap


def sequences(step: int) -> tuple[tuple, dict]:
    return (data(step, 8, 6, WIDTH),), {}


def words(step: int) -> tuple[tuple, dict]:
    return (torch.randint(20, (8, 16), generator=torch.Generator(DEVICE).manual_seed(step)),), {}


@trap
def module_called_twice():
    """The forward calls one submodule twice. So the path of a module does not identify an op, and weights get
    the sum of two gradients."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks(2)

        def forward(self, x):
            return self.layers(self.layers(x) + x)

    return Trap(Model())


@trap
def batch_norm_called_twice():
    """The running statistics of one BatchNorm change twice in one forward."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.norm = blocks(2), nn.BatchNorm1d(WIDTH)

        def forward(self, x):
            return self.norm(self.layers(self.norm(x)))

    return Trap(Model())


@trap
def tied_weights():
    """The weight of the embedding is also the output matrix, as in language models."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.layers = nn.Embedding(20, WIDTH), blocks()
            self.head = nn.Linear(WIDTH, 20, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, ids):
            return self.head(self.layers(self.embedding(ids)))

    return Trap(Model(), words)


@trap
def one_parameter_in_two_roles():
    """One matrix is used both as it is and transposed. The two gradients have different strides and are
    summed in one buffer."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.layers = nn.Parameter(data(0, WIDTH, WIDTH) / 4), blocks()

        def forward(self, x):
            return self.layers((x @ self.weight).tanh()) @ self.weight.t()

    return Trap(Model())


@host_trap
def sparse_gradient():
    """The gradient of the embedding is sparse. Its number of rows depends on the words."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.layers = nn.Embedding(20, WIDTH, sparse=True), blocks()

        def forward(self, ids):
            return self.layers(self.embedding(ids))

    model = Model()

    def update(optimizer, step):
        """Updates the parameters directly, because AdamW does not accept sparse gradients."""
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(parameter.grad, alpha=-0.1)

    return Trap(model, words, expected="refused", update=update)


@trap
def embedding_with_padding_and_norm():
    """Before the lookup, the embedding renormalizes the used rows of its own weight in place."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.layers = nn.Embedding(20, WIDTH, padding_idx=0, max_norm=1.0), blocks()

        def forward(self, ids):
            return self.layers(self.embedding(ids))

    return Trap(Model(), words, expected="either", least_replayed=1)


@trap
def lstm():
    """Recurrent layers have their own kernels, with workspaces that the backward needs."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(WIDTH, WIDTH, num_layers=2, dropout=0.2, batch_first=True)

        def forward(self, x):
            return self.lstm(x)[0]

    return Trap(Model(), sequences, expected="either", least_replayed=1)


@trap
def lstm_with_kept_state():
    """The detached state is carried from step to step, as when a long text is read in pieces."""

    class Model(nn.Module):
        state = None

        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(WIDTH, WIDTH, batch_first=True)

        def forward(self, x):
            y, state = self.lstm(x, self.state)
            self.state = tuple(part.detach() for part in state)
            return y

    return Trap(Model(), sequences, observe=lambda model: model.state, budget="100%")


@trap
def packed_sequences():
    """Sequences of several lengths are packed. The lengths are read from a tensor and determine the ops."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru = nn.GRU(WIDTH, WIDTH, batch_first=True)

        def forward(self, x, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            return nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True)[0]

    def batch(step):
        lengths = torch.randint(1, 7, (8,), generator=torch.Generator("cpu").manual_seed(step), device="cpu")
        return (*sequences(step)[0], lengths), {}

    return Trap(Model(), batch, expected="either")


@trap
def attention():
    """An attention layer with dropout, which runs as one kernel or as several ops. The forward makes a
    mask."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.TransformerEncoderLayer(WIDTH, 2, 32, dropout=0.1, batch_first=True)

        def forward(self, x):
            return self.layer(
                x, src_mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1]), is_causal=True
            )

    return Trap(Model(), sequences)


@trap
def activations_written_in_place():
    """Ops write over their inputs. To run such an op again, a plan needs the former values of its input."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

        def forward(self, x):
            h = self.first(x)
            h += 0.5
            h.relu_()
            h = self.second(h)
            h[:, :4].mul_(2.0)
            h[::2] += h[1::2].clone()
            return nn.functional.leaky_relu_(h, 0.1)

    return Trap(Model(), budget="95%")


@trap
def residual_written_in_place():
    """A sum grows in place from layer to layer. Each layer has saved results that it computed from an earlier
    value of the sum."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([blocks(1), blocks(1), blocks(1)])

        def forward(self, x):
            total = x.clone()
            for layer in self.layers:
                total += layer(total * 0.5)
            return total

    return Trap(Model())


@trap
def complex_numbers():
    """The model has a Fourier transform, complex parameters, and conjugates that are only flags on views."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks()
            self.filter = nn.Parameter(torch.complex(data(1, WIDTH // 2 + 1), data(2, WIDTH // 2 + 1)))

        def forward(self, x):
            spectrum = torch.fft.rfft(self.layers(x)) * self.filter
            return (
                torch.fft.irfft(spectrum * 0.5 + spectrum.conj() * 0.5, n=WIDTH)
                + (spectrum * spectrum.conj()).real.mean()
            )

    return Trap(Model(), expected="either", least_replayed=1)


@trap
def bfloat16_within_forward():
    """The forward enters autocast. Weights are cast once within autocast, and the backward goes through the
    casts."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks(3)

        def forward(self, x):
            with torch.autocast("cpu", torch.bfloat16):
                return self.layers(self.layers(x)).float()

    return Trap(Model())


@trap
def bfloat16_around_the_forward():
    """The loop enters autocast around the forward. The cached casts of weights live until the `with` block
    ends."""

    def body(model, batch, step):
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(*batch(step)[0]).float().square().mean()
        loss.backward()
        return loss

    return Trap(blocks(4), body=body)


@trap
def bfloat16_around_the_step():
    """The backward is also called within autocast, so Python code that runs in the backward is under
    autocast."""

    def body(model, batch, step):
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(*batch(step)[0]).float().square().mean()
            loss.backward()
        return loss

    return Trap(blocks(4), body=body, expected="either", least_replayed=1)


@trap
def bfloat16_around_two_forwards():
    """Two forwards in one autocast region share the cached casts of weights, so the second forward does not
    cast weights."""

    def body(model, batch, step):
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(*batch(step)[0]).float().square().mean()
            loss = loss + model(*batch(step + 100)[0]).float().abs().mean()
        loss.backward()
        return loss

    return Trap(blocks(4), body=body, expected="either")


@trap
def bfloat16_from_the_seventh_step():
    """Autocast is turned on after some steps. Nothing in the model or its inputs shows this."""

    def body(model, batch, step):
        with torch.autocast("cpu", torch.bfloat16, enabled=step > CHANGE):
            loss = model(*batch(step)[0]).float().square().mean()
        loss.backward()
        return loss

    return Trap(blocks(4), body=body, expected="either", least_replayed=1)


@trap
def layers_never_used():
    """The model has lists and dictionaries of layers. One layer is never used, so its parameters get no
    gradient."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleDict(
                {"used": blocks(), "unused": blocks(), "last": nn.ModuleList([blocks(1), blocks(1)])}
            )

        def forward(self, x):
            for layer in self.layers["last"]:
                x = layer(x)
            return self.layers["used"](x)

    return Trap(Model())


@trap
def views_as_outputs_of_layers():
    """Chunks, transposed views and unfolded views go through layers. Their gradients are written to parts of
    one tensor."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.project, self.last = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(ROWS, ROWS)

        def forward(self, x):
            a, b, c = self.project(x).chunk(3, dim=1)
            h = (a * b.sigmoid()).t()
            return self.last(h).t().unfold(1, 4, 2).amax(2).sum(1) + c.diagonal().sum()

    return Trap(Model())


@trap
def scripted_submodule():
    """A part of the model is TorchScript, which optimizes itself during its first calls."""

    class Part(nn.Module):
        def forward(self, x):
            return x * x.sigmoid() + 0.5 * x.tanh()

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.part = blocks(), torch.jit.script(Part())

        def forward(self, x):
            return self.part(self.layers(x))

    return Trap(Model(), expected="either", least_replayed=1)


class ChangingShapes(nn.Module):
    """A layer that changes the shape and the strides of its results in place."""

    def __init__(self):
        super().__init__()
        self.layers = blocks()

    def forward(self, x):
        y = self.layers(x)[None, :, None].sigmoid() * 3
        y.squeeze_((0, 2))
        y = y.tanh() * 3
        y.unsqueeze_(0).transpose_(1, 2)
        return (y.sin() * 3).swapaxes_(0, 1)


@trap
def shape_changed_in_place():
    """Results of ops change their shape and strides in place. Such an op computes nothing, and must find the
    shape of before when a step runs again."""

    return Trap(
        nn.Sequential(ChangingShapes(), nn.Flatten(), blocks()),
        lambda step: ((data(step, WIDTH, WIDTH),), {}),
    )


@trap
def shape_of_the_input_changed_in_place():
    """The forward changes the shape of the caller's tensor, which the plan would not do."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks()

        def forward(self, x):
            return self.layers(x.squeeze_(0))

    return Trap(Model(), lambda step: ((data(step, 1, ROWS, WIDTH),), {}), expected="refused")


@trap
def shape_of_a_buffer_changed_in_place():
    """The forward transposes a buffer in place, so it has another shape in each step."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks()
            self.register_buffer("table", data(0, WIDTH, WIDTH))

        def forward(self, x):
            return self.layers(x @ self.table.t_())

    return Trap(Model(), expected="refused", observe=lambda model: model.table.stride())
