"""Rematlas leaves some calls to the original. Then training is the same as without `apply`. The reason is in
the status, and in one warning or one error."""

import contextlib
import copy
import gc
import logging
import time
import unittest
import warnings

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

import rematlas
from traps import digest

ROWS, WIDTH = 512, 64
BUDGET = 4_000_000  # a budget in bytes that is too small for a step without a plan
STEPS = 3


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.encoder = nn.Sequential(
            *(
                nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
                for _ in range(6)
            )
        )
        self.decoder = nn.Linear(WIDTH, WIDTH)
        self.drop = nn.Dropout(0.1)

    def encode(self, x):
        return self.drop(self.encoder(x))

    def forward(self, x):
        return self.decoder(self.encode(x))


class Rounding(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class Watching(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


def as_it_is(tensor):
    return tensor


def on_disk(tensor):
    return tensor.detach().numpy().tobytes(), tensor.shape


def from_disk(packed):
    return torch.frombuffer(bytearray(packed[0]), dtype=torch.float32).reshape(packed[1])


def through_checkpoint(model, x):
    return checkpoint(model, x, use_reentrant=False)


def through_parts(model, x):
    return model.decoder(model.encode(x))


def through_a_method(model, x):
    return model.forward(x)


def through_layers(model, x):
    for layer in model.encoder:
        x = layer(x)
    return nn.functional.linear(x, model.decoder.weight)


def through_functional_call(model, x):
    parameters = dict(model.encoder.named_parameters())
    return torch.func.functional_call(model.encoder, parameters, (x,))


def within(context):
    def call(model, x):
        with context():
            return model(x)

    return call


hooks = torch.autograd.graph.saved_tensors_hooks
# name -> (the reason in the status, the function that calls the model, the context around the whole step).
# None as function: the model is called directly. None as context: no context.
LEFT_ALONE = {
    "hooks": ("saved tensor hooks", None, lambda: hooks(as_it_is, as_it_is)),
    "bytes": ("saved tensor hooks", None, lambda: hooks(on_disk, from_disk)),
    "hooks_of_the_forward": ("saved tensor hooks", within(lambda: hooks(as_it_is, as_it_is)), None),
    "checkpoint": ("torch.utils.checkpoint around", through_checkpoint, None),
    "anomaly": ("anomaly mode", None, torch.autograd.detect_anomaly),
    "anomaly_of_the_forward": ("anomaly mode", within(lambda: torch.autograd.set_detect_anomaly(True)), None),
    "function_mode": ("the function mode Rounding", None, Rounding),
    "dispatch_mode": ("the dispatch mode Watching", within(Watching), None),
    "two_modes": ("the dispatch mode Watching", within(Watching), Rounding),
    "parts": ("parts", through_parts, None),
    "forward": ("past the module", through_a_method, None),
    "layers": ("parts", through_layers, None),
    "functional_call_of_a_part": ("parts", through_functional_call, None),
}
EVICTED = ("hooks", "bytes", "checkpoint", "anomaly", "function_mode")


def train(model, name):
    """Trains for `STEPS` steps. Returns digests of the losses, the gradients, the parameters and the state of
    the random number generator."""
    _, call, around = LEFT_ALONE[name]
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    found = []
    for step in range(STEPS):
        torch.manual_seed(step)
        x = torch.randn(ROWS, WIDTH)
        with warnings.catch_warnings(), (around or contextlib.nullcontext)():
            warnings.filterwarnings("ignore", "Anomaly Detection")
            loss = (call or nn.Module.__call__)(model, x).square().mean()
            loss.backward()
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        found.append([digest(tensor) for tensor in (loss, *gradients)])
        del loss, gradients
        optimizer.step()
        optimizer.zero_grad()
    return [*found, [digest(tensor) for tensor in (*model.parameters(), torch.get_rng_state())]]


class Case(unittest.TestCase):
    def setUp(self):
        gc.collect()  # frees models of other tests, because their bytes count in the budget


class LeftAlone(Case):
    def expect_said(self, name):
        """Checks that training is as without `apply`, and that the status and exactly one warning give the
        reason."""
        plain = train(Model(), name)
        model = rematlas.apply(Model(), "60% of activations")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ours = train(model, name)
        self.assertEqual(plain, ours)
        said = [str(w.message) for w in caught if w.category is rematlas.RefusedWarning]
        self.assertEqual(len(said), 1, said)
        status = rematlas.status(model)
        self.assertIn(LEFT_ALONE[name][0], said[0])
        self.assertIn("for a plan, ", said[0])
        self.assertNotIn("budget: unplanned", said[0])
        self.assertIn(LEFT_ALONE[name][0], status.reason)
        (line,) = status.left_alone
        self.assertRegex(line, rf"^{2 * STEPS if name == 'checkpoint' else STEPS} calls ")
        self.assertEqual(repr(status).count(line), 1, status)
        self.assertEqual((status.state, status.replayed), ("waiting", 0))

    def expect_error(self, name):
        model = rematlas.apply(Model(), "60% of activations", on_refuse="raise")
        for _ in range(2):
            with self.assertRaisesRegex(rematlas.Refused, LEFT_ALONE[name][0]):
                train(model, name)

    def expect_budget_said(self, name):
        model = rematlas.apply(Model(), BUDGET, unplanned="original")
        with self.assertWarnsRegex(rematlas.RefusedWarning, "may go beyond the budget"):
            train(model, name)
        self.assertIn("may go beyond the budget", repr(rematlas.status(model)))

    def expect_evicted(self, name):
        plain = train(Model(), name)
        model = rematlas.apply(Model(), BUDGET)
        self.addCleanup(rematlas.remove, model)
        with self.assertWarnsRegex(rematlas.RefusedWarning, "under online eviction, which keeps the budget"):
            ours = train(model, name)
        self.assertEqual(plain, ours)
        status = rematlas.status(model)
        self.assertEqual(status.evicted, status.original)
        self.assertEqual(status.unkept, "")

    def test_planned_once_nobody_is_there_any_more(self):
        """Calls after the hooks are gone are planned, and give no warning."""
        model = rematlas.apply(Model(), "60% of activations", time_limit=0.3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rematlas.RefusedWarning)
            train(model, "hooks")
        plain = copy.deepcopy(model)
        LEFT_ALONE["nothing"] = ("", None, None)
        with warnings.catch_warnings():
            warnings.simplefilter("error", rematlas.RefusedWarning)
            for _ in range(2):
                self.assertEqual(train(plain, "nothing"), train(model, "nothing"))
                rematlas.status(model).wait()
        status = rematlas.status(model)
        self.assertEqual(status.state, "planned", status)
        self.assertEqual(len(status.left_alone), 1)

    def test_evaluation_and_gradients_of_inputs_say_nothing(self):
        """Calls of parts give a warning only if parameters get gradients although the module itself was never
        called in a training step."""
        model = rematlas.apply(Model(), "60% of activations", on_refuse="raise")
        with torch.no_grad():
            model(torch.randn(4, WIDTH))
            model.decoder(model.encode(torch.randn(4, WIDTH)))
        x = torch.randn(4, WIDTH, requires_grad=True)
        torch.autograd.grad(through_parts(model, x).sum(), x)
        model(x).sum().backward()
        through_parts(model, x).sum().backward()
        self.assertEqual(rematlas.status(model).left_alone, [])

    def test_removed_it_says_nothing(self):
        model = rematlas.remove(rematlas.apply(Model(), "60% of activations", on_refuse="raise"))
        through_parts(model, torch.randn(4, WIDTH)).sum().backward()

    def test_torch_func_and_tracers(self):
        """Each of these calls is left to the original for a different reason."""
        x = torch.randn(4, WIDTH)
        model = rematlas.apply(Model(), "60% of activations")
        parameters = {name: value.detach() for name, value in model.named_parameters()}
        with self.assertWarnsRegex(rematlas.RefusedWarning, "a transform of torch.func"):
            torch.func.grad(lambda p: torch.func.functional_call(model, p, (x,)).sum())(parameters)
        with self.assertWarnsRegex(rematlas.RefusedWarning, "tracing by torch.jit"):
            torch.jit.trace(model, x, check_trace=False)
        self.assertEqual(len(rematlas.status(model).left_alone), 2)


class Averages(Model):
    """A model with a forward that no plan can repeat."""

    def __init__(self):
        super().__init__()
        self.mean = 0.0

    def forward(self, x):
        loss = super().forward(x).square().mean()
        self.mean = 0.9 * self.mean + 0.1 * loss.item()
        return loss * (1 + 0 * self.mean)


class Refused(Case):
    def train(self, **options):
        model = rematlas.apply(Averages(), BUDGET, **options)
        self.addCleanup(rematlas.remove, model)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for step in range(7):
                torch.manual_seed(step)
                model(torch.randn(ROWS, WIDTH)).backward()
                model.zero_grad()
        refused = [str(w.message) for w in caught if w.category is rematlas.RefusedWarning]
        said = [text for text in refused if "training goes on" in text]
        status = rematlas.status(model)
        self.assertEqual((status.state, len(said)), ("refused", 1), refused)
        return said[0], status

    def test_a_budget_that_is_not_kept_any_more_is_said(self):
        said, status = self.train(unplanned="original")
        self.assertIn("may go beyond the budget", said)
        self.assertIn("may go beyond the budget", status.unkept)
        self.assertIn(status.unkept, repr(status))
        self.assertIn('unplanned="evict" keeps it', said)

    def test_a_budget_that_eviction_keeps_is_said_to_be_kept(self):
        for options in ({}, {"unplanned": "evict"}):
            said, status = self.train(**options)
            self.assertIn("under online eviction, which keeps the budget", said)
            self.assertEqual(status.unkept, "")
            self.assertEqual(status.evicted, status.original)

    def test_further_kinds_of_calls(self):
        model = rematlas.apply(Model(), "60% of activations", shapes=1, time_limit=0.3)
        for _ in range(2):
            model(torch.randn(ROWS, WIDTH)).square().mean().backward()
        rematlas.status(model).wait()
        with self.assertWarnsRegex(rematlas.RefusedWarning, "of further kinds than 1 "):
            model(torch.randn(ROWS // 2, WIDTH)).square().mean().backward()
        self.assertIn("1 calls of further kinds", repr(rematlas.status(model)))


class OriginalOfPlanned(Case):
    """Steps that the plan of a planned module cannot run."""

    def planned(self, budget):
        model = rematlas.apply(Model(), budget, time_limit=0.3)
        for _ in range(6):
            model(torch.randn(ROWS, WIDTH)).square().mean().backward()
            rematlas.status(model).wait()
        self.assertEqual(rematlas.status(model).state, "planned")
        return model

    def step_by_original(self, model):
        """Runs a step: the plan runs the forward, and the original runs the backward. Returns the log
        messages."""
        with self.assertLogs("rematlas", "WARNING") as logged:
            loss = model(torch.randn(ROWS, WIDTH)).square().mean()
            loss.backward(retain_graph=True)
            logging.getLogger("rematlas").warning("the end")
        return logged.output[:-1]

    def test_is_counted_and_said_once(self):
        for budget in ("60% of activations", 8_000_000):
            model = self.planned(budget)
            status = rematlas.status(model)
            before = status.original, status.replayed
            said = [self.step_by_original(model) for _ in range(3)]
            self.assertEqual([len(lines) for lines in said], [1, 0, 0], said)
            self.assertIn("retain_graph=True", said[0][0])
            self.assertEqual((status.original, status.replayed), (before[0] + 3, before[1]))
            self.assertIn("retain_graph=True", repr(status))

    def test_a_budget_in_bytes_that_they_may_exceed_is_said(self):
        model = self.planned(8_000_000)
        self.assertEqual(rematlas.status(model).unkept, "")
        self.step_by_original(model)
        self.assertIn("the original ran the backward of a planned step", rematlas.status(model).unkept)

    def test_reasons_that_differ_in_numbers_only_are_said_once(self):
        class Rounds(Model):
            def forward(self, x, times):
                return super().forward(x)[: int(times.item())]

        model = rematlas.apply(Rounds(), "60% of activations", time_limit=0.3)
        with self.assertLogs("rematlas", "WARNING") as logged:
            for times in (400,) * 5 + (390, 380, 370):
                model(torch.randn(ROWS, WIDTH), torch.tensor(times)).square().mean().backward()
                rematlas.status(model).wait()
            logging.getLogger("rematlas").warning("the end")
        said = [line for line in logged.output if "such steps run the original" in line]
        self.assertLessEqual(len(said), 1, said)

    def test_a_parameter_that_gets_another_tensor_is_told_with_what_to_do(self):
        class Follows(Model):
            def __init__(self):
                super().__init__()
                self.follower = copy.deepcopy(self.decoder).requires_grad_(False)

            def forward(self, x):
                with torch.no_grad():
                    old = self.follower.weight
                    old.data = old.data * 0.9 + self.decoder.weight.data * 0.1
                return super().forward(x) - self.follower(x)

        model = rematlas.apply(Follows(), "60% of activations", time_limit=0.3)
        with self.assertWarnsRegex(rematlas.RefusedWarning, r"parameter\.data\.copy_\(\.\.\.\)"):
            for _ in range(9):
                model(torch.randn(ROWS, WIDTH)).square().mean().backward()


class Polling(Case):
    def test_the_status_notices_that_planning_has_ended(self):
        """The status shows that planning has ended even if no call of the module follows."""
        for verify, state in ((2, "comparing"), (0, "planned")):
            model = rematlas.apply(Model(), "60% of activations", time_limit=0.3, verify=verify)
            for _ in range(2):
                model(torch.randn(ROWS, WIDTH)).square().mean().backward()
            self.assertIn(rematlas.status(model).state, ("planning", state))
            while rematlas.status(model).state == "planning":
                time.sleep(0.01)
            self.assertEqual(rematlas.status(model).state, state)
            self.assertEqual((rematlas.status(model).original, rematlas.status(model).replayed), (2, 0))


def case_of(how, name):
    return lambda self: getattr(self, f"expect_{how}")(name)


for _name in LEFT_ALONE:
    for _how in ("said", "error", "budget_said"):
        setattr(LeftAlone, f"test_{_name}_{_how}", case_of(_how, _name))
for _name in EVICTED:
    setattr(LeftAlone, f"test_{_name}_evicted", case_of("evicted", _name))


if __name__ == "__main__":
    unittest.main()
