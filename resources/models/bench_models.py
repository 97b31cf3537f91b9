#!/usr/bin/env python3
"""Writes the models that the bench on a device trains, as TorchScript files, in train mode.

    bench_models.py OUTDIR --only gpt2_medium     one of them, in the size that people train
    bench_models.py OUTDIR --small                all of them, shallow and narrow, for a try-out on a CPU
    bench_models.py --list                        names and budgets, one a line

Weights are drawn from a fixed seed. Beside each NAME.pt is NAME.json with the input specifications that
`rematlas capture --input` takes, in order, and the budget of the bench.
"""

import argparse
import json
import pathlib
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from export import BasicBlock, DoubleConv, Gpt, ResNet50, Translator, image, tokens


class ResNet101(ResNet50):
    def __init__(self):
        super().__init__()
        self.layer3 = self._stage(512, 256, 23, 2)


class ResNetCifar(nn.Module):
    """A ResNet of 6 n + 2 layers for images of 32x32 (He et al., 2016, section 4.2)."""

    def __init__(self, n: int):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)
        )
        self.layer1 = nn.Sequential(*(BasicBlock(16, 16, 1) for _ in range(n)))
        self.layer2 = nn.Sequential(BasicBlock(16, 32, 2), *(BasicBlock(32, 32, 1) for _ in range(n - 1)))
        self.layer3 = nn.Sequential(BasicBlock(32, 64, 2), *(BasicBlock(64, 64, 1) for _ in range(n - 1)))
        self.fc = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.layer3(self.layer2(self.layer1(self.stem(x)))).mean((2, 3)))


class DeepUNet(nn.Module):
    """A U-Net with four levels down and up again (Ronneberger et al., 2015, figure 1), with padding and
    normalization."""

    def __init__(self, width: int, levels: int = 4):
        super().__init__()
        widths = [width * 2**level for level in range(levels + 1)]
        self.down = nn.ModuleList(DoubleConv(a, b) for a, b in zip([3, *widths], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in reversed(widths[:-1]))
        self.join = nn.ModuleList(DoubleConv(2 * w, w) for w in reversed(widths[:-1]))
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        skips = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        for up, join, skip in zip(self.up, self.join, reversed(skips[:-1])):
            x = join(torch.cat([up(x), skip], 1))
        return self.head(x)


class TransformerModel(Translator):
    """The encoder-decoder layers of PyTorch, in the base size of Vaswani et al. (2017)."""

    def __init__(self, width: int = 512, layers: int = 6, vocabulary: int = 32000):
        super().__init__(width, vocabulary)
        self.transformer = nn.Transformer(
            width, max(width // 64, 2), layers, layers, 4 * width, dropout=0.1, batch_first=True
        )


# name: (model, inputs, whether it is traced, budget), then the same for the small form. The first model is
# the example of Rockmate's README.
LARGE = {
    "resnet101": (ResNet101, lambda: [image(100, 3, 128, 128)], True, "2GiB"),
    "gpt2_medium": (
        lambda: Gpt(24, 1024, 16, 1024, 50257, 0.1),
        lambda: [tokens(4, 1024, 50257)],
        False,
        "60%",
    ),
    "unet": (lambda: DeepUNet(64), lambda: [image(8, 3, 256, 256)], True, "60%"),
    "transformer": (TransformerModel, lambda: [tokens(32, 256, 32000), tokens(32, 256, 32000)], False, "60%"),
    "resnet1202": (lambda: ResNetCifar(200), lambda: [image(128, 3, 32, 32)], True, "40%"),
}
SMALL = {
    "resnet101": (ResNet101, lambda: [image(2, 3, 32, 32)], True, "90%"),
    "gpt2_medium": (lambda: Gpt(2, 64, 4, 32, 128, 0.1), lambda: [tokens(2, 32, 128)], False, "70%"),
    "unet": (lambda: DeepUNet(4, 3), lambda: [image(1, 3, 32, 32)], True, "70%"),
    "transformer": (
        lambda: TransformerModel(64, 2, 100),
        lambda: [tokens(2, 16, 100), tokens(2, 16, 100)],
        False,
        "70%",
    ),
    "resnet1202": (lambda: ResNetCifar(3), lambda: [image(4, 3, 32, 32)], True, "60%"),
}


def export(name: str, folder: pathlib.Path, small: bool) -> None:
    build, make_inputs, traced, budget = (SMALL if small else LARGE)[name]
    torch.manual_seed(0)
    model = build().train()
    values, specs = zip(*make_inputs())
    if traced:
        kept = {key: value.clone() for key, value in model.state_dict().items()}
        # The trace is valid for any batch size. Tracing with two images takes little time.
        script = torch.jit.trace(model, tuple(value[:2] for value in values), check_trace=False)
        script.load_state_dict(kept)  # undoes the change of running statistics by tracing
    else:
        script = torch.jit.script(model)
    path = folder / f"{name}.pt"
    script.save(str(path))
    path.with_suffix(".json").write_text(
        json.dumps({"model": path.name, "inputs": list(specs), "budget": budget}, indent=2) + "\n"
    )
    print(path, *(f"--input '{spec}'" for spec in specs), f"--budget {budget}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "outdir", type=pathlib.Path, nargs="?", help="folder to write to; made when it is not there"
    )
    parser.add_argument("--only", metavar="NAME", choices=list(LARGE), help="write one model")
    parser.add_argument("--small", action="store_true", help="shallow and narrow")
    parser.add_argument("--list", action="store_true", help="names and budgets")
    arguments = parser.parse_args()
    if arguments.list:
        for name, (*_, budget) in (SMALL if arguments.small else LARGE).items():
            print(name, budget)
        return 0
    if arguments.outdir is None:
        parser.error("OUTDIR is missing")
    arguments.outdir.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", r"`torch\.jit\.")  # TorchScript is deprecated
    warnings.filterwarnings("ignore", "'norm' was found in ScriptModule constants")  # inside nn.Transformer
    warnings.filterwarnings("ignore", category=torch.jit.TracerWarning)
    for name in [arguments.only] if arguments.only else list(LARGE):
        export(name, arguments.outdir, arguments.small)
    return 0


if __name__ == "__main__":
    sys.exit(main())
