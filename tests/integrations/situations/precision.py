"""Lower precision, and modes that watch the ops."""

import torch
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from situation import Situation, situation
from situations.networks import adamw, class_loss, convolutions, gpt2, images, minimize, next_word_loss


@situation("mixed_precision")
def mixed_precision():
    """The usual recipe: autocast around forward and loss, a scaler, and clipping after unscaling."""
    model = gpt2()
    optimizer = adamw(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=128.0, growth_interval=4)

    def step(number):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = next_word_loss(model, number)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss

    return Situation(model, step, [optimizer], in_bytes=0.9)


@situation("half_weights_with_a_master_copy")
def half_weights_with_a_master_copy():
    """The model is in bfloat16. The optimizer updates a float32 copy, which is cast back."""
    model = gpt2().to(torch.bfloat16)
    master = [parameter.detach().float().requires_grad_() for parameter in model.parameters()]
    optimizer = torch.optim.AdamW(master, lr=1e-3)

    def step(number):
        model.zero_grad()
        loss = next_word_loss(model, number)
        loss.backward()
        for kept, parameter in zip(master, model.parameters()):
            kept.grad = parameter.grad.float()
        optimizer.step()
        with torch.no_grad():
            for kept, parameter in zip(master, model.parameters()):
                parameter.copy_(kept)
        return loss

    return Situation(model, step, [optimizer], in_bytes=0.9, observed=lambda: master)


@situation("channels_last")
def channels_last():
    """The tutorial of memory formats, with bfloat16 autocast around the forward only."""
    model = convolutions().to(memory_format=torch.channels_last)
    optimizer = adamw(model)

    def step(number):
        x, target = images(number)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = model(x.to(memory_format=torch.channels_last))
        return minimize(optimizer, lambda: cross_entropy(found.float(), target))

    return Situation(model, step, [optimizer])


@situation("anomalies_detected", "refused", "anomaly mode looks at each node of the backward")
def anomalies_detected():
    """set_detect_anomaly is left on, and the budget is in bytes."""
    model = convolutions()
    optimizer = adamw(model)

    def step(number):
        with torch.autograd.set_detect_anomaly(True):
            return minimize(optimizer, lambda: class_loss(model, number))

    return Situation(model, step, [optimizer], in_bytes=0.9)


@situation("operations_counted")
def operations_counted():
    """A FlopCounterMode is active around the first and the seventh step."""
    model = convolutions()
    optimizer = adamw(model)
    counted = []

    def step(number):
        def ordinary():
            return minimize(optimizer, lambda: class_loss(model, number))

        if number not in (0, 6):
            return ordinary()
        with FlopCounterMode(display=False) as counter:
            loss = ordinary()
        counted.append(counter.get_total_flops())
        return loss

    return Situation(model, step, [optimizer], observed=lambda: torch.tensor(counted))


@situation("profiled_steps")
def profiled_steps():
    """The training runs under torch.profiler with a schedule of steps."""
    model = convolutions()
    optimizer = adamw(model)

    def loop(steps, after_step):
        schedule = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
        with torch.profiler.profile(schedule=schedule) as profiler:
            for number in range(steps):
                after_step(minimize(optimizer, lambda: class_loss(model, number)))
                profiler.step()

    return Situation(model, optimizers=[optimizer], loop=loop)
