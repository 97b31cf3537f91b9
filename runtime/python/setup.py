"""Makes a wheel for one kind of system and any Python: the compiled programs in rematlas/bin do not depend on
Python.

`make wheel` copies the programs from builds. A source distribution (`make sdist`) has the sources in `source`
instead. They are compiled for the torch of the environment when the wheel is built.
"""

import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "source"
BIN = HERE / "rematlas" / "bin"
OF_TORCH = ("rematlas-runtime", "librematlas_training.so", "librematlas_cuda.so", "torch_version")
OF_NO_TORCH = ("rematlas", "rematlas-layout")
LEFT_OUT = ["-DREMATLAS_GUI=OFF", "-DREMATLAS_TESTS=OFF", "-DREMATLAS_BENCHES=OFF"]


def must_compile() -> bool:
    return SOURCE.exists() and not (BIN / "rematlas").exists()


def take(names, folder) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        built = SOURCE / "build" / "bin" / name
        if built.exists():
            shutil.copy(built, folder)


def compile_programs() -> None:
    """Compiles the sources for the torch that this interpreter imports, and puts the programs into BIN."""
    minor = ".".join(importlib.metadata.version("torch").split(".")[:2])
    # Programs find torch relative to their own folder. The torch that they are compiled against may be gone
    # when they run, because pip may install it only for the build.
    beside = "$ORIGIN/../../../torch/lib;$ORIGIN/../../../nvidia/cu13/lib"
    options = [*LEFT_OUT, f"-DREMATLAS_PYTHON={sys.executable}", f"-DCMAKE_BUILD_RPATH={beside}"]
    build = ["-S", SOURCE, "-B", SOURCE / "build", "-G", "Ninja"]
    subprocess.run(["cmake", *build, "-DCMAKE_BUILD_TYPE=Release", *options], check=True)
    jobs = os.environ.get("MAX_JOBS", str(os.cpu_count()))
    programs = ["--target", "programs", "-j", jobs]
    subprocess.run(["cmake", "--build", SOURCE / "build", *programs], check=True)
    take(OF_NO_TORCH, BIN)
    take(OF_TORCH, BIN / f"torch{minor}")


class ForThisSystem(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]

    def run(self):
        if must_compile():
            compile_programs()
        super().run()


needed = ["torch>=2.11", "numpy", "cmake>=3.25", "ninja"] if must_compile() else []
setup(cmdclass={"bdist_wheel": ForThisSystem}, setup_requires=needed)
