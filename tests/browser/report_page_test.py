"""Tests the whole page of `rematlas report`: its contents, its restrictions for the browser, its appearance.

$REMATLAS_PICTURES is a folder for pictures of all views, to look at.
"""

import os
import pathlib

from graphs import write_large, write_network
from made_pages import PageTest, main, run

HOSTILE = "</script><img src=x onerror=alert(1)>'\"`${1}\u2028\u202e\u0001 ]]> &lt;"
SIZES = ((800, 600), (1280, 800), (1920, 1080))


class Pages(PageTest):
    def test_the_first_tab_is_what_can_be_read_without_a_script(self):
        page = self.open(self.made.several)
        words = page.text_of("#panel-summary")
        for part in ("needs", "Figures", "Memory over time", "Plans", "Blocks", "How it was made"):
            self.assertIn(part, words)
        self.assertEqual(page.requests(), [self.made.several.resolve().as_uri()])

    def test_on_paper_there_is_the_summary_alone(self):
        page = self.open(self.made.several, "memory")
        page.send("Emulation.setEmulatedMedia", {"media": "print"})
        shown = page.evaluate(
            "[...document.querySelectorAll('body > .panels > .panel')].filter("
            "panel => getComputedStyle(panel).display !== 'none').map(panel => panel.id)"
        )
        self.assertEqual(shown, ["panel-summary"])

    def test_what_the_page_plays_is_what_the_simulator_said_at_every_step(self):
        page = self.open(self.made.several)
        self.assertEqual(self.state(page, "page.plans.map(plan => plan.memory.agrees())"), [True] * 3)

    def test_keys_go_to_each_tab_and_the_list_of_keys_opens_and_closes(self):
        page = self.open(self.made.several)
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
        page = self.open(self.made.several, "memory")
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
        page = self.open(self.made.several)
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
        graph = self.made.folder / "hostile.graph.json"
        write_network(graph, layers=2, suffix=HOSTILE)
        plan = self.made.folder / "hostile.schedule.json"
        run("solve", graph, "--budget", "80%", "--solver", "dtr", "-o", plan)
        page = self.open(self.made.page("hostile", graph, plan))
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
        page = self.browser.open(self.made.alone)
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
        page = self.open(self.made.alone, "blocks")
        self.assertEqual(self.state(page, "page.plans.length"), 1)
        self.assertGreater(self.state(page, "views.blocks.composition.items.length"), 10)
        page.click_on("#tab-memory")
        self.assertEqual(self.state(page, "chosen.step"), self.state(page, "page.plans[0].peakStep"))

    def test_a_sweep_without_its_graph_has_the_trade_off_alone(self):
        other = self.made.folder / "elsewhere"
        other.mkdir()
        sweep = other / "moved.sweep.json"
        sweep.write_bytes((self.made.folder / "network.sweep.json").read_bytes())
        page = self.open(self.made.page("moved", sweep), "tradeoff")
        self.assertEqual(self.state(page, "tabs.all.map(tab => tab.id)"), ["summary", "tradeoff"])


class Large(PageTest):
    """Tests the page of a step with 10,000 different ops."""

    def test_all_of_it_can_be_looked_at(self):
        graph = self.made.folder / "large.graph.json"
        ops = write_large(graph)
        path = self.made.page("large", graph)
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
    """At every size, light and dark, no view is blank, and no view extends beyond its window."""

    def test_every_view_at_every_size(self):
        folder = os.environ.get("REMATLAS_PICTURES")
        page = self.open(self.made.several)
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
    main()
