"""Tests the views of the page of `rematlas report` by clicks and keys, as a person uses them."""

import json

from devtools import Page
from graphs import write_sharded
from made_pages import PageTest, main, run


def seen(kind: str) -> str:
    """Returns a JavaScript expression for an item in the view of blocks: the first visible item with a field
    named `kind` ("op", "unit" or "rect")."""
    return (
        "(v => v.composition.items.find(item => (y => y > 40 && y < v.picture.height - 80 &&"
        f" item.{kind} !== undefined)(item.rect.y * v.zoom + v.shift[1])))(rematlas.views.blocks)"
    )


class Blocks(PageTest):
    def items(self, page: Page) -> int:
        return self.state(page, "views.blocks.composition.items.length")

    def place_of(self, page: Page, item: str) -> list[float]:
        """Returns the middle of an item, in coordinates of the window."""
        return page.evaluate(
            f"(() => {{ const v = rematlas.views.blocks, r = ({item}).rect;"
            " const b = v.picture.canvas.getBoundingClientRect();"
            " return [b.left + (r.x + r.width / 2) * v.zoom + v.shift[0],"
            " b.top + (r.y + r.height / 2) * v.zoom + v.shift[1]]; })()"
        )

    def test_a_double_click_expands_a_block_with_its_twin_and_collapses_it_again(self):
        page = self.open(self.made.several, "blocks")
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
        page = self.open(self.made.several, "blocks")
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
        page = self.open(self.made.several, "blocks")
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
        page = self.open(self.made.several, "blocks")
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
        page = self.open(self.made.several, "blocks")
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
        page = self.open(self.made.several, "blocks")
        page.mouse("mouseMoved", *self.place_of(page, seen("rect")))
        page.settle()
        self.assertIn("makes", page.text_of(".blocks .tip"))


class Memory(PageTest):
    def test_the_cursor_walks_from_run_to_run_and_goes_to_the_peak(self):
        page = self.open(self.made.several, "memory")
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
        page = self.open(self.made.several, "memory")
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
        page = self.open(self.made.several, "memory")
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

    def test_copies_have_lanes_and_are_compared(self):
        plan = self.made.folder / "copies.schedule.json"
        copies = ("--offload", "activations", "--device-profile", "rtx4090")
        run("solve", self.made.graph, "--budget", "50%", "--gap", "1", *copies, "-o", plan)
        page = self.open(self.made.page("copies", self.made.graph, plan, self.made.plans[0]), "memory")
        self.assertEqual(self.state(page, "views.memory.times.lanes"), [0, 1, 2, 4, 5])
        self.assertTrue(self.state(page, "page.plans.every(one => one.memory.agrees())"))
        page.click_on("#tab-compare")
        self.assertGreater(
            self.state(page, "views.compare.rows.filter(row => row.what === 'copies').length"), 0
        )
        self.assertIn("less often", page.text_of(".compare .headline"))

    def test_collectives_have_a_lane_for_each_queue(self):
        graph = self.made.folder / "sharded.graph.json"
        write_sharded(graph)
        plan = self.made.folder / "sharded.schedule.json"
        run("solve", graph, "--budget", "100%", "-o", plan)
        page = self.open(self.made.page("sharded", graph, plan), "memory")
        lanes = "views.memory.times.lanes.map(i => rematlas.views.memory.times.allLanes[i].name)"
        self.assertIn("queue fsdp", self.state(page, lanes))
        self.assertTrue(self.state(page, "page.plans.every(one => one.memory.agrees())"))

    def test_a_row_can_be_found_and_selected(self):
        page = self.open(self.made.several, "memory")
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
        page = self.open(self.made.several, "tradeoff")
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
        page = self.open(self.made.several, "tradeoff")
        self.focus(page, "tradeoff")
        peaks = []
        for _ in range(3):
            page.press("ArrowRight")
            peaks.append(self.state(page, "views.tradeoff.marks[rematlas.views.tradeoff.current].peak"))
        self.assertEqual(peaks, sorted(peaks))

    def test_two_plans_are_compared_op_by_op(self):
        page = self.open(self.made.several, "compare")
        told = json.loads(run("diff", *self.made.plans, "--json"))
        runs = self.state(page, "views.compare.rows.filter(row => row.what === 'runs').length")
        self.assertEqual(runs, sum(op["a"] != op["b"] for op in told["ops"]))
        time = self.state(page, "chosen.other.time - rematlas.chosen.plan.time")
        self.assertEqual(time, told["time_ns"])
        self.assertIn("B needs", page.text_of(".compare .headline"))
        page.click_on(".compare .bar-of-tools button")
        self.assertIn("A needs", page.text_of(".compare .headline"))


class Tables(PageTest):
    def test_rows_are_sorted_filtered_and_copied(self):
        page = self.open(self.made.several, "tables")
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
        page = self.open(self.made.several, "tables")
        page.click_on("#tab-steps")
        page.evaluate("rematlas.views.tables.grids.steps.scroller.focus()")
        page.press("Home")
        page.press("ArrowDown")
        self.assertEqual(self.state(page, "chosen.step"), 1)

    def test_enter_on_an_operation_shows_it_among_the_blocks(self):
        page = self.open(self.made.several, "tables")
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


if __name__ == "__main__":
    main()
