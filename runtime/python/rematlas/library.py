"""The compiled part: torch.classes.rematlas, loaded once.

`REMATLAS_PROGRAMS` names the folder of a build; else it is that of the package, or of the checkout that the
package lies in, for the torch that is there.
"""

import os
import pathlib

import torch

from rematlas_command import builds


def folder() -> pathlib.Path:
    """Raises ImportError that says what to do where there is none for this torch."""
    version = torch.__version__
    if "REMATLAS_PROGRAMS" not in os.environ:
        found = builds.find(version)
        if found is None:
            raise ImportError(f"rematlas: {builds.why_none(version)}")
        return found
    named = pathlib.Path(os.environ["REMATLAS_PROGRAMS"])
    made_for = builds.version_of(named)
    if not made_for:
        raise ImportError(
            f"rematlas: {builds.LIBRARY} is not in {named}, which REMATLAS_PROGRAMS names: build it in a"
            " checkout (make build), or leave the variable out"
        )
    if builds.minor_of(made_for) != builds.minor_of(version):
        raise ImportError(
            f"rematlas: {named}, which REMATLAS_PROGRAMS names, is built for torch"
            f" {builds.minor_of(made_for)}, and this is torch {version}: name another build, or leave the"
            " variable out"
        )
    return named


def load() -> None:
    """Host memory is counted from here on."""
    torch.ops.load_library(str(folder() / builds.LIBRARY))


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
