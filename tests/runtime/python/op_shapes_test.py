"""For each op for which torch has samples (OpInfo), compares a step on real data with the same step recorded
from shapes. The recordings must have the same ops, and the same bytes for each tensor."""

import itertools
import json
import unittest
import warnings

import torch
from torch import nn
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves

import rematlas
from rematlas.api import graph_of
from rematlas.cards.absent_device import AbsentDevice
from rematlas.cards.recorded_step import graph_of_step

SAMPLES = 3

# Ops for which the values of tensors determine the sizes of the results, or the ops that follow.
DEPENDS_ON_VALUES = {
    "allclose": "reads whether all are close",
    "argwhere": "as many rows as numbers that are not zero",
    "cov": "reads whether the weights are negative",
    "equal": "reads whether all are equal",
    "item": "reads a number",
    "linalg.lstsq": "as many residuals as the rank says",
    "linalg.lstsq.grad_oriented": "as many residuals as the rank says",
    "masked_fill": "the gradient of a tensor as the value selects by the mask",
    "masked_select": "as many numbers as the mask says",
    "max.reduction_no_dim": "the backward on the CPU reads whether the result is a number",
    "median": "the backward on the CPU reads whether the result is a number",
    "min.reduction_no_dim": "the backward on the CPU reads whether the result is a number",
    "nanmedian": "the backward on the CPU reads whether the result is a number",
    "nn.functional.gaussian_nll_loss": "reads whether variances are negative",
    "nonzero": "as many rows as numbers that are not zero",
    "prod": "the backward looks for zeros",
    "tensor_split": "as many parts as a tensor says",
    "unique": "as many numbers as are different",
    "unique_consecutive": "as many numbers as are different",
}
# Ops that are refused only in torch before 2.15.
REFUSED_BEFORE = {
    "combinations": "selects by a mask",
    "histogramdd": "torch has no shapes for its edges of bins",
}
# Ops that are replaced by other ops on a GPU.
OTHER_OPS_ON_CUDA = {
    "max.reduction_no_dim", "median", "min.reduction_no_dim", "nanmedian",
    "nn.functional.rms_norm", "nn.functional.scaled_dot_product_attention",
}  # fmt: skip


class OneOp(nn.Module):
    def __init__(self, op):
        super().__init__()
        self.op = op
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x, *args, **kwargs):
        made = self.op(x, *args, **kwargs)
        return [one for one in tree_leaves(made) if isinstance(one, torch.Tensor)], self.scale * 2


def samples_of(op):
    made = op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd)
    first = list(itertools.islice(made, 2 * SAMPLES))
    return first[:: max(1, len(first) // SAMPLES)][:SAMPLES]


def cases():
    """Yields (name, module, arguments, keywords, graph of the real step) for each sample that can be
    recorded."""
    torch.manual_seed(0)
    for op in op_db:
        if torch.float32 not in op.dtypes or op.name.startswith("jiterator"):
            continue
        name = op.name + ("." + op.variant_test_name if op.variant_test_name else "")
        for sample in samples_of(op):
            module = OneOp(op.op)
            args = (sample.input, *sample.args)
            try:
                real = json.loads(graph_of(module, args, sample.kwargs))
            except rematlas.Refused:
                continue  # for example, the sample writes to its arguments or is sparse
            yield name, module, args, sample.kwargs, real


def note_refusal(refused, name, error):
    """Notes why a sample was refused. Samples that seed the generator are not noted, because their steps
    cannot be planned, whether they are recorded on real data or from shapes."""
    if "random number generator" not in str(error):
        refused.setdefault(name, str(error))


def ops_of(graph):
    return [op["name"] for op in graph["ops"]]


def bytes_of(graph):
    return [(tensor["kind"], tensor["bytes"]) for tensor in graph["tensors"]]


class OpsFromShapes(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def test_are_those_of_the_real_step_and_have_shapes_on_a_gpu_too(self):
        compared, refused, others = {"cpu": 0, "h100": 0}, {"cpu": {}, "h100": {}}, set()
        for name, module, args, kwargs, real in cases():
            for card in compared:
                with self.subTest(name, card=card):
                    try:
                        plan = graph_of_step(module, args, kwargs, AbsentDevice(card))
                    except rematlas.Refused as error:
                        note_refusal(refused[card], name, error)
                        continue
                    compared[card] += 1
                    shapes = json.loads(plan.graph_text())
                    if card == "cpu":
                        self.assertEqual(ops_of(shapes), ops_of(real))
                        self.assertEqual(bytes_of(shapes), bytes_of(real))
                    elif ops_of(shapes) != ops_of(real):
                        others.add(name)
        for card, found in refused.items():
            self.assertGreater(compared[card], 1600)
            self.assertLessEqual(set(found), set(DEPENDS_ON_VALUES | REFUSED_BEFORE), found)
        self.assertLessEqual(set(DEPENDS_ON_VALUES), set(refused["cpu"]), "these have shapes now")
        for name in DEPENDS_ON_VALUES:
            self.assertRegex(refused["cpu"][name], "values? of a tensor (is|are) needed", name)
        self.assertLessEqual(others, OTHER_OPS_ON_CUDA)


if __name__ == "__main__":
    unittest.main()
