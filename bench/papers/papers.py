#!/usr/bin/env python3
"""Compares the published tables of papers on rematerialization with our results.

    papers.py [--only WORD] [--output papers.csv] [--picture papers.png]     REMATLAS_PROGRAMS names the build

Cards are not needed: steps (image_models.py, text_models.py) are recorded from shapes and have the times of a
device profile. Each comparison has the card, the sizes, the precision, the optimizer, the seconds that
solving took, our result, and the published result with its source. It also says whether our result is worse
than the published one, or too far from a measured one. Tables, in order:

recompute, offload   recomputation.py   Rockmate, HiRemate, OffMate: memory saved for time added
batch, ratio         checkmate.py       Checkmate: largest batches; simpler methods compared with the optimum
dtr, larger          dtr.py             DTR: time added under budgets, and for larger batches
memory, time         frameworks.py      measured peaks and step times of training without recomputation

`--only WORD` runs the cases with the word in TABLE/NAME and keeps the other rows of the file. All cases take
about 26 minutes of one processor, and need torchvision, timm and transformers; the picture needs matplotlib.
Rows are NAME,RUN,VALUE,UNIT. A missing result is nan, and a remark says why it is missing.
"""

import argparse
import os
import pathlib
import sys
import time
import traceback
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")

import checkmate  # noqa: E402
import dtr  # noqa: E402
import frameworks  # noqa: E402
import recomputation  # noqa: E402
import rows  # noqa: E402

CASES = [*recomputation.CASES, *checkmate.CASES, *dtr.CASES, *frameworks.CASES]


def main() -> int:
    results = ROOT / "bench" / "results"
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--output", type=pathlib.Path, default=results / "papers.csv")
    parser.add_argument("--picture", type=pathlib.Path, default=results / "papers.png")
    options = parser.parse_args()
    if "REMATLAS_PROGRAMS" not in os.environ:
        parser.error("REMATLAS_PROGRAMS is not set: the folder with the programs, build/release/bin say")
    chosen = [case for case in CASES if options.only.lower() in f"{case[0]}/{case[1]}".lower()]
    if not chosen:
        names = " ".join(f"{table}/{name}" for table, name, _ in CASES)
        parser.error(f"--only {options.only}: no case has that word; cases are {names}")
    failed = 0
    order = [f"{table}/{name}" for table, name, _ in CASES]
    for table, name, run in chosen:
        began = time.perf_counter()
        try:
            found = [line for row in run() for line in row.lines()]
        except Exception:
            # The other cases run even if this one fails. The file keeps the old rows of the failed case.
            print(f"{table}/{name}: no rows", traceback.format_exc(), sep="\n", file=sys.stderr)
            failed += 1
            continue
        print(rows.text_of(found), end="", flush=True)
        rows.write(options.output, rows.merged(rows.read(options.output), found, order))
        print(f"{table}/{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    draw(options)
    return 1 if failed else 0


def draw(options) -> None:
    try:
        import picture
    except ImportError as error:
        print(
            f"no picture: {error}; install matplotlib and run picture.py on {options.output}", file=sys.stderr
        )
        return
    picture.draw(options.output, options.picture)


if __name__ == "__main__":
    sys.exit(main())
