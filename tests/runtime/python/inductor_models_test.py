"""Budgets under torch.compile for models that do not consist of equal blocks: image models, models with sizes
that differ from call to call, and models with checkpoints."""

import json
import re
import unittest
import unittest.mock

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import inductor_test
import rematlas
from rematlas.inductor.save_set import KernelStep, kind_of
from rematlas.library import ops
from slow import slow

WIDTH = inductor_test.WIDTH


class Images(nn.Module):
    """A model of convolutions. Inductor uses the channels-last layout for the tensors that the convolutions
    read and save."""

    def __init__(self):
        super().__init__()
        widths = (8, 32, 32, 64)
        self.stages = nn.Sequential(
            *(
                nn.Sequential(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU())
                for a, b in zip(widths, widths[1:])
            )
        )

    def forward(self, x):
        return self.stages(x).square().mean()


class Checkpointed(inductor_test.Model):
    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.norm(x).square().mean()


def images():
    torch.manual_seed(0)
    return Images()


def trained(compiled, module, x):
    """Trains one step. Returns the gradients as numpy arrays, and the peak bytes."""
    ops.reset_counted_peak()
    compiled(x).backward()
    peak = ops.counted_peak_bytes()
    gradients = [parameter.grad.numpy().copy() for parameter in module.parameters()]
    module.zero_grad()
    return gradients, peak


class Convolutions(inductor_test.Case):
    @slow
    def test_what_is_said_of_a_step_with_convolutions_is_measured(self):
        x = torch.randn(4, 8, 48, 48, generator=torch.Generator().manual_seed(1))
        plain = images()
        wanted, _ = trained(torch.compile(plain), plain, x)
        torch._dynamo.reset()
        module = images()
        compiled = rematlas.compile(module, "80%")
        found = [trained(compiled, module, x)[0] for _ in range(2)]
        (graph,) = rematlas.status(compiled).graphs
        self.expect_close(found[:1], [wanted])
        self.assertLess(graph.lowered_bytes, graph.plain_bytes)
        self.assertLessEqual(graph.measured_bytes, graph.lowered_bytes)
        self.assertGreater(graph.measured_bytes, 0.99 * graph.lowered_bytes)


class WideConvolutions(nn.Module):
    """A model whose weights take more bytes than its images."""

    def __init__(self):
        super().__init__()
        convolutions = (nn.Conv2d(128, 128, 3, padding=1, bias=False) for _ in range(6))
        self.layers = nn.Sequential(*(layer for one in convolutions for layer in (one, nn.ReLU())))

    def forward(self, x):
        return self.layers(x).square().mean()


class Weights(inductor_test.Case):
    def test_weights_that_backward_reads_are_in_memory_once(self):
        torch.manual_seed(0)
        module = WideConvolutions()
        compiled = rematlas.compile(module, "80%")
        compiled(torch.randn(1, 128, 32, 32)).backward()
        (graph,) = rematlas.status(compiled).graphs
        self.assertLess(graph.lowered_bytes, 0.8 * graph.plain_bytes, "torch saves a copy of each weight")


class HeldByTheCaller(inductor_test.Case):
    """The caller holds more memory after the compilation than before. A budget in bytes is still kept."""

    def peaks(self, compiled, end_step, count=4) -> list[int]:
        found = []
        for _ in range(count):
            ops.reset_counted_peak()
            compiled(inductor_test.sample()).backward()
            found.append(ops.counted_peak_bytes())
            end_step()
        return found

    def plain_bytes(self, module) -> int:
        with self.assertRaises(rematlas.Infeasible) as refused:
            rematlas.compile(module, "10%")(inductor_test.sample())
        torch._dynamo.reset()
        return int(re.search(r"torch.compile alone takes (\d+)", str(refused.exception))[1])

    def test_states_of_an_optimizer(self):
        module = inductor_test.model()
        optimizer = torch.optim.AdamW(module.parameters())
        states = 2 * sum(parameter.nbytes for parameter in module.parameters())
        budget = self.plain_bytes(module) * 7 // 10 + states
        compiled = rematlas.compile(module, budget)

        def end_step():
            optimizer.step()
            optimizer.zero_grad()

        for peak in self.peaks(compiled, end_step):
            self.assertLessEqual(peak, budget)

    def test_summed_gradients(self):
        module = inductor_test.model()
        gradients = sum(parameter.nbytes for parameter in module.parameters())
        budget = self.plain_bytes(module) * 7 // 10 + gradients
        compiled = rematlas.compile(module, budget)
        for peak in self.peaks(compiled, lambda: None):
            self.assertLessEqual(peak, budget)

    def test_without_room_the_step_goes_on_and_says_so(self):
        module = inductor_test.model()
        compiled = rematlas.compile(module, self.plain_bytes(module) * 8 // 10)
        compiled(inductor_test.sample()).backward()
        more = torch.zeros(1 << 22)
        with self.assertLogs("rematlas", "WARNING") as told:
            for _ in range(3):
                compiled(inductor_test.sample()).backward()
        self.assertEqual(len(told.output), 1)
        self.assertIn("More lives beside the step", told.output[0])
        self.assertEqual(more.numel(), 1 << 22)


class NothingCompiled(inductor_test.Case):
    def test_a_step_that_dynamo_leaves_alone_is_told_of_once(self):
        layer = nn.Linear(8, 8)

        @torch._dynamo.disable
        def hidden(x):
            return layer(x).sum()

        def step(x):
            return hidden(x)

        compiled = rematlas.compile(step, "1GiB")
        with self.assertLogs("rematlas", "WARNING") as told:
            for _ in range(4):
                compiled(torch.ones(2, 8)).backward()
        self.assertEqual(len(told.output), 1)
        self.assertIn("no budget is kept", told.output[0])


class RecurrentLayers(inductor_test.Case):
    def test_they_stand_between_two_graphs(self):
        torch.manual_seed(0)
        first, layer, last = nn.Linear(16, 16), nn.GRU(16, 32, batch_first=True), nn.Linear(32, 8)

        def step(x):
            return last(layer(first(x))[0]).square().mean()

        x = torch.randn(16, 12, 16)
        compiled = rematlas.compile(step, 1 << 22)
        for _ in range(3):
            compiled(x).backward()
        if not rematlas.status(compiled).graphs:
            self.skipTest("this version of torch does not compile functions with recurrent layers")
        self.assertEqual(len(rematlas.status(compiled).graphs), 2)
        with self.assertRaises(rematlas.Infeasible) as refused:
            torch._dynamo.reset()
            rematlas.compile(step, "50%")(x)
        self.assertGreater(refused.exception.needed, 0)


class Schedules(inductor_test.Case):
    def answers(self, module, budget, x):
        """Compiles the module. Returns each KernelStep that the solver gets, with the solver's answer."""
        found = []

        def solve(step, *given):
            found.append((step, solve_step(step, *given)))
            return found[-1][1]

        solve_step = KernelStep.solve
        with unittest.mock.patch.object(KernelStep, "solve", solve):
            rematlas.compile(module, budget)(x).backward()
        self.assertTrue(found)
        return found

    def test_the_bytes_of_their_steps_are_those_of_the_solver(self):
        x = torch.randn(4, 8, 48, 48, generator=torch.Generator().manual_seed(1))
        for step, answer in self.answers(images(), "80%", x):
            steps = json.loads(answer.schedule_text)["steps"]
            self.assertEqual(step.peak_bytes(steps), answer.planned_bytes)
            self.assertTrue(answer.overwriting)
            in_new_memory = []
            for kind, number in steps:
                in_new_memory.append(["run" if kind == "run_inplace" else kind, number])
                if kind == "run_inplace":
                    in_new_memory += [["free", old] for _, old in step.ops[number]["inplace"]]
            known = step.forbid_overwriting(answer.overwriting, answer)
            self.assertEqual(known, step.peak_bytes(in_new_memory))
            self.assertGreaterEqual(known, answer.planned_bytes)
            self.assertFalse(
                any("inplace" in step.ops[number] for kind, number in steps if kind == "run_inplace")
            )

    def test_what_inductor_does_in_one_block_is_expected_in_the_others(self):
        answers = self.answers(inductor_test.model(), "75%", inductor_test.sample())
        step, answer = answers[-1]
        places = {op["name"]: set() for op in step.ops}
        for op in step.ops:
            if "inplace" in op:
                places[op["name"]].add(op["module"])
        name = max(places, key=lambda op: len(places[op]))
        self.assertGreater(len(places[name]), 1, places)
        kernel = next(
            kernel
            for kernel, op in zip(step.ran, step.ops, strict=True)
            if op["name"] == name and "inplace" in op
        )
        alike = [op for other, op in zip(step.ran, step.ops) if other and kind_of(other) == kind_of(kernel)]
        self.assertGreater(len(alike), 1)
        step.forbid_overwriting([kernel.node.name], answer)
        self.assertFalse(any("inplace" in op for op in alike))


class SizesThatChange(inductor_test.Case):
    def step(self, compiled, module, rows):
        x = torch.randn(rows, WIDTH, generator=torch.Generator().manual_seed(rows))
        gradients, peak = trained(compiled, module, x)
        for ours, eager in zip(gradients, trained(module, module, x)[0], strict=True):
            self.assertLessEqual(abs(ours - eager).max(), 1e-5 * max(abs(eager).max(), 1e-3))
        return peak

    def test_larger_ones_are_planned_anew_or_refused(self):
        budget = 6_000_000
        module = inductor_test.model()
        compiled = rematlas.compile(module, budget, dynamic=True)
        for rows in (512, 512, 384, 600, 900, 512):
            peak = self.step(compiled, module, rows)
            self.assertLessEqual(peak, budget, rows)
        first, *_, last = rematlas.status(compiled).graphs
        self.assertEqual((first.schedule_text, first.tries), ("", 0))
        self.assertGreater(last.overhead, 1.0)
        with self.assertRaises(rematlas.Infeasible) as refused:
            self.step(compiled, module, 4096)
        self.assertGreater(refused.exception.needed, budget)

    def test_dynamo_does_not_go_on_without_a_budget(self):
        module = inductor_test.model()
        compiled = rematlas.compile(module, "1GiB", dynamic=False)
        with torch._dynamo.config.patch(recompile_limit=1):
            self.step(compiled, module, 64)
            with self.assertRaisesRegex(RuntimeError, "largest sizes first"):
                self.step(compiled, module, 65)
        self.step(compiled, module, 65)


class Pointwise(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(3))

    def forward(self, x):
        for layer, function in zip(self.layers, (torch.tanh, torch.sin, torch.sigmoid)):
            x = function(layer(torch.nn.functional.gelu(x)))
        return x


class LossesOutside(inductor_test.Case):
    """The memory of eager code between forward and backward counts for the graphs of all sizes, even for
    graphs that torch takes from its cache."""

    def peaks(self, budget, rows, **options):
        torch._dynamo.reset()
        torch.manual_seed(0)
        module = Pointwise()
        compiled = rematlas.compile(module, budget, **options)
        found = []
        for count in rows:
            x = torch.randn(count, 32)
            ops.reset_counted_peak()
            compiled(x).square().mean().backward()
            found.append(ops.counted_peak_bytes())
            module.zero_grad()
        return found, rematlas.status(compiled).graphs

    def test_cached_graphs_are_those_of_the_same_call(self):
        budget = 4_000_000
        first, graphs = self.peaks(budget, (4096, 4096, 4096))
        for options in ({}, {"dynamic": True}, {"dynamic": True}):
            found, _ = self.peaks(budget, (4096, 4096, 4096), **options)
            self.assertLessEqual(max(found), budget, options)
        self.assertLessEqual(max(first), budget)
        self.assertGreater(graphs[0].overhead, 1.0)

    def test_larger_sizes_count_it_too(self):
        budget = 11_500_000
        for _ in range(2):
            found, graphs = self.peaks(budget, (2048, 4096, 9000, 9000, 12000, 1000), dynamic=True)
            self.assertLessEqual(max(found), budget)
        self.assertGreater(max(found), budget * 9 // 10)


class Checkpoints(inductor_test.Case):
    def test_nothing_runs_again_that_has_room(self):
        torch.manual_seed(0)
        module = Checkpointed()
        plain = torch.compile(module)
        x = inductor_test.sample()
        trained(plain, module, x)
        wanted, least = trained(plain, module, x)
        torch._dynamo.reset()
        compiled = rematlas.compile(module, "1GiB")
        trained(compiled, module, x)
        found, most = trained(compiled, module, x)
        self.expect_close([found], [wanted])
        self.assertGreater(most, 1.2 * least)


if __name__ == "__main__":
    unittest.main()
