"""python -m rematlas capture package.module:function [-o x.graph.json] [--optimizer adamw]
python -m rematlas capture package.module:function --device meta --device-profile h100 [--values]
python -m rematlas fits package.module:function [--optimizer adamw] [--cards h100,rtx4090] [--offload all]
python -m rematlas run package.module:function x.plan [--steps 5] [--seed 1] [--verify] [--json]
python -m rematlas build [--force]

The function returns (model, args, kwargs), or (model, args); `--set batch=8` passes it a keyword argument.
`capture` records two steps, whose loss is the sum of the outputs that are single numbers, or of all outputs
if there is no such number, and writes the graph: `rematlas solve`, `rematlas sweep` and the explorer open it.
With --optimizer the step ends with its fused updates. With --device meta the step is recorded from shapes for
a card that need not exist, given by a device profile. The function may then build its model on the meta
device, the arguments have values only with --values, and the step may end with any optimizer of torch.optim
and torchao; --master-weights f32 adds f32 copies of 16-bit parameters. `fits` tells which cards the step
fits. `run` trains by a plan; --verify also runs the original and compares every bit. `build` compiles the
package for the torch that is installed.
"""

import argparse
import sys

from rematlas_command import compiling


def main() -> int:
    if sys.argv[1:2] == ["build"]:
        return compiling.main(sys.argv[2:])
    from .command_line import capture_command, early_end, fits_command, run_command, where_from
    from .command_line.model_function import wrong
    from .errors import Refused, message

    class Parser(argparse.ArgumentParser):
        def error(self, message):
            wrong(message)

    parser = Parser(
        prog="python -m rematlas", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for command in (capture_command, fits_command, run_command):
        command.add(commands)
    options = parser.parse_args()
    try:
        with early_end.told(options.function, options.command):
            return options.do(options)
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:
        where_from.print_where(error)
        hint = "" if where_from.is_asked() else f" ({where_from.ASKED_BY}=1 shows where)"
        wrong(f"{options.function}: the model fails: {type(error).__name__}: {message(error)}{hint}")


if __name__ == "__main__":
    sys.exit(main())
