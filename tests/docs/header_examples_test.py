"""The code examples at the top of headers compile.

    python header_examples_test.py                            # all folders
    python header_examples_test.py HeaderExamples.test_viz    # one folder
    python header_examples_test.py --print runtime            # prints the file that is compiled

$CXX is the compiler. CMake puts the folders with the headers of Qt, torch and CUDA into
$REMATLAS_HEADERS_OF_QT, $REMATLAS_HEADERS_OF_TORCH and $REMATLAS_HEADERS_OF_CUDA. If there is no compiler, or
a library that a folder needs is missing, the test is skipped.
"""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from example_names import NAMES
from header_examples import Example, examples_of, translation_unit
from outcome import main
from running import ROOT

COMPILER = shutil.which(os.environ.get("CXX", "c++"))


@dataclasses.dataclass(frozen=True)
class Floor:
    """A folder whose examples are compiled as one file, because the headers take most of the time."""

    folder: str
    least: int  # the test fails if the folder has fewer examples
    name_files: tuple[str, ...] = ("core.h",)
    libraries: tuple[str, ...] = ()

    def name(self) -> str:
        return self.folder.replace("/", "_")

    def examples(self) -> list[Example]:
        headers = [header for header in sorted((ROOT / self.folder).rglob("*.h")) if floor_of(header) == self]
        found = [examples_of(header, str(header.relative_to(ROOT))) for header in headers]
        return [example for example in found if example]

    def text(self, examples: list[Example]) -> str:
        files = [f"tests/docs/example_names/{file}" for file in self.name_files]
        return translation_unit(examples, files, NAMES)

    def missing_libraries(self) -> list[str]:
        return [library for library in self.libraries if not folders_of(library)]

    def errors_of(self, examples: list[Example]) -> str:
        """Returns the compiler's messages about a file with these examples; empty if it compiles."""
        folders = [str(ROOT), *(folder for library in self.libraries for folder in folders_of(library))]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "examples.cpp"
            path.write_text(self.text(examples))
            command = [COMPILER, "-std=c++20", "-fPIC", "-fsyntax-only", "-w", *(f"-I{f}" for f in folders)]
            done = subprocess.run([*command, str(path)], capture_output=True, text=True)
        return done.stderr if done.returncode else ""


FLOORS = (
    Floor("core", least=80),
    Floor("viz", least=10, name_files=("core.h", "viz.h")),
    Floor("app", least=5),
    Floor("app/explorer", least=12, name_files=("core.h", "explorer.h"), libraries=("QT",)),
    Floor("runtime", least=45, name_files=("core.h", "runtime.h"), libraries=("TORCH",)),
    Floor("runtime/device/cuda", least=0, name_files=("core.h", "runtime.h"), libraries=("TORCH", "CUDA")),
)


def floor_of(header: pathlib.Path) -> Floor:
    """Returns the innermost floor that has the header."""
    around = [floor for floor in FLOORS if header.is_relative_to(ROOT / floor.folder)]
    return max(around, key=lambda floor: len(floor.folder))


def folders_of(library: str) -> list[str]:
    folders = os.environ.get(f"REMATLAS_HEADERS_OF_{library}", "")
    return folders.split(os.pathsep) if folders else []


@unittest.skipUnless(COMPILER, "no C++ compiler")
class HeaderExamples(unittest.TestCase):
    def look_at(self, floor: Floor) -> None:
        examples = floor.examples()
        self.assertGreaterEqual(len(examples), floor.least)
        missing = floor.missing_libraries()
        if missing:
            self.skipTest(f"no headers of {', '.join(missing)}")
        errors = floor.errors_of(examples) if examples else ""
        if errors:
            self.fail("\n".join(line for line in errors.splitlines() if " error:" in line) or errors[-2000:])


class Faults(unittest.TestCase):
    @unittest.skipUnless(COMPILER, "no C++ compiler")
    def test_the_compiler_names_the_line(self):
        wrong = Example("core/base/ids.h", 7, ["OpId op{3};", "use(op.nothing);"])
        self.assertIn("core/base/ids.h:8", FLOORS[0].errors_of([wrong]))

    def test_no_number_is_too_large_for_its_type(self):
        """Computes the shifts in examples, because the compiler accepts `2 << 30`, which is a negative
        int."""
        for example in (example for floor in FLOORS for example in floor.examples()):
            shifts = re.findall(r"\b(\d+) << (\d+)", "\n".join(example.code))
            with self.subTest(header=example.header):
                self.assertEqual([shift for shift in shifts if int(shift[0]) << int(shift[1]) >= 2**31], [])


def add_test(floor: Floor) -> None:
    setattr(HeaderExamples, f"test_{floor.name()}", lambda self: self.look_at(floor))


for floor in FLOORS:
    add_test(floor)

if __name__ == "__main__":
    if sys.argv[1:2] == ["--print"]:
        for floor in FLOORS:
            if floor.name() in sys.argv[2:]:
                print(floor.text(floor.examples()))
    else:
        main()
