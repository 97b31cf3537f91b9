"""The rows of a bench, as CSV of name,run,value,unit."""

import csv

HEAD = ("name", "run", "value", "unit")


def write(rows, path) -> None:
    """Writes the rows to the file; does nothing if `path` is None."""
    if path:
        with open(path, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
