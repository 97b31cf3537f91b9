"""Compares the output that a page shows with the output that a program prints.

Words, counts and numbers of bytes must be equal. Numbers that differ between machines are not compared:
times, percentages, speeds, factors (`x2`), and numbers with a decimal point that do not count bytes. Two
kinds of peaks are not compared either, because a search with a time limit finds them: a peak after an
overhead (`x1.04, 15.3 GiB`), and the peak of a schedule (`15.3 GiB of a budget`). If the predicted and the
measured peak are equal on the page, they must be equal in the output, but may be other numbers. A line `...`
on the page stands for any number of lines. Empty lines and the number of spaces between words do not matter.
"""

import dataclasses
import re

from blocks import Line

NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
BYTES = r"(?:[kKMGTP]i?B|B|bytes?)"
TIME = r"(?:ns|us|µs|μs|ms|s|min|h|d|nanoseconds?|microseconds?|milliseconds?|seconds?|minutes?|hours?|days?)"
# The order matters: text that one pattern has matched is not tried with later patterns.
PATTERNS = (
    ("answer", re.compile(rf"(?<![\w.])x\d+(?:\.\d+)?, {NUMBER} ?{BYTES}(?![\w/])")),
    ("peak", re.compile(rf"{NUMBER} ?{BYTES}(?= of a budget)")),
    ("met", re.compile(rf"(?P<predicted>{NUMBER} ?{BYTES}) predicted, (?P=predicted) measured")),
    ("version", re.compile(r"\b\d+\.\d+\.\d+[\w.+]*")),
    ("speed", re.compile(rf"{NUMBER} ?[A-Za-z]+/s(?:ec|econd)?\b")),
    ("bytes", re.compile(rf"{NUMBER} ?{BYTES}(?![\w/])")),
    ("time", re.compile(rf"(?<![\w.]){NUMBER} ?{TIME}(?![\w/])(?: {NUMBER} ?{TIME}(?![\w/]))*")),
    ("share", re.compile(rf"(?<![\w.]){NUMBER} ?%")),
    ("factor", re.compile(r"(?<![\w.])x\d+(?:\.\d+)?(?![\w.])")),
    ("number", re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d+(?:e[-+]?\d+)?|\d+e[-+]?\d+)(?![\w.]*\w)")),
)
AS_THEY_STAND = ("version", "bytes")
FREE = re.compile("|".join(f"(?P<{name}>{pattern.pattern})" for name, pattern in PATTERNS))
RULE = re.compile(r"[-─=]{3,}")


def comparable(line: str) -> str:
    """Returns the line for the comparison: each number that is not compared is replaced by a word for its
    kind."""

    def word(found: re.Match) -> str:
        return found[0] if found.lastgroup in AS_THEY_STAND else f"<{found.lastgroup}>"

    return " ".join(RULE.sub("---", FREE.sub(word, " ".join(line.split()))).split())


@dataclasses.dataclass(frozen=True)
class Difference:
    line: int  # line in the page
    expected: str
    came: str

    def __str__(self) -> str:
        return f"expected: {self.expected}\n    came:     {self.came}"


def difference(shown: list[Line], output: str) -> Difference | None:
    """Returns the first line of the page that is missing in the output, or None."""
    came = [line for line in output.splitlines() if line.strip()]
    parts = split_at_dots(shown)
    at = 0
    for number, part in enumerate(parts):
        is_first, is_last = number == 0, number == len(parts) - 1
        starts = [at] if is_first else range(at, len(came) + 1)
        if is_last and not is_first:
            starts = [max(at, len(came) - len(part))] if part else [len(came)]
        found = [matched(part, came[start:]) for start in starts]
        if len(part) not in found:
            longest = max(found)
            start = starts[found.index(longest)]
            missing = part[longest]
            rest = came[start + longest : start + longest + 1] if is_first or is_last or longest else []
            return Difference(missing.number, missing.text.strip(), (rest or ["no such line"])[0].strip())
        at = starts[found.index(len(part))] + len(part)
    if at < len(came) and shown:
        return Difference(shown[-1].number, "no more lines", came[at].strip())
    return None


def split_at_dots(shown: list[Line]) -> list[list[Line]]:
    parts = [[]]
    for line in shown:
        if line.text.strip() == "...":
            parts.append([])
        elif line.text.strip():
            parts[-1].append(line)
    return parts


def matched(part: list[Line], came: list[str]) -> int:
    """Returns how many of the first lines of the part are equal to the first lines of the output."""
    count = 0
    for line, other in zip(part, came):
        if comparable(line.text) != comparable(other):
            break
        count += 1
    return count
