"""Runs a capture on this machine for an explorer on another machine, and sends the graph there.

The first line of standard input is a request in JSON. Standard input stays open while the capture is wanted.
When standard input ends, the capture and all of its processes are ended, so that no process outlives the
connection. The capture's output goes to standard error. The graph's file goes to standard output.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time

TIME_TO_END = 2  # seconds between SIGTERM and SIGKILL
BETWEEN_LOOKS = 0.1  # seconds between two checks whether the capture is still wanted
ENDED = 130


class Refused(Exception):
    """An error whose message is one sentence for the person at the window."""


def end(process):
    """Ends the capture and the processes that it started."""
    for how, patience in ((signal.SIGTERM, TIME_TO_END), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, how)
        except ProcessLookupError:
            return
        deadline = None if patience is None else time.monotonic() + patience
        while process.poll() is None and (deadline is None or time.monotonic() < deadline):
            time.sleep(BETWEEN_LOOKS / 2)


def is_unwanted():
    """Waits for a moment. Says whether standard input has ended, which means that the capture is unwanted."""
    ready, _, _ = select.select([0], [], [], BETWEEN_LOOKS)
    return bool(ready) and not os.read(0, 65536)


def command_of(request):
    """Returns the command that starts the capture: a module of this Python, or the program rematlas."""
    if request["module"]:
        return [sys.executable, "-m", *request["words"]]
    beside = os.path.dirname(sys.executable)
    program = shutil.which("rematlas", path=os.pathsep.join([beside, os.environ.get("PATH", os.defpath)]))
    if program is None:
        raise Refused(
            f"this machine has no program rematlas beside {sys.executable} or in the PATH: install it there"
        )
    return [program, *request["words"]]


def captured(request):
    """Runs the capture and returns its exit status."""
    if os.path.exists(request["output"]) and not request["replace"]:
        raise Refused(f"{request['output']} is there already: name another graph file")
    environment = {**os.environ, "REMATLAS_TRACEBACK": "1"}
    process = subprocess.Popen(
        command_of(request),
        cwd=request["folder"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while process.poll() is None:
            if is_unwanted():
                return ENDED
        return 128 - process.returncode if process.returncode < 0 else process.returncode
    finally:
        if process.poll() is None:
            end(process)


def hand_over(path):
    print(json.dumps({"stage": "send"}), file=sys.stderr, flush=True)
    with open(path, "rb") as graph:
        shutil.copyfileobj(graph, sys.stdout.buffer, 1 << 20)
    sys.stdout.buffer.flush()


def main():
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(ENDED))
    request = json.loads(sys.stdin.buffer.readline())
    try:
        status = captured(request)
        if status == 0:
            hand_over(request["output"])
    except (OSError, Refused) as error:
        print(f"rematlas: {error}", file=sys.stderr, flush=True)
        status = 2
    return status


if __name__ == "__main__":
    sys.exit(main())
