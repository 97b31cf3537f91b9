"""docs/solvers.md has a row for each solver, and docs/reference/settings.md has a section for its options.
The solvers are read from the entries in the sources, so the test needs no build."""

import re
import unittest
from collections import Counter

from running import ROOT

ROWS = ROOT / "docs" / "solvers.md"
SECTIONS = ROOT / "docs" / "reference" / "settings.md"
ENTRY = re.compile(r'\bsolver_entry<[^;]*?\{\.name = "([^"]+)"([^;]*);')
CONFIG_TYPE = re.compile(r'\.config_type = "([^"]+)"')


def solvers() -> dict[str, str]:
    """Returns the name of each solver with its type in configurations."""
    found = {}
    for path in sorted((ROOT / "core" / "solvers").rglob("*.cpp")):
        source = path.read_text()
        entries = ENTRY.findall(source)
        if len(entries) != source.count("solver_entry<"):
            raise ValueError(f'{path}: the traits of an entry do not begin with .name = "..."')
        for name, traits in entries:
            own = CONFIG_TYPE.search(traits)
            found[name] = own[1] if own else name
    return found


def rows() -> list[str]:
    """Returns the names in the first column of the table "All of them"."""
    table = ROWS.read_text().partition("\n## All of them\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)


def sections() -> list[str]:
    return re.findall(r"^### Type (.+)$", SECTIONS.read_text(), re.MULTILINE)


class Solvers(unittest.TestCase):
    def compare(self, on_page: list[str], in_sources: list[str], what: str):
        missing, unknown = Counter(in_sources) - Counter(on_page), Counter(on_page) - Counter(in_sources)
        self.assertEqual(list(missing), [], f"these solvers have no {what}")
        self.assertEqual(list(unknown), [], f"these have a {what}, and are no solver or have two")

    def test_every_solver_has_a_row_and_every_row_a_solver(self):
        self.assertGreater(len(solvers()), 10)
        self.compare(rows(), list(solvers()), f'row under "All of them" of {ROWS}')

    def test_every_solver_has_a_section_for_its_options_and_every_section_a_solver(self):
        self.compare(sections(), list(solvers().values()), f'section "### Type ..." of {SECTIONS}')


if __name__ == "__main__":
    unittest.main()
