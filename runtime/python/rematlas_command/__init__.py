"""The command line of an installed wheel. It starts the compiled program without importing torch, so commands
without torch begin in milliseconds.
"""

import importlib.util
import os
import sys

from . import builds


def main() -> None:
    if sys.argv[1:2] == ["build"]:
        from . import compiling

        sys.exit(compiling.main(sys.argv[2:]))
    program = builds.PACKAGE / "bin" / "rematlas"
    if not program.exists():
        sys.exit(f"rematlas: {program} is missing; install the wheel that `make wheel` builds")
    os.environ.setdefault("REMATLAS_PYTHON", sys.executable)
    os.environ.update(environment_of_runtime())
    os.execv(program, [str(program), *sys.argv[1:]])


def environment_of_runtime() -> dict:
    """Returns environment variables for the program. They name the runtime that runs models with the
    installed torch, or the reason why there is no such runtime."""
    version = builds.installed_torch()
    if not version:
        return {"REMATLAS_NO_RUNTIME": builds.NO_TORCH}
    found = builds.find(version)
    if found is None or not (found / "rematlas-runtime").exists():
        return {"REMATLAS_NO_RUNTIME": builds.why_none(version)}
    packages = builds.folder_of_torch().parent
    libraries = [packages / "torch" / "lib", packages / "nvidia" / "cu13" / "lib"]
    paths = [str(path) for path in libraries if path.is_dir()] + [os.environ.get("LD_LIBRARY_PATH", "")]
    return {
        "REMATLAS_RUNTIME": os.environ.get("REMATLAS_RUNTIME") or str(found / "rematlas-runtime"),
        "LD_LIBRARY_PATH": os.pathsep.join(filter(None, paths)),
    }


def check_torch() -> None:
    """Raises ImportError, which says what to do, if this Python environment has no torch. In
    `python -m rematlas`, ends the process with one line instead."""
    if importlib.util.find_spec("torch") is not None:
        return
    if sys.argv[:1] == ["-m"]:
        sys.exit(f"rematlas: {builds.NO_TORCH}")
    raise ImportError(f"rematlas: {builds.NO_TORCH}")


def is_build_asked() -> bool:
    """Says whether the process is `python -m rematlas build`. This command makes the compiled part, which
    everything else in the package needs."""
    return sys.argv[:2] == ["-m", "build"]
