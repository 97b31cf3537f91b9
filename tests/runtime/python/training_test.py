"""Training by plans in ordinary loops: losses, weights and buffers are those of plain training, bit by bit."""

import copy
import io
import pathlib
import tempfile
import unittest

import torch
from torch import nn

import models
import rematlas


def same_tensors(test, a, b) -> None:
    a, b = a.state_dict(), b.state_dict()
    test.assertEqual(list(a), list(b))
    for name in a:
        test.assertTrue(torch.equal(a[name], b[name]), name)


class TrainingCase(unittest.TestCase):
    """Plain and scheduled training of one model from the same weights and random numbers."""

    build = batches = loss = optimizer = None

    @classmethod
    def setUpClass(cls):
        if cls.build is None:
            raise unittest.SkipTest("has no model")
        cls.plan = models.plan_at_half(cls.build(), cls.batches(0)[0])

    def expect_same(self, steps: int, accumulate: int = 1) -> rematlas.ScheduledModule:
        cls = type(self)
        plain, scheduled = cls.build(), rematlas.load(cls.build(), self.plan)
        runs = []
        for module in (plain, scheduled):
            torch.manual_seed(3)
            losses = models.train(module, cls.batches, cls.loss, cls.optimizer(module), steps, accumulate)
            runs.append((losses, torch.get_rng_state()))
        self.assertEqual(runs[0][0], runs[1][0])
        self.assertTrue(torch.equal(runs[0][1], runs[1][1]))
        same_tensors(self, plain, scheduled)
        return scheduled


class ResNet(TrainingCase):
    build, batches, loss, optimizer = map(staticmethod, (models.resnet, models.images, models.image_loss, models.sgd))

    def test_fifty_steps_are_as_plain_and_keep_the_budget(self):
        scheduled = self.expect_same(50)
        summary = self.plan.summary
        self.assertGreater(summary["overhead"], 1.0)
        self.assertLessEqual(scheduled.last_peak_bytes, summary["budget_bytes"])
        self.assertEqual(scheduled.last_peak_bytes, summary["peak_bytes"])

    def test_gradients_accumulate(self):
        self.expect_same(4, accumulate=3)

    def test_eval_and_no_grad_run_the_original(self):
        scheduled, plain = rematlas.load(models.resnet(), self.plan), models.resnet()
        x = torch.randn(3, 3, 32, 32)  # of another batch size than planned
        with torch.no_grad():
            self.assertTrue(torch.equal(scheduled(x), plain(x)))
        scheduled.eval(), plain.eval()
        self.assertFalse(scheduled.original.training)
        self.assertTrue(torch.equal(scheduled(x), plain(x)))
        scheduled.train()
        with self.assertRaisesRegex(RuntimeError, r"input 0 is f32\[3,3,32,32\], the graph takes f32\[8,3,32,32\]"):
            scheduled(x)

    def test_a_forward_without_backward_moves_buffers_and_is_forgotten(self):
        scheduled, plain = rematlas.load(models.resnet(), self.plan), models.resnet()
        x, target = models.images(0)
        for module in (scheduled, plain):
            module(x)
            models.image_loss(module(x), target).backward()
        same_tensors(self, plain, scheduled)
        for a, b in zip(plain.parameters(), scheduled.parameters()):
            self.assertTrue(torch.equal(a.grad, b.grad))

    def test_a_submodule_in_another_mode_is_noticed(self):
        scheduled = rematlas.load(models.resnet(), self.plan)
        scheduled.original.blocks[0].bn1.eval()
        with self.assertRaisesRegex(RuntimeError, "blocks.0.bn1 is in eval mode"):
            scheduled(models.images(0)[0])


class GptWithDropout(TrainingCase):
    build, batches, loss, optimizer = map(staticmethod, (models.gpt, models.texts, models.text_loss, models.adamw))

    def test_fifty_steps_are_as_plain_and_keep_the_budget(self):
        scheduled = self.expect_same(50)
        self.assertGreater(self.plan.summary["overhead"], 1.0)
        self.assertLessEqual(scheduled.last_peak_bytes, self.plan.summary["budget_bytes"])

    def test_gradients_accumulate(self):
        self.expect_same(3, accumulate=2)

    def test_checkpoints_go_both_ways(self):
        scheduled, plain = rematlas.load(models.gpt(), self.plan), models.gpt()
        optimizer = models.adamw(scheduled)
        models.train(scheduled, models.texts, models.text_loss, optimizer, 3)
        file = io.BytesIO()
        torch.save(scheduled.state_dict(), file)
        file.seek(0)
        plain.load_state_dict(torch.load(file))
        same_tensors(self, plain, scheduled)
        again = rematlas.load(models.gpt(), self.plan)
        again.load_state_dict(plain.state_dict())
        results = []
        for module in (plain, again):
            torch.manual_seed(9)
            results.append(models.train(module, models.texts, models.text_loss, models.adamw(module), 3))
        self.assertEqual(results[0], results[1])

    def test_parameters_that_moved_are_found(self):
        scheduled, plain = rematlas.load(models.gpt(), self.plan), models.gpt()
        results = []
        for module in (scheduled, plain):
            weights = {name: value.clone() for name, value in models.gpt().state_dict().items()}
            weights["head.weight"] *= 0.5
            module.load_state_dict(weights, assign=True)
            torch.manual_seed(9)
            results.append(models.train(module, models.texts, models.text_loss, models.adamw(module), 2))
        self.assertEqual(results[0], results[1])

    def test_copies_train_alone(self):
        scheduled = rematlas.load(models.gpt(), self.plan)
        other = copy.deepcopy(scheduled)
        models.train(other, models.texts, models.text_loss, models.adamw(other), 1)
        same_tensors(self, scheduled, models.gpt())
        self.assertFalse(torch.equal(other.original.head.weight, scheduled.original.head.weight))

    def test_plans_are_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "gpt.plan"
            self.plan.save(path)
            scheduled = rematlas.load(models.gpt(), path)
            self.assertEqual(scheduled.plan.summary, self.plan.summary)
            self.assertTrue(scheduled(models.texts(0)[0]).requires_grad)

    def test_names_are_the_originals(self):
        scheduled, plain = rematlas.load(models.gpt(), self.plan), models.gpt()
        self.assertEqual([n for n, _ in scheduled.named_parameters()], [n for n, _ in plain.named_parameters()])
        self.assertEqual([n for n, _ in scheduled.named_buffers()], [n for n, _ in plain.named_buffers()])
        self.assertIs(next(scheduled.parameters()), next(scheduled.original.parameters()))

    def test_hooks_of_parameters_and_of_the_module_run(self):
        scheduled = rematlas.load(models.gpt(), self.plan)
        seen = []
        scheduled.register_forward_hook(lambda *_: seen.append("forward"))
        scheduled.original.head.weight.register_hook(lambda gradient: seen.append("gradient"))
        scheduled.original.head.weight.register_post_accumulate_grad_hook(lambda _: seen.append("accumulated"))
        x, target = models.texts(0)
        models.text_loss(scheduled(x), target).backward()
        self.assertEqual(seen, ["forward", "gradient", "accumulated"])

    def test_a_scaled_loss_gives_scaled_gradients(self):
        x, target = models.texts(0)
        gradients = []
        for module in (models.gpt(), rematlas.load(models.gpt(), self.plan)):
            torch.manual_seed(1)
            scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
            optimizer = models.adamw(module)
            scaler.scale(models.text_loss(module(x), target)).backward()
            scaler.step(optimizer)
            gradients.append([p.detach().clone() for p in module.parameters()])
        for a, b in zip(*gradients):
            self.assertTrue(torch.equal(a, b))


class Errors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(0)
        cls.x = torch.randn(4, 16)
        cls.plan = rematlas.plan(cls.model(), cls.x, "100%", time_limit=1, repeats=1)

    @staticmethod
    def model():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))

    def setUp(self):
        self.module = rematlas.load(self.model(), self.plan)

    def test_wrong_inputs(self):
        for inputs, message in [
            ((self.x.double(),), "input 0 is f64"),
            ((self.x[:2],), r"input 0 is f32\[2,16\]"),
            ((self.x, self.x), "takes 1 inputs, 2 were given"),
            ((self.x.t().contiguous().t(),), "strides"),
            ((self.x.clone().requires_grad_(),), "input 0 requires a gradient"),
        ]:
            with self.assertRaisesRegex(RuntimeError, message):
                self.module(*inputs)
        with self.assertRaisesRegex(TypeError, "input 0 is a int"):
            self.module(3)

    def test_another_model(self):
        with self.assertRaisesRegex(ValueError, "has no 0.weight"):
            rematlas.load(nn.ModuleDict({"a": nn.Linear(16, 32)}), self.plan)
        with self.assertRaisesRegex(ValueError, "without 3.weight"):
            rematlas.load(nn.Sequential(*self.model(), nn.Linear(4, 4)), self.plan)
        with self.assertRaisesRegex(RuntimeError, r"parameter 2.weight is f32\[5,32\].*f32\[4,32\]"):
            rematlas.load(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 5)), self.plan)
        with self.assertRaisesRegex(RuntimeError, "parameter 0.weight is f64"):
            rematlas.load(self.model().double(), self.plan)

    def test_a_model_that_changed_since(self):
        self.module.double()
        with self.assertRaisesRegex(RuntimeError, "0.weight is f64"):
            self.module(self.x)

    def test_no_plan(self):
        with tempfile.NamedTemporaryFile(suffix=".plan") as file:
            file.write(b"{}\n"), file.flush()
            with self.assertRaisesRegex(ValueError, "is not a plan"):
                rematlas.load(self.model(), file.name)

    def test_a_second_forward_makes_the_first_backward_an_error(self):
        first, second = self.module(self.x), self.module(self.x)
        with self.assertRaisesRegex(RuntimeError, "another forward of the same module"):
            first.sum().backward()
        second.sum().backward()
        with self.assertRaisesRegex(RuntimeError, "has run before|second time"):
            second.sum().backward()

    def test_second_derivatives(self):
        with self.assertRaisesRegex(RuntimeError, "no second derivative"):
            self.module(self.x).sum().backward(create_graph=True)

    def test_weights_written_to_between_forward_and_backward(self):
        output = self.module(self.x)
        with torch.no_grad():
            next(self.module.parameters()).add_(1)
        with self.assertRaisesRegex(RuntimeError, "0.weight was written to"):
            output.sum().backward()

    def test_parameters_that_were_frozen_when_planned(self):
        model = self.model()
        model[0].requires_grad_(False)
        module = rematlas.load(model, rematlas.plan(model, self.x, "100%", time_limit=1, repeats=1))
        module(self.x).sum().backward()
        self.assertIsNone(model[0].weight.grad)
        self.assertIsNotNone(model[2].weight.grad)
        model[0].requires_grad_(True)
        with self.assertRaisesRegex(RuntimeError, "0.weight requires a gradient.*plan again|0.bias requires"):
            module(self.x)

    def test_autocast_that_was_not_planned(self):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            with self.assertRaisesRegex(RuntimeError, "autocast is torch.bfloat16"):
                self.module(self.x)

    def test_a_budget_that_cannot_be_kept(self):
        with self.assertRaisesRegex(rematlas.Infeasible, "every schedule needs") as caught:
            rematlas.plan(self.model(), self.x, 1000, repeats=1)
        self.assertGreater(caught.exception.needed_bytes, 1000)

    def test_wrong_requests(self):
        for arguments, message in [
            (dict(budget="many"), "budget"),
            (dict(budget="50%", solver="magic"), "magic.*there are: .*rotor"),
        ]:
            with self.assertRaisesRegex(RuntimeError, message):
                rematlas.plan(self.model(), self.x, repeats=1, **arguments)
        with self.assertRaisesRegex(TypeError, "budget"):
            rematlas.plan(self.model(), self.x, 0.5)
        with self.assertRaisesRegex(TypeError, "input 0"):
            rematlas.plan(self.model(), (3,), "50%")


class Plans(unittest.TestCase):
    def test_planning_leaves_the_model_alone(self):
        model = models.resnet().eval()
        model.blocks.train()
        before = {name: value.clone() for name, value in model.state_dict().items()}
        modes = [module.training for module in model.modules()]
        state = torch.get_rng_state()
        rematlas.plan(model, models.images(0)[0], "100%", solver="keep-all", repeats=1)
        self.assertEqual(modes, [module.training for module in model.modules()])
        self.assertTrue(torch.equal(state, torch.get_rng_state()))
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(before[name], value), name)
        self.assertTrue(all(p.grad is None for p in model.parameters()))

    def test_outputs_come_packed_as_the_model_packs_them(self):
        class Several(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(8, 8)

            def forward(self, x, y):
                z = self.a(x + y)
                return {"z": z, "both": (z.exp(), [z.sin()])}

        torch.manual_seed(0)
        model = Several()
        x, y = torch.randn(4, 8), torch.randn(4, 8)
        expected = model(x, y)
        module = rematlas.load(model, rematlas.plan(model, (x, y), "100%", time_limit=1, repeats=1))
        found = module(x, y)
        self.assertEqual(list(found), ["z", "both"])
        self.assertIs(type(found["both"][1]), list)
        self.assertTrue(torch.equal(found["both"][1][0], expected["both"][1][0]))
        with self.assertRaisesRegex(RuntimeError, "does not depend on output"):
            found["z"].sum().backward()
        module = rematlas.load(
            model, rematlas.plan(model, (x, y), "100%", time_limit=1, repeats=1, differentiable=[0])
        )
        module(x, y)["z"].sum().backward()
        gradient = model.a.weight.grad.clone()
        model.a.weight.grad = None
        model(x, y)["z"].sum().backward()
        self.assertTrue(torch.equal(gradient, model.a.weight.grad))

    def test_scripted_modules_train_too(self):
        plain, script = models.gpt(), torch.jit.script(models.gpt())
        x = models.texts(0)[0]
        scheduled = rematlas.load(script, rematlas.plan(script, x, "70%", time_limit=1, repeats=1))
        results = []
        for module in (plain, scheduled):
            torch.manual_seed(3)
            results.append(models.train(module, models.texts, models.text_loss, models.adamw(module), 3))
        self.assertEqual(results[0], results[1])

    def test_autocast_is_planned(self):
        x, target = models.images(0)
        model, plain = models.resnet(), models.resnet()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            plan = rematlas.plan(model, x, "80%", time_limit=1, repeats=1)
        module = rematlas.load(model, plan)
        losses = []
        for trained in (module, plain):
            optimizer = models.sgd(trained)
            for _ in range(3):
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    loss = models.image_loss(trained(x), target)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                losses.append(loss.item())
        self.assertEqual(losses[:3], losses[3:])


class PublishedInterface(unittest.TestCase):
    def test_rotor_and_dtr_train(self):
        x, target = models.images(0)
        plain = models.resnet()
        models.image_loss(plain(x), target).backward()
        for make in (rematlas.Rotor, rematlas.DTR):
            module = make(models.resnet(), x, "70%", time_limit=5)
            models.image_loss(module(x), target).backward()
            module.backward()
            for a, b in zip(plain.parameters(), module.parameters()):
                self.assertTrue(torch.equal(a.grad, b.grad))
            module.reinit()

    def test_a_schedule_may_come_later(self):
        x = models.images(0)[0]
        module = rematlas.from_config(models.resnet(), x, rematlas.generate_config("rotor"))
        with self.assertRaisesRegex(RuntimeError, "solve_sched"):
            module(x)
        module.solve_sched("70%")
        self.assertEqual(module.plan.summary["solver"], "rotor")
        self.assertTrue(module(x).requires_grad)

    def test_what_is_not_here_says_so(self):
        missing = [name for name in ("rockmate", "hiremate") if not self.has(name)]
        for name in missing:
            make = {"rockmate": rematlas.Rockmate, "hiremate": rematlas.HiRemate}[name]
            with self.assertRaisesRegex(RuntimeError, "there are: .*rotor"):
                make(models.resnet(), models.images(0)[0], "70%")

    @staticmethod
    def has(name: str) -> bool:
        try:
            return bool(rematlas.generate_config(name))
        except RuntimeError:
            return False

    def test_configurations_are_files(self):
        config = rematlas.generate_config("rotor")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rotor.json"
            rematlas.save_config(config, path)
            self.assertEqual(rematlas.load_config(path), config)
            config["options"]["slotz"] = 3
            with self.assertRaisesRegex(RuntimeError, "slotz"):
                rematlas.save_config(config, path)


if __name__ == "__main__":
    unittest.main()
