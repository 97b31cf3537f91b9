"""python -m rematlas capture package.module:function [-o x.graph.json] [--optimizer adamw]
python -m rematlas capture package.module:function --device meta --device-profile h100 [--values]
python -m rematlas run package.module:function x.plan [--steps 5] [--seed 1] [--verify] [--json]
python -m rematlas build [--force]

The function returns (model, args, kwargs), or (model, args). `capture` records two steps, whose loss is the
sum of the outputs that are single numbers, or of all outputs where none is, and writes the graph: `rematlas
solve`, `rematlas sweep` and the explorer open it. With --optimizer the step ends with its fused updates.
With --device meta the step is recorded from shapes for the card of a device profile, which need not be
there; the function may build its model on the meta device, and with --values the arguments have values.
`run` trains by a plan; --verify runs the original beside it and compares every bit. `build` compiles the
package for the torch that is installed.
"""

import argparse
import importlib
import json
import os
import pathlib
import sys

from rematlas_command import compiling

from .errors import Refused, message


class Parser(argparse.ArgumentParser):
    def error(self, message):
        wrong(message)


def wrong(message):
    """Wrong usage or input: one line, and the status that says so."""
    print(f"rematlas: {str(message).removeprefix('rematlas: ')}", file=sys.stderr)
    sys.exit(2)


def made_by(name):
    module, colon, function = name.partition(":")
    if not colon:
        wrong(f"{name}: expected package.module:function")
    sys.path.insert(0, os.getcwd())
    try:
        made = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        wrong(f"{name}: {error}")
    try:
        made = made()
    except Exception as error:
        wrong(f"{name} raises {type(error).__name__}: {message(error)}")
    if not (isinstance(made, tuple) and len(made) in (2, 3)):
        wrong(f"{name}: it returns a {type(made).__name__}; expected (model, args) or (model, args, kwargs)")
    return (*made, {}) if len(made) == 2 else made


def optimizer_of(options, model):
    """As `rematlas capture` has it; None for none."""
    import torch

    given = numbers_of(options)
    if given is None:
        return None
    if "beta1" in given or "beta2" in given:
        given["betas"] = (given.pop("beta1", 0.9), given.pop("beta2", 0.999))
    make = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[options.optimizer]
    try:
        return make(model.parameters(), fused=True, **given)
    except (RuntimeError, ValueError) as error:
        wrong(f"--optimizer {options.optimizer}: {message(error)}")


def numbers_of(options):
    """The optimizer's options by name; None where there is no optimizer."""
    flags = {
        "sgd": ("nesterov", "maximize"),
        "adam": ("amsgrad", "maximize"),
        "adamw": ("amsgrad", "maximize"),
    }
    numbers = {
        "sgd": ("lr", "momentum", "weight_decay"),
        "adam": ("lr", "beta1", "beta2", "eps", "weight_decay"),
    }
    if options.optimizer == "none":
        if options.optimizer_options:
            wrong("--optimizer-options: goes with --optimizer sgd, adam or adamw")
        return None
    given = {}
    for item in filter(None, options.optimizer_options.split(",")):
        name, _, value = item.partition("=")
        known = (*numbers["sgd" if options.optimizer == "sgd" else "adam"], *flags[options.optimizer])
        if name not in known:
            wrong(f"--optimizer-options: {name}: {options.optimizer} has the options {', '.join(known)}")
        try:
            given[name] = bool(float(value)) if name in flags[options.optimizer] else float(value)
        except ValueError:
            wrong(f"--optimizer-options: {item}: expected option=number")
    return given


def check_device(options, model) -> None:
    """Of a step that really runs."""
    for name in ("device_profile", "values", "autocast"):
        if getattr(options, name):
            wrong(f"--{name.replace('_', '-')}: goes with --device meta")
    own = {parameter.device.type for parameter in model.parameters()}
    if options.device is not None and own - {options.device.partition(":")[0]}:
        wrong(
            f"--device {options.device}: the function's model lies on {', '.join(sorted(own))}: move it there"
        )


def graph_for_card(options, model, args, kwargs) -> str:
    from .cards.absent_device import AbsentDevice
    from .cards.recorded_step import graph_of_step

    if options.device_profile is None:
        wrong("--device meta: --device-profile is missing: the card to plan for (h100, or a profile's path)")
    numbers = numbers_of(options)
    try:
        card = AbsentDevice(options.device_profile)
    except ValueError as error:
        wrong(f"--device-profile {error}")
    optimizer = None if numbers is None else (options.optimizer, numbers)
    args = (args,) if not isinstance(args, (tuple, list)) else tuple(args)
    how = {"optimizer": optimizer, "values": options.values, "autocast": options.autocast}
    return graph_of_step(model, args, kwargs, card, **how).graph_text()


def capture(options) -> int:
    from .api import graph_of

    model, args, kwargs = made_by(options.function)
    if options.device == "meta":
        text = graph_for_card(options, model, args, kwargs)
    else:
        check_device(options, model)
        text = graph_of(model, args, kwargs, optimizer_of(options, model))
    path = pathlib.Path(options.output or f"{type(model).__name__}.graph.json")
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text)
        part.replace(path)
    except OSError as error:
        wrong(f"{path}: {error.strerror}")
    if options.json:
        graph = json.loads(text)
        print(json.dumps({"graph": str(path), "ops": len(graph["ops"]), "tensors": len(graph["tensors"])}))
    else:
        print(path)
    return 0


def run(options) -> int:
    from .plan_file import Plan
    from .run import run, text_of

    try:
        plan = Plan.read(options.plan)
    except (OSError, ValueError) as error:
        wrong(error)
    report = run(
        *made_by(options.function), plan, steps=options.steps, seed=options.seed, verify=options.verify
    )
    print(json.dumps(report) if options.json else text_of(report))
    return 1 if report["verified"] is False else 0


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def main() -> int:
    if sys.argv[1:2] == ["build"]:
        return compiling.main(sys.argv[2:])
    parser = Parser(
        prog="python -m rematlas", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("capture", help="records a step of a model and writes its graph")
    one.set_defaults(do=capture)
    one.add_argument("function", metavar="package.module:function")
    one.add_argument("-o", "--output", metavar="x.graph.json")
    one.add_argument(
        "--optimizer",
        choices=("none", "sgd", "adam", "adamw"),
        default="none",
        help="its fused updates end the step",
    )
    one.add_argument(
        "--device",
        metavar="meta",
        help="meta: from shapes, for the card of --device-profile; by default where the model lies",
    )
    one.add_argument("--device-profile", metavar="h100", help="with --device meta: the card to plan for")
    one.add_argument(
        "--values", action="store_true", help="with --device meta: the arguments keep the values they have"
    )
    one.add_argument(
        "--autocast", choices=("bf16", "f16"), help="with --device meta: torch.autocast around the forward"
    )
    one.add_argument("--optimizer-options", default="", metavar="lr=0.1,...", help="as in `rematlas capture`")
    one.add_argument("--json", action="store_true", help="print one object")
    one.add_argument(
        "--quiet", action="store_true", help="as in `rematlas capture`; there is no progress to show"
    )
    two = commands.add_parser("run", help="trains by a plan, and compares with the original")
    two.set_defaults(do=run)
    two.add_argument("function", metavar="package.module:function")
    two.add_argument("plan", metavar="x.plan", help="or s.schedule.json with its graph file beside it")
    two.add_argument("--steps", type=positive, default=5)
    two.add_argument("--seed", type=int, default=1, help="of the model's random numbers")
    two.add_argument(
        "--verify",
        action="store_true",
        help="run the original too (it must fit into memory) and compare bit by bit",
    )
    two.add_argument("--json", action="store_true", help="print one object")
    two.add_argument(
        "--quiet", action="store_true", help="as in `rematlas run`; there is no progress to show"
    )
    options = parser.parse_args()
    try:
        return options.do(options)
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:
        if "REMATLAS_TRACEBACK" in os.environ:
            raise
        wrong(
            f"{options.function}: the model fails: {type(error).__name__}: {message(error)}"
            " (REMATLAS_TRACEBACK=1 shows where)"
        )


if __name__ == "__main__":
    sys.exit(main())
