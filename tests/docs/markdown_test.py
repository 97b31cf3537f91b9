"""Checks the Markdown of the repository without building the site: the targets of links, anchors and pictures
exist, every page is in the navigation of mkdocs.yml, and the README is short.
"""

import pathlib
import re
import tempfile
import unittest

from markdown_tree import Tree, long_lines, paragraphs

TREE = Tree(pathlib.Path(__file__).resolve().parents[2])
MOST_COLUMNS, MOST_LINES_OF_README, MOST_LINES_OF_PARAGRAPH = 110, 150, 4


class Repository(unittest.TestCase):
    maxDiff = None

    def assert_none(self, faults: list[str]) -> None:
        if faults:
            self.fail("\n" + "\n".join(faults))

    def test_links_anchors_and_pictures_lead_somewhere(self):
        self.assert_none([fault for path in TREE.files() for fault in TREE.broken_links(path)])

    def test_every_page_is_in_the_navigation_and_every_page_of_the_navigation_is_there(self):
        text = (TREE.root / "mkdocs.yml").read_text()
        named = set(re.findall(r"^ +- .*?([\w/]+\.md)$", text, re.MULTILINE))
        self.assertEqual({str(path.relative_to(TREE.docs)) for path in TREE.docs.rglob("*.md")}, named)

    def test_lines_are_short(self):
        pages = [TREE.root / "README.md", *sorted(TREE.docs.rglob("*.md"))]
        self.assert_none(
            [
                f"{TREE.name(path)}:{number}: {length} columns, {MOST_COLUMNS} may be"
                for path in pages
                for number, length in long_lines(path.read_text(), MOST_COLUMNS)
            ]
        )

    def test_the_readme_is_short_and_so_are_its_paragraphs(self):
        text = (TREE.root / "README.md").read_text()
        self.assertLessEqual(text.count("\n"), MOST_LINES_OF_README)
        long = [(at, lines) for at, lines in paragraphs(text) if len(lines) > MOST_LINES_OF_PARAGRAPH]
        self.assert_none([f"README.md:{at}: a paragraph of {len(lines)} lines" for at, lines in long])


class Noticed(unittest.TestCase):
    """Tests the checks themselves, on a small tree."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Tree(pathlib.Path(folder.name).resolve())
        self.write("docs/other.md", "# Other\n\n## What `solve` says\n\n## Twice\n\n## Twice\n")
        self.write("resources/screenshots/window.png", "")
        self.write("core/README.md", "# core\n")

    def write(self, name: str, text: str) -> pathlib.Path:
        path = self.tree.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def faults(self, text: str, name="docs/guides/page.md") -> list[str]:
        return self.tree.broken_links(self.write(name, text))

    def test_links_that_lead_somewhere_pass(self):
        text = (
            "# Page\n[a](../other.md) [b](../other.md#what-solve-says) [c](../other.md#twice_1) [d](#page)\n"
            "![e](../pictures/window.png) [f](https://example.org/x) `[g](nowhere.md)`\n\n"
            "```text\n[h](nowhere.md)\n```\n"
        )
        self.assertEqual(self.faults(text), [])
        self.assertEqual(
            self.faults("![](resources/screenshots/window.png) [x](core/README.md)", "README.md"), []
        )

    def test_links_that_lead_nowhere_are_told_with_page_and_line(self):
        self.assertEqual(
            self.faults("\n[a](nowhere.md)"), ["docs/guides/page.md:2: nowhere.md: there is no such file"]
        )
        self.assertIn("no heading with this anchor", self.faults("[a](../other.md#none)")[0])
        self.assertIn("there is no such file", self.faults("![a](../pictures/none.png)")[0])
        self.assertIn("outside of docs", self.faults("[a](../../core/README.md)")[0])

    def test_long_lines_and_paragraphs_are_counted_without_code_and_tables(self):
        text = "word " * 30 + "\n\n| " + "cell " * 30 + "|\n\n```text\n" + "out " * 40 + "\n```\n"
        self.assertEqual(long_lines(text, 110), [(1, 150)])
        text = "one\ntwo\nthree\n\n- item\n- item\n\n    code\n    code\n"
        self.assertEqual(paragraphs(text), [(1, ["one", "two", "three"])])


if __name__ == "__main__":
    unittest.main()
