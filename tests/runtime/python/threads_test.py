"""Other threads of the program run ops while a step is recorded, compared or planned. These ops do not count
as ops of the step.

    python -m unittest threads_test
"""

import concurrent.futures
import threading
import time
import unittest
import warnings

import torch
from torch import nn

import rematlas
from models import by_moves  # this import chooses the device
from traps import data, digest

torch.set_num_threads(1)
STEPS = 24
of_thread = threading.local()  # each thread sees its own values


class Elsewhere:
    """Runs functions in another thread, one after the other. Waits for each function."""

    def __init__(self):
        self.pool = concurrent.futures.ThreadPoolExecutor(1)

    def __call__(self, function):
        return self.pool.submit(function).result()


class Meanwhile(nn.Module):
    """A model that calls `do` in the middle of its forward."""

    def __init__(self, do, dropout=0.0):
        super().__init__()
        self.first, self.second = blocks(dropout), blocks(dropout)
        self.do = do

    def forward(self, x):
        x = self.first(x)
        self.do()
        return self.second(x)


def blocks(dropout=0.0, count=3, width=32):
    return nn.Sequential(
        *(
            layer
            for _ in range(count)
            for layer in (nn.Linear(width, width), nn.GELU(), *([nn.Dropout(dropout)] if dropout else []))
        )
    )


def train(module, steps=STEPS, between=lambda step: None, after=lambda module: None):
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    found = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = module(data(step, 128, 32)).square().mean()
        between(step)
        loss.backward()
        optimizer.step()
        found.append([digest(loss), *map(digest, module.parameters())])
        after(module)
    return found


def wait(module):
    rematlas.status(module).wait()


class Threads(unittest.TestCase):
    def setUp(self):
        self.elsewhere = Elsewhere()
        self.addCleanup(self.elsewhere.pool.shutdown)

    def expect_same(self, build, state, reason="", **how):
        torch.manual_seed(0)
        module = build()
        torch.manual_seed(1)
        plain = train(module, **how)
        torch.manual_seed(0)
        module = rematlas.apply(build(), "80%", time_limit=0.3)
        torch.manual_seed(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = train(module, after=wait, **how)
        status = rematlas.status(module)
        self.assertEqual(plain, ours, status)
        self.assertEqual(status.state, state, status)
        self.assertIn(reason, status.reason)
        return status

    def alone(self):
        return self.expect_same(lambda: Meanwhile(lambda: None), "planned")

    def test_another_thread_draws_within_each_forward(self):
        self.expect_same(lambda: Meanwhile(lambda: self.elsewhere(lambda: torch.randn(100))), "planned")

    def test_another_thread_draws_before_each_backward(self):
        between = lambda step: self.elsewhere(lambda: torch.randn(100))
        self.expect_same(lambda: Meanwhile(lambda: None), "planned", between=between)

    def test_another_thread_draws_among_numbers_of_the_step(self):
        """Another thread draws random numbers during a step. Nothing shows which of the numbers belong to the
        step, so the step is refused."""
        self.expect_same(
            lambda: Meanwhile(lambda: self.elsewhere(lambda: torch.randn(100)), 0.2),
            "refused",
            "another thread of the program ran aten::",
        )

    def test_another_thread_draws_at_first_only(self):
        def draw_at_first():
            of_thread.left -= 1
            if of_thread.left >= 0:
                torch.randn(100)

        def build():
            self.elsewhere(lambda: setattr(of_thread, "left", 6))
            return Meanwhile(lambda: self.elsewhere(draw_at_first), 0.2)

        self.expect_same(build, "planned")

    def test_another_thread_seeds_within_each_forward(self):
        def seed():
            torch.manual_seed(5)
            torch.ones(3).sum()

        self.expect_same(
            lambda: Meanwhile(lambda: self.elsewhere(seed)),
            "refused",
            "another thread of the program ran aten::",
            between=lambda step: torch.randn(3),
        )

    def test_the_program_seeds_within_each_forward(self):
        self.expect_same(
            lambda: Meanwhile(lambda: torch.manual_seed(5)),
            "refused",
            "the program sets the state of the random number generator",
            between=lambda step: torch.randn(3),
        )

    def test_memory_of_another_thread_is_not_the_steps(self):
        def take_and_keep():
            torch.ones(1 << 20).mul(2)
            of_thread.kept = torch.ones(1 << 18)

        def free_and_take():
            of_thread.kept = None
            torch.ones(1 << 19).exp()

        alone = self.alone()
        between = lambda step: self.elsewhere(free_and_take)
        status = self.expect_same(
            lambda: Meanwhile(lambda: self.elsewhere(take_and_keep)), "planned", between=between
        )
        for plan, other in zip(status.plans, alone.plans, strict=True):
            self.assertEqual(plan.whole_peak_bytes, other.whole_peak_bytes)
            self.assertLessEqual(plan.measured_peak_bytes, plan.peak_bytes)

    def test_a_model_that_another_thread_trains_without_a_plan(self):
        other = blocks(0.5)
        step = lambda: other(torch.randn(64, 32)).sum().backward()
        self.expect_same(lambda: Meanwhile(lambda: self.elsewhere(step)), "planned")

    def test_a_thread_that_makes_batches(self):
        ends = threading.Event()

        def make():
            while not ends.is_set():
                torch.stack([torch.ones(64, 64) for _ in range(8)]).mul_(2)

        thread = threading.Thread(target=make)
        thread.start()
        try:
            self.alone()
        finally:
            ends.set()
            thread.join()

    def expect_all_planned(self, count, between=lambda step: None, **options):
        """Trains `count` modules at the same time, each in its own thread; the threads wait for each other
        after each step. Checks that all modules are planned."""
        torch.manual_seed(0)
        plain = train(blocks(), 60)
        torch.manual_seed(0)
        module = blocks()
        trained = [rematlas.apply(blocks(), "80%", time_limit=0.3, **options) for _ in range(count)]
        for each in trained:
            each.load_state_dict(module.state_dict())
        meet = threading.Barrier(count)

        def after(module):
            wait(module)
            meet.wait()

        def run(module):
            return train(module, 60, between=between, after=after)

        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            for module, found in zip(trained, pool.map(run, trained)):
                self.assertEqual(found, plain)
                self.assertEqual(rematlas.status(module).state, "planned", rematlas.status(module))

    def test_two_models_in_two_threads(self):
        self.expect_all_planned(2)

    def test_three_models_in_three_threads(self):
        self.expect_all_planned(3)

    def test_two_models_whose_losses_draw(self):
        self.expect_all_planned(2, between=lambda step: torch.randn(100))

    def first_step_while_another_is_recorded(self, module):
        """Runs the first step of `module` on another thread, while another module's forward is recorded.
        Returns the status of `module`."""
        status, started = rematlas.status(module), []

        def step():
            module(data(1, 1024, 32)).square().mean().backward()
            rematlas.remove(module)  # eviction must end in the thread in which it began

        def begin():
            started.append(threading.Thread(target=step))
            started[0].start()
            time.sleep(0.3)  # by then, the thread knows that another module is recorded

        rematlas.apply(Meanwhile(begin), "80%")(data(0, 128, 32)).square().mean().backward()
        started[0].join()
        return status

    def test_a_step_is_planned_from_shapes_while_another_is_recorded(self):
        module = rematlas.apply(blocks(), 1_500_000, config=by_moves(200))
        with self.assertLogs("rematlas", "WARNING") as told:
            status = self.first_step_while_another_is_recorded(module)
        self.assertIn("it is planned from shapes", "".join(told.output))
        self.assertNotIn("cannot be recorded", "".join(told.output))
        self.assertEqual((status.state, status.replayed, status.original), ("planned", 1, 0), status)

    def test_eviction_begins_while_another_step_is_recorded(self):
        class Reads(Meanwhile):
            """A model whose ops depend on values, so they cannot be known from shapes."""

            def forward(self, x):
                x = super().forward(x)
                return x if x.sum().item() > 0 else -x

        module = rematlas.apply(Reads(lambda: None), 1_500_000, config=by_moves(200))
        with warnings.catch_warnings(), self.assertLogs("rematlas", "WARNING"):
            warnings.simplefilter("error")
            status = self.first_step_while_another_is_recorded(module)
        self.assertEqual(status.evicted, 1, status)
        # The memory of the other thread's step also counts.
        self.assertNotIn("keeps the budget", status.unkept)

    def test_status_is_asked_by_another_thread(self):
        ends = threading.Event()
        torch.manual_seed(0)
        module = rematlas.apply(blocks(), "80%", time_limit=0.3)

        def ask():
            while not ends.is_set():
                str(rematlas.status(module))

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            found = train(module, after=wait)
        finally:
            ends.set()
            thread.join()
        torch.manual_seed(0)
        self.assertEqual(found, train(blocks()))
        self.assertEqual(rematlas.status(module).state, "planned", rematlas.status(module))


if __name__ == "__main__":
    unittest.main()
