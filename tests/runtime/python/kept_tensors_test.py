"""Plans support modules whose forward leaves containers of tensors for the next forward, whether the plans
are made from steps, from shapes or from files. The module stays an ordinary module.

    python kept_tensors_test.py KIND PLAN    # trains a model of this kind by the plan, and prints the result
"""

import collections
import copy
import gc
import hashlib
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings

import torch
from torch import nn

import models
import rematlas
from rematlas.calls import unread_names

WIDTH, STEPS = 32, 14
State = collections.namedtuple("State", "hidden cell")


class Recurrent(nn.Module):
    """A model that keeps the state of its recurrent layer as a tuple."""

    state = None

    def __init__(self):
        super().__init__()
        self.layer = nn.LSTM(WIDTH, 2 * WIDTH, 2, batch_first=True)
        self.head = nn.Sequential(
            *(layer for _ in range(6) for layer in (nn.Linear(2 * WIDTH, 2 * WIDTH), nn.GELU()))
        )

    def kept(self, parts):
        return tuple(parts)

    def forward(self, x):
        x, state = self.layer(x, self.state and tuple(self.state))
        self.state = self.kept(part.detach() for part in state)
        return self.head(x)


class WithList(Recurrent):
    def kept(self, parts):
        return list(parts)


class WithNamedTuple(Recurrent):
    def kept(self, parts):
        return State(*parts)


class OfCells(Recurrent):
    """A model whose state is a tuple of tuples even before the first step."""

    def __init__(self):
        super().__init__()
        self.state = tuple((torch.zeros(64, 2 * WIDTH), torch.zeros(64, 2 * WIDTH)) for _ in range(2))
        self.layer = nn.Linear(WIDTH, 2 * WIDTH)

    def forward(self, x):
        x, found = self.layer(x.flatten(0, 1)[:64]), []
        for hidden, cell in self.state:
            x = self.head(x + 0.5 * hidden)
            cell = 0.5 * cell + x
            found.append((x.detach(), cell.detach()))
        self.state = tuple(found)
        return x + cell


class Logs(nn.Module):
    """A model that sets attributes to tensors that it never reads."""

    state = None

    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(
            *(layer for _ in range(8) for layer in (nn.Linear(WIDTH, WIDTH), nn.GELU()))
        )

    def forward(self, x):
        x = self.head(x.repeat(32, 1, 1)).square()
        self.state = [x.detach().mean((0, 1)), (x.detach().amax(), None)]
        return x.mean()


def built(kind):
    torch.manual_seed(0)
    return kind()


def tensors_of(state) -> list:
    if isinstance(state, torch.Tensor) or state is None:
        return [] if state is None else [state]
    return [tensor for part in state for tensor in tensors_of(part)]


def digest(tensor) -> str:
    return hashlib.sha256(tensor.detach().contiguous().numpy()).hexdigest()[:16]


def step_of(module, step) -> float:
    x = torch.randn(8, 16, WIDTH, generator=torch.Generator().manual_seed(step))
    loss = module(x).square().mean()
    loss.backward()
    return loss.item()


def train(module, change=lambda module, step: None, steps=STEPS, done=lambda: None):
    """Trains for `steps` steps. Returns a record and the peaks. For each step the record has the loss, the
    kind of the state, and digests of the state's tensors and of a gradient."""
    optimizer = torch.optim.SGD(module.parameters(), 0.05)
    record, peaks = [], []
    for step in range(steps):
        optimizer.zero_grad()
        models.reset_peak()
        loss = step_of(module, step)
        peaks.append(models.peak())
        tensors = [*tensors_of(module.state), module.head[0].weight.grad]
        record.append((loss, type(module.state).__name__, *map(digest, tensors)))
        del tensors
        optimizer.step()
        change(module, step)
        done()
    return record, peaks


def needs(kind) -> int:
    """Returns the peak bytes of plain training, not counting the bytes of the module."""
    module = built(kind)
    gc.collect()
    alive = models.reset_peak()
    _, peaks = train(module, steps=4)
    return max(peaks) - alive


def reset_once(module, step):
    if step == STEPS - 4:
        module.state = type(module).state


class KeptCase(unittest.TestCase):
    def expect_planned(self, kind, budget, change=lambda module, step: None, **options):
        """Checks that training is planned and has the results of plain training. Returns the module, its
        status and the peaks."""
        plain, _ = train(built(kind), change)
        module = rematlas.apply(built(kind), budget, config=models.by_moves(), **options)
        ours, peaks = train(module, change, done=lambda: rematlas.status(module).wait())
        status = rematlas.status(module)
        self.assertEqual(ours, plain, str(status))
        self.assertEqual(status.state, "planned", status.reason)
        self.assertGreaterEqual(status.replayed, 2, status.reason)
        return module, status, peaks


class Containers(KeptCase):
    def test_of_each_kind_are_planned_with_a_share_of_the_step(self):
        for kind in (Recurrent, WithList, WithNamedTuple, OfCells):
            with self.subTest(kind=kind.__name__):
                self.expect_planned(kind, "90%")

    def test_of_each_kind_may_be_taken_away_between_steps(self):
        for kind in (Recurrent, WithList, WithNamedTuple):
            with self.subTest(kind=kind.__name__):
                self.expect_planned(kind, "90%", reset_once)

    def test_keep_a_budget_in_bytes(self):
        for kind in (Recurrent, WithList, OfCells):
            for unplanned in ("original", "evict"):
                with self.subTest(kind=kind.__name__, unplanned=unplanned):
                    needed = needs(kind)
                    gc.collect()
                    size = sum(parameter.nbytes for parameter in built(kind).parameters())
                    budget = models.reset_peak() + size + int(0.9 * needed)
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        module, status, peaks = self.expect_planned(kind, budget, unplanned=unplanned)
                    is_told = unplanned == "original" and status.unkept
                    self.assertTrue(is_told or max(peaks) <= budget, f"{max(peaks)} of {budget}, {status}")
                    rematlas.remove(module)
                    del module

    def test_are_planned_before_the_first_step_where_it_does_not_fit(self):
        needed = needs(Logs)
        plain, _ = train(built(Logs), steps=6)
        module = built(Logs)
        gc.collect()
        rematlas.apply(module, models.reset_peak() + int(0.6 * needed), config=models.by_moves())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours, _ = train(module, steps=6, done=lambda: rematlas.status(module).wait())
        status = rematlas.status(module)
        self.assertEqual(ours, plain, str(status))
        self.assertEqual((status.state, status.original), ("planned", 0), str(status))


class Modules(KeptCase):
    def test_that_keep_containers_are_copied_with_them(self):
        for kind in (Recurrent, WithList, WithNamedTuple, OfCells):
            with self.subTest(kind=kind.__name__):
                module, status, _ = self.expect_planned(kind, "90%")
                replayed = status.replayed
                for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
                    before = copy.deepcopy(module)
                    self.assertIs(type(other.state), type(module.state))
                    self.assertEqual(step_of(other, 50), step_of(before, 50))
                    self.assertTrue(all(map(torch.equal, *map(tensors_of, (other.state, before.state)))))
                self.assertEqual(status.replayed, replayed)

    def test_have_the_state_of_a_forward_that_fails(self):
        plain, (module, status, _) = built(Recurrent), self.expect_planned(Recurrent, "90%")
        plain.load_state_dict(module.state_dict())
        plain.state = module.state
        replayed = status.replayed
        for each in (plain, module):
            step_of(each, 60)
            with self.assertRaises(RuntimeError):
                each(torch.zeros(8, 16, WIDTH + 1))
            each.head.append(nn.Linear(1, 1))
            with self.assertRaises(RuntimeError):
                step_of(each, 61)
            del each.head[-1]
            each.zero_grad()
        self.assertTrue(all(map(torch.equal, plain.state, module.state)))
        self.assertEqual(step_of(plain, 62), step_of(module, 62))
        self.assertEqual(status.replayed, replayed + 2, status.reason)


class PlanFiles(KeptCase):
    def saved(self, kind, folder):
        _, status, _ = self.expect_planned(kind, "90%")
        path = pathlib.Path(folder) / "plan"
        status.save(path)
        return path

    def test_carry_containers_to_other_modules(self):
        for kind in (Recurrent, WithList, WithNamedTuple, OfCells):
            with self.subTest(kind=kind.__name__), tempfile.TemporaryDirectory() as folder:
                module = rematlas.apply(built(kind), plan=self.saved(kind, folder))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # no plan runs the first step, which has no state yet
                    ours, _ = train(module, steps=8)
                plain, _ = train(built(kind), steps=8)
                status = rematlas.status(module)
                self.assertEqual(ours, plain, str(status))
                self.assertGreaterEqual(status.replayed, 4, str(status))

    def test_carry_containers_to_other_processes(self):
        for kind in (WithNamedTuple, OfCells):
            with self.subTest(kind=kind.__name__), tempfile.TemporaryDirectory() as folder:
                path = self.saved(kind, folder)
                told = subprocess.run(
                    [sys.executable, "-W", "ignore", __file__, kind.__name__, path],
                    check=True,
                    capture_output=True,
                    text=True,
                )
                state, loss, kept = told.stdout.split()
                plain, _ = train(built(kind), steps=8)
                self.assertEqual((state, loss, kept), ("planned", repr(plain[-1][0]), plain[-1][1]))


def train_by_plan(kind, path) -> None:
    module = rematlas.apply(built(globals()[kind]), plan=path)
    record, _ = train(module, steps=8)
    print(rematlas.status(module).state, repr(record[-1][0]), type(module.state).__name__)


class CodeWithoutSource(unittest.TestCase):
    def test_may_read_each_attribute(self):
        made = {}
        exec("def forward(self, name):\n    self.calls += 1\n    return getattr(self, name)\n", made)
        code = made["forward"].__code__
        self.assertTrue(unread_names.may_ask_for(code, "calls"))
        self.assertFalse(unread_names.counts_or_logs(code, "calls"))


if __name__ == "__main__":
    train_by_plan(*sys.argv[1:])
