"""The compiled part: torch.classes.rematlas, loaded once.

`REMATLAS_PROGRAMS` names the folder of a build; else it is the package's own `bin` (an installed wheel), or
the build of the checkout that the package lies in.
"""

import os
import pathlib

import torch

LIBRARY = "librematlas_training.so"


def folder() -> pathlib.Path:
    """Raises ImportError that says how to build when there is none."""
    here = pathlib.Path(__file__).resolve().parent
    if "REMATLAS_PROGRAMS" in os.environ:
        candidates = [pathlib.Path(os.environ["REMATLAS_PROGRAMS"])]
    else:
        candidates = [here / "bin", here.parents[2] / "build" / "release" / "bin"]
    for candidate in candidates:
        if (candidate / LIBRARY).exists() and (candidate / "torch_version").exists():
            return candidate
    raise ImportError(
        f"rematlas: {LIBRARY} is not in {' nor in '.join(map(str, candidates))}; build it in a checkout (make"
        " build) and set REMATLAS_PROGRAMS to its build/release/bin, or install the wheel that `make wheel`"
        " builds"
    )


def minor_of(version: str) -> str:
    """Returns "2.11" of "2.11.0+cu130"."""
    return ".".join(version.split(".")[:2])


def load() -> None:
    """Host memory is counted from here on. Raises ImportError where the build is for another torch."""
    found = folder()
    made_for = (found / "torch_version").read_text().strip()
    if minor_of(torch.__version__) != minor_of(made_for):
        raise ImportError(
            f"rematlas: built for torch {minor_of(made_for)}, and this is torch {torch.__version__}; in a"
            f" checkout, make build TORCH={torch.__version__.partition('+')[0]} builds for it"
        )
    torch.ops.load_library(str(found / LIBRARY))


load()
classes = torch.classes.rematlas
ops = torch.ops.rematlas


def in_one_line(call, *given):
    """Calls the compiled part. What libtorch says of arguments of another type prints all of them, with the
    numbers in the caller's tensors: of that the first line is left."""
    try:
        return call(*given)
    except RuntimeError as error:
        if type(error) is not RuntimeError:
            raise
        raise RuntimeError(str(error).partition("\n")[0]) from None


# Exceptions of Python code that ran below the compiled part, where no caller takes them: signals' handlers,
# functions that are called back. The compiled part has them raised as soon as it is back where somebody does.
kept = []


def raise_kept() -> None:
    if kept:
        raise kept.pop(0)


_raising = torch.library.Library("rematlas", "FRAGMENT")
_raising.define("raise_kept() -> ()")
_raising.impl("raise_kept", raise_kept, "CompositeExplicitAutograd")
