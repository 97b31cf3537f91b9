"""Losses that a torch.amp.GradScaler scales: the scaler's updates and its skipped steps are part of the
plan."""

import unittest

import torch
from torch import nn

import host_weights_test
import models
import rematlas
from updates_test import GPT, OPTIMIZERS, RESNET, STEPS, Loop, UpdatesCase

LEFT_OUT = (1, 9, 14, 15)  # steps whose gradients are not finite


def new_scaler():
    """Returns a scaler whose scales are not powers of two, so any other way of unscaling gives other bits."""
    return torch.amp.GradScaler(models.DEVICE.type, init_scale=1000.0, growth_interval=5, growth_factor=1.7)


class Scaled(Loop):
    """A loop with a scaler. Without `apply`, the loop unscales and clips by itself."""

    def __init__(self, case, optimizer, apply=None, micro=1, clip=None, unscales=False):
        self.scaler = new_scaler()
        self.micro, self.clip, self.unscales = micro, clip, unscales or (clip is not None and apply is None)
        told = {} if apply is None else {"accumulate": micro, "clip_norm": clip, "scaler": self.scaler}
        super().__init__(*case, optimizer, apply=apply, **told)

    def backward(self, number):
        for part in range(self.micro):
            inputs, targets = self.batches(number * self.micro + part)
            loss = self.loss(self.module(inputs), targets) / self.micro
            self.losses.append(loss.item())
            if number in LEFT_OUT and part == self.micro // 2:
                loss = loss * float("inf")
            self.scaler.scale(loss).backward()

    def step(self, number):
        self.backward(number)
        if self.unscales:
            self.scaler.unscale_(self.optimizer)
        if self.clip is not None and not self.planned:
            nn.utils.clip_grad_norm_(self.module.parameters(), self.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.losses.append(self.scaler.get_scale())
        self.optimizer.zero_grad()
        if self.planned:
            rematlas.status(self.module).wait()


class Scalers(UpdatesCase):
    def check(self, case, optimizer="adamw", budget="80%", unscales=False, **how):
        plain = Scaled(case, OPTIMIZERS[optimizer], **how).run()
        ours = Scaled(case, OPTIMIZERS[optimizer], apply=budget, unscales=unscales, **how).run()
        self.expect_same(plain, ours)
        status = rematlas.status(ours.module)
        self.assertEqual(status.updates, "during backward")
        self.assertGreaterEqual(status.updated, STEPS - 9)
        return ours

    def test_of_all_optimizers(self):
        for optimizer in OPTIMIZERS:
            with self.subTest(optimizer):
                self.check(GPT, optimizer)

    def test_of_a_resnet(self):
        self.check(RESNET, "adam", budget="70%")

    def test_with_clipping(self):
        for unscales in (False, True):
            with self.subTest(unscales=unscales):
                self.check(GPT, "two groups", clip=0.5, unscales=unscales)

    def test_with_accumulation(self):
        self.check(GPT, micro=3)

    def test_with_accumulation_and_clipping(self):
        self.check(GPT, micro=2, clip=0.5)

    def test_that_are_off_are_none(self):
        module = models.gpt()
        optimizer = OPTIMIZERS["adamw"](module)
        rematlas.apply(
            module, "80%", optimizer=optimizer, scaler=torch.amp.GradScaler(models.DEVICE.type, enabled=False)
        )
        rematlas.remove(module)

    def test_of_other_kinds_and_without_an_optimizer_are_refused(self):
        module = models.gpt()
        with self.assertRaisesRegex(TypeError, "scaler is a float"):
            rematlas.apply(module, "80%", optimizer=OPTIMIZERS["adamw"](module), scaler=2.0)
        with self.assertRaisesRegex(ValueError, "scaler says what comes before.*optimizer="):
            rematlas.apply(module, "80%", scaler=torch.amp.GradScaler(models.DEVICE.type))


class Told(UpdatesCase):
    def begun(self):
        ours = Scaled(GPT, OPTIMIZERS["adamw"], apply="80%")
        for number in range(12):
            ours.step(number)
        self.assertEqual(rematlas.status(ours.module).updates, "during backward")
        ours.backward(50)
        return ours

    def test_steps_that_the_scaler_does_not_take(self):
        ours = self.begun()
        with self.assertRaisesRegex(RuntimeError, "not called by scaler.step"):
            ours.optimizer.step()

    def test_gradients_that_the_caller_unscales_and_does_not_clip(self):
        ours = self.begun()
        ours.scaler.unscale_(ours.optimizer)
        with self.assertRaisesRegex(RuntimeError, "unscale_ .*without clip_norm="):
            ours.scaler.step(ours.optimizer)

    def test_a_scale_that_changes_before_the_step(self):
        ours = self.begun()
        ours.scaler.update(512.0)
        with self.assertRaisesRegex(RuntimeError, "scale was changed"):
            ours.scaler.step(ours.optimizer)

    def test_clipping_of_gradients_that_the_original_has_scaled(self):
        """If no plan is ever ready, the original's gradients are unscaled and then clipped, as in plain
        training."""
        plain = Scaled(GPT, OPTIMIZERS["adamw"], clip=0.5).run()
        ours = Scaled(GPT, OPTIMIZERS["adamw"], apply="1%", clip=0.5).run()
        self.expect_same(plain, ours)
        self.assertEqual(rematlas.status(ours.module).updated, 0)


class HostLoop(host_weights_test.Loop):
    def __init__(self, given, **options):
        super().__init__(**options)
        self.scaler = given

    def step(self, number):
        for part in range(self.micro):
            text = host_weights_test.texts(number * self.micro + part)
            loss = (
                nn.functional.cross_entropy(
                    self.module(text[:, :-1].contiguous()).flatten(0, 1), text[:, 1:].flatten()
                )
                / self.micro
            )
            self.losses.append(loss.item())
            self.scaler.scale(loss * float("inf") if number in LEFT_OUT else loss).backward()
        if self.clip is not None and not self.ours:
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.module.parameters(), self.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.losses.append(self.scaler.get_scale())
        self.optimizer.zero_grad()


class WeightsOnTheHost(host_weights_test.HostWeights):
    def check(self, share, **how):
        plain = HostLoop(new_scaler(), **how).run()
        scaler = new_scaler()
        budget = host_weights_test.within(share)
        ours = HostLoop(scaler, **how, budget=budget, scaler=scaler)
        host_weights_test.ops.reset_counted_peak()
        ours.run()
        self.assertLessEqual(host_weights_test.ops.counted_peak_bytes(), budget)
        self.expect_same(plain, ours)
        status = rematlas.status(ours.module)
        self.assertEqual((status.updates, status.updated, status.original), ("during backward", STEPS, 0))

    def test_scaled(self):
        self.check(0.12)

    def test_scaled_accumulated_and_clipped(self):
        self.check(0.12, micro=2, clip=0.5)

    def test_a_scaler_that_apply_does_not_know_is_told(self):
        ours = HostLoop(new_scaler(), budget=host_weights_test.within(0.12))
        with self.assertRaisesRegex(RuntimeError, "scaler="):
            ours.run(1)


if __name__ == "__main__":
    unittest.main()
