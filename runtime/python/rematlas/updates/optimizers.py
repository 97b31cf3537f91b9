"""Which optimizers of torch.optim can be part of a plan, and what a plan is told of them."""

import torch


def unfit(optimizer):
    """Says why the updates of this optimizer cannot be part of a plan; None where they can."""
    if type(optimizer) not in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        return f"a torch.optim.SGD, Adam or AdamW can be part of a plan, this is a {type(optimizer).__name__}"
    for group in optimizer.param_groups:
        if not group.get("fused"):
            return "its updates have other bits than the fused ones that a plan has; make it with fused=True"
        if group.get("dampening"):
            return "dampening cannot be part of a plan"
        if group.get("differentiable"):
            return "a differentiable optimizer cannot be part of a plan"
    return None


def of_another_model(optimizer, module):
    """Says why an optimizer has nothing to do with this module; None where it has."""
    mine = {id(parameter) for parameter in module.parameters()}
    if any(id(parameter) in mine for group in optimizer.param_groups for parameter in group["params"]):
        return None
    return "it has none of the model's parameters: make it of model.parameters()"


def without_numbers(described):
    """Returns what a plan is made for. Numbers may change from step to step; whether there is momentum makes
    a state more or less."""
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
    """Returns name and first value of each state that lies as its parameter does, as the optimizer has them
    when it begins. Momentum begins with the gradient as it is: that is a step on negative zeros."""
    if type(optimizer) is torch.optim.SGD:
        return {"momentum_buffer": -0.0} if group["momentum"] else {}
    return dict.fromkeys(("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 3 if group["amsgrad"] else 2], 0.0)
