"""Makes pages of `rematlas report` for tests, and starts a browser that opens them.

REMATLAS_PROGRAM names the command line.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from devtools import Browser, Page, find_browser
from graphs import write_network

PROGRAM = os.environ.get("REMATLAS_PROGRAM", "rematlas")
NOT_HERE = 77  # exit status that tells CTest that a test was skipped


def run(*words: object) -> str:
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


class Made:
    """The pages that all tests use. They are made once."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.graph = folder / "network.graph.json"
        write_network(self.graph)
        self.plans = [folder / f"at{percent}.schedule.json" for percent in (60, 80)]
        for plan, percent in zip(self.plans, (60, 80), strict=True):
            run("solve", self.graph, "--budget", f"{percent}%", "--solver", "dtr", "-o", plan)
        sweep = folder / "network.sweep.json"
        run("sweep", self.graph, "--solver", "dtr,chen-greedy", "--budgets", "4", "-o", sweep)
        self.several = self.page("several", self.graph, *self.plans, sweep)
        self.alone = self.page("alone", self.graph)
        self.swept = self.page("swept", sweep)

    def page(self, name: str, *files: object) -> pathlib.Path:
        path = self.folder / f"{name}.html"
        run("report", *files, "-o", path)
        return path


class PageTest(unittest.TestCase):
    """The tests of a class share the pages and the browser."""

    @classmethod
    def setUpClass(cls) -> None:
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.made = Made(pathlib.Path(folder))
        cls.browser = cls.enterClassContext(Browser())

    def open(self, path: pathlib.Path, tab: str | None = None) -> Page:
        page = self.browser.open(path)
        self.addCleanup(page.close)
        self.addCleanup(lambda: self.assertEqual(page.faults(), []))
        if tab:
            page.click_on(f"#tab-{tab}")
        return page

    def state(self, page: Page, what: str) -> object:
        return page.evaluate(f"rematlas.{what}")

    def focus(self, page: Page, view: str) -> None:
        page.evaluate(f"rematlas.views.{view}.picture.canvas.focus()")


def main() -> None:
    """Runs the tests. Exits with `NOT_HERE` if there is no browser."""
    if find_browser() is None:
        print("Skipped: no chromium is here (apt install chromium, or name one in $REMATLAS_BROWSER).")
        sys.exit(NOT_HERE)
    unittest.main()
