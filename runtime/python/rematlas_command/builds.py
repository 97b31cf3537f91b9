"""Finds the builds of the compiled part. The parts of libtorch that the compiled part uses are not stable, so
each minor version of torch needs its own build. A wheel has the builds in `rematlas/bin/torch2.11` and so on,
a checkout in `build/release/bin` and `build/release-torch-2.11.0/bin`. A file `torch_version` in each of
these folders contains the version of torch that the build is for.
"""

import importlib.metadata
import importlib.util
import pathlib

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "rematlas"
LIBRARY = "librematlas_training.so"
NO_TORCH = "this Python environment has no torch: activate an environment that has it, or pip install torch"


def minor_of(version: str) -> str:
    """Returns "2.11" for "2.11.0+cu130"."""
    return ".".join(version.split(".")[:2])


def installed_torch() -> str:
    """Returns the version of the torch that this interpreter imports; empty if there is no torch."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return ""


def folder_of_torch() -> pathlib.Path:
    """Returns the folder of the package torch, without importing it."""
    return pathlib.Path(importlib.util.find_spec("torch").origin).parent


def checkout() -> pathlib.Path | None:
    """Returns the checkout that contains this package; None if the package is installed."""
    root = PACKAGE.parents[2]
    return root if (root / "runtime" / "python" / "rematlas") == PACKAGE else None


def version_of(folder: pathlib.Path) -> str:
    """Returns the version of torch that a build is for; empty if the folder has no complete build."""
    told = folder / "torch_version"
    return told.read_text().strip() if told.exists() and (folder / LIBRARY).exists() else ""


def all_builds() -> dict:
    """Returns the folders of all builds, by the minor version of torch that each is for."""
    root = checkout()
    folders = sorted((PACKAGE / "bin").glob("torch*"))
    if root is not None:
        folders += [root / "build" / "release" / "bin", *sorted((root / "build").glob("release-torch-*/bin"))]
    found = {}
    for folder in folders:
        version = version_of(folder)
        if version:
            found.setdefault(minor_of(version), folder)
    return found


def find(version: str) -> pathlib.Path | None:
    """Returns the folder of the build for this version of torch; None if there is none."""
    return all_builds().get(minor_of(version))


def why_none(version: str) -> str:
    """Returns a text that says that there is no build for this version, and which command makes one."""
    there = ", ".join(sorted(all_builds(), key=lambda minor: [int(part) for part in minor.split(".")]))
    has = f"there are builds for torch {there}" if there else "there is no build"
    plain = version.partition("+")[0]
    makes = (
        f"`make build TORCH={plain}` makes one"
        if checkout() is not None
        else "`python -m rematlas build` makes one, in some minutes; it needs g++"
    )
    return f"{has}, and this is torch {version}: {makes}"
