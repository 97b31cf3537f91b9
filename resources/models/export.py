#!/usr/bin/env python3
"""Writes the example models as TorchScript files, in train mode.

    export.py OUTDIR                 resnet50.pt (traced) and gpt12.pt (scripted)
    export.py OUTDIR --small         the small models that the tests capture and replay
    export.py OUTDIR --only gpt12    one of them
    export.py OUTDIR --only gpt2_xl  a model without weights, to plan for: 48 layers, 1.6 billion parameters

All models are defined here, and their weights are drawn from a fixed seed. Nothing is downloaded. Beside each
NAME.pt is NAME.json with the input specifications that `rematlas capture --input` takes, in order.
"""

import argparse
import json
import math
import pathlib
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(64, 256),
            nn.ReLU(),
            nn.Linear(256, 256),
            nn.GELU(),
            nn.Linear(256, 256),
            nn.Tanh(),
            nn.Linear(256, 10),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions with a shortcut (He et al., 2016, figure 2)."""

    def __init__(self, width: int, out: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(width, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity()
        if stride != 1 or width != out:
            self.shortcut = nn.Sequential(nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += self.shortcut(x)
        return self.relu(y)


class Bottleneck(nn.Module):
    """Convolutions of 1x1, 3x3 and 1x1 with a shortcut (He et al., 2016, figure 5)."""

    def __init__(self, width: int, middle: int, stride: int):
        super().__init__()
        out = 4 * middle
        self.conv1 = nn.Conv2d(width, middle, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(middle)
        self.conv2 = nn.Conv2d(middle, middle, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(middle)
        self.conv3 = nn.Conv2d(middle, out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = nn.Identity()
        if stride != 1 or width != out:
            self.downsample = nn.Sequential(nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += self.downsample(x)
        return self.relu(y)


class ResNet50(nn.Module):
    def __init__(self, classes: int = 1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._stage(64, 64, 3, 1)
        self.layer2 = self._stage(256, 128, 4, 2)
        self.layer3 = self._stage(512, 256, 6, 2)
        self.layer4 = self._stage(1024, 512, 3, 2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(2048, classes)

    @staticmethod
    def _stage(width: int, middle: int, blocks: int, stride: int) -> nn.Sequential:
        first = Bottleneck(width, middle, stride)
        return nn.Sequential(first, *(Bottleneck(4 * middle, middle, 1) for _ in range(blocks - 1)))

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class ResNetSmall(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)
        )
        self.layer1 = BasicBlock(16, 16, 1)
        self.layer2 = BasicBlock(16, 32, 2)
        self.layer3 = BasicBlock(32, 64, 2)
        self.fc = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer3(self.layer2(self.layer1(self.stem(x))))
        return self.fc(x.mean((2, 3)))


class SelfAttention(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.heads = heads
        self.scale = 1.0 / math.sqrt(width // heads)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (
            self.qkv(x)
            .view(batch, length, 3, self.heads, width // self.heads)
            .permute(2, 0, 3, 1, 4)
            .unbind(0)
        )
        scores = (q @ k.transpose(-2, -1)) * self.scale
        scores = scores.masked_fill(mask, float("-inf"))
        y = self.dropout(F.softmax(scores, dim=-1)) @ v
        return self.dropout(self.proj(y.transpose(1, 2).reshape(batch, length, width)))


class FusedAttention(SelfAttention):
    """Computes the same as `SelfAttention` by the device's fused kernel. The mask is always causal."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (
            self.qkv(x)
            .view(batch, length, 3, self.heads, width // self.heads)
            .permute(2, 0, 3, 1, 4)
            .unbind(0)
        )
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout.p, is_causal=True)
        return self.dropout(self.proj(y.transpose(1, 2).reshape(batch, length, width)))


class GptBlock(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float, attention: type = SelfAttention):
        super().__init__()
        self.ln1 = nn.LayerNorm(width)
        self.attn = attention(width, heads, dropout)
        self.ln2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = x + self.attn(self.ln1(x), mask)
        return x + self.mlp(self.ln2(x))


class Gpt(nn.Module):
    """A decoder-only Transformer with pre-normalization and untied embeddings; returns logits."""

    def __init__(
        self,
        layers: int,
        width: int,
        heads: int,
        length: int,
        vocabulary: int,
        dropout: float,
        attention: type = SelfAttention,
    ):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(0.02 * torch.randn(length, width))
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(GptBlock(width, heads, dropout, attention) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.register_buffer("mask", torch.ones(length, length, dtype=torch.bool).triu(1))

    def forward(self, ids: Tensor) -> Tensor:
        x = self.dropout(self.tokens(ids) + self.positions)
        for block in self.blocks:
            x = block(x, self.mask)
        return self.head(self.norm(x))


class DoubleConv(nn.Sequential):
    def __init__(self, width: int, out: int):
        super().__init__(
            nn.Conv2d(width, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(inplace=True),
            nn.Conv2d(out, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(inplace=True),
        )  # fmt: skip


class UNet(nn.Module):
    def __init__(self, width: int = 8):
        super().__init__()
        self.down1 = DoubleConv(3, width)
        self.down2 = DoubleConv(width, 2 * width)
        self.bottom = DoubleConv(2 * width, 4 * width)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2)
        self.join2 = DoubleConv(4 * width, 2 * width)
        self.up1 = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.join1 = DoubleConv(2 * width, width)
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.bottom(F.max_pool2d(b, 2))
        c = self.join2(torch.cat([self.up2(c), b], 1))
        return self.head(self.join1(torch.cat([self.up1(c), a], 1)))


class Translator(nn.Module):
    """An encoder-decoder Transformer made of PyTorch's own layers. It has two integer inputs."""

    def __init__(self, width: int = 32, vocabulary: int = 50):
        super().__init__()
        self.source = nn.Embedding(vocabulary, width)
        self.target = nn.Embedding(vocabulary, width)
        self.transformer = nn.Transformer(width, 4, 2, 2, 64, dropout=0.1, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        length = target.shape[1]
        mask = torch.ones(length, length, dtype=torch.bool, device=target.device).triu(1)
        return self.head(self.transformer(self.source(source), self.target(target), tgt_mask=mask))


class Lstm(nn.Module):
    def __init__(self, vocabulary: int = 60):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 24)
        self.lstm = nn.LSTM(24, 32, num_layers=2, dropout=0.2, batch_first=True)
        self.head = nn.Linear(32, vocabulary)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        y, (h, _) = self.lstm(self.embedding(ids))
        return self.head(y), h


class InPlaceViews(nn.Module):
    """Has in-place writes through views, a buffer that the forward updates and later reads, and a random
    tensor that is used twice."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 32)
        self.b = nn.Linear(32, 16)
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))
        self.register_buffer("average", torch.zeros(32))

    def forward(self, x: Tensor) -> Tensor:
        self.calls.add_(1)
        y = self.a(x) * 1.0
        y[:, :8].mul_(2.0)
        y[:, 8:16].sigmoid_()
        self.average.mul_(0.9).add_(y.detach().mean(0), alpha=0.1)
        noise = torch.rand_like(y)
        z = torch.zeros_like(y)
        z[:, 1:] = (y * noise)[:, :-1]
        z.add_(y - self.average).relu_()
        return self.b(z * noise.add(1.0))


class Undecided(nn.Module):
    """Cannot be captured, because its ops depend on the data."""

    def __init__(self):
        super().__init__()
        self.left = nn.Linear(4, 4)
        self.right = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            return self.left(x)
        return self.right(x)


def small_gpt(dropout: float) -> Gpt:
    return Gpt(layers=3, width=32, heads=4, length=16, vocabulary=64, dropout=dropout)


class Positions(nn.Module):
    """Computes the positions of its tokens itself, so a trace contains the device on which it was made."""

    def __init__(self):
        super().__init__()
        self.words, self.positions, self.out = nn.Embedding(64, 32), nn.Embedding(16, 32), nn.Linear(32, 64)

    def forward(self, ids):
        words = self.words(ids)
        places = torch.arange(ids.shape[1], device=ids.device)
        mask = torch.ones(ids.shape[1], ids.shape[1], device=ids.device).tril()
        return self.out(mask @ (words + self.positions(places).to(words.device)))


def image(*shape: int):
    return torch.randn(*shape), f"f32[{','.join(map(str, shape))}]"


def tokens(batch: int, length: int, vocabulary: int):
    return torch.randint(vocabulary, (batch, length)), f"i64[{batch},{length}]<{vocabulary}"


# name: (model, inputs, traced)
LARGE = {
    "resnet50": (ResNet50, lambda: [image(8, 3, 112, 112)], True),
    "gpt12": (lambda: Gpt(12, 384, 6, 256, 4096, 0.1), lambda: [tokens(4, 256, 4096)], False),
}
# Models without weights, for `rematlas capture --device meta`. Each file has a few kilobytes.
PLANNED = {
    "gpt2_xl": (
        lambda: Gpt(48, 1600, 25, 1024, 50257, 0.1, FusedAttention),
        lambda: [tokens(8, 1024, 50257)],
        False,
    ),
}
SMALL = {
    "mlp_scripted": (Mlp, lambda: [image(32, 64)], False),
    "mlp_traced": (Mlp, lambda: [image(32, 64)], True),
    "resnet_scripted": (ResNetSmall, lambda: [image(4, 3, 32, 32)], False),
    "resnet_traced": (ResNetSmall, lambda: [image(4, 3, 32, 32)], True),
    "gpt_scripted": (lambda: small_gpt(0.1), lambda: [tokens(2, 16, 64)], False),
    "gpt_traced": (lambda: small_gpt(0.1), lambda: [tokens(2, 16, 64)], True),
    "unet_scripted": (UNet, lambda: [image(2, 3, 32, 32)], False),
    "unet_traced": (UNet, lambda: [image(2, 3, 32, 32)], True),
    "translator_traced": (Translator, lambda: [tokens(2, 10, 50), tokens(2, 8, 50)], True),
    "translator_scripted": (Translator, lambda: [tokens(2, 10, 50), tokens(2, 8, 50)], False),
    "lstm_scripted": (Lstm, lambda: [tokens(3, 12, 60)], False),
    "lstm_traced": (Lstm, lambda: [tokens(3, 12, 60)], True),
    "inplace_scripted": (InPlaceViews, lambda: [image(8, 16)], False),
    "inplace_traced": (InPlaceViews, lambda: [image(8, 16)], True),
    "positions_traced": (Positions, lambda: [tokens(2, 16, 64)], True),
    "undecided_scripted": (Undecided, lambda: [image(2, 4)], False),
}


def export(name: str, folder: pathlib.Path) -> None:
    build, make_inputs, traced = (LARGE | SMALL | PLANNED)[name]
    torch.manual_seed(0)
    with torch.device("meta" if name in PLANNED else "cpu"):
        model = build().train()
    values, specs = zip(*make_inputs())
    if traced:
        kept = {key: value.clone() for key, value in model.state_dict().items()}
        script = torch.jit.trace(model, values, check_trace=False)
        script.load_state_dict(kept)  # undoes the change of running statistics by tracing
    else:
        script = torch.jit.script(model)
    path = folder / f"{name}.pt"
    script.save(str(path))
    description = {"model": path.name, "form": "traced" if traced else "scripted", "inputs": list(specs)}
    path.with_suffix(".json").write_text(json.dumps(description, indent=2) + "\n")
    print(path, *(f"--input '{spec}'" for spec in specs))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("outdir", type=pathlib.Path, help="folder to write to; made when it is not there")
    parser.add_argument("--only", metavar="NAME", choices=[*LARGE, *SMALL, *PLANNED], help="write one model")
    parser.add_argument("--small", action="store_true", help="write the small models of the tests")
    arguments = parser.parse_args()
    arguments.outdir.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", r"`torch\.jit\.")  # TorchScript is deprecated
    warnings.filterwarnings("ignore", "'norm' was found in ScriptModule constants")  # inside nn.Transformer
    names = [arguments.only] if arguments.only else list(SMALL if arguments.small else LARGE)
    for name in names:
        export(name, arguments.outdir)
    return 0


if __name__ == "__main__":
    sys.exit(main())
