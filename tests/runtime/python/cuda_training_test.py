"""On a GPU, or on the software stand-in for a GPU (tests/simgpu), training by plans gives the bits of plain
training and keeps the budget, whatever the order in which the device does its work."""

import unittest

import torch

import models
import rematlas

STEPS = 8


def wait(module):
    rematlas.status(module).wait()


def one_forward(module, batches, loss_of, step):
    x, target = batches(step)
    return loss_of(module(x), target)


def two_forwards(module, batches, loss_of, step):
    return one_forward(module, batches, loss_of, 2 * step) + one_forward(
        module, batches, loss_of, 2 * step + 1
    )


def train(module, batches, loss_of, optimizer, step_of=one_forward, accumulate=1):
    """Trains for `STEPS` steps. Returns the losses, and the peak bytes of each forward with its backward."""
    torch.manual_seed(1)
    losses, peaks = [], []
    for step in range(STEPS):
        for part in range(accumulate):
            models.reset_peak()
            loss = step_of(module, batches, loss_of, step * accumulate + part)
            loss.backward()
            peaks.append(models.peak())
            losses.append(loss.item())
            del loss
            if module._compiled_call_impl is not None:
                wait(module)
        optimizer.step()
        optimizer.zero_grad()
    return losses, peaks


class TrainingCase(unittest.TestCase):
    def expect_as_plain(self, build, batches, loss_of, optimizer, share, more=0, arena=None, frames=1, **how):
        """Compares training under a budget with plain training. The budget is a share of the plain peak, plus
        `more` bytes."""
        plain = build()
        losses, peaks = train(plain, batches, loss_of, optimizer(plain), **how)
        random, numbers = (
            models.generator_states(),
            {name: value.cpu() for name, value in plain.state_dict().items()},
        )
        del plain
        alive = models.reset_peak()
        budget = alive + int(share * (max(peaks) - alive)) + more

        module = rematlas.apply(build(), budget, config=models.by_moves(), arena=arena, frames=frames)
        ours, peaks = train(module, batches, loss_of, optimizer(module), **how)
        status = rematlas.status(module)
        self.assertEqual(losses, ours)
        self.assertTrue(all(map(torch.equal, random, models.generator_states())))
        for name, value in module.state_dict().items():
            self.assertTrue(torch.equal(value.cpu(), numbers[name]), name)
        self.assertEqual(status.state, "planned", status.reason)
        self.assertGreaterEqual(status.replayed, 4)
        self.assertLessEqual(max(peaks), budget)
        return status


class Training(TrainingCase):
    def test_a_resnet(self):
        self.expect_as_plain(models.resnet, models.images, models.image_loss, models.sgd, 0.75)

    def test_a_gpt_with_dropout(self):
        self.expect_as_plain(models.gpt, models.texts, models.text_loss, models.adamw, 0.85)

    def test_what_plain_training_keeps_is_kept(self):
        """The outputs are large here, and the loss frees them early. The plan must not keep them longer.
        `more` is needed because libtorch can hand out larger blocks for tensors of the loss than in the plain
        step."""
        self.expect_as_plain(models.wide_gpt, models.texts, models.text_loss, models.sgd, 1.001, more=2 << 20)

    def test_gradients_accumulate(self):
        self.expect_as_plain(models.resnet, models.images, models.image_loss, models.sgd, 0.8, accumulate=2)

    def test_two_forwards_are_open(self):
        self.expect_as_plain(
            models.gpt, models.texts, models.text_loss, models.sgd, 0.9, frames=2, step_of=two_forwards
        )


class InAnArena(TrainingCase):
    def test_a_resnet_and_a_gpt(self):
        of_resnet = self.expect_as_plain(
            models.resnet, models.images, models.image_loss, models.sgd, 0.75, arena=True
        )
        of_gpt = self.expect_as_plain(
            models.gpt, models.texts, models.text_loss, models.adamw, 0.85, arena=True
        )
        for status in (of_resnet, of_gpt):
            self.assertGreater(status.plans[0].last["arena_bytes"], 0)
            self.assertEqual(status.plans[0].last["system_allocations"], 0)

    def test_gradients_accumulate(self):
        self.expect_as_plain(
            models.resnet, models.images, models.image_loss, models.sgd, 0.8, arena=True, accumulate=2
        )


if __name__ == "__main__":
    unittest.main()
