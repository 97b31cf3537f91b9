"""Shows where an error of the caller's program comes from."""

import os
import pathlib
import sys
import traceback

ASKED_BY = "REMATLAS_TRACEBACK"
OWN = str(pathlib.Path(__file__).resolve().parents[1]) + os.sep


def is_asked() -> bool:
    return ASKED_BY in os.environ


def print_where(error) -> None:
    """If the environment sets `REMATLAS_TRACEBACK`, prints the traceback of an error without the frames of
    this package, which do not help the caller."""
    if not is_asked():
        return
    told = traceback.TracebackException.from_exception(error)
    frames = [frame for frame in told.stack if not is_between(frame.filename)]
    told.stack = traceback.StackSummary.from_list(frames or told.stack)
    print("".join(told.format()), file=sys.stderr, end="")


def is_between(file: str) -> bool:
    return file.startswith((OWN, "<frozen ")) or file.endswith(os.path.join("importlib", "__init__.py"))
