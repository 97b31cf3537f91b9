"""Compares with Rockmate, HiRemate and OffMate: how much memory is saved for how much time.

The papers print ranges over all their models; they show single models only in figures. The steps are recorded
for a V100 in f32 (for OffMate: an A100 on PCI Express 4, bf16, AdamW), with the times of the card's roofline.
A factor is the peak without recomputation over the peak with recomputation, both without the resident
tensors.
"""

import math
from functools import partial

import image_models
import text_models
from rows import LESS, MORE, Row
from steps import Step

HIREMATE = (
    "50 to 70 % less memory at +10 to +15 %, over all models (Gusak et al., HiRemate, ICML 2025,"
    " PMLR 267:21418)"
)
ROCKMATE = (
    "activations divided by 2 to 5 at +10 to +20 %, over all models (Zhao et al., Rockmate, ICML 2023,"
    " abstract)"
)
OFFMATE = (
    "up to 10 times less memory at +10 to +50 %, over all models (OffMate, hal-04660745, 2024, abstract)"
)
SECONDS = 12
SECONDS_WITH_COPIES = 60

OF_THEIRS = "as in models/__init__.py of topal-team/rockmate"
# name: (a function that makes the step, the sizes as text for `Row.setting`)
FACTORS = {
    "ResNet-101": (image_models.resnet101, f"batch 64, 256 px, {OF_THEIRS}"),
    "RegNetX-32": (image_models.regnet_x_32, f"batch 23, 256 px, {OF_THEIRS}"),
    "GPT2-12": (text_models.gpt2_of_rockmate, f"batch 100, 20 tokens, {OF_THEIRS}"),
    "GPT2-24": (partial(text_models.gpt2_of_rockmate, 24), "batch 100, 20 tokens"),
    "Transformer-6+6": (text_models.transformer_6_6, f"batch 32, 200 vectors, {OF_THEIRS}"),
    "U-Net": (image_models.unet_32, f"batch 50, 256 px, {OF_THEIRS}"),
    "MLP-Mixer": (image_models.mixer_512, f"batch 100, 256 px, {OF_THEIRS}"),
    "RegNetY-32": (image_models.regnet_y_32, "batch 16, 224 px"),
    "U-Net-512px": (image_models.unet_512, "batch 4, 512 px"),
    "Mixer-B16": (image_models.mixer_b16, "batch 32, 224 px"),
}
# OffMate's own code trains text classifiers. In Phi-2 as a language model, the logits alone take more than a
# tenth of the peak, and a step of 4 by 512 tokens is too short to hide the copies of the optimizer's states.
OFFLOADED = {
    "Llama-7B": (text_models.llama2_7b, "batch 8, 2,048 tokens"),
    "Phi-2-classifier": (
        text_models.phi2_classifier,
        "batch 8, 2,048 tokens; a classifier as in exp/LLM.py of topal-team/rockmate",
    ),
    "Phi-2": (text_models.phi2, "batch 8, 2,048 tokens"),
    "Phi-2-512": (partial(text_models.phi2, 4, 512), "batch 4, 512 tokens"),
}


def factor_rows(name: str) -> list[Row]:
    made, sizes = FACTORS[name]
    rows = []
    with Step(made(), "v100") as step:
        resident = step.resident()
        for percent in (10, 15, 20):
            answer = step.solve("--max-overhead", 1 + percent / 100, "--time-limit", f"{SECONDS}s")
            low, high, source = (2, 1 / 0.3, HIREMATE) if percent < 20 else (2, 5, ROCKMATE)
            proven = answer["least_proven_bytes"]
            most = step.factor(proven, resident) if proven > resident else math.inf
            rows.append(
                Row(
                    table="recompute",
                    case=f"{name} +{percent} %",
                    setting=f"v100 roofline; {sizes}; f32; no optimizer",
                    source=source,
                    unit="times less activation memory",
                    ours=step.factor(answer["peak_bytes"], resident),
                    published=(low, high),
                    better=MORE,
                    solving=answer["wall_seconds"],
                    others={"proven at most": (most, "times less activation memory")},
                )
            )
    return rows


def offload_rows(name: str) -> list[Row]:
    made, sizes = OFFLOADED[name]
    with Step(made(), "a100", optimizer="adamw") as step:
        answer = step.solve(
            *("--budget", "10%", "--offload", "all", "--device-profile", "pcie4"),
            *("--time-limit", f"{SECONDS_WITH_COPIES}s"),
        )
        found = answer["overhead"] is not None
        return [
            Row(
                table="offload",
                case=f"{name} at 10 % of its peak",
                setting=f"a100 roofline, PCI Express 4; {sizes}; bf16; AdamW",
                source=OFFMATE,
                unit="% time added",
                ours=percent_of(answer["overhead"]),
                published=(10, 50),
                better=LESS,
                solving=answer["wall_seconds"],
                others={
                    "proven at least": (percent_of(answer["bound"]), "% time added"),
                    "peak without a plan": (step.whole_peak / 1e9, "GB"),
                },
                remark="" if found else f"none found: {answer['needed_bytes'] / 1e9:.2f} GB are needed",
            )
        ]


def percent_of(overhead: float | None) -> float:
    return math.nan if overhead is None else 100 * (overhead - 1)


CASES = [("recompute", name, partial(factor_rows, name)) for name in FACTORS]
CASES += [("offload", name, partial(offload_rows, name)) for name in OFFLOADED]
