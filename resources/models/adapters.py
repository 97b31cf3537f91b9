"""Large models that are fine-tuned by adapters, as functions like those of `large`.

    rematlas fits adapters:llama3_8b_qlora --optimizer adamw --cards rtx4090,t4 --set length=4096

Each model trains low-rank adapters (Hu et al., LoRA, 2021) in bf16, beside the linear layers of the blocks.
All other weights are frozen. The functions with `qlora` in their names (Dettmers et al., QLoRA, 2023) store
the frozen weights in four bits each: as indices into a table of 16 numbers, with a scale for each 64 weights.
The forward computes the weights from the indices and scales, and the backward computes them again.
"""

import torch
from torch import Tensor, nn

import large

BLOCK = 64  # numbers that share a scale


def weight_of(codes: Tensor, scales: Tensor, table: Tensor, shape: tuple[int, int], dtype: torch.dtype):
    """Returns the weight for the codes. Each byte holds two codes."""
    pairs = torch.stack([codes >> 4, codes & 15], dim=-1).view(-1, BLOCK)
    return (table[pairs.int()] * scales[:, None]).to(dtype).view(shape)


class FrozenProduct(torch.autograd.Function):
    """Multiplies x by the transposed weight. Keeps only the codes for the backward, not the weight."""

    @staticmethod
    def forward(ctx, x, codes, scales, table, shape):
        ctx.save_for_backward(codes, scales, table)
        ctx.shape = shape
        return x @ weight_of(codes, scales, table, shape, x.dtype).t()

    @staticmethod
    def backward(ctx, gradient):
        return gradient @ weight_of(*ctx.saved_tensors, ctx.shape, gradient.dtype), None, None, None, None


class FourBitLinear(nn.Module):
    """Replaces a frozen linear layer without a bias. The codes are random and not computed from the layer's
    weight, because the memory and the time of a step do not depend on them."""

    def __init__(self, layer: nn.Linear):
        super().__init__()
        self.shape = tuple(layer.weight.shape)
        device, count = layer.weight.device, layer.weight.numel()
        codes = torch.randint(0, 256, (count // 2,), dtype=torch.uint8, device=device)
        self.register_buffer("codes", codes)
        self.register_buffer("scales", torch.full((count // BLOCK,), 0.02, device=device))
        self.register_buffer("table", torch.linspace(-1, 1, 16, device=device))

    def forward(self, x: Tensor) -> Tensor:
        return FrozenProduct.apply(x, self.codes, self.scales, self.table, self.shape)


class Adapted(nn.Module):
    """A frozen layer, and the product of two narrow trained layers, which is added to its output."""

    def __init__(self, layer: nn.Linear, rank: int, quantized: bool):
        super().__init__()
        options = {"bias": False, "dtype": layer.weight.dtype, "device": layer.weight.device}
        self.base = FourBitLinear(layer) if quantized else layer
        self.down = nn.Linear(layer.in_features, rank, **options)
        self.up = nn.Linear(rank, layer.out_features, **options)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.up(self.down(x))


def adapt(model: nn.Module, rank: int, quantized: bool) -> None:
    """Freezes the model, and adds an adapter to each linear layer of its blocks."""
    model.requires_grad_(False)
    for name, layer in list(model.named_modules()):
        if isinstance(layer, nn.Linear) and ".layers." in name:
            parent = model.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], Adapted(layer, rank, quantized))


def llama3_8b_lora(batch: int = 1, length: int = 2048, rank: int = 16, small: bool = False):
    """Llama 3.1 8B in bf16 with trained adapters."""
    model, args, kwargs = large.llama3_8b(batch, length, small)
    adapt(model, rank, quantized=False)
    return model, args, kwargs


def llama3_8b_qlora(batch: int = 1, length: int = 2048, rank: int = 16, small: bool = False):
    """Like `llama3_8b_lora`, with frozen weights of four bits. Embedding and head keep their weights in
    bf16."""
    model, args, kwargs = large.llama3_8b(batch, length, small)
    adapt(model, rank, quantized=True)
    return model, args, kwargs


MODELS = [llama3_8b_lora, llama3_8b_qlora]
