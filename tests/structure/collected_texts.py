"""Finds texts of the explorer and of its pictures that resources/translations/rematlas_de.ts lacks. A German
window would show them in English. Qt looks up a text among the texts of its class, so a text that the file
has only for another class counts as missing.

    python collected_texts.py FOLDER     # the repository; lists such texts, with exit status 1 if any
"""

import ast
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

SOURCES = ("app/explorer", "viz/paint")
TRANSLATION = "resources/translations/rematlas_de.ts"
LITERALS = r'("(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*)'
OF_A_CLASS = re.compile(r"(?:\b(\w+)::)?\btr\(\s*" + LITERALS)
OF_A_CONTEXT = re.compile(r'\b(?:translate|say|QT_TRANSLATE_NOOP)\(\s*"(\w+)",\s*' + LITERALS)
# These patterns match from the beginning of a line: a class, a function of a class, or any other definition.
CLASS = re.compile(r"(?:class|struct)\s+(\w+)[^;]*$")
ARGUMENTS = r"<[^<>]*(?:<[^<>]*>[^<>]*)*>"  # arguments of a template
FUNCTION_OF_A_CLASS = re.compile(rf"(?=\w)(?:[\w:*& ]|{ARGUMENTS})*?\b(\w+)::(?:~?\w+|operator\W+)\(")
OUTSIDE = re.compile(r"[\w}]")


def classes_at(code: str) -> list[str]:
    """Returns the name of a class for each line: the class whose definition, or whose function, contains the
    line. The name is empty if no class is found. The sources are formatted, so only code outside of functions
    and classes begins at the first column."""
    found, current = [], ""
    for line in code.splitlines():
        if opened := CLASS.match(line) or FUNCTION_OF_A_CLASS.match(line):
            current = opened[1]
        elif OUTSIDE.match(line):
            current = ""
        found.append(current)
    return found


def texts_in(source: str) -> Iterator[tuple[str, str]]:
    """Yields (context, text) for each text that goes through a translator. The context of `tr` is the class
    named before it, or else the class around it. It is empty if no class is found."""
    code = "\n".join("" if line.lstrip().startswith("//") else line for line in source.splitlines())
    classes = classes_at(code)
    for call in OF_A_CLASS.finditer(code):
        around = classes[code.count("\n", 0, call.start())]
        yield call[1] or around, ast.literal_eval(f"({call[2]})")
    for context, literals in OF_A_CONTEXT.findall(code):
        yield context, ast.literal_eval(f"({literals})")


def collected(translation: pathlib.Path) -> set[tuple[str, str]]:
    """Returns (context, text) for each text in the file, and each text a second time with an empty
    context."""
    found = set()
    for context in ElementTree.parse(translation).getroot().iter("context"):
        for message in context.iter("message"):
            text = message.findtext("source")
            found |= {(context.findtext("name"), text), ("", text)}
    return found


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    known = collected(root / TRANSLATION)
    paths = [path for folder in SOURCES for path in sorted((root / folder).rglob("*"))]
    texts = [
        (path.relative_to(root), context, text)
        for path in paths
        if path.suffix in (".cpp", ".h")
        for context, text in sorted(set(texts_in(path.read_text())))
    ]
    missing = [
        f"{path}: {text!r}" + (f" of {context}" if context else "")
        for path, context, text in texts
        if (context, text) not in known
    ]
    print(*missing, f"{len(texts)} texts, {len(missing)} of them are not in {TRANSLATION}", sep="\n")
    return 1 if missing or not texts else 0


if __name__ == "__main__":
    sys.exit(main())
