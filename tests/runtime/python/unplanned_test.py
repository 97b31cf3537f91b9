"""Steps that no plan runs also keep a budget in bytes, because they run under online eviction."""

import copy
import gc
import json
import unittest
import warnings

import torch
from torch import nn

import rematlas
from models import by_moves
from rematlas import api
from rematlas.library import ops
from rematlas.lifecycle.graph_text import graph_text

torch.set_num_threads(1)
WIDTH, ROWS = 128, 512


class AsDeepAsItsData(nn.Module):
    """A model whose number of layers depends on the values of its batch."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(6))
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        for i in range(12 + int(x.sum().item()) % 12):
            x = self.drop(torch.tanh(self.layers[i % 6](x)))
        return x.sum()


class Blocks(nn.Module):
    """A model with random ops and running statistics."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Dropout(0.1)) for _ in range(8)
        )
        self.norm = nn.BatchNorm1d(WIDTH)

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return self.norm(x)


class AsManyAsDrawn(AsDeepAsItsData):
    """A model whose number of layers depends on a random number that it reads."""

    def forward(self, x):
        for i in range(12 + int(torch.rand([]).item() * 12)):
            x = self.drop(torch.tanh(self.layers[i % 6](x)))
        return x.sum()


def train(model, steps, first=0):
    """Trains for `steps` steps. Returns the losses, the peak in bytes, and the parameters."""
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    losses = []
    ops.reset_counted_peak()
    for step in range(first, first + steps):
        torch.manual_seed(step)
        loss = model(torch.randn(ROWS, WIDTH))
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
        optimizer.zero_grad()
    return losses, ops.counted_peak_bytes(), [parameter.detach().clone() for parameter in model.parameters()]


class Unplanned(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", rematlas.RefusedWarning)

    def test_a_course_that_changes_trains_under_the_budget(self):
        model = AsDeepAsItsData()
        twin = copy.deepcopy(model)
        before = ops.counted_bytes()
        wanted = train(model, 24)
        budget = before + (wanted[1] - before) // 2
        rematlas.apply(twin, budget, unplanned="evict")
        made = train(twin, 18)  # by then it is known that most steps run without a plan
        more = train(twin, 6, first=18)
        self.assertEqual(made[0] + more[0], wanted[0])
        for mine, other in zip(more[2], wanted[2]):
            self.assertTrue(torch.equal(mine, other))
        self.assertLessEqual(more[1], budget)
        status = rematlas.status(twin)
        self.assertGreaterEqual(status.evicted, 6)
        self.assertLessEqual(made[1], budget)
        self.assertGreater(status.eviction.evictions, 0)
        self.assertIn("under online eviction", repr(status))
        rematlas.remove(twin)
        with rematlas.evict(budget):  # would fail if an eviction were still active
            pass

    def test_without_it_the_original_runs_as_it_is(self):
        model = AsDeepAsItsData()
        rematlas.apply(model, 2**30, unplanned="original")
        train(model, 18)
        self.assertEqual(rematlas.status(model).state, "refused")
        self.assertEqual(rematlas.status(model).evicted, 0)

    def test_a_planned_step_is_not_evicted(self):
        torch.manual_seed(0)
        model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(6)))
        rematlas.apply(model, 2**30, unplanned="evict")
        while not rematlas.status(model).replayed:
            model(torch.randn(ROWS, WIDTH)).sum().backward()
            rematlas.status(model).wait()
        on_the_way = rematlas.status(model).evicted
        for _ in range(3):
            model(torch.randn(ROWS, WIDTH)).sum().backward()
        self.assertEqual(rematlas.status(model).evicted, on_the_way)
        self.assertEqual(rematlas.status(model).eviction, None)

    def test_a_step_of_which_shapes_know_only_a_part_keeps_the_budget(self):
        """A recording from shapes does not show that the caller differentiates a gradient once more. So the
        step takes more bytes than estimated from shapes."""

        def penalties(budget):
            torch.manual_seed(0)
            model = nn.Sequential(
                nn.Linear(64, WIDTH),
                nn.Softplus(),
                nn.Linear(WIDTH, WIDTH),
                nn.Softplus(),
                nn.Linear(WIDTH, 1),
            )
            if budget:
                rematlas.apply(model, budget, unplanned="evict")
            ops.reset_counted_peak()
            found = []
            for _ in range(5):
                x = torch.randn(ROWS, 64, requires_grad=True)
                (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
                ((gradient.norm(dim=1) - 1) ** 2).mean().backward()
                found += [
                    parameter.grad.numpy().tobytes()
                    for parameter in model.parameters()
                    if parameter.grad is not None
                ]
                model.zero_grad()
                del x, gradient
            peak = ops.counted_peak_bytes()
            if budget:
                status = rematlas.status(model)
                self.assertEqual((status.state, status.evicted), ("refused", 5))
                self.assertIn("a second derivative is asked for", status.reason)
                rematlas.remove(model)
            return found, peak

        gc.collect()
        before = ops.counted_bytes()
        wanted, peak = penalties(None)
        budget = before + int(0.75 * (peak - before))
        ours, most = penalties(budget)
        self.assertEqual(ours, wanted)
        self.assertLessEqual(most, budget)

    def test_a_recording_from_shapes_leaves_nothing_in_what_the_program_holds(self):
        torch.manual_seed(0)
        model, kept, seen = Blocks(), [], {"last": None}

        def keep(module, given, made):
            kept.append(made)
            seen["last"] = made

        for layer in model.layers:
            layer.register_forward_hook(keep)
        rematlas.apply(model, 2**30, unplanned="evict")
        for _ in range(3):
            kept.clear()
            loss = model(torch.randn(ROWS, WIDTH)).square().mean() + sum(one.abs().mean() for one in kept)
            self.assertEqual(len(kept), len(model.layers))
            self.assertIs(seen["last"], kept[-1])
            loss.backward()

    def test_a_gradient_that_is_a_number_expanded_from_the_midst_of_others(self):
        def gradients(budget, unplanned=None):
            torch.manual_seed(0)
            model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(6)))
            if budget:
                rematlas.apply(model, budget, unplanned=unplanned)
            found = []
            for step in range(6):
                torch.manual_seed(step)
                out = model(torch.randn(ROWS, WIDTH))
                out.backward(torch.tensor([1.0, 0.5])[1].expand_as(out))
                found.append([parameter.grad.clone() for parameter in model.parameters()])
                model.zero_grad()
                if budget:
                    rematlas.status(model).wait()
            return found, budget and rematlas.status(model)

        plain = gradients(None)[0]
        for unplanned in (None, "evict"):
            planned, status = gradients(2**30, unplanned)
            self.assertGreater(status.replayed, 0, status.reason)
            for ours, theirs in zip(planned, plain):
                self.assertTrue(all(torch.equal(a, b) for a, b in zip(ours, theirs)))

    def trained_to_a_plan(self, model, budget, steps=8):
        """Trains for `steps` steps. Returns the losses, the peaks, what ran each step ("planned", "evicted"
        or "original"), and the final state of the model."""
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        losses, peaks, states = [], [], []
        for step in range(steps):
            torch.manual_seed(step)
            rows = torch.randn(4 * ROWS, WIDTH)
            ops.reset_counted_peak()
            loss = (model(rows) - 1).square().mean()
            loss.backward()
            peaks.append(ops.counted_peak_bytes())
            losses.append(loss.item())
            del loss
            optimizer.step()
            optimizer.zero_grad()
            if budget:
                status = rematlas.status(model)
                states.append(
                    "planned" if status.replayed else "evicted" if status.evicted == step + 1 else "original"
                )
                status.wait()
        return losses, peaks, states, [value.clone() for value in model.state_dict().values()]

    def test_what_ran_under_eviction_is_planned(self):
        for share in (0.7, 0.35):
            model = Blocks()
            twin = copy.deepcopy(model)
            before = ops.counted_bytes()
            losses, peaks, _, numbers = self.trained_to_a_plan(model, None)
            stays = sum(number.nbytes for number in numbers)
            budget = before + 3 * stays + int(share * (max(peaks) - before - 3 * stays))
            del model, numbers
            gc.collect()
            rematlas.apply(twin, budget, unplanned="evict", config=by_moves())
            made, ours, states, _ = self.trained_to_a_plan(twin, budget)
            self.assertEqual(made, losses)
            self.assertLessEqual(max(ours), budget)
            self.assertEqual(states, ["evicted"] * 4 + ["planned"] * 4, share)
            status = rematlas.status(twin)
            self.assertEqual(
                (status.state, status.evicted, status.replayed, status.plans[0].compared),
                ("planned", 4, 4, 2),
            )

    def test_a_budget_that_leaves_nothing_for_a_comparison_is_planned_for(self):
        """If possible, a plan leaves about as many bytes free as a batch has, so that it can be compared with
        the original. A budget that is too small for this must also lead to a plan."""
        rows = torch.randn(4 * ROWS, WIDTH)

        def trained(budget):
            model = Blocks()
            rematlas.apply(model, budget, unplanned="evict", config=by_moves())
            for _ in range(2):
                (model(rows) - 1).square().mean().backward()
                model.zero_grad()
            status = rematlas.status(model).wait()
            rematlas.remove(model)
            return status

        gc.collect()
        others = ops.counted_bytes()
        (plan,) = trained(others + (14 << 20)).plans
        least = others + plan.peak_bytes + plan.beside_bytes
        for missing in (rows.nbytes // 2, rows.nbytes // 4):
            status = trained(least + rows.nbytes - missing)
            self.assertNotEqual(status.state, "refused", status)

    def test_what_is_recorded_is_what_a_step_without_eviction_would_be(self):
        model = Blocks()
        rows = torch.randn(4 * ROWS, WIDTH)

        def recorded(model, budget):
            rematlas.apply(model, budget, unplanned="evict", config=by_moves())
            for _ in range(2):
                (model(rows) - 1).square().mean().backward()
            info = rematlas.status(model).wait().plans[0]
            return info, json.loads(graph_text(api.of(model)))

        alone, under = (
            recorded(copy.deepcopy(model), budget) for budget in (2**30, ops.counted_bytes() + (14 << 20))
        )
        self.assertGreater(under[0].overhead, 1)
        self.assertEqual(alone[0].whole_peak_bytes, under[0].whole_peak_bytes)
        for graph in (alone[1], under[1]):
            for op in graph["ops"]:
                del op["time_ns"]
        self.assertEqual(alone[1]["ops"], under[1]["ops"])
        self.assertEqual(alone[1]["tensors"], under[1]["tensors"])

    def test_a_step_that_shapes_do_not_tell_is_evicted_while_it_is_recorded(self):
        model = AsManyAsDrawn()
        rematlas.apply(model, ops.counted_bytes() + (12 << 20), time_limit=0.3)
        _, peak, _ = train(model, 4)
        self.assertLessEqual(peak, ops.counted_bytes() + (12 << 20))
        self.assertGreater(rematlas.status(model).evicted, 0)

    def test_a_budget_that_cannot_be_kept_ends_no_step_where_nobody_asked_for_eviction(self):
        model = AsManyAsDrawn()
        twin, strict = copy.deepcopy(model), copy.deepcopy(model)
        wanted = train(model, 4)
        rematlas.apply(twin, ops.counted_bytes() + (3 << 18), time_limit=0.3)
        with self.assertWarnsRegex(
            rematlas.RefusedWarning, "online eviction cannot keep the budget: .* give a larger one"
        ):
            made = train(twin, 4)
        self.assertEqual(made[0], wanted[0])
        self.assertIn("beyond the budget", rematlas.status(twin).unkept)
        self.assertEqual(rematlas.status(twin).evicted, 4)
        rematlas.apply(strict, ops.counted_bytes() + (3 << 18), unplanned="evict", time_limit=0.3)
        self.addCleanup(rematlas.remove, strict)
        with self.assertRaisesRegex(RuntimeError, "bytes are missing when all that can be evicted is gone"):
            train(strict, 4)

    def test_it_ends_with_the_model(self):
        model = AsManyAsDrawn()
        rematlas.apply(model, ops.counted_bytes() + (12 << 20), time_limit=0.3)
        model(torch.randn(ROWS, WIDTH)).backward()
        self.assertGreater(rematlas.status(model).evicted, 0)
        del model
        gc.collect()
        with rematlas.evict(ops.counted_bytes() + (32 << 20)):
            pass

    def test_what_kernels_take_is_measured_beside_what_is_evicted(self):
        """One module's step is planned from shapes while another module's steps run under eviction."""

        def whole_peak(is_beside):
            torch.manual_seed(0)
            images = nn.Sequential(*(nn.Conv2d(16, 16, 3, padding=1) for _ in range(6)))
            other = AsManyAsDrawn()
            if is_beside:
                rematlas.apply(other, ops.counted_bytes() + (12 << 20), time_limit=0.3)
                self.addCleanup(rematlas.remove, other)
                other(torch.randn(ROWS, WIDTH)).backward()
                self.assertGreater(rematlas.status(other).evicted, 0)
            rematlas.apply(images, ops.counted_bytes() + (9 << 20), config=by_moves())
            images(torch.randn(16, 16, 32, 32)).sum().backward()
            self.assertEqual(rematlas.status(images).state, "planned", rematlas.status(images))
            (plan,) = rematlas.status(images).plans
            self.assertEqual(plan.compared, 0)
            return plan.whole_peak_bytes

        self.assertEqual(whole_peak(True), whole_peak(False))

    def test_a_step_within_which_another_modules_step_is_evicted_is_planned(self):
        """A step of the generator calls the critic, whose steps run under eviction. The critic's gradient
        penalty (Gulrajani et al., Improved Training of Wasserstein GANs, 2017) cannot be planned."""

        def layers(first, last):
            return [nn.Linear(first, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, last)]

        def trained(share, steps):
            """Trains a generator and a critic. Returns both, the bytes between the steps, and the peak
            bytes."""
            torch.manual_seed(0)
            generator, critic = nn.Sequential(*layers(8, 2)), nn.Sequential(*layers(2, 1))
            both = generator, critic
            optimizers = [torch.optim.RMSprop(module.parameters(), lr=1e-4) for module in both]
            for module in both if share else ():
                rematlas.apply(module, share, config=by_moves())
                self.addCleanup(rematlas.remove, module)
            for _ in range(steps):
                for optimizer in optimizers:
                    optimizer.zero_grad()
                kept = ops.counted_bytes()
                ops.reset_counted_peak()
                real, made = torch.randn(256, 2), generator(torch.randn(256, 8)).detach()
                share_of_real = torch.rand(256, 1)
                mixed = (share_of_real * real + (1 - share_of_real) * made).requires_grad_()
                (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
                penalty = ((slope.norm(2, 1) - 1) ** 2).mean()
                (critic(made).mean() - critic(real).mean() + 10 * penalty).backward()
                optimizers[1].step()
                (-critic(generator(torch.randn(256, 8))).mean()).backward()
                optimizers[0].step()
                for module in both if share else ():
                    rematlas.status(module).wait()
            return generator, critic, kept, ops.counted_peak_bytes()

        _, _, kept, most = trained(None, 3)
        gc.collect()
        generator, critic, _, _ = trained(kept + (most - kept) * 95 // 100, 12)
        self.assertGreater(rematlas.status(critic).evicted, 0)
        self.assertEqual(rematlas.status(generator).state, "planned", rematlas.status(generator))

    def test_the_callers_own_eviction_that_begins_within_each_step(self):
        model = Blocks()
        twin = copy.deepcopy(model)
        rematlas.apply(twin, "60%", config=by_moves(), on_refuse="raise")
        with self.assertRaisesRegex(
            rematlas.Refused, "let a context of rematlas.evict be around whole steps"
        ):
            for number in range(12):
                torch.manual_seed(number)
                x = torch.randn(ROWS, WIDTH)
                torch.manual_seed(number)
                model(x).sum().backward()
                torch.manual_seed(number)
                loss = twin(x).sum()
                with rematlas.evict(ops.counted_bytes() + (24 << 20)):
                    loss.backward()
                for one, other in zip(model.parameters(), twin.parameters()):
                    self.assertTrue(torch.equal(one.grad, other.grad))
        self.assertGreater(number, 4)

    def test_within_the_callers_own_eviction(self):
        model = Blocks()
        twin = copy.deepcopy(model)
        losses = self.trained_to_a_plan(model, None)[0]
        rematlas.apply(twin, "60%", config=by_moves())
        with rematlas.evict(ops.counted_bytes() + (24 << 20)) as eviction:
            made, _, states, _ = self.trained_to_a_plan(twin, 1)
            self.assertGreater(eviction.status().evictions, 0)
        self.assertEqual(made, losses)
        self.assertEqual(rematlas.status(twin).state, "planned", rematlas.status(twin).reason)
        self.assertEqual(rematlas.status(twin).replayed, 4)

    def test_what_cannot_be_is_refused(self):
        model = nn.Linear(4, 4)
        with self.assertRaisesRegex(ValueError, "unplanned is 'never'"):
            rematlas.apply(model, 2**20, unplanned="never")
        with self.assertRaisesRegex(ValueError, "budget in bytes"):
            rematlas.apply(model, "60%", unplanned="evict")


if __name__ == "__main__":
    unittest.main()
