"""Tests the page of `rematlas serve` in a real browser: solving, sweeping, cancelling and keeping plans.

$REMATLAS_PICTURES is a folder for pictures of the panel, to look at.
"""

import json
import os
import pathlib
import tempfile
import unittest

from devtools import Browser, Page
from graphs import write_large, write_network
from made_pages import main, run
from serving import Serving

SIZES = ((800, 600), (1280, 800), (1920, 1080))


class ServedPageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.graph = cls.folder / "network.graph.json"
        write_network(cls.graph)
        cls.browser = cls.enterClassContext(Browser())

    def serve(self, *files: object) -> Serving:
        return self.enterContext(Serving(*(files or (self.graph,))))

    def open(self, served: Serving, tab: str | None = None, **size: int) -> Page:
        page = self.browser.open(served.address, **size)
        self.addCleanup(page.close)
        page.wait_for("document.querySelector('#solver').options.length > 0")
        if tab:
            page.click_on(f"#tab-{tab}")
        return page

    def check(self, page: Page, served: Serving) -> None:
        """Checks that the page has no complaints, and that it sent requests only to its own server."""
        self.assertEqual(page.complaints(), [])
        for address in page.requests():
            self.assertTrue(address.startswith(f"http://127.0.0.1:{served.port}/"), address)

    def fill(self, page: Page, field: str, text: str) -> None:
        page.evaluate(f"document.querySelector({json.dumps(field)}).select()")
        page.evaluate(f"document.querySelector({json.dumps(field)}).focus()")
        page.type(text)

    def choose(self, page: Page, field: str, value: str) -> None:
        page.evaluate(
            f"(list => {{ list.value = {json.dumps(value)}; list.dispatchEvent(new Event('change')); }})"
            f"(document.querySelector({json.dumps(field)}))"
        )

    def plans(self, page: Page) -> int:
        return page.evaluate("rematlas.page.plans.length")

    def message(self, page: Page) -> str:
        return page.text_of(".solve [role=status]")


class Solving(ServedPageTest):
    def test_a_click_on_solve_brings_a_plan_into_every_view(self):
        served = self.serve()
        page = self.open(served, "tradeoff")
        self.assertEqual(self.plans(page), 1)
        self.choose(page, "#solver", "dtr")
        self.fill(page, "#budget", "70")
        page.click_on("#solve")
        page.wait_for("rematlas.page.plans.length === 2 && rematlas.chosen.plan.index === 1")
        self.assertIn("Plan B. It needs", page.text_of(".jobs"))
        self.assertEqual(page.evaluate("document.querySelector('#plan').selectedIndex"), 1)
        self.assertEqual(page.evaluate("rematlas.views.tradeoff.marks.length"), 2)
        self.assertTrue(page.evaluate("rematlas.page.plans[1].memory.agrees()"))
        peak = page.evaluate("rematlas.page.plans[0].peak")
        self.assertLessEqual(page.evaluate("rematlas.page.plans[1].peak"), peak * 0.7)
        for tab in ("memory", "compare", "tables"):
            page.click_on(f"#tab-{tab}")
        self.assertEqual(page.evaluate("document.querySelector('#other').options.length"), 2)
        self.check(page, served)

    def test_enter_in_the_budget_solves_and_keys_reach_everything(self):
        served = self.serve()
        page = self.open(served)
        self.choose(page, "#solver", "dtr")
        page.press("s")
        self.assertEqual(page.evaluate("document.activeElement.id"), "budget")
        page.evaluate("document.activeElement.select()")
        page.type("80")
        page.press("Enter")
        page.wait_for("rematlas.page.plans.length === 2")
        reached = []
        for _ in range(6):
            page.press("Tab")
            told = page.evaluate(
                "(e => [e.id || e.textContent, getComputedStyle(e).outlineStyle])(document.activeElement)"
            )
            self.assertEqual(told[1], "solid", told[0])
            reached.append(told[0])
        self.assertEqual(reached, ["budget-unit", "solver", "offload", "time-limit", "solve", "sweep"])
        self.check(page, served)

    def test_a_sweep_grows_in_the_trade_off_and_each_point_is_a_plan(self):
        served = self.serve()
        page = self.open(served, "tradeoff")
        self.choose(page, "#solver", "chen-greedy")
        page.click_on("#sweep")
        page.wait_for("document.querySelector('.jobs li[data-phase=done]')")
        found = page.evaluate("rematlas.page.curves[0].points.filter(point => point.peak !== null)")
        self.assertGreater(len(found), 2)
        for point in found:
            plan = page.evaluate(f"(plan => [plan.peak, plan.index])(rematlas.page.plans[{point['plan']}])")
            self.assertEqual(plan, [point["peak"], point["plan"]])
        self.assertIn("chen-greedy", page.text_of(".tradeoff .legend"))
        page.evaluate("rematlas.views.tradeoff.picture.canvas.focus()")
        page.press("ArrowRight")
        page.press("Enter")
        self.assertEqual(
            page.evaluate("rematlas.chosen.plan.index"),
            page.evaluate("rematlas.views.tradeoff.marks[rematlas.views.tradeoff.current].plan.index"),
        )
        self.check(page, served)

    def test_two_pages_see_the_same_plans(self):
        served = self.serve()
        first = self.open(served)
        self.choose(first, "#solver", "dtr")
        first.click_on("#solve")
        first.wait_for("rematlas.page.plans.length === 2")
        second = self.open(served)
        second.wait_for("rematlas.page.plans.length === 2")
        self.assertEqual(second.evaluate("rematlas.chosen.plan.index"), 0, "nobody chose another one here")
        peaks = "rematlas.page.plans.map(plan => plan.peak)"
        self.assertEqual(first.evaluate(peaks), second.evaluate(peaks))

    def test_a_plan_is_kept_as_a_file_that_check_accepts(self):
        served = self.serve()
        page = self.open(served)
        self.choose(page, "#solver", "dtr")
        page.click_on("#solve")
        page.wait_for("rematlas.chosen.plan.index === 1")
        folder = self.folder / "kept"
        folder.mkdir()
        page.send("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
        page.click_on("#download")
        kept = folder / "network-B.schedule.json"
        for _ in range(1000):
            if kept.exists() and not list(folder.glob("*.crdownload")):
                break
            page.settle()
        run("check", self.graph, kept)
        self.check(page, served)


class Trouble(ServedPageTest):
    def test_wrong_fields_are_told_with_what_to_do(self):
        served = self.serve()
        page = self.open(served)
        for text in ("", "0", "-3", "much"):
            self.fill(page, "#budget", text) if text else page.evaluate(
                "(field => { field.value = ''; field.dispatchEvent(new Event('input')); })"
                "(document.querySelector('#budget'))"
            )
            page.click_on("#solve")
            self.assertIn("give a number above 0, such as 60 %", self.message(page))
        self.fill(page, "#budget", "60")
        self.fill(page, "#time-limit", "soon")
        page.click_on("#solve")
        self.assertIn("Seconds: give a number above 0", self.message(page))
        self.fill(page, "#time-limit", "20")
        self.fill(page, "#budget", "1")
        self.choose(page, "#solver", "dtr")
        page.click_on("#solve")
        page.wait_for("document.querySelector('.jobs li[data-phase=\"no schedule\"]')")
        self.assertIn("Ask for a larger budget.", page.text_of(".jobs"))
        self.assertEqual(self.plans(page), 1)
        self.check(page, served)

    def test_a_server_that_has_ended_is_told(self):
        served = self.serve()
        page = self.open(served)
        self.assertEqual(served.end(), 0)
        page.wait_for("!document.querySelector('.solve [role=alert]').hidden")
        self.assertIn("start rematlas serve again", page.text_of(".solve [role=alert]"))

    def test_copies_are_offered_where_the_solver_makes_them(self):
        page = self.open(self.serve())
        enabled = "[...document.querySelector('#offload').options].filter(o => !o.disabled).map(o => o.value)"
        self.assertEqual(page.evaluate(enabled), ["none", "activations", "weights", "all"])
        self.choose(page, "#offload", "all")
        self.choose(page, "#solver", "dtr")
        self.assertEqual(page.evaluate(enabled), ["none"])
        self.assertEqual(page.evaluate("document.querySelector('#offload').value"), "none")

    def test_names_from_files_are_inert(self):
        hostile = "</script><img src=x onerror=alert(1)>\u202e"
        graph = self.folder / "hostile.graph.json"
        write_network(graph, layers=2, suffix=hostile)
        served = self.serve(graph)
        page = self.open(served)
        self.choose(page, "#solver", "dtr")
        self.fill(page, "#budget", "1")
        page.click_on("#solve")
        page.wait_for("document.querySelector('.jobs li[data-phase=\"no schedule\"]')")
        self.assertEqual(page.evaluate("document.querySelectorAll('img, iframe, body script').length"), 2)
        self.assertFalse(page.evaluate("/\\u202e/.test(document.querySelector('.solve').textContent)"))
        self.check(page, served)


class LongJob(ServedPageTest):
    def test_a_job_goes_on_and_is_cancelled_and_the_page_asks_once_a_second(self):
        graph = self.folder / "large.graph.json"
        write_large(graph, ops=1500)
        served = self.serve(graph)
        page = self.open(served, "tradeoff")
        self.fill(page, "#time-limit", "3600")
        page.click_on("#solve")
        page.wait_for("/best so far/.test(document.querySelector('.jobs').textContent)")
        self.picture(page, "running")
        page.click_on(".jobs .cancel")
        page.wait_for("rematlas.page.plans.length === 2")
        self.assertIn("cancelled after", page.text_of(".jobs"))
        self.assertTrue(page.evaluate("document.querySelector('.jobs .cancel').hidden"))
        times = [at for address, at in page.timed_requests() if "/state" in address]
        self.assertGreater(len(times), 2)
        self.assertLessEqual(len(times) - 1, times[-1] - times[0] + 1)
        self.check(page, served)

    def picture(self, page: Page, name: str) -> None:
        if folder := os.environ.get("REMATLAS_PICTURES"):
            page.picture(pathlib.Path(folder) / f"served_{name}.png")


class Pictures(ServedPageTest):
    """At every size, light and dark, no view is blank, and no view extends beyond its window."""

    def test_every_view_at_every_size(self):
        folder = os.environ.get("REMATLAS_PICTURES")
        served = self.serve()
        page = self.open(served)
        self.choose(page, "#solver", "dtr")
        page.click_on("#solve")
        page.wait_for("rematlas.page.plans.length === 2")
        page.click_on("#sweep")
        page.wait_for("document.querySelectorAll('.jobs li[data-phase=done]').length === 2")
        for dark in (False, True):
            page.darken(dark)
            for width, height in SIZES:
                page.resize(width, height)
                for tab in ("summary", "blocks", "memory", "tradeoff", "compare", "tables"):
                    page.click_on(f"#tab-{tab}")
                    page.settle()
                    over = page.evaluate(
                        "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
                    )
                    self.assertLessEqual(over[0], width, tab)
                    self.assertLessEqual(over[1], height, tab)
                    painted = page.evaluate(
                        f"(v => v && v.picture ? v.picture.paints : 1)(rematlas.views.{tab})"
                    )
                    self.assertGreater(painted, 0, tab)
                    room = page.evaluate("document.querySelector('body > .panels').clientHeight")
                    self.assertGreater(room, height / 2, tab)
                    if folder:
                        name = f"served_{tab}_{width}x{height}_{'dark' if dark else 'light'}.png"
                        page.picture(pathlib.Path(folder) / name)
        self.check(page, served)


if __name__ == "__main__":
    main()
