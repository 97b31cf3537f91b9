#!/usr/bin/env python3
"""Plans large models for many cards from shapes, on this machine: CSV of name,run,value,unit.

    planned.py [--output FILE] [--seconds N] [--cases WORD ...]

Each case is a Llama with AdamW on H100 cards, under FSDP2, or under FSDP2 and tensor parallelism. The step of
one rank is recorded from shapes (`rematlas capture --mesh`), and solved under the memory of the card, or
under the memory that a published run took. `tokens`: tokens that a card trains in a second if the step takes
as long as predicted. `published`: the tokens of the published run. REMATLAS_PROGRAMS names the folder of the
programs.
"""

import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("REMATLAS_PROGRAMS", ROOT / "build" / "release" / "bin"))
LENGTH, WORDS = 8192, 128256
STEP = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM

SIZES = {sizes}


def step():
    config = LlamaConfig(vocab_size={words}, num_key_value_heads=8, attn_implementation="sdpa", **SIZES)
    with torch.device("meta"):
        model, tokens = LlamaForCausalLM(config), torch.zeros({batch}, {length}, dtype=torch.int64)
    return model, (), {{"input_ids": tokens, "labels": tokens, "use_cache": False}}
"""
MODELS = {
    "8B": {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32},
    "70B": {"hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80},
}
HEAD = 128  # width of an attention head


class Case(NamedTuple):
    model: str
    mesh: str
    batch: int
    budget: str = "79GiB"
    offload: str = "none"
    published: int | None = None  # tokens per second on one card

    @property
    def name(self):
        copies = "" if self.offload == "none" else f" offload={self.offload}"
        return f"Llama-3.1-{self.model} {self.mesh} batch={self.batch} {self.budget}{copies}"


# The published numbers are from torchtitan's benchmarks of December 2024, tables 1 and 3: FSDP without
# torch.compile, with selective activation checkpointing, on H100 cards of 96 GB at 500 W. The budgets are the
# memory of these runs. The last case is from the benchmarks of June 2025 (asynchronous tensor parallelism):
# bf16 with torch.compile and full checkpointing at batch 16.
CASES = [
    Case("8B", "fsdp=8", 2, "82.4GiB", published=5762),
    Case("8B", "fsdp=128", 2, "67.0GiB", published=5605),
    Case("70B", "fsdp=8", 1, offload="all"),
    Case("70B", "fsdp=64", 1),
    Case("70B", "fsdp=32,tp=8", 4, published=597),
]


def told(*words, folder):
    """Runs `rematlas` in the folder. Returns the object that it prints, and the seconds that it took."""
    began = time.monotonic()
    done = subprocess.run(
        [PROGRAMS / "rematlas", *words, "--json", "--quiet"],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"VIRTUAL_ENV": sys.prefix},
    )
    if not done.stdout.strip():
        sys.exit(f"planned.py: rematlas {' '.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout), time.monotonic() - began


def planned(case, seconds, folder):
    """Returns rows of (what, value, unit)."""
    sizes = MODELS[case.model]
    sizes = sizes | {"num_attention_heads": sizes["hidden_size"] // HEAD}
    text = STEP.format(sizes=sizes, words=WORDS, batch=case.batch, length=LENGTH)
    (pathlib.Path(folder) / "nets.py").write_text(text)
    mixed = ["--param-dtype", "bf16", "--reduce-dtype", "f32"]
    captured, capture_seconds = told(
        *["capture", "nets:step", "--device", "meta", "--device-profile", "h100", "--mesh", case.mesh],
        *[*mixed, "--optimizer", "adamw", "-o", "step.graph.json"],
        folder=folder,
    )
    copies = ["--offload", case.offload, "--device-profile", "h100"] if case.offload != "none" else []
    found, solve_seconds = told(
        *["solve", "step.graph.json", "--budget", case.budget, "--time-limit", str(seconds), *copies],
        *["-o", "step.schedule.json"],
        folder=folder,
    )
    rows = [("ops", captured["ops"], ""), ("capture", capture_seconds, "s"), ("solve", solve_seconds, "s")]
    if found["status"] == "infeasible":
        return [*rows, ("needed", found.get("needed_bytes"), "bytes")]
    checked, _ = told("check", "step.graph.json", "step.schedule.json", folder=folder)
    rows += [
        ("peak", checked["peak_bytes"], "bytes"),
        ("overhead", checked["overhead"], ""),
        ("time", checked["time_ns"] / 1e9, "s"),
        ("tokens", case.batch * LENGTH / (checked["time_ns"] / 1e9) / ranks_a_batch(case.mesh), "/s"),
    ]
    for queue, use in checked["collectives"].items():
        rows += [(f"{queue} sent", use["bytes"], "bytes"), (f"{queue} busy", use["busy_ns"] / 1e9, "s")]
    return rows + ([] if case.published is None else [("published", case.published, "/s")])


def ranks_a_batch(mesh):
    """Returns how many ranks train on the same batch: the size of the mesh's dimension for tensor
    parallelism."""
    sizes = dict(part.split("=") for part in mesh.split(","))
    return int(sizes.get("tp", 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", help="the CSV file to write; by default it is printed")
    parser.add_argument("--seconds", type=int, default=120, help="time limit of each solve")
    parser.add_argument("--cases", nargs="*", help="only cases with one of these words in their names")
    options = parser.parse_args()
    rows = []
    for case in CASES:
        if options.cases and not any(word in case.name for word in options.cases):
            continue
        with tempfile.TemporaryDirectory() as folder:
            for what, value, unit in planned(case, options.seconds, folder):
                rows.append((f"{case.name} {what}", 1, value, unit))
                print(*rows[-1], file=sys.stderr)
    with open(options.output, "w") if options.output else os.fdopen(1, "w", closefd=False) as file:
        writer = csv.writer(file)
        writer.writerow(("name", "run", "value", "unit"))
        writer.writerows(rows)


if __name__ == "__main__":
    main()
