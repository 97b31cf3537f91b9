"""Optimizers that are part of the planned step. Training has the results of plain training with the same
fused optimizer, or raises an error if this is impossible."""

import copy
import gc
import unittest

import torch
from torch import nn

import models
import rematlas
import updated_models
from rematlas.api import of
from rematlas.compiled.memory import other_bytes
from rematlas.updates.update_rule import Role
from slow import slow

STEPS = 20


def two_groups(module):
    """Returns an AdamW with two groups. The group of biases and normalizations has no decay, and its own
    learning rate."""
    parameters = list(module.parameters())
    wide = [parameter for parameter in parameters if parameter.dim() > 1]
    narrow = [parameter for parameter in parameters if parameter.dim() <= 1]
    return torch.optim.AdamW(
        [{"params": wide, "weight_decay": 0.1}, {"params": narrow, "weight_decay": 0.0, "lr": 3e-3}],
        lr=1e-3,
        fused=True,
    )


OPTIMIZERS = {
    "sgd": lambda module: torch.optim.SGD(module.parameters(), lr=0.05, fused=True),
    "sgd with momentum": lambda module: torch.optim.SGD(
        module.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4, fused=True
    ),
    "adam": lambda module: torch.optim.Adam(module.parameters(), lr=1e-3, amsgrad=True, fused=True),
    "adamw": lambda module: torch.optim.AdamW(module.parameters(), lr=1e-3, fused=True),
    "two groups": two_groups,
}


class Loop:
    """An ordinary training loop."""

    def __init__(self, build, batches, loss, optimizer, apply=None, **options):
        self.module, self.batches, self.loss = build(), batches, loss
        self.optimizer = optimizer(self.module)
        self.planned = apply is not None
        if self.planned:
            rematlas.apply(self.module, apply, config=models.by_moves(), optimizer=self.optimizer, **options)
        self.losses = []
        torch.manual_seed(1)

    def step(
        self, number, between=lambda loop: None, micro=1, backward=lambda loss: loss.backward(), penalty=0
    ):
        for part in range(micro):
            inputs, targets = self.batches(number * micro + part)
            loss = self.loss(self.module(inputs), targets) / micro
            if penalty:
                loss = loss + penalty * sum(parameter.pow(2).sum() for parameter in self.module.parameters())
            backward(loss)
            self.losses.append(loss.item())
        between(self)
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.planned:
            rematlas.status(self.module).wait()

    def run(self, **how):
        for number in range(STEPS):
            self.step(number, **how)
        return self


GPT = (models.gpt, models.texts, models.text_loss)
RESNET = (models.resnet, models.images, models.image_loss)


class UpdatesCase(unittest.TestCase):
    def expect_same(self, plain, ours):
        self.assertEqual(plain.losses, ours.losses)
        for name, value in plain.module.state_dict().items():
            self.assertTrue(torch.equal(value, ours.module.state_dict()[name]), name)
        states, our_states = plain.optimizer.state_dict()["state"], ours.optimizer.state_dict()["state"]
        self.assertEqual(states.keys(), our_states.keys())
        for number, kept in states.items():
            for name, value in kept.items():
                self.assertTrue(
                    (value is None and our_states[number][name] is None)
                    or torch.equal(value, our_states[number][name]),
                    name,
                )


class DuringBackward(UpdatesCase):
    def check(self, case, optimizer, budget):
        plain = Loop(*case, OPTIMIZERS[optimizer]).run()
        ours = Loop(*case, OPTIMIZERS[optimizer], apply=budget).run()
        self.expect_same(plain, ours)
        status = rematlas.status(ours.module)
        self.assertEqual(status.updates, "during backward")
        self.assertGreaterEqual(status.updated, STEPS - 9)
        return ours

    def test_a_gpt(self):
        for optimizer in ("adamw", "two groups"):
            with self.subTest(optimizer):
                self.check(GPT, optimizer, "75%")

    def test_a_resnet(self):
        for optimizer in ("sgd", "sgd with momentum", "adam"):
            with self.subTest(optimizer):
                self.check(RESNET, optimizer, "70%")

    def test_a_model_of_torchvision(self):
        try:
            from torchvision.models import mobilenet_v3_small
        except ImportError:
            self.skipTest("torchvision is not installed")

        def build():
            torch.manual_seed(0)
            return mobilenet_v3_small(num_classes=10)

        self.check((build, models.images, models.image_loss), "sgd with momentum", "90%")

    def test_the_predicted_peak_is_met_and_is_less_than_with_gradients(self):
        ours = self.check(GPT, "sgd", "80%")
        (plan,) = of(ours.module).call_plans.values()
        ending = plan.endings[Role.UPDATE]
        if models.DEVICE.type == "cpu":
            measured, predicted = ending.plan.last_step().peak_bytes, ending.answer.peak_bytes
            self.assertLessEqual(measured, predicted)
            self.assertGreater(measured, 0.97 * predicted)
        self.assertLess(ending.answer.whole_peak_bytes, plan.answer.whole_peak_bytes)
        self.assertLessEqual(ending.answer.peak_bytes, ending.answer.budget_bytes)

    def test_schedulers_change_rates_and_checkpoints_come_back(self):
        def train(loop):
            scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(loop.optimizer, T_max=STEPS)
            saved = None
            for number in range(STEPS):
                loop.step(number)
                scheduler.step()
                if number == 12:
                    saved = copy.deepcopy(
                        (
                            loop.module.state_dict(),
                            loop.optimizer.state_dict(),
                            scheduler.state_dict(),
                            torch.get_rng_state(),
                        )
                    )
            loop.module.load_state_dict(saved[0])
            loop.optimizer.load_state_dict(saved[1])
            scheduler.load_state_dict(saved[2])
            torch.set_rng_state(saved[3])
            for number in range(13, STEPS):
                loop.step(number)
                scheduler.step()
            return loop

        plain = train(Loop(*GPT, OPTIMIZERS["adamw"]))
        ours = train(Loop(*GPT, OPTIMIZERS["adamw"], apply="75%"))
        self.expect_same(plain, ours)
        self.assertEqual(plain.losses[13:STEPS], plain.losses[STEPS:])
        self.assertGreaterEqual(rematlas.status(ours.module).updated, STEPS)

    def test_numbers_that_change_in_each_step_keep_the_plan(self):
        """In each step the plan reads the current learning rates, betas and weight decays of the optimizer.
        It also reads the momentum, unless that is zero."""

        def train(loop, change):
            ended = set()
            for number in range(STEPS):
                change(loop.optimizer, number)
                loop.step(number)
                if loop.planned:
                    endings = [
                        ending
                        for plan in of(loop.module).call_plans.values()
                        for ending in plan.endings.values()
                    ]
                    ended |= {id(ending) for ending in endings if ending.is_bound}
            return loop, ended

        def cycle(optimizer, number):
            for place, group in enumerate(optimizer.param_groups):
                group["lr"] = 1e-3 / (1 + number)
                group["weight_decay"] = 0.01 * (1 + number + place)
                if "betas" in group:
                    group["betas"], group["eps"] = (
                        (0.8 + 0.005 * number, 0.999 - 0.001 * number),
                        1e-8 * (1 + number),
                    )
                else:
                    group["momentum"] = 0.8 + 0.005 * number

        for case, optimizer in ((RESNET, "adamw"), (GPT, "two groups"), (RESNET, "sgd with momentum")):
            with self.subTest(optimizer):
                ours, ended = train(Loop(*case, OPTIMIZERS[optimizer], apply="75%"), cycle)
                self.expect_same(train(Loop(*case, OPTIMIZERS[optimizer]), cycle)[0], ours)
                self.assertEqual((rematlas.status(ours.module).updates, len(ended)), ("during backward", 1))
                self.assertGreaterEqual(rematlas.status(ours.module).updated, STEPS - 9)

    def test_momentum_that_begins_later_is_planned_anew(self):
        def train(loop):
            for number in range(STEPS):
                if number == 12:
                    loop.optimizer.param_groups[0]["momentum"] = 0.9
                loop.step(number)
            return loop

        ours = train(Loop(*RESNET, OPTIMIZERS["sgd"], apply="75%"))
        self.expect_same(train(Loop(*RESNET, OPTIMIZERS["sgd"])), ours)
        self.assertEqual(rematlas.status(ours.module).updates, "during backward")
        self.assertGreaterEqual(rematlas.status(ours.module).updated, STEPS - 9)

    def test_gradients_that_lie_otherwise_than_their_parameters(self):
        """If a gradient has another layout than its parameter, autograd copies it into `.grad`. The new
        tensor in `.grad` does not count as a change by the program."""

        def build():
            torch.manual_seed(0)
            return nn.Sequential(
                ChannelsLast(),
                nn.Conv2d(3, 32, 2, stride=2),
                nn.GELU(),
                nn.Conv2d(32, 64, 2, stride=2),
                nn.GELU(),
                nn.AdaptiveAvgPool2d(1),
                nn.Flatten(),
                nn.Linear(64, 10),
            )

        plain = build()
        inputs, targets = models.images(0)
        convolution = plain[3]
        (gradient,) = torch.autograd.grad(models.image_loss(plain(inputs), targets), convolution.weight)
        self.assertNotEqual(gradient.stride(), convolution.weight.stride())
        self.check((build, models.images, models.image_loss), "adamw", "98%")

    def test_an_optimizer_of_a_part_of_the_model(self):
        """Parameters that the optimizer does not have accumulate gradients as usual."""

        def of_the_last_layers(module):
            return torch.optim.AdamW(list(module.parameters())[-6:], lr=1e-3, fused=True)

        plain = Loop(*GPT, of_the_last_layers).run()
        ours = Loop(*GPT, of_the_last_layers, apply="90%").run()
        self.expect_same(plain, ours)
        self.assertEqual(rematlas.status(ours.module).updates, "during backward")
        self.assertGreaterEqual(rematlas.status(ours.module).updated, STEPS - 9)
        for (name, mine), theirs in zip(ours.module.named_parameters(), plain.module.parameters()):
            self.assertEqual(mine.grad is None, theirs.grad is None, name)
            self.assertTrue(mine.grad is None or torch.equal(mine.grad, theirs.grad), name)


class ChannelsLast(nn.Module):
    def forward(self, x):
        return x.to(memory_format=torch.channels_last)


def convolutions():
    """Returns a model whose weights take most of the memory of a step. Its largest ops take several times the
    bytes of their weights."""
    torch.manual_seed(0)
    widths = (3, 32, 64, 128, 256, 256)
    layers = [
        nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())
        for a, b in zip(widths, widths[1:])
    ]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10))


def linears():
    """Returns a model whose optimizer states are large compared with its step. The states exist only after
    the first step."""
    torch.manual_seed(0)
    return nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(256, 256), nn.GELU())])


class Announced(UpdatesCase):
    """The budget has no room for all gradients beside parameters and states. The program announces that one
    backward comes before each step."""

    def loop(self, **options):
        def build():
            torch.manual_seed(0)
            return updated_models.Net().to(models.DEVICE)

        def batches(step):
            generator = torch.Generator(models.DEVICE).manual_seed(step)
            return torch.randn(16, 256, generator=generator, device=models.DEVICE), None

        return Loop(build, batches, lambda loss, _: loss, OPTIMIZERS["adamw"], **options)

    def budget(self):
        """Returns a budget: 3.8 times the bytes of the parameters, plus the bytes that other tensors take. A
        step of the optimizer with all gradients would need four times the bytes of the parameters."""
        device = str(torch.empty(0, device=models.DEVICE).device)
        parameters = sum(parameter.nbytes for parameter in self.loop().module.parameters())
        gc.collect()
        return other_bytes([], [], device) + parameters * 19 // 5

    def test_all_steps_keep_the_budget(self):
        plain = self.loop().run()
        ours = self.loop(apply=self.budget(), accumulate=1).run()
        self.expect_same(plain, ours)
        status = rematlas.status(ours.module)
        self.assertEqual(status.original, 0)
        self.assertEqual(status.updated, STEPS)
        self.assertEqual(status.unkept, "")

    def test_who_announces_nothing_is_told_what_to_announce(self):
        with self.assertRaisesRegex(rematlas.Infeasible, "give accumulate=1 if exactly one backward"):
            self.loop(apply=self.budget(), on_refuse="raise").run()


class Accumulated(UpdatesCase):
    def check(self, share, build, batches, loss, optimizer):
        """Checks that no step exceeds the budget, not even the first one."""
        ops = torch.ops.rematlas

        def train(loop, peaks):
            for number in range(8):
                gc.collect()
                ops.reset_counted_peak()
                loop.step(number, micro=2)
                peaks.append(ops.counted_peak_bytes())
            return loop

        gc.collect()
        before, peaks = ops.counted_bytes(), []
        plain = train(Loop(build, batches, loss, OPTIMIZERS[optimizer]), peaks)
        gc.collect()
        beside = ops.counted_bytes()
        budget, peaks_of_plan = beside + int(share * (max(peaks) - before)), []
        ours = train(
            Loop(build, batches, loss, OPTIMIZERS[optimizer], apply=budget, accumulate=2), peaks_of_plan
        )
        self.assertLessEqual(max(peaks_of_plan), budget, [round(peak / budget, 3) for peak in peaks_of_plan])
        self.expect_same(plain, ours)
        self.assertGreater(rematlas.status(ours.module).updated, 2)

    def test_weights_are_most_of_the_step(self):
        def images(number):
            generator = torch.Generator().manual_seed(number)
            return torch.randn(4, 3, 16, 16, generator=generator), torch.randint(
                0, 10, (4,), generator=generator
            )

        self.check(0.93, convolutions, images, nn.functional.cross_entropy, "sgd")

    def test_states_come_after_the_first_step(self):
        def rows(number):
            generator = torch.Generator().manual_seed(number)
            return torch.randn(512, 256, generator=generator), torch.randn(512, 256, generator=generator)

        for share in (0.8, 0.95, 0.99):
            with self.subTest(share):
                self.check(share, linears, rows, nn.functional.mse_loss, "adamw")


class ByTheOptimizer(UpdatesCase):
    """If updates must wait for all gradients, the optimizer itself makes the updates after the backward, with
    the same results."""

    def check(self, why, budget="75%", **how):
        plain = Loop(*GPT, OPTIMIZERS["adamw"]).run(**how)
        ours = Loop(*GPT, OPTIMIZERS["adamw"], apply=budget).run(**how)
        self.expect_same(plain, ours)
        status = rematlas.status(ours.module)
        self.assertEqual(status.state, "planned", status.reason)
        self.assertIn(why, status.updates)
        self.assertEqual(status.updated, 0)

    def test_clipped_by_norm(self):
        self.check("clipped", between=lambda loop: nn.utils.clip_grad_norm_(loop.module.parameters(), 0.5))

    def test_accumulated(self):
        self.check("several forwards", micro=2)

    def test_with_decay_by_hand(self):
        def decay(loop):
            with torch.no_grad():
                torch._foreach_mul_(list(loop.module.parameters()), 0.99)

        self.check("parameters are written to between forward and step", between=decay)

    def test_with_a_closure(self):
        def train(loop):
            def closure():
                loop.optimizer.zero_grad()
                inputs, targets = loop.batches(number)
                loss = loop.loss(loop.module(inputs), targets)
                loss.backward()
                return loss

            for number in range(STEPS):
                loop.losses.append(loop.optimizer.step(closure).item())
                if loop.planned:
                    rematlas.status(loop.module).wait()
            return loop

        ours = train(Loop(*GPT, OPTIMIZERS["adamw"], apply="75%"))
        self.expect_same(train(Loop(*GPT, OPTIMIZERS["adamw"])), ours)
        self.assertIn("closure", rematlas.status(ours.module).updates)

    def test_with_a_grad_scaler(self):
        def train(loop):
            scaler = torch.amp.GradScaler(models.DEVICE.type, init_scale=2.0**10, growth_interval=5)
            for number in range(STEPS):
                inputs, targets = loop.batches(number)
                loss = loop.loss(loop.module(inputs), targets)
                if number in (7, 15):
                    loss = loss * float("inf")
                scaler.scale(loss).backward()
                scaler.step(loop.optimizer)
                scaler.update()
                loop.optimizer.zero_grad()
                loop.losses.append(scaler.get_scale())
                if loop.planned:
                    rematlas.status(loop.module).wait()
            return loop

        ours = train(Loop(*GPT, OPTIMIZERS["adamw"], apply="75%"))
        self.expect_same(train(Loop(*GPT, OPTIMIZERS["adamw"])), ours)
        self.assertIn("GradScaler", rematlas.status(ours.module).updates)


class Never(UpdatesCase):
    """If a plan cannot do what the program does, the original or the optimizer itself does it, or an error is
    raised. Training never differs silently."""

    def trained(self):
        ours = Loop(*GPT, OPTIMIZERS["adamw"], apply="75%").run()
        self.assertEqual(rematlas.status(ours.module).updates, "during backward")
        return ours

    def backward(self, loop):
        inputs, targets = loop.batches(99)
        loop.loss(loop.module(inputs), targets).backward()

    def test_what_looks_at_a_gradient_that_is_gone_is_told(self):
        ours = self.trained()
        self.backward(ours)
        with self.assertRaisesRegex(RuntimeError, "this gradient is gone.*clip_norm=.*accumulate="):
            nn.utils.clip_grad_norm_(ours.module.parameters(), 1.0)
        ours.optimizer.step()
        ours.optimizer.zero_grad()
        self.assertTrue(all(parameter.grad is None for parameter in ours.module.parameters()))

    def test_a_backward_without_a_step_is_told(self):
        ours = self.trained()
        self.backward(ours)
        with self.assertRaisesRegex(
            RuntimeError, "\\(accumulate=1\\), and optimizer.step\\(\\) was not called"
        ):
            self.backward(ours)

    def test_two_forwards_at_a_time_are_the_optimizer_s_again(self):
        def train(loop):
            for number in range(STEPS):
                loop.step(number)
            for number in range(4):
                first, second = loop.batches(number), loop.batches(number + 1)
                outputs = loop.module(first[0]), loop.module(second[0])
                loss = loop.loss(outputs[0], first[1]) + loop.loss(outputs[1], second[1])
                loss.backward()
                loop.losses.append(loss.item())
                loop.optimizer.step()
                loop.optimizer.zero_grad()
            return loop

        ours = train(Loop(*RESNET, OPTIMIZERS["sgd"], apply="75%"))
        self.expect_same(train(Loop(*RESNET, OPTIMIZERS["sgd"])), ours)
        self.assertIn("several forwards", rematlas.status(ours.module).updates)

    def test_a_graph_that_is_kept_is_the_optimizer_s_own(self):
        plain, ours = Loop(*GPT, OPTIMIZERS["adamw"]).run(), self.trained()
        for loop in (plain, ours):
            torch.manual_seed(2)
            loop.step(50, backward=lambda loss: loss.backward(retain_graph=True))
        self.expect_same(plain, ours)

    def test_a_module_that_is_removed_trains_on(self):
        plain, ours = Loop(*GPT, OPTIMIZERS["adamw"]).run(), self.trained()
        rematlas.remove(ours.module)
        ours.planned = False
        for loop in (plain, ours):
            torch.manual_seed(2)
            loop.step(50)
        self.expect_same(plain, ours)

    def test_other_optimizers_are_refused_in_one_line(self):
        for make, why in (
            (lambda parameters: torch.optim.AdamW(parameters), "fused=True"),
            (lambda parameters: torch.optim.RMSprop(parameters), "RMSprop"),
            (
                lambda parameters: torch.optim.SGD(parameters, momentum=0.9, dampening=0.1, fused=True),
                "dampening",
            ),
        ):
            module = models.gpt()
            with self.assertRaisesRegex(ValueError, why) as refused:
                rematlas.apply(module, "75%", optimizer=make(module.parameters()))
            self.assertNotIn("\n", str(refused.exception))
        with self.assertRaisesRegex(ValueError, "none of the model's parameters"):
            rematlas.apply(
                models.gpt(), "75%", optimizer=torch.optim.AdamW(models.gpt().parameters(), fused=True)
            )


class ToldBeforeItIsTraining(UpdatesCase):
    """If the program does something that comes too late for updates already made, the next call raises an
    error. Training never differs silently."""

    def trained(self, **options):
        loop = Loop(*GPT, OPTIMIZERS["adamw"], apply="80%", **options)
        for number in range(12):
            loop.step(number)
        self.assertEqual(rematlas.status(loop.module).updates, "during backward")
        return loop

    def forward(self, loop):
        inputs, targets = loop.batches(50)
        return loop.loss(loop.module(inputs), targets)

    def expect_told(self, why, between=lambda loop: None, then=lambda loop: loop.optimizer.step()):
        loop = self.trained()
        loss = self.forward(loop)
        loss.backward()
        between(loop)
        with self.assertRaisesRegex(RuntimeError, why):
            then(loop)

    def test_rates_that_change_before_the_step(self):
        def halve(loop):
            loop.optimizer.param_groups[0]["lr"] *= 0.5

        self.expect_told("options of the optimizer", halve)

    def test_gradients_that_are_zeroed_before_the_step(self):
        self.expect_told("zeroed or replaced", lambda loop: loop.optimizer.zero_grad())

    def test_states_that_are_loaded_or_written_to_before_the_step(self):
        def load(loop):
            loop.optimizer.load_state_dict(copy.deepcopy(loop.optimizer.state_dict()))

        def write(loop):
            next(iter(loop.optimizer.state.values()))["exp_avg"].mul_(0.5)

        for change in (load, write):
            self.expect_told("states of the optimizer were loaded or written to", change)

    def test_whoever_goes_back_to_a_checkpoint_trains_on(self):
        """The step that has begun has already made its updates. Loading the checkpoint undoes them."""

        def train(loop):
            saved = copy.deepcopy((loop.module.state_dict(), loop.optimizer.state_dict()))
            self.forward(loop).backward()
            loop.optimizer.zero_grad()
            loop.module.load_state_dict(saved[0])
            loop.optimizer.load_state_dict(saved[1])
            torch.manual_seed(3)
            loop.step(20)
            loop.step(21)
            return loop

        plain = Loop(*GPT, OPTIMIZERS["adamw"])
        for number in range(12):
            plain.step(number)
        self.expect_same(train(plain), train(self.trained()))

    def test_parameters_that_are_written_to_before_the_step(self):
        def shrink(loop):
            with torch.no_grad():
                next(loop.module.parameters()).mul_(0.99)

        self.expect_told("parameters were written to", shrink)

    def test_two_steps_of_one_backward(self):
        self.expect_told("called again", lambda loop: loop.optimizer.step())

    def test_gradients_that_are_not_zeroed(self):
        def without_zeroing(loop):
            self.forward(loop).backward()
            loop.optimizer.step()

        self.expect_told("not zeroed since", lambda loop: loop.optimizer.step(), without_zeroing)

    def test_hooks_of_the_optimizer_that_look_at_gradients(self):
        def clamp(optimizer, args, kwargs):
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.grad.clamp_(-1e-3, 1e-3)

        plain, ours = Loop(*GPT, OPTIMIZERS["adamw"]), Loop(*GPT, OPTIMIZERS["adamw"], apply="80%")
        for loop in (plain, ours):
            loop.optimizer.register_step_pre_hook(clamp)
            torch.manual_seed(1)
            loop.run()
        self.expect_same(plain, ours)
        self.assertIn("gradients are changed", rematlas.status(ours.module).updates)

    def test_zeroing_in_place_and_between_forward_and_backward_is_as_ever(self):
        def train(loop):
            torch.manual_seed(1)
            for number in range(STEPS):
                if number < 14:
                    loop.optimizer.zero_grad()
                inputs, targets = loop.batches(number)
                loss = loop.loss(loop.module(inputs), targets)
                if number >= 14:
                    loop.optimizer.zero_grad(set_to_none=number % 2 == 0)
                loss.backward()
                loop.losses.append(loss.item())
                loop.optimizer.step()
                if loop.planned:
                    rematlas.status(loop.module).wait()
            return loop

        plain, ours = (
            train(Loop(*GPT, OPTIMIZERS["adamw"])),
            train(Loop(*GPT, OPTIMIZERS["adamw"], apply="80%")),
        )
        self.expect_same(plain, ours)
        self.assertGreater(rematlas.status(ours.module).updated, 0)


if __name__ == "__main__":
    unittest.main()


class TheOriginalForOneStep(UpdatesCase):
    """If the program needs gradients that the plan does not keep, the original runs that step, and plans run
    the next steps."""

    def check(self, odd, **options):
        def train(loop):
            for number in range(STEPS):
                if number == 12:
                    odd(loop)
                loop.step(number)
            return loop

        plain, ours = (
            train(Loop(*GPT, OPTIMIZERS["adamw"])),
            train(Loop(*GPT, OPTIMIZERS["adamw"], apply="90%", **options)),
        )
        self.expect_same(plain, ours)
        status = rematlas.status(ours.module)
        self.assertEqual(status.updates, "during backward")
        self.assertGreaterEqual(status.updated, STEPS - 10)

    def loss(self, loop, number):
        inputs, targets = loop.batches(number)
        return loop.loss(loop.module(inputs), targets)

    def test_gradients_that_are_asked_for(self):
        def odd(loop):
            gradients = torch.autograd.grad(
                self.loss(loop, 70), list(loop.module.parameters()), allow_unused=True
            )
            loop.losses += [gradient.sum().item() for gradient in gradients if gradient is not None]
            self.assertTrue(all(parameter.grad is None for parameter in loop.module.parameters()))

        self.check(odd)

    def test_a_backward_to_some_parameters(self):
        def odd(loop):
            some = list(loop.module.parameters())[2:4]
            self.loss(loop, 70).backward(inputs=some)
            loop.losses += [parameter.grad.sum().item() for parameter in some]
            self.assertEqual(sum(parameter.grad is not None for parameter in loop.module.parameters()), 2)
            loop.optimizer.step()
            loop.optimizer.zero_grad()

        self.check(odd)

    def test_hooks_that_come_between_forward_and_backward(self):
        for name in ("register_hook", "register_post_accumulate_grad_hook"):

            def odd(loop):
                loss = self.loss(loop, 70)
                parameter = next(loop.module.parameters())
                told = []
                hook = getattr(parameter, name)(lambda gradient: told.append(gradient.sum().item()))
                loss.backward()
                hook.remove()
                self.assertEqual(len(told), 1)
                loop.optimizer.step()
                loop.optimizer.zero_grad()

            with self.subTest(name):
                self.check(odd)

    def test_parameters_that_are_frozen_between_forward_and_backward(self):
        def odd(loop):
            loss = self.loss(loop, 70)
            parameter = next(loop.module.parameters()).requires_grad_(False)
            loss.backward()
            self.assertIsNone(parameter.grad)
            loop.optimizer.step()
            loop.optimizer.zero_grad()
            parameter.requires_grad_(True)

        self.check(odd)

    def test_a_forward_that_raises_is_none(self):
        def odd(loop):
            for _ in range(2):
                with self.assertRaises(IndexError):
                    loop.module(torch.full_like(loop.batches(70)[0], 10**6))
            for name, value in loop.module.named_parameters():
                self.assertIsNone(value.grad, name)

        self.check(odd)


class FromOutside(UpdatesCase):
    """A penalty in the loss gives parameters additional gradients, from outside of the module's step."""

    @slow
    def test_in_all_steps_and_from_some_on(self):
        for first in (0, 12):
            for options in ({}, {"accumulate": 2}, {"clip_norm": 1e9}, {"offload": "all", "links": "pcie5"}):
                with self.subTest(first=first, **options):
                    micro, clip = options.get("accumulate", 1), options.get("clip_norm")
                    between = (
                        (
                            lambda loop: (
                                loop.planned or nn.utils.clip_grad_norm_(loop.module.parameters(), clip)
                            )
                        )
                        if clip
                        else None
                    )

                    def train(loop):
                        for number in range(STEPS):
                            loop.step(
                                number,
                                **({"between": between} if between else {}),
                                micro=micro,
                                penalty=1e-2 if number >= first else 0,
                            )
                        return loop

                    plain, ours = (
                        train(Loop(*RESNET, OPTIMIZERS["adamw"])),
                        train(Loop(*RESNET, OPTIMIZERS["adamw"], apply="90%", **options)),
                    )
                    self.expect_same(plain, ours)
                    status = rematlas.status(ours.module)
                    self.assertGreater(status.replayed + status.original_backwards, 6)

    def test_of_tied_parameters_is_told(self):
        """A plan would sum the gradients of a tied parameter in another order, so the original runs the
        steps in which this parameter gets a gradient from outside."""

        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(0)
                self.words = nn.Embedding(50, 32)
                self.layers = nn.Sequential(*[nn.Linear(32, 32) for _ in range(6)])

            def forward(self, text):
                return nn.functional.linear(self.layers(self.words(text)).tanh(), self.words.weight)

        def texts(number):
            ids = torch.randint(0, 50, (8, 17), generator=torch.Generator().manual_seed(number))
            return ids[:, :-1], ids[:, 1:]

        def loss(logits, targets):
            return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

        ours = Loop(Tied, texts, loss, OPTIMIZERS["adamw"], apply="95%")
        with self.assertWarnsRegex(rematlas.RefusedWarning, "uses several times gets gradients from outside"):
            for number in range(4):
                ours.step(number, penalty=1e-2)
        plain, later = (
            Loop(Tied, texts, loss, OPTIMIZERS["adamw"], apply=budget) for budget in (None, "95%")
        )
        for number in range(16):
            for loop in (plain, later):
                loop.step(number, penalty=1e-2 if number in (12, 14) else 0)
            if number == 11:
                status = rematlas.status(later.module)
                self.assertEqual(status.updates, "during backward", status.reason)
        self.expect_same(plain, later)
        self.assertRegex(status.why_original, "uses several times gets gradients from outside")
