#!/usr/bin/env python3
"""One picture of what papers.py wrote: our figures beside the published ones, a panel for each table.

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

OURS, THEIRS, WORSE, PROVEN = "#1f4fa8", "#d95f02", "#c4161c", "#7f9fd6"


def read(path: Path) -> dict:
    """Returns figures[table][row][run] = value, where a run ends before its colon ("ours", "published")."""
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


def finish(axes, names: list[str], title: str, axis: str, log: bool = False) -> None:
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_title(title, fontsize=10, loc="left")
    axes.set_xlabel(axis, fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(alpha=0.25, lw=0.5, axis="x")
    axes.spines[["top", "right"]].set_visible(False)
    if log:
        axes.set_xscale("log")


def draw_dots(axes, rows: dict, title: str, axis: str, limit: float | None = None) -> None:
    """Ours as a dot, what is published as a bar from its low to its high end or as a diamond."""
    for y, row in enumerate(rows.values()):
        low, high = value(row, "published"), row.get("published, up to")
        if high is not None:
            axes.plot([low, high], [y, y], color=THEIRS, lw=6, alpha=0.35, solid_capstyle="butt")
        else:
            axes.plot(low, y, "D", ms=5, color=THEIRS)
        proven = value(row, "proven at most")
        if math.isfinite(proven) and (limit is None or proven < limit):
            axes.plot(proven, y, "|", ms=9, mew=1.6, color=PROVEN)
        axes.plot(value(row, "proven at least"), y, "|", ms=9, mew=1.6, color=PROVEN)
        axes.plot(value(row, "ours"), y, "o", ms=5.5, color=WORSE if is_worse(row) else OURS)
        if math.isnan(value(row, "ours")):
            axes.text(
                0.02, y, "none", fontsize=7, color=WORSE, va="center", transform=axes.get_yaxis_transform()
            )
    axes.set_xlim(0, limit)
    finish(axes, list(rows), title, axis)


def draw_ratios(axes, rows: dict, title: str, within: float) -> None:
    """Ours over what was measured."""
    axes.axvspan(1 - within, 1 + within, color=THEIRS, alpha=0.18, lw=0)
    axes.axvline(1, color=THEIRS, lw=1)
    for y, row in enumerate(rows.values()):
        ratio = value(row, "ours over published")
        axes.plot([1, ratio], [y, y], color="#bbbbbb", lw=1)
        axes.plot(ratio, y, "o", ms=5.5, color=WORSE if is_worse(row) else OURS)
        axes.annotate(f"{ratio:.2f}", (ratio, y), xytext=(6, -3), textcoords="offset points", fontsize=7)
    close = sum(not is_worse(row) for row in rows.values())
    axes.set_xlim(0.25, 2.25)
    said = f"{title}\n{close} of {len(rows)} within {100 * within:.0f} % (band)"
    finish(axes, list(rows), said, "ours over measured")


def draw_budgets(axes, rows: dict, model: str) -> None:
    """Time added over the budget as a share of the peak."""
    chosen = {name: row for name, row in rows.items() if name.startswith(model + " ")}
    shares = [value(row, "budget over peak") for row in chosen.values()]
    for run, color, marker, label in (
        ("published", THEIRS, "D", "DTR, measured"),
        ("ours: dtr simulated", "#2ca02c", "P", "dtr, simulated"),
        ("ours", OURS, "o", "atlas"),
    ):
        line = [value(row, run) for row in chosen.values()]
        axes.plot(shares, line, color=color, marker=marker, ms=4.5, lw=1.2, label=label)
    axes.set_title(model, fontsize=9)
    axes.set_ylim(0, 80)
    axes.set_xlim(0, 1.02)
    axes.grid(alpha=0.25, lw=0.5)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def draw_dtr(part, rows: dict) -> None:
    models = list(dict.fromkeys(name.rsplit(" GB of", 1)[0].rsplit(" ", 1)[0] for name in rows))
    panels = part.subplots(1, max(1, len(models)), sharey=True, squeeze=False)[0]
    for axes, model in zip(panels, models):
        draw_budgets(axes, rows, model)
    panels[0].set_ylabel("time added, %", fontsize=8)
    part.supxlabel("budget over the peak without a plan", fontsize=8)
    if models:
        part.legend(
            *panels[0].get_legend_handles_labels(), loc="outside right center", fontsize=8, frameon=False
        )
    part.suptitle("DTR (ICLR 2021), figure 4", fontsize=10, x=0.01, ha="left")


def legend(figure) -> None:
    line = matplotlib.lines.Line2D
    handles = [
        line([], [], marker="o", ls="none", color=OURS, label="ours"),
        line(
            [], [], marker="o", ls="none", color=WORSE, label="ours, worse than published or outside the band"
        ),
        line([], [], marker="D", ls="none", color=THEIRS, label="published figure"),
        line([], [], lw=6, alpha=0.35, color=THEIRS, label="published range"),
        line(
            [], [], marker="|", ls="none", ms=9, mew=1.6, color=PROVEN, label="proven: no schedule is better"
        ),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=5, fontsize=9, frameon=False)


def draw(source: Path, picture: Path) -> None:
    figures = read(source)
    figure = plt.figure(figsize=(14, 19), layout="constrained")
    upper, middle, lower = figure.subfigures(3, 1, height_ratios=[1.35, 0.62, 1.6])
    left, right = upper.subplots(1, 2)
    draw_dots(
        left,
        figures["recompute"],
        "Activation memory: Rockmate (ICML 2023), HiRemate (ICML 2025)",
        "times less than without recomputation, at this much time added",
        9,
    )
    right.remove()
    of_right = upper.add_gridspec(3, 2, height_ratios=[0.5, 1, 2.6])
    panels = [upper.add_subplot(of_right[i, 1]) for i in range(3)]
    draw_dots(panels[0], figures["offload"], "Offloading: OffMate (2024)", "% time added")
    draw_dots(
        panels[1],
        figures["batch"],
        "Largest batch on 16 GiB, one extra forward: Checkmate (MLSys 2020), figure 6",
        "times the batch without recomputation",
    )
    draw_dots(
        panels[2], figures["ratio"], "Methods over the optimum: Checkmate, table 2", "time over the optimum's"
    )
    panels[2].set_xlim(0.95, 2)
    draw_dtr(middle, figures["dtr"])
    memory, times = lower.subplots(1, 2)
    draw_ratios(memory, figures["memory"], "Peak of the step as it is, over what frameworks measured", 0.1)
    draw_ratios(times, figures["time"], "Step time by the roofline, over what was measured", 0.3)
    legend(figure)
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
