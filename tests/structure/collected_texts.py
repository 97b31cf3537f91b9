"""Finds texts of the explorer and of its pictures that resources/translations/rematlas_de.ts lacks, so that a
German window would show them in English.

    python collected_texts.py FOLDER     # the repository; lists such texts, with exit status 1 if any
"""

import ast
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

SOURCES = ("app/explorer", "viz/paint")
TRANSLATION = "resources/translations/rematlas_de.ts"
LITERALS = r'("(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*)'
OF_A_CLASS = re.compile(r"\btr\(\s*" + LITERALS)
OF_A_CONTEXT = re.compile(r'\b(?:translate|say|QT_TRANSLATE_NOOP)\(\s*"(\w+)",\s*' + LITERALS)


def texts_in(source: str) -> set[tuple[str, str]]:
    """Returns (context, text) of each text that goes through a translator. The context of `tr` is left empty,
    because it is the class around the call."""
    code = "\n".join(line for line in source.splitlines() if not line.lstrip().startswith("//"))
    found = {("", literals) for literals in OF_A_CLASS.findall(code)} | set(OF_A_CONTEXT.findall(code))
    return {(context, ast.literal_eval(f"({literals})")) for context, literals in found}


def collected(translation: pathlib.Path) -> set[tuple[str, str]]:
    """Returns (context, text) of each text in the file; and each text once more with an empty context."""
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
        for context, text in sorted(texts_in(path.read_text()))
    ]
    missing = [f"{path}: {text!r}" for path, context, text in texts if (context, text) not in known]
    print(*missing, f"{len(texts)} texts, {len(missing)} of them are not in {TRANSLATION}", sep="\n")
    return 1 if missing or not texts else 0


if __name__ == "__main__":
    sys.exit(main())
