"""Where the compiled part lies, and how its programs are called.

`REMATLAS_PROGRAMS` names the folder of a build; else it is the one noted when the package was installed, or that of
the checkout that the package lies in.
"""

import json
import os
import pathlib
import subprocess

import torch

LIBRARY = "librematlas_training.so"


def folder() -> pathlib.Path:
    """Raises ImportError that says how to build when there is none."""
    here = pathlib.Path(__file__).resolve().parent
    candidates = []
    if "REMATLAS_PROGRAMS" in os.environ:
        candidates.append(pathlib.Path(os.environ["REMATLAS_PROGRAMS"]))
    else:
        if (here / "programs.txt").exists():
            candidates.append(pathlib.Path((here / "programs.txt").read_text().strip()))
        candidates.append(here.parents[2] / "build" / "release" / "bin")
    for candidate in candidates:
        if (candidate / LIBRARY).exists():
            return candidate
    raise ImportError(
        f"rematlas: {LIBRARY} is not in {' nor in '.join(map(str, candidates))}; build it in a checkout "
        "(make setup && cmake --preset release && cmake --build build/release) and set REMATLAS_PROGRAMS to "
        "its build/release/bin"
    )


def library():
    """torch.classes.rematlas, loaded once. From then on host memory is counted."""
    torch.ops.load_library(str(folder() / LIBRARY))
    return torch.classes.rematlas


class ProgramError(RuntimeError):
    """What a program said. `answer` is the object that it printed, where it printed one."""

    def __init__(self, message: str, answer: dict | None = None):
        super().__init__(message)
        self.answer = answer


def run(*arguments: str) -> dict:
    """Runs `rematlas ARGUMENTS --json` and returns its object."""
    program = folder() / "rematlas"
    if not program.exists():
        raise ImportError(f"rematlas: {program} is missing; build it: cmake --build build/release --target rematlas rematlas-runtime")
    done = subprocess.run(
        [str(program), *arguments, "--json", "--quiet"], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    answer = None
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        pass
    if done.returncode == 0 and answer is not None:
        return answer
    lines = done.stderr.strip().splitlines()
    raise ProgramError(lines[-1] if lines else f"rematlas {arguments[0]}: exit status {done.returncode}", answer)
