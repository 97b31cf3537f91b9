"""What is raised below a planned step, an interrupt say, reaches the training loop as Python's own exception, and training goes on."""

import os
import signal
import threading
import time
import unittest

import torch
from torch import nn

import rematlas

raises = {"forward": None, "backward": None}  # what the op below raises


def raise_asked(where):
    error, raises[where] = raises[where], None
    if error is not None:
        raise error


@torch.library.custom_op("rematlas_tests::through", mutates_args=())
def through(x: torch.Tensor) -> torch.Tensor:
    raise_asked("forward")
    return x.clone()


@torch.library.custom_op("rematlas_tests::back", mutates_args=())
def back(x: torch.Tensor) -> torch.Tensor:
    raise_asked("backward")
    return x.clone()


through.register_fake(torch.empty_like)
back.register_fake(torch.empty_like)
through.register_autograd(lambda context, gradient: back(gradient))


class Through(nn.Module):
    def forward(self, x):
        return through(x)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.2), nn.BatchNorm1d(width))

    def forward(self, x):
        return x + self.inner(x)


class Model(nn.Module):
    def __init__(self, width, depth, between):
        super().__init__()
        self.between = between
        self.first = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.second = nn.Sequential(*[Block(width) for _ in range(depth)])

    def forward(self, x):
        return self.second(self.between(self.first(x)))


class Loop:
    def __init__(self, planned, width=32, depth=2, rows=64, between=nn.Identity(), **options):
        torch.manual_seed(0)
        self.module = Model(width, depth, between)
        self.optimizer = torch.optim.AdamW(self.module.parameters(), fused=True)
        self.planned, self.rows, self.width = planned, rows, width
        if planned:
            given = {"optimizer": self.optimizer} if options.pop("updates", False) else {}
            rematlas.apply(self.module, "75%", time_limit=0.5, **given, **options)
        torch.manual_seed(1)

    def batch(self, number):
        return torch.randn(self.rows, self.width, generator=torch.Generator().manual_seed(number))

    def step(self, number):
        self.module(self.batch(number)).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.planned:
            rematlas.status(self.module).wait()

    def run(self, first, last):
        for number in range(first, last):
            self.step(number)
        return self

    def state(self):
        return [torch.get_rng_state(), *self.module.state_dict().values()]


class Interrupts(unittest.TestCase):
    def expect_same(self, ours, plain):
        self.assertTrue(all(map(torch.equal, ours, plain)))

    def states(self, loop, where, error):
        """Before and after the steps that follow a step in which the op raises."""
        loop.run(0, 10)
        raises[where] = error
        with self.assertRaises(type(error)) as raised:
            loop.step(10)
        self.assertIs(raised.exception, error)
        states = [loop.state()]
        loop.optimizer.zero_grad()
        loop.run(11, 15)
        return [*states, loop.state()]

    def test_what_an_op_raises_leaves_what_the_model_itself_leaves(self):
        for where, error in (("forward", KeyboardInterrupt()), ("backward", ValueError("asked for"))):
            with self.subTest(where=where):
                plain = self.states(Loop(False, between=Through()), where, error)
                ours = Loop(True, between=Through())
                for one, other in zip(self.states(ours, where, error), plain):
                    self.expect_same(one, other)
                self.assertGreater(rematlas.status(ours.module).replayed, 8)

    def test_what_the_original_raises_within_a_backward(self):
        """It runs where a backward is asked for twice."""
        ours = Loop(True, between=Through()).run(0, 10)
        loss = ours.module(ours.batch(10)).square().mean()
        raises["forward"] = KeyboardInterrupt()
        with self.assertRaises(KeyboardInterrupt):
            loss.backward(retain_graph=True)
        ours.optimizer.zero_grad()
        ours.run(11, 13)

    def test_a_signal_ends_a_forward_and_a_backward_at_their_next_op(self):
        loop = Loop(True, width=256, depth=6, rows=2048).run(0, 9)
        for half in (self.forward, self.backward):
            lasted = half(loop, 9)
            loop.optimizer.zero_grad()
            began = time.perf_counter()
            with self.assertRaises(KeyboardInterrupt):
                half(loop, 10, lasted / 3)
            self.assertLess(time.perf_counter() - began, 0.75 * lasted + (loop.forward_lasted if half == self.backward else 0))
            loop.optimizer.zero_grad()
            replayed = rematlas.status(loop.module).replayed
            loop.run(11, 13)
            self.assertEqual(rematlas.status(loop.module).replayed, replayed + 2)

    def test_signals_at_any_time_are_keyboard_interrupts(self):
        """Also those that come when the loop itself lets go of a step."""
        loop = Loop(True, width=64, depth=6, rows=512).run(0, 9)
        began = time.perf_counter()
        loop.run(9, 12)
        lasted, interrupted = (time.perf_counter() - began) / 3, 0
        for number in range(40):
            timer = threading.Timer(lasted * (number + 1) / 40, os.kill, (os.getpid(), signal.SIGINT))
            try:
                timer.start()
                for again in range(200):
                    loop.step(12 + again)
            except KeyboardInterrupt:
                interrupted += 1
            timer.join()
            loop.optimizer.zero_grad()
        self.assertEqual(interrupted, 40)

    def timed(self, work, signal_after):
        """Seconds that the work takes. A signal comes while it runs."""
        began = time.perf_counter()
        if signal_after is None:
            return work(), time.perf_counter() - began
        timer = threading.Timer(signal_after, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            work()
        finally:
            timer.cancel()
        self.fail("the work was over before the signal came, or is not interrupted")

    def forward(self, loop, number, signal_after=None):
        loop.loss = None  # its backward will not come
        loop.loss, loop.forward_lasted = self.timed(lambda: loop.module(loop.batch(number)).square().mean(), signal_after)
        return loop.forward_lasted

    def backward(self, loop, number, signal_after=None):
        self.forward(loop, number)
        return self.timed(lambda: loop.loss.backward(), signal_after)[1]

    def test_a_backward_that_updates_goes_on_to_its_end_and_counts_as_a_step(self):
        how = {"width": 256, "depth": 6, "rows": 2048}
        plain = Loop(False, **how).run(0, 12)
        ours = Loop(True, updates=True, **how).run(0, 10)
        self.assertGreater(rematlas.status(ours.module).updated, 2)
        lasted = self.backward(ours, 10)
        ours.optimizer.step()
        ours.optimizer.zero_grad()
        with self.assertRaises(KeyboardInterrupt):
            self.backward(ours, 11, lasted / 3)
        ours.optimizer.zero_grad()
        self.expect_same(ours.state(), plain.state())
        for loop in (plain, ours):
            torch.manual_seed(2)
            loop.run(12, 15)
        self.expect_same(ours.state(), plain.state())

    def test_a_cycle_of_summed_gradients_that_was_interrupted_is_begun_anew(self):
        def train(loop, planned):
            for number in range(12):
                for part in range(2):
                    x = loop.batch(2 * number + part)
                    if number == 9 and part == 1:
                        raises["forward"] = KeyboardInterrupt()
                        with self.assertRaises(KeyboardInterrupt):
                            loop.module(x)
                        break
                    loop.module(x).square().mean().backward()
                else:
                    loop.optimizer.step()
                loop.optimizer.zero_grad()
                if planned:
                    rematlas.status(loop.module).wait()
            return loop.state()

        plain = train(Loop(False, between=Through()), False)
        ours = Loop(True, between=Through(), updates=True, accumulate=2)
        self.expect_same(train(ours, True), plain)
        self.assertGreater(rematlas.status(ours.module).updated, 3)


if __name__ == "__main__":
    unittest.main()
