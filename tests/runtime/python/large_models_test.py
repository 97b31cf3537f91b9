"""Compares the memory of large models, planned for a card that is not installed, with counts that use no
graph.

The eight models are those of resources/models/large.py, trained in bf16 with AdamW on an H100. The peak of a
step is the sum of three parts: the residents, and, at the moment of the peak, the tensors that autograd keeps
for the backward and all other tensors that are alive.
"""

import base64
import functools
import json
import pathlib
import struct
import sys
import unittest
import warnings
from collections.abc import Callable
from typing import NamedTuple

import torch
import transformers
from torch import nn

from counted_memory import count, rounded, total
from rematlas.cards.absent_device import AbsentDevice
from rematlas.cards.recorded_step import graph_of_step
from rematlas_command.builds import minor_of
from slow import slow

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "resources" / "models"))
import large  # noqa: E402

NUMBER = 512  # bytes that the allocator takes for a tensor with one element
WORKSPACE = 32 << 20  # bytes that cuBLAS holds on Hopper, according to its documentation


def beside_log_softmax(_, output) -> int:
    """Returns the bytes that are alive at the backward of the log-softmax, besides the tensors that autograd
    keeps. They are the gradients of the log-softmax's output and input, in f32, and the bf16 logits, which
    the model returns. The peak is here because there are logits for all words."""
    logits = output.logits
    return 2 * rounded(4 * logits.numel()) + rounded(logits.nbytes)


def beside_head(model, output) -> int:
    """Returns the bytes that are alive at the matrix products of the head's backward, besides the tensors
    that autograd keeps. They are the logits, which the model returns, and the gradients of the logits, of the
    head's input, and of the head's weights. The embedding shares these weights, so their gradient waits for
    the embedding's part. The peak is here because the texts are short: the gradient of the weights is larger
    than the tensors of the loss."""
    weights, logits = model.proj_out.weight, output.logits
    inputs = rounded(logits.numel() // weights.shape[0] * weights.shape[1] * logits.itemsize)
    return 2 * rounded(logits.nbytes) + rounded(weights.nbytes) + inputs


def beside_last_layer(model, _) -> int:
    """Returns the bytes that are alive in the backward of the first of the widest layers, besides the tensors
    that autograd keeps. They are four gradients: of the residual stream, of the layer's output, of its input,
    which is four times as wide, and of its weights. The peak is here because the loss is computed from a
    small image."""
    weights = model.blocks[-1].layers[0][2].weight
    width, inner = weights.shape
    places = model.places.shape[1]
    row = places * weights.itemsize
    return 2 * rounded(row * width) + rounded(row * inner) + rounded(weights.nbytes)


class Place(NamedTuple):
    """Where a model's peak is. `op`, `module`: the op at the peak, and its module. `counted_at`: passed to
    `count` as `at`. `beside`: a function of (model, output) that returns the bytes alive at the peak besides
    the tensors that autograd keeps."""

    op: str
    module: str
    counted_at: str | None
    beside: Callable


LOSS = Place("aten::_log_softmax_backward_data", "", None, beside_log_softmax)
HEAD = Place("aten::mm", "proj_out", "proj_out", beside_head)
LAYER = Place("aten::mm", "blocks.23.layers.0.2", "blocks.23.layers.0.2", beside_last_layer)
PLACES = {large.whisper_large: HEAD, large.sd3_like: LAYER}

# The Python numbers with which the code of each model computes. A graph has a constant tensor for each such
# number.
NUMBERS = {
    large.llama3_8b: {0, 1.0, 1e-6},  # first position, scale of rotations, epsilon
    large.qwen3_8b: {0, 1.0, 1e-6},
    large.gemma2_9b: {0, 4096, 1.0, 1e-6, 256**-0.5, 50.0, 30.0},  # also the window, scores' scale, two caps
    large.qwen3_30b_a3b: {0, 1.0, 1e-6, 8},  # also the experts per token
    large.phi4_mini: {0, 1.0, 1e-5},
    large.gpt2_xl: {0, 0.5, 0.044715, (2 / torch.pi) ** 0.5, 1.0},  # numbers of its GELU
    large.whisper_large: {0, 64**-0.5},  # scale of queries
    large.sd3_like: {1},
}

# The allowed difference between count and graph, as a share of the bytes above the residents.
NEAR = 0.0005


class Step(NamedTuple):
    """The bytes of a step according to its graph, and as this test counts them without a graph. The counts
    are `counted_residents` and `counted_peak`. `residents` and `counted_residents` have bytes by kind."""

    residents: dict
    counted_residents: dict
    numbers: dict  # bytes of each constant of the program; the key is its value, as eight bytes
    peak: int
    op: dict  # the op at the peak
    counted_peak: int


def made_by_ops(graph) -> set:
    return {tensor for op in graph["ops"] for tensor in op["outputs"]}


def residents_of(graph) -> dict:
    """Returns the bytes of the tensors that no op makes, by kind. Constants count only if they belong to
    libraries."""
    made, of_program = made_by_ops(graph), {one["tensor"] for one in graph["replay"]["constants"]}
    found = {}
    for tensor in graph["tensors"]:
        if tensor["id"] not in made | of_program:
            found[tensor["kind"]] = found.get(tensor["kind"], 0) + tensor["bytes"]
    return found


def peak_of(graph) -> tuple[int, dict]:
    """Returns the peak bytes and the op at the peak. Each tensor lives from the op that makes it to the last
    op that reads it."""
    sizes = {tensor["id"]: tensor["bytes"] for tensor in graph["tensors"]}
    made, last = made_by_ops(graph), {}
    for index, op in enumerate(graph["ops"]):
        last |= dict.fromkeys((*op["inputs"], *op["outputs"], *op.get("mutates", ())), index)
    last |= dict.fromkeys(graph["results"], len(graph["ops"]))
    ending = {}
    for tensor in made:
        ending.setdefault(last[tensor], []).append(tensor)
    alive, known = sum(size for tensor, size in sizes.items() if tensor not in made), set()
    peak, at = 0, graph["ops"][0]
    for index, op in enumerate(graph["ops"]):
        new = set(op["outputs"]) - known
        known |= new
        alive += sum(sizes[tensor] for tensor in new)
        if alive + op["workspace_bytes"] > peak:
            peak, at = alive + op["workspace_bytes"], op
        alive -= sum(sizes[tensor] for tensor in ending.get(index, ()))
    return peak, at


def graph_of(model, args, kwargs) -> dict:
    """Returns the graph of a step with AdamW on an H100. Checks that the peak computed from the graph is the
    plan's."""
    plan = graph_of_step(model, args, kwargs, AbsentDevice("h100"), optimizer=("adamw", {}))
    graph = json.loads(plan.graph_text())
    peak, whole = peak_of(graph)[0], plan.answer().whole_peak_bytes
    if peak != whole:
        raise AssertionError(f"by its liveness the step needs {peak} bytes, and its plan says {whole}")
    return graph


def counted_residents(model, given, trained) -> dict:
    """Returns the residents of a step with AdamW, as bytes by kind. The optimizer keeps a learning rate, and
    for each parameter with a gradient two tensors and a step count. `trained`: the names of the parameters
    with a gradient."""
    of = dict(model.named_parameters())
    states = total(of[name] for name in trained)
    found = {
        "parameter": total(model.parameters()),
        "buffer": total(model.buffers()),
        "input": total(given),
        "constant": WORKSPACE,
        "optimizer_state": 2 * states + NUMBER * len(trained) + NUMBER,
    }
    return {kind: size for kind, size in found.items() if size > 0}


@functools.cache
def step_of(function) -> Step:
    model, args, kwargs = function()
    graph = graph_of(model, args, kwargs)
    place = PLACES.get(function, LOSS)
    counted = count(model, args, kwargs, at=place.counted_at)
    residents = counted_residents(model, (*args, *kwargs.values()), counted.trained)
    sizes = {tensor["id"]: tensor["bytes"] for tensor in graph["tensors"]}
    numbers = {base64.b64decode(one["base64"]): sizes[one["tensor"]] for one in graph["replay"]["constants"]}
    peak, op = peak_of(graph)
    beside = place.beside(model, counted.output)
    return Step(
        residents_of(graph),
        residents,
        numbers,
        peak,
        op,
        sum(residents.values()) + len(numbers) * NUMBER + counted.kept + beside,
    )


@unittest.skipIf(
    minor_of(torch.__version__) == "2.11",
    "the fake tensors of torch 2.11 need a driver, by which it is counted",
)
class Silent(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")
        transformers.logging.set_verbosity_error()


class LargeModels(Silent):
    @slow
    def test_hold_for_good_what_a_count_says(self):
        for function in large.MODELS:
            with self.subTest(function.__name__):
                step = step_of(function)
                self.assertEqual(step.residents, step.counted_residents)
                expected = {
                    struct.pack("<q" if isinstance(number, int) else "<d", number): NUMBER
                    for number in NUMBERS[function]
                }
                self.assertEqual(step.numbers, expected)

    def test_need_at_their_peak_what_a_count_says(self):
        for function in large.MODELS:
            with self.subTest(function.__name__):
                step, place = step_of(function), PLACES.get(function, LOSS)
                self.assertEqual((step.op["name"], step.op["module"]), (place.op, place.module))
                self.assertAlmostEqual(step.peak / step.counted_peak, 1, delta=0.02)
                beyond = step.counted_peak - sum(step.residents.values())
                near = NEAR * beyond
                self.assertAlmostEqual(step.peak, step.counted_peak, delta=near)


class UnitLayer(nn.Module):
    """The layer whose activations Korthikanti et al. count (2022, section 4.1). It uses flash attention,
    which keeps no scores."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.projection, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.projection(self.norms[0](x)).view(batch, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(
            query, key, value, dropout_p=0.1, is_causal=True
        )
        x = x + self.drop(self.output(attended.transpose(1, 2).reshape(batch, length, width)))
        return x + self.drop(self.narrow(nn.functional.gelu(self.wide(self.norms[1](x)))))


class Chain(nn.Module):
    def __init__(self, layers: int, width: int, heads: int):
        super().__init__()
        self.layers = nn.Sequential(*(UnitLayer(width, heads) for _ in range(layers)))

    def forward(self, x):
        return self.layers(x).square().mean()


class Formulas(Silent):
    """Compares the bytes of activations with published formulas. The formulas have the unit s b h: length s
    times batch b times width h. They omit tensors whose size is not a multiple of h."""

    def test_of_korthikanti_et_al(self):
        batch, length, width = 2, 2048, 2048
        graphs, counts = [], []
        for layers in (2, 6):
            with torch.device("meta"):
                model = Chain(layers, width, heads=16).to(torch.bfloat16)
                x = torch.zeros(batch, length, width, dtype=torch.bfloat16)
            graph = graph_of(model, (x,), {})
            made = made_by_ops(graph)
            held = sum(tensor["bytes"] for tensor in graph["tensors"] if tensor["id"] not in made)
            graphs.append(peak_of(graph)[0] - held)
            counts.append(count(model, (x,), {}).kept)
        for small, big in (graphs, counts):
            self.assertAlmostEqual((big - small) / 4 / (length * batch * width), 34, delta=0.1)

    def test_of_a_gelu_that_is_several_ops(self):
        # GPT-2 computes its GELU by separate ops, which keep four results of width 4 h instead of one. A
        # number has two bytes. So GPT-2 keeps 24 s b h bytes more than the 34 s b h of the formula.
        layers, length, width = 48, 1024, 1600
        step, counted = step_of(large.gpt2_xl), count(*large.gpt2_xl())
        beyond = step.peak - sum(step.residents.values())
        beside = beside_log_softmax(None, counted.output)
        head = rounded(4 * counted.output.logits.numel())  # bytes of the log-softmax's result
        for kept in (counted.kept, beyond - beside):
            self.assertAlmostEqual((kept - head) / layers / (length * width), 34 + 24, delta=0.5)


if __name__ == "__main__":
    unittest.main()
