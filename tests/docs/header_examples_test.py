"""The code examples at the top of core's headers compile.

$CXX is the compiler. If there is no compiler, the test is skipped.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from header_examples import Example, examples_of, translation_unit
from names_of_examples import NAMES
from running import ROOT

FOLDER = "core"
AT_A_TIME = 30  # examples in one file; compiling the headers, which they share, takes most of the time
COMPILER = shutil.which(os.environ.get("CXX", "c++"))


def examples() -> list[Example]:
    headers = sorted((ROOT / FOLDER).rglob("*.h"))
    found = [examples_of(header, str(header.relative_to(ROOT))) for header in headers]
    return [example for example in found if example]


def errors_of(text: str) -> str:
    """Returns the compiler's messages about a file with this text; empty if it compiles."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "examples.cpp"
        path.write_text(text)
        command = [COMPILER, "-std=c++20", "-fsyntax-only", "-w", f"-I{ROOT}", str(path)]
        return subprocess.run(command, capture_output=True, text=True).stderr


@unittest.skipUnless(COMPILER, "no C++ compiler")
class HeaderExamples(unittest.TestCase):
    maxDiff = None

    def test_they_compile(self):
        found = examples()
        self.assertGreater(len(found), 60)
        for at in range(0, len(found), AT_A_TIME):
            errors = errors_of(translation_unit(found[at : at + AT_A_TIME], NAMES))
            wrong = [line for line in errors.splitlines() if ": error:" in line]
            with self.subTest(group=at):
                self.assertEqual(wrong, [], errors[-2000:] if not wrong else None)

    def test_a_wrong_example_is_noticed(self):
        wrong = Example("core/base/ids.h", 7, ["OpId op{3};", "use(op.nothing);"])
        self.assertIn("core/base/ids.h:8", errors_of(translation_unit([wrong], {})))


if __name__ == "__main__":
    if "--print" in sys.argv:
        print(translation_unit(examples(), NAMES))
    else:
        unittest.main()
