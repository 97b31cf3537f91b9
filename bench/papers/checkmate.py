"""Compares with Checkmate (Jain et al., MLSys 2020): the largest batches, and how far simpler methods are
from the optimum.

Largest batches: the largest batch with recomputation on 16 GiB, divided by the largest batch without it.
Recomputation must take at most as long as one more forward pass. The paper uses numbers of operations as
times; our times are those of a V100's roofline. Ratios to the optimum (table 2): the geometric mean over the
budgets for which a method finds a schedule. Our optimum is the best overhead that any solver finds; the row
also has the proven gap of this overhead.
"""

import math
import statistics
import time
from functools import partial

import image_models
from rows import LESS, MORE, Row
from steps import Step, asked

PAPER = "Jain et al., Checkmate, MLSys 2020"
NO_NUMBER = f"{PAPER}, figure 6: a bar without a number"
SECONDS = 20

# name: (function of image_models, sizes, published factor, source of the factor, (published batch with
# recomputation, published batch without))
BATCHES = {
    "MobileNet": ("mobilenet", "224 px", 5.1, f"{PAPER}, figure 6: batch 1,105", (1105, math.nan)),
    "U-Net": ("unet", "416 by 608 px", 3.8, f"{PAPER}, figure 6: batch 61 against 16", (61, 16)),
    "U-Net-original": ("unet_original", "416 by 608 px", math.nan, NO_NUMBER, (math.nan, math.nan)),
    "VGG19": ("vgg19", "224 px", 289 / 167, f"{PAPER}, its artifact: batch 289 against 167", (289, 167)),
    "ResNet-50": ("resnet50", "224 px", math.nan, NO_NUMBER, (math.nan, math.nan)),
    "SegNet": ("segnet", "416 by 608 px", math.nan, NO_NUMBER, (math.nan, math.nan)),
    "FCN8": ("fcn8", "416 by 608 px", math.nan, NO_NUMBER, (math.nan, math.nan)),
}
# name: (function of image_models, batch, sizes, published ratios of the first methods in METHODS, in order).
# The ratio of Checkmate itself is 1 by definition; it runs only for models whose MILP ends in time.
RATIOS = {
    "MobileNet": (image_models.mobilenet, 512, "224 px", (1.14, 1.07, 7.07, 1.06)),
    "VGG16": (image_models.vgg16, 256, "224 px", (1.28, 1.06, 1.44, 1.01, 1)),
    "VGG19": (image_models.vgg19, 256, "224 px", (1.54, 1.39, 1.75, 1.00, 1)),
    "U-Net": (image_models.unet, 32, "416 by 608 px", (1.27, 1.23, math.nan, 1.03)),
    "ResNet-50": (image_models.resnet50, 256, "224 px", (1.20, 1.25, math.nan, 1.05)),
}
METHODS = ("chen-sqrt", "chen-greedy", "revolve", "checkmate-lp", "checkmate")
# Positions of the budgets between the least memory (0) and the peak without recomputation (1)
FRACTIONS = (0.2, 0.4, 0.6, 0.8)
SECONDS_OF_OPTIMUM, SECONDS_OF_METHOD = 5, 10


def largest_batch(function: str, *options) -> dict:
    return asked(
        *("maxbatch", f"image_models:{function}", "--quiet", "--device", "meta", "--device-profile", "v100"),
        *("--budget", "16GiB", "--time-limit", f"{SECONDS}s", *options),
    )


def batch_rows(name: str) -> list[Row]:
    function, sizes, factor, source, batches = BATCHES[name]
    with Step(getattr(image_models, function)(batch=8), "v100") as step:
        one_forward = 1 + step.forward_ns / step.time_ns
    began = time.perf_counter()
    planned = largest_batch(function, "--max-overhead", f"{one_forward:.4f}")
    figures = {
        "largest batch": (planned["batch"], "images"),
        "largest batch without recomputation": (planned["without_recomputation"], "images"),
        "time of one extra forward": (100 * (one_forward - 1), "% time added"),
        "published largest batch": (batches[0], "images"),
        "published largest batch without recomputation": (batches[1], "images"),
        "largest batch over the published": (planned["batch"] / batches[0], "ratio"),
    }
    return [
        Row(
            table="batch",
            case=name,
            setting=f"v100 roofline, 16 GiB; {sizes}; f32; no optimizer",
            source=source,
            unit="times the batch without recomputation",
            ours=planned["batch"] / planned["without_recomputation"],
            published=factor,
            better=MORE,
            solving=time.perf_counter() - began,
            others={what: figure for what, figure in figures.items() if not math.isnan(figure[0])},
        )
    ]


def overheads_at(step: Step, budget: int, methods: tuple, seconds: dict) -> tuple[dict, float]:
    """Returns the overhead that each method finds within the budget, and the best proven bound. A method that
    finds no schedule is missing. Adds the time of each method to `seconds`."""
    found, bounds = {}, [1.0]
    for method in ("atlas", *methods):
        limit = SECONDS_OF_OPTIMUM if method == "atlas" else SECONDS_OF_METHOD
        answer = step.solve("--budget", budget, "--time-limit", f"{limit}s", "--solver", method)
        seconds[method] += answer["wall_seconds"]
        if answer["overhead"] is not None:
            found[method] = answer["overhead"]
        if method == "atlas" and answer["bound"] is not None:
            bounds.append(answer["bound"])
    return found, max(bounds)


def ratio_rows(name: str) -> list[Row]:
    made, batch, sizes, published = RATIOS[name]
    methods = METHODS[: len(published)]
    ratios = {method: [] for method in ("atlas", *methods)}
    seconds = dict.fromkeys(ratios, 0.0)
    gaps = []
    with Step(made(batch=batch), "v100") as step:
        least = asked("inspect", step.graph)["least_peak_bytes"]
        for fraction in FRACTIONS:
            budget = int(least + fraction * (step.whole_peak - least))
            found, bound = overheads_at(step, budget, methods, seconds)
            if not found:
                continue
            best = min(found.values())
            gaps.append(best / bound - 1)
            for method, overhead in found.items():
                ratios[method].append(overhead / best)
    known = {
        "atlas over the optimum": (mean(ratios["atlas"]), "times the optimum"),
        "largest proven gap of the optimum": (100 * max(gaps, default=math.nan), "%"),
    }
    return [
        Row(
            table="ratio",
            case=f"{name} {method}",
            setting=f"v100 roofline; batch {batch}, {sizes}; f32; no optimizer",
            source=f"{PAPER}, table 2",
            unit="times the optimum",
            ours=mean(ratios[method]),
            published=figure,
            better=LESS,
            solving=seconds[method],
            others={"budgets kept": (len(ratios[method]), f"of {len(gaps)}")} | known,
            remark="" if ratios[method] else "keeps none of the budgets",
        )
        for method, figure in zip(methods, published)
    ]


def mean(ratios: list[float]) -> float:
    return statistics.geometric_mean(ratios) if ratios else math.nan


CASES = [("batch", name, partial(batch_rows, name)) for name in BATCHES]
CASES += [("ratio", name, partial(ratio_rows, name)) for name in RATIOS]
