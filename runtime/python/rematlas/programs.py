"""The command line of an installed wheel: hands over to the compiled program."""

import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).resolve().parent / "bin" / "rematlas"
    if not program.exists():
        sys.exit(f"rematlas: {program} is missing; install the wheel that `make wheel` builds")
    os.execv(program, [str(program), *sys.argv[1:]])
