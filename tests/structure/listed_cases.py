"""Finds Python tests that no test of ctest runs.

python listed_cases.py FOLDER     # the repository; lists such tests, with exit status 1 if there are any
"""

import ast
import pathlib
import re
import sys


def classes_with_tests(path: pathlib.Path) -> list[str]:
    """Returns the names of the classes in a file that define tests. Inherited tests do not count."""
    classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    return [
        found.name
        for found in classes
        if any(isinstance(part, ast.FunctionDef) and part.name.startswith("test") for part in found.body)
    ]


def main() -> int:
    folder = pathlib.Path(sys.argv[1]) / "tests/runtime"
    listed = set(re.findall(r"\b\w+_test(?:\.\w+)?", (folder / "CMakeLists.txt").read_text()))
    paths = sorted((folder / "python").glob("*_test.py"))
    cases = [(path.stem, name) for path in paths for name in classes_with_tests(path)]
    unlisted = [f"{file}.{name}" for file, name in cases if not listed & {file, f"{file}.{name}"}]
    print(*unlisted, f"{len(cases)} cases, {len(unlisted)} of them are run by no test of ctest", sep="\n")
    return 1 if unlisted or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
