"""Rows of the tables, each with our result and the published one, and the CSV file that holds them."""

import csv
import dataclasses
import io
import math
import pathlib

FIELDS = ["name", "run", "value", "unit"]
MORE, LESS, CLOSE = "more is better", "less is better", "the same is better"


@dataclasses.dataclass(kw_only=True)
class Row:
    """One comparison. A missing result is NaN; `remark` says why it is missing."""

    table: str
    case: str
    setting: str  # card; batch and sizes; precision; optimizer
    source: str  # source of the published result
    unit: str
    ours: float
    published: float | tuple[float, float]  # a number or a range
    better: str  # MORE, LESS or CLOSE
    tolerance: float = 0.0  # for CLOSE: allowed difference as a share of the published result
    solving: float = 0.0  # seconds that solving took
    others: dict = dataclasses.field(default_factory=dict)  # further results: {what: (value, unit)}
    remark: str = ""

    def bounds(self) -> tuple[float, float]:
        return self.published if isinstance(self.published, tuple) else (self.published, self.published)

    def is_worse(self) -> float:
        """Returns 1 if our result is missing, and NaN if the published result is missing. Otherwise, for
        CLOSE, returns 1 if the results differ by more than the tolerance, else 0. For MORE and LESS, returns
        1 if our result is worse than the whole published range, else 0."""
        low, high = self.bounds()
        if math.isnan(low):
            return math.nan
        if math.isnan(self.ours):
            return 1
        if self.better == CLOSE:
            return float(abs(self.ours / low - 1) > self.tolerance)
        return float(self.ours < low if self.better == MORE else self.ours > high)

    def lines(self) -> list[list]:
        """Returns the lines of the CSV."""
        low, high = self.bounds()
        name = f"{self.table}/{self.case}"
        lines = [[name, f"ours: {self.setting}", self.ours, self.unit]]
        lines += [[name, what, value, unit] for what, (value, unit) in self.others.items()]
        lines += [[name, f"published: {self.source}", low, self.unit]]
        if high != low and not math.isnan(high):
            lines += [[name, "published, up to", high, self.unit]]
        if self.better == CLOSE:
            lines += [[name, "ours over published", self.ours / low, "ratio"]]
        worse = f"outside {100 * self.tolerance:.0f} %" if self.better == CLOSE else "ours is worse"
        lines += [[name, "solving", self.solving, "s"], [name, worse, self.is_worse(), "bool"]]
        if self.remark:
            lines += [[name, f"remark: {self.remark}", math.nan, ""]]
        return lines


def text_of(lines: list[list]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for name, run, value, unit in lines:
        writer.writerow([name, run, value if isinstance(value, str) else f"{value:.6g}", unit])
    return text.getvalue()


def read(path: pathlib.Path) -> list[list]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [[line[field] for field in FIELDS] for line in csv.DictReader(file)]


def write(path: pathlib.Path, lines: list[list]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(",".join(FIELDS) + "\n" + text_of(lines))


def merged(old: list[list], new: list[list], cases: list[str]) -> list[list]:
    """Returns the old and the new lines in the order of `cases`. The name of a line begins with the name of
    its case (TABLE/NAME). New lines of a case replace the old lines of the case. Lines of cases that are not
    in `cases` are dropped."""

    def of_case(lines, case):
        return [line for line in lines if line[0] == case or line[0].startswith(case + " ")]

    return [line for case in cases for line in of_case(new, case) or of_case(old, case)]
