"""--optimizer and --optimizer-options, as `rematlas capture` has them."""

import torch

from ..errors import message
from .model_function import wrong

CLASSES = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
FLAGS = {"sgd": ("nesterov", "maximize"), "adam": ("amsgrad", "maximize"), "adamw": ("amsgrad", "maximize")}
NUMBERS = {
    "sgd": ("lr", "momentum", "weight_decay"),
    "adam": ("lr", "beta1", "beta2", "eps", "weight_decay"),
    "adamw": ("lr", "beta1", "beta2", "eps", "weight_decay"),
}


def add_optimizer(parser) -> None:
    parser.add_argument(
        "--optimizer", choices=("none", *CLASSES), default="none", help="its fused updates end the step"
    )
    parser.add_argument(
        "--optimizer-options", default="", metavar="lr=0.1,...", help="as in `rematlas capture`"
    )


def numbers_of(options) -> dict | None:
    """Returns the optimizer's options by name; None where there is no optimizer."""
    if options.optimizer == "none":
        if options.optimizer_options:
            wrong("--optimizer-options: goes with --optimizer sgd, adam or adamw")
        return None
    flags, numbers, given = FLAGS[options.optimizer], NUMBERS[options.optimizer], {}
    for item in filter(None, options.optimizer_options.split(",")):
        name, _, value = item.partition("=")
        if name not in numbers + flags:
            known = ", ".join(numbers + flags)
            wrong(f"--optimizer-options: {name}: {options.optimizer} has the options {known}")
        try:
            given[name] = bool(float(value)) if name in flags else float(value)
        except ValueError:
            wrong(f"--optimizer-options: {item}: expected option=number")
    return given


def described_optimizer(options) -> tuple | None:
    """Returns (name, options by name), as a step from shapes takes it; None where there is none."""
    numbers = numbers_of(options)
    return None if numbers is None else (options.optimizer, numbers)


def made_optimizer(options, model):
    """Returns the optimizer of the model; None where there is none."""
    given = numbers_of(options)
    if given is None:
        return None
    if "beta1" in given or "beta2" in given:
        given["betas"] = (given.pop("beta1", 0.9), given.pop("beta2", 0.999))
    try:
        return CLASSES[options.optimizer](model.parameters(), fused=True, **given)
    except (RuntimeError, ValueError) as error:
        wrong(f"--optimizer {options.optimizer}: {message(error)}")
