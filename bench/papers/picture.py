#!/usr/bin/env python3
"""Draws the output of papers.py: our results and the published ones, one panel for each table.

picture.py papers.csv papers.png      .png, .svg or .pdf; needs matplotlib
"""

import argparse
import csv
import math
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import matplotlib.ticker

OURS, THEIRS, WORSE, PROVEN = "#1f4fa8", "#d95f02", "#c4161c", "#7f9fd6"


def read(path: Path) -> dict:
    """Returns figures[table][row][run] = value. A run is named by the text before its colon ("ours",
    "published")."""
    figures = defaultdict(lambda: defaultdict(dict))
    with path.open(newline="") as file:
        for line in csv.DictReader(file):
            table, _, row = line["name"].partition("/")
            run = line["run"]
            if run.startswith(("ours: dtr", "remark")):
                figures[table][row][run] = float(line["value"])
                continue
            figures[table][row][run.partition(":")[0]] = float(line["value"])
    return figures


def value(row: dict, run: str) -> float:
    return row.get(run, math.nan)


def is_worse(row: dict) -> bool:
    return any(row.get(run) == 1 for run in row if run.startswith(("ours is worse", "outside")))


def finish(axes, names: list[str], title: str, axis: str) -> None:
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_title(title, fontsize=10, loc="left")
    axes.set_xlabel(axis, fontsize=8)
    axes.tick_params(axis="both", labelsize=8, length=2)
    axes.grid(alpha=0.25, lw=0.5, axis="x")
    axes.spines[["top", "right"]].set_visible(False)


def once(rows: dict, axes) -> list[str]:
    """Returns labels of the rows; only the first row of a model names the model. Draws a line above each
    model."""
    labels, last = [], ""
    for y, name in enumerate(rows):
        model, _, rest = name.partition(" ")
        if model != last and y:
            axes.axhline(y - 0.5, color="#dddddd", lw=0.7, zorder=0)
        labels.append(rest if model == last else f"{model}   {rest}")
        last = model
    return labels


def dot(axes, x: float, y: float, limits: tuple[float, float], **style) -> None:
    """Draws a point. If the point is beyond the upper limit, writes its value at the edge instead."""
    if x > limits[1]:
        axes.text(limits[1], y, f"{x:.2f} \u2192", fontsize=7, color=style["color"], va="center", ha="right")
    elif not math.isnan(x):
        axes.plot(x, y, ls="none", clip_on=False, **style)


def draw_dots(axes, rows: dict, limits: tuple[float, float]) -> None:
    """Draws our result of each row as a dot, and the published one as a diamond, or as a bar for a range."""
    for y, row in enumerate(rows.values()):
        low, high = value(row, "published"), row.get("published, up to")
        if high is not None:
            axes.plot([low, high], [y, y], color=THEIRS, lw=6, alpha=0.35, solid_capstyle="butt")
        else:
            dot(axes, low, y, limits, marker="D", ms=5, color=THEIRS)
        for bound in ("proven at most", "proven at least"):
            if limits[0] <= value(row, bound) <= limits[1]:
                axes.plot(value(row, bound), y, "|", ms=9, mew=1.6, color=PROVEN)
        color = WORSE if is_worse(row) else OURS
        dot(axes, value(row, "ours"), y, limits, marker="o", ms=5.5, color=color)
        if math.isnan(value(row, "ours")):
            axes.text(limits[0], y, "  none", fontsize=8, color=WORSE, va="center")
    axes.set_xlim(*limits)


def draw_ratios(axes, rows: dict, title: str, within: float) -> None:
    """Draws the ratios of our results to the measured ones, on a logarithmic scale."""
    limits = 0.4, 2.5
    axes.axvspan(1 - within, 1 + within, color=THEIRS, alpha=0.18, lw=0)
    axes.axvline(1, color=THEIRS, lw=1)
    for y, row in enumerate(rows.values()):
        ratio = value(row, "ours over published")
        color = WORSE if is_worse(row) else OURS
        axes.plot([1, min(ratio, limits[1])], [y, y], color="#bbbbbb", lw=1)
        dot(axes, ratio, y, limits, marker="o", ms=5.5, color=color)
        if ratio <= limits[1]:
            side = {"xytext": (7, 0), "ha": "left"} if ratio >= 1 else {"xytext": (-7, 0), "ha": "right"}
            axes.annotate(
                f"{ratio:.2f}", (ratio, y), textcoords="offset points", fontsize=7, va="center", **side
            )
    close = sum(not is_worse(row) for row in rows.values())
    finish(
        axes, list(rows), f"{title}: {close} of {len(rows)} within {100 * within:.0f} %", "ours over measured"
    )
    axes.set_xscale("log")
    axes.set_xlim(*limits)
    ticks = (0.5, 0.7, 1, 1.5, 2)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())


def draw_lines(part, rows: dict, x_of, title: str, axis: str, most: float) -> None:
    """Draws the added time as lines, with one panel for each model. `x_of(name, row)` returns the place of a
    row on the horizontal axis."""
    models = list(dict.fromkeys(name.partition(" ")[0] for name in rows))
    if not models:
        return
    panels = part.subplots(1, len(models), sharey=True, squeeze=False)[0]
    for axes, model in zip(panels, models):
        chosen = {name: row for name, row in rows.items() if name.partition(" ")[0] == model}
        places = [x_of(name, row) for name, row in chosen.items()]
        for run, color, marker, label in (
            ("published", THEIRS, "D", "DTR, as measured"),
            ("ours: dtr simulated", "#2ca02c", "P", "ours: DTR's rule, simulated"),
            ("ours", OURS, "o", "ours: atlas"),
        ):
            line = [value(row, run) for row in chosen.values()]
            axes.plot(places, line, color=color, marker=marker, ms=4.5, lw=1.2, label=label)
        axes.set_title(model, fontsize=9)
        if max(places) <= 1:
            axes.set_xlim(0, 1)
        axes.set_ylim(min(0, *(value(row, "published") - 3 for row in rows.values())), most)
        axes.grid(alpha=0.25, lw=0.5)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    part.supylabel("time added, %", fontsize=8)
    part.supxlabel(axis, fontsize=8)
    part.suptitle(title, fontsize=10, x=0.01, ha="left")
    panels[len(panels) // 2].legend(fontsize=8, frameon=False, loc="upper center")


def legend(figure) -> None:
    line = matplotlib.lines.Line2D
    handles = [
        line([], [], marker="o", ls="none", color=OURS, label="ours"),
        line(
            [], [], marker="o", ls="none", color=WORSE, label="ours: worse than published, outside the band"
        ),
        line([], [], marker="D", ls="none", color=THEIRS, label="published"),
        line([], [], lw=6, alpha=0.35, color=THEIRS, label="published range"),
        line([], [], marker="|", ls="none", ms=9, mew=1.6, color=PROVEN, label="proven: nothing is better"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=5, fontsize=9, frameon=False)


def draw_batches(axes, rows: dict) -> None:
    draw_dots(axes, rows, (0, 7))
    for y, row in enumerate(rows.values()):
        said = f"{value(row, 'largest batch'):.0f} images"
        theirs = value(row, "published largest batch")
        if not math.isnan(theirs):
            said += f", theirs {theirs:.0f}"
        axes.text(0.1, y, said, fontsize=7, va="center", color="#555555")
    title = "Checkmate (MLSys 2020), figure 6: largest batch on 16 GiB at one more forward"
    finish(axes, list(rows), title, "over the largest batch without recomputation")


def draw_schedules(part, figures: dict) -> None:
    left, right = part.subfigures(1, 2)
    axes = left.subplots()
    draw_dots(axes, figures["recompute"], (0, 9))
    names = once(figures["recompute"], axes)
    title = "Rockmate (ICML 2023), HiRemate (ICML 2025): activation memory at +10, +15, +20 % time"
    finish(axes, names, title, "times less than without recomputation")
    sizes = [max(1, len(figures[table])) for table in ("offload", "batch", "ratio")]
    panels = right.subplots(3, 1, height_ratios=[size + 3 for size in sizes])
    draw_dots(panels[0], figures["offload"], (0, 60))
    title = "OffMate (2024): offloading, a tenth of the memory"
    finish(panels[0], [name.partition(" ")[0] for name in figures["offload"]], title, "% time added")
    draw_batches(panels[1], figures["batch"])
    draw_dots(panels[2], figures["ratio"], (0.97, 1.8))
    title = "Checkmate, table 2: methods over the optimum"
    finish(panels[2], once(figures["ratio"], panels[2]), title, "time over the optimum's")


def draw(source: Path, picture: Path) -> None:
    figures = read(source)
    figure = plt.figure(figsize=(15, 22), layout="constrained")
    upper, middle, lower = figure.subfigures(3, 1, height_ratios=[1.5, 0.55, 1.3])
    draw_schedules(upper, figures)
    draw_lines(
        middle,
        figures["dtr"],
        lambda _, row: value(row, "budget over peak"),
        "DTR (ICLR 2021), figure 4: time added under a budget",
        "budget over the peak without a plan",
        75,
    )
    left, right = lower.subfigures(1, 2)
    memory, batches = left.subfigures(2, 1, height_ratios=[1.3, 1])
    title = "Peak of the step as it is, over what frameworks measured"
    draw_ratios(memory.subplots(), figures["memory"], title, 0.1)
    draw_lines(
        batches,
        figures["larger"],
        lambda name, _: int(name.rpartition(" ")[2]),
        "DTR, table 1: time added to a sample, in batches that do not fit",
        "batch",
        75,
    )
    draw_ratios(right.subplots(), figures["time"], "Step time by the roofline, over what was measured", 0.3)
    legend(figure)
    figure.supxlabel("Settings and the source of each published figure: papers.csv", fontsize=9)
    figure.savefig(picture, dpi=100)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("csv", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    draw(options.csv, options.picture)


if __name__ == "__main__":
    main()
