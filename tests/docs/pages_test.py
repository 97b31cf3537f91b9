"""Runs the commands and the Python of the documentation's pages and compares the outputs (comparing.py).

    python pages_test.py                                   # all pages
    python pages_test.py Pages.test_guides_trainer         # docs/guides/trainer.md

A page that needs Python packages that are not installed is skipped (tests/integrations/environment.sh
installs them). The exit status is 77 if all requested pages are skipped.
"""

import pathlib
import unittest

from blocks import Page
from outcome import main
from running import ROOT, PageRun, missing_modules, programs, python_of_pages

MUST_RUN = (
    "docs/start/",
    "docs/guides/",
    "README.md",
)  # pages with a block that is run, or with a mark `not run`


def pages() -> list[pathlib.Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(path: pathlib.Path) -> str:
    return str(path.relative_to(ROOT))


def test_name(path: pathlib.Path) -> str:
    return "test_" + name_of(path).removeprefix("docs/").removesuffix(".md").replace("/", "_").lower()


class Pages(unittest.TestCase):
    def look_at(self, path: pathlib.Path) -> None:
        name = name_of(path)
        page = Page.read(path, name)
        if not page.runnable():
            if name.startswith(MUST_RUN) and not page.reasons:
                self.fail(f"{name}: no block is run; `<!-- not run: REASON -->` says why there is none")
            return
        missing = missing_modules(page, python_of_pages())
        if missing:
            self.skipTest(f"{name} needs {', '.join(missing)}")
        faults = PageRun(page, programs(), python_of_pages()).run()
        if faults:
            self.fail("\n" + "\n".join(faults))


def add_test(path: pathlib.Path) -> None:
    setattr(Pages, test_name(path), lambda self: self.look_at(path))


for path in pages():
    add_test(path)

if __name__ == "__main__":
    main()
