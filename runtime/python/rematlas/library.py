"""The compiled part: torch.classes.rematlas, loaded once.

The environment variable `REMATLAS_PROGRAMS` names the folder of a build. Without it, the build for the
installed torch is taken from the package, or from the checkout that contains the package.
"""

import os
import pathlib

import torch

from rematlas_command import builds


def folder() -> pathlib.Path:
    """Returns the folder of the build. If there is no build for this torch, raises ImportError, which says
    what to do."""
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


torch.ops.load_library(str(folder() / builds.LIBRARY))  # host memory is counted from this call on
classes = torch.classes.rematlas
ops = torch.ops.rematlas


def passed_on(name: str):
    """Returns a method that calls the method `name` of `self.made`, an object of the compiled part."""

    def method(self, *given):
        return getattr(self.made, name)(*given)

    return method


def in_one_line(call, *given):
    """Calls the compiled part, and shortens the texts of its errors to their first line. If an argument has a
    wrong type, libtorch's text prints all arguments, including the values in the caller's tensors."""
    try:
        return call(*given)
    except RuntimeError as error:
        if type(error) is not RuntimeError:
            raise
        raise RuntimeError(str(error).partition("\n")[0]) from None


# Exceptions from Python code that the compiled part calls where no caller could catch them: in signal
# handlers and callbacks. The compiled part raises them as soon as a caller can catch them.
kept = []


def raise_kept() -> None:
    if kept:
        raise kept.pop(0)


_raising = torch.library.Library("rematlas", "FRAGMENT")
_raising.define("raise_kept() -> ()")
_raising.impl("raise_kept", raise_kept, "CompositeExplicitAutograd")
