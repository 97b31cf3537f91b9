"""Trains a ResNet in the manner of torchvision's classification reference: warm-up, averaged weights, a
checkpoint to resume from.

Run it with `python torchvision_reference.py`, and once more with `--plain` to train without rematlas: both
print the same digest.
"""

import pathlib
import tempfile

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader
from torchvision.models.resnet import BasicBlock, ResNet

import common


def train_one_epoch(model, criterion, optimizer, loader, ema):
    model.train()
    for image, target in loader:
        loss = criterion(model(image), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update_parameters(model)
        yield loss.item()


def evaluate(model, criterion, loader):
    model.eval()
    with torch.inference_mode():
        return [criterion(model(image), target).item() for image, target in loader]


def train(options, checkpoint, epochs):
    """Trains from the beginning, or continues from the checkpoint."""
    model = ResNet(BasicBlock, [1, 1, 1, 1])
    # The images are small, so the last stage, which has large weights, is left out
    model.layer4, model.fc = nn.Identity(), nn.Linear(256, 10)
    if not options.plain:
        import rematlas

        rematlas.apply(model, options.budget)
    ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    schedule = SequentialLR(
        optimizer, [LinearLR(optimizer, 0.1, total_iters=1), CosineAnnealingLR(optimizer, 3)], milestones=[1]
    )
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    parts = {"model": model, "ema": ema, "optimizer": optimizer, "schedule": schedule}
    saved = torch.load(checkpoint, weights_only=True) if checkpoint.exists() else {"epoch": -1}
    for name in parts.keys() & saved.keys():
        parts[name].load_state_dict(saved[name])
    loader = DataLoader(common.images(count=80, size=64), batch_size=16, shuffle=True)
    losses = []
    for epoch in range(saved["epoch"] + 1, epochs):
        losses += train_one_epoch(model, criterion, optimizer, loader, ema)
        schedule.step()
        losses += evaluate(ema, criterion, loader)
        torch.save({name: part.state_dict() for name, part in parts.items()} | {"epoch": epoch}, checkpoint)
        common.wait_for_plan(options, model)
    return model, ema, losses


def main():
    options = common.options(__doc__, budget="85%")
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = pathlib.Path(folder) / "checkpoint.pt"
        *_, losses = train(options, checkpoint, epochs=2)
        model, ema, resumed = train(options, checkpoint, epochs=4)
    common.report(options, nn.ModuleDict({"model": model, "ema": ema}), losses + resumed, model)


if __name__ == "__main__":
    main()
