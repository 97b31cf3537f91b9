"""python -m rematlas build

Compiles the package for the installed torch if the wheel has no build for it. This takes some minutes and
needs g++ 12 or later. The parts that do not use torch are already compiled in the wheel, and are only linked.
If torch's packages include the headers of CUDA, the part for GPUs is also built.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

from . import builds

SOURCE = pathlib.Path(__file__).resolve().parent / "source.tar.xz"  # see resources/wheel/build.sh
FILES_AT_A_TIME = 6  # files compiled as one, because reading libtorch's headers takes most of the time
BYTES_OF_COMPILER = 2 << 30
OPTIONS = ("-std=c++20", "-O3", "-DNDEBUG", "-fPIC", "-w")
LINKING = ("-Wl,--as-needed", "-Wl,--allow-shlib-undefined", "-Wl,-s")
RUN_PATHS = ("$ORIGIN/../lib", "$ORIGIN/../../../torch/lib", "$ORIGIN/../../../nvidia/cu13/lib")


class Failed(Exception):
    """Raised with one line that says what to do."""


class Tree:
    """The unpacked sources of the wheel, with the compiler, and the folder of the torch to compile them
    for."""

    def __init__(self, root: pathlib.Path, compiler: str, torch: pathlib.Path):
        self.root, self.compiler, self.torch = root, compiler, torch
        self.targets = json.loads((root / "targets.json").read_text())
        self.cuda = torch.parent / "nvidia" / "cu13"
        self.objects = {}  # object files, by target

    def has_cuda(self) -> bool:
        has_headers = (self.cuda / "include" / "cuda_runtime_api.h").exists()
        return has_headers and (self.torch / "lib" / "libtorch_cuda.so").exists()

    def includes(self) -> list:
        torch = self.torch / "include"
        system = [self.root / "include", torch, torch / "torch" / "csrc" / "api" / "include"]
        system += [self.cuda / "include"] if self.has_cuda() else []
        return [f"-I{self.root}", *(word for folder in system for word in ("-isystem", str(folder)))]

    def units(self) -> list:
        """Makes the files to compile. Each file includes several source files of one target. Returns a list
        of pairs (target, file)."""
        made = []
        for target, files in self.targets.items():
            if target == "rematlas_cuda" and not self.has_cuda():
                continue
            for number in range(0, len(files), FILES_AT_A_TIME):
                unit = self.root / f"{target}_{number}.cpp"
                batch = files[number : number + FILES_AT_A_TIME]
                unit.write_text("".join(f'#include "runtime/{file}"\n' for file in batch))
                made.append((target, unit))
        return made

    def compile(self, target: str, unit: pathlib.Path) -> None:
        run([self.compiler, *OPTIONS, *self.includes(), "-c", str(unit), "-o", f"{unit}.o"])
        self.objects.setdefault(target, []).append(f"{unit}.o")

    def link(self, to: pathlib.Path) -> None:
        runtime, training = self.objects["rematlas_runtime"], self.objects["rematlas_scheduled_module"]
        without_torch = [str(self.root / name) for name in ("librematlas_transfers.a", "librematlas_core.a")]
        needed = sorted(str(file) for file in (builds.PACKAGE / "bin" / "lib").glob("lib*.so*"))
        cpu = self.libraries("torch_cpu", "c10")
        shared = ["-shared"]
        made = self.objects["rematlas_training"] + training + runtime
        self.link_one(to / builds.LIBRARY, shared, made + without_torch + needed + cpu)
        made = self.objects["rematlas-runtime"] + runtime
        self.link_one(to / "rematlas-runtime", [], made + without_torch + needed + cpu)
        if self.has_cuda():
            runtime_of_cuda = sorted(map(str, (self.cuda / "lib").glob("libcudart.so*")))[:1]
            needed = [*runtime_of_cuda, *cpu, *self.libraries("c10_cuda", "torch_cuda")]
            shared += ["-Wl,--no-as-needed"]
            self.link_one(to / "librematlas_cuda.so", shared, self.objects["rematlas_cuda"] + needed)

    def libraries(self, *names) -> list:
        return [str(self.torch / "lib" / f"lib{name}.so") for name in names]

    def link_one(self, to: pathlib.Path, options: list, what: list) -> None:
        paths = [f"-Wl,-rpath,{path}" for path in RUN_PATHS]
        run([self.compiler, *LINKING, *options, "-o", str(to), *what, *paths, "-ldl", "-lpthread"])


def run(command: list) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        raise Failed(f"{pathlib.Path(command[0]).name} failed: {errors[0] if errors else done.returncode}")


def jobs() -> int:
    """Returns how many compilers may run at a time, limited by the machine's processors and free memory."""
    available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(len(os.sched_getaffinity(0)), available // BYTES_OF_COMPILER))


def build(version: str) -> pathlib.Path:
    """Builds the package, and returns the folder of the build. Raises Failed if that is impossible."""
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        raise Failed("g++ is missing (on Debian: apt-get install g++)")
    if not SOURCE.exists():
        raise Failed("this package has no sources: install a wheel that `make wheel` builds")
    to = builds.PACKAGE / "bin" / f"torch{builds.minor_of(version)}"
    if not os.access(to.parent, os.W_OK):
        raise Failed(f"{to.parent} cannot be written: run it as the user who installed the package")
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=".building_") as made:
        made = pathlib.Path(made)
        root, result = made / "source", made / "result"
        result.mkdir()
        with tarfile.open(SOURCE) as sources:
            sources.extractall(root, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        tree = Tree(root, compiler, builds.folder_of_torch())
        units = tree.units()
        with concurrent.futures.ThreadPoolExecutor(jobs()) as pool:
            futures = [pool.submit(tree.compile, *unit) for unit in units]
            for number, future in enumerate(concurrent.futures.as_completed(futures), 1):
                if future.exception() is not None:
                    pool.shutdown(cancel_futures=True)
                    raise future.exception()
                print(f"\rrematlas: {number} of {len(units)} files compiled", end="", flush=True)
        print()
        tree.link(result)
        (result / "torch_version").write_text(version + "\n")
        shutil.rmtree(to, ignore_errors=True)
        result.rename(to)
    return to


def main(arguments: list) -> int:
    parser = argparse.ArgumentParser(
        prog="rematlas build", description="Compiles the package for the torch that is installed."
    )
    parser.add_argument("--force", action="store_true", help="also where there is a build for it")
    options = parser.parse_args(arguments)
    version = builds.installed_torch()
    try:
        if not version:
            raise Failed(builds.NO_TORCH)
        found = builds.find(version)
        if found is not None and not options.force:
            print(f"rematlas: there is a build for torch {version} in {found}")
            return 0
        if builds.checkout() is not None:
            raise Failed(
                f"in a checkout, `make build TORCH={version.partition('+')[0]}` builds for another torch"
            )
        print(f"rematlas: compiling for torch {version}, which takes some minutes", flush=True)
        print(f"rematlas: built for torch {version} in {build(version)}")
    except (Failed, OSError) as error:
        print(f"rematlas: {error}", file=sys.stderr)
        return 2
    return 0
