"""Reads headings, paragraphs and links of a repository's Markdown, without building the site."""

import dataclasses
import pathlib
import re
import urllib.parse

FENCE = re.compile(r"^ *(`{3,}|~{3,})")
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^)\s>]*)>?(?: \"[^\"]*\")?\)")
HEADING = re.compile(r"^#+ +(.*?)(?: *\{ *#([\w-]+) *\})? *#*$")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
FOLDERS = ("app", "bench", "core", "docs", "resources", "runtime", "tests", "viz")


def fenced(text: str) -> list[tuple[int, str, bool]]:
    """Returns (number, line, whether the line is a fence or inside a fenced block) for each line."""
    lines, fence = [], ""
    for number, line in enumerate(text.splitlines(), 1):
        found = FENCE.match(line)
        lines.append((number, line, bool(fence or found)))
        if fence:
            fence = "" if line.strip() == fence else fence
        elif found:
            fence = found[1]
    return lines


def prose(text: str) -> list[tuple[int, str]]:
    """Returns the lines outside of fenced and indented blocks, with their numbers. Code within a line is
    removed."""
    lines, is_behind_empty, is_indented = [], True, False
    for number, line, is_fenced in fenced(text):
        if is_fenced:
            continue
        is_indented = line.startswith("    ") and (is_behind_empty or is_indented)
        is_behind_empty = not line.strip()
        if not is_indented:
            lines.append((number, CODE.sub("``", line)))
    return lines


def headings(text: str) -> list[tuple[str, str | None]]:
    """Returns the words of each heading, and its explicit anchor, or None if it has none."""
    found = [HEADING.match(line) for _, line, is_fenced in fenced(text) if not is_fenced]
    return [(plain(heading[1]), heading[2]) for heading in found if heading]


def plain(text: str) -> str:
    return re.sub(r"[`*]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))


def paragraphs(text: str) -> list[tuple[int, list[str]]]:
    """Returns each paragraph with the number of its first line. Lists and tables are not paragraphs."""
    found, current, before = [], [], 0
    for number, line in prose(text):
        is_text = line.strip() and not re.match(r" *([-*|#>] |\||\d+\. |!\[|<!--)", line)
        if not is_text or number != before + 1:
            current = []
        if is_text:
            if not current:
                found.append((number, current))
            current.append(line)
        before = number
    return found


def long_lines(text: str, most: int) -> list[tuple[int, int]]:
    """Returns number and length of each line of prose that is too long. Tables and pictures may be longer."""
    lines = dict(enumerate(text.splitlines(), 1))
    return [
        (number, len(lines[number]))
        for number, line in prose(text)
        if len(lines[number]) > most and not line.lstrip().startswith(("|", "!["))
    ]


@dataclasses.dataclass(frozen=True)
class Tree:
    root: pathlib.Path

    @property
    def docs(self) -> pathlib.Path:
        return self.root / "docs"

    @property
    def screenshots(self) -> pathlib.Path:
        """Returns the folder of the pictures that site.sh copies to docs/pictures."""
        return self.root / "resources" / "screenshots"

    def files(self) -> list[pathlib.Path]:
        """Returns the Markdown files of the repository, except those of builds and environments."""
        below = [path for name in FOLDERS for path in (self.root / name).rglob("*.md")]
        return sorted([*self.root.glob("*.md"), *below])

    def name(self, path: pathlib.Path) -> str:
        return str(path.relative_to(self.root))

    def is_of_docs(self, path: pathlib.Path) -> bool:
        return path.is_relative_to(self.docs)

    def anchors(self, path: pathlib.Path) -> set[str]:
        """Returns the anchors of a page. A page in docs has anchors in the form of MkDocs; another page has
        them in the form of GitHub."""
        found, text = set(), path.read_text()
        for words, own in headings(text):
            slug = re.sub(r"[^\w\s-]", "", words).strip().lower()
            slug = re.sub(r"[-\s]+", "-", slug) if self.is_of_docs(path) else slug.replace(" ", "-")
            name, count = own or slug, 0
            while name in found:
                count += 1
                name = f"{own or slug}{'_' if self.is_of_docs(path) else '-'}{count}"
            found.add(name)
        return found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))

    def target_of(self, path: pathlib.Path, place: str) -> pathlib.Path:
        target = (path.parent / place).resolve() if place else path
        return self.screenshots / target.name if target.parent == self.docs / "pictures" else target

    def broken_links(self, path: pathlib.Path) -> list[str]:
        found = []
        for number, line in prose(path.read_text()):
            for link in LINK.findall(line):
                if re.match(r"[a-z]+:", link):
                    continue
                place, _, anchor = urllib.parse.unquote(link).partition("#")
                wrong = self.wrong_with(path, self.target_of(path, place), anchor)
                if wrong:
                    found.append(f"{self.name(path)}:{number}: {link}: {wrong}")
        return found

    def wrong_with(self, path: pathlib.Path, target: pathlib.Path, anchor: str) -> str:
        if not target.exists():
            return "there is no such file"
        if self.is_of_docs(path) and not (self.is_of_docs(target) or target.parent == self.screenshots):
            return "lies outside of docs, where the site has nothing"
        if anchor and target.suffix == ".md" and anchor not in self.anchors(target):
            return "the page has no heading with this anchor"
        return ""
