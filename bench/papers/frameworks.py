"""Compares the peaks and times that graphs predict with published measurements in frameworks, for training
steps without recomputation.

Nothing is solved here. The step's graph is recorded for a card that is not installed. The peak of the graph
should differ from a measured peak by at most 10 %, and its time from a measured time by at most 30 %. The
cases were chosen because their settings are well known. All cases that were tried are listed, even those that
differ by more.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import image_models
import text_models
from rows import CLOSE, Row
from steps import GIB, Step

TORCHTUNE = "torchtune README, Llama 3.2 3B on an A100 80GB, packed to 4,096: 60.0 GiB, 7,075 tokens/s"
DTR = "uwsampl/dtr-prototype, data_files: unmodified PyTorch, Titan V 12GB, peak of the allocator"
HF = (
    "transformers documentation, Performance and scalability on one GPU, January 2022: V100 16GB, nvidia-smi"
    " less 1,343 MB of the context; with the allocator's cache, gradients kept between steps"
)
LITGPT = "LitGPT tutorials/resource-tables.md, LoRA of Llama 2 7B, A100 40GB, PyTorch 2.1: 21.30 and 29.07 GB"
LLM_C = "llm.c, notes of GPT-2 124M in bf16: 331.3 MiB a sequence; kernels that write over, GELU recomputed"
TIMM = "timm, results/benchmark-train-amp-nchw-pt112-cu113-rtx3090.csv, PyTorch 1.12, not compiled"
NVIDIA = "NVIDIA DeepLearningExamples, README, training performance on one GPU"
LAMBDA = "Lambda, deeplearning-benchmark, pytorch-train-throughput, one GPU"
FLASH = "Lambda, FlashAttention-2 blog, 2023: GPT3-2.7B, length 1,024, mixed precision"
NANOGPT = "nanoGPT, pull request 225: compiled (torch 2.0), one RTX 4090, 115.6 ms a micro-step"


class Memory(NamedTuple):
    made: Callable
    card: str
    how: dict  # keyword arguments of Step
    setting: str
    bytes: float
    source: str
    kept_gradients: bool = False  # the gradients of the previous step exist during the step
    # Makes a smaller step, whose peak is subtracted. The result is then the memory of one more sample.
    less: Callable | None = None


class Time(NamedTuple):
    made: Callable
    card: str
    how: dict
    setting: str
    ms: float
    source: str


ADAMW = {"optimizer": "adamw"}
SGD_F16 = {"optimizer": "sgd", "autocast": "f16"}
ADAMW_F16 = {"optimizer": "adamw", "autocast": "f16"}
GPT2 = partial(text_models.gpt2, words=50304, length=1024, dtype=text_models.torch.bfloat16)

MEMORY = {
    "torchtune-Llama-3.2-3B": Memory(
        text_models.llama32_3b, "a100", ADAMW, "batch 2, 4,096 tokens; bf16; AdamW", 60.0 * GIB, TORCHTUNE
    ),
    "DTR-DenseNet-121": Memory(
        image_models.densenet121, "v100", {}, "batch 84, 224 px; f32; none", 11028e6, DTR
    ),
    "DTR-Inception-v4": Memory(
        image_models.inception_v4, "v100", {}, "batch 64, 299 px; f32; none", 11272e6, DTR
    ),
    "DTR-ResNet-1202": Memory(image_models.resnet1202, "v100", {}, "batch 64, 32 px; f32; none", 8904e6, DTR),
    "DTR-ResNet-1202-today": Memory(
        partial(image_models.resnet1202, relu=image_models.functional.relu),
        "v100",
        {},
        "batch 64, 32 px; f32; none; the ReLU of today keeps its output alone",
        8904e6,
        DTR,
    ),
    "DTR-U-Net-b6": Memory(
        partial(image_models.unet_bilinear, 6), "v100", {}, "batch 6, 416 by 608 px; f32; none", 8419e6, DTR
    ),
    "DTR-U-Net-b7": Memory(
        partial(image_models.unet_bilinear, 7), "v100", {}, "batch 7, 416 by 608 px; f32; none", 9809e6, DTR
    ),
    "DTR-Transformer-512": Memory(
        partial(text_models.transformer_12_6, 10, 512),
        "v100",
        {},
        "batch 10, 512 tokens; f32; none",
        9872e6,
        DTR,
    ),
    "DTR-Transformer-256": Memory(
        partial(text_models.transformer_12_6, 30, 256),
        "v100",
        {},
        "batch 30, 256 tokens; f32; none",
        9943e6,
        DTR,
    ),
    "HF-BERT-large-b4": Memory(
        partial(text_models.bert_large, 4, 512),
        "v100",
        ADAMW,
        "batch 4, 512 tokens; f32; AdamW",
        (14949 - 1343) * 1e6,
        HF,
        kept_gradients=True,
    ),
    "HF-BERT-large-b1": Memory(
        partial(text_models.bert_large, 1, 512),
        "v100",
        ADAMW,
        "batch 1, accumulated over 4, 512 tokens; f32; AdamW",
        (8681 - 1343) * 1e6,
        HF,
        kept_gradients=True,
    ),
    "LitGPT-Llama-2-7B-slope": Memory(
        partial(text_models.llama2_7b_low_rank, 2),
        "a100",
        ADAMW,
        "micro-batch 2 less micro-batch 1, 1,304 tokens; bf16; AdamW",
        (29.07 - 21.30) * 1e9,
        LITGPT,
        less=partial(text_models.llama2_7b_low_rank, 1),
    ),
    "llm.c-GPT-2-slope": Memory(
        partial(GPT2, 9),
        "a100",
        {},
        "batch 9 less batch 8, 1,024 tokens; bf16; none",
        331.3 * 2**20,
        LLM_C,
        less=partial(GPT2, 8),
    ),
}


def of_timm(name: str, batch: int, ms: float, size: int = 224) -> Time:
    made = partial(image_models.of_timm, name, batch, size)
    return Time(made, "rtx3090", SGD_F16, f"batch {batch}, {size} px; f16 autocast; SGD", ms, TIMM)


def of_bert(card: str, batch: int, length: int, rate: float, how: dict, head: str, source: str) -> Time:
    """`rate`: samples per second."""
    precision = "f16 autocast" if how.get("autocast") else "f32"
    optimizer = "AdamW" if how.get("optimizer") else "none"
    setting = f"batch {batch}, {length} tokens; {precision}; {optimizer}"
    made = partial(text_models.bert_large, batch, length, head)
    return Time(made, card, how, setting, 1e3 * batch / rate, source)


def of_resnet50(card: str, batch: int, rate: float, how: dict, source: str) -> Time:
    """`rate`: images per second."""
    precision = "f16 autocast" if how.get("autocast") else "f32"
    setting = f"batch {batch}, 224 px; {precision}; SGD"
    return Time(
        partial(image_models.of_timm, "resnet50", batch), card, how, setting, 1e3 * batch / rate, source
    )


TIMES = {
    "timm-ResNet-18": of_timm("resnet18", 512, 184.9),
    "timm-ResNet-50": of_timm("resnet50", 512, 618.98),
    "timm-ResNet-101": of_timm("resnet101", 256, 448.3),
    "timm-ResNet-152": of_timm("resnet152", 192, 516.5),
    "timm-VGG16": of_timm("vgg16", 384, 825.0),
    "timm-DenseNet-121": of_timm("densenet121", 256, 348.8),
    "timm-EfficientNet-B0": of_timm("efficientnet_b0", 384, 262.1),
    "timm-MobileNetV2": of_timm("mobilenetv2_100", 512, 278.6),
    "timm-Inception-v3": of_timm("inception_v3", 384, 636.2, 299),
    "timm-ConvNeXt-T": of_timm("convnext_tiny", 256, 313.9),
    "timm-ConvNeXt-B": of_timm("convnext_base", 128, 378.1),
    "timm-ViT-S": of_timm("vit_small_patch16_224", 384, 363.87),
    "timm-ViT-B": of_timm("vit_base_patch16_224", 192, 490.39),
    "timm-ViT-L": of_timm("vit_large_patch16_224", 64, 545.0),
    "timm-Swin-B": of_timm("swin_base_patch4_window7_224", 128, 455.8),
    "timm-Mixer-B16": of_timm("mixer_b16_224", 256, 484.0),
    "HF-BERT-large-V100": of_bert("v100", 4, 512, 8.86, ADAMW, "classes", HF),
    "NVIDIA-BERT-large-A100": of_bert("a100", 32, 512, 210, {"autocast": "f16"}, "pretraining", NVIDIA),
    "NVIDIA-BERT-large-V100": of_bert("v100", 8, 384, 12, ADAMW, "answers", NVIDIA),
    "NVIDIA-ResNet-50-V100": of_resnet50("v100", 112, 367, {"optimizer": "sgd"}, NVIDIA),
    "NVIDIA-ResNet-50-V100-f16": of_resnet50("v100", 256, 1200, SGD_F16, NVIDIA),
    "NVIDIA-ResNet-50-A100": of_resnet50("a100", 256, 2470, SGD_F16, NVIDIA),
    "Lambda-ResNet-50-A100": of_resnet50("a100", 1280, 1582, SGD_F16, LAMBDA),
    "Lambda-ResNet-50-H100": of_resnet50("h100", 1280, 2616, SGD_F16, LAMBDA),
    "Lambda-ResNet-50-4090": of_resnet50("rtx4090", 448, 1301, SGD_F16, LAMBDA),
    "Lambda-BERT-large-A100": of_bert("a100", 112, 384, 152, ADAMW_F16, "answers", LAMBDA),
    "Lambda-BERT-large-H100": of_bert("h100", 112, 384, 301, ADAMW_F16, "answers", LAMBDA),
    "Lambda-BERT-large-4090": of_bert("rtx4090", 28, 384, 93, ADAMW_F16, "answers", LAMBDA),
    "Lambda-BERT-large-A6000": of_bert("a6000", 64, 384, 68, ADAMW_F16, "answers", LAMBDA),
    "Lambda-GPT3-2.7B-A100": Time(
        text_models.gpt3_3b, "a100", ADAMW, "batch 4, 1,024 tokens; bf16; AdamW", 1e3 / 2.6, FLASH
    ),
    "Lambda-GPT3-2.7B-H100": Time(
        text_models.gpt3_3b, "h100", ADAMW, "batch 4, 1,024 tokens; bf16; AdamW", 1e3 / 5.44, FLASH
    ),
    "torchtune-Llama-3.2-3B": Time(
        text_models.llama32_3b,
        "a100",
        ADAMW,
        "batch 2, 4,096 tokens; bf16; AdamW",
        1e3 * 8192 / 7075,
        TORCHTUNE,
    ),
    "nanoGPT-GPT-2-4090": Time(
        partial(text_models.gpt2, 12, 1024, words=50304),
        "rtx4090",
        {"autocast": "bf16"},
        "batch 12, 1,024 tokens; bf16 autocast; none",
        115.6,
        NANOGPT,
    ),
}


def peak_of(made, case: Memory) -> float:
    with Step(made, case.card, **case.how) as step:
        return step.whole_peak + (step.parameter_bytes if case.kept_gradients else 0)


KEPT = "ours has the gradients of the step before, which zero_grad() of PyTorch 1 kept; it is less without"


def memory_rows(name: str) -> list[Row]:
    case = MEMORY[name]
    ours = peak_of(case.made(), case) - (peak_of(case.less(), case) if case.less else 0)
    return [
        Row(
            table="memory",
            case=name,
            setting=f"{case.card}; {case.setting}",
            source=case.source,
            unit="GB",
            ours=ours / 1e9,
            published=case.bytes / 1e9,
            better=CLOSE,
            tolerance=0.1,
            remark=KEPT if case.kept_gradients else "",
        )
    ]


def time_rows(name: str) -> list[Row]:
    case = TIMES[name]
    with Step(case.made(), case.card, **case.how) as step:
        return [
            Row(
                table="time",
                case=name,
                setting=f"{case.card} roofline; {case.setting}",
                source=case.source,
                unit="ms",
                ours=step.time_ns / 1e6,
                published=case.ms,
                better=CLOSE,
                tolerance=0.3,
            )
        ]


CASES = [("memory", name, partial(memory_rows, name)) for name in MEMORY]
CASES += [("time", name, partial(time_rows, name)) for name in TIMES]
