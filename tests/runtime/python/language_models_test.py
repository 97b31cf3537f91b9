"""Tests the option chunk_loss of `apply`, `plan` and `fits`, on language models of transformers and on models
that are refused."""

import copy
import inspect
import io
import sys
import unittest
import warnings

import torch
import transformers
from torch import nn

import models
import rematlas
from rematlas.cards import fits
from rematlas.loss_head.chunked_loss import head_bytes
from rematlas.loss_head.language_models import found_forward

sys.path.insert(0, str(models.ROOT / "resources" / "models"))
import large

VOCABULARY, LENGTH, BATCH = 2000, 64, 4


def made(config):
    torch.manual_seed(0)
    config.use_cache = False
    return transformers.AutoModelForCausalLM.from_config(config).to(models.DEVICE).train()


def llama(**options):
    return made(
        transformers.LlamaConfig(
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            vocab_size=VOCABULARY,
            **options,
        )
    )


def gpt2():
    """A model with dropout. Its head and its embedding share one weight."""
    ends = {"bos_token_id": 0, "eos_token_id": 0}
    return made(
        transformers.GPT2Config(
            n_embd=32, n_layer=2, n_head=4, vocab_size=VOCABULARY, n_positions=LENGTH, **ends
        )
    )


def gemma2():
    """A model that computes with its logits before it computes the loss."""
    return made(
        transformers.Gemma2Config(
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=8,
            vocab_size=VOCABULARY,
            final_logit_softcapping=5.0,
        )
    )


def batch(step):
    generator = torch.Generator(models.DEVICE).manual_seed(step)
    texts = torch.randint(VOCABULARY, (BATCH, LENGTH), generator=generator, device=models.DEVICE)
    labels = texts.clone()
    labels[0, :10] = -100
    return {"input_ids": texts, "labels": labels}


def in_chunks(model, chunks):
    """Makes the model compute its loss in this number of chunks, as `apply` does, but without a plan. Returns
    the model."""
    model.__dict__["forward"] = found_forward(model, chunks)
    return model


def trained(model, steps=6, after=lambda: None, **further):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    torch.manual_seed(2)
    for step in range(steps):
        output = model(**batch(step), **further)
        output.loss.backward()
        losses.append(output.loss.item())
        optimizer.step()
        optimizer.zero_grad()
        after()
    return losses, [parameter.detach() for parameter in model.parameters()]


def peak_of(model) -> int:
    for step in range(2):
        model.zero_grad()
        before = models.reset_peak()
        model(**batch(step)).loss.backward()
    return models.peak() - before


class Applied(unittest.TestCase):
    def test_steps_are_those_of_the_same_chunks_without_a_plan(self):
        for build, budget in ((llama, "100%"), (gpt2, "92%"), (gemma2, "92%")):
            with self.subTest(build.__name__):
                plain = trained(in_chunks(build(), 4))
                model = build()
                rematlas.apply(model, budget, chunk_loss=4, config=models.by_moves())
                found = trained(model, after=rematlas.status(model).wait)
                status = rematlas.status(model)
                self.assertEqual(status.state, "planned", status)
                self.assertGreater(status.replayed, 0)
                self.assertEqual(found[0], plain[0])
                for one, other in zip(found[1], plain[1], strict=True):
                    self.assertTrue(torch.equal(one, other))

    def test_losses_are_those_of_the_model_itself(self):
        for build in (llama, gpt2, gemma2):
            for further in ({}, {"num_items_in_batch": 100}, {"num_items_in_batch": torch.tensor(100)}):
                with self.subTest(build.__name__, **further):
                    plain = trained(build(), 3, **further)
                    found = trained(in_chunks(build(), 4), 3, **further)
                    torch.testing.assert_close(
                        torch.tensor(found[0]), torch.tensor(plain[0]), rtol=1e-5, atol=0
                    )
                    for one, other in zip(found[1], plain[1], strict=True):
                        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-6)

    def test_labels_that_are_shifted_already_are_taken_as_they_are(self):
        given = batch(0)
        shifted = nn.functional.pad(given["labels"], (0, 1), value=-100)[:, 1:]
        plain = llama()(**given, shift_labels=shifted.roll(1, 0)).loss
        found = in_chunks(llama(), 4)(**given, shift_labels=shifted.roll(1, 0)).loss
        torch.testing.assert_close(found, plain, rtol=1e-6, atol=0)

    def test_the_peak_falls_by_what_the_status_says(self):
        plain = peak_of(llama())
        model = llama()
        rematlas.apply(model, "100%", chunk_loss=8)
        found = peak_of(model)
        status = rematlas.status(model)
        tokens = BATCH * LENGTH
        saved = head_bytes(tokens, VOCABULARY) - head_bytes(tokens // 8, VOCABULARY)
        self.assertEqual(status.chunk_loss_saves_bytes, saved)
        self.assertIn(f"head and loss of {tokens} tokens are computed in 8 chunks", status.chunk_loss)
        self.assertIn(status.chunk_loss, repr(status))
        # The step holds the sum of the gradients of the head's weights and the gradient of one chunk.
        self.assertLessEqual(found, plain - saved + 4 * 32 * VOCABULARY + 100_000)

    def test_outputs_have_logits_where_no_loss_takes_their_place(self):
        model, plain = llama(), llama()
        rematlas.apply(model, "100%", chunk_loss="auto")
        given = batch(0)
        self.assertIsNone(model(**given).logits)
        loss, *others = model(**given, return_dict=False)
        self.assertEqual(loss.shape, ())
        self.assertFalse(any(isinstance(other, torch.Tensor) for other in others))
        tokens = given["input_ids"]
        self.assertTrue(torch.equal(model(tokens).logits, plain(tokens).logits))
        model.eval(), plain.eval()
        found, expected = model(**given), plain(**given)
        self.assertTrue(torch.equal(found.logits, expected.logits))
        self.assertTrue(torch.equal(found.loss, expected.loss))

    def test_the_signature_of_the_forward_stays(self):
        model = llama()
        expected = inspect.signature(model.forward)
        rematlas.apply(model, "100%", chunk_loss="auto")
        self.assertEqual(inspect.signature(model.forward), expected)
        self.assertEqual(inspect.signature(copy.deepcopy(model).forward), expected)

    def test_a_copy_computes_by_chunks_and_a_removed_plan_does_not(self):
        model = llama()
        rematlas.apply(model, "100%", chunk_loss=4)
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        for other in (copy.deepcopy(model), torch.load(file, weights_only=False)):
            other(**batch(0)).loss.backward()
            self.assertIsNone(other(**batch(0)).logits)
            self.assertIsNone(model.lm_head.weight.grad)
            self.assertIsNotNone(other.lm_head.weight.grad)
        rematlas.remove(model)
        self.assertNotIn("forward", model.__dict__)
        self.assertIsNotNone(model(**batch(0)).logits)


class Refused(unittest.TestCase):
    def test_models_without_a_head_that_is_known(self):
        def replaced():
            model = llama()
            model.forward = model.forward
            return model

        def hooked():
            model = llama()
            model.lm_head.register_forward_hook(lambda *_: None)
            return model

        def of_another_loss():
            model = llama()
            model.loss_function = lambda logits, labels, **_: logits.float().mean()
            return model

        def classifier():
            config = transformers.LlamaConfig(
                hidden_size=32,
                intermediate_size=64,
                num_hidden_layers=1,
                num_attention_heads=4,
                vocab_size=50,
            )
            return transformers.LlamaForSequenceClassification(config)

        for build, says in (
            (lambda: nn.Linear(3, 3), "no language model of transformers"),
            (replaced, "is replaced by another one"),
            (hooked, "no torch.nn.Linear without hooks"),
            (of_another_loss, "is not that of transformers' causal language models"),
            (classifier, "is not that of transformers' causal language models"),
            (lambda: large.whisper_large(small=True)[0], "needs its logits whole, it asks them for view"),
        ):
            with self.subTest(says):
                model = build()
                with self.assertRaisesRegex(rematlas.Refused, f"{says}.*rematlas.chunked_loss"):
                    rematlas.apply(model, "100%", chunk_loss=4, on_refuse="raise")
                self.assertIsNone(model._compiled_call_impl)

    def test_with_a_warning_the_model_trains_as_ever(self):
        model = llama()
        model.lm_head.register_forward_hook(lambda *_: None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rematlas.apply(model, "100%", chunk_loss=4)
        self.assertEqual([one.filename for one in caught], [__file__])
        self.assertIn("chunk_loss", str(caught[0].message))
        self.assertIsNotNone(model(**batch(0)).logits)
        self.assertIn("head and loss are computed as ever: ", rematlas.status(model).chunk_loss)

    def test_models_whose_loss_is_another_one_in_the_trial(self):
        class Own(transformers.LlamaForCausalLM):
            def forward(self, input_ids, labels=None, **_):
                hidden = self.model(input_ids=input_ids).last_hidden_state
                loss = self.loss_of(self.lm_head(hidden), labels, self.config.vocab_size)
                return transformers.modeling_outputs.CausalLMOutput(loss=loss)

        class Penalized(Own):
            def loss_of(self, *given):
                return self.loss_function(*given) + self.lm_head.weight.square().sum()

        class Twice(Own):
            def loss_of(self, *given):
                return self.loss_function(*given) + self.loss_function(*given)

        class Looks(Own):
            def loss_of(self, logits, *given):
                return self.loss_function(logits, *given) * (1 if isinstance(logits, torch.Tensor) else 2)

        config = llama().config
        for kind, says in (
            (Twice, "does not compute one loss"),
            (Looks, "the loss of this Looks is another one"),
        ):
            with self.assertRaisesRegex(rematlas.Refused, says):
                rematlas.apply(kind(config), "100%", chunk_loss=4, on_refuse="raise")
        model = Penalized(config).train()  # the model adds a term to its loss; the term must be kept
        plain = model(**batch(0)).loss
        rematlas.apply(model, "100%", chunk_loss=4, on_refuse="raise")
        torch.testing.assert_close(model(**batch(0)).loss, plain, rtol=1e-5, atol=0)

    def test_what_is_no_number_of_chunks(self):
        for wrong in (0, -1, True, "some", 2.0):
            with self.assertRaisesRegex(ValueError, "expected a whole number of chunks, 'auto' or None"):
                rematlas.apply(llama(), "100%", chunk_loss=wrong)

    def test_a_plan_for_other_chunks(self):
        kwargs = batch(0)
        plans = {
            chunks: rematlas.plan(llama(), (), "100%", kwargs, solver="keep-all", chunk_loss=chunks)
            for chunks in (None, 4)
        }
        for of_plan, here in ((None, 4), (4, None), (4, 2)):
            model = llama()
            rematlas.apply(model, plan=plans[of_plan], chunk_loss=here, verify=0, on_refuse="raise")
            with self.assertRaisesRegex(rematlas.Refused, f"made with chunk_loss={of_plan}"):
                model(**kwargs)
        model = llama()
        rematlas.apply(model, plan=plans[4], chunk_loss=4, verify=0, on_refuse="raise")
        plain = in_chunks(llama(), 4)(**kwargs).loss
        self.assertTrue(torch.equal(model(**kwargs).loss, plain))
        self.assertEqual(rematlas.status(model).replayed, 1)


class OnCards(unittest.TestCase):
    def test_fits_says_what_the_head_takes_and_chunks_take_it_away(self):
        model, args, kwargs = large.llama3_8b(small=True, length=512)
        model = model.to("meta")
        kwargs = {name: text.to("meta") for name, text in kwargs.items()}
        (card,) = (found := rematlas.fits(model, args, kwargs, cards=["h100"]))["cards"]
        head = card["loss_head"]
        self.assertEqual(head["peak_bytes"], card["ways"][0]["peak_bytes"])
        self.assertIn(head["text"], fits.text_of(found))
        self.assertIn("the loss head needs", head["text"])
        (chunked,) = (by_chunks := rematlas.fits(model, args, kwargs, cards=["h100"], chunk_loss=8))["cards"]
        self.assertNotIn("forward", model.__dict__)
        told = next(one["peak_bytes"] for one in head["in_chunks"] if one["chunks"] == 8)
        self.assertLessEqual(chunked["ways"][0]["peak_bytes"], told)
        self.assertGreater(chunked["ways"][0]["peak_bytes"], 0.9 * told)
        self.assertIsNone(chunked["loss_head"])
        self.assertNotIn("the loss head needs", fits.text_of(by_chunks))

    def test_a_plan_for_a_card_is_for_its_chunks(self):
        kwargs = {name: text.cpu() for name, text in batch(0).items()}
        made = rematlas.plan(
            llama().cpu(), (), "100%", kwargs, solver="keep-all", device_profile="cpu", chunk_loss=4
        )
        model = llama().cpu()
        rematlas.apply(model, plan=made, chunk_loss=4, on_refuse="raise")
        for _ in range(4):
            model(**kwargs).loss.backward()
        self.assertGreater(rematlas.status(model).replayed, 0)
        with self.assertRaisesRegex(ValueError, "expected a whole number of chunks"):
            rematlas.plan(llama().cpu(), (), "100%", kwargs, device_profile="cpu", chunk_loss=0)


if __name__ == "__main__":
    unittest.main()
