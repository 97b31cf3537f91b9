#!/usr/bin/env python3
"""Runs the fuzzers of a clang build, and keeps their inputs: CSV of name,run,value,unit.

    fuzz.py [FORMAT ...] [--seconds S] [--jobs N] [--corpora FOLDER] [--output FILE]

Each fuzzer starts from its corpus, its seeds and the files in resources/, and runs for `--seconds`. Then
libFuzzer's merge reduces the corpus to a few files that reach the same code as all files. No file is larger
than 16 KiB, and at most 200 files stay. Inputs that crash a fuzzer are written to failures/ beside the
corpora. The time and the inputs in the CSV include those of earlier runs that are in the file `--output`.

    cmake --preset fuzz && cmake --build --preset fuzz
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from rows import HEAD, earlier, write

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "fuzz" / "bin"
SEEDS = ROOT / "tests" / "fuzz" / "seeds"
RESOURCES = [ROOT / "resources" / name for name in ("graphs", "devices", "hosts", "links", "rank_links")]
LARGEST, MOST = 16 << 10, 200  # most bytes of a file; most files of a corpus
UNITS = {"time": "CPU seconds", "inputs": "", "corpus": "bytes", "covered": "edges", "failures": ""}


def fuzz(name, options) -> dict:
    """Runs the fuzzer, and returns the values of its rows."""
    program, corpus = BUILD / f"fuzz_{name}", options.corpora / name
    corpus.mkdir(parents=True, exist_ok=True)
    failures = options.corpora / "failures"
    failures.mkdir(exist_ok=True)
    kinds = [name, "graph"] if name == "solve" else [name]
    seeds = [path for path in (*(SEEDS / kind for kind in kinds), *RESOURCES) if path.exists()]
    with tempfile.TemporaryDirectory() as made, tempfile.NamedTemporaryFile("w") as words:
        words.write(dictionary([*seeds, corpus]))
        words.flush()
        command = [
            program,
            f"-max_total_time={options.seconds}",
            "-print_final_stats=1",
            "-timeout=20",
            "-rss_limit_mb=3000",
            f"-max_len={LARGEST}",
            f"-artifact_prefix={failures}/{name}-",
            f"-dict={words.name}",
            made,
            corpus,
            *seeds,
        ]
        status, said, seconds = run(command)
        inputs = int((re.findall(r"stat::number_of_executed_units:\s+(\d+)", said) or ["0"])[0])
        covered = [int(found) for found in re.findall(r" cov: (\d+)", said)]
        if status:
            print(f"{name}: {said[-2000:]}", file=sys.stderr, flush=True)
        keep_smallest(program, [made, corpus], corpus)
    return {
        "time": seconds,
        "inputs": inputs,
        "corpus": sum(path.stat().st_size for path in corpus.iterdir()),
        "covered": max(covered, default=0),
        "failures": len(list(failures.glob(f"{name}-*"))),
    }


def run(command) -> tuple[int, str, int]:
    """Returns the status of the command, what it wrote to standard error, and its CPU seconds."""
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        return process.returncode, said.read(), round(used.ru_utime + used.ru_stime)


def dictionary(folders) -> str:
    """Returns the quoted names and words in the files of the folders, in the form that libFuzzer reads."""
    texts = [path.read_bytes() for folder in folders for path in folder.iterdir() if path.is_file()]
    words = {word for text in texts for word in re.findall(rb'"[\w.]{1,30}"', text)}
    return "".join('"\\"' + word.decode().strip('"') + '\\""\n' for word in sorted(words) if word.isascii())


def keep_smallest(program, folders, corpus) -> None:
    """Replaces the corpus by a few files of the folders that reach the same code as all files of the folders.
    How often a file reaches it does not count. If there are many more than MOST such files, keeps only a
    sample with files of all sizes."""
    with tempfile.TemporaryDirectory() as merged:
        command = [program, "-set_cover_merge=1", "-use_counters=0", f"-max_len={LARGEST}", merged, *folders]
        subprocess.run(command, capture_output=True, check=False)
        files = sorted(pathlib.Path(merged).iterdir(), key=lambda path: path.stat().st_size)
        if not files:
            return
        for path in corpus.iterdir():
            path.unlink()
        for path in files[:: max(1, len(files) // MOST)][:MOST]:
            shutil.copy(path, corpus / path.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("formats", nargs="*")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--corpora", type=pathlib.Path, default=ROOT / "tests" / "fuzz" / "corpora")
    parser.add_argument("--output")
    options = parser.parse_args()
    names = options.formats or sorted(path.name.removeprefix("fuzz_") for path in BUILD.glob("fuzz_*"))
    before = earlier(options.output)
    rows = dict(before)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as threads:
        for name, found in zip(names, threads.map(lambda name: fuzz(name, options), names), strict=True):
            for what, value in found.items():
                adds_up = what in ("time", "inputs")
                rows[f"{name}: {what}"] = value + (before.get(f"{name}: {what}", 0) if adds_up else 0)
                print(f"{name}: {what},1,{rows[f'{name}: {what}']},{UNITS[what]}", flush=True)
    lines = [(name, 1, rows[name], UNITS[name.split(": ")[1]]) for name in sorted(rows)]
    write([HEAD, *lines], options.output)


if __name__ == "__main__":
    main()
