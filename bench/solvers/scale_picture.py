#!/usr/bin/env python3
"""Draws the output of bench_scale: times, overheads and memory of solvers by the number of ops.

scale_picture.py scale.csv scale.png      .png, .svg or .pdf; needs matplotlib
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FRACTION = "0.3"  # position of the budget between the proven least memory (0) and the peak without reruns (1)
COLORS = {"hiremate": "#d95f02", "atlas": "#1f4fa8"}
MARKERS = {"gpt": "o", "unet": "s", "densenet": "D", "irregular": "^", "encoder": "X"}


def read(path: Path) -> tuple[dict, dict]:
    """Returns ops[graph] and values[solver][graph][what, unit]."""
    ops, values = {}, defaultdict(lambda: defaultdict(dict))
    with path.open() as file:
        for row in csv.DictReader(file):
            if row["run"] == "size":
                ops[row["name"]] = float(row["value"])
                continue
            run, _, what = row["run"].partition(" ")
            solver, _, fraction = run.partition("@")
            if fraction == FRACTION:
                values[solver][row["name"]][what, row["unit"]] = float(row["value"])
    return ops, values


def marker(graph: str) -> str:
    return next((shape for family, shape in MARKERS.items() if graph.startswith(family)), "x")


def scatter(axes, ops: dict, values: dict, key, filled: bool = True) -> None:
    for solver, graphs in values.items():
        for graph, found in graphs.items():
            y = key(found)
            if y is not None:
                color = COLORS.get(solver, "#555555")
                axes.plot(
                    ops[graph], y, marker(graph), ms=6, mew=1.3, color=color, mfc=color if filled else "white"
                )


def finish(axes, title: str, unit: str, limit=None) -> None:
    axes.set_xscale("log")
    axes.set_title(title, fontsize=10)
    axes.set_ylabel(unit, fontsize=9)
    axes.grid(alpha=0.25, lw=0.5, which="both")
    axes.spines[["top", "right"]].set_visible(False)
    if limit:
        axes.axhline(limit, color="#999999", lw=0.8, ls="--")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("csv", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    ops, values = read(options.csv)
    figure, panels = plt.subplots(2, 2, figsize=(9.5, 6.6), layout="constrained")
    first, last, over, memory = panels.flat
    scatter(first, ops, values, lambda found: found.get(("first", "s")))
    first.set_yscale("log")
    finish(first, "first answer", "seconds")
    scatter(last, ops, values, lambda found: found.get(("within 2 %", "s")), filled=False)
    scatter(last, ops, values, lambda found: found.get(("end", "s")))
    last.set_yscale("log")
    finish(last, "within 2 % of its last answer (hollow), end (filled)", "seconds")
    scatter(
        over,
        ops,
        values,
        lambda found: 100 * (found["", "overhead"] - 1) if ("", "overhead") in found else None,
    )
    for graph, size in ops.items():
        bounds = [
            graphs[graph]["bound", "overhead"]
            for graphs in values.values()
            if ("bound", "overhead") in graphs.get(graph, {})
        ]
        if bounds:
            over.plot(size, 100 * (max(bounds) - 1), "_", ms=13, mew=1.6, color="black")
    finish(over, "time added; bars: proven that it can't be less", "%")
    scatter(memory, ops, values, lambda found: found.get(("memory", "MiB")))
    memory.set_ylim(0)
    finish(memory, "most memory of the process, graph included", "MiB")
    figure.supxlabel("ops of the training step", fontsize=10)
    line = matplotlib.lines.Line2D
    handles = [line([], [], color=COLORS.get(s, "#555555"), marker="o", ls="none", label=s) for s in values]
    handles += [
        line([], [], color="#777777", marker=m, ls="none", label=family) for family, m in MARKERS.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=9, frameon=False)
    figure.savefig(options.picture, dpi=120)


if __name__ == "__main__":
    main()
