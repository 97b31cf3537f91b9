"""Trains a small language model in a plain PyTorch loop, with AdamW, warm-up and clipped gradients.

Run it with `python plain_loop.py`, and once more with `--plain` to train without rematlas: both print the
same digest.
"""

import torch
from torch import nn

import common


class LanguageModel(nn.Module):
    def __init__(self, vocabulary=128, width=64, layers=3, length=64):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(length, width)
        block = nn.TransformerEncoderLayer(
            width, nhead=4, dim_feedforward=4 * width, dropout=0.1, batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length), persistent=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.places.weight
        return self.head(self.blocks(x, mask=self.mask, is_causal=True))


def main():
    options = common.options(__doc__)
    model = LanguageModel()
    if not options.plain:
        import rematlas

        rematlas.apply(model, options.budget)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=5)
    losses = []
    for step in range(15):
        ids = common.texts(count=8, length=65)
        inputs, targets = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
        loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if step == 4:
            common.wait_for_plan(options, model)
    common.report(options, model, losses)


if __name__ == "__main__":
    main()
