"""Programs that end their process in the middle of a command."""

import contextlib
import os
import sys

ENDED = 2  # the status of wrong input


class Told(SystemExit):
    """The command ends, and has told why."""


def tell(function: str, command: str) -> None:
    line = f"rematlas: {function}: the program ended its process before the step was recorded"
    if command == "run":
        line = f"rematlas: {function}: the program ended its process before the steps were run"
    print(line, file=sys.stderr, flush=True)


@contextlib.contextmanager
def told(function: str, command: str):
    """Says in one line that the program of `function` ends its process here, by sys.exit or os._exit.
    The status is ENDED then. Processes that the program forks end as they like."""
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
