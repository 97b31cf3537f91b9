"""Training with parameters, optimizer states and sums of gradients on the host gives the results of the same
fused optimizer without a budget."""

import copy
import gc
import unittest

import torch
from torch import nn

import rematlas
from updates_test import OPTIMIZERS, STEPS, UpdatesCase

ops = torch.ops.rematlas
LINKS = {"offload": "all", "links": "pcie4"}


class Tied(nn.Module):
    """A GPT whose head uses the weight of its embedding."""

    def __init__(self, width=96, depth=8, words=300):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        layer = lambda: nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.1, batch_first=True)
        self.blocks = nn.ModuleList(layer() for _ in range(depth))
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, text):
        hidden = self.embedding(text)
        for block in self.blocks:
            hidden = block(hidden)
        return self.head(hidden)


def build():
    torch.manual_seed(0)
    return Tied()


def texts(number):
    generator = torch.Generator().manual_seed(number)
    return torch.randint(0, 300, (2, 33), generator=generator)


class Loop:
    """An ordinary training loop. If there are options `ours`, the loop calls `apply` with them, and also
    tells `apply` how gradients are accumulated and clipped."""

    def __init__(self, optimizer=OPTIMIZERS["adamw"], micro=1, clip=None, **ours):
        self.module = build()
        self.optimizer = optimizer(self.module)
        self.micro, self.clip, self.ours = micro, clip, bool(ours)
        if ours:
            rematlas.apply(
                self.module,
                optimizer=self.optimizer,
                accumulate=micro,
                clip_norm=clip,
                time_limit=1.5,
                **LINKS | ours,
            )
        self.losses, self.norms = [], []

    def lasting_bytes(self):
        """Returns the bytes of parameters and optimizer states, without step counters."""
        states = [value for state in self.optimizer.state.values() for value in state.values()]
        kept = [value for value in states if isinstance(value, torch.Tensor) and value.dim() > 0]
        return sum(value.nbytes for value in [*self.module.parameters(), *kept])

    def loss(self, number):
        text = texts(number)
        return (
            nn.functional.cross_entropy(
                self.module(text[:, :-1].contiguous()).flatten(0, 1), text[:, 1:].flatten()
            )
            / self.micro
        )

    def step(self, number):
        for part in range(self.micro):
            loss = self.loss(number * self.micro + part)
            loss.backward()
            self.losses.append(loss.item())
        if self.clip is not None and not self.ours:
            self.norms.append(nn.utils.clip_grad_norm_(self.module.parameters(), self.clip).item())
        self.optimizer.step()
        if self.clip is not None and self.ours:
            self.norms.append(rematlas.status(self.module).gradient_norm.item())
        self.optimizer.zero_grad()

    def run(self, steps=STEPS):
        torch.manual_seed(1)
        for number in range(steps):
            self.step(number)
        return self


def step_bytes():
    """Returns the bytes of parameters, gradients and states of AdamW."""
    return 4 * sum(parameter.nbytes for parameter in build().parameters())


def within(share):
    """Returns a budget in bytes: the bytes that are alive now, plus `share` of the step's bytes."""
    gc.collect()
    return ops.counted_bytes() + int(share * step_bytes())


class HostWeights(UpdatesCase):
    def expect_same(self, plain, ours):
        super().expect_same(plain, ours)
        self.assertEqual(plain.norms, ours.norms)

    def check(self, share, **how):
        """Trains within a budget of `share` of the bytes of parameters, gradients and optimizer states, and
        checks that the results are those of plain training."""
        plain = Loop(**how).run()
        budget = within(share)
        ours = Loop(**how, budget=budget)
        ops.reset_counted_peak()
        ours.run()
        self.assertLessEqual(ops.counted_peak_bytes(), budget)
        self.expect_same(plain, ours)
        status = rematlas.status(ours.module)
        self.assertEqual((status.updates, status.updated, status.original), ("during backward", STEPS, 0))
        # Tensors that live between steps and do not fit in the budget must be on the host.
        self.assertGreaterEqual(status.plans[0].host_peak_bytes, plain.lasting_bytes() - share * step_bytes())
        return ours


class WithinATenth(HostWeights):
    def test_adamw(self):
        self.check(0.1)

    def test_two_groups_with_accumulation(self):
        self.check(0.12, optimizer=OPTIMIZERS["two groups"], micro=3)

    def test_two_groups_with_clipping(self):
        self.check(0.12, optimizer=OPTIMIZERS["two groups"], clip=0.5)

    def test_accumulation_and_clipping(self):
        self.check(0.12, micro=2, clip=0.5)

    def test_momentum_and_amsgrad(self):
        for optimizer in ("sgd with momentum", "adam"):
            with self.subTest(optimizer):
                self.check(0.2, optimizer=OPTIMIZERS[optimizer])


class SeenFromOutside(HostWeights):
    def test_parameters_are_whole_at_any_time_and_checkpoints_come_back(self):
        def train(loop):
            seen, saved = [], None
            torch.manual_seed(1)
            for number in range(8):
                loop.step(number)
                loop.module.eval()
                with torch.no_grad():
                    seen.append(loop.module(texts(100)).sum().item())
                loop.module.train()
                seen.append(sum(parameter.double().sum() for parameter in loop.module.parameters()).item())
                if number == 3:
                    saved = copy.deepcopy(
                        (loop.module.state_dict(), loop.optimizer.state_dict(), torch.get_rng_state())
                    )
            loop.module.load_state_dict(saved[0])
            loop.optimizer.load_state_dict(saved[1])
            torch.set_rng_state(saved[2])
            for number in range(4, 8):
                loop.step(number)
            return seen

        plain = Loop()
        seen = train(plain)
        ours = Loop(budget=within(0.2))
        self.assertEqual(seen, train(ours))
        self.expect_same(plain, ours)
        self.assertEqual(rematlas.status(ours.module).updated, 12)

    def test_the_original_goes_on_where_the_plan_is_removed(self):
        plain = Loop().run(3)
        ours = Loop(budget=within(0.2)).run(3)
        self.assertEqual(rematlas.status(ours.module).updated, 3)
        rematlas.remove(ours.module)
        for loop in (plain, ours):
            loop.run(3)
        self.expect_same(plain, ours)

    def test_a_step_that_fits_is_compared_with_the_original_first(self):
        plain = Loop(micro=2, clip=1.0).run()
        ours = Loop(micro=2, clip=1.0, budget="70%")
        torch.manual_seed(1)
        for number in range(STEPS):
            ours.step(number)
            rematlas.status(ours.module).wait()
        self.expect_same(plain, ours)
        status = rematlas.status(ours.module)
        self.assertEqual(status.plans[0].compared, 2)
        self.assertGreater(status.updated, STEPS // 2, status.updates)

    def test_a_gradient_that_is_gone_and_backwards_that_were_not_announced_are_errors(self):
        ours = Loop(budget=within(0.2))
        ours.step(0)
        text = texts(1)
        nn.functional.cross_entropy(
            ours.module(text[:, :-1].contiguous()).flatten(0, 1), text[:, 1:].flatten()
        ).backward()
        with self.assertRaisesRegex(RuntimeError, "this gradient is gone"):
            nn.utils.clip_grad_norm_(ours.module.parameters(), 1.0)
        with self.assertRaisesRegex(RuntimeError, "optimizer.step\\(\\) was not called"):
            ours.module(text[:, :-1].contiguous())
        more = Loop(micro=2, budget=within(0.2))
        more.step(0)
        for number in range(2):
            nn.functional.cross_entropy(
                more.module(text[:, :-1].contiguous()).flatten(0, 1), text[:, 1:].flatten()
            ).backward()
        with self.assertRaisesRegex(
            RuntimeError, "accumulate=2, and another forward|optimizer.step\\(\\) was not called"
        ):
            more.module(text[:, :-1].contiguous())

    def test_what_is_no_step_of_the_usual_course_is_one_for_once(self):
        """The original runs each of these steps: a forward fails, a backward keeps its graph, several
        forwards are open, or the optimizer gets a closure. The next step is planned as usual."""

        def failing(loop):
            with self.assertRaises(IndexError):
                loop.module(torch.full((2, 32), 10**6))

        def twice(loop):
            loss = loop.loss(70)
            loss.backward(retain_graph=True)
            loss.backward()
            loop.optimizer.step()

        def together(loop):
            (loop.loss(71) + loop.loss(72)).backward()
            loop.optimizer.step()

        def within_the_step(loop):
            def closure():
                loop.optimizer.zero_grad()
                loss = loop.loss(73)
                loss.backward()
                return loss

            loop.losses.append(loop.optimizer.step(closure).item())

        def train(loop):
            torch.manual_seed(1)
            for number, odd in enumerate((failing, twice, together, within_the_step, failing)):
                loop.step(2 * number)
                odd(loop)
                loop.optimizer.zero_grad()
                loop.step(2 * number + 1)
            return loop

        plain, ours = train(Loop()), train(Loop(budget=within(0.2)))
        self.expect_same(plain, ours)
        status = rematlas.status(ours.module)
        self.assertEqual((status.updates, status.updated), ("during backward", 10))

    def test_what_is_seen_of_the_norm_stays(self):
        ours = Loop(clip=0.5, budget=within(0.2))
        ours.step(0)
        first = rematlas.status(ours.module).gradient_norm
        ours.step(1)
        self.assertNotEqual(first.item(), rematlas.status(ours.module).gradient_norm.item())
        self.assertEqual(first.item(), ours.norms[0])

    def test_what_cannot_be_is_said_at_once(self):
        module = build()
        optimizer = OPTIMIZERS["adamw"](module)
        for text, options in {
            "give optimizer=": {"offload": "weights", "links": "pcie4"},
            "links is missing": {"offload": "all", "optimizer": optimizer},
            "unknown|no profile|pcie9": {"offload": "all", "links": "pcie9", "optimizer": optimizer},
            "expected 'none'": {"offload": "everything", "links": "pcie4", "optimizer": optimizer},
            "offload allows none": {"links": "pcie4"},
            "accumulate is 0": {"accumulate": 0, "optimizer": optimizer},
            "clip_norm is -1": {"clip_norm": -1, "optimizer": optimizer},
            "device says where": {"device": "cpu"},
        }.items():
            with self.subTest(text), self.assertRaisesRegex(ValueError, text):
                rematlas.apply(module, "1GiB", **options)


if __name__ == "__main__":
    unittest.main()
