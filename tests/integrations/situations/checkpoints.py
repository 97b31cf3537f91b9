"""Programs that save memory by other means: all kinds of checkpoints, and offloaded activations."""

import torch
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    apply_activation_checkpointing,
    checkpoint_wrapper,
)
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

from inputs import normal
from situation import Situation, situation
from situations.networks import adamw, llama, minimize, next_word_loss


class Blocks(nn.Module):
    """Blocks of a transformer. Each block is called by `through(block, x)`."""

    def __init__(self, through=lambda block, x: block(x)):
        super().__init__()
        self.through = through
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(48, 4, 96, 0.1, batch_first=True, norm_first=True) for _ in range(3)
        )

    def forward(self, x):
        for block in self.blocks:
            x = self.through(block, x)
        return x.square().mean()


def trained(model: nn.Module, around=lambda call: call(), **options) -> Situation:
    """Returns a situation that trains the model. `around` gets a function that computes forward and loss, and
    must call it."""
    optimizer = adamw(model)

    def step(number):
        x = normal(number, 8, 32, 48)
        return minimize(optimizer, lambda: around(lambda: model(x)))

    return Situation(model, step, [optimizer], **options)


@situation("selective_checkpoints")
def selective_checkpoints():
    """The results of matrix products are kept, and the other results of a block are recomputed, as in
    torchtitan."""
    kept = {torch.ops.aten.mm.default, torch.ops.aten.addmm.default}

    def policy(context, op, *args, **kwargs):
        return CheckpointPolicy.MUST_SAVE if op in kept else CheckpointPolicy.PREFER_RECOMPUTE

    def contexts():
        return create_selective_checkpoint_contexts(policy)

    return trained(Blocks(lambda block, x: checkpoint(block, x, use_reentrant=False, context_fn=contexts)))


@situation("checkpoint_wrappers")
def checkpoint_wrappers():
    """apply_activation_checkpointing wraps the blocks, as in the tutorials of FSDP."""
    model = Blocks()
    apply_activation_checkpointing(
        model, checkpoint_wrapper, lambda module: isinstance(module, nn.TransformerEncoderLayer)
    )
    return trained(model, in_bytes=0.9)


@situation("checkpoint_around_the_model", "refused", "the model is called within torch.utils.checkpoint")
def checkpoint_around_the_model():
    model = Blocks()

    def around(call):
        return checkpoint(call, use_reentrant=False)

    return trained(model, around, in_bytes=0.95)


@situation("activations_on_the_host")
def activations_on_the_host():
    """save_on_cpu is used around forward and loss, as its documentation shows."""

    def around(call):
        with torch.autograd.graph.save_on_cpu():
            return call()

    return trained(Blocks(), around, in_bytes=0.95)


@situation("language_model_checkpointed")
def language_model_checkpointed():
    """gradient_checkpointing_enable of transformers is used, with the cache turned off."""
    model = llama(use_cache=False)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    optimizer = adamw(model)
    return Situation(
        model, lambda number: minimize(optimizer, lambda: next_word_loss(model, number)), [optimizer]
    )
