#!/usr/bin/env python3
"""Writes a table of small modules as TorchScript files, in train mode: one for each kind of layer and of
tensor arithmetic that models are made of. The tests capture and replay them all.

    modules.py OUTDIR                all of them, with OUTDIR/modules.json, the table
    modules.py OUTDIR --only conv1d  one of them

Beside each NAME.pt is NAME.json with the input specifications that `rematlas capture --input` takes, in
order. Modules of torch.nn are scripted; functions of tensors and a weight are traced.
"""

import argparse
import json
import pathlib
import sys
import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

DTYPES = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "c64": torch.complex64,
}


class Apply(nn.Module):
    """Applies a function to the inputs and to one weight, which is the last argument."""

    def __init__(self, function: Callable, *shape: int, dtype=torch.float32):
        super().__init__()
        self.function = function
        self.weight = nn.Parameter(torch.randn(shape, dtype=dtype))

    def forward(self, *inputs: Tensor):
        return self.function(*inputs, self.weight)


class Attention(nn.Module):
    def __init__(self, causal: bool = False, dropout: float = 0.0, masked: bool = False):
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.causal, self.dropout = causal, dropout
        mask = torch.zeros(6, 6)
        if masked:
            mask[:, 4:] = float("-inf")
            mask[:, 0] = 0.5
        self.register_buffer("mask", mask if masked else None)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).view(2, 6, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, self.mask, self.dropout, self.causal)
        return y.transpose(1, 2).reshape(2, 6, 16)


class SelfAttention(nn.Module):
    def __init__(self, dropout: float):
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 2, dropout=dropout, batch_first=True)

    def forward(self, x: Tensor):
        return self.attention(x, x, x)


class LstmCells(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(6, 8)

    def forward(self, x: Tensor) -> Tensor:
        state, memory = x.new_zeros(x.shape[1], 8), x.new_zeros(x.shape[1], 8)
        for i in range(x.shape[0]):
            state, memory = self.cell(x[i], (state, memory))
        return state


class Recurrent(nn.Module):
    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor):
        return self.layer(x)


class Cells(nn.Module):
    def __init__(self, cell: nn.Module):
        super().__init__()
        self.cell = cell

    def forward(self, x: Tensor) -> Tensor:
        state = x.new_zeros(x.shape[1], 8)
        for i in range(x.shape[0]):
            state = self.cell(x[i], state)
        return state


class LossInside(nn.Module):
    def __init__(self, loss: nn.Module, out: int = 7):
        super().__init__()
        self.linear = nn.Linear(6, out)
        self.loss = loss

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return self.loss(self.linear(x), target)


class Normalized(nn.Module):
    """Computes losses whose targets are a distribution: the second input, normalized."""

    def __init__(self, kind: str):
        super().__init__()
        self.linear = nn.Linear(6, 7)
        self.kind = kind

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        z = self.linear(x)
        if self.kind == "kl":
            return F.kl_div(z.log_softmax(1), y.softmax(1), reduction="batchmean")
        if self.kind == "bce":
            return F.binary_cross_entropy(z.sigmoid(), y.sigmoid())
        return F.binary_cross_entropy_with_logits(z, y.sigmoid()) + F.cosine_embedding_loss(
            z, y, torch.ones(4)
        )


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Embedding(11, 8)
        self.middle = nn.Linear(8, 8)
        self.decode = nn.Linear(8, 11, bias=False)
        self.decode.weight = self.encode.weight

    def forward(self, ids: Tensor) -> Tensor:
        return self.decode(self.middle(torch.tanh(self.middle(self.encode(ids)))))


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8)).requires_grad_(False)
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x))


class MovingAverage(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.register_buffer("average", torch.zeros(6))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        y = self.linear(x)
        self.average.mul_(0.9).add_(y.detach().mean(0), alpha=0.1)
        return (y - self.average) / (1.0 + self.average * self.average)


class Branches(nn.Module):
    """Loops and branches that depend on shapes and settings only."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(4))
        self.depth = 3

    def forward(self, x: Tensor) -> Tensor:
        for i, layer in enumerate(self.layers):
            if i < self.depth and x.shape[0] > 1:
                x = torch.relu(layer(x)) if i % 2 == 0 else x + layer(x)
        return x


class Outputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 8)


class TupleOut(Outputs):
    def forward(self, x: Tensor):
        y = self.linear(x)
        return y, (y.exp(), x)


class ListOut(Outputs):
    def forward(self, x: Tensor) -> list[Tensor]:
        return list(self.linear(x).chunk(2, 1))


class DictOut(Outputs):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        y = self.linear(x)
        return {"logits": y, "probabilities": y.softmax(1)}


class SparseGradient(nn.Module):
    """Cannot be captured: its gradient is a sparse tensor."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 4, sparse=True)

    def forward(self, ids: Tensor) -> Tensor:
        return self.table(ids)


class Pick(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[x > 0]


class Filtered(nn.Module):
    """Cannot be captured: the shape of its result depends on the data."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(6, 6))
        self.pick = Pick()

    def forward(self, x: Tensor) -> Tensor:
        return self.pick(self.inner(x))


# Ops that the tests define. Each does something that its schema does not declare.
UNDECLARED = torch.library.Library("rematlas_test", "DEF")
for undeclared in ("writes_argument", "returns_argument", "shares_memory"):
    UNDECLARED.define(f"{undeclared}(Tensor x) -> Tensor")


class WritesArgument(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.ops.rematlas_test.writes_argument(x.detach())


class ReturnsArgument(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.ops.rematlas_test.returns_argument(x.detach())
        y.mul_(0.5)
        return x * y


class SharesMemory(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.ops.rematlas_test.shares_memory(x.detach())


class Repeated(nn.Module):
    """Cannot be captured, because the number of iterations of its loop depends on the data."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        while float(x.norm()) > 1.0:
            x = torch.tanh(self.layer(x)) * 0.5
        return x


class Indexed(nn.Module):
    """Selects rows by their indices, in scripted code."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x: Tensor, rows: Tensor) -> Tensor:
        return torch.tanh(self.layer(x))[rows]


class Checked(nn.Module):
    """Cannot be captured, because it checks the data. The check succeeds in every sensible step."""

    def forward(self, x: Tensor) -> Tensor:
        if bool(torch.isnan(x).any()):
            raise ValueError("not a number")
        return x * x


class LossRead(nn.Module):
    """Cannot be captured, because it reads a number that depends on the data."""

    def forward(self, x: Tensor) -> Tensor:
        return x * float(x.sum())


class WeightRead(nn.Module):
    """Cannot be captured, because it reads a number that depends on the weights."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(6))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight / float(self.weight.norm())


class Settings(Outputs):
    """Has arguments other than tensors."""

    def forward(
        self,
        x: Tensor,
        scale: float = 2.0,
        times: int = 2,
        flipped: bool = False,
        mode: str = "sum",
        mask: Tensor | None = None,
    ) -> Tensor:
        y = self.linear(x) * scale
        for _ in range(times):
            y = y + torch.tanh(y)
        if flipped:
            y = y.flip(0)
        if mask is not None:
            y = y * mask.sum(1, keepdim=True)
        return y.sum() if mode == "sum" else y.mean()


class Lengths(nn.Module):
    """Cannot be captured, because the ops depend on the lengths in the batch."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths + 1, enforce_sorted=False)
        return self.lstm(packed)[1][0]


def inside(module: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(6, 6), nn.Sequential(module))


class ListIn(Outputs):
    def forward(self, inputs: list[Tensor]) -> Tensor:
        return self.linear(inputs[0])


class AutocastNorm(Apply):
    """Has activations in bfloat16 and statistics in float32."""

    def __init__(self, affine: bool):
        super().__init__(F.conv2d, 4, 4, 3, 3)
        self.norm = nn.BatchNorm2d(4, affine=affine)

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return self.norm(self.function(x, self.weight)).relu()


class AutocastScript(nn.Module):
    """Mixed precision with a part in float32. The layers have no bias, because scripted code under autocast
    does not cast optional arguments."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)
        self.norm = nn.LayerNorm(8)

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            y = torch.relu(self.first(x))
            with torch.autocast("cpu", enabled=False):
                y = self.norm(y.float())
            y = self.second(y).softmax(-1)
        return y


class AutocastHalfScript(AutocastScript):
    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.float16):
            y = self.second(torch.relu(self.first(x)))
        return y


class ImageNet(nn.Module):
    """Has convolutions, statistics, pooling and a shortcut. With `channels_last`, tensors have the
    channels-last layout."""

    def __init__(self, channels_last: bool = False):
        super().__init__()
        self.channels_last = channels_last
        self.conv1, self.norm1 = nn.Conv2d(4, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.norm2 = nn.Conv2d(8, 8, 3, padding=1, groups=4), nn.BatchNorm2d(8)
        self.pool, self.head = nn.MaxPool2d(2), nn.Linear(8, 5)
        if channels_last:
            self.to(memory_format=torch.channels_last)

    def forward(self, x: Tensor) -> Tensor:
        if self.channels_last:
            x = x.contiguous(memory_format=torch.channels_last)
        x = F.relu(self.norm1(self.conv1(x)))
        x = self.pool(F.relu(x + self.norm2(self.conv2(x))))
        return self.head(x.mean((2, 3)))


def layers(dtype: torch.dtype) -> nn.Module:
    return nn.Sequential(
        nn.Linear(8, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.1), nn.Linear(8, 8), nn.Softmax(1)
    ).to(dtype)


def in_place(x: Tensor, w: Tensor) -> Tensor:
    y = x * w
    y.add_(1.0).mul_(0.5)
    y[:, 2:5].clamp_(min=0.0)
    y[0].zero_()
    y[1:3, ::2].copy_(x[1:3, ::2])
    return y.sigmoid_() * w


def views_of_views(x: Tensor, w: Tensor) -> Tensor:
    y = (x * w).view(4, 2, 4).transpose(0, 2)
    z = y[1:].unsqueeze(0).expand(3, -1, -1, -1).permute(3, 0, 2, 1)
    return z.flatten(1).unfold(1, 4, 2).diagonal(0, 1, 2) + w[0]


def chunks(x: Tensor, w: Tensor) -> Tensor:
    a, b = (x * w).chunk(2, 1)
    c, d, e = torch.split(x + w, [2, 3, 3], 1)
    return torch.cat([torch.stack([a, b], 2).flatten(1), e, d.roll(1, 1), c.flip(1)], 1)


def scatters(x: Tensor, index: Tensor, w: Tensor):
    y = x * w
    picked = y.gather(1, index)
    summed = torch.zeros_like(y).scatter_add(1, index, picked)
    placed = y.scatter(1, index, picked * 2.0)
    reduced = y.scatter_reduce(1, index, picked, "mean")
    return summed + placed, reduced


def index_put(x: Tensor, index: Tensor, w: Tensor) -> Tensor:
    y = (x * w).clone()
    y[index, 1] = x[index, 0] * w[1]
    y = y.index_put((index,), w.expand(index.shape[0], -1), accumulate=True)
    return y.index_add(0, index, x[index]).index_copy(1, torch.tensor([0, 2]), y[:, 4:6])


def masks(x: Tensor, w: Tensor) -> Tensor:
    y = (x * w).masked_fill(x > 1.0, 0.0)
    return torch.where(x < 0.0, y, y * 2.0) + torch.tril(y) + (x * w).clamp(-0.5, 0.5)


def spectral(x: Tensor, w: Tensor) -> Tensor:
    spectrum = torch.fft.rfft2(x)
    return torch.fft.irfft2(spectrum * torch.view_as_complex(w), s=(8, 8))


def lazy_conjugates(x: Tensor, w: Tensor):
    z = torch.complex(x, x.cos()) * w
    product = z.conj() @ w.T.conj()
    return product.imag + z.conj().imag * x, torch.view_as_real(product.resolve_conj()), z.mH, z.conj().imag


def complex_arithmetic(z: Tensor, w: Tensor):
    y = z * w + 2j * w.conj()
    return y.abs(), y.angle(), (y.conj() * y).real, torch.polar(y.abs(), y.angle()).imag.neg()


def autocast(dtype: torch.dtype) -> Callable:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype):
            y = F.linear(x, w).relu()
            return F.linear(y, w).softmax(-1)

    return forward


def channels_last(x: Tensor, w: Tensor) -> Tensor:
    x = x.contiguous(memory_format=torch.channels_last)
    w = w.contiguous(memory_format=torch.channels_last)
    return F.max_pool2d(F.conv2d(x, w, padding=1).relu_(), 2)


def linear_algebra(x: Tensor, w: Tensor):
    a = x @ w @ w.mT + 8.0 * torch.eye(4)
    return torch.linalg.inv(a), torch.linalg.solve(a, x), torch.logdet(a @ a.mT)


def noise(x: Tensor, w: Tensor) -> Tensor:
    y = x * w + torch.randn_like(x) * w.exp() + torch.rand(4, 8)
    return y * torch.bernoulli(torch.full((4, 8), 0.5)) + F.gumbel_softmax(y, dim=1)


def poolings(x: Tensor, w: Tensor):
    y = x * w
    pooled, index = F.max_pool2d(y, 2, return_indices=True)
    # F.max_unpool2d of torch 2.15 cannot be traced: it asserts that sizes are numbers, and in a trace sizes are
    # tensors.
    size = [int(length) for length in y.shape[2:]]
    return (
        torch.ops.aten.max_unpool2d(pooled, index, size), F.avg_pool2d(y, 3, 2, 1), F.lp_pool2d(y.abs() + 1.0, 2.0, 2),
        F.adaptive_max_pool2d(y, 3), F.adaptive_avg_pool2d(y, (3, 5)), F.fractional_max_pool2d(y, 2, output_size=4),
    )  # fmt: skip


def resizings(x: Tensor, w: Tensor):
    y = x * w
    return tuple(
        F.interpolate(y, scale_factor=2.0, mode=mode) for mode in ("nearest", "bilinear", "bicubic", "area")
    )


def sampled_grid(x: Tensor, w: Tensor) -> Tensor:
    grid = F.affine_grid(w.tanh(), [2, 3, 8, 8], align_corners=False)
    return F.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=False)


def paddings(x: Tensor, w: Tensor):
    y = x * w
    return tuple(
        F.pad(y, (1, 2, 2, 1), mode=mode) for mode in ("constant", "reflect", "replicate", "circular")
    )


def activations(x: Tensor, w: Tensor) -> Tensor:
    y = x * w
    for f in (F.relu, F.gelu, F.silu, F.mish, F.elu, F.selu, F.celu, F.softplus, F.hardswish, F.hardtanh, F.leaky_relu,
              F.logsigmoid, F.softsign, F.tanhshrink, F.hardsigmoid, F.relu6, F.softshrink):  # fmt: skip
        y = y + f(y)
    return F.glu(y, 1) + F.prelu(y, w[0].sum().reshape(1)).sum() + F.rrelu(y, training=True).sum()


def reductions(x: Tensor, w: Tensor):
    y = x * w
    return (
        y.sum(1), y.mean(0), y.var(1), y.std(), y.norm(dim=1), y.logsumexp(1), y.amax(1), y.max(1)[0], y.median(1)[0],
        y.cumsum(1), y.logcumsumexp(1), y.cummax(1)[0], y.amin(), y.topk(3, 1)[0], y.sort(1)[0],
        y.kthvalue(2, 1)[0], y.argsort(1),
    )  # fmt: skip


def image(*shape: int, dtype: str = "f32"):
    return torch.randn(*shape, dtype=DTYPES[dtype]), f"{dtype}[{','.join(map(str, shape))}]"


def given(value: str):
    """Returns (None, value) for an argument that is not a tensor."""
    return None, value


def whole(bound: int, *shape: int):
    return torch.randint(bound, shape), f"i64[{','.join(map(str, shape))}]<{bound}"


SIGNAL, IMAGE, VOLUME, ROWS = image(2, 4, 16), image(2, 4, 8, 8), image(2, 4, 4, 6, 6), image(4, 8)


def dropout(layer: nn.Module, width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(width, width), layer, nn.Linear(width, width))


# group: {name: (model, inputs)}; instances of Apply are traced, everything else is scripted.
GROUPS: dict[str, dict[str, tuple]] = {
    "convolution": {
        "conv1d": (lambda: nn.Sequential(nn.Conv1d(4, 6, 3, 2, 1), nn.ReLU(), nn.Conv1d(6, 4, 3, dilation=2)), [SIGNAL]),
        "conv2d_grouped": (lambda: nn.Sequential(nn.Conv2d(4, 8, 3, groups=2), nn.ReLU(True), nn.Conv2d(8, 4, 1)), [IMAGE]),
        "conv2d_depthwise": (lambda: nn.Sequential(nn.Conv2d(4, 4, 3, 1, 1, groups=4), nn.GELU(), nn.Conv2d(4, 8, 1)), [IMAGE]),
        "conv2d_padded": (lambda: nn.Sequential(nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"), nn.SiLU()), [IMAGE]),
        "conv3d": (lambda: nn.Sequential(nn.Conv3d(4, 6, 3, padding=1), nn.ReLU(), nn.Conv3d(6, 2, 1)), [VOLUME]),
        "conv_transpose1d": (lambda: nn.Sequential(nn.ConvTranspose1d(4, 4, 3, 2), nn.Tanh()), [SIGNAL]),
        "conv_transpose2d": (lambda: nn.Sequential(nn.ConvTranspose2d(4, 6, 3, 2, output_padding=1, groups=2), nn.ReLU()), [IMAGE]),
        "conv_transpose3d": (lambda: nn.Sequential(nn.ConvTranspose3d(4, 2, 2, 2), nn.ReLU()), [VOLUME]),
        "channels_last": (lambda: Apply(channels_last, 4, 4, 3, 3), [IMAGE]),
        "fold_unfold": (lambda: Apply(lambda x, w: F.fold(F.unfold(x * w, 3, padding=1), (8, 8), 3, padding=1), 8), [IMAGE]),
    },
    "linear": {
        "linear": (lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8, bias=False)), [ROWS]),
        "bilinear": (lambda: nn.Bilinear(8, 6, 5), [ROWS, image(4, 6)]),
        "embedding": (lambda: nn.Sequential(nn.Embedding(11, 6, padding_idx=0), nn.Linear(6, 3)), [whole(11, 3, 5)]),
        "embedding_max_norm": (lambda: nn.Sequential(nn.Embedding(11, 6, max_norm=1.0), nn.Linear(6, 3)), [whole(11, 3, 5)]),
        "embedding_bag": (lambda: nn.EmbeddingBag(11, 6, mode="mean"), [whole(11, 3, 5)]),
        "embedding_bag_max": (lambda: nn.EmbeddingBag(11, 6, mode="max"), [whole(11, 3, 5)]),
        "einsum": (lambda: Apply(lambda x, w: torch.einsum("bij,kj,bil->bkl", x, w, x), 5, 8), [image(2, 4, 8)]),
        "matrix_products": (lambda: Apply(lambda x, w: torch.bmm(x, x.mT) @ (w @ w.T) + torch.addmm(w, w, w), 4, 4), [image(2, 4, 8)]),
        "linear_algebra": (lambda: Apply(linear_algebra, 4, 4), [image(4, 4)]),
    },
    "normalization": {
        "batch_norm1d": (lambda: nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU()), [ROWS]),
        "batch_norm2d": (lambda: nn.Sequential(nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.ReLU(True), nn.BatchNorm2d(4, momentum=0.5)), [IMAGE]),
        "batch_norm2d_untracked": (lambda: nn.Sequential(nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4, track_running_stats=False)), [IMAGE]),
        "batch_norm2d_autocast": (lambda: AutocastNorm(affine=True), [IMAGE]),
        "batch_norm2d_autocast_plain": (lambda: AutocastNorm(affine=False), [IMAGE]),
        "batch_norm3d": (lambda: nn.Sequential(nn.Conv3d(4, 4, 1), nn.BatchNorm3d(4, affine=False)), [VOLUME]),
        "group_norm": (lambda: nn.Sequential(nn.Conv2d(4, 4, 3), nn.GroupNorm(2, 4), nn.ReLU()), [IMAGE]),
        "layer_norm": (lambda: nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.LayerNorm([4, 8], elementwise_affine=False)), [ROWS]),
        "rms_norm": (lambda: nn.Sequential(nn.Linear(8, 8), nn.RMSNorm(8), nn.Linear(8, 8)), [ROWS]),
        "instance_norm": (lambda: nn.Sequential(nn.Conv2d(4, 4, 3), nn.InstanceNorm2d(4, affine=True)), [IMAGE]),
        "instance_norm_tracked": (lambda: nn.Sequential(nn.Conv2d(4, 4, 3), nn.InstanceNorm2d(4, track_running_stats=True)), [IMAGE]),
        "local_response_norm": (lambda: nn.Sequential(nn.Conv2d(4, 4, 3), nn.LocalResponseNorm(2)), [IMAGE]),
        "normalize": (lambda: Apply(lambda x, w: F.normalize(x * w, dim=1) + F.cosine_similarity(x, w[None], 1)[:, None], 8), [ROWS]),
    },
    "dropout": {
        "dropout": (lambda: dropout(nn.Dropout(0.3), 8), [ROWS]),
        "dropout_inplace": (lambda: dropout(nn.Dropout(0.3, inplace=True), 8), [ROWS]),
        "dropout1d": (lambda: dropout(nn.Dropout1d(0.3), 16), [SIGNAL]),
        "dropout2d": (lambda: dropout(nn.Dropout2d(0.3), 8), [IMAGE]),
        "dropout3d": (lambda: dropout(nn.Dropout3d(0.3), 6), [VOLUME]),
        "alpha_dropout": (lambda: dropout(nn.AlphaDropout(0.3), 8), [ROWS]),
        "feature_alpha_dropout": (lambda: dropout(nn.FeatureAlphaDropout(0.3), 8), [IMAGE]),
        "noise": (lambda: Apply(noise, 8), [ROWS]),
    },
    "attention": {
        "attention": (lambda: Attention(), [image(2, 6, 16)]),
        "attention_causal": (lambda: Attention(causal=True), [image(2, 6, 16)]),
        "attention_masked": (lambda: Attention(masked=True), [image(2, 6, 16)]),
        "attention_dropout": (lambda: Attention(dropout=0.2), [image(2, 6, 16)]),
        "attention_causal_dropout": (lambda: Attention(causal=True, dropout=0.2), [image(2, 6, 16)]),
        "multihead_attention": (lambda: SelfAttention(0.0), [image(2, 6, 16)]),
        "multihead_attention_dropout": (lambda: SelfAttention(0.2), [image(2, 6, 16)]),
        "encoder_layer": (lambda: nn.TransformerEncoderLayer(16, 2, 32, 0.1, batch_first=True), [image(2, 6, 16)]),
    },
    "recurrent": {
        "lstm": (lambda: Recurrent(nn.LSTM(6, 8, 2, dropout=0.2, bidirectional=True)), [image(5, 3, 6)]),
        "lstm_projected": (lambda: Recurrent(nn.LSTM(6, 8, proj_size=4)), [image(5, 3, 6)]),
        "gru": (lambda: Recurrent(nn.GRU(6, 8, 2, dropout=0.2)), [image(5, 3, 6)]),
        "rnn": (lambda: Recurrent(nn.RNN(6, 8, nonlinearity="relu")), [image(5, 3, 6)]),
        "lstm_cell": (lambda: LstmCells(), [image(5, 3, 6)]),
        "gru_cell": (lambda: Cells(nn.GRUCell(6, 8)), [image(5, 3, 6)]),
        "rnn_cell": (lambda: Cells(nn.RNNCell(6, 8)), [image(5, 3, 6)]),
    },
    "loss": {
        "cross_entropy": (lambda: LossInside(nn.CrossEntropyLoss(label_smoothing=0.1)), [image(4, 6), whole(7, 4)]),
        "nll": (lambda: nn.Sequential(nn.Linear(6, 7), nn.LogSoftmax(1)), [image(4, 6)]),
        "mse": (lambda: LossInside(nn.MSELoss()), [image(4, 6), image(4, 7)]),
        "smooth_l1": (lambda: LossInside(nn.SmoothL1Loss()), [image(4, 6), image(4, 7)]),
        "huber": (lambda: LossInside(nn.HuberLoss()), [image(4, 6), image(4, 7)]),
        "multi_margin": (lambda: LossInside(nn.MultiMarginLoss()), [image(4, 6), whole(7, 4)]),
        "kl_div": (lambda: Normalized("kl"), [image(4, 6), image(4, 7)]),
        "binary_cross_entropy": (lambda: Normalized("bce"), [image(4, 6), image(4, 7)]),
        "with_logits": (lambda: Normalized("logits"), [image(4, 6), image(4, 7)]),
        "triplet": (lambda: Apply(lambda x, y, w: F.triplet_margin_loss(x * w, y, -x, margin=3.0), 8), [ROWS, ROWS]),
        "ctc": (lambda: Apply(lambda x, t, w: F.ctc_loss((x * w).log_softmax(2), t + 1, (9, 9), (3, 3)), 6), [image(9, 2, 6), whole(5, 2, 3)]),
    },
    "arithmetic": {
        "activations": (lambda: Apply(activations, 8), [ROWS]),
        "softmax": (lambda: nn.Sequential(nn.Linear(8, 8), nn.Softmax(1), nn.Linear(8, 8), nn.Softmin(1)), [ROWS]),
        "in_place": (lambda: Apply(in_place, 8), [ROWS]),
        "reductions": (lambda: Apply(reductions, 8), [ROWS]),
        "views_of_views": (lambda: Apply(views_of_views, 8), [ROWS]),
        "chunks": (lambda: Apply(chunks, 8), [ROWS]),
        "index_select": (lambda: Apply(lambda x, i, w: (x * w).index_select(0, i) + x[i] * w[0] + x.take_along_dim(i[:4, None], 1).sum(), 8), [ROWS, whole(4, 6)]),
        "scripted_index": (Indexed, [image(4, 6), whole(4, 5)]),
        "scatters": (lambda: Apply(scatters, 8), [ROWS, whole(8, 4, 5)]),
        "index_put": (lambda: Apply(index_put, 8), [ROWS, whole(4, 6)]),
        "masks": (lambda: Apply(masks, 8), [ROWS]),
    },
    "guarded": {
        "product": (lambda: Apply(lambda x, w: (x * w).prod(1), 8), [ROWS]),
        "products": (lambda: Apply(lambda x, w: (x + w).cumprod(1).sum(), 8), [ROWS]),
        "minimum": (lambda: Apply(lambda x, w: (x * w).min(), 8), [ROWS]),
        "median": (lambda: Apply(lambda x, w: (x * w).median() + w, 8), [ROWS]),
        "maximum": (lambda: Apply(lambda x, w: (x * w).max() * w, 8), [ROWS]),
    },
    "precision": {
        **{f"layers_{name}": (lambda name=name: layers(DTYPES[name]), [image(4, 8, dtype=name)]) for name in ("f16", "bf16", "f64")},
        **{f"image_net_{name}": (lambda name=name: ImageNet().to(DTYPES[name]), [image(2, 4, 8, 8, dtype=name)]) for name in ("f16", "bf16", "f64")},
        **{f"lstm_{name}": (lambda name=name: Recurrent(nn.LSTM(6, 8)).to(DTYPES[name]), [image(5, 3, 6, dtype=name)]) for name in ("f16", "bf16", "f64")},
        "channels_last_net": (lambda: ImageNet(channels_last=True), [IMAGE]),
        "channels_last_f16": (lambda: ImageNet(channels_last=True).half(), [image(2, 4, 8, 8, dtype="f16")]),
        "autocast_bf16": (lambda: Apply(autocast(torch.bfloat16), 8, 8), [ROWS]),
        "autocast_f16": (lambda: Apply(autocast(torch.float16), 8, 8), [ROWS]),
        "autocast_bf16_scripted": (lambda: AutocastScript(), [ROWS]),
        "autocast_f16_scripted": (lambda: AutocastHalfScript(), [ROWS]),
    },
    "complex": {
        "fft": (lambda: Apply(lambda x, w: torch.fft.fft(x * w).abs() + torch.fft.ifft(torch.fft.fftshift(x + w)).imag, 8), [ROWS]),
        "spectral": (lambda: Apply(spectral, 8, 5, 2), [IMAGE]),
        "spectral_complex": (lambda: Apply(lambda x, w: torch.fft.irfft(torch.fft.rfft(x) * w), 5, dtype=torch.complex64), [ROWS]),
        "lazy_conjugates": (lambda: Apply(lazy_conjugates, 8, 8, dtype=torch.complex64), [image(8, 8)]),
        "complex_arithmetic": (lambda: Apply(complex_arithmetic, 8, dtype=torch.complex64), [image(4, 8, dtype="c64")]),
        "complex_linear": (lambda: Apply(lambda z, w: (z @ w.mH).conj(), 5, 8, dtype=torch.complex64), [image(4, 8, dtype="c64")]),
        "stft": (lambda: Apply(lambda x, w: torch.istft(torch.stft(x * w, 8, window=torch.hann_window(8), return_complex=True), 8, window=torch.hann_window(8)), 64), [image(2, 64)]),
    },
    "image": {
        "pixel_shuffle": (lambda: nn.Sequential(nn.Conv2d(4, 8, 1), nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.ChannelShuffle(2)), [IMAGE]),
        "resizings": (lambda: Apply(resizings, 8), [IMAGE]),
        "sampled_grid": (lambda: Apply(sampled_grid, 2, 2, 3), [image(2, 3, 8, 8)]),
        "paddings": (lambda: Apply(paddings, 8), [IMAGE]),
        "poolings": (lambda: Apply(poolings, 8), [IMAGE]),
        "pooling1d": (lambda: nn.Sequential(nn.Conv1d(4, 4, 1), nn.MaxPool1d(2), nn.AvgPool1d(2), nn.AdaptiveAvgPool1d(3)), [SIGNAL]),
        "pooling3d": (lambda: nn.Sequential(nn.Conv3d(4, 4, 1), nn.MaxPool3d(2), nn.AvgPool3d(2), nn.AdaptiveMaxPool3d(1)), [VOLUME]),
    },
    "structure": {
        "shared": (Shared, [whole(11, 3, 5)]),
        "frozen": (Frozen, [image(4, 6)]),
        "moving_average": (MovingAverage, [image(4, 6)]),
        "branches": (Branches, [image(4, 6)]),
        "several_inputs": (lambda: Apply(lambda x, y, i, w: (x * w + y.mean(1, keepdim=True))[i], 8), [ROWS, image(4, 3), whole(4, 5)]),
        "defaults": (Settings, [image(4, 6)]),
        "settings": (Settings, [image(4, 6), given("float:0.5"), given("int:3"), given("bool:true"), given("str:mean"), image(4, 6)]),
        "settings_none": (Settings, [image(4, 6), given("float:-1.5"), given("int:1"), given("bool:false"), given("str:sum"), given("none")]),
        "tuple_out": (TupleOut, [image(4, 6)]),
        "list_out": (ListOut, [image(4, 6)]),
        "dict_out": (DictOut, [image(4, 6)]),
        "returns_argument": (lambda: inside(ReturnsArgument()), [image(4, 6)]),
        "detached": (lambda: Apply(lambda x, w: x * w.detach() + (x * w).detach() * w, 8), [ROWS]),
    },
    "draws": {
        "draws_by_values": (lambda: nn.Sequential(
            nn.Linear(8, 8), nn.RReLU(), nn.Linear(8, 8), nn.Dropout(0.3), nn.Linear(8, 8), nn.RReLU(), nn.Linear(8, 8),
            nn.Dropout(0.2)), [ROWS]),
    },
    "refused": {
        "sparse_gradient": (SparseGradient, [whole(11, 3, 5)]),
        "filtered": (Filtered, [image(4, 6)]),
        "cumulative_average": (lambda: nn.Sequential(nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4, momentum=None)), [IMAGE]),
        "repeated": (lambda: inside(Repeated()), [image(4, 6)]),
        "lengths": (Lengths, [image(5, 3, 6), whole(5, 3)]),
        "ctc_lengths": (lambda: Apply(lambda x, t, n, w: F.ctc_loss((x * w).log_softmax(2), t + 1, n + 5, n + 1), 6), [image(9, 2, 6), whole(5, 2, 4), whole(4, 2)]),
        "writes_argument": (lambda: inside(WritesArgument()), [image(4, 6)]),
        "shares_memory": (lambda: inside(SharesMemory()), [image(4, 6)]),
        "bare_lstm": (lambda: nn.LSTM(6, 8), [image(5, 3, 6)]),
        "list_in": (ListIn, [image(4, 6)]),
        "checked": (lambda: inside(Checked()), [image(4, 6)]),
        "loss_read": (lambda: inside(LossRead()), [image(4, 6)]),
        "norm_of_weights": (lambda: inside(WeightRead()), [image(4, 6)]),
    },
}  # fmt: skip


def export(name: str, build: Callable[[], nn.Module], inputs: list, folder: pathlib.Path) -> None:
    torch.manual_seed(0)
    model = build().train()
    values, specs = zip(*inputs)
    if isinstance(model, Apply):
        script = torch.jit.trace(model, values, check_trace=False, strict=False)
    else:
        script = torch.jit.script(model)
    script.save(str(folder / f"{name}.pt"))
    (folder / f"{name}.json").write_text(
        json.dumps({"model": f"{name}.pt", "inputs": list(specs)}, indent=2) + "\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("outdir", type=pathlib.Path, help="folder to write to; made when it is not there")
    parser.add_argument("--only", metavar="NAME", help="write one module")
    arguments = parser.parse_args()
    arguments.outdir.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for modules in GROUPS.values():
        for name, (build, inputs) in modules.items():
            if arguments.only in (None, name):
                export(name, build, inputs, arguments.outdir)
    if arguments.only is None:
        table = {group: list(modules) for group, modules in GROUPS.items()}
        (arguments.outdir / "modules.json").write_text(json.dumps(table, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
