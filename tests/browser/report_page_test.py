"""The page of `rematlas report` as a person sees it: in a browser, by clicks and keys.

REMATLAS_PROGRAM names the command line. $REMATLAS_PICTURES is a folder for pictures of all views, to look at.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from devtools import Browser, Page, find_browser
from graphs import write_large, write_network

PROGRAM = os.environ.get("REMATLAS_PROGRAM", "rematlas")
HOSTILE = "</script><img src=x onerror=alert(1)>'\"`${1}\u2028\u202e\u0001 ]]> &lt;"
SIZES = ((800, 600), (1280, 800), (1920, 1080))


def seen(kind: str) -> str:
    """The first item of the blocks that is in the window and has `kind`: an op, a unit, a rect."""
    return (
        "(v => v.composition.items.find(item => (y => y > 40 && y < v.picture.height - 80 &&"
        f" item.{kind} !== undefined)(item.rect.y * v.zoom + v.shift[1])))(rematlas.views.blocks)"
    )


def run(*words: object) -> str:
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


class Made:
    """Pages that all tests look at, made once."""

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


def setUpModule() -> None:
    global made, browser
    folder = unittest.enterModuleContext(tempfile.TemporaryDirectory())
    made = Made(pathlib.Path(folder))
    browser = unittest.enterModuleContext(Browser())


class PageTest(unittest.TestCase):
    def open(self, path: pathlib.Path, tab: str | None = None) -> Page:
        page = browser.open(path)
        self.addCleanup(page.close)
        self.addCleanup(lambda: self.assertEqual(page.faults(), []))
        if tab:
            page.click_on(f"#tab-{tab}")
        return page

    def state(self, page: Page, what: str) -> object:
        return page.evaluate(f"rematlas.{what}")

    def focus(self, page: Page, view: str) -> None:
        page.evaluate(f"rematlas.views.{view}.picture.canvas.focus()")


class Pages(PageTest):
    def test_the_first_tab_is_what_can_be_read_without_a_script(self):
        page = self.open(made.several)
        words = page.text_of("#panel-summary")
        for part in ("needs", "Figures", "Memory over time", "Plans", "Blocks", "How it was made"):
            self.assertIn(part, words)
        self.assertEqual(page.requests(), [made.several.resolve().as_uri()])

    def test_what_the_page_plays_is_what_the_simulator_said_at_every_step(self):
        page = self.open(made.several)
        self.assertEqual(self.state(page, "page.plans.map(plan => plan.memory.agrees())"), [True] * 3)

    def test_keys_go_to_each_tab_and_the_list_of_keys_opens_and_closes(self):
        page = self.open(made.several)
        for number, tab in enumerate(("summary", "blocks", "memory", "tradeoff", "compare", "tables"), 1):
            page.press(str(number))
            self.assertEqual(self.state(page, "tabs.shown"), tab)
            shown = page.evaluate(
                "[...document.querySelectorAll('body > .panels > .panel')].filter(p => !p.hidden).length"
            )
            self.assertEqual(shown, 1)
        page.press("?")
        self.assertTrue(page.evaluate("document.querySelector('dialog').open"))
        self.assertIn("goes to the next run", page.text_of("dialog"))
        page.press("Escape")
        self.assertFalse(page.evaluate("document.querySelector('dialog').open"))

    def test_tab_reaches_every_part_and_the_focus_is_seen(self):
        page = self.open(made.several, "memory")
        reached = set()
        page.press("Tab")
        page.press("Tab", shift=True)
        for _ in range(40):
            told = page.evaluate(
                "(() => { const e = document.activeElement, s = getComputedStyle(e);"
                " const name = e.tagName + (e.id ? '#' + e.id : '');"
                " return [name, s.outlineStyle, parseFloat(s.outlineWidth)]; })()"
            )
            if told[0] == "BODY":
                break
            reached.add(told[0])
            self.assertEqual(told[1], "solid", told[0])
            self.assertGreaterEqual(told[2], 2, told[0])
            page.press("Tab")
        for part in ("CANVAS", "SELECT#plan", "INPUT#by-part", "INPUT", "BUTTON#tab-memory"):
            self.assertIn(part, reached)

    def test_light_and_dark_follow_the_system_until_a_person_chooses(self):
        page = self.open(made.several)
        paper = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(paper)
        page.darken(True)
        dark = page.evaluate(paper)
        self.assertNotEqual(light, dark)
        page.press("l")
        self.assertEqual(page.evaluate(paper), light)
        page.press("l")
        self.assertEqual(page.evaluate(paper), dark)

    def test_names_from_files_are_inert(self):
        graph = made.folder / "hostile.graph.json"
        write_network(graph, layers=2, suffix=HOSTILE)
        plan = made.folder / "hostile.schedule.json"
        run("solve", graph, "--budget", "80%", "--solver", "dtr", "-o", plan)
        page = self.open(made.page("hostile", graph, plan))
        for tab in ("blocks", "memory", "tradeoff", "compare", "tables"):
            page.click_on(f"#tab-{tab}")
        self.assertEqual(page.evaluate("document.querySelectorAll('img, iframe, body script').length"), 2)
        self.assertIn("onerror", page.text_of("#panel-tables"))
        self.assertEqual(
            page.evaluate("/[\\u202e\\u2028]/.test(document.body.querySelector('.panels').textContent)"),
            False,
        )
        name = self.state(page, "page.graph.tensors.name[0]")
        self.assertEqual(name, "tokens" + HOSTILE)

    def test_the_policy_refuses_what_is_not_the_pages_own(self):
        page = browser.open(made.alone)
        self.addCleanup(page.close)
        page.evaluate(
            "(script => { script.textContent = 'window.ran = 1'; document.body.append(script); })"
            "(document.createElement('script'))"
        )
        page.evaluate("document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/x.png'}))")
        page.settle()
        self.assertIsNone(page.evaluate("window.ran"))
        self.assertTrue(any("Content Security Policy" in fault for fault in page.faults()))

    def test_a_graph_alone_has_its_blocks_and_the_step_without_recomputation(self):
        page = self.open(made.alone, "blocks")
        self.assertEqual(self.state(page, "page.plans.length"), 1)
        self.assertGreater(self.state(page, "views.blocks.composition.items.length"), 10)
        page.click_on("#tab-memory")
        self.assertEqual(self.state(page, "chosen.step"), self.state(page, "page.plans[0].peakStep"))

    def test_a_sweep_without_its_graph_has_the_trade_off_alone(self):
        other = made.folder / "elsewhere"
        other.mkdir()
        sweep = other / "moved.sweep.json"
        sweep.write_bytes((made.folder / "network.sweep.json").read_bytes())
        page = self.open(made.page("moved", sweep), "tradeoff")
        self.assertEqual(self.state(page, "tabs.all.map(tab => tab.id)"), ["summary", "tradeoff"])


class Blocks(PageTest):
    def items(self, page: Page) -> int:
        return self.state(page, "views.blocks.composition.items.length")

    def place_of(self, page: Page, item: str) -> list[float]:
        """The middle of an item in the window."""
        return page.evaluate(
            f"(() => {{ const v = rematlas.views.blocks, r = ({item}).rect;"
            " const b = v.picture.canvas.getBoundingClientRect();"
            " return [b.left + (r.x + r.width / 2) * v.zoom + v.shift[0],"
            " b.top + (r.y + r.height / 2) * v.zoom + v.shift[1]]; })()"
        )

    def test_a_double_click_expands_a_block_with_its_twin_and_collapses_it_again(self):
        page = self.open(made.several, "blocks")
        page.click_on(".blocks button:nth-child(2)")
        before = self.items(page)
        page.click(*self.place_of(page, seen("unit")), count=2)
        self.assertGreater(self.items(page), before)
        unit = self.state(page, "chosen.selection.unit")
        self.assertTrue(self.state(page, f"views.blocks.layout.open.has({unit})"))
        self.focus(page, "blocks")
        page.press("Enter")
        self.assertEqual(self.items(page), before)

    def test_nothing_overlaps_at_any_level(self):
        page = self.open(made.several, "blocks")
        overlaps = (
            "(() => { const c = rematlas.views.blocks.composition, all = c.items.map(i => i.rect); let n = 0;"
            " for (let i = 0; i < all.length; ++i) for (let k = 0; k < i; ++k) {"
            " const [a, b] = [all[i], all[k]];"
            " if (a.x + 1 < b.x + b.width && b.x + 1 < a.x + a.width && a.y + 1 < b.y + b.height &&"
            " b.y + 1 < a.y + a.height) ++n; } return n; })()"
        )
        for _ in range(5):
            self.assertEqual(page.evaluate(overlaps), 0)
            page.click_on(".blocks button:nth-child(1)")

    def test_every_op_shows_once_all_is_expanded_and_arrows_end_at_their_items(self):
        page = self.open(made.several, "blocks")
        for _ in range(6):
            page.click_on(".blocks button:nth-child(1)")
        self.assertEqual(self.items(page), self.state(page, "page.graph.ops.count"))
        loose = page.evaluate(
            "(() => { const c = rematlas.views.blocks.composition; const off = (p, r) =>"
            " Math.max(r.x - p[0], p[0] - r.x - r.width, r.y - p[1], p[1] - r.y - r.height);"
            " return c.edges.filter(e => off(e.route[0], c.items[e.from].rect) > 3 ||"
            " off(e.route.at(-1), c.items[e.to].rect) > 3).length; })()"
        )
        self.assertEqual(loose, 0)

    def test_a_click_selects_and_says_what_it_is(self):
        page = self.open(made.several, "blocks")
        page.click(*self.place_of(page, seen("rect")))
        self.assertIsNotNone(self.state(page, "chosen.selection"))
        self.assertIn("Runs", page.text_of(".details"))
        self.focus(page, "blocks")
        page.press("Escape")
        self.assertIsNone(self.state(page, "chosen.selection"))
        page.press("ArrowDown")
        page.press("ArrowDown")
        self.assertIsNotNone(self.state(page, "chosen.selection"))

    def test_the_wheel_zooms_and_a_drag_pans(self):
        page = self.open(made.several, "blocks")
        self.focus(page, "blocks")
        page.press("Home")
        zoom, shift = self.state(page, "views.blocks.zoom"), self.state(page, "views.blocks.shift")
        x, y = page.middle_of(".blocks canvas")
        page.wheel(x, y, -300)
        self.assertGreater(self.state(page, "views.blocks.zoom"), zoom)
        page.drag((x, y), (x + 80, y + 40))
        page.press("Home")
        self.assertEqual(self.state(page, "views.blocks.shift"), shift)

    def test_a_tip_is_shown_where_the_mouse_is(self):
        page = self.open(made.several, "blocks")
        page.mouse("mouseMoved", *self.place_of(page, seen("rect")))
        page.settle()
        self.assertIn("makes", page.text_of(".blocks .tip"))


class Memory(PageTest):
    def test_the_cursor_walks_from_run_to_run_and_goes_to_the_peak(self):
        page = self.open(made.several, "memory")
        self.focus(page, "memory")
        self.assertIn("the peak", page.text_of(".memory .headline"))
        start = self.state(page, "chosen.step")
        page.press("ArrowRight")
        after = self.state(page, "chosen.step")
        self.assertGreater(after, start)
        self.assertIn(self.state(page, f"chosen.plan.steps.kinds[{after}]"), "ri")
        page.press("ArrowLeft")
        page.press("ArrowRight", shift=True)
        page.press("p")
        self.assertEqual(self.state(page, "chosen.step"), self.state(page, "chosen.plan.peakStep"))

    def test_the_table_holds_what_is_alive_at_the_cursor(self):
        page = self.open(made.several, "memory")
        self.focus(page, "memory")
        for key in ("ArrowLeft", "ArrowLeft", "ArrowRight", "p"):
            page.press(key)
            self.assertTrue(
                page.evaluate(
                    "(() => { const { chosen, views } = rematlas, { plan, step } = chosen;"
                    " const sum = views.memory.alive.grid.rows.reduce((all, row) => all + row.bytes, 0);"
                    " return sum + plan.memory.workspace(step) === plan.steps.during[step]; })()"
                )
            )

    def test_a_click_moves_the_cursor_and_the_wheel_zooms(self):
        page = self.open(made.several, "memory")
        box = page.evaluate(
            "(canvas => { const b = canvas.getBoundingClientRect(); "
            "return [b.left, b.top, b.width, b.height]; })"
            "(rematlas.views.memory.picture.canvas)"
        )
        page.click(box[0] + box[2] / 2, box[1] + box[3] - 60)
        self.assertNotEqual(self.state(page, "chosen.step"), self.state(page, "chosen.plan.peakStep"))
        page.wheel(box[0] + box[2] / 2, box[1] + box[3] - 60, -400)
        shown = self.state(page, "views.memory.range")
        self.assertLess(shown[1] - shown[0], self.state(page, "views.memory.times.length"))
        self.focus(page, "memory")
        page.press("Home")
        self.assertEqual(self.state(page, "views.memory.range[0]"), 0)

    def test_a_row_can_be_found_and_selected(self):
        page = self.open(made.several, "memory")
        page.click_on("#alive input")
        page.type("blocks.1")
        shown = self.state(page, "views.memory.alive.grid.rows.length")
        self.assertGreater(shown, 0)
        self.assertLess(shown, self.state(page, "views.memory.alive.alive"))
        page.click_on("#alive .grid-row")
        self.assertEqual(
            self.state(page, "chosen.tensor"), self.state(page, "views.memory.alive.grid.rows[0].tensor")
        )


class TradeOff(PageTest):
    def test_a_click_on_a_point_shows_its_plan_everywhere(self):
        page = self.open(made.several, "tradeoff")
        at = page.evaluate(
            "(() => { const v = rematlas.views.tradeoff, b = v.picture.canvas.getBoundingClientRect();"
            " const [x, y] = v.placeOf(v.marks.find(mark => mark.plan === rematlas.page.plans[1]));"
            " return [b.left + x, b.top + y]; })()"
        )
        page.click(*at)
        self.assertEqual(self.state(page, "chosen.plan.index"), 1)
        self.assertEqual(page.evaluate("document.querySelector('#plan').selectedIndex"), 1)
        self.assertEqual(self.state(page, "chosen.step"), self.state(page, "page.plans[1].peakStep"))

    def test_keys_walk_by_memory(self):
        page = self.open(made.several, "tradeoff")
        self.focus(page, "tradeoff")
        peaks = []
        for _ in range(3):
            page.press("ArrowRight")
            peaks.append(self.state(page, "views.tradeoff.marks[rematlas.views.tradeoff.current].peak"))
        self.assertEqual(peaks, sorted(peaks))

    def test_two_plans_are_compared_op_by_op(self):
        page = self.open(made.several, "compare")
        told = json.loads(run("diff", *made.plans, "--json"))
        runs = self.state(page, "views.compare.rows.filter(row => row.what === 'runs').length")
        self.assertEqual(runs, sum(op["a"] != op["b"] for op in told["ops"]))
        time = self.state(page, "chosen.other.time - rematlas.chosen.plan.time")
        self.assertEqual(time, told["time_ns"])
        self.assertIn("B needs", page.text_of(".compare .headline"))
        page.click_on(".compare .bar-of-tools button")
        self.assertIn("A needs", page.text_of(".compare .headline"))


class Tables(PageTest):
    def test_rows_are_sorted_filtered_and_copied(self):
        page = self.open(made.several, "tables")
        page.click_on("#panel-tensors .grid-head button:nth-child(4)")
        rows = self.state(
            page, "views.tables.grids.tensors.rows.map(row => rematlas.page.graph.tensors.bytes[row])"
        )
        self.assertEqual(rows, sorted(rows, reverse=True))
        page.click_on("#panel-tensors input")
        page.type("attn.q")
        csv = self.state(page, "views.tables.grids.tensors.csv()")
        lines = csv.strip().split("\r\n")
        self.assertEqual(len(lines) - 1, self.state(page, "views.tables.grids.tensors.rows.length"))
        self.assertTrue(all("attn.q" in line for line in lines[1:]))

    def test_a_row_of_the_steps_moves_the_cursor(self):
        page = self.open(made.several, "tables")
        page.click_on("#tab-steps")
        page.evaluate("rematlas.views.tables.grids.steps.scroller.focus()")
        page.press("Home")
        page.press("ArrowDown")
        self.assertEqual(self.state(page, "chosen.step"), 1)

    def test_enter_on_an_operation_shows_it_among_the_blocks(self):
        page = self.open(made.several, "tables")
        page.click_on("#tab-ops")
        page.evaluate("rematlas.views.tables.grids.ops.scroller.focus()")
        page.press("End")
        page.press("Enter")
        self.assertEqual(self.state(page, "tabs.shown"), "blocks")
        last = self.state(page, "page.graph.ops.count") - 1
        self.assertEqual(
            self.state(page, "views.blocks.selectedItem()"),
            self.state(page, f"views.blocks.composition.itemOfOp[{last}]"),
        )


class Large(PageTest):
    """A step of 10,000 different ops."""

    def test_all_of_it_can_be_looked_at(self):
        graph = made.folder / "large.graph.json"
        ops = write_large(graph)
        path = made.page("large", graph)
        self.assertLess(path.stat().st_size, 3_000_000)
        page = self.open(path, "blocks")
        self.assertTrue(self.state(page, "page.plans[0].memory.agrees()"))
        self.assertLess(self.state(page, "views.blocks.composition.items.length"), 1000)
        page.evaluate(
            "(v => { v.layout.openTo(v.layout.depths); v.recompose(); v.fit(); })(rematlas.views.blocks)"
        )
        self.assertEqual(self.state(page, "views.blocks.composition.items.length"), ops)
        page.click_on("#tab-memory")
        self.focus(page, "memory")
        page.press("ArrowRight")
        page.click_on("#tab-tables")
        page.evaluate("rematlas.views.tables.grids.tensors.scroller.scrollTop = 100000")
        page.settle()
        self.assertLess(page.evaluate("document.querySelectorAll('#panel-tensors .grid-row').length"), 100)
        self.assertLess(page.evaluate("document.querySelectorAll('*').length"), 5000)


class Pictures(PageTest):
    """No view is blank or leaves its window, at any size, light and dark."""

    def test_every_view_at_every_size(self):
        folder = os.environ.get("REMATLAS_PICTURES")
        page = self.open(made.several)
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
                    if folder:
                        name = f"{tab}_{width}x{height}_{'dark' if dark else 'light'}.png"
                        page.picture(pathlib.Path(folder) / name)


if __name__ == "__main__":
    if find_browser() is None:
        print(
            "Skipped: no chromium is installed here (apt install chromium, or name one in $REMATLAS_BROWSER)."
        )
        sys.exit(77)
    unittest.main()
