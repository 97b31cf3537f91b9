"""Defines the options --optimizer, --optimizer-options and --master-weights of `rematlas capture` and
`rematlas fits`."""

import torch

from ..cards.optimizers import FUSED, NAMES, TYPES_OF_MASTERS, options_of
from ..errors import Refused, message
from .model_function import wrong

CLASSES = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
# The options of the fused optimizers whose updates a plan can run.
OF_FUSED = {
    "sgd": ("lr", "momentum", "weight_decay", "nesterov", "maximize"),
    "adam": ("lr", "beta1", "beta2", "eps", "weight_decay", "amsgrad", "maximize"),
    "adamw": ("lr", "beta1", "beta2", "eps", "weight_decay", "amsgrad", "maximize"),
}


def add_optimizer(parser) -> None:
    parser.add_argument(
        "--optimizer",
        choices=("none", *NAMES),
        default="none",
        metavar="NAME",
        help=f"its updates end the step. {', '.join(FUSED)}: fused ones, which a plan runs. With a card that"
        " is not there also the others of torch.optim (adagrad, rmsprop, nadam, radam, adamax, adadelta,"
        " asgd, rprop, adafactor, muon) and of torchao (adamw8bit, adamw4bit, adamwfp8, adam8bit, ...), whose"
        " own step is recorded behind the backward: their states and temporaries are planned for, and the"
        " program calls optimizer.step() itself. Beside muon embeddings, heads and vectors take adamw",
    )
    parser.add_argument(
        "--optimizer-options",
        default="",
        metavar="lr=0.1,...",
        help="the optimizer's options that are numbers, flags as 0 or 1. foreach=1 is torch's form on lists,"
        " which is its default on a GPU and holds temporaries as large as all parameters; foreach=0 is the"
        " plain loop; for sgd, adam and adamw these stand in place of the fused form",
    )
    parser.add_argument(
        "--master-weights",
        choices=tuple(name for name in TYPES_OF_MASTERS if name),
        metavar="f32",
        help="with a card that is not there: parameters of 16 bits are copies of weights in f32, which the"
        " optimizer updates, with states in f32; gradients are cast for one parameter at a time, with"
        " foreach=1 for all at once",
    )


def given_options(options) -> dict:
    """Returns the values in --optimizer-options, by name."""
    kinds, given = options_of(options.optimizer), {}
    for item in filter(None, options.optimizer_options.split(",")):
        name, _, value = item.partition("=")
        if name not in kinds:
            known = ", ".join(kinds)
            wrong(f"--optimizer-options: {name}: {options.optimizer} has the options {known}")
        try:
            number = float(value)
        except ValueError:
            wrong(f"--optimizer-options: {item}: expected option=number")
        if kinds[name] is bool and number not in (0, 1):
            wrong(f"--optimizer-options: {item}: {name} is 0 or 1")
        given[name] = bool(number) if kinds[name] is bool else number
    return given


def numbers_of(options) -> dict | None:
    """Returns the optimizer's options by name; None if there is no optimizer."""
    if options.optimizer == "none":
        for name in ("optimizer_options", "master_weights"):
            if getattr(options, name):
                wrong(f"--{name.replace('_', '-')}: goes with --optimizer adamw, say")
        return None
    try:
        return given_options(options)
    except (Refused, ValueError) as error:
        wrong(error)


def step_end_options(options) -> dict:
    """Returns the options of the optimizer as keyword arguments of `graph_of_step`."""
    numbers = numbers_of(options)
    return {
        "optimizer": None if numbers is None else (options.optimizer, numbers),
        "master_weights": options.master_weights,
    }


def made_optimizer(options, model):
    """Returns the fused optimizer of a model that really runs; None if the options name no optimizer."""
    given = numbers_of(options)
    if given is None:
        return None
    if options.optimizer not in FUSED:
        wrong(
            f"--optimizer {options.optimizer}: goes with --device meta; a plan runs {', '.join(FUSED)} alone"
        )
    if options.master_weights:
        wrong("--master-weights: goes with --device meta")
    for name in given:
        if name not in OF_FUSED[options.optimizer]:
            known = ", ".join(OF_FUSED[options.optimizer])
            wrong(
                f"--optimizer-options: {name}: the fused {options.optimizer} of a plan has the options"
                f" {known}"
            )
    if "beta1" in given or "beta2" in given:
        given["betas"] = (given.pop("beta1", 0.9), given.pop("beta2", 0.999))
    try:
        return CLASSES[options.optimizer](model.parameters(), fused=True, **given)
    except (RuntimeError, ValueError) as error:
        wrong(f"--optimizer {options.optimizer}: {message(error)}")
