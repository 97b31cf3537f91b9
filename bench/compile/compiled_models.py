"""Models for the table of compiled steps. NAME() returns (module, arguments); the module computes its
loss."""

import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "resources" / "models"))

import export


class WithLoss(nn.Module):
    def __init__(self, model, loss):
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, *inputs):
        *inputs, targets = inputs
        return self.loss(self.model(*inputs), targets)


def token_loss(logits, targets):
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def gpt(dropout=0.0):
    model = export.Gpt(8, 256, 4, 256, 4096, dropout, export.FusedAttention)
    return WithLoss(model, token_loss), (torch.randint(4096, (4, 256)), torch.randint(4096, (4, 256)))


def gpt_dropout():
    return gpt(0.1)


class LanguageModel(nn.Module):
    """A model of transformers that computes its loss."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask, labels=ids, use_cache=False).loss


def padded_texts(vocabulary, rows, length):
    """Returns token ids and a mask, which is 0 at padding. All rows have different lengths."""
    ends = torch.linspace(length // 2, length, rows).long()
    return torch.randint(vocabulary, (rows, length)), (torch.arange(length) < ends[:, None]).long()


def llama_padded():
    import transformers

    config = transformers.LlamaConfig(
        hidden_size=256,
        intermediate_size=688,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=2048,
    )
    return LanguageModel(transformers.LlamaForCausalLM(config)), padded_texts(2048, 4, 256)


def resnet():
    import torchvision

    model = WithLoss(torchvision.models.resnet18(), functional.cross_entropy)
    return model, (torch.randn(8, 3, 128, 128), torch.randint(1000, (8,)))


def unet():
    model = WithLoss(export.UNet(16), functional.cross_entropy)
    return model, (torch.randn(4, 3, 128, 128), torch.randint(2, (4, 128, 128)))


class Experts(nn.Module):
    """A mixture of experts, as in a block of a Transformer. The router chooses two experts for each token.
    Each expert takes at most `capacity` tokens, so shapes do not depend on values."""

    def __init__(self, width, experts, capacity):
        super().__init__()
        self.router = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, width, 2 * width) * width**-0.5)
        self.down = nn.Parameter(torch.randn(experts, 2 * width, width) * (2 * width) ** -0.5)
        self.capacity = capacity

    def forward(self, x):
        tokens = x.flatten(0, 1)
        weights, chosen = self.router(tokens).softmax(-1).topk(2)
        share = torch.zeros_like(weights.new_empty(tokens.shape[0], self.up.shape[0])).scatter(
            1, chosen, weights
        )
        kept, taken = share.t().topk(self.capacity)  # for each expert, the tokens with the largest weights
        made = functional.silu(tokens[taken] @ self.up) @ self.down
        out = torch.zeros_like(tokens).index_add(0, taken.flatten(), (kept[..., None] * made).flatten(0, 1))
        return out.view_as(x)


def experts():
    model = export.Gpt(4, 256, 4, 256, 2048, 0.0, export.FusedAttention)
    for block in model.blocks:
        block.mlp = Experts(256, experts=8, capacity=256)
    return WithLoss(model, token_loss), (torch.randint(2048, (4, 256)), torch.randint(2048, (4, 256)))


def vit():
    import timm

    model = timm.create_model(
        "vit_tiny_patch16_224", img_size=128, patch_size=8, depth=6, num_classes=10, drop_rate=0.0
    )
    return WithLoss(model, functional.cross_entropy), (torch.randn(4, 3, 128, 128), torch.randint(10, (4,)))


MODELS = {
    "GPT, 8 blocks": gpt,
    "GPT, 8 blocks, dropout": gpt_dropout,
    "Llama, 4 blocks, padding": llama_padded,
    "ResNet-18": resnet,
    "U-Net": unet,
    "Mixture of experts, 4 blocks": experts,
    "ViT, 6 blocks (timm)": vit,
}
