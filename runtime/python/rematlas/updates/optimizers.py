"""The optimizers of torch.optim whose updates can be part of a plan, and their descriptions for a plan."""

import torch


def unfit(optimizer):
    """Returns why the updates of this optimizer cannot be part of a plan; None if they can."""
    if type(optimizer) not in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        return f"a torch.optim.SGD, Adam or AdamW can be part of a plan, this is a {type(optimizer).__name__}"
    for group in optimizer.param_groups:
        if not group.get("fused"):
            return "its updates have other bits than the fused ones that a plan has; make it with fused=True"
        if group.get("dampening"):
            return "dampening cannot be part of a plan: leave it out"
        if group.get("differentiable"):
            return "a differentiable optimizer cannot be part of a plan: leave differentiable= out"
    return None


def of_another_model(optimizer, module):
    """Returns a message if the optimizer has no parameters of this module; None if it has some."""
    mine = {id(parameter) for parameter in module.parameters()}
    if any(id(parameter) in mine for group in optimizer.param_groups for parameter in group["params"]):
        return None
    return "it has none of the model's parameters: make it of model.parameters()"


def without_numbers(described):
    """Returns those facts of the description that a plan depends on. Numbers are left out, because they may
    change from step to step. For the momentum there is a flag that says whether it is non-zero, because only
    a non-zero momentum needs a state."""
    kept = {
        name: value
        for name, value in described.items()
        if name in ("name", "nesterov", "amsgrad", "maximize")
    }
    return kept | {"momentum": described.get("momentum", 0) != 0}


def described(optimizer, group):
    numbers = {
        "lr": float(group["lr"]),
        "weight_decay": float(group["weight_decay"]),
        "maximize": bool(group["maximize"]),
    }
    if type(optimizer) is torch.optim.SGD:
        return numbers | {
            "name": "sgd",
            "momentum": float(group["momentum"]),
            "nesterov": bool(group["nesterov"]),
        }
    decoupled = type(optimizer) is torch.optim.AdamW or group.get("decoupled_weight_decay")
    beta1, beta2 = map(float, group["betas"])
    adam = {"name": "adamw" if decoupled else "adam", "beta1": beta1, "beta2": beta2}
    return numbers | adam | {"eps": float(group["eps"]), "amsgrad": bool(group["amsgrad"])}


def described_states(optimizer, group):
    """Returns the initial value of each state that has its parameter's layout, by the state's name. Torch
    initializes the momentum buffer with the first gradient. A plan adds the gradient to a buffer of negative
    zeros, which gives the same bits."""
    if type(optimizer) is torch.optim.SGD:
        return {"momentum_buffer": -0.0} if group["momentum"] else {}
    return dict.fromkeys(("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 3 if group["amsgrad"] else 2], 0.0)
