"""Handles programs that end their process in the middle of a command."""

import contextlib
import os
import sys

ENDED = 2  # the exit status for wrong input


class Told(SystemExit):
    """Raised to end the command after the reason has been printed."""


def tell(function: str, command: str) -> None:
    what = "the steps were run" if command == "run" else "the step was recorded"
    print(f"rematlas: {function}: the program ended its process before {what}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def told(function: str, command: str):
    """A context. If the caller's program, named `function` in the message, calls sys.exit or os._exit within
    the context, one line is printed and the exit status is ENDED. Processes that the program forks may end in
    any way."""
    process, leave = os.getpid(), os._exit

    def tell_and_leave(status):
        if os.getpid() == process:
            tell(function, command)
            status = ENDED
        leave(status)

    os._exit = tell_and_leave
    try:
        yield
    except Told:
        raise
    except SystemExit as end:
        tell(function, command)
        raise Told(ENDED) from end
    finally:
        os._exit = leave
