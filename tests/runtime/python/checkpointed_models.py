"""Five models that return their loss, each with a batch. The tests of selective checkpointing use them."""

import timm
import torch
import transformers
from torch import nn

import models
from models import export

WORDS, LENGTH, WIDTH = 128, 64, 96


class WithLoss(nn.Module):
    def __init__(self, model, loss):
        super().__init__()
        self.model = model
        self.loss = loss

    def forward(self, given, target):
        return self.loss(self.model(given), target)


class RootMeanSquare(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight


class RotaryAttention(nn.Module):
    def __init__(self, heads=4):
        super().__init__()
        self.heads = heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, x, cos, sin):
        def turned(t):
            low, high = t.chunk(2, -1)
            return t * cos + torch.cat((-high, low), -1) * sin

        batch, length, width = x.shape
        heads = (
            weight(x).view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for weight in (self.wq, self.wk, self.wv)
        )
        q, k, v = heads
        q, k = turned(q), turned(k)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).reshape(batch, length, width))


class GatedMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up = (nn.Linear(WIDTH, 3 * WIDTH, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class LlamaBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = RootMeanSquare(), RootMeanSquare()
        self.attention, self.mlp = RotaryAttention(), GatedMlp()

    def forward(self, x, cos, sin):
        x = x + self.attention(self.norm1(x), cos, sin)
        return x + self.mlp(self.norm2(x))


class Llama(nn.Module):
    """A Llama without dropout: RMSNorm as small ops, rotary positions and a gated MLP."""

    def __init__(self, layers=6):
        super().__init__()
        self.tokens = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(LlamaBlock() for _ in range(layers))
        self.norm = RootMeanSquare()
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        of_head = WIDTH // 4
        turns = torch.outer(torch.arange(LENGTH), 1e4 ** (-torch.arange(0, of_head, 2) / of_head))
        turns = torch.cat((turns, turns), -1)
        self.register_buffer("cos", turns.cos())
        self.register_buffer("sin", turns.sin())

    def forward(self, ids):
        x = self.tokens(ids)
        cos, sin = self.cos[: ids.shape[1]], self.sin[: ids.shape[1]]
        for block in self.layers:
            x = block(x, cos, sin)
        return self.head(self.norm(x))


class OfTransformers(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids, labels=ids, use_cache=False).loss


def texts():
    torch.manual_seed(1)
    ids = torch.randint(WORDS, (8, LENGTH))
    return ids, ids.roll(-1, 1)


def images():
    torch.manual_seed(1)
    return torch.randn(8, 3, 32, 32), torch.randint(10, (8,))


def gpt():
    torch.manual_seed(0)
    model = export.Gpt(layers=6, width=WIDTH, heads=4, length=LENGTH, vocabulary=WORDS, dropout=0.1)
    return WithLoss(model, models.text_loss), texts()


def llama():
    torch.manual_seed(0)
    return WithLoss(Llama(), models.text_loss), texts()


def resnet():
    """A ResNet with BatchNorm and in-place ReLU."""
    return WithLoss(models.resnet(), models.image_loss), images()


def vit():
    torch.manual_seed(0)
    model = timm.models.VisionTransformer(
        img_size=32, patch_size=4, embed_dim=WIDTH, depth=6, num_heads=4, num_classes=10, proj_drop_rate=0.1
    )
    return WithLoss(model, models.image_loss), images()


def gpt2():
    """The GPT-2 of transformers, with its dropout."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=WORDS,
        n_positions=LENGTH,
        n_embd=WIDTH,
        n_layer=6,
        n_head=4,
        bos_token_id=0,
        eos_token_id=0,
    )
    return OfTransformers(transformers.GPT2LMHeadModel(config)), texts()[:1]
