#!/usr/bin/env python3
"""Measures how far the predicted times of ops are from the measured ones, on this machine's CPU.

    roofline.py BIN [--models resnet50,gpt12,unet_scripted] [--profile cpu]

Captures each model three times: on the device (times of ops within the step), from shapes and profiled op by
op (`--from-shapes`), and from shapes with the roofline model (`--device meta`). Prints CSV
(name,run,value,unit): the total time of the ops over the total on the device; the 10 %, 50 % and 90 %
quantiles of this ratio for single ops, weighted by measured time; peaks; seconds of the capture; and the
overhead that a solve on each graph predicts at a budget of 70 %.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from replay import ROOT, call, print_row

INPUTS = {"unet_scripted": ["f32[4,3,256,256]"]}  # larger images than the tests use


def quantile(pairs: list[tuple[float, float]], share: float) -> float:
    """Returns the quantile of weighted values. `pairs`: (value, weight)."""
    pairs = sorted(pairs)
    total, seen = sum(weight for _, weight in pairs), 0.0
    for value, weight in pairs:
        seen += weight
        if seen >= share * total:
            return value
    return pairs[-1][0]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bin", type=Path)
    parser.add_argument("--models", default="resnet50,gpt12,unet_scripted")
    parser.add_argument("--profile", default="cpu")
    options = parser.parse_args()
    rematlas = options.bin.resolve() / "rematlas"
    ways = {
        "device": ["--device", "cpu"],
        "op by op": ["--device", "cpu", "--from-shapes"],
        "roofline": ["--device", "meta", "--device-profile", options.profile],
    }
    print("name,run,value,unit")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model in options.models.split(","):
            call(sys.executable, ROOT / "resources/models/export.py", folder, "--only", model, cwd=folder)
            specs = INPUTS.get(model) or json.loads((folder / f"{model}.json").read_text())["inputs"]
            inputs = [word for spec in specs for word in ("--input", spec)]
            times = {}
            for way, flags in ways.items():
                graph = folder / f"{way.replace(' ', '_')}.graph.json"
                told, seconds = call(
                    rematlas, "capture", f"{model}.pt", *inputs, *flags, "-o", graph, "--json", cwd=folder
                )
                print_row(model, f"{way} capture", seconds, "s")
                print_row(model, f"{way} peak", json.loads(told)["peak_bytes"], "bytes")
                ops = json.loads(graph.read_text())["ops"]
                times[way] = [op["time_ns"] for op in ops if op["phase"] != "loss"]
                solved = call(
                    rematlas, "solve", graph, "--budget", "70%", "--time-limit", "5s", "--json", cwd=folder
                )[0]
                print_row(model, f"{way} overhead at 70%", json.loads(solved)["overhead"], "of keep-all")
            measured = times["device"]
            for way in ("op by op", "roofline"):
                print_row(model, f"{way} time", sum(times[way]) / sum(measured), "of measured")
                ratios = [(there / here, here) for there, here in zip(times[way], measured, strict=True)]
                for share in (0.1, 0.5, 0.9):
                    print_row(
                        model,
                        f"{way} time of an op (quantile {share})",
                        quantile(ratios, share),
                        "of measured",
                    )


if __name__ == "__main__":
    main()
