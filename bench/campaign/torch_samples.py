#!/usr/bin/env python3
"""Trains models around the ops and modules for which torch has samples, under Rematlas and without it: CSV of
name,run,value,unit.

    torch_samples.py [--only TEXT] [--dtypes float32,bfloat16] [--samples N] [--evict] [--reasons]
                     [--output FILE]

The samples are those of torch's own tests (torch.testing: OpInfo and ModuleInfo). A model calls an op or a
module twice, on samples that are multiplied by parameters. Ops are called as a function, as a method and in
place; modules run in training mode and in evaluation mode. The training under Rematlas must give the outputs,
gradients, weights, buffers and random states of plain training, bit by bit. What differs, and every error
that plain training does not raise, is a fault, and is one line on standard error. `--only` chooses the ops
and modules whose names contain the text. `--evict` trains under online eviction instead of plans. `--reasons`
prints why models are refused.

REMATLAS_PROGRAMS names the folder of the programs.
"""

import argparse
import collections
import contextlib
import copy
import gc
import itertools
import logging
import pathlib
import sys
import time
import typing
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "runtime" / "python")]

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.testing._internal.common_modules import module_db  # noqa: E402
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten  # noqa: E402

import rematlas  # noqa: E402
from digests import digest_of  # noqa: E402
from rematlas.library import ops  # noqa: E402
from rows import report_models  # noqa: E402

STEPS = 7
# Shares of the bytes that a step takes. Online eviction is tried with the first one that it can keep.
EVICTED_SHARES = (0.6, 0.8, 0.95)
BUDGETS = ("70%", "100%")  # the second is tried if no plan keeps the first


def is_floating(value) -> bool:
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


class Around(nn.Module):
    """Calls `call`, a function or a module, twice: each time on products of its tensors and a parameter."""

    def __init__(self, call):
        super().__init__()
        self.call = call
        self.scales = nn.ParameterList(nn.Parameter(torch.ones(())) for _ in range(2))

    def forward(self, leaves, spec):
        found = []
        for scale in self.scales:
            scaled = [leaf * scale.to(leaf.dtype) if is_floating(leaf) else leaf for leaf in leaves]
            args, kwargs = tree_unflatten(scaled, spec)
            floating = [made for made in tree_leaves(self.call(*args, **kwargs)) if is_floating(made)]
            found += [one * one.sigmoid() if one.is_floating_point() else one * one for one in floating]
        return found


class Case(typing.NamedTuple):
    name: str
    model: nn.Module
    inputs: tuple  # the arguments of `model`


def cases_of_ops(dtype, count):
    for op in op_db:
        if dtype not in op.dtypes or op.name.startswith("jiterator") or not op.supports_autograd:
            continue
        name = op.name + ("." + op.variant_test_name if op.variant_test_name else "")
        calls = {"": op.op, " as a method": op.method_variant, " in place": op.inplace_variant}
        samples = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), 4 * count))
        for number, sample in enumerate(samples[:: max(1, len(samples) // count)][:count]):
            flat = tree_flatten(((sample.input, *sample.args), sample.kwargs))
            for how, call in calls.items():
                if call is not None:
                    yield Case(f"{name}{how}, sample {number}", Around(call), flat)


def cases_of_modules(dtype, count):
    for info in module_db:
        if dtype not in info.dtypes:
            continue
        for is_training in (True, False):
            made = info.module_inputs_func(
                info, device="cpu", dtype=dtype, requires_grad=False, training=is_training
            )
            for number, sample in enumerate(made[:: max(1, len(made) // count)][:count]):
                built = sample.constructor_input
                module = info.module_cls(*built.args, **built.kwargs).to(dtype).train(is_training)
                given = sample.forward_input
                mode = "" if is_training else " in evaluation mode"
                flat = tree_flatten((given.args, given.kwargs))
                yield Case(f"{info.name}{mode}, sample {number}", Around(module), flat)


class Trained(typing.NamedTuple):
    module: nn.Module
    digests: list  # of each step
    kept: int  # the bytes of all tensors before the steps
    peak: int  # the most bytes of all tensors


def train(case, budget=None, around=contextlib.nullcontext) -> Trained:
    """Trains a copy of the model with SGD. `around`: returns a context for a step of the model."""
    model = copy.deepcopy(case.model)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    if budget is not None:
        rematlas.apply(model, budget, time_limit=0.1)
    digests, kept = [], ops.counted_bytes()
    ops.reset_counted_peak()
    for step in range(STEPS):
        torch.manual_seed(step)
        leaves = [leaf.clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in case.inputs[0]]
        with around(model):
            out = model(leaves, case.inputs[1])
            loss = sum(torch.view_as_real(one).sum() if one.is_complex() else one.sum() for one in out)
            loss.float().backward()
        state = [p.grad for p in model.parameters() if p.grad is not None]
        optimizer.step()
        digests.append(digest_of([*out, *state, *model.state_dict().values(), torch.get_rng_state()]))
        optimizer.zero_grad()
        if budget is not None:
            rematlas.status(model).wait()
    return Trained(model, digests, kept, ops.counted_peak_bytes())


def difference(found, plain) -> str:
    """Says which steps differ; empty if none does."""
    different = [step for step, pair in enumerate(zip(found.digests, plain.digests)) if pair[0] != pair[1]]
    return f"steps {different} differ" if different else ""


def fault_under_plans(case, plain, counts, show_reasons) -> str:
    for budget in BUDGETS:
        found = train(case, budget)
        status = rematlas.status(found.module)
        fault = difference(found, plain)
        if fault:
            return f"{fault} ({status.state}, {budget})"
        if status.state == "planned":
            counts["steps by plans"] += status.replayed
            break
    counts[status.state] += 1
    if show_reasons and status.state != "planned":
        print(f"{case.name}: {status.state}: {status.reason}", file=sys.stderr, flush=True)
    return ""


class Evicting:
    """Contexts of online eviction, which count the evictions."""

    def __init__(self, budget):
        self.budget = budget
        self.evictions = 0

    @contextlib.contextmanager
    def step(self, model):
        with rematlas.evict(model, self.budget) as eviction:
            yield
            self.evictions += eviction.status().evictions


def fault_under_eviction(case, plain, counts) -> str:
    for share in EVICTED_SHARES:
        evicting = Evicting(plain.kept + int(share * (plain.peak - plain.kept)))
        try:
            found = train(case, around=evicting.step)
        except torch.OutOfMemoryError:
            continue
        counts["steps under eviction"] += STEPS
        counts["evictions"] += evicting.evictions
        fault = difference(found, plain)
        return f"{fault} (eviction within {share:.0%})" if fault else ""
    counts["out of memory"] += 1
    return ""


def try_case(case, counts, options) -> str:
    """Trains with and without Rematlas. Returns the fault; empty if there is none."""
    try:
        plain = train(case)
    except Exception:  # for example, the op has no derivative
        counts["not possible"] += 1
        return ""
    if difference(train(case), plain):
        counts["not repeatable"] += 1
        return ""
    try:
        if options.evict:
            return fault_under_eviction(case, plain, counts)
        return fault_under_plans(case, plain, counts, options.reasons)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--evict", action="store_true")
    parser.add_argument("--reasons", action="store_true")
    parser.add_argument("--output")
    options = parser.parse_args()
    torch.set_num_threads(1)
    gc.freeze()  # later collections skip the objects of PyTorch
    logging.getLogger("rematlas").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    counts, begin = collections.Counter(), time.monotonic()
    for name in options.dtypes.split(","):
        dtype = getattr(torch, name)
        for case in itertools.chain(
            cases_of_modules(dtype, options.samples), cases_of_ops(dtype, options.samples)
        ):
            if options.only not in case.name:
                continue
            counts["models"] += 1
            fault = try_case(case, counts, options)
            if fault:
                counts["faults"] += 1
                print(f"{name}, {case.name}: {fault}", file=sys.stderr, flush=True)
    counts["time"] = round(time.monotonic() - begin)
    report_models(counts, options.output)


if __name__ == "__main__":
    main()
