"""Makes the rows of a table, each in its own process."""

import csv
import faulthandler
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterator

import torch

from registry import Entry

# Widths of columns. Other columns have 10 characters, and the last column is as wide as its text.
WIDTHS = {"name": 34, "state": 9, "identical": 9}


def make_here(entry: Entry, make: Callable[[Entry], dict], results) -> None:
    """Makes the row in the child process, and sends it to the parent. The child leads a process group, so
    processes that it starts end together with it."""
    os.setsid()
    faulthandler.enable()  # prints the stack if a row takes too long
    torch.set_num_threads(1)
    try:
        row = make(entry)
    except Exception as error:
        traceback.print_exc()
        row = {"identical": "no", "state": "error", "reason": f"{type(error).__name__}: {error}"}
    results.send(row)


def make_apart(entry: Entry, make: Callable[[Entry], dict], time_limit: float) -> dict:
    """Makes the row in a child process, which inherits the imported libraries but no state of other rows.
    `time_limit` is in seconds."""
    processes = multiprocessing.get_context("fork")
    receiver, sender = processes.Pipe(duplex=False)
    child = processes.Process(target=make_here, args=(entry, make, sender))
    child.start()
    sender.close()
    row = {"identical": "no", "state": "error", "reason": f"took longer than {time_limit:g} s"}
    if receiver.poll(time_limit):
        try:
            row = receiver.recv()
        except EOFError:
            child.join()
            row["reason"] = f"its process ended with status {child.exitcode}"
    elif child.is_alive():
        os.kill(child.pid, signal.SIGABRT)
    child.join(5)
    if child.is_alive():
        os.killpg(child.pid, signal.SIGKILL)
        child.join()
    return {"name": entry.name} | row


def print_row(row: dict, columns: list[str]) -> None:
    words = [str(row.get(column, "")).splitlines()[:1] or [""] for column in columns]
    print(
        "  ".join(word[0].ljust(WIDTHS.get(column, 10)) for word, column in zip(words, columns)).rstrip(),
        flush=True,
    )


def rows_of(
    entries: list[Entry], make: Callable[[Entry], dict], columns: list[str], time_limit: float
) -> Iterator[tuple[Entry, dict]]:
    """Makes and prints one row after the other."""
    print_row({column: column for column in columns}, columns)
    for entry in entries:
        row = make_apart(entry, make, time_limit)
        print_row(row, columns)
        yield entry, row


def write_csv(path: str, rows: list[dict], columns: list[str]) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
