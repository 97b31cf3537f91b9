"""Extracts the messages of Rematlas from its sources: string literals, with … in place of each value.

Python is read by `ast`, C++ by a scan of its literals. A message is a text of at least four words: shorter
texts are names, or parts of messages.
"""

import ast
import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
VALUE = "…"
FEWEST_WORDS = 4


@dataclasses.dataclass(frozen=True)
class Message:
    path: pathlib.Path
    line: int
    text: str

    def where(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def has_words(text, fewest) -> bool:
    return len(re.findall(r"[A-Za-z]{2,}", text.replace(VALUE, " "))) >= fewest and " " in text


def shortened(text) -> str:
    """Replaces each run of blanks by one blank. Replaces each format such as `%s`, and each run of `…`, by
    one `…`."""
    text = re.sub(r"%(\.\d+)?[sdrfg]", VALUE, text)
    return re.sub(r"\s+", " ", re.sub(f"(?:{VALUE})+", VALUE, text)).strip()


# Calls whose texts users do not see as warnings: help of the command line, and logging below the level
# `warning`.
NOT_TOLD = {
    "info",
    "debug",
    "add_argument",
    "add_parser",
    "ArgumentParser",
    "Parser",
    "define",
    "compile",
    "add_example",
}


def python_text(node):
    """Returns the text of a literal, of an f-string, or of a sum of them. Returns None for another
    expression."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else VALUE for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = python_text(node.left), python_text(node.right)
        if left is None and right is None:
            return None
        return (VALUE if left is None else left) + (VALUE if right is None else right)
    return None


class PythonMessages(ast.NodeVisitor):
    """Finds all texts of a file except docstrings and the arguments of NOT_TOLD. A text that is built from
    parts is one text."""

    def __init__(self, path, source, fewest):
        self.path, self.fewest, self.found = path, fewest, []
        self.visit(ast.parse(source))

    def visit_Expr(self, node):
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Call(self, node):
        if getattr(node.func, "attr", getattr(node.func, "id", "")) not in NOT_TOLD:
            self.generic_visit(node)

    def visit(self, node):
        text = python_text(node)
        if text is None:
            super().visit(node)
            return
        if has_words(text, self.fewest):
            self.found.append(Message(self.path, node.lineno, shortened(text)))
        # The values in a text may contain texts themselves: f"{a if b else 'more of it'}".
        for part in ast.walk(node):
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)
            elif isinstance(part, ast.BinOp):
                for side in (part.left, part.right):
                    if python_text(side) is None:
                        self.visit(side)


def python_messages(path, fewest=FEWEST_WORDS) -> list:
    return PythonMessages(path, path.read_text(), fewest).found


# Matches comments, raw string literals, string literals and character literals.
LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([A-Za-z]*)\(.*?\)\1"|"(?P<text>(?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\.)+\'', re.S
)
# Matches code that separates two messages. The parts of one message are joined by +, by commas, or by
# nothing.
BETWEEN_MESSAGES = re.compile(r"[;{}?]|\breturn\b|[^:]:[^:]|[^=!<>]=[^=]|#")


def cpp_messages(path, within=None, fewest=FEWEST_WORDS) -> list:
    """Returns the texts of a file that have at least `fewest` words. If `within` is given, returns only texts
    inside this construct, for example `Error{`."""
    source, found, last_end = path.read_text(), [], None
    allowed = None if within is None else spans_of(source, within)
    for literal in LITERAL.finditer(source):
        text, begin, end = literal["text"], literal.start(), literal.end()
        if text is None or (allowed is not None and not any(a < begin < b for a, b in allowed)):
            continue
        between = ";" if last_end is None else source[last_end:begin]
        if found and not BETWEEN_MESSAGES.search(between):
            found[-1][1] += (VALUE if between.strip() else "") + text
        else:
            found.append([source.count("\n", 0, begin) + 1, text])
        last_end = end
    told = [(line, shortened(text.replace("\\n", " ").replace('\\"', '"'))) for line, text in found]
    return [Message(path, line, text) for line, text in told if has_words(text, fewest)]


def spans_of(source, construct) -> list:
    """Returns the spans in which the construct occurs, each from the opening brace to the closing one."""
    spans = []
    for found in re.finditer(re.escape(construct), source):
        depth, at = 1, found.end()
        while depth and at < min(len(source), found.end() + 2000):
            literal = LITERAL.match(source, at)
            if literal:
                at = literal.end()
                continue
            depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(source[at], 0)
            at += 1
        spans.append((found.start(), at))
    return spans
