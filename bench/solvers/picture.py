#!/usr/bin/env python3
"""Draws the output of reference.py: overhead over budget, one panel for each graph.

picture.py solvers.csv solvers.png      .png, .svg or .pdf; needs matplotlib
"""

import argparse
import csv
import math
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

STYLES = {
    "chen-sqrt": ("#b0b0b0", "v"),
    "chen-greedy": ("#8c8c8c", "^"),
    "revolve": ("#c49c94", "<"),
    "rotor": ("#9467bd", "D"),
    "dtr": ("#2ca02c", "P"),
    "checkmate-lp": ("#ff9f40", "s"),
    "checkmate": ("#d62728", "X"),
    "atlas": ("#1f4fa8", "o"),
}


def read(path: Path) -> dict:
    """Returns values[graph][solver][fraction][unit]."""
    values = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    with path.open() as file:
        for row in csv.DictReader(file):
            solver, at, fraction = row["run"].partition("@")
            if at:
                values[row["name"]][solver][float(fraction)][row["unit"]] = float(row["value"])
    return values


def points(runs: dict, unit: str) -> tuple[list[float], list[float]]:
    found = sorted(
        (fraction, units[unit])
        for fraction, units in runs.items()
        if math.isfinite(units.get(unit, math.inf))
    )
    return [x for x, _ in found], [100 * (y - 1) for _, y in found]


def draw_panel(axes, name: str, solvers: dict) -> None:
    known = points(solvers["reference"], "best known overhead")
    axes.plot(*known, ls="none", marker="_", ms=15, mew=2.2, color="black", label="best known", zorder=6)
    for solver, (color, marker) in STYLES.items():
        x, y = points(solvers[solver], "overhead")
        if x:
            size = 6 if solver == "atlas" else 4.5
            axes.plot(
                x,
                y,
                color=color,
                marker=marker,
                ms=size,
                lw=1.6 if solver == "atlas" else 0.9,
                label=solver,
                zorder=5 if solver == "atlas" else 3,
            )
    x, bound = points(solvers["atlas"], "bound")
    axes.fill_between(x, bound, color="#1f4fa8", alpha=0.12, lw=0, label="proven impossible")
    highest = max([*known[1], *points(solvers["atlas"], "overhead")[1], 1.0])
    axes.set_ylim(0, 1.6 * highest)
    axes.set_title(name.replace("_", " "), fontsize=10)
    axes.grid(alpha=0.25, lw=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("csv", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    values = {name: solvers for name, solvers in read(options.csv).items() if "reference" in solvers}
    columns = 4
    rows = math.ceil(len(values) / columns)
    figure, panels = plt.subplots(
        rows, columns, figsize=(3.6 * columns, 2.8 * rows), squeeze=False, layout="constrained"
    )
    for axes, (name, solvers) in zip(panels.flat, values.items()):
        draw_panel(axes, name, solvers)
    for axes in panels.flat[len(values) :]:
        axes.axis("off")
    handles = {
        label: handle
        for axes in panels.flat[: len(values)]
        for handle, label in zip(*axes.get_legend_handles_labels())
    }
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside upper center",
        ncols=len(handles),
        fontsize=9,
        frameon=False,
    )
    figure.supxlabel(
        "budget, from the largest footprint of one op (0) to the peak without recomputation (1)", fontsize=10
    )
    figure.supylabel("time added by recomputation, %", fontsize=10)
    figure.savefig(options.picture, dpi=120)


if __name__ == "__main__":
    main()
