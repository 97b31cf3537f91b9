"""Loops of PyTorch's tutorials and of the training references of torchvision and timm."""

import copy
import io
import math

import timm.loss
import timm.optim
import timm.scheduler
import timm.utils
import torch
from torch.nn.functional import cross_entropy, kl_div, log_softmax
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from inputs import classes, normal
from situation import Situation, situation
from situations.networks import (
    adamw,
    class_loss,
    convolutions,
    gpt2,
    images,
    minimize,
    next_word_loss,
    perceptron,
    resnet,
)


@situation("classifier_with_momentum")
def classifier_with_momentum():
    """The tutorial of a classifier: SGD with momentum, and learning rates that fall step by step."""
    model = resnet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 4, 0.1)

    def step(number):
        loss = minimize(optimizer, lambda: class_loss(model, number))
        schedule.step()
        return loss

    return Situation(model, step, [optimizer], in_bytes=0.85)


@situation("accumulated_gradients")
def accumulated_gradients():
    """Each step of the optimizer uses four small batches, whose losses are divided by four."""
    model = gpt2()
    optimizer = adamw(model)

    def step(number):
        loss = next_word_loss(model, number, batch=4) / 4
        loss.backward()
        if number % 4 == 3:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        return loss

    return Situation(model, step, [optimizer], in_bytes=0.85, steps=16)


@situation("accumulated_gradients_announced")
def accumulated_gradients_announced():
    """Gradients of two batches are accumulated, with a fused optimizer that is part of the plan."""
    model = gpt2()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step(number):
        loss = next_word_loss(model, number, batch=4) / 2
        loss.backward()
        if number % 2 == 1:
            optimizer.step()
            optimizer.zero_grad()
        return loss

    options = {"optimizer": optimizer, "accumulate": 2}
    return Situation(model, step, [optimizer], in_bytes=0.85, steps=14, options=options)


@situation("fused_updates_in_the_plan")
def fused_updates_in_the_plan():
    """A fused AdamW, whose updates are part of the plan, with a cosine schedule of learning rates."""
    model = gpt2()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 12)

    def step(number):
        loss = next_word_loss(model, number)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        return loss

    return Situation(model, step, [optimizer], in_bytes=0.85, steps=12, options={"optimizer": optimizer})


@situation("sum_of_two_losses")
def sum_of_two_losses():
    """A shared body has two heads. The losses for classes and for regression share one backward."""

    class TwoHeads(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = resnet(64)
            self.kind, self.age = torch.nn.Linear(64, 10), torch.nn.Linear(64, 1)

        def forward(self, x):
            features = self.body(x).relu()
            return {"kind": self.kind(features), "age": self.age(features).squeeze(1)}

    model = TwoHeads()
    optimizer = adamw(model)

    def step(number):
        x, target = images(number)
        optimizer.zero_grad()
        found = model(x)
        losses = cross_entropy(found["kind"], target), (found["age"] - target).square().mean()
        (losses[0] + 0.1 * losses[1]).backward()
        optimizer.step()
        return losses

    return Situation(model, step, [optimizer], in_bytes=0.85)


@situation("two_backwards_of_one_forward", "refused", "a backward with a retained graph may run twice")
def two_backwards_of_one_forward():
    """The first backward retains the graph for a second loss, as an error message of autograd suggests."""
    model = convolutions()
    optimizer = adamw(model)

    def step(number):
        x, target = images(number)
        optimizer.zero_grad()
        found = model(x)
        loss, penalty = cross_entropy(found, target), found.square().mean()
        loss.backward(retain_graph=True)
        penalty.backward()
        optimizer.step()
        return loss, penalty

    return Situation(model, step, [optimizer])


@situation("batches_that_are_skipped")
def batches_that_are_skipped():
    """If the loss of a batch is not finite, its backward is skipped."""
    model = convolutions()
    optimizer = adamw(model)

    def step(number):
        x, target = images(number)
        if number in (3, 7):
            x[0, 0, 0, 0] = math.inf
        optimizer.zero_grad()
        loss = cross_entropy(model(x), target)
        if not torch.isfinite(loss):
            return loss
        loss.backward()
        optimizer.step()
        return loss

    return Situation(model, step, [optimizer], in_bytes=0.9, steps=12)


@situation("sharpness_aware")
def sharpness_aware():
    """SAM: the weights move up along the gradient, another forward and backward run there, the weights move
    back, and the optimizer takes its step."""
    model = resnet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def step(number):
        optimizer.zero_grad()
        loss = class_loss(model, number)
        loss.backward()
        parameters = list(model.parameters())
        norm = torch.stack([parameter.grad.norm() for parameter in parameters]).norm()
        moves = [parameter.grad * (0.05 / (norm + 1e-12)) for parameter in parameters]
        with torch.no_grad():
            for parameter, move in zip(parameters, moves):
                parameter.add_(move)
        optimizer.zero_grad()
        class_loss(model, number).backward()
        with torch.no_grad():
            for parameter, move in zip(parameters, moves):
                parameter.sub_(move)
        optimizer.step()
        return loss

    return Situation(model, step, [optimizer], in_bytes=0.9)


@situation("average_of_the_references")
def average_of_the_references():
    """An exponential average of the weights and buffers is kept, as in torchvision's references. The loss has
    label smoothing."""
    model = resnet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)

    def step(number):
        x, target = images(number)
        loss = minimize(optimizer, lambda: cross_entropy(model(x), target, label_smoothing=0.1))
        if number % 2 == 0:
            average.update_parameters(model)
        return loss

    return Situation(model, step, [optimizer], in_bytes=0.85, observed=average.state_dict)


@situation("average_of_timm")
def average_of_timm():
    """A small version of timm's training script, with its average of weights, its optimizer, its loss and its
    schedule."""
    model = timm.create_model(
        "vit_tiny_patch16_224",
        img_size=32,
        patch_size=8,
        embed_dim=48,
        depth=3,
        num_heads=3,
        num_classes=10,
        drop_path_rate=0.1,
    )
    optimizer = timm.optim.create_optimizer_v2(model, "lamb", lr=1e-2, weight_decay=0.05)
    schedule, _ = timm.scheduler.create_scheduler_v2(optimizer, "cosine", num_epochs=10, warmup_epochs=2)
    average = timm.utils.ModelEmaV3(model, decay=0.9)
    smoothed = timm.loss.LabelSmoothingCrossEntropy(0.1)

    def step(number):
        x, target = images(number)
        loss = minimize(optimizer, lambda: smoothed(model(x), target))
        average.update(model, step=number)
        schedule.step(number)
        return loss

    return Situation(model, step, [optimizer], in_bytes=0.85, observed=average.state_dict)


@situation("second_order_closure")
def second_order_closure():
    """L-BFGS calls its closure several times in each step."""
    model = perceptron(8, 32, 32, 1, activation=torch.nn.Tanh)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4)

    def step(number):
        x = normal(0, 256, 8)

        def closure():
            optimizer.zero_grad()
            loss = (model(x) - x.sum(1, keepdim=True).sin()).square().mean()
            loss.backward()
            return loss

        return optimizer.step(closure)

    return Situation(model, step, [optimizer])


@situation("body_frozen_then_trained")
def body_frozen_then_trained():
    """Transfer learning: some steps train only the head, and later steps train the whole network with two
    learning rates."""
    model = resnet()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith("fc"))
    optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.05, momentum=0.9)

    def step(number):
        if number == 6:
            body = [p for p in model.parameters() if not p.requires_grad]
            for parameter in body:
                parameter.requires_grad_(True)
            optimizer.add_param_group({"params": body, "lr": 0.005})
        return minimize(optimizer, lambda: class_loss(model, number))

    return Situation(model, step, [optimizer], in_bytes=0.9, steps=14)


@situation("last_batch_is_smaller")
def last_batch_is_smaller():
    """A DataLoader without drop_last: each epoch has three full batches and a smaller one."""
    model = resnet()
    optimizer = adamw(model)
    data = torch.utils.data.TensorDataset(normal(1, 55, 3, 32, 32), classes(1, 55))

    def loop(steps, after_step):
        done = 0
        while done < steps:
            for x, target in torch.utils.data.DataLoader(data, batch_size=16, shuffle=True):
                after_step(minimize(optimizer, lambda: cross_entropy(model(x), target)))
                done += 1

    return Situation(model, optimizers=[optimizer], loop=loop, in_bytes=0.85, steps=20)


@situation("validation_after_each_epoch")
def validation_after_each_epoch():
    """After every third step the model is evaluated without autograd, and the best weights are kept."""
    model = convolutions(dropout=0.2)
    optimizer = adamw(model)
    best = {"loss": math.inf, "weights": None}

    def step(number):
        model.train()
        loss = minimize(optimizer, lambda: class_loss(model, number))
        if number % 3 == 2:
            model.eval()
            with torch.inference_mode():
                validation = class_loss(model, 100).item()
            if validation < best["loss"]:
                best.update(loss=validation, weights=copy.deepcopy(model.state_dict()))
        return loss

    return Situation(
        model, step, [optimizer], in_bytes=0.85, steps=12, observed=lambda: best["weights"] or ()
    )


@situation("saved_and_resumed")
def saved_and_resumed():
    """A checkpoint is written. Training goes on for two steps, and is then resumed from the checkpoint."""
    model = gpt2()
    optimizer = adamw(model)
    file = io.BytesIO()

    def step(number):
        if number == 6:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state | {"random": torch.get_rng_state()}, file)
        if number == 8:
            file.seek(0)
            state = torch.load(file)
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            torch.set_rng_state(state["random"])
        return minimize(optimizer, lambda: next_word_loss(model, number))

    return Situation(model, step, [optimizer], in_bytes=0.85, steps=12)


@situation("two_passes_with_dropout")
def two_passes_with_dropout():
    """R-Drop: the same batch runs twice, and the divergence of the two outputs is part of the loss."""
    model = convolutions(dropout=0.3)
    optimizer = adamw(model)

    def step(number):
        x, target = images(number)
        optimizer.zero_grad()
        one, other = model(x), model(x)
        loss = cross_entropy(one, target) + cross_entropy(other, target)
        one, other = log_softmax(one, 1), log_softmax(other, 1)
        divergences = [
            kl_div(a, b, reduction="batchmean", log_target=True) for a, b in ((one, other), (other, one))
        ]
        (loss + sum(divergences) / 2).backward()
        optimizer.step()
        return loss

    return Situation(model, step, [optimizer], steps=14)


@situation("attacked_images")
def attacked_images():
    """Adversarial training: two steps of PGD change the images, then a training step uses the changed
    images."""
    model = convolutions()
    optimizer = adamw(model)

    def step(number):
        x, target = images(number)
        attacked = x.clone()
        for _ in range(2):
            attacked.requires_grad_(True)
            loss = cross_entropy(model(attacked), target)
            (gradient,) = torch.autograd.grad(loss, attacked)
            attacked = (attacked + 0.02 * gradient.sign()).clamp(x - 0.05, x + 0.05).detach()
        return minimize(optimizer, lambda: cross_entropy(model(attacked), target))

    return Situation(model, step, [optimizer])


@situation("gradients_projected", "refused", "a backward with a retained graph may run twice")
def gradients_projected():
    """PCGrad: each of two tasks has a backward. Conflicting gradients are projected, and the results are set
    as gradients."""
    model = perceptron(32, 64, 64, 2)
    optimizer = adamw(model)
    parameters = list(model.parameters())

    def step(number):
        x = normal(number, 128, 32)
        found = model(x)
        losses = [(found[:, 0] - x[:, 0]).square().mean(), (found[:, 1] - x[:, 1:].sum(1)).square().mean()]
        rows = []
        for loss in losses:
            gradients = torch.autograd.grad(loss, parameters, retain_graph=True)
            rows.append(torch.cat([gradient.flatten() for gradient in gradients]))
        one, other = rows
        meeting = torch.dot(one, other)
        if meeting < 0:
            one, other = (
                one - meeting / other.square().sum() * other,
                other - meeting / one.square().sum() * one,
            )
        start = 0
        for parameter in parameters:
            parameter.grad = (one + other)[start : start + parameter.numel()].view_as(parameter).clone()
            start += parameter.numel()
        optimizer.step()
        return losses

    return Situation(model, step, [optimizer])
