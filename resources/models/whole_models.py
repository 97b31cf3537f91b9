#!/usr/bin/env python3
"""Writes whole models of fifteen architectures as TorchScript files, in train mode. The tests capture and
replay them all.

    whole_models.py OUTDIR                  all of them, traced and scripted
    whole_models.py OUTDIR --only resnet50  one of them

Depth and structure are as published, or a few of the published blocks; widths and inputs are small. Dropout
and stochastic depth are on. Beside each NAME_FORM.pt is NAME_FORM.json with the input specifications that
`rematlas capture --input` takes. Models of torchvision have random weights; nothing is downloaded.
"""

import argparse
import json
import pathlib
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torchvision import models as vision
from torchvision.models.convnext import CNBlockConfig, ConvNeXt

from export import Gpt, Translator, UNet, image, tokens


class Rotary(nn.Module):
    """Rotary position embeddings (Su et al., 2021, equation 34) for heads of even width."""

    def __init__(self, width: int, length: int):
        super().__init__()
        frequencies = 10000.0 ** (-torch.arange(0, width, 2) / width)
        angles = torch.outer(torch.arange(length), frequencies)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack([even * self.cos - odd * self.sin, even * self.sin + odd * self.cos], -1).flatten(
            -2
        )


class GroupedQueryAttention(nn.Module):
    """Attention in which several query heads share a key head and a value head (Ainslie et al., 2023)."""

    def __init__(self, width: int, heads: int, shared: int, length: int):
        super().__init__()
        self.heads, self.shared, self.head_width = heads, shared, width // heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, shared * self.head_width, bias=False)
        self.value = nn.Linear(width, shared * self.head_width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.rotary = Rotary(self.head_width, length)

    def split(self, x: Tensor, heads: int) -> Tensor:
        return x.view(x.shape[0], x.shape[1], heads, self.head_width).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        q = self.rotary(self.split(self.query(x), self.heads))
        k = self.rotary(self.split(self.key(x), self.shared)).repeat_interleave(self.heads // self.shared, 1)
        v = self.split(self.value(x), self.shared).repeat_interleave(self.heads // self.shared, 1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


class SwiGlu(nn.Module):
    """The feed-forward layer of Shazeer (2020), equation 6."""

    def __init__(self, width: int, middle: int):
        super().__init__()
        self.gate = nn.Linear(width, middle, bias=False)
        self.up = nn.Linear(width, middle, bias=False)
        self.down = nn.Linear(middle, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class LlamaBlock(nn.Module):
    def __init__(self, width: int, heads: int, shared: int, length: int):
        super().__init__()
        self.norm1 = nn.RMSNorm(width)
        self.attention = GroupedQueryAttention(width, heads, shared, length)
        self.norm2 = nn.RMSNorm(width)
        self.mlp = SwiGlu(width, 8 * width // 3)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Llama(nn.Module):
    """A decoder as in Touvron et al., 2023; returns logits."""

    def __init__(self, layers: int, width: int, heads: int, shared: int, length: int, vocabulary: int):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(LlamaBlock(width, heads, shared, length) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Mlp(nn.Sequential):
    def __init__(self, width: int, middle: int, dropout: float):
        super().__init__(
            nn.Linear(width, middle),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(middle, width),
            nn.Dropout(dropout),
        )


class MixerBlock(nn.Module):
    def __init__(self, patches: int, width: int, dropout: float):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.tokens = Mlp(patches, 2 * patches, dropout)
        self.norm2 = nn.LayerNorm(width)
        self.channels = Mlp(width, 4 * width, dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class Mixer(nn.Module):
    """MLP-Mixer (Tolstikhin et al., 2021)."""

    def __init__(self, blocks: int, patch: int, size: int, width: int, classes: int):
        super().__init__()
        patches = (size // patch) ** 2
        self.stem = nn.Conv2d(3, width, patch, patch)
        self.blocks = nn.Sequential(*(MixerBlock(patches, width, 0.1) for _ in range(blocks)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(1))


class LanguageModel(nn.Module):
    """A recurrent language model with tied embeddings (Zaremba et al., 2014; Press and Wolf, 2017). Its
    inputs are the text and the state after the previous text; it returns the logits and the new state."""

    def __init__(self, width: int, vocabulary: int, layers: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.dropout = nn.Dropout(0.2)
        self.lstm = nn.LSTM(width, width, layers, dropout=0.2, batch_first=True)
        self.decoder = nn.Linear(width, vocabulary)
        self.decoder.weight = self.embedding.weight

    def forward(self, ids: Tensor, hidden: Tensor, memory: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        y, state = self.lstm(self.dropout(self.embedding(ids)), (hidden, memory))
        return self.decoder(self.dropout(y)), state


class FourierLayer(nn.Module):
    """Adds two linear maps of the input: one of its lowest frequencies, and one of each point (Li et al.,
    2021, figure 2)."""

    def __init__(self, width: int, modes: int):
        super().__init__()
        self.modes = modes
        self.low = nn.Parameter(torch.randn(width, width, modes, modes, dtype=torch.complex64) / width)
        self.high = nn.Parameter(torch.randn(width, width, modes, modes, dtype=torch.complex64) / width)
        self.pointwise = nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        spectrum = torch.fft.rfft2(x, norm="ortho")
        kept = torch.zeros_like(spectrum)
        m = self.modes
        kept[:, :, :m, :m] = torch.einsum("bihw,iohw->bohw", spectrum[:, :, :m, :m], self.low)
        kept[:, :, -m:, :m] = torch.einsum("bihw,iohw->bohw", spectrum[:, :, -m:, :m], self.high)
        return F.gelu(torch.fft.irfft2(kept, s=(x.shape[2], x.shape[3]), norm="ortho") + self.pointwise(x))


class FourierOperator(nn.Module):
    """Fourier neural operator on a square, with the coordinates as two additional channels."""

    def __init__(self, layers: int, width: int, modes: int, size: int):
        super().__init__()
        line = torch.linspace(0, 1, size)
        self.register_buffer("grid", torch.stack(torch.meshgrid(line, line, indexing="ij"))[None])
        self.lift = nn.Conv2d(3, width, 1)
        self.layers = nn.Sequential(*(FourierLayer(width, modes) for _ in range(layers)))
        self.project = nn.Sequential(nn.Conv2d(width, 2 * width, 1), nn.GELU(), nn.Conv2d(2 * width, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.lift(torch.cat([x, self.grid.expand(x.shape[0], -1, -1, -1)], 1))
        return self.project(self.layers(x))


class Experts(nn.Module):
    """A mixture of experts in which each expert gets a fixed number of tokens, so no shape depends on the
    data. An expert gets the tokens at fixed random positions (as in Roller et al., 2021), or those with the
    highest scores (expert choice, Zhou et al., 2022)."""

    def __init__(self, width: int, experts: int, length: int, chosen: bool):
        super().__init__()
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(Mlp(width, 2 * width, 0.1) for _ in range(experts))
        self.share, self.chosen = length // experts, chosen
        self.register_buffer("slots", torch.randperm(length).view(experts, -1))

    def forward(self, x: Tensor) -> Tensor:
        scores = self.router(x).softmax(-1)
        y = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            slots = self.slots[i].expand(x.shape[0], -1)
            if self.chosen:
                slots = scores[:, :, i].topk(self.share, 1)[1]
            weight = scores[:, :, i].gather(1, slots).unsqueeze(-1)
            index = slots.unsqueeze(-1).expand(-1, -1, x.shape[2])
            y = y.scatter_add(1, index, expert(x.gather(1, index)) * weight)
        return y


class ExpertBlock(nn.Module):
    def __init__(self, width: int, heads: int, experts: int, length: int, chosen: bool):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = GroupedQueryAttention(width, heads, heads, length)
        self.norm2 = nn.LayerNorm(width)
        self.experts = Experts(width, experts, length, chosen)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.experts(self.norm2(x))


class MixtureOfExperts(nn.Module):
    def __init__(self, layers: int, width: int, heads: int, experts: int, length: int, vocabulary: int):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(
            ExpertBlock(width, heads, experts, length, i % 2 == 1) for i in range(layers)
        )
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def convnext() -> nn.Module:
    """A small ConvNeXt with the depths of ConvNeXt-T."""
    widths = [16, 32, 64, 128, None]
    stages = [CNBlockConfig(widths[i], widths[i + 1], depth) for i, depth in enumerate([3, 3, 9, 3])]
    return ConvNeXt(stages, stochastic_depth_prob=0.2, num_classes=10)


def vit() -> nn.Module:
    """A small vision transformer with the depth of ViT-B."""
    return vision.VisionTransformer(
        image_size=32, patch_size=8, num_layers=12, num_heads=4, hidden_dim=48, mlp_dim=96, dropout=0.1, attention_dropout=0.1,
        num_classes=10,
    )  # fmt: skip


def swin() -> nn.Module:
    """A small Swin transformer with the depths of Swin-T."""
    return vision.SwinTransformer(
        patch_size=[2, 2], embed_dim=16, depths=[2, 2, 6, 2], num_heads=[2, 2, 4, 4], window_size=[4, 4], dropout=0.1,
        attention_dropout=0.1, stochastic_depth_prob=0.2, num_classes=10,
    )  # fmt: skip


# name: (model, inputs)
MODELS = {
    "resnet50": (lambda: vision.resnet50(num_classes=10), [image(4, 3, 32, 32)]),
    "densenet121": (lambda: vision.densenet121(num_classes=10, drop_rate=0.1), [image(4, 3, 64, 64)]),
    "regnet": (lambda: vision.regnet_y_400mf(num_classes=10), [image(8, 3, 64, 64)]),
    "mobilenet_v3": (lambda: vision.mobilenet_v3_large(num_classes=10), [image(8, 3, 64, 64)]),
    "convnext": (convnext, [image(2, 3, 64, 64)]),
    "vit": (vit, [image(2, 3, 32, 32)]),
    "swin": (swin, [image(2, 3, 64, 64)]),
    "unet": (lambda: UNet(16), [image(2, 3, 32, 32)]),
    "gpt": (lambda: Gpt(6, 48, 4, 32, 96, 0.1), [tokens(2, 32, 96)]),
    "llama": (lambda: Llama(6, 48, 4, 2, 32, 96), [tokens(2, 32, 96)]),
    "transformer": (lambda: Translator(48, 96), [tokens(2, 24, 96), tokens(2, 16, 96)]),
    "mixer": (lambda: Mixer(6, 8, 32, 48, 10), [image(4, 3, 32, 32)]),
    "lstm": (lambda: LanguageModel(48, 96, 2), [tokens(4, 64, 96), image(2, 4, 48), image(2, 4, 48)]),
    "fno": (lambda: FourierOperator(4, 16, 6, 24), [image(4, 1, 24, 24)]),
    "mixture_of_experts": (lambda: MixtureOfExperts(4, 48, 4, 4, 32, 96), [tokens(2, 32, 96)]),
}


def export(name: str, traced: bool, folder: pathlib.Path) -> None:
    build, inputs = MODELS[name]
    values, specs = zip(*inputs)
    torch.manual_seed(0)
    model = build().train()
    form = "traced" if traced else "scripted"
    script = torch.jit.trace(model, values, check_trace=False) if traced else torch.jit.script(model)
    path = folder / f"{name}_{form}.pt"
    script.save(str(path))
    path.with_suffix(".json").write_text(
        json.dumps({"model": path.name, "form": form, "inputs": list(specs)}, indent=2) + "\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("outdir", type=pathlib.Path, help="folder to write to; made when it is not there")
    parser.add_argument("--only", metavar="NAME", choices=list(MODELS), help="write one model")
    arguments = parser.parse_args()
    arguments.outdir.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for name in [arguments.only] if arguments.only else MODELS:
        for traced in (True, False):
            export(name, traced, arguments.outdir)
    return 0


if __name__ == "__main__":
    sys.exit(main())
