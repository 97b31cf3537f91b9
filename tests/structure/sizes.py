"""Finds functions of the product with more than 80 lines, constructors with more than 8 parameters, and files
with more than 450 lines.

    python sizes.py FOLDER     # the repository; lists what it finds, with exit status 1 if there is anything
"""

import pathlib
import sys

import lizard

PRODUCT = ("core", "runtime", "viz", "app")
LONGEST_FUNCTION, LONGEST_FILE, MOST_PARAMETERS = 80, 450, 8


def files(root: pathlib.Path) -> list[pathlib.Path]:
    found = [path for folder in PRODUCT for path in (root / folder).rglob("*")]
    return sorted(path for path in found if path.suffix in (".cpp", ".h", ".py"))


def is_constructor(name: str) -> bool:
    *outer, last = name.split("::")
    return last == "__init__" or (bool(outer) and outer[-1] == last)


def too_large(path: pathlib.Path) -> list[str]:
    text = path.read_text()
    lines = text.count("\n")
    found = [f"{path}: {lines} lines, {LONGEST_FILE} may be"] if lines > LONGEST_FILE else []
    for function in lizard.analyze_file.analyze_source_code(str(path), text).function_list:
        where = f"{path}:{function.start_line}: {function.name}"
        if function.length > LONGEST_FUNCTION:
            found.append(f"{where}: {function.length} lines, {LONGEST_FUNCTION} may be")
        parameters = len(function.full_parameters) - (path.suffix == ".py")  # does not count self
        if is_constructor(function.name) and parameters > MOST_PARAMETERS:
            found.append(f"{where}: {parameters} parameters, {MOST_PARAMETERS} may be")
    return found


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    paths = files(root)
    found = [line for path in paths for line in too_large(path)]
    print(*found, f"{len(paths)} files, {len(found)} of them or of their functions too large", sep="\n")
    return 1 if found or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
