"""A forward that changes its caller's objects changes them exactly once, as without a plan. This also holds
if the forward is tried on shapes, is recorded, or runs under eviction."""

import contextlib
import unittest
import warnings

import torch

import callers_objects
import rematlas
from callers_objects import BUDGET, PROGRAMS

STEPS = 6
EVICTED = ("Scales", "Pops", "FeaturesTaken", "FromIterator", "CountsItsCalls", "GlobalNumber", "GlobalArray")


class Beside:
    """A context manager. The programs change some objects that do not belong to their modules, for example
    globals. At its end, the context restores these objects."""

    def __init__(self):
        self.history = list(callers_objects.HISTORY)
        self.table = callers_objects.TABLE.copy()
        self.dice = callers_objects.DICE.getstate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        c = callers_objects
        c.NUMBER, c.SETTINGS.scale, c.scaled.calls = 0, 1.0, 0
        c.HISTORY[:], c.TABLE[:] = self.history, self.table
        c.LONG_HISTORY[:] = range(300)
        c.DICE.setstate(self.dice)
        c.LEVEL.set(1)
        c.TOTAL.zero_()
        c.ON_THREAD.calls = 0
        c.RECENT.clear()
        c.Registry.entries.clear()
        c.Registry.last = None
        c.CountsInItsClass.calls = 0
        c.MutableDefault.forward.__defaults__[0].clear()
        c.MutableDefault.forward.__kwdefaults__["more"].clear()
        c.SCALES = iter([0.5 + 0.1 * number for number in range(100)])
        c.COUNTER = c.itertools.count(1)
        c.scaled_by_calls = c.counter()
        c.__dict__.pop("FIRST_SET", None)


def loss_of(output):
    return output["loss"] if isinstance(output, dict) else output


def train(kind, budget=None, **options):
    """Trains a program. Returns the results that a caller sees after each step, and the final state in
    `status`."""
    with Beside(), warnings.catch_warnings():
        warnings.simplefilter("ignore", rematlas.RefusedWarning)
        module = kind()
        if budget is not None:
            rematlas.apply(module, budget, time_limit=0.3, **options)
        optimizer = torch.optim.SGD(module.parameters(), 0.01)
        seen = []
        for step in range(STEPS):
            args = module.batch(step)
            loss = loss_of(module(*args))
            loss.backward()
            gradients = [parameter.grad.double().sum().item() for parameter in module.parameters()]
            seen.append((loss.item(), gradients, module.seen(args)))
            optimizer.step()
            optimizer.zero_grad()
            if budget is not None:
                rematlas.status(module).wait()
        if budget is None:
            return seen, None
        status = rematlas.status(module)
        rematlas.remove(module)
        return seen, status


class CallersObjects(unittest.TestCase):
    def expect_same(self, name, budget, **options):
        kind = PROGRAMS[name]
        plain, _ = train(kind)
        ours, status = train(kind, budget, **options)
        for step, (one, other) in enumerate(zip(plain, ours)):
            self.assertEqual(one, other, f"step {step}: {status}")
        if kind.state is not None:
            self.assertEqual(status.state, kind.state, status)
        if status.state == "refused":
            self.assertTrue(status.reason)

    def expect_left_alone(self, name):
        """Checks that `rematlas.plan`, whether it succeeds or is refused, leaves all objects that the program
        changes as they were."""
        with Beside():
            module = PROGRAMS[name]()
            args = module.batch(1)
            before = state_of(module, args)
            with contextlib.suppress(rematlas.Refused):
                rematlas.plan(module, args, "90%", time_limit=0.3)
            self.assertEqual(before, state_of(module, args))


def state_of(module, args):
    """Returns a text that describes all state that the programs change."""
    attributes = [
        {name: value for name, value in part.__dict__.items() if name[0] != "_"} for part in module.modules()
    ]
    of_functions = [
        PROGRAMS["MutableDefault"].forward.__defaults__,
        PROGRAMS["MutableDefault"].forward.__kwdefaults__,
        callers_objects.scaled.__dict__,
        [cell.cell_contents for cell in callers_objects.scaled_by_calls.__closure__],
    ]
    of_classes = [
        {name: value for name, value in vars(kind).items() if name[0] != "_" and not callable(value)}
        for kind in (callers_objects.Registry, PROGRAMS["CountsInItsClass"])
    ]
    names = [name for name in vars(callers_objects) if name.isupper() and name != "PROGRAMS"]
    values = {name: getattr(callers_objects, name) for name in sorted(names)}
    others = (
        callers_objects.LEVEL.get(),
        callers_objects.DICE.getstate(),
        callers_objects.ON_THREAD.calls,
        callers_objects.FILE.getvalue(),
        callers_objects.LETTERS.qsize(),
    )
    return [
        callers_objects.described(found) for found in (args, attributes, of_functions, of_classes, values)
    ] + [others]


def case_of(name, budget, **options):
    return lambda self: self.expect_same(name, budget, **options)


for _name in PROGRAMS:
    setattr(CallersObjects, f"test_{_name}_beyond_the_budget", case_of(_name, BUDGET))
    setattr(CallersObjects, f"test_{_name}_ahead", lambda self, name=_name: self.expect_left_alone(name))
# These programs change their arguments.
for _name in list(PROGRAMS)[: list(PROGRAMS).index("FromGenerator")]:
    setattr(CallersObjects, f"test_{_name}_within_a_share", case_of(_name, "70% of activations"))
for _name in EVICTED:
    setattr(CallersObjects, f"test_{_name}_evicted", case_of(_name, BUDGET, unplanned="evict"))


class RunAgain(unittest.TestCase):
    """Forwards that run a second time."""

    def test_the_original_of_an_earlier_forward_gets_its_arguments_as_they_were(self):
        """The caller empties a dictionary, which is an argument of the forward, and then runs a backward that
        the plan cannot run. The original's forward must then run again with the former contents of the
        dictionary."""
        losses = []
        for budget in (None, "70% of activations"):
            module = PROGRAMS["FeaturesKept"]()
            if budget:
                rematlas.apply(module, budget, time_limit=0.3)
            for step in range(STEPS):
                x = callers_objects.rows(step, requires_grad=True)
                batch = {"x": callers_objects.Pair(x * 2, [callers_objects.rows(step + 100)])}
                loss = module(batch)
                batch["x"].rest.clear()
                batch.clear()
                is_last = step == STEPS - 1
                (slope,) = torch.autograd.grad(loss, x, create_graph=is_last, retain_graph=is_last)
                if is_last:  # a second derivative, which no plan can compute
                    (slope,) = torch.autograd.grad(slope.square().sum(), x)
                losses.append((loss.item(), slope.double().sum().item()))
                if budget:
                    rematlas.status(module).wait()
        self.assertEqual(losses[:STEPS], losses[STEPS:])
        self.assertEqual(rematlas.status(module).state, "planned", rematlas.status(module))

    def test_a_forward_that_changed_something_before_it_failed_does_not_begin_again(self):
        class OutOfMemory(PROGRAMS["Pops"]):
            def forward(self, batch):
                loss = super().forward(batch)
                raise torch.OutOfMemoryError(f"no room for {loss.numel()} numbers")

        module = rematlas.apply(OutOfMemory(), "70% of activations")
        (batch,) = module.batch(1)
        with self.assertRaisesRegex(torch.OutOfMemoryError, "no room"):
            module(batch)
        self.assertEqual(list(batch), ["x"])


if __name__ == "__main__":
    unittest.main()
