"""python -m rematlas capture package.module:function [-o x.graph.json]
python -m rematlas run package.module:function x.plan [--steps 5] [--seed 1] [--verify] [--json]

The function returns (model, args, kwargs), or (model, args). `capture` records two steps, whose loss is the sum of the
outputs that are single numbers, or of all outputs where none is, and writes the graph: `rematlas solve`, `rematlas sweep` and
the explorer open it. `run` trains by a plan; --verify runs the original beside it and compares every bit.
"""

import argparse
import importlib
import json
import os
import pathlib
import sys

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


def capture(options) -> int:
    from .api import graph_of

    model, args, kwargs = made_by(options.function)
    text = graph_of(model, args, kwargs)
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
    from .api import Plan
    from .run import run, text_of

    try:
        plan = Plan.read(options.plan)
    except (OSError, ValueError) as error:
        wrong(error)
    report = run(*made_by(options.function), plan, steps=options.steps, seed=options.seed, verify=options.verify)
    print(json.dumps(report) if options.json else text_of(report))
    return 1 if report["verified"] is False else 0


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def main() -> int:
    parser = Parser(prog="python -m rematlas", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("capture", help="records a step of a model and writes its graph")
    one.set_defaults(do=capture)
    one.add_argument("function", metavar="package.module:function")
    one.add_argument("-o", "--output", metavar="x.graph.json")
    one.add_argument("--json", action="store_true", help="print one object")
    one.add_argument("--quiet", action="store_true", help="as in `rematlas capture`; there is no progress to show")
    two = commands.add_parser("run", help="trains by a plan, and compares with the original")
    two.set_defaults(do=run)
    two.add_argument("function", metavar="package.module:function")
    two.add_argument("plan", metavar="x.plan", help="or s.schedule.json with its graph file beside it")
    two.add_argument("--steps", type=positive, default=5)
    two.add_argument("--seed", type=int, default=1, help="of the model's random numbers")
    two.add_argument("--verify", action="store_true", help="run the original too (it must fit into memory) and compare bit by bit")
    two.add_argument("--json", action="store_true", help="print one object")
    two.add_argument("--quiet", action="store_true", help="as in `rematlas run`; there is no progress to show")
    options = parser.parse_args()
    try:
        return options.do(options)
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:
        if "REMATLAS_TRACEBACK" in os.environ:
            raise
        wrong(f"{options.function}: the model fails: {type(error).__name__}: {message(error)} (REMATLAS_TRACEBACK=1 shows where)")


if __name__ == "__main__":
    sys.exit(main())
