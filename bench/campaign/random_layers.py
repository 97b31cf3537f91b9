"""Models of random layers, which random_models.py trains."""

import torch
from torch import nn
from torch.nn import functional
from torch.utils import checkpoint

OF_IMAGES = (
    "convolution",
    "depthwise",
    "transposed",
    "pooled",
    "batch_norm",
    "group_norm",
    "spectral",
    "upsampled",
)
OF_TOKENS = (
    "linear",
    "layer_norm",
    "attention",
    "encoder",
    "gated",
    "recurrent",
    "shared",
    "routed",
    "normed",
    "fourier",
)
OF_ALL = (
    "relu",
    "relu_",
    "gelu",
    "silu",
    "dropout",
    "halves",
    "scaled",
    "own_function",
    "sorted",
    "masked_",
    "doubles",
)
OF_LAYERS = ("residual", "sum_of_branches", "checkpointed", "skipped")  # layers with layers of their own


class Doubled(torch.autograd.Function):
    """Twice the tanh of a tensor. The backward uses the saved output and a tensor of the context."""

    @staticmethod
    def forward(context, x):
        out = torch.tanh(x)
        context.save_for_backward(out)
        context.factor = x.new_full((1,), 2.0)
        return out * 2

    @staticmethod
    def backward(context, gradient):
        (out,) = context.saved_tensors
        return gradient * context.factor * (1 - out * out)


class Layer(nn.Module):
    """One random layer. Its output has as many features as its input. Features are dimension 1 of images and
    the last dimension of tokens."""

    def __init__(self, kind, width, choose, depth):
        super().__init__()
        self.kind = kind
        made = getattr(self, f"make_{kind}", None)
        if made:
            made(width, choose, depth)

    def make_convolution(self, width, choose, depth):
        self.part = nn.Conv2d(width, width, 3, padding=1, bias=choose.random() < 0.5)

    def make_depthwise(self, width, choose, depth):
        self.part = nn.Conv2d(width, width, 3, padding=1, groups=width)

    def make_transposed(self, width, choose, depth):
        self.part = nn.ConvTranspose2d(width, width, 3, padding=1)

    def make_batch_norm(self, width, choose, depth):
        self.part = nn.BatchNorm2d(width, momentum=None if choose.random() < 0.05 else 0.1)

    def make_group_norm(self, width, choose, depth):
        self.part = nn.GroupNorm(2, width)

    def make_spectral(self, width, choose, depth):
        self.part = nn.utils.parametrizations.spectral_norm(nn.Conv2d(width, width, 1))

    def make_linear(self, width, choose, depth):
        self.part = nn.Linear(width, width, bias=choose.random() < 0.5)

    make_shared = make_linear

    def make_normed(self, width, choose, depth):
        self.part = nn.utils.parametrizations.weight_norm(nn.Linear(width, width))

    def make_layer_norm(self, width, choose, depth):
        self.part = nn.LayerNorm(width)

    def make_gated(self, width, choose, depth):
        self.part = nn.Linear(width, 2 * width)

    def make_recurrent(self, width, choose, depth):
        kind = choose.choice((nn.GRU, nn.LSTM))
        self.part = kind(width, width, 2, batch_first=True, dropout=choose.choice((0, 0.2)))

    def make_attention(self, width, choose, depth):
        self.part, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.is_causal = choose.random() < 0.5

    def make_encoder(self, width, choose, depth):
        self.part = nn.TransformerEncoderLayer(width, 2, 2 * width, dropout=0.1, batch_first=True)

    def make_routed(self, width, choose, depth):
        self.gate = nn.Linear(width, 2)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(2))

    def make_dropout(self, width, choose, depth):
        self.part = nn.Dropout(0.2)

    def make_scaled(self, width, choose, depth):
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("seen", torch.zeros(1))

    def make_residual(self, width, choose, depth):
        self.part = sequence(width, choose, depth + 1, self.images)

    make_checkpointed = make_skipped = make_residual

    def make_sum_of_branches(self, width, choose, depth):
        self.part = sequence(width, choose, depth + 1, self.images)
        self.other = sequence(width, choose, depth + 1, self.images)

    images = False

    def forward(self, x):
        return getattr(self, f"run_{self.kind}", self.run_part)(x)

    def run_part(self, x):
        return self.part(x)

    def run_pooled(self, x):
        return functional.max_pool2d(x, 3, stride=1, padding=1)

    def run_upsampled(self, x):
        return functional.avg_pool2d(functional.interpolate(x, scale_factor=2, mode="nearest"), 2)

    def run_relu(self, x):
        return torch.relu(x)

    def run_relu_(self, x):
        return (x * 1.5).relu_()

    def run_gelu(self, x):
        return functional.gelu(x)

    def run_silu(self, x):
        return functional.silu(x)

    def run_own_function(self, x):
        return Doubled.apply(x)

    def run_sorted(self, x):
        return x + x.sort(dim=-1).values

    def run_masked_(self, x):
        out = x * 1.0
        out[..., 0] = 0.0
        return out.masked_fill_(out > 3, 3.0)

    def run_doubles(self, x):
        return x.double().sin().to(x.dtype)

    def run_halves(self, x):
        first, second = x.chunk(2, dim=-1)
        return torch.cat([second, first], dim=-1)

    def run_scaled(self, x):
        if self.training:
            with torch.no_grad():
                self.seen.add_(x.mean())
        return x * self.scale

    def run_residual(self, x):
        return x + self.part(x)

    def run_sum_of_branches(self, x):
        return self.part(x) + self.other(x).tanh()

    def run_checkpointed(self, x):
        return checkpoint.checkpoint(self.part, x, use_reentrant=False)

    def run_skipped(self, x):
        """Drops each row of the branch with probability 1/4, as stochastic depth does."""
        out = self.part(x)
        if self.training:
            shape = (len(x),) + (1,) * (x.dim() - 1)
            out = out * torch.empty(shape).bernoulli_(0.75)
        return x + out

    def run_gated(self, x):
        first, second = self.part(x).chunk(2, dim=-1)
        return first * second.sigmoid()

    def run_shared(self, x):
        return self.part(torch.tanh(self.part(x)))

    def run_recurrent(self, x):
        return self.part(x)[0]

    def run_fourier(self, x):
        return torch.fft.irfft(torch.fft.rfft(x, dim=1) * 0.5, n=x.shape[1], dim=1)

    def run_attention(self, x):
        rows, length, width = x.shape
        query, key, value = self.part(x).view(rows, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=self.is_causal)
        return self.out(mixed.transpose(1, 2).reshape(rows, length, width))

    def run_routed(self, x):
        """Sends half of the tokens, which the gate chooses, to each expert."""
        tokens = x.reshape(-1, x.shape[-1])
        shares = self.gate(tokens).softmax(-1)
        out = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            share, rows = shares[:, number].topk(len(tokens) // 2)
            out = out.index_add(0, rows, (expert(tokens[rows]) * share[:, None]).to(out.dtype))
        return x + out.view_as(x)


class ImageLayer(Layer):
    images = True


def sequence(width, choose, depth, images) -> nn.Sequential:
    kinds = (OF_IMAGES if images else OF_TOKENS) + OF_ALL + (2 * OF_LAYERS if depth < 2 else ())
    count = choose.randint(8, 20) if depth == 0 else choose.randint(1, 3)
    kind_of_layer = ImageLayer if images else Layer
    return nn.Sequential(*(kind_of_layer(choose.choice(kinds), width, choose, depth) for _ in range(count)))


class Model(nn.Module):
    """A model of images or of tokens with 10 classes. It returns the logits, and sometimes the features."""

    def __init__(self, choose):
        super().__init__()
        self.images = choose.random() < 0.5
        self.width = choose.choice((8, 16, 32))
        self.layers = sequence(self.width, choose, 0, self.images)
        self.head = nn.Linear(self.width, 10)
        self.pairs = choose.random() < 0.2
        self.scale = nn.Parameter(torch.ones(1))
        # when a branch beside the layers is computed; empty if there is none
        self.around = choose.choice(("", "", "before", "after"))

    def batch(self, number, rows):
        """Returns the inputs and the classes of the batch with this number."""
        generator = torch.Generator().manual_seed(number)
        shape = (rows, self.width, 12, 12) if self.images else (rows, 24, self.width)
        return torch.randn(shape, generator=generator), torch.randint(0, 10, (rows,), generator=generator)

    def forward(self, x):
        x = x * self.scale
        first = x.cos() if self.around == "before" else None
        out = self.layers(x)
        x = out if not self.around else out + (x.sin() if first is None else first)
        features = x.mean((2, 3)) if self.images else x.mean(1)
        return (self.head(features), features) if self.pairs else self.head(features)
