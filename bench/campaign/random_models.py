#!/usr/bin/env python3
"""Trains random models under Rematlas and without it: CSV of name,run,value,unit.

    random_models.py [--seconds N] [--first SEED] [--habits NAME,...] [--output FILE]

Each seed chooses a model of random layers, a loss, an optimizer, a budget, and up to three habits of the
training loop, such as clipping, batches of other sizes, or gradients that are computed twice. The training
under Rematlas must give the outputs, losses, gradients, weights, buffers and random states of plain training,
bit by bit. The measured peak of a step must be the predicted one, and no step may exceed a budget in bytes
without a word. What differs is a fault, and is one line on standard error with its seed. `--habits` replaces
the habits that the seeds choose.

REMATLAS_PROGRAMS names the folder of the programs. The CSV adds up the figures of earlier runs that are in
the file `--output`.
"""

import argparse
import collections
import contextlib
import copy
import gc
import logging
import pathlib
import random
import sys
import time
import typing
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "runtime" / "python")]

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

import rematlas  # noqa: E402
from digests import digest_of  # noqa: E402
from random_layers import Model  # noqa: E402
from rematlas.library import ops  # noqa: E402
from rows import earlier, report_models  # noqa: E402

STEPS = 9
HABITS = {
    "frozen": "Some parameters are frozen.",
    "thawed": "Some parameters are frozen until a step in the middle.",
    "batches": "Some batches have fewer rows.",
    "autocast": "Forward and loss run in bfloat16.",
    "clip": "The gradients are clipped.",
    "evaluate": "The model is evaluated after some steps.",
    "input_gradient": "The input needs a gradient.",
    "two_forwards": "One loss adds the outputs of two forwards.",
    "retained": "The backward runs twice.",
    "grads_of": "torch.autograd.grad computes the gradients of some parameters, and once more those of all.",
    "forward_hook": "A hook on a layer changes its output.",
    "tensor_hook": "A hook on the output scales its gradient.",
    "parameter_hook": "A hook runs after each gradient of a parameter has been added.",
    "changed_output": "The loop changes the output in place.",
    "average": "The loop keeps an average of the weights.",
    "copied": "The loop copies the model, and runs the copy.",
    "raised": "The forward of one step raises an error in its middle.",
    "reloaded": "The loop saves the weights, and loads them again after a later step.",
    "zeros": "Gradients are set to zero, and not to None.",
    "penalty": "The loss has the norm of the gradient of the input.",
    "no_loss": "A forward has no backward.",
    "rate": "The learning rate changes after each step.",
    "changed_weights": "The loop changes weights in place between steps.",
    "copies": "The plan may copy activations to the host.",
    "part": "Only the layers are planned, and not what the model computes around them.",
}


class Stop(Exception):
    """The error of the habit "raised"."""

    is_wanted = False


def raise_if_wanted(module, given):
    if Stop.is_wanted:
        raise Stop


def halve_gradient(parameter) -> None:
    parameter.grad.mul_(0.5)


class Training:
    """The choices of one seed, and trainings with them."""

    def __init__(self, seed, habits):
        self.seed = seed
        choose = random.Random(seed)
        torch.manual_seed(seed)
        self.model = Model(choose)
        self.optimizer = choose.choice(("sgd", "adam", "fused"))
        self.share = choose.choice((0.5, 0.7, 0.8, 0.9))
        self.in_bytes = choose.random() < 0.5
        self.with_updates = self.optimizer == "fused" and choose.random() < 0.6
        self.accumulate = choose.choice((1, 1, 2))
        chosen = choose.sample(sorted(HABITS), choose.choice((0, 1, 2, 3)))
        self.habits = set(chosen if habits is None else habits)
        self.at = choose.randint(1, STEPS - 2)  # the step of what happens once
        self.part = choose.random()  # for choosing some of the parameters or layers
        if self.habits & {"clip", "retained", "grads_of", "zeros", "parameter_hook", "two_forwards", "part"}:
            self.with_updates = False  # such loops use gradients that the plan would free, or are refused

    def run(self, budget=None) -> "Trained":
        """Trains a copy of the model."""
        model = copy.deepcopy(self.model)
        if self.habits & {"frozen", "thawed"}:
            self.freeze(model, False)
        optimizer = self.optimizer_of(model)
        if budget is not None:
            options = {"optimizer": optimizer, "accumulate": self.accumulate} if self.with_updates else {}
            if "copies" in self.habits:
                options |= {"offload": "activations", "links": "pcie4"}
            rematlas.apply(self.planned_part(model), budget, time_limit=0.3, **options)
        return Loop(self, model, optimizer, budget is not None).run()

    def planned_part(self, model):
        return model.layers if "part" in self.habits else model

    def optimizer_of(self, model):
        if self.optimizer == "sgd":
            return torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
        return torch.optim.AdamW(model.parameters(), 1e-3, fused=self.optimizer == "fused")

    def freeze(self, model, needs_gradient):
        choose = random.Random(self.part)
        for parameter in model.layers.parameters():
            if choose.random() < 0.4:
                parameter.requires_grad_(needs_gradient)

    def budget(self, plain):
        if self.in_bytes:
            return plain.kept + int(self.share * (max(plain.peaks) - plain.kept))
        return f"{round(100 * self.share)}%"


class Trained(typing.NamedTuple):
    module: nn.Module  # the module that is planned
    digests: list  # for each step: the digests of its results, and of weights, buffers and random state
    peaks: list  # for each step: the most bytes of all tensors of the process
    kept: int  # the most bytes of all tensors of the process between steps


class Loop:
    """One training of one model, with the habits of its training."""

    def __init__(self, training, model, optimizer, planned):
        self.training, self.model, self.optimizer, self.planned = training, model, optimizer, planned
        self.habits, self.at = training.habits, training.at
        self.rate = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        self.results = []  # tensors of this step that must be the same
        self.average = None
        self.saved = None
        self.add_hooks()

    def add_hooks(self):
        layers = self.model.layers
        layer = layers[int(self.training.part * len(layers))]
        if "forward_hook" in self.habits:
            layer.register_forward_hook(lambda module, given, out: out * 0.5)
        if "raised" in self.habits:
            layer.register_forward_pre_hook(raise_if_wanted)
        if "parameter_hook" in self.habits:
            for parameter in self.model.parameters():
                if parameter.requires_grad:
                    parameter.register_post_accumulate_grad_hook(halve_gradient)

    def run(self) -> Trained:
        digests, peaks, kept = [], [], 0
        for self.number in range(STEPS):
            self.between()
            gc.collect()
            kept = max(kept, ops.counted_bytes())
            ops.reset_counted_peak()
            self.step()
            peaks.append(ops.counted_peak_bytes())
            state = [*self.model.state_dict().values(), torch.get_rng_state()]
            digests.append((digest_of(self.results), digest_of(state)))
            self.results = []
            if self.planned:
                rematlas.status(self.training.planned_part(self.model)).wait()
        return Trained(self.training.planned_part(self.model), digests, peaks, kept)

    def between(self):
        """Does what the loop does before a step."""
        if "thawed" in self.habits and self.number == self.at:
            self.training.freeze(self.model, True)
        if "average" in self.habits:
            weights = [parameter.detach().clone() for parameter in self.model.parameters()]
            if self.average:
                torch._foreach_lerp_(self.average, weights, 0.1)
            self.average = self.average or weights
        if "evaluate" in self.habits and self.number % 3 == 2:
            self.model.eval()
            with torch.no_grad():
                self.keep(self.model(self.batch(50, self.rows())[0]))
            self.model.train()
        if "copied" in self.habits and self.number == self.at:
            torch.manual_seed(0)
            self.keep(copy.deepcopy(self.model)(self.batch(50, self.rows())[0]))
        if "no_loss" in self.habits and self.number == self.at:
            torch.manual_seed(1)
            self.keep(self.model(self.batch(51, self.rows())[0]))
        if "reloaded" in self.habits and self.number == self.at:
            self.saved = copy.deepcopy(self.model.state_dict())
        if "reloaded" in self.habits and self.number == self.at + 1:
            self.model.load_state_dict(self.saved)
            self.saved = None
        if "changed_weights" in self.habits and self.number == self.at:
            with torch.no_grad():
                for parameter in self.model.parameters():
                    parameter.mul_(0.9)

    def rows(self):
        return 3 if "batches" in self.habits and self.number % 4 == 3 else 4

    def batch(self, number, rows):
        return self.model.batch(number, rows)

    def keep(self, *results):
        """Adds tensors, and tuples of tensors, to the results of the step."""
        for found in results:
            if isinstance(found, torch.Tensor):
                self.results.append(found.detach().clone())
            elif found is not None:
                self.keep(*found)

    def step(self):
        training = self.training
        for part in range(training.accumulate):
            torch.manual_seed(self.number)
            with contextlib.suppress(Stop):
                Stop.is_wanted = "raised" in self.habits and self.number == self.at
                self.backward(self.batch(1000 * self.number + part, self.rows()))
            Stop.is_wanted = False
        if "clip" in self.habits:
            self.keep(nn.utils.clip_grad_norm_(self.model.parameters(), 0.5))
        if not training.with_updates:
            self.results += [p.grad.clone() for p in self.model.parameters() if p.grad is not None]
        self.optimizer.step()
        if "rate" in self.habits:
            self.rate.step()
        self.optimizer.zero_grad(set_to_none="zeros" not in self.habits)

    def backward(self, batch):
        """Runs a forward and its backward."""
        x, y = batch
        if self.habits & {"input_gradient", "penalty"}:
            x.requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled="autocast" in self.habits):
            out = self.model(x)
            if "two_forwards" in self.habits:
                more = self.model(x * 0.5)
                out = (out[0] + more[0], out[1]) if self.model.pairs else out + more
            loss = self.loss(out, y)
        if "penalty" in self.habits:
            (gradient,) = torch.autograd.grad(loss, x, create_graph=True)
            loss = loss + gradient.square().sum()
        self.keep(loss, out)
        if "grads_of" in self.habits:
            self.gradients_of(loss)
        elif "retained" in self.habits:
            loss.backward(retain_graph=True)
            loss.backward()
        else:
            loss.backward()
        self.keep(x.grad)

    def loss(self, out, y):
        logits, features = out if self.model.pairs else (out, None)
        if "tensor_hook" in self.habits and logits.requires_grad:
            logits.register_hook(lambda gradient: gradient * 0.5)
        if "changed_output" in self.habits:
            logits.mul_(0.7)
        loss = functional.cross_entropy(logits, y)
        return loss if features is None else loss + features.square().mean()

    def gradients_of(self, loss):
        parameters = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        some = parameters[::3]
        self.keep(torch.autograd.grad(loss, some, retain_graph=True, allow_unused=True))
        found = torch.autograd.grad(loss, parameters, allow_unused=True)
        for parameter, gradient in zip(parameters, found, strict=True):
            if gradient is not None:
                parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient


def try_seed(seed, habits, counts) -> str:
    """Trains with the choices of the seed. Returns the fault; empty if there is none."""
    training = Training(seed, habits)
    try:
        plain = training.run()
    except RuntimeError:  # for example, torch has no second derivative of its attention
        counts["not possible"] += 1
        return ""
    if training.run().digests != plain.digests:
        counts["not repeatable"] += 1
        return ""
    for habit in training.habits:
        counts[f"habit {habit}"] += 1
    budget = training.budget(plain)
    about = f"{budget}, {' '.join(sorted(training.habits))}"
    try:
        found = training.run(budget)
    except (rematlas.Refused, torch.OutOfMemoryError):
        counts["refused"] += 1
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {error} ({about})"
    counts[rematlas.status(found.module).state.split()[0]] += 1
    counts["steps by plans"] += rematlas.status(found.module).replayed
    fault = fault_of(training, plain, found, budget)
    return f"{fault} ({rematlas.status(found.module).state}, {about})" if fault else ""


def fault_of(training, plain, found, budget) -> str:
    status = rematlas.status(found.module)
    for number, (ours, theirs) in enumerate(zip(found.digests, plain.digests, strict=True)):
        if ours != theirs:
            return f"step {number} differs"
    for plan in status.plans:
        measured = plan.measured_peak_bytes
        if measured is not None and measured > plan.peak_bytes:
            return f"a step took {measured} bytes, {plan.peak_bytes} were predicted"
        if measured is not None and measured < plan.peak_bytes and not plan.at_most:
            return f"a step took {measured} bytes only, {plan.peak_bytes} were predicted"
    if training.in_bytes and not status.unkept and max(found.peaks) > budget:
        return f"a step took {max(found.peaks)} bytes of a budget of {budget}, and nothing says so"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--habits", type=lambda text: text.split(",") if text else [])
    parser.add_argument("--output")
    options = parser.parse_args()
    torch.set_num_threads(1)
    gc.freeze()  # later collections skip the objects of PyTorch
    logging.getLogger("rematlas").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    counts, begin, seed = collections.Counter(), time.monotonic(), options.first
    while time.monotonic() < begin + options.seconds:
        fault = try_seed(seed, options.habits, counts)
        gc.collect()
        if fault:
            counts["faults"] += 1
            print(f"seed {seed}: {fault}", file=sys.stderr, flush=True)
        seed += 1
    counts["models"], counts["time"] = seed - options.first, round(time.monotonic() - begin)
    counts.update(earlier(options.output))
    report_models(counts, options.output)


if __name__ == "__main__":
    main()
