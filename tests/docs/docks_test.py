"""docs/guides/explorer.md names every dock of the explorer with its keys."""

import re
import unittest

from running import ROOT

PAGE = ROOT / "docs" / "guides" / "explorer.md"
ENTRIES = ROOT / "app" / "explorer" / "docks" / "all_docks.cpp"
ENTRY = re.compile(r'\.title = QT_TRANSLATE_NOOP\("Docks", "([^"]+)"\),.*?\.shortcut = "([^"]+)"', re.DOTALL)


class Docks(unittest.TestCase):
    def test_every_dock_is_on_the_page_with_its_keys(self):
        source, page = ENTRIES.read_text(), PAGE.read_text()
        docks = ENTRY.findall(source)
        self.assertEqual(len(docks), source.count(".id = "))
        self.assertGreater(len(docks), 10)
        for title, keys in docks:
            with self.subTest(title):
                # The keys follow the title in parentheses, or in the next cell of a table.
                self.assertRegex(page, rf"{re.escape(title)}(\*? \(|\*, | \| )`{re.escape(keys)}`")


if __name__ == "__main__":
    unittest.main()
