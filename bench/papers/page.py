#!/usr/bin/env python3
"""Writes the tables of docs/papers.md from the CSV files in bench/results.

    page.py [--check]       --check: writes nothing, ends with status 1 if the page is not current

A table is between the comments `<!-- table: NAME -->` and `<!-- end -->`.
"""

import argparse
import csv
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "papers.md"
RESULTS = ROOT / "bench" / "results"
NO_FIGURE = "\N{EN DASH}"
METHODS = ("chen-sqrt", "chen-greedy", "revolve", "checkmate-lp", "checkmate")
Figures = dict[str, dict[str, float]]  # {row: {run: value}}; `run` is the CSV's run up to its colon


def lines_of(file: str) -> list[dict]:
    with (RESULTS / file).open(newline="") as opened:
        return list(csv.DictReader(opened))


def figures(table: str) -> Figures:
    found: Figures = {}
    for line in lines_of("papers.csv"):
        of, _, row = line["name"].partition("/")
        if of != table:
            continue
        run = line["run"]
        name = run if run.startswith("ours: dtr") else run.partition(":")[0]
        found.setdefault(row, {})[name] = float(line["value"] or "nan")
    return found


def texts(table: str, run: str) -> dict[str, str]:
    """Returns, for each row of a table, the text after the colon in the run that is named `run`, such as
    "ours" or "published"."""
    found = {}
    for line in lines_of("papers.csv"):
        of, _, row = line["name"].partition("/")
        before, _, behind = line["run"].partition(": ")
        if of == table and before == run and not behind.startswith("dtr simulated"):
            found[row] = behind
    return found


def number(value: float | None, form: str = ".2f") -> str:
    return NO_FIGURE if value is None or math.isnan(value) else format(value, form)


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def recompute() -> str:
    models: dict[str, list[str]] = {}
    settings = texts("recompute", "ours")
    for row, of in figures("recompute").items():
        model = row.partition(" +")[0]
        size = settings[row].removeprefix("v100 roofline; ").partition(", as in")[0].partition("; f32")[0]
        cells = models.setdefault(model, [model, size])
        most = of["proven at most"]
        cells.append(f"{of['ours']:.2f} (at most {'any' if math.isinf(most) else f'{most:.2f}'})")
    return table(["model", "batch and size", "+10 %", "+15 %", "+20 %"], list(models.values()))


def offload() -> str:
    remarks = texts("offload", "remark")
    rows = []
    for row, of in figures("offload").items():
        found = number(of["ours"], ".1f") if not math.isnan(of["ours"]) else remarks.get(row, "none")
        model = row.partition(" at ")[0]
        peak = number(of["peak without a plan"], ".1f")
        rows.append([model, peak, found, number(of["proven at least"], ".1f")])
    return table(["model", "peak without a plan, GB", "time added at a tenth of it, %", "proven, %"], rows)


def batch() -> str:
    rows = []
    for row, of in figures("batch").items():
        plain, most = of["largest batch without recomputation"], of["largest batch"]
        theirs = of.get("published largest batch")
        cells = [number(plain, ".0f"), number(most, ".0f"), number(of["ours"]), number(of["published"])]
        rows.append([row, *cells, number(theirs, ".0f")])
    head = ["model", "largest batch as it is", "with recomputation", "factor", "published factor"]
    return table([*head, "published batch"], rows)


def ratio() -> str:
    found = figures("ratio")
    rows = []
    for model in dict.fromkeys(row.partition(" ")[0] for row in found):
        cells = [model]
        for method in METHODS:
            of = found.get(f"{model} {method}")
            cells.append(NO_FIGURE if of is None else f"{number(of['ours'])} / {number(of['published'])}")
        rows.append(cells)
    return table(["model", *METHODS], rows)


def dtr() -> str:
    rows = []
    for row, of in figures("dtr").items():
        cells = [number(of["budget over peak"]), number(of["ours"], ".1f")]
        cells += [number(of["ours: dtr simulated"], ".1f"), number(of["published"], ".1f")]
        rows.append([row.partition(" of ")[0], *cells])
    return table(
        ["model and published budget", "budget over peak", "atlas, %", "dtr simulated, %", "measured, %"],
        rows,
    )


def larger() -> str:
    rows = []
    for row, of in figures("larger").items():
        cells = [number(of["ours"], ".1f"), number(of["ours: dtr simulated"], ".1f")]
        rows.append([row, *cells, number(of["published"], ".1f")])
    return table(["model", "atlas, %", "dtr simulated, %", "measured, %"], rows)


def close(name: str, unit: str, form: str) -> str:
    settings = texts(name, "ours")
    rows = []
    for row, of in figures(name).items():
        cells = [settings[row], number(of["ours"], form), number(of["published"], form)]
        rows.append([row, *cells, number(of["ours over published"])])
    return table(["case", "setting", f"ours, {unit}", f"measured, {unit}", "ours over measured"], rows)


def compiled() -> str:
    models: dict[str, dict] = {}
    for line in lines_of("compile_cpu.csv"):
        model, what = line["name"].rsplit(", ", 1)
        models.setdefault(model, {}).setdefault(line["run"], {})[what] = line["value"]
    rows = []
    for model, runs in models.items():
        for run, of in runs.items():
            if run == "plain":
                rows.append([model, "as it is", NO_FIGURE, of["peak"], "1", NO_FIGURE])
                continue
            named = run.replace("torch", "torch's budget") if run.startswith("torch") else f"ours, {run}"
            if "refused" in of:
                rows.append(
                    ["", named, of["budget"], f"refused: needs {of['refused']}", NO_FIGURE, NO_FIGURE]
                )
                continue
            rows.append(["", named, of.get("budget", NO_FIGURE), of["peak"], of["time"], of["gradients"]])
    return table(["model", "", "budget, MiB", "peak, MiB", "time", "gradients differ by"], rows)


TABLES = {
    "recompute": recompute,
    "offload": offload,
    "batch": batch,
    "ratio": ratio,
    "dtr": dtr,
    "larger": larger,
    "memory": lambda: close("memory", "GB", ".2f"),
    "time": lambda: close("time", "ms", ".0f"),
    "compiled": compiled,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    before = PAGE.read_text()
    after = re.sub(
        r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)",
        lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n\n{found[3]}",
        before,
        flags=re.DOTALL,
    )
    if check and after != before:
        print("docs/papers.md is not current: run bench/papers/page.py", file=sys.stderr)
        return 1
    if not check:
        PAGE.write_text(after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
