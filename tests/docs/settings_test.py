"""Every setting that the sources read has an entry on docs/reference/settings.md."""

import json
import pathlib
import re
import subprocess
import unittest

from running import ROOT, programs

PAGE = ROOT / "docs" / "reference" / "settings.md"
PRODUCT = ("core", "runtime", "viz", "app")
READS_ENVIRONMENT = re.compile(
    r"\bgetenv\(|\bsetenv\(|\bqputenv\(|\bqgetenv\(|qEnvironmentVariable\w*\(|os\.environ|QProcessEnvironment"
)
VARIABLE = re.compile(r"[\"']([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)[\"']")
# Words in capitals that occur in these sources and are not environment variables.
NO_VARIABLES = {"C", "FRAGMENT", "HOST", "SC_AVPHYS_PAGES", "SC_PAGE_SIZE"}
KEPT_BY_EXPLORER = re.compile(
    r"(?:settings_->(?:value|setValue)|\bsetting)\(\"(\w+)\"|lines_setting = \"(\w+)\""
)


def sources() -> list[pathlib.Path]:
    found = [path for folder in PRODUCT for path in (ROOT / folder).rglob("*")]
    return sorted(path for path in found if path.suffix in (".cpp", ".h", ".py"))


def variables() -> dict[str, pathlib.Path]:
    """Returns each environment variable that a source reads or sets, with the source."""
    found = {}
    for path in sources():
        text = path.read_text()
        if READS_ENVIRONMENT.search(text):
            found |= {name: path for name in VARIABLE.findall(text) if name not in NO_VARIABLES}
    return found


def told(section: str) -> list[list[str]]:
    """Returns the rows of the tables below a heading of the page, each as a list of cells."""
    text = PAGE.read_text()
    start = text.index(f"\n{section}\n")
    level = section.partition(" ")[0]
    end = re.search(rf"\n#{{1,{len(level)}}} ", text[start + len(section) :])
    part = text[start : start + len(section) + end.start()] if end else text[start:]
    rows = [re.split(r" *\| *", line.strip("| ")) for line in part.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in row] for row in rows]


def names(section: str) -> set[str]:
    return {name for row in told(section) for name in re.findall(r"`([^`]+)`", row[0])}


class Settings(unittest.TestCase):
    def test_every_environment_variable_has_an_entry(self):
        found, on_page = variables(), names("## Environment variables")
        self.assertGreater(len(found), 10)
        missing = {name: str(path) for name, path in found.items() if name not in on_page}
        self.assertEqual(missing, {}, f"{PAGE} has no entry of these")

    def test_every_entry_is_read_somewhere(self):
        text = "\n".join(path.read_text() for path in sources())
        unread = [name for name in names("## Environment variables") if name not in text]
        self.assertEqual(unread, [], "nothing in the sources names these variables")

    def test_every_key_that_the_explorer_keeps_has_an_entry(self):
        text = "\n".join(path.read_text() for path in (ROOT / "app" / "explorer").rglob("*.cpp"))
        found = {name for pair in KEPT_BY_EXPLORER.findall(text) for name in pair if name}
        self.assertEqual(found | {"inputs", "python", "python_on"}, names("## What the explorer remembers"))


@unittest.skipUnless((programs() / "rematlas").exists(), "the command line is not built")
class Configurations(unittest.TestCase):
    def generated(self, kind: str) -> dict:
        made = subprocess.run(
            [programs() / "rematlas", "config", "generate", kind], capture_output=True, text=True, check=True
        )
        return json.loads(made.stdout)["options"]

    def types(self) -> list[str]:
        asked = [programs() / "rematlas", "config", "generate", "nothing"]
        error = subprocess.run(asked, capture_output=True, text=True).stderr
        return error.rpartition("there are: ")[2].strip().split(", ")

    def test_every_option_of_every_type_has_an_entry_with_its_default(self):
        types = self.types()
        self.assertIn("atlas", types)
        for kind in types:
            with self.subTest(type=kind):
                on_page = {row[0].strip("`"): row[1].strip("`") for row in told(f"### Type {kind}")}
                options = {key: str(value) for key, value in self.generated(kind).items()}
                options = {key: {"True": "true", "False": "false"}.get(v, v) for key, v in options.items()}
                if "milp" in on_page:
                    on_page["milp"] = options["milp"]  # the default depends on the installed libraries
                self.assertEqual(on_page, options)

    def test_the_ranges_are_those_that_the_program_checks(self):
        for kind in self.types():
            for row in told(f"### Type {kind}"):
                limits = re.fullmatch(r"(\S+) to (\S+)", row[2])
                for limit, by in zip(limits.groups() if limits else (), (-1, 1)):
                    with self.subTest(type=kind, option=row[0], limit=limit):
                        self.assertTrue(self.is_accepted(kind, row[0].strip("`"), limit, 0))
                        self.assertFalse(self.is_accepted(kind, row[0].strip("`"), limit, by))

    def is_accepted(self, kind: str, option: str, limit: str, beyond: int) -> bool:
        """Says whether an option accepts this limit of its range (if `beyond` is 0), or a value slightly
        below (-1) or above (1) the limit."""
        is_whole = isinstance(self.generated(kind)[option], int)
        value = int(limit) + beyond if is_whole else float(limit) * (1 + beyond / 100) + beyond * 1e-12
        options = {option: value}
        if option == "start_temperature" and beyond == 0:
            options["end_temperature"] = min(value, 0.01)
        if option == "end_temperature" and beyond == 0:
            options["start_temperature"] = max(value, 1.0)
        text = json.dumps({"format": "rematlas.config", "version": 1, "type": kind, "options": options})
        return self.check(text) == 0

    def check(self, text: str) -> int:
        asked = [programs() / "rematlas", "config", "check", "/dev/stdin"]
        return subprocess.run(asked, input=text, capture_output=True, text=True).returncode


if __name__ == "__main__":
    unittest.main()
