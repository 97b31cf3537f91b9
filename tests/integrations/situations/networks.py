"""Small networks that several situations train, and their data."""

import torch
import torchvision
import transformers
from torch import nn
from torch.nn.functional import cross_entropy

from inputs import classes, normal, tokens
from models.torchvision_images import NarrowBottleneck
from models.transformers_language import SMALL_GPT2, SMALL_GROUPED


def resnet(outputs: int = 10) -> nn.Module:
    return torchvision.models.ResNet(NarrowBottleneck, [1, 1, 1, 1], num_classes=outputs, width_per_group=16)


def images(step: int, batch: int = 16, size: int = 32) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns images and their classes."""
    return normal(step, batch, 3, size, size), classes(step, batch)


def gpt2(**options) -> nn.Module:
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**SMALL_GPT2 | options))


def llama(**options) -> nn.Module:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL_GROUPED | options))


def perceptron(*widths: int, activation=nn.ReLU) -> nn.Sequential:
    layers = []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after), activation()]
    return nn.Sequential(*layers[:-1])


def convolutions(channels: int = 8, outputs: int = 10, dropout: float = 0.0) -> nn.Sequential:
    """Returns a convolutional network for images of 32 by 32."""
    layers = []
    for before, after, stride in [(3, 1, 1), (1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 2, 2)]:
        before = before if not layers else before * channels
        layers += [
            nn.Conv2d(before, after * channels, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(after * channels),
            nn.ReLU(inplace=True),
        ]
    head = [nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(dropout), nn.Linear(8 * channels, outputs)]
    return nn.Sequential(*layers, *head)


def adamw(*modules: nn.Module, rate: float = 1e-3) -> torch.optim.AdamW:
    return torch.optim.AdamW([parameter for module in modules for parameter in module.parameters()], lr=rate)


def next_word_loss(model: nn.Module, number: int, **shape) -> torch.Tensor:
    """Returns the loss of a language model of transformers."""
    ids = tokens(number, **shape)
    return model(input_ids=ids, labels=ids).loss


def class_loss(model: nn.Module, number: int, **shape) -> torch.Tensor:
    x, target = images(number, **shape)
    return cross_entropy(model(x), target)


def minimize(optimizer: torch.optim.Optimizer, loss_of) -> torch.Tensor:
    """Runs an ordinary step. Gradients stay until the next step."""
    optimizer.zero_grad()
    loss = loss_of()
    loss.backward()
    optimizer.step()
    return loss
