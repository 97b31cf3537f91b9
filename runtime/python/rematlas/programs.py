"""The command line of an installed wheel: hands over to the compiled program."""

import importlib.util
import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).resolve().parent / "bin" / "rematlas"
    if not program.exists():
        sys.exit(f"rematlas: {program} is missing; install the wheel that `make wheel` builds")
    torch = importlib.util.find_spec("torch")  # which is not imported by this
    if torch is not None and torch.origin is not None:
        libraries = [
            pathlib.Path(torch.origin).parent / "lib",
            pathlib.Path(torch.origin).parents[1] / "nvidia" / "cu13" / "lib",
        ]
        paths = [str(path) for path in libraries if path.is_dir()] + [os.environ.get("LD_LIBRARY_PATH", "")]
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, paths))
    os.environ.setdefault("REMATLAS_PYTHON", sys.executable)
    os.execv(program, [str(program), *sys.argv[1:]])
