"""Online eviction trains as plain training does, bit by bit, and never takes more than the budget.

python -m unittest evict_test.Models.test_gpt
"""

import contextlib
import copy
import ctypes
import faulthandler
import gc
import io
import itertools
import mmap
import pathlib
import threading
import time
import unittest

import numpy
import torch
from torch import nn

import evict_models
import rematlas
from evict_models import data
from evicted import SAME, Course, eagerly, evicting, expect_as_eager, first_difference, train_one
from rematlas.fallback.evicting import DEALLOCATIONS, HEURISTICS
from rematlas.library import ops
from traps import digest

SHARES = (0.9, 0.7, 0.5, 0.4, 0.3)


class Models(unittest.TestCase):
    """Training of models of many kinds."""


class Dynamic(unittest.TestCase):
    """Training of models whose ops differ from step to step."""


def method_of(build, fits, steps):
    def test(self):
        found = expect_as_eager(self, build, SHARES, fits, steps)
        self.assertGreater(max(ours.evictions for ours in found), 0)

    return test


for _name, (_build, _fits) in evict_models.MODELS.items():
    setattr(Models, f"test_{_name}", method_of(_build, _fits, 3))
for _name, (_build, _fits) in evict_models.DYNAMIC.items():
    setattr(Dynamic, f"test_{_name}", method_of(_build, _fits, 5))


class Layers(nn.Module):
    def __init__(self, width: int = 32, count: int = 6):
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Dropout(0.1)) for _ in range(count))
        )

    def forward(self, x):
        return self.layers(x)


def layers(**options) -> Course:
    return Course(Layers(), lambda m, n: m(data(n, 256, 32)).square().mean(), **options)


class Policies(unittest.TestCase):
    def test_all_heuristics_and_deallocations(self):
        for name in ("gpt", "resnet"):
            build = evict_models.MODELS[name][0]
            eager = eagerly(build, 2)
            for heuristic, deallocation in itertools.product(HEURISTICS, DEALLOCATIONS):
                with self.subTest(model=name):
                    fits = 0.7 if heuristic.startswith("dtr") and deallocation != "banish" else 1.0
                    expect_as_eager(
                        self,
                        build,
                        (0.7, 0.5),
                        fits,
                        2,
                        eager,
                        heuristic=heuristic,
                        deallocation=deallocation,
                    )

    def test_what_is_over_is_forgotten_by_all_deallocations(self):
        for deallocation in DEALLOCATIONS:
            course, known = layers(), []
            with rematlas.evict(course.module, 1 << 40, deallocation=deallocation) as context:
                for number in range(12):
                    train_one(course, number)
                    known.append(context.status().known_ops)
            self.assertEqual(known[3], known[-1], deallocation)

    def test_the_largest_that_must_stay_are_named_where_memory_is_short(self):
        x = data(1, 256, 64)
        gc.collect()
        with rematlas.evict(ops.counted_bytes() + 4 * x.nbytes):
            held = torch.exp(x).numpy()
            with self.assertRaisesRegex(RuntimeError, f"the largest: {x.nbytes} by aten::exp"):
                torch.cat([x] * 4)
            self.assertEqual(held.shape, x.shape)

    def test_a_sample_and_small_ones_left_alone(self):
        expect_as_eager(self, evict_models.MODELS["gpt"][0], (0.7,), 0.7, 2, sample=True)
        expect_as_eager(self, evict_models.MODELS["gpt"][0], (0.7,), 0.7, 2, ignore_small=True)


def accumulating(course, number):
    for part in range(3):
        (course.loss(course.module, 10 * number + part) / 3).backward()
    return course.loss(course.module, number)


def clipped(optimizer, module):
    nn.utils.clip_grad_norm_(module.parameters(), 0.01)
    optimizer.step()


def retained(course, number):
    loss = course.loss(course.module, number)
    loss.backward(retain_graph=True)
    loss.backward()
    return loss


def with_penalty(course, number):
    loss = course.loss(course.module, number)
    gradients = torch.autograd.grad(loss, list(course.module.parameters()), create_graph=True)
    (loss + 0.1 * sum(g.square().sum() for g in gradients)).backward()
    return loss


def asked_for(course, number):
    loss = course.loss(course.module, number)
    parameters = list(course.module.parameters())
    for p, gradient in zip(parameters, torch.autograd.grad(loss, parameters)):
        p.grad = gradient
    return loss


def halve(parameter):
    parameter.grad.mul_(0.5)


def with_hooks(course, number):
    seen = []

    def scaled(gradient):
        seen.append(gradient.abs().max().item())
        return gradient * 0.5

    handles = [p.register_hook(scaled) for p in list(course.module.parameters())[:4]]
    handles.append(
        course.module.layers[2].register_forward_hook(
            lambda module, given, made: made.register_hook(scaled) and None
        )
    )
    handles.append(
        course.module.layers[4].register_full_backward_hook(lambda module, into, out: (into[0] * 2,))
    )
    handles.append(course.module.layers[3][0].weight.register_post_accumulate_grad_hook(halve))
    loss = train_one(course, number)
    for handle in handles:
        handle.remove()
    return loss + sum(seen)


class Training(unittest.TestCase):
    def expect(self, **options):
        found = expect_as_eager(self, lambda: layers(**options), (0.8, 0.6), 0.8, 4)
        self.assertGreater(found[-1].evictions, 0)

    def test_optimizers(self):
        for optimizer in (
            lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
            lambda p: torch.optim.SGD(p, lr=0.1, fused=True),
            torch.optim.Adam,
            lambda p: torch.optim.AdamW(p, foreach=True),
            lambda p: torch.optim.AdamW(p, fused=True),
            lambda p: torch.optim.Adam(p, amsgrad=True, foreach=False),
            torch.optim.RMSprop,
        ):
            for keeps in (False, True):
                self.expect(optimizer=optimizer, keeps_gradients=keeps)

    def test_gradients_accumulate(self):
        self.expect(step=accumulating)

    def test_gradients_are_clipped(self):
        self.expect(update=clipped)

    def test_a_graph_is_kept_for_a_second_backward(self):
        self.expect(step=retained)

    def test_second_derivatives(self):
        self.expect(step=with_penalty)

    def test_gradients_asked_for(self):
        self.expect(step=asked_for)

    def test_hooks(self):
        self.expect(step=with_hooks)


class Looks(unittest.TestCase):
    """Tensors that the program holds have the right values when it reads them, whatever was evicted
    before."""

    def setUp(self):
        torch.manual_seed(0)
        self.module = Layers(64, 4)
        self.x = data(1, 256, 64)

    def kept(self):
        """Returns the activations after each layer. The same numbers are drawn in each call."""
        torch.manual_seed(3)
        found, x = [], self.x
        for layer in self.module.layers:
            x = layer(x)
            found.append(x)
        return found

    def press(self):
        """Takes so much memory that every evictable tensor is evicted."""
        some = [torch.ones(1, 1 << 16) for _ in range(8)]
        return sum(one.sum().item() for one in some)

    def look(self, at, again=False):
        expected = [one.detach().numpy().copy() for one in self.kept()]
        gc.collect()
        budget = ops.counted_bytes() + (3 << 19)
        with rematlas.evict(self.module, budget, **SAME) as context:
            found = self.kept()
            self.press()
            looked = [at(one) for one in found]
            if again:
                self.press()
                self.press()
            self.assertGreater(context.status().evictions, 0)
            for one, value in zip(looked, expected):
                numpy.testing.assert_array_equal(numpy.asarray(one), value)
            return context

    def test_numpy_shares_memory_for_good(self):
        self.look(lambda one: one.detach().numpy(), again=True)
        self.look(lambda one: numpy.asarray(one.detach()), again=True)
        self.look(lambda one: numpy.from_dlpack(one.detach()), again=True)

    def test_lists_and_numbers(self):
        self.look(lambda one: numpy.array(one.tolist(), dtype="float32"))
        self.look(lambda one: numpy.array([[v.item() for v in row[:64]] for row in one], dtype="float32"))

    def test_addresses(self):
        def through_the_address(one):
            return numpy.ctypeslib.as_array(
                (ctypes.c_float * one.numel()).from_address(one.data_ptr())
            ).reshape(one.shape)

        self.look(through_the_address, again=True)

    def test_copies(self):
        self.look(lambda one: copy.deepcopy(one.detach()))

        def saved(one):
            file = io.BytesIO()
            torch.save(one, file)
            file.seek(0)
            return torch.load(file).detach()

        self.look(saved)

    def test_what_was_made_inside_is_there_outside(self):
        expected = [one.detach().numpy().copy() for one in self.kept()]
        with rematlas.evict(self.module, ops.counted_bytes() + (3 << 19), **SAME):
            found = self.kept()
            self.press()
        for one, value in zip(found, expected):
            numpy.testing.assert_array_equal(one.detach().numpy(), value)
        found[-1].sum().backward()

    def step(self, module, x, change):
        """Runs a step in which `change(tensor)` writes to memory without any op. Returns the loss as a
        number, and the gradients."""
        module.zero_grad()
        torch.manual_seed(3)
        doubled = x * 2
        held = change(doubled)
        wide = torch.exp(doubled.repeat(1, 4))
        loss = module(doubled).square().mean() + wide.mean()
        if held is not None:
            held[0] = 5.0
        self.press()
        loss.backward()
        return (
            loss.item(),
            doubled.sum().item(),
            wide.sum().item(),
            [p.grad.clone() for p in module.parameters()],
        )

    def test_what_is_written_past_all_operators_is_written_once(self):
        def in_place(one):
            held = one.numpy()
            held[:] = held + 1
            return held

        def by_an_alias(one):
            torch.as_tensor(numpy.asarray(one)).mul_(3)

        def by_dlpack(one):
            return torch.from_dlpack(one.__dlpack__())

        changes = (
            in_place,
            by_an_alias,
            by_dlpack,
            lambda one: one.numpy().fill(0.25),
            lambda one: one.numpy()[1:][:4],
        )
        for change in changes:
            expected = self.step(self.module, self.x, change)
            gc.collect()
            with rematlas.evict(self.module, ops.counted_bytes() + (5 << 18), **SAME) as context:
                found = self.step(self.module, self.x, change)
                self.assertGreater(context.status().rematerializations, 0)
            self.assertEqual(found[:3], expected[:3])
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(found[3], expected[3])))

    def test_what_was_made_from_other_contents_and_is_gone_is_told(self):
        with rematlas.evict(self.module, ops.counted_bytes() + (5 << 18), **SAME):
            doubled = self.x * 2
            made = torch.exp(doubled)
            self.press()
            doubled.numpy().fill(1)
            with self.assertRaisesRegex(RuntimeError, "changed past all operators"):
                made.sum()

    def test_a_short_look_by_numpy_lets_go(self):
        def train():
            torch.manual_seed(3)
            made, sums = [], []
            for number in range(20):
                made.append(self.x * number)
                sums.append(made[-1].numpy().sum())
                made.append(made[-1].exp())
            return sums, [one.sum().item() for one in made]

        expected = train()
        gc.collect()
        # All activations together take 40 times the bytes of `x`.
        with rematlas.evict(self.module, ops.counted_bytes() + 5 * self.x.nbytes, **SAME):
            self.assertEqual(train(), expected)

    def test_memory_that_processes_share(self):
        def step(batch):
            torch.manual_seed(3)
            self.module.zero_grad()
            doubled = batch * 2
            doubled.share_memory_()
            loss = self.module(doubled).square().mean() + self.module(batch).mean()
            self.press()
            loss.backward()
            batch.add_(1)
            self.press()
            shared = doubled.is_shared() and batch.is_shared()
            return (
                shared,
                loss.item(),
                doubled.sum().item(),
                [p.grad.clone() for p in self.module.parameters()],
            )

        batch = self.x.clone().share_memory_()
        expected = [step(batch) for _ in range(3)]
        batch.copy_(self.x)
        gc.collect()
        with rematlas.evict(self.module, ops.counted_bytes() + (3 << 19), **SAME) as context:
            found = [step(batch) for _ in range(3)]
            self.assertGreater(context.status().rematerializations, 0)
        for ours, theirs in zip(found, expected):
            self.assertEqual(ours[:3], theirs[:3])
            self.assertTrue(ours[0] and all(torch.equal(a, b) for a, b in zip(ours[3], theirs[3])))

    def test_printing(self):
        expected = [repr(one) for one in self.kept()]
        with rematlas.evict(self.module, ops.counted_bytes() + (3 << 19), **SAME):
            found = self.kept()
            self.press()
            self.assertEqual([repr(one) for one in found], expected)

    def test_logits_in_a_list_over_steps(self):
        def kept_logits():
            found = []

            def step(course, number):
                output = course.module(data(number, 256, 32))
                found.append(output)
                loss = output.square().mean()
                loss.backward()
                return loss + sum(one.detach().sum() for one in found)

            return layers(step=step)

        expect_as_eager(self, kept_logits, (0.8, 0.6), 0.8, 4)


class Loops(unittest.TestCase):
    def test_a_context_around_each_step(self):
        eager = eagerly(layers, 4)
        torch.manual_seed(1)
        course = layers()
        torch.manual_seed(2)
        records = []
        for number in range(4):
            with rematlas.evict(ops.counted_bytes() + (eager.peak - eager.lasting) * 7 // 10, **SAME):
                records.append(course.run(number))
        self.assertIsNone(first_difference(eager.records, records))

    def test_a_model_made_inside(self):
        eager = eagerly(layers, 3)
        with rematlas.evict(
            ops.counted_bytes() + eager.lasting + (eager.peak - eager.lasting) * 8 // 10, **SAME
        ) as context:
            torch.manual_seed(1)
            course = layers()
            torch.manual_seed(2)
            records = [course.run(number) for number in range(3)]
            self.assertGreater(context.status().evictions, 0)
        self.assertIsNone(first_difference(eager.records, records))
        eager_after = digest(course.loss(course.module.eval(), 9))
        self.assertEqual(eager_after, digest(course.loss(course.module, 9)))

    def test_a_lazy_module_makes_its_parameters_inside(self):
        def losses(budget):
            torch.manual_seed(1)
            module = nn.Sequential(nn.LazyLinear(64), Layers(64))
            found = []
            for number in range(3):
                around = rematlas.evict(module, budget, **SAME) if budget else contextlib.nullcontext()
                with around:
                    module(data(number, 256, 32)).square().mean().backward()
                found += [digest(parameter.grad) for parameter in module.parameters()]
                if budget:
                    evictions.append(around.status().evictions)
            return found

        evictions, before = [], ops.counted_bytes()
        ops.reset_counted_peak()
        eager = losses(None)
        budget = before + (ops.counted_peak_bytes() - before) * 7 // 10
        self.assertEqual(eager, losses(budget))
        self.assertTrue(all(evictions), evictions)

    def test_validation_inside(self):
        def step(course, number):
            loss = train_one(course, number)
            for mode in (torch.no_grad, torch.inference_mode):
                with mode():
                    loss = loss + course.loss(course.module.eval(), 50 + number)
            course.module.train()
            return loss

        expect_as_eager(self, lambda: layers(step=step), (0.8, 0.6), 0.8, 3)

    def test_an_exception_inside_leaves_all_as_it_was(self):
        course = layers()
        x, before = (
            data(1, 256, 32),
            digest(torch.cat([p.detach().flatten() for p in course.module.parameters()])),
        )
        torch.manual_seed(5)
        expected = digest(course.module(x))
        with self.assertRaisesRegex(ValueError, "of the program"):
            with rematlas.evict(ops.counted_bytes() + (1 << 18), **SAME):
                torch.manual_seed(5)
                kept = course.module(x)
                raise ValueError("of the program")
        self.assertEqual(digest(kept), expected)
        self.assertEqual(
            before, digest(torch.cat([p.detach().flatten() for p in course.module.parameters()]))
        )
        with rematlas.evict(1 << 40):  # checks that another context of eviction can begin
            train_one(course, 1)

    def test_too_small_a_budget_is_told_and_training_goes_on_under_a_larger_one(self):
        eager = eagerly(layers, 3)
        torch.manual_seed(1)
        course = layers()
        torch.manual_seed(2)
        saved = course.snapshot()
        with self.assertRaisesRegex(
            torch.OutOfMemoryError,
            r"rematlas: aten::\w+.* needs \d+ bytes more within a budget of \d+: \d+ bytes are missing",
        ):
            with rematlas.evict(ops.counted_bytes() + 70_000, **SAME):
                course.run(0)
        self.assertTrue(all((value.detach().numpy() == was).all() for value, was in saved[0]))
        course.restore(saved)
        with rematlas.evict(ops.counted_bytes() + 2 * eager.peak, **SAME):
            records = [course.run(number) for number in range(3)]
        self.assertIsNone(first_difference(eager.records, records))

    def test_contexts_do_not_nest_and_other_threads_go_on(self):
        course, found = layers(), []
        x = data(1, 256, 32)
        course.module.eval()
        expected = digest(course.module(x))
        with rematlas.evict(1 << 40):
            with self.assertRaisesRegex(RuntimeError, "do not nest"):
                rematlas.evict(1 << 40).__enter__()
            thread = threading.Thread(
                target=lambda: found.extend(digest(course.module(x)) for _ in range(20))
            )
            thread.start()
            ours = [digest(course.module(x)) for _ in range(20)]
            thread.join()
        self.assertEqual({*found, *ours}, {expected})

    def test_an_op_that_waits_for_the_interpreter_holds_up_no_other_thread(self):
        """The attribute `T` runs an op while its thread holds the interpreter lock. This op waits until the
        op of the other thread is done."""
        entered, made = threading.Event(), []

        def slow(x: torch.Tensor) -> torch.Tensor:
            entered.set()
            time.sleep(0.1)  # releases the interpreter lock and acquires it again
            return x + 1

        torch.library.define("rematlas_test::slow", "(Tensor x) -> Tensor")
        torch.library.impl("rematlas_test::slow", "CPU", slow)
        x = data(1, 16, 32)
        # A deadlock would hold the interpreter lock, so no test runner in Python could end the process.
        # Faulthandler can do this without the lock.
        faulthandler.dump_traceback_later(300, exit=True)
        with rematlas.evict(1 << 40):
            thread = threading.Thread(target=lambda: made.append(torch.ops.rematlas_test.slow(x)))
            thread.start()
            entered.wait()
            self.assertEqual(x.T.shape, (32, 16))
            thread.join()
        faulthandler.cancel_dump_traceback_later()
        self.assertTrue(torch.equal(made[0], x + 1))

    def test_a_generous_budget_takes_what_eager_training_takes(self):
        for build in (evict_models.MODELS["gpt"][0], evict_models.MODELS["resnet"][0]):
            eager = eagerly(build, 4)
            gc.collect()
            before = ops.counted_bytes()
            ours = evicting(build, eager, 3.0)
            self.assertLessEqual(ours.peak - before, 1.001 * eager.peak)

    def test_small_steps_leave_nothing_behind(self):
        torch.manual_seed(0)
        module = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1), nn.Linear(8, 8))
        optimizer = torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9)
        known = []
        with rematlas.evict(module, 1 << 40) as context:
            for number in range(600):
                module(torch.ones(4, 8)).square().mean().backward()
                optimizer.step()
                optimizer.zero_grad()
                if number % 100 == 99:
                    known.append(context.status().known_ops)
        self.assertLess(max(known), 200)
        self.assertEqual(known[1], known[-1])

    def test_steps_that_evict_leave_nothing_behind(self):
        torch.manual_seed(0)
        module = nn.Sequential(
            *(layer for _ in range(4) for layer in (nn.Linear(32, 32), nn.Tanh(), nn.Dropout(0.1)))
        )
        optimizer = torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9)
        x = data(1, 64, 32)

        def step():
            module(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()

        step()
        gc.collect()
        lasting = ops.counted_bytes()
        ops.reset_counted_peak()
        step()
        budget = lasting + (ops.counted_peak_bytes() - lasting) * 6 // 10
        known, evicted, resident = [], [], []
        with rematlas.evict(module, budget, **SAME) as context:
            for number in range(1500):
                step()
                if number % 100 == 99:
                    known.append(context.status().known_ops)
                    evicted.append(context.status().evictions)
                    resident.append(
                        int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
                    )
        # There must be at least one eviction per step on average. The count is read every 100 steps.
        self.assertGreaterEqual(min(later - one for one, later in itertools.pairwise(evicted)), 100)
        self.assertEqual(set(known[1:]), {known[1]})
        self.assertLess(resident[-1] - resident[4], 1 << 20)


if __name__ == "__main__":
    unittest.main()
