"""Finds the fenced blocks of a Markdown page, and how a test uses each of them.

A `console` block has commands after `$ `, and their outputs. A `python` block is run; a `text` block directly
after a `python` block shows its output. A block with a title is a file. A block after the mark
`<!-- not run: REASON -->` is not used.
"""

import dataclasses
import pathlib
import re

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,}) *(?P<language>[\w+-]*)(?P<options>.*)$")
TITLE = re.compile(r'title="([^"]*)"')
NOT_RUN = re.compile(r"^ *<!-- *not run:(?P<reason>.*)--> *$")


class BadPage(ValueError):
    """A page that breaks the rules. The message begins with page:line."""


@dataclasses.dataclass(frozen=True)
class Line:
    number: int  # number in the page, from 1
    text: str


@dataclasses.dataclass(frozen=True)
class Command:
    """A command of a `console` block, with the output that the page shows."""

    line: int
    text: str
    output: tuple[Line, ...]


@dataclasses.dataclass
class Block:
    line: int  # line of the opening fence
    language: str
    title: str
    lines: list[Line]
    is_run: bool
    behind: "Block | None" = None  # the previous block, if only empty lines are between the two

    @property
    def text(self) -> str:
        return "".join(line.text + "\n" for line in self.lines)

    def is_file(self) -> bool:
        return bool(self.title)

    def is_runnable(self) -> bool:
        return self.is_run and not self.title and self.language in ("console", "python")


@dataclasses.dataclass
class Page:
    path: pathlib.Path
    name: str  # the name of the page in messages
    blocks: list[Block]
    reasons: list[str]  # the reasons in its marks `not run`

    @classmethod
    def read(cls, path: pathlib.Path, name: str | None = None) -> "Page":
        return parsed(path, name or path.name, path.read_text())

    def runnable(self) -> list[Block]:
        return [block for block in self.blocks if block.is_runnable()]

    def output_of(self, block: Block) -> Block | None:
        """Returns the `text` block directly after a `python` block, or None if there is none."""
        return next((b for b in self.blocks if b.behind is block and b.language == "text"), None)


def parsed(path: pathlib.Path, name: str, text: str) -> Page:
    page = Page(path, name, [], [])
    lines = [Line(number, line) for number, line in enumerate(text.splitlines(), 1)]
    is_marked, last, at = False, None, 0
    while at < len(lines):
        line = lines[at]
        mark, fence = NOT_RUN.match(line.text), FENCE.match(line.text)
        if fence:
            end = end_of_block(lines, at, fence, name)
            title = TITLE.search(fence["options"])
            body = [Line(at.number, without(fence["indent"], at.text)) for at in lines[at + 1 : end]]
            block = Block(
                line.number, fence["language"], title[1] if title else "", body, not is_marked, last
            )
            page.blocks.append(block)
            is_marked, last, at = False, block, end + 1
            continue
        if mark:
            if not mark["reason"].strip():
                raise BadPage(f"{name}:{line.number}: the mark `not run` has no reason")
            page.reasons.append(mark["reason"].strip())
            is_marked, last = True, None
        elif line.text.strip():
            is_marked, last = False, None
        at += 1
    return page


def end_of_block(lines, at, fence, name) -> int:
    ticks = fence["ticks"]
    for end in range(at + 1, len(lines)):
        text = lines[end].text.strip()
        if text.startswith(ticks) and not text.strip(ticks[0]):
            return end
    raise BadPage(f"{name}:{lines[at].number}: the block has no end")


def without(indent: str, text: str) -> str:
    return text[len(indent) :] if text.startswith(indent) else text.lstrip(" ")


def commands_of(block: Block, name: str) -> list[Command]:
    """Returns the commands of a `console` block, in order."""
    commands, at = [], 0
    while at < len(block.lines):
        first = block.lines[at]
        if not first.text.startswith("$ "):
            if first.text.strip():
                raise BadPage(f"{name}:{first.number}: a console block begins with a line `$ COMMAND`")
            at += 1
            continue
        text = first.text[2:]
        while text.endswith("\\") and at + 1 < len(block.lines):
            at += 1
            text += "\n" + block.lines[at].text
        at += 1
        while "<<" in text and at < len(block.lines) and block.lines[at].text[:2] in ("> ", ">"):
            text += "\n" + block.lines[at].text[2:]  # a line of a here-document, without the prompt
            at += 1
        output = []
        while at < len(block.lines) and not block.lines[at].text.startswith("$ "):
            output.append(block.lines[at])
            at += 1
        shown = tuple(line for line in output if line.text.strip())
        commands.append(Command(first.number, text, shown))
    return commands
