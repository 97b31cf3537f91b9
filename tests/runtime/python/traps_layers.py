"""Traps of particular layers: shared weights, recurrence, sparse gradients, writes in place, complex numbers,
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
    """One submodule is called twice within forward: a place in the model is not an op, and gradients of
    weights add up."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = blocks(2)

        def forward(self, x):
            return self.layers(self.layers(x) + x)

    return Trap(Model())


@trap
def batch_norm_called_twice():
    """The running statistics of one BatchNorm move twice in one forward."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.norm = blocks(2), nn.BatchNorm1d(WIDTH)

        def forward(self, x):
            return self.norm(self.layers(self.norm(x)))

    return Trap(Model())


@trap
def tied_weights():
    """The embedding is also the matrix of the output, as in language models."""

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
    """One matrix is used as it is and transposed; both gradients meet in one buffer of two strides."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.layers = nn.Parameter(data(0, WIDTH, WIDTH) / 4), blocks()

        def forward(self, x):
            return self.layers((x @ self.weight).tanh()) @ self.weight.t()

    return Trap(Model())


@host_trap
def sparse_gradient():
    """The gradient of the embedding is sparse: how many rows it has depends on the words."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.layers = nn.Embedding(20, WIDTH, sparse=True), blocks()

        def forward(self, ids):
            return self.layers(self.embedding(ids))

    model = Model()

    def update(optimizer, step):
        """AdamW takes no sparse gradients."""
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(parameter.grad, alpha=-0.1)

    return Trap(model, words, expected="refused", update=update)


@trap
def embedding_with_padding_and_norm():
    """The embedding renormalizes the rows that it uses, in place in its own weight, before it looks them
    up."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.layers = nn.Embedding(20, WIDTH, padding_idx=0, max_norm=1.0), blocks()

        def forward(self, ids):
            return self.layers(self.embedding(ids))

    return Trap(Model(), words, expected="either", least_replayed=1)


@trap
def lstm():
    """Recurrent layers have kernels of their own, with workspaces that backward needs."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(WIDTH, WIDTH, num_layers=2, dropout=0.2, batch_first=True)

        def forward(self, x):
            return self.lstm(x)[0]

    return Trap(Model(), sequences, expected="either", least_replayed=1)


@trap
def lstm_with_kept_state():
    """The state goes from step to step, detached, as when a long text is read in pieces."""

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
    """Sequences of several lengths are packed: the lengths are read from a tensor and cut the ops."""

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
    """Attention with dropout inside one kernel or as several ops; a mask is made in forward."""

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
    """The input of an op is gone after it; to recompute it needs what was there before."""

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
    """A sum grows in place over the layers, while each layer has saved views of it or results from it."""

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
    """A Fourier transform, complex parameters, conjugates that are only marked on views."""

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
    """Autocast is entered in forward: weights are cast once there, and the casts have backwards."""

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
    """The loop enters autocast, forward does not know; its cache of cast weights lives as long as the
    block."""

    def body(model, batch, step):
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(*batch(step)[0]).float().square().mean()
        loss.backward()
        return loss

    return Trap(blocks(4), body=body)


@trap
def bfloat16_around_the_step():
    """The backward, too, is called within autocast, which then is in force for what Python does in it."""

    def body(model, batch, step):
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(*batch(step)[0]).float().square().mean()
            loss.backward()
        return loss

    return Trap(blocks(4), body=body, expected="either", least_replayed=1)


@trap
def bfloat16_around_two_forwards():
    """Two steps in one block of autocast share its cache of cast weights, so that the second has no casts of
    its own."""

    def body(model, batch, step):
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(*batch(step)[0]).float().square().mean()
            loss = loss + model(*batch(step + 100)[0]).float().abs().mean()
        loss.backward()
        return loss

    return Trap(blocks(4), body=body, expected="either")


@trap
def bfloat16_from_the_seventh_step():
    """Autocast is switched on after some steps; neither the model nor its inputs show it."""

    def body(model, batch, step):
        with torch.autocast("cpu", torch.bfloat16, enabled=step > CHANGE):
            loss = model(*batch(step)[0]).float().square().mean()
        loss.backward()
        return loss

    return Trap(blocks(4), body=body, expected="either", least_replayed=1)


@trap
def layers_never_used():
    """Lists and dictionaries of layers, one of them never used: its parameters have no gradient."""

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
    """Chunks, transposed and unfolded views go through layers; their gradients are written to parts of one
    tensor."""

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
    """A part of the model is TorchScript, which optimizes itself over its first calls."""

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
