"""python -m rematlas capture package.module:function [-o x.graph.json]

The function returns (model, args, kwargs), or (model, args). Two steps are recorded, with the sum of the outputs as their
loss, and the graph is written: `rematlas solve`, `rematlas sweep` and the explorer open it.
"""

import argparse
import importlib
import os
import pathlib
import sys


def capture(options) -> int:
    module, colon, function = options.function.partition(":")
    if not colon:
        sys.exit(f"rematlas: {options.function}: expected package.module:function")
    sys.path.insert(0, os.getcwd())
    from .api import graph_of
    from .errors import Refused

    try:
        made = getattr(importlib.import_module(module), function)()
    except (ImportError, AttributeError) as error:
        sys.exit(f"rematlas: {options.function}: {error}")
    model, args, *rest = made
    try:
        text = graph_of(model, args, rest[0] if rest else None)
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    path = pathlib.Path(options.output or f"{type(model).__name__}.graph.json")
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    part.replace(path)
    print(path)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m rematlas", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("capture", help="records a step of a model and writes its graph")
    one.add_argument("function", metavar="package.module:function")
    one.add_argument("-o", "--output", metavar="x.graph.json")
    return capture(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
