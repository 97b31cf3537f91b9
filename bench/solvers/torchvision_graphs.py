"""Captures training steps of ten torchvision models: AdamW, 16 images, op times predicted for an A100.

torchvision_graphs.py PROGRAM FOLDER      PROGRAM: rematlas; writes FOLDER/NAME.graph.json
"""

import pathlib
import subprocess
import sys
import tempfile

import torch
import torchvision

NAMES = [
    "resnet18",
    "squeezenet1_1",
    "mnasnet1_0",
    "mobilenet_v3_small",
    "shufflenet_v2_x1_0",
    "convnext_tiny",
    "vit_b_16",
    "regnet_y_400mf",
    "efficientnet_b0",
    "densenet121",
]


def capture(program, name, folder, scratch):
    torch.manual_seed(0)
    model = getattr(torchvision.models, name)().train()
    file = scratch / f"{name}.pt"
    torch.jit.trace(model, torch.randn(2, 3, 224, 224), check_trace=False).save(str(file))
    subprocess.run(
        [
            program,
            "capture",
            file,
            "--input",
            "f32[16,3,224,224]",
            "--device",
            "meta",
            "--device-profile",
            "a100",
            "--optimizer",
            "adamw",
            "-o",
            folder / f"{name}.graph.json",
        ],
        check=True,
    )


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name in NAMES:
            capture(program, name, folder, pathlib.Path(scratch))


if __name__ == "__main__":
    main()
