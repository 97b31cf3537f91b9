"""Measures the page of `rematlas report`: its size, the time it takes to open, and how smoothly it moves.

    python3 bench/browser/report_page.py BIN [RUNS]      writes CSV: name,run,value,unit

BIN is a folder with `rematlas`. The step has 10,000 different ops. Frames are counted in five cases: the view
of the blocks is dragged; it is zoomed; the cursor of the memory view moves; the memory view is zoomed; a
table is scrolled. All blocks are expanded.
"""

import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "browser"))
from devtools import Browser, Page
from graphs import write_large

FRAMES = 60

# For each measurement: the tab of the view, and the script that moves the view in each frame.
MOVES = {
    "blocks_dragged": ("blocks", "rematlas.views.blocks.pan(0, i % 60 < 30 ? -25 : 25)"),
    "blocks_zoomed": ("blocks", "rematlas.views.blocks.zoomBy(i % 20 < 10 ? 0.8 : 1.25)"),
    "cursor_walked": ("memory", "rematlas.views.memory.walk(i % 60 < 30 ? 40 : -40)"),
    "memory_zoomed": ("memory", "rematlas.views.memory.zoomBy(i % 20 < 10 ? 0.8 : 1.25)"),
    "table_scrolled": ("tables", "rematlas.views.tables.grids.tensors.scroller.scrollTop += 180"),
}


def frames_per_second(page: Page, move: str) -> float:
    """Returns how many frames per second the browser paints while the script `move` runs in each frame."""
    return page.evaluate(
        "new Promise(done => { let i = 0; const begin = performance.now(); const next = () => {"
        f" {move}; if (++i < {FRAMES}) requestAnimationFrame(next);"
        " else requestAnimationFrame(() => done(1000 * i / (performance.now() - begin))); };"
        " requestAnimationFrame(next); })"
    )


def opening(page: Page) -> dict[str, float]:
    """Returns two times in milliseconds since the request: the end of loading, and the first paint with
    content."""
    timing = "performance.getEntriesByType('navigation')[0]"
    painted = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    return {
        "open_loaded": page.evaluate(f"{timing}.loadEventEnd"),
        "open_painted": page.evaluate(painted),
    }


def main() -> None:
    program = pathlib.Path(sys.argv[1]) / "rematlas"
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    print("name,run,value,unit")
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        graph, plan, made = (
            pathlib.Path(folder) / name for name in ("g.graph.json", "p.schedule.json", "r.html")
        )
        write_large(graph)
        subprocess.run(
            [program, "solve", graph, "--budget", "60%", "--solver", "dtr", "-o", plan],
            check=True,
            capture_output=True,
        )
        subprocess.run([program, "report", graph, plan, "-o", made], check=True, capture_output=True)
        print(f"page_10000,0,{made.stat().st_size},bytes")
        for number in range(runs):
            page = browser.open(made, 1920, 1080)
            for name, value in opening(page).items():
                print(f"{name},{number},{value:.0f},ms")
            page.evaluate(
                "(v => { v.layout.openTo(v.layout.depths); v.recompose(); })(rematlas.views.blocks)"
            )
            for name, (tab, move) in MOVES.items():
                page.evaluate(f"rematlas.tabs.show('{tab}')")
                page.settle()
                print(f"{name},{number},{frames_per_second(page, move):.1f},frames/s", flush=True)
            page.close()


if __name__ == "__main__":
    main()
