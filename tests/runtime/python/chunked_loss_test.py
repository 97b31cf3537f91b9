"""Computing head and loss in chunks of tokens gives the results of the plain computation with less memory,
with and without plans."""

import copy
import itertools
import unittest

import torch
from torch import nn
from torch.nn import functional

import models
import rematlas
from rematlas.api import is_planned
from rematlas.loss_head.chunked_loss import chunks_for, head_bytes

WIDTH, VOCABULARY, TOKENS = 32, 101, 50
ROUNDED = {torch.float32: 2.0**-24, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}


def rows(dtype=torch.float32, ignored=-100):
    """Returns hidden states and targets of two texts. Some of the targets are ignored."""
    generator = torch.Generator(models.DEVICE).manual_seed(3)
    hidden = torch.randn(2, TOKENS // 2, WIDTH, generator=generator, device=models.DEVICE)
    targets = torch.randint(VOCABULARY, (2, TOKENS // 2), generator=generator, device=models.DEVICE)
    targets[0, 3:9] = ignored
    return hidden.to(dtype).requires_grad_(), targets


def linear(dtype=torch.float32, bias=False):
    torch.manual_seed(1)
    return nn.Linear(WIDTH, VOCABULARY, bias=bias).to(dtype)


def plain_loss(head, hidden, targets, **options):
    return functional.cross_entropy(head(hidden).flatten(0, -2).float(), targets.flatten(), **options)


def autocast(dtype):
    return torch.autocast(models.DEVICE.type, dtype=dtype, enabled=dtype is not None)


def taken(loss_of, head, hidden, targets, scale=1.0, cast=None):
    """Returns the loss, and the gradients of the hidden states and of the head's parameters."""
    head.zero_grad()
    hidden = hidden.detach().requires_grad_()
    with autocast(cast):
        loss = loss_of(hidden, targets)
    (loss * scale).backward()
    return [loss.detach(), hidden.grad, *(parameter.grad for parameter in head.parameters())]


class Language(nn.Module):
    """A small language model with a large vocabulary."""

    def __init__(self, chunks=None, tied=False, wrapped=False, vocabulary=2000):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(vocabulary, 32)
        self.body = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 32))
        self.head = nn.Linear(32, vocabulary, bias=False)
        if tied:
            self.head.weight = self.embedding.weight
        self.outer = nn.Sequential(self.head) if wrapped else self.head
        self.loss = None if chunks is None else rematlas.chunked_loss(self.outer, "mean", chunks)

    def forward(self, tokens, targets):
        hidden = self.body(self.embedding(tokens))
        if self.loss is None:
            return plain_loss(self.head, hidden, targets)
        return self.loss(hidden, targets)


def batch(step, vocabulary=2000):
    generator = torch.Generator(models.DEVICE).manual_seed(step)
    texts = torch.randint(vocabulary, (4, 65), generator=generator, device=models.DEVICE)
    return texts[:, :-1].contiguous(), texts[:, 1:].contiguous()


def trained(model, steps=6, forwards=1, dtype=None):
    """Trains the model for `steps` steps. Returns the losses and the parameters."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    torch.manual_seed(2)
    for step in range(steps):
        for part in range(forwards):
            with autocast(dtype):
                loss = model(*batch(forwards * step + part)) / forwards
            loss.backward()
            losses.append(loss.item())
        optimizer.step()
        optimizer.zero_grad()
        if is_planned(model):
            rematlas.status(model).wait()
    return losses, [parameter.detach() for parameter in model.parameters()]


def all_equal(some, others) -> bool:
    return all(torch.equal(one, other) for one, other in zip(some, others, strict=True))


class AsPlain(unittest.TestCase):
    def test_one_chunk_gives_the_same_bits(self):
        for dtype, bias, reduction, smoothing, cast, is_wrapped in itertools.product(
            (torch.float32, torch.bfloat16),
            (False, True),
            ("mean", "sum"),
            (0.0, 0.1),
            (None, torch.bfloat16, torch.float16),
            (False, True),
        ):
            with self.subTest(dtype, bias=bias, of=reduction, by=smoothing, cast=cast, wrapped=is_wrapped):
                head = linear(dtype, bias)
                options = {"label_smoothing": smoothing, "ignore_index": 7}
                chunked = rematlas.chunked_loss(
                    nn.Sequential(head) if is_wrapped else head, reduction, 1, **options
                )
                given = {"scale": 0.3, "cast": cast}
                plain = taken(
                    lambda *both: plain_loss(head, *both, reduction=reduction, **options),
                    head,
                    *rows(dtype, ignored=7),
                    **given,
                )
                found = taken(chunked, head, *rows(dtype, ignored=7), **given)
                self.assertTrue(all_equal(found, plain))

    def test_several_chunks_differ_by_what_is_told(self):
        for dtype, reduction, smoothing, chunks, cast in itertools.product(
            (torch.float32, torch.bfloat16),
            ("mean", "sum"),
            (0.0, 0.1),
            (2, 3, 8, 64),
            (None, torch.bfloat16),
        ):
            with self.subTest(dtype, of=reduction, by=smoothing, chunks=chunks, cast=cast):
                head = linear(dtype, bias=True)
                chunked = rematlas.chunked_loss(head, reduction, chunks, label_smoothing=smoothing)
                plain = taken(
                    lambda *both: plain_loss(head, *both, reduction=reduction, label_smoothing=smoothing),
                    head,
                    *rows(dtype),
                    cast=cast,
                )
                found = taken(chunked, head, *rows(dtype), cast=cast)
                count = min(chunks, TOKENS)
                torch.testing.assert_close(found[0], plain[0], rtol=2 * count * 2.0**-24, atol=0)
                unit = ROUNDED[cast or dtype]
                for one, other in zip(found[1:], plain[1:], strict=True):
                    self.assertLessEqual((one - other).abs().max(), (count + 8) * unit * other.abs().max())

    def test_what_torch_has_for_cross_entropy_is_taken_as_it_is(self):
        weight = torch.rand(VOCABULARY, device=models.DEVICE)
        for loss in (
            nn.CrossEntropyLoss(weight=weight, label_smoothing=0.2),
            nn.CrossEntropyLoss(weight=weight, reduction="sum"),
            functional.cross_entropy,
        ):
            head = linear()
            plain = taken(
                lambda hidden, wanted: loss(head(hidden).flatten(0, 1), wanted.flatten()), head, *rows()
            )
            for chunks in (1, 4):
                found = taken(rematlas.chunked_loss(head, loss, chunks), head, *rows())
                torch.testing.assert_close(found, plain, rtol=1e-5, atol=1e-7)

    def test_losses_that_are_callables_are_summed_or_averaged_as_said(self):
        def squares(logits, targets):
            return (logits.logsumexp(-1) - targets).square().sum()

        def mean_square(logits, targets):
            return squares(logits, targets) / len(targets)

        for loss, reduction in ((squares, "sum"), (mean_square, "mean")):
            head = linear()
            plain = taken(
                lambda hidden, wanted: loss(head(hidden).flatten(0, 1), wanted.flatten()), head, *rows()
            )
            found = taken(rematlas.chunked_loss(head, loss, 3, reduction=reduction), head, *rows())
            torch.testing.assert_close(found, plain, rtol=1e-4, atol=1e-5)

    def test_parameters_of_a_loss_get_their_gradients(self):
        class Tempered(nn.Module):
            def __init__(self):
                super().__init__()
                self.heat = nn.Parameter(torch.tensor(1.5, device=models.DEVICE))

            def forward(self, logits, targets):
                return functional.cross_entropy(logits / self.heat, targets, reduction="sum")

        loss, head = Tempered(), linear()
        taken(lambda hidden, wanted: loss(head(hidden).flatten(0, 1), wanted.flatten()), head, *rows())
        plain, loss.heat.grad = loss.heat.grad, None
        taken(rematlas.chunked_loss(head, loss, 4, reduction="sum"), head, *rows())
        torch.testing.assert_close(loss.heat.grad, plain, rtol=1e-5, atol=0)

    def test_what_needs_no_gradient_gets_none(self):
        head = linear(bias=True)
        head.weight.requires_grad_(False)
        hidden, targets = rows()
        rematlas.chunked_loss(head, "mean", 4)(hidden, targets).backward()
        self.assertIsNone(head.weight.grad)
        self.assertIsNotNone(head.bias.grad)
        self.assertIsNotNone(hidden.grad)
        hidden, _ = rows()
        rematlas.chunked_loss(head, "mean", 4)(hidden.detach(), targets).backward()
        with torch.no_grad():
            self.assertFalse(rematlas.chunked_loss(head, "mean", 4)(hidden, targets).requires_grad)

    def test_a_scaled_loss_keeps_gradients_that_f16_would_lose(self):
        head = linear()
        hidden, targets = rows()
        chunked, cast = rematlas.chunked_loss(head, "mean", 4), torch.float16
        zeros = [
            (taken(chunked, head, 20 * hidden[:, 10:12], targets[:, 10:12], scale, cast)[2] == 0).sum()
            for scale in (1.0, 2.0**16)
        ]
        # The rows of unlikely classes have small gradients. If the loss were scaled only after rounding,
        # these gradients would have as many zeros as without a scale.
        self.assertGreater(zeros[0], 2 * zeros[1] + 100)

    def test_several_calls_before_a_backward_and_several_backwards_add_up(self):
        head = linear()
        chunked = rematlas.chunked_loss(head, "mean", 4)
        (hidden, targets), (other, _) = rows(), rows()
        (plain_loss(head, hidden, targets) + 2 * plain_loss(head, other, targets.flip(1))).backward()
        plain = [hidden.grad, other.grad, head.weight.grad]
        (hidden, targets), (other, _) = rows(), rows()
        head.zero_grad()
        first, second = chunked(hidden, targets), chunked(other, targets.flip(1))
        (2 * second).backward()
        first.backward()
        torch.testing.assert_close([hidden.grad, other.grad, head.weight.grad], plain, rtol=1e-5, atol=1e-7)

    def test_a_parameter_that_changes_before_the_backward_is_an_error(self):
        head = linear()
        loss = rematlas.chunked_loss(head, "mean", 4)(*rows())
        with torch.no_grad():
            head.weight.add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            loss.backward()


class Refused(unittest.TestCase):
    def test_what_is_wrong_is_said_when_it_is_made(self):
        head = linear()
        for error, given, options, says in (
            (TypeError, (lambda hidden: hidden,), {}, "put what the function computes into the forward"),
            (ValueError, (head, "mean", 0), {}, "whole number of at least 1, or 'auto'"),
            (ValueError, (head, "median"), {}, "expected 'mean' or 'sum'"),
            (TypeError, (head, 3), {}, "a callable of"),
            (TypeError, (head, lambda *_: None), {}, "reduction is missing"),
            (ValueError, (head, lambda *_: None), {"reduction": "max"}, "expected 'mean' or 'sum'"),
            (TypeError, (head, "mean"), {"reduction": "sum"}, "reduction is for a loss that is a callable"),
            (TypeError, (head, nn.CrossEntropyLoss()), {"ignore_index": 3}, "has its own"),
            (ValueError, (head, nn.CrossEntropyLoss(reduction="none")), {}, "expected 'mean' or 'sum'"),
        ):
            with self.assertRaisesRegex(error, says):
                rematlas.chunked_loss(*given, **options)

    def test_shapes_that_do_not_go_together_are_an_error(self):
        hidden, targets = rows()
        with self.assertRaisesRegex(ValueError, "a target for each token is expected"):
            rematlas.chunked_loss(linear(), "mean", 4)(hidden, targets[:, 1:])
        with self.assertRaisesRegex(ValueError, "takes a class for each"):
            rematlas.chunked_loss(linear(), "mean", 4)(hidden, torch.rand(*targets.shape, VOCABULARY))
        with self.assertRaisesRegex(ValueError, "returns a tensor of shape"):
            chunked = rematlas.chunked_loss(linear(), lambda logits, _: logits, 4, reduction="sum")
            chunked(hidden, targets)
        with self.assertRaisesRegex(ValueError, "give the number of chunks"):
            rematlas.chunked_loss(nn.Sequential(linear()), "mean", "auto")(hidden, targets)

    def test_gradients_that_nobody_computes_are_an_error(self):
        hidden, targets = rows()
        wanted = torch.rand(*targets.shape, requires_grad=True, device=models.DEVICE)
        chunked = rematlas.chunked_loss(linear(), nn.functional.mse_loss, 4, reduction="mean")
        with self.assertRaisesRegex(ValueError, "detach them"):
            chunked(hidden, wanted)
        loss = rematlas.chunked_loss(linear(), "mean", 4)(hidden, targets)
        with self.assertRaisesRegex(rematlas.Refused, "no gradient of a gradient"):
            torch.autograd.grad(loss, hidden, create_graph=True)

    def test_a_head_that_draws_random_numbers(self):
        chunked = rematlas.chunked_loss(nn.Sequential(nn.Dropout(0.5), linear()), "mean", 4)
        with self.assertRaisesRegex(rematlas.Refused, "draws random numbers"):
            chunked(*rows())

    def test_a_head_that_does_not_treat_each_token_by_itself(self):
        class Mixes(nn.Linear):
            def forward(self, hidden):
                return super().forward(hidden - hidden.mean(0, keepdim=True))

        hidden, targets = rows()
        norm = nn.Sequential(nn.BatchNorm1d(WIDTH), linear()).to(models.DEVICE)
        for head, why in (
            (Mixes(WIDTH, VOCABULARY).to(models.DEVICE), "does not treat each token by itself"),
            (norm, "changes its buffer 0.running_mean"),
        ):
            kept = copy.deepcopy(head.state_dict())
            state = torch.get_rng_state()
            with self.assertRaisesRegex(rematlas.Refused, why):
                rematlas.chunked_loss(head, "mean", 3)(hidden, targets)
            self.assertTrue(torch.equal(torch.get_rng_state(), state))
            for name, value in head.state_dict().items():
                self.assertTrue(torch.equal(value, kept[name]), name)
        norm.eval()
        found = rematlas.chunked_loss(norm, "mean", 3)(hidden, targets)
        expected = plain_loss(lambda x: norm(x.flatten(0, 1)), hidden, targets)
        self.assertAlmostEqual(found.item(), expected.item(), delta=1e-5)

    def test_a_tensor_that_is_no_parameter_of_the_head(self):
        class Hides(nn.Module):
            def __init__(self):
                super().__init__()
                self.hidden = [torch.randn(VOCABULARY, WIDTH, requires_grad=True, device=models.DEVICE)]

            def forward(self, x):
                return functional.linear(x, self.hidden[0])

        loss = rematlas.chunked_loss(Hides(), "mean", 4)(*rows())
        with self.assertRaisesRegex(rematlas.Refused, "no parameter of the head"):
            loss.backward()


class Memory(unittest.TestCase):
    def peak_of(self, model) -> int:
        """Returns the peak bytes of the second of two steps."""
        for step in range(2):
            model.zero_grad()
            before = models.reset_peak()
            model(*batch(step)).backward()
        return models.peak() - before

    def test_no_two_chunks_have_logits_at_once(self):
        tokens, weights = 4 * 64, 4 * 32 * 2000
        plain = self.peak_of(Language())
        for is_wrapped in (False, True):
            for chunks in (2, 4, 8):
                found = self.peak_of(Language(chunks, wrapped=is_wrapped))
                saved = head_bytes(tokens, 2000) - head_bytes(tokens // chunks, 2000)
                # The sum of the gradients of the head's weights is alive, too. With a wrapped head, so is the
                # gradient of one chunk.
                self.assertLessEqual(found, plain - saved + (1 + is_wrapped) * weights + 100_000)

    def test_auto_takes_the_fewest_chunks_that_need_no_more_than_the_head(self):
        head = nn.Linear(32, 2000, bias=False)
        chunks = chunks_for(head, 256)
        self.assertLessEqual(head_bytes(256 // chunks, 2000), head.weight.nbytes)
        self.assertGreater(head_bytes(2 * 256 // chunks, 2000), head.weight.nbytes)
        self.assertEqual(chunks_for(head, 1), 1)

    def test_the_graph_tells_the_peak_that_chunks_then_have(self):
        def planned(model):
            rematlas.apply(model, "100%", solver="keep-all")
            trained(model, 4)
            (plan,) = rematlas.status(model).plans
            return plan.whole_peak_bytes, plan.loss_head, repr(rematlas.status(model))

        peak, told, status = planned(Language())
        self.assertIn(told["text"], status)
        self.assertEqual(told["peak_bytes"], peak)
        # These bytes are those of the log-softmax, and of the gradients of its input and output.
        self.assertLess(told["bytes"] - head_bytes(4 * 64, 2000), 1000)
        self.assertTrue(told["loss_is_inside"])
        self.assertEqual(told["module"], "head")
        for one in told["in_chunks"]:
            by_chunks, nothing, _ = planned(Language(one["chunks"]))
            self.assertLessEqual(by_chunks, one["peak_bytes"])
            self.assertGreater(by_chunks, 0.98 * one["peak_bytes"])
            if one["chunks"] == 8:
                self.assertIsNone(nothing)


class ByPlans(unittest.TestCase):
    def test_steps_are_those_of_the_same_model_without_a_plan(self):
        for tied, is_wrapped, budget, forwards, dtype in (
            (False, False, "100%", 1, None),
            (True, False, "95%", 1, None),
            (False, True, "95%", 1, None),
            (True, False, "95%", 2, None),
            (False, False, "95%", 1, torch.bfloat16),
        ):
            with self.subTest(tied=tied, wrapped=is_wrapped, budget=budget, forwards=forwards, dtype=dtype):
                model = Language(4, tied, is_wrapped)
                plain = trained(copy.deepcopy(model), forwards=forwards, dtype=dtype)
                rematlas.apply(model, budget, config=models.by_moves())
                losses, parameters = trained(model, forwards=forwards, dtype=dtype)
                status = rematlas.status(model)
                self.assertEqual(status.state, "planned", status)
                self.assertGreater(status.replayed, 0)
                self.assertEqual(losses, plain[0])
                self.assertTrue(all_equal(parameters, plain[1]))

    def test_updates_in_the_backward_are_those_of_the_optimizer(self):
        def losses_of(model, apply):
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True)
            if apply:
                rematlas.apply(model, "95%", config=models.by_moves(), optimizer=optimizer)
            torch.manual_seed(2)
            losses = []
            for step in range(8):
                loss = model(*batch(step))
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                losses.append(loss.item())
                if apply:
                    rematlas.status(model).wait()
            return losses

        model = Language(4, tied=True)
        plain = losses_of(copy.deepcopy(model), False)
        self.assertEqual(losses_of(model, True), plain)
        self.assertGreater(rematlas.status(model).updated, 0, rematlas.status(model).updates)


if __name__ == "__main__":
    unittest.main()
