"""Small trainings, called courses, for the tests of online eviction. Some have models whose ops differ from
step to step. Each function builds a course, with random weights from the global generator."""

import functools
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import models
from evicted import Course
from models import export

sys.path.append(str(models.ROOT / "resources" / "models"))
import whole_models


def data(number: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(number))


def integers(number: int, below: int, *shape: int) -> torch.Tensor:
    return torch.randint(below, shape, generator=torch.Generator().manual_seed(number))


def classified(module, classes: int, *shape: int) -> Course:
    return Course(module, lambda m, n: F.cross_entropy(m(data(n, *shape)), integers(n, classes, shape[0])))


def predicting(module, vocabulary: int, batch: int, length: int) -> Course:
    def loss(m, n):
        ids = integers(n, vocabulary, batch, length + 1)
        return F.cross_entropy(m(ids[:, :-1].contiguous()).flatten(0, 1), ids[:, 1:].flatten())

    return Course(module, loss)


MODELS = {}
DYNAMIC = {}


def course(fits: float, table=MODELS):
    """Registers a function that builds a course. `fits`: a share of the evictable bytes. With this share all
    steps must fit; with smaller shares steps can fail."""

    def register(build):
        table[build.__name__] = (build, fits)
        return build

    return register


@course(0.5)
def resnet():
    return classified(models.ResNet20(), 10, 4, 3, 32, 32)


@course(0.3)
def gpt():
    return predicting(export.Gpt(4, 48, 4, 32, 64, 0.1), 64, 8, 32)


@course(0.3)
def llama():
    return predicting(whole_models.Llama(3, 48, 4, 2, 32, 96), 96, 8, 32)


@course(0.5)
def unet():
    return Course(export.UNet(8), lambda m, n: m(data(n, 2, 3, 32, 32)).square().mean())


@course(0.7)
def tied_lstm():
    """The LSTM's state is carried from step to step; the embedding and the output share their weights."""
    module = whole_models.LanguageModel(32, 64, 2)
    states = {0: (torch.zeros(2, 8, 32), torch.zeros(2, 8, 32))}

    def loss(m, n):
        ids = integers(n, 64, 8, 33)
        logits, (hidden, memory) = m(ids[:, :-1].contiguous(), *states[n])
        states[n + 1] = hidden.detach(), memory.detach()
        return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())

    return Course(module, loss)


@course(0.3)
def translator():
    def loss(m, n):
        return F.cross_entropy(
            m(integers(n, 50, 16, 12), integers(n + 9, 50, 16, 10)).flatten(0, 1), integers(n, 50, 160)
        )

    return Course(export.Translator(), loss)


@course(0.4)
def mixture_of_experts():
    return predicting(whole_models.MixtureOfExperts(2, 32, 4, 4, 32, 64), 64, 12, 32)


@course(0.7)
def fourier_operator():
    """A model with complex weights, which writes to slices of a spectrum."""
    return Course(
        whole_models.FourierOperator(3, 8, 4, 16), lambda m, n: m(data(n, 8, 1, 16, 16)).square().mean()
    )


@course(0.3)
def swin():
    module = whole_models.vision.SwinTransformer(
        patch_size=[2, 2], embed_dim=16, depths=[2, 2], num_heads=[2, 2], window_size=[4, 4], dropout=0.1,
        attention_dropout=0.1, stochastic_depth_prob=0.2, num_classes=10,
    )  # fmt: skip
    return classified(module, 10, 2, 3, 32, 32)


@course(0.3)
def mixer():
    return classified(whole_models.Mixer(3, 8, 32, 48, 10), 10, 16, 3, 32, 32)


@course(0.5)
def mobilenet():
    return classified(whole_models.vision.mobilenet_v3_small(num_classes=10), 10, 16, 3, 64, 64)


@course(0.7)
def in_place_views():
    return Course(export.InPlaceViews(), lambda m, n: m(data(n, 512, 16)).square().mean())


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(64, 32)
        self.blocks = nn.ModuleList(export.GptBlock(32, 4, 0.1) for _ in range(4))
        self.layers = nn.Sequential(
            *(
                nn.Sequential(nn.Linear(32, 32), nn.ReLU(inplace=True), nn.BatchNorm1d(16), nn.Dropout(0.2))
                for _ in range(4)
            )
        )
        self.head = nn.Linear(32, 64)
        self.register_buffer("mask", torch.ones(16, 16, dtype=torch.bool).triu(1))

    def forward(self, ids):
        x = self.tokens(ids)
        for i, block in enumerate(self.blocks):
            x = checkpoint(block, x, self.mask, use_reentrant=i % 2 == 0)
        return self.head(checkpoint_sequential(self.layers, 2, x, use_reentrant=False))


@course(0.7)
def checkpointed():
    """Checkpoints with and without reentrant autograd; batch norm and dropout are inside."""
    return predicting(Checkpointed(), 64, 16, 16)


class Scattered(nn.Module):
    """A model with spectral norm, an attention layer, index_put through views, and chains of in-place
    writes."""

    def __init__(self):
        super().__init__()
        self.first = nn.utils.parametrizations.spectral_norm(nn.Linear(32, 32))
        self.attention = nn.MultiheadAttention(32, 4, dropout=0.1, batch_first=True)
        self.second = nn.utils.spectral_norm(nn.Linear(32, 32))
        self.bag = nn.EmbeddingBag(20, 32, mode="mean")

    def forward(self, x, ids):
        x = torch.tanh(self.first(x))
        x = x + self.attention(x, x, x)[0]
        y = torch.zeros(x.shape[0], x.shape[1] + 2, x.shape[2])
        y[:, 1:-1] = x
        y[:, 0].copy_(self.bag(ids))
        y = y * 1.5
        y[torch.arange(x.shape[0]), ids[:, 0] % x.shape[1]] += 1.0
        y.index_put_((torch.arange(x.shape[0]),), y.mean(1, keepdim=True) * 0.5, accumulate=True)
        z = self.second(y).sigmoid()
        z = z + 0.5
        z[..., ::2].mul_(2.0).add_(0.25)
        return z.transpose(1, 2).contiguous().relu_()


@course(0.7)
def scattered():
    return Course(Scattered(), lambda m, n: m(data(n, 32, 12, 32), integers(n, 20, 32, 5)).square().mean())


class UnderAutocast(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.SiLU())
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(16, 2, 32, 0.1, batch_first=True, norm_first=True) for _ in range(2)
        )
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            x = self.stem(x).flatten(2).transpose(1, 2)
            for block in self.blocks:
                x = block(x)
            return self.head(x.mean(1))


@course(0.7)
def autocast():
    return classified(UnderAutocast(), 10, 4, 3, 16, 16)


class Quadratic(nn.Module):
    """A model with cumulative products, sorting, gathering and einsum."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(24, 24), nn.Bilinear(24, 24, 24)
        self.scale = nn.Parameter(torch.ones(24))

    def forward(self, x):
        y = torch.einsum("bij,bkj->bik", self.a(x), x)
        s, order = y.sort(-1)
        w = torch.cumsum(torch.softmax(s, -1), -1).gather(-1, order)
        x = torch.baddbmm(x, w, x).split(8, -1)
        x = F.layer_norm(torch.cat([x[2], x[0].cumprod(1), x[1].neg()], -1), (24,), self.scale)
        return self.b(x, F.normalize(x, dim=-1)).logsumexp(1).amax(-1)


@course(0.9)
def tensor_algebra():
    return Course(Quadratic(), lambda m, n: m(data(n, 6, 12, 24)).square().mean())


dynamic = functools.partial(course, table=DYNAMIC)


class TreeLstm(nn.Module):
    """A binary tree LSTM (Tai et al., 2015), on trees that are drawn anew for each step."""

    def __init__(self, width: int = 48):
        super().__init__()
        self.leaf = nn.Linear(width, 2 * width)
        self.gates = nn.Linear(2 * width, 5 * width)

    def forward(self, tree):
        if isinstance(tree, torch.Tensor):
            hidden, memory = self.leaf(tree).chunk(2, -1)
            return torch.tanh(hidden), memory
        (left, left_memory), (right, right_memory) = self(tree[0]), self(tree[1])
        i, f, g, o, u = self.gates(torch.cat([left, right], -1)).chunk(5, -1)
        memory = i.sigmoid() * u.tanh() + f.sigmoid() * left_memory + g.sigmoid() * right_memory
        return o.sigmoid() * memory.tanh(), memory


def random_tree(generator, leaves: int):
    if leaves == 1:
        return torch.randn(16, 48, generator=generator)
    left = int(torch.randint(1, leaves, (1,), generator=generator))
    return random_tree(generator, left), random_tree(generator, leaves - left)


@dynamic(0.7)
def tree_lstm():
    def loss(m, n):
        generator = torch.Generator().manual_seed(n)
        return m(random_tree(generator, 24 + 4 * (n % 3)))[0].square().mean()

    return Course(TreeLstm(), loss)


class UntilSmall(nn.Module):
    """The number of applications of the layer depends on its results. Dropout follows each application."""

    def __init__(self):
        super().__init__()
        self.layer, self.dropout = nn.Linear(32, 32), nn.Dropout(0.2)

    def forward(self, x):
        turns = 0
        while turns < 40 and x.norm() > 8.0 + 2 * turns % 3:
            x = self.dropout(torch.tanh(self.layer(x))) * 0.93
            turns += 1
        return x


@dynamic(0.3)
def until_small():
    return Course(UntilSmall(), lambda m, n: (m(4 * data(n, 256, 32)) + 1).square().mean())


class RandomDepth(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32)) for _ in range(16)
        )

    def forward(self, x):
        for block in self.blocks:
            if torch.rand(()).item() < 0.7:
                x = x + block(x)
        return x


@dynamic(0.5)
def random_depth():
    return Course(RandomDepth(), lambda m, n: m(data(n, 256, 32)).square().mean())


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.lstm, self.head = (
            nn.Embedding(64, 24),
            nn.LSTM(24, 24, 2, batch_first=True),
            nn.Linear(24, 64),
        )

    def forward(self, ids, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            self.tokens(ids), lengths, batch_first=True, enforce_sorted=False
        )
        y, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.head(y)


@dynamic(0.7)
def variable_lengths():
    def loss(m, n):
        lengths = 4 + integers(n, 12, 24)
        return m(integers(n, 64, 24, int(lengths.max())), lengths).square().mean()

    return Course(Packed(), loss)


class Routed(nn.Module):
    """Each token goes to the expert with the highest score, so the number of tokens of each expert depends on
    the data."""

    def __init__(self):
        super().__init__()
        self.router = nn.ModuleList(nn.Linear(32, 4) for _ in range(3))
        self.experts = nn.ModuleList(
            nn.ModuleList(whole_models.Mlp(32, 64, 0.1) for _ in range(4)) for _ in range(3)
        )

    def forward(self, x):
        for router, experts in zip(self.router, self.experts):
            weights, chosen = router(x).softmax(-1).max(-1)
            y = torch.zeros_like(x)
            for number, expert in enumerate(experts):
                rows = (chosen == number).nonzero().squeeze(1)
                if rows.numel():
                    y = y.index_add(0, rows, expert(x[rows]) * weights[rows, None])
            x = x + y
        return x


@dynamic(0.4)
def routed_experts():
    return Course(Routed(), lambda m, n: m(data(n, 512, 32)).square().mean())
