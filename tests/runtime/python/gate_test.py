"""Every plan must pass the same checks before it runs a step, however it was made. The plan is compared with
the original if the budget is large enough for both."""

import gc
import itertools
import logging
import unittest
import warnings

import numpy
import torch
from torch import nn

import models
import rematlas
from rematlas.compiled.memory import other_bytes

STEPS = 8
WIDTH, ROWS, WORDS = 64, 128, 200


class Tied(nn.Module):
    """A model whose head uses the weight of its embedding. With `three`, the embedding is used a third
    time."""

    def __init__(self, three=False):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
            for _ in range(4)
        )
        self.three = three

    def forward(self, text):
        x = self.embedding(text)
        for block in self.blocks:
            x = x + block(x)
        if self.three:
            x = x + (x @ self.embedding.weight.t()).softmax(-1) @ self.embedding.weight
        return x @ self.embedding.weight.t()


class SharedNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
            for _ in range(4)
        )

    def forward(self, x):
        for block in self.blocks:
            x = x + block(self.norm(x))
        return self.norm(x)


def text():
    return torch.randint(0, WORDS, (8, ROWS // 4))


class Remembering(SharedNorm):
    def __init__(self):
        super().__init__()
        self.state = None

    def forward(self, x):
        y = super().forward(x)
        y = y * 2 if self.state is None else y + 0.5 * self.state
        self.state = y.detach()
        return y


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.last, self.state = nn.GRU(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), None

    def forward(self, x):
        y, state = self.layer(x[:16, None], self.state)
        self.state = state.detach()
        return self.last(y)


class WithBias(SharedNorm):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.last(super().forward(x))


def rows(count=ROWS):
    return torch.randn(count, WIDTH)


def cross_entropy(logits, targets):
    return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def two_texts(module):
    one, other = text(), text()
    first, second = module(one), module(other)
    return cross_entropy(first, other) + cross_entropy(second, one)


def twice_the_same(module):
    x = rows()
    first, second = module(x), module(x + 0.1)
    return nn.functional.cross_entropy(first @ second.t(), torch.arange(ROWS))


def of_two_lengths(module):
    return (module(rows()).mean(0) - module(rows(ROWS // 2)).mean(0)).square().mean()


def three_towers(module):
    return nn.functional.triplet_margin_loss(module(rows()), module(rows()), module(rows()))


def accumulated(module):
    outputs = [module(rows()), module(rows())]
    outputs[0].square().mean().backward()
    return outputs[1].square().mean()


def in_another_mode(module):
    first = module(rows())
    module.eval()
    second = module(rows())
    module.train()
    return (first - second).square().mean()


def penalty_before(module):
    penalty = 1e-3 * module.norm.weight.square().sum()
    return module(rows()).square().mean() + penalty


def train(module, loss_of, steps=STEPS, done=lambda: None):
    """Trains for `steps` steps. Returns the losses and gradients of each step, and the peak of each step."""
    record, peaks = [], []
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    for step in range(steps):
        torch.manual_seed(step)
        models.reset_peak()
        loss = loss_of(module)
        loss.backward()
        peaks.append(models.peak())
        record.append((loss.item(), [parameter.grad.clone() for parameter in module.parameters()]))
        del loss
        optimizer.step()
        optimizer.zero_grad()
        done()
    return record, peaks


class GateCase(unittest.TestCase):
    def setUp(self):
        logging.getLogger("rematlas").setLevel(logging.ERROR)
        self.addCleanup(logging.getLogger("rematlas").setLevel, logging.NOTSET)

    def expect_equal(self, ours, plain, told):
        for step, ((loss, gradients), (wanted, others)) in enumerate(zip(ours, plain)):
            self.assertEqual(loss, wanted, f"step {step}, {told}")
            self.assertTrue(all(map(torch.equal, gradients, others)), f"step {step}, {told}")

    def check(self, build, loss_of, share):
        """Trains without a plan, and then under a budget that is `share` of a plain step's peak. Returns the
        status."""

        def built():
            torch.manual_seed(0)
            gc.collect()
            return build()

        alive = models.reset_peak()
        plain, peaks = train(built(), loss_of)
        needed = max(peaks) - alive
        module = built()
        # The process also holds the gradients that `train` returns.
        gradients = STEPS * sum(parameter.nbytes for parameter in module.parameters())
        rematlas.apply(module, models.reset_peak() + gradients + int(share * needed), time_limit=0.2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ours, _ = train(module, loss_of, done=lambda: rematlas.status(module).wait())
        status = rematlas.status(module)
        self.expect_equal(ours, plain, str(status))
        if status.state == "refused":
            self.assertTrue(any("forwards are open" in str(w.message) for w in caught), status.reason)
        return status


class SharedSums(GateCase):
    """Models with sums of gradients. A plan for one forward would sum the gradients of several open forwards
    in another order than plain training."""

    def check_at_all_budgets(self, build, loss_of):
        for share in (0.9, 0.6, 0.4):
            with self.subTest(share=share):
                self.check(build, loss_of, share)

    def test_of_tied_weights(self):
        self.check_at_all_budgets(Tied, two_texts)

    def test_of_weights_that_are_used_three_times(self):
        self.check_at_all_budgets(lambda: Tied(three=True), two_texts)

    def test_of_a_norm_that_all_blocks_share(self):
        self.check_at_all_budgets(SharedNorm, twice_the_same)

    def test_of_two_kinds_of_calls(self):
        self.check_at_all_budgets(SharedNorm, of_two_lengths)

    def test_of_three_forwards(self):
        self.check_at_all_budgets(SharedNorm, three_towers)

    def test_of_backwards_that_add_up(self):
        self.check_at_all_budgets(SharedNorm, accumulated)

    def test_with_a_forward_that_no_plan_is_for(self):
        self.check_at_all_budgets(SharedNorm, in_another_mode)

    def test_what_is_added_to_the_whole_sum_is_planned(self):
        status = self.check(SharedNorm, penalty_before, 0.6)
        self.assertEqual(status.state, "planned", status.reason)

    def test_what_keeps_an_output_for_once_stays_planned(self):
        torch.manual_seed(0)
        module = rematlas.apply(SharedNorm(), "80%", time_limit=0.2)
        train(module, lambda module: module(rows()).square().mean(), done=rematlas.status(module).wait)
        replayed = rematlas.status(module).replayed
        kept = module(rows())
        train(module, lambda module: module(rows()).square().mean(), steps=2)
        del kept
        train(module, lambda module: module(rows()).square().mean())
        status = rematlas.status(module)
        self.assertEqual(status.state, "planned", status.reason)
        self.assertGreaterEqual(status.replayed, replayed + STEPS)


class Effects(GateCase):
    def test_of_steps_that_do_not_fit(self):
        """A plan runs from the first step on. Even so, counters and logs are those of plain training."""

        class Counts(SharedNorm):
            def __init__(self):
                super().__init__()
                self.calls, self.log = 0, []

            def forward(self, x):
                self.calls += 1
                loss = super().forward(x).square().mean()
                self.log.append(loss.item())
                return loss

        modules = []

        def built():
            modules.append(Counts())
            return modules[-1]

        status = self.check(built, lambda module: module(rows(16 * ROWS)), 0.6)
        self.assertEqual((status.state, status.original), ("planned", 0), status.reason)
        plain, ours = modules
        self.assertEqual((ours.calls, ours.log), (plain.calls, plain.log))
        self.assertEqual((ours.calls, len(ours.log)), (STEPS, STEPS))


class KeptStates(GateCase):
    """A forward leaves a tensor in an attribute for the next forward. In some steps the attribute holds no
    tensor."""

    def trained(self, build, change, budget):
        """Trains the model. Returns losses and gradients, and the status."""
        torch.manual_seed(0)
        module = build()
        if budget is not None:
            rematlas.apply(module, budget, time_limit=0.2)
        steps = itertools.count(1)

        def done():
            if next(steps) % 5 == 0:
                change(module)
            if budget is not None:
                rematlas.status(module).wait()  # the plan becomes ready while the attribute holds no tensor

        record, _ = train(module, lambda module: module(rows()).square().mean(), 24, done)
        return record, budget and rematlas.status(module)

    def check_states(self, build, change, share="80%"):
        plain, _ = self.trained(build, change, None)
        gc.collect()
        for budget in (share, models.reset_peak() + (256 << 20)):
            ours, status = self.trained(build, change, budget)
            self.expect_equal(ours, plain, str(status))
            self.assertGreater(status.replayed, 0, str(status))
            self.assertIn("planned", str(status))

    def test_of_a_state_that_is_none_again(self):
        self.check_states(Remembering, lambda module: setattr(module, "state", None))

    def test_of_a_state_that_is_a_number_again(self):
        self.check_states(Remembering, lambda module: setattr(module, "state", 0.5))

    def test_of_a_state_that_is_gone(self):
        class Finding(Remembering):
            state = None

            def __init__(self):
                super().__init__()
                del self.__dict__["state"]

        self.check_states(Finding, lambda module: module.__dict__.pop("state", None))

    def test_of_a_state_that_is_learned(self):
        def begin(module):
            module.state = torch.ones(module.norm.weight.numel(), requires_grad=True)

        self.check_states(Remembering, begin)

    def test_of_a_recurrent_layer(self):
        self.check_states(Recurrent, lambda module: setattr(module, "state", None), "98%")

    def test_an_error_tells_no_numbers(self):
        with self.assertRaises(RuntimeError) as raised:
            other_bytes([torch.full((4,), 0.375), None], [], "cpu")
        self.assertNotIn("0.375", str(raised.exception))

    def test_of_a_bias_that_is_gone(self):
        self.check_states(WithBias, lambda module: setattr(module.last, "bias", None))


class SparseTensors(GateCase):
    def test_buffers_and_parameters_without_a_shape_or_a_storage_are_refused(self):
        class Model(SharedNorm):
            def __init__(self, tensor, is_parameter):
                super().__init__()
                if is_parameter:
                    self.table = nn.Parameter(tensor, requires_grad=False)
                else:
                    self.register_buffer("table", tensor)

        table = torch.eye(WIDTH)
        kinds = (table.to_sparse(), table.to_sparse_csr(), torch.nested.nested_tensor([table[:3], table]))
        for tensor, is_parameter, budget in itertools.product(kinds, (False, True), ("80%", 1 << 30)):
            with self.subTest(tensor.layout, parameter=is_parameter, budget=budget):
                module = rematlas.apply(Model(tensor, is_parameter), budget, time_limit=0.2)
                with self.assertWarnsRegex(
                    rematlas.RefusedWarning, "table is sparse, nested or opaque: plans take dense tensors"
                ):
                    module(rows()).square().mean().backward()
                self.assertEqual(rematlas.status(module).state, "refused")

    def test_nested_tensors_within_the_forward_are_refused(self):
        class Model(SharedNorm):
            def forward(self, x):
                nested = torch.nested.as_nested_tensor([x[:3], x[3:]]) * 2
                return super().forward(torch.cat(nested.unbind()))

        module = rematlas.apply(Model(), "80%", time_limit=0.2)
        with self.assertWarnsRegex(rematlas.RefusedWarning, "makes a sparse, nested or opaque tensor"):
            for _ in range(5):
                module(rows()).square().mean().backward()


class KindsOfCalls(GateCase):
    def test_a_number_that_changes_is_named(self):
        class Weighted(SharedNorm):
            def forward(self, x, weight):
                return super().forward(x) * weight

        module = rematlas.apply(Weighted(), "80%", time_limit=0.2, shapes=4)
        with self.assertWarnsRegex(rematlas.RefusedWarning, "argument 'weight' is another number in each"):
            for step in range(6):
                module(rows(), weight=0.9**step).square().mean().backward()
        self.assertEqual(rematlas.status(module).state, "refused")

    def reason_of_many(self, budget, call):
        """Returns the warning about a module whose calls are all of different kinds."""

        class Structured(SharedNorm):
            def forward(self, batch, scale=1.0, name=""):
                return super().forward(batch["x"]["inner"][0]) * scale

        module = rematlas.apply(Structured(), budget, time_limit=0.2, shapes=4, unplanned="original")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for step in range(6):
                batch, options = call(step)
                module(batch, **options).square().mean().backward()
        said = "".join(str(warning.message) for warning in told)
        self.assertIn(rematlas.status(module).reason or rematlas.status(module).left_alone[0], said)
        return said

    def test_values_within_containers_are_named_and_what_to_do(self):
        for budget in ("80%", 1 << 40):
            with self.subTest(budget):
                said = self.reason_of_many(
                    budget, lambda step: ({"x": {"inner": [rows(), None]}, "id": step}, {"scale": 0.9**step})
                )
                self.assertIn("['id'] of positional argument 1 and argument 'scale' is another number", said)
                self.assertIn("give a number or an array as a tensor", said)
                self.assertNotIn("larger number of shapes", said)

    def test_arrays_that_change_are_named_and_of_many_values_only_the_first(self):
        array = "['id'] of positional argument 1 is another number in each"
        said = self.reason_of_many(
            "80%", lambda step: ({"x": {"inner": [rows()]}, "id": numpy.full(3, step)}, {})
        )
        self.assertIn(array, said)
        said = self.reason_of_many(
            "80%", lambda step: ({"x": {"inner": [rows()]}, "id": [step + place for place in range(64)]}, {})
        )
        self.assertIn("['id'][2] of positional argument 1 and 61 others is another number in each", said)

    def test_texts_that_change_are_named(self):
        said = self.reason_of_many("80%", lambda step: ({"x": {"inner": [rows()]}}, {"name": f"step {step}"}))
        self.assertIn("argument 'name' is another value in each", said)
        self.assertIn("leave a value out of the call", said)

    def test_inputs_whose_shapes_change_are_named(self):
        said = self.reason_of_many("80%", lambda step: ({"x": {"inner": [rows(ROWS + step)]}}, {}))
        self.assertIn("input 0 is another shape, type or layout in each", said)
        self.assertIn("a larger number of shapes", said)


class Budgets(GateCase):
    def test_of_a_module_that_is_refused(self):
        """Online eviction keeps the budget of the refused module, and the warning says so."""

        class WarmsUp(SharedNorm):
            calls = 0

            def forward(self, x):
                self.calls += 1
                return super().forward(x) * min(1.0, self.calls / 100)

        gc.collect()
        alive = models.reset_peak()
        _, peaks = train(WarmsUp(), lambda module: module(rows(8 * ROWS)).square().mean(), 2)
        needed = max(peaks) - alive
        for unplanned, words in ((None, "under online eviction"), ("original", "may go beyond the budget")):
            module = WarmsUp()
            gc.collect()
            budget = models.reset_peak() + int(0.8 * needed)
            rematlas.apply(module, budget, time_limit=0.2, unplanned=unplanned)
            with self.assertWarnsRegex(rematlas.RefusedWarning, words):
                _, peaks = train(module, lambda module: module(rows(8 * ROWS)).square().mean())
            self.assertEqual(rematlas.status(module).state, "refused")
            self.assertEqual(max(peaks) <= budget, unplanned is None)
            del module


class LossesOutside(unittest.TestCase):
    """The loss outside the module takes more memory than the step of the small module."""

    def peaks(self, budget):
        """Returns the peak of each step, and the status of the module; the status is None without a
        budget."""
        torch.manual_seed(0)
        model = nn.Linear(16, 64)
        head = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU())
        if budget is not None:
            rematlas.apply(model, budget, time_limit=0.3)
        before, found = torch.ops.rematlas.counted_bytes(), []
        for _ in range(8):
            torch.ops.rematlas.reset_counted_peak()
            head(model(torch.randn(1024, 16))).square().sum().backward()
            found.append(torch.ops.rematlas.counted_peak_bytes())
            model.zero_grad(), head.zero_grad()
            if budget is not None:
                rematlas.status(model).wait()
        return found, before, budget and rematlas.status(model)

    def test_keep_a_budget_in_bytes_from_the_second_step_on(self):
        plain, before, _ = self.peaks(None)
        budget = before + (max(plain) - before) * 6 // 10
        with self.assertLogs("rematlas", "WARNING") as logged, warnings.catch_warnings():
            warnings.simplefilter("ignore", rematlas.RefusedWarning)
            ours, _, status = self.peaks(budget)
        self.assertIn("beyond the budget", "".join(logged.output))
        for step, peak in enumerate(ours[1:], 1):
            self.assertLessEqual(peak, budget, f"step {step}")
        self.assertGreater(status.evicted, 0)
        self.assertRegex(status.unkept, "^from a recorded step to the next call")
        self.assertEqual(status.unkept.count("to the next call"), 1, status.unkept)


class GradientsThatLieOtherwise(unittest.TestCase):
    """Gradients with another layout than planned. The plan from shapes assumes that the gradient of the
    output has the output's layout. Here the loss is a sum, so this gradient is one number, expanded to the
    output's shape."""

    def trained(self, budget):
        torch.manual_seed(0)
        model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(8)))
        if budget is not None:
            rematlas.apply(model, budget, config=models.by_moves())
            self.addCleanup(rematlas.remove, model)
        before, found = torch.ops.rematlas.counted_bytes(), []
        torch.ops.rematlas.reset_counted_peak()
        for step in range(10):
            torch.manual_seed(step)
            model(torch.randn(1024, 64)).sum().backward()
            found.append([parameter.grad.numpy().tobytes() for parameter in model.parameters()])
            model.zero_grad()
            if budget is not None:
                rematlas.status(model).wait()
        return found, torch.ops.rematlas.counted_peak_bytes() - before, budget and rematlas.status(model)

    def test_are_recorded_as_they_really_are(self):
        plain, peak, _ = self.trained(None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rematlas.RefusedWarning)
            ours, _, status = self.trained(torch.ops.rematlas.counted_bytes() + peak * 8 // 10)
        self.assertEqual(ours, plain)
        # The original runs these backwards until the plan knows the layout.
        self.assertGreater(status.original_backwards, 0)
        self.assertEqual(status.state, "planned", status)
        self.assertGreater(status.replayed, 0, status)


class UsedOutputs(unittest.TestCase):
    def test_a_plan_from_shapes_minds_which_outputs_a_real_loss_has_used(self):
        """One output is a single number, like a loss, but the real loss also depends on the other outputs.
        According to the recording from shapes, the first step fits the budget."""

        class Ranks(nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(0)
                self.items = nn.Embedding(500, 64)
                self.score = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 1))

            def forward(self, good, bad):
                good, bad = self.items(good), self.items(bad)
                size = (good.square().sum() + bad.square().sum()) / len(good)
                return self.score(good), self.score(bad), size

        def train(budget):
            model = Ranks()
            if budget is not None:
                rematlas.apply(model, budget, time_limit=0.3)
            before, peaks = torch.ops.rematlas.counted_bytes(), []
            for _ in range(8):
                torch.ops.rematlas.reset_counted_peak()
                good, bad, size = model(*torch.randint(0, 500, (2, 2048)))
                (1e-4 * size - nn.functional.logsigmoid(good - bad).mean()).backward()
                peaks.append(torch.ops.rematlas.counted_peak_bytes())
                model.zero_grad()
                del good, bad, size
                if budget is not None:
                    rematlas.status(model).wait()
            return model, before, peaks

        _, before, plain = train(None)
        budget = before + (max(plain) - before) * 97 // 100
        model, _, ours = train(budget)
        status = rematlas.status(model)
        self.assertEqual(status.state, "planned", status.reason)
        self.assertGreater(status.replayed, 3)
        for step, peak in enumerate(ours[1:], 1):
            self.assertLessEqual(peak, budget, f"step {step}")


class Comparisons(GateCase):
    def mean_square(self, module):
        return module(rows(4 * ROWS)).square().mean()

    def planned_from_shapes(self):
        """Sets `self.budget` to a budget that a plain step would exceed, given the tensors that are alive
        now. Returns a module that is planned under this budget."""
        gc.collect()
        alive = models.reset_peak()
        _, peaks = train(SharedNorm(), self.mean_square, steps=1)
        needed = max(peaks) - alive
        gc.collect()
        self.budget = models.reset_peak() + int(0.8 * needed)
        module = rematlas.apply(SharedNorm(), self.budget, time_limit=0.2)
        train(module, self.mean_square, steps=2)
        status = rematlas.status(module)
        self.assertEqual((status.state, status.original), ("planned", 0), status.reason)
        self.assertEqual(status.plans[0].compared, 0)
        self.assertIn("not compared with the original yet", repr(status))
        return module

    def test_a_plan_from_shapes_is_compared_where_a_step_leaves_room(self):
        beside = [torch.empty(4 << 20, dtype=torch.uint8) for _ in range(8)]
        module = self.planned_from_shapes()
        beside.clear()
        train(module, self.mean_square, steps=4)
        status = rematlas.status(module)
        self.assertEqual((status.state, status.plans[0].compared), ("planned", 2), status.reason)
        self.assertNotIn("not compared", repr(status))

    def test_what_was_measured_of_another_plan_is_not_told(self):
        beside = [torch.empty(4 << 20, dtype=torch.uint8) for _ in range(8)]
        module = self.planned_from_shapes()
        beside.clear()
        train(module, self.mean_square, steps=4)
        plan = rematlas.status(module).plans[0]
        self.assertIsNotNone(plan.measured_peak_bytes)
        left = self.budget - models.reset_peak() + plan.resident_bytes
        beside.append(torch.empty(left - plan.peak_bytes + (1 << 18), dtype=torch.uint8))
        train(module, self.mean_square, steps=1)
        plan = rematlas.status(module).plans[0]
        self.assertEqual((plan.compared, plan.measured_peak_bytes), (0, None))


class SharedCasts(unittest.TestCase):
    """A planned forward does not reuse casts of weights that other forwards have made in the same autocast
    region. A backward through a planned forward and another forward is an error, because the plan would sum
    the gradients in another order."""

    def planned(self):
        torch.manual_seed(0)
        blocks = [nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32)) for _ in range(4)]
        model = rematlas.apply(nn.Sequential(*blocks), "100%", config=models.by_moves())
        for _ in range(6):
            with torch.autocast("cpu", torch.bfloat16):
                loss = model(torch.randn(16, 32)).float().square().mean()
            loss.backward()
            rematlas.status(model).wait()
        self.assertEqual(rematlas.status(model).state, "planned")
        return model

    def in_evaluation(self, model, x):
        model.eval()
        output = model(x)
        model.train()
        return output

    def test_what_others_cast_in_the_region(self):
        x = torch.randn(16, 32)
        for first, second in (
            (lambda model: model[0](x), lambda model: model(x)),
            (lambda model: model(x), lambda model: model[0](x)),
            (lambda model: self.in_evaluation(model, x), lambda model: model(x)),
        ):
            model = self.planned()
            with torch.autocast("cpu", torch.bfloat16):
                loss = (first(model).float() - second(model).float()).square().mean()
            with self.assertRaisesRegex(RuntimeError, "share casts of weights in one autocast region"):
                loss.backward()


if __name__ == "__main__":
    unittest.main()
