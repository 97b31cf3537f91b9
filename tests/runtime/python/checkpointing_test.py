"""Checkpointing a plain torch model according to a plan gives the gradients of plain checkpointing, and the
predicted peak."""

import contextlib
import functools
import gc
import json
import pathlib
import tempfile
import unittest
import warnings

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import checkpointed_models
import rematlas
from rematlas.library import ops

torch.set_num_threads(1)


@functools.cache
def planned(name):
    """Returns a model, its batch, and a plan that keeps all tensors."""
    model, batch = getattr(checkpointed_models, name)()
    return model, batch, rematlas.plan(model, batch, "100%", solver="keep-all")


class Trained:
    """Runs one step. `gradients`: the gradients of the step. `peak`: the most bytes during the step beyond
    the bytes before it."""

    def __init__(self, model, batch, seed=3):
        model.zero_grad()
        gc.collect()
        torch.manual_seed(seed)
        before = ops.counted_bytes()
        ops.reset_counted_peak()
        loss = model(*batch)
        loss.backward()
        self.peak = ops.counted_peak_bytes() - before
        self.gradients = {name: one.grad for name, one in model.named_parameters() if one.grad is not None}
        model.zero_grad()

    def same_as(self, other) -> bool:
        return self.gradients.keys() == other.gradients.keys() and all(
            torch.equal(mine, other.gradients[name]) for name, mine in self.gradients.items()
        )


@contextlib.contextmanager
def wrapped(policy, model):
    policy.wrap(model)
    try:
        yield
    finally:
        policy.unwrap(model)


@contextlib.contextmanager
def plainly(paths, model, **options):
    """A context manager in which PyTorch's own checkpointing, with `options`, is applied to these modules."""
    modules = [model.get_submodule(path) for path in paths]
    for module in modules:
        module.forward = functools.partial(checkpoint, module.forward, use_reentrant=False, **options)
    try:
        yield
    finally:
        for module in modules:
            del module.forward


class Case(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("error", rematlas.RefusedWarning)
        self.addCleanup(warnings.resetwarnings)


class Models(Case):
    def check(self, name, *shares):
        model, batch, plan = planned(name)
        original = Trained(model, batch)
        saves = 0
        for share in shares:
            with self.subTest(name, share=share):
                policy = rematlas.checkpoint_policy(plan, share)
                self.assertLessEqual(policy.peak_bytes, policy.budget_bytes)
                self.assertGreater(policy.overhead, 1)
                with wrapped(policy, model):
                    step = Trained(model, batch)
                with plainly(policy.regions, model):
                    plain = Trained(model, batch)
                self.assertTrue(step.same_as(plain))
                self.assertTrue(step.same_as(original))
                told = policy.peak_bytes - policy.resident_bytes
                self.assertLess(abs(step.peak - told), 0.05 * told, f"{step.peak} of {told} bytes")
                self.assertLess(step.peak, original.peak)
                saved = sum(op.save for region in policy.file.regions for op in region.ops)
                if saved:
                    self.assertGreater(step.peak, 0.99 * plain.peak)
                saves += saved
        self.assertGreater(saves, 0)

    def test_a_gpt_with_dropout(self):
        self.check("gpt", "85%", "60%", "40%")

    def test_one_like_llama(self):
        self.check("llama", "85%", "65%", "45%")

    def test_a_resnet_with_batchnorm(self):
        self.check("resnet", "90%", "75%", "60%")

    def test_a_vit_of_timm(self):
        self.check("vit", "85%", "60%", "40%")

    def test_gpt2_of_transformers(self):
        self.check("gpt2", "85%", "60%", "40%")


class Regions(Case):
    """If the caller gives no path, the policy finds the region of a call by itself."""

    def setUp(self):
        super().setUp()
        self.model, self.batch, plan = planned("llama")
        self.policy = rematlas.checkpoint_policy(plan, "50%")
        sequences = [region.ops for region in self.policy.regions.values()]
        self.assertGreater(len(set(sequences)), 1, "regions differ in what they save")
        with wrapped(self.policy, self.model):
            self.named = Trained(self.model, self.batch)

    def check(self):
        with plainly(self.policy.regions, self.model, context_fn=self.policy):
            step = Trained(self.model, self.batch)
        self.assertTrue(step.same_as(self.named))
        self.assertEqual(step.peak, self.named.peak)

    def test_by_the_order_of_calls(self):
        for _ in range(2):
            self.check()

    def test_after_calls_without_gradients(self):
        with torch.no_grad(), plainly(self.policy.regions, self.model, context_fn=self.policy):
            self.model(*self.batch)
        self.check()

    def test_by_the_ops(self):
        """The first call runs the ops of a region that is not the first region of the policy."""
        first = self.policy.file.regions[0]
        other = type(first)("other", first.ops[::-1])
        self.policy.regions = {"other": other, **self.policy.regions}
        with plainly([*self.policy.regions][1:], self.model, context_fn=self.policy):
            step = Trained(self.model, self.batch)
        self.assertEqual(step.peak, self.named.peak)


class OtherSteps(Case):
    """Steps that run other ops than the planned step recompute everything, with one warning."""

    def setUp(self):
        super().setUp()
        self.model, self.batch, plan = planned("gpt")
        self.policy = rematlas.checkpoint_policy(plan, "60%")
        self.expected = self.step(self.batch)

    def step(self, batch):
        with wrapped(self.policy, self.model):
            return Trained(self.model, batch)

    def plain_step(self, batch):
        with plainly(self.policy.regions, self.model):
            return Trained(self.model, batch)

    def check(self, do):
        """Checks steps that run other ops than the planned step. `do(step)` runs such a step; `step` is the
        function that trains."""
        plain = do(self.plain_step)
        with self.assertWarnsRegex(rematlas.RefusedWarning, "recompute all"):
            steps = [do(self.step)]
        steps += [do(self.step) for _ in range(2)]  # here a second warning would be an error
        for step in steps:
            self.assertTrue(step.same_as(plain))
        rng = 64 * 1024  # bytes of the policy itself and of the generator's states
        self.assertLess(abs(steps[-1].peak - plain.peak), rng)
        for _ in range(2):
            step = self.step(self.batch)
        self.assertTrue(step.same_as(self.expected))
        self.assertEqual(step.peak, self.expected.peak)

    def test_of_another_shape(self):
        smaller = tuple(one[:4].contiguous() for one in self.batch)
        self.check(lambda step: step(smaller))

    def test_under_autocast(self):
        def step(way):
            with torch.autocast("cpu", torch.bfloat16):
                return way(self.batch)

        self.check(step)

    def test_in_eval_mode(self):
        def step(way):
            self.model.eval()
            try:
                return way(self.batch)
            finally:
                self.model.train()

        self.check(step)


class Files(Case):
    def setUp(self):
        super().setUp()
        self.model, self.batch, self.plan = planned("gpt")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_policy_is_kept_and_read(self):
        policy = rematlas.checkpoint_policy(self.plan, "60%")
        policy.save(self.folder / "gpt.policy.json")
        self.assertEqual(rematlas.checkpoint_policy(self.folder / "gpt.policy.json").file, policy.file)
        with self.assertRaisesRegex(ValueError, "is a policy, which has its budget"):
            rematlas.checkpoint_policy(self.folder / "gpt.policy.json", "50%")

    def test_a_plan_file_gives_what_its_plan_does(self):
        self.plan.save(self.folder / "gpt.plan")
        read = rematlas.checkpoint_policy(self.folder / "gpt.plan", "60%")
        self.assertEqual(read.file, rematlas.checkpoint_policy(self.plan, "60%").file)

    def test_a_plan_of_the_class_has_the_figures_of_its_policy(self):
        plan = rematlas.plan(self.model, self.batch, "60%", solver="selective")
        answer = plan.compiled("cpu").answer()
        policy = rematlas.checkpoint_policy(plan)
        self.assertEqual(answer.peak_bytes, policy.peak_bytes)
        self.assertEqual(answer.overhead, policy.overhead)
        self.assertEqual(answer.solver, "selective")

    def test_other_files_are_refused(self):
        path = self.folder / "other.json"
        for text in ("{}", "[]", json.dumps({"format": "rematlas.policy", "version": 2})):
            path.write_text(text)
            with self.assertRaisesRegex(ValueError, r"other\.json"):
                rematlas.checkpoint_policy(path)
        with self.assertRaises(FileNotFoundError):
            rematlas.checkpoint_policy(self.folder / "none")

    def test_budgets_that_no_choice_keeps(self):
        with self.assertRaisesRegex(rematlas.Refused, "the least that was found takes"):
            rematlas.checkpoint_policy(self.plan, "5%")

    def test_a_step_that_fits(self):
        policy = rematlas.checkpoint_policy(self.plan, "110%")
        self.assertEqual([*policy.regions], [])
        self.assertEqual(policy.overhead, 1)
        policy.wrap(self.model)
        self.assertFalse(any("forward" in vars(module) for module in self.model.modules()))
        with self.assertRaisesRegex(ValueError, "no regions"):
            checkpoint(nn.Tanh(), torch.ones(2, requires_grad=True), use_reentrant=False, context_fn=policy)

    def test_modules_that_are_no_regions(self):
        policy = rematlas.checkpoint_policy(self.plan, "60%")
        with self.assertRaisesRegex(KeyError, "no region of this policy"):
            policy("model.head")
        with self.assertRaisesRegex(ValueError, "plan this model"):
            policy.wrap(nn.Linear(2, 2))
        with wrapped(policy, self.model), self.assertRaisesRegex(ValueError, "replaced already"):
            policy.wrap(self.model)


if __name__ == "__main__":
    unittest.main()
