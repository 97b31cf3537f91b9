"""An exception that is raised inside a planned step, for example KeyboardInterrupt, reaches the training loop
as the same exception, and training can go on."""

import contextlib
import itertools
import os
import signal
import sys
import threading
import time
import unittest

import torch
from torch import nn

import rematlas

torch.set_num_threads(1)  # two tests run at the same time

raises = {"forward": None, "backward": None}  # op -> the error that its next run raises
asks_for_signal = {"forward": None, "backward": None}  # op -> the event that each run sets


def run_of_an_op(where):
    error, raises[where] = raises[where], None
    if error is not None:
        raise error
    if asks_for_signal[where] is not None:
        asks_for_signal[where].set()


@torch.library.custom_op("rematlas_tests::through", mutates_args=())
def through(x: torch.Tensor) -> torch.Tensor:
    run_of_an_op("forward")
    return x.clone()


@torch.library.custom_op("rematlas_tests::back", mutates_args=())
def back(x: torch.Tensor) -> torch.Tensor:
    run_of_an_op("backward")
    return x.clone()


through.register_fake(torch.empty_like)
back.register_fake(torch.empty_like)
through.register_autograd(lambda context, gradient: back(gradient))


def is_in_an_op_of_python(thread):
    """Says whether the thread runs an op written in Python. During such an op, Python itself and not Rematlas
    would raise the interrupt."""
    frame = sys._current_frames()[thread.ident]
    while frame is not None:
        if "_library" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


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
        """Returns two states of the loop: one after the step in which the op raises an error, and one after
        the later steps."""
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
        """The original runs a backward that keeps its graph. An error in the forward of the original must
        reach the loop."""
        ours = Loop(True, between=Through()).run(0, 10)
        loss = ours.module(ours.batch(10)).square().mean()
        raises["forward"] = KeyboardInterrupt()
        with self.assertRaises(KeyboardInterrupt):
            loss.backward(retain_graph=True)
        ours.optimizer.zero_grad()
        ours.run(11, 13)

    def test_a_signal_ends_a_forward_and_a_backward_at_their_next_op(self):
        loop = Loop(True, width=256, depth=6, rows=2048, between=Through()).run(0, 9)
        for half in ("forward", "backward"):
            whole = self.ops_of(lambda: self.run_half(loop, 9, half))
            loop.optimizer.zero_grad()
            for number in range(20):
                ops = self.ops_of(lambda: self.interrupted(loop, 10 + number, half), KeyboardInterrupt)
                loop.optimizer.zero_grad()
                if ops < 0.9 * whole:
                    break  # otherwise the signal came too late, and the test tries again
            self.assertLess(ops, 0.9 * whole)
            replayed = rematlas.status(loop.module).replayed
            loop.run(31, 33)
            self.assertEqual(rematlas.status(loop.module).replayed, replayed + 2)

    def ops_of(self, work, raised=None):
        with (
            torch.autograd.profiler.profile() as profiled,
            self.assertRaises(raised) if raised else contextlib.nullcontext(),
        ):
            work()
        return len(profiled.function_events)

    def run_half(self, loop, number, half):
        """Runs a forward, and also its backward if `half` is "backward"."""
        loop.loss = None
        loop.loss = loop.module(loop.batch(number)).square().mean()
        if half == "backward":
            loop.loss.backward()

    def test_signals_at_any_time_are_keyboard_interrupts(self):
        """Signals that come while the loop frees the tensors of a step also raise KeyboardInterrupt."""
        loop = Loop(True, width=64, depth=6, rows=512).run(0, 9)
        began = time.perf_counter()
        loop.run(9, 12)
        lasted, interrupted = (time.perf_counter() - began) / 3, 0
        for number in range(40):
            timer = threading.Timer(lasted * (number + 1) / 40, os.kill, (os.getpid(), signal.SIGINT))
            try:
                timer.start()
                for again in itertools.count():
                    loop.step(12 + again)
            except KeyboardInterrupt:
                interrupted += 1
            timer.join()
            loop.optimizer.zero_grad()
        self.assertEqual(interrupted, 40)

    def interrupted(self, loop, number, half):
        """Runs a step. In the given half (forward or backward), a signal is sent after the op in the middle
        has run."""
        asked = threading.Event()

        def send():
            asked.wait()
            while is_in_an_op_of_python(threading.main_thread()):
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGINT)

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        asks_for_signal[half] = asked
        try:
            self.run_half(loop, number, half)
            sender.join()
            time.sleep(60)  # the interrupt ends this sleep, if it has not come before
        finally:
            asks_for_signal[half] = None
            sender.join(60)

    def test_a_backward_that_updates_goes_on_to_its_end_and_counts_as_a_step(self):
        how = {"width": 256, "depth": 6, "rows": 2048, "between": Through()}
        plain = Loop(False, **how).run(0, 12)
        ours = Loop(True, updates=True, **how).run(0, 11)
        self.assertGreater(rematlas.status(ours.module).updated, 2)
        with self.assertRaises(KeyboardInterrupt):
            self.interrupted(ours, 11, "backward")
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
