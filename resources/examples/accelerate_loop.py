"""Trains a vision transformer of timm with Accelerate, in mixed precision of bfloat16 and with accumulated
gradients.

Run it with `python accelerate_loop.py`, and once more with `--plain` to train without rematlas: both print
the same digest.
"""

import timm
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader

import common


def main():
    options = common.options(__doc__)
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2, cpu=True)
    sizes = {"img_size": 32, "patch_size": 4, "embed_dim": 48, "depth": 3, "num_classes": 10}
    model = timm.create_model("vit_tiny_patch16_224", **sizes, proj_drop_rate=0.1, drop_path_rate=0.1)
    if not options.plain:
        import rematlas

        rematlas.apply(model, options.budget)  # before prepare, so mixed precision wraps the planned module
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    loader = DataLoader(common.images(count=192), batch_size=8, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    model.train()
    losses = []
    for step, (images, labels) in enumerate(loader):
        # In every other step `accumulate` acts as no_sync. So the processes add up their gradients only when
        # the optimizer needs them.
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(images), labels)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
        if step == 9:
            common.wait_for_plan(options, accelerator.unwrap_model(model))
    common.report(options, accelerator.unwrap_model(model), losses)


if __name__ == "__main__":
    main()
