"""The rows of a bench, as CSV of name,run,value,unit."""

import csv
import os

HEAD = ("name", "run", "value", "unit")


def earlier(path) -> dict:
    """Returns the values of a CSV file that was written earlier, by name; nothing if there is none."""
    if not path or not os.path.exists(path):
        return {}
    with open(path, newline="") as file:
        return {row["name"]: int(row["value"]) for row in csv.DictReader(file)}


def write(rows, path) -> None:
    """Writes the rows to the file; does nothing if `path` is None."""
    if path:
        with open(path, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


def report_models(counts, path) -> None:
    """Prints the counts of a program that trains models, and writes them to the file if there is a path.
    `counts`: the numbers of models and faults, the seconds as "time", and others, by name."""
    names = ("models", "faults", *sorted(counts.keys() - {"models", "faults", "time"}), "time")
    rows = [HEAD, *((name, 1, counts[name], "seconds" if name == "time" else "") for name in names)]
    for row in rows:
        print(",".join(map(str, row)))
    write(rows, path)
