"""A budget in bytes under torch.compile (rematlas.compile): the counted bytes stay within the budget, and the
gradients are those of the plainly compiled step."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import unittest.mock

import torch
from torch import nn
from torch._inductor.graph import GraphLowering
from torch.nn import functional

import rematlas
from rematlas.inductor.generated_memory import memory_of
from slow import slow

KERNELS = tempfile.TemporaryDirectory()
ROWS, WIDTH, LAYERS = 512, 64, 3
TOLERANCE = 1e-6  # the largest allowed relative difference between gradients


class Block(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.dropout = dropout

    def forward(self, x):
        y = self.down(functional.gelu(self.up(self.norm(x)), approximate="tanh"))
        return x + functional.dropout(y, self.dropout, self.training)


class Model(nn.Module):
    def __init__(self, dropout=0.0, buffers=False):
        super().__init__()
        self.blocks = nn.ModuleList(Block(dropout) for _ in range(LAYERS))
        self.norm = nn.BatchNorm1d(WIDTH) if buffers else nn.Identity()

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.norm(x).square().mean()


class InParts(Model):
    """A model that dynamo splits into several graphs. All blocks share one graph, which runs once for each
    block."""

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
            torch._dynamo.graph_break()
        return self.norm(x).square().mean()


def in_parts():
    torch.manual_seed(0)
    return InParts(dropout=0.2, buffers=True)


def model(**options):
    torch.manual_seed(0)
    return Model(**options)


def sample():
    return torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(1))


def steps(compiled, module, count=3):
    """Runs `count` steps. Returns their losses, gradients and buffers as numpy arrays, because numpy's memory
    is not counted. Each call uses the same random numbers."""
    found, x = [], sample()
    for step in range(count):
        torch.manual_seed(step)
        loss = compiled(x)
        loss.backward()
        gradients = [parameter.grad.numpy().copy() for parameter in module.parameters()]
        found.append([loss.detach().numpy().copy(), *gradients])
        module.zero_grad()
        del loss
    return [*found, [buffer.numpy().copy() for buffer in module.buffers()]]


class Case(unittest.TestCase):
    """Each test begins without cached graphs. Kernels that earlier tests have compiled stay in the cache."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        cache = unittest.mock.patch.dict(os.environ, {"TORCHINDUCTOR_CACHE_DIR": KERNELS.name})
        cache.start()
        self.addCleanup(cache.stop)
        for graphs in ("fxgraph", "aotautograd", "rematlas"):
            shutil.rmtree(pathlib.Path(KERNELS.name) / graphs, ignore_errors=True)
        torch._dynamo.reset()

    def expect_close(self, ours, plain):
        for got, wanted in zip(ours, plain, strict=True):
            for a, b in zip(got, wanted, strict=True):
                self.assertLessEqual(abs(a - b).max(), TOLERANCE * max(abs(b).max(), 1e-3))


class Budgets(Case):
    def expect_kept(self, budget, **options):
        plain = model(**options)
        wanted = steps(torch.compile(plain), plain)
        torch._dynamo.reset()
        module = model(**options)
        compiled = rematlas.compile(module, budget)
        self.expect_close(steps(compiled, module), wanted)
        (graph,) = rematlas.status(compiled).graphs
        self.assertLess(graph.lowered_bytes, graph.plain_bytes)
        self.assertLessEqual(graph.lowered_bytes, graph.budget_bytes)
        self.assertLessEqual(graph.measured_bytes, graph.budget_bytes)
        self.assertGreater(graph.overhead, 1.0)
        self.assertGreater(graph.tries, 0)
        return compiled, graph

    def test_a_share_is_kept_and_the_kernels_can_be_looked_at(self):
        compiled, graph = self.expect_kept("75%")
        self.assertIn("overhead", repr(rematlas.status(compiled)))
        schedule = self.folder / "step.schedule.json"
        graph.save(schedule)
        program = pathlib.Path(os.environ["REMATLAS_PROGRAMS"]) / "rematlas"
        command = [program, "check", self.folder / "step.graph.json", schedule]
        checked = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.assertIn("blocks.2.up", (self.folder / "step.graph.json").read_text())

    def test_dropout_draws_the_same_numbers_again_and_running_statistics_move_once(self):
        self.expect_kept("75%", dropout=0.2, buffers=True)

    def test_several_graphs_of_a_step_share_a_budget(self):
        plain = in_parts()
        wanted = steps(torch.compile(plain), plain, 4)
        found = []
        for _ in range(2):  # the second run takes all graphs from the cache, as a new process would
            torch._dynamo.reset()
            module = in_parts()
            compiled = rematlas.compile(module, "90%")
            self.expect_close(steps(compiled, module, 4), wanted)
            found.append(rematlas.status(compiled).graphs)
        self.assertEqual(*([graph.schedule_text for graph in graphs] for graphs in found))
        self.assertGreater(len(found[0]), 1)
        for graph in found[0]:
            self.assertLessEqual(graph.lowered_bytes, graph.budget_bytes)
            self.assertLessEqual(graph.measured_bytes, graph.budget_bytes)
        self.assertLess(found[0][0].budget_bytes, max(graph.plain_bytes for graph in found[0]))

    @slow
    def test_several_graphs_are_refused_with_the_bytes_that_work(self):
        """The step is also refused at its second call, when the memory of eager code between the graphs is
        known."""
        module = in_parts()
        with self.assertRaisesRegex(rematlas.Infeasible, "graphs of the compiled step") as refused:
            rematlas.compile(module, "20%")(sample())
        budget, least = refused.exception.needed, None
        while least is None:
            torch._dynamo.reset()
            compiled = rematlas.compile(module, budget)
            try:
                steps(compiled, module, 3)
                least = budget
            except rematlas.Infeasible as error:
                self.assertGreater(error.needed, budget)
                budget = error.needed
        for graph in rematlas.status(compiled).graphs:
            self.assertLessEqual(graph.lowered_bytes, least)
            self.assertLessEqual(graph.measured_bytes, least)

    @slow
    def test_a_loss_outside_of_the_graph_counts(self):
        def losses(take):
            for step in range(4):
                torch.manual_seed(step)
                y = take(sample())
                (y.exp() * y.sigmoid() * y.tanh()).square().mean().backward()
                module.zero_grad()

        torch.manual_seed(0)
        module = nn.Sequential(*(Block(0.1) for _ in range(LAYERS)))
        compiled = rematlas.compile(module, "70%")
        losses(compiled)
        (graph,) = rematlas.status(compiled).graphs
        self.assertLessEqual(graph.lowered_bytes, graph.budget_bytes)
        self.assertLessEqual(graph.measured_bytes, graph.budget_bytes)
        self.assertGreater(graph.measured_bytes, graph.budget_bytes * 9 // 10)
        share = (graph.budget_bytes - graph.beside_bytes) / (graph.plain_bytes - graph.beside_bytes)
        self.assertAlmostEqual(share, 0.7, 5)


@torch.library.custom_op("inductor_test::drifting", mutates_args=())
def drifting(x: torch.Tensor) -> torch.Tensor:
    """Returns another result in each call, because it counts its calls. The count is not restored before a
    second run of a step."""
    drifting.runs = getattr(drifting, "runs", 0) + 1
    return x * drifting.runs


drifting.register_fake(torch.empty_like)
drifting.register_autograd(lambda context, gradient: gradient)


class Compared(Case):
    """The planned step is compared with the same step under torch.compile alone."""

    def test_outputs_and_gradients_are_near(self):
        plain, module = (model(dropout=0.2, buffers=True) for _ in range(2))
        wanted = steps(torch.compile(plain), plain)
        torch._dynamo.reset()
        compiled = rematlas.compile(module, "75%", compare=True)
        self.assertIsNone(rematlas.status(compiled).difference)
        self.expect_close(steps(compiled, module), wanted)  # the comparison changed no state
        difference = rematlas.status(compiled).difference
        self.assertLessEqual(difference.outputs, TOLERANCE)
        self.assertLessEqual(difference.gradients, TOLERANCE)
        self.assertIn("apart", repr(rematlas.status(compiled)))
        (graph,) = rematlas.status(compiled).graphs
        self.assertLessEqual(graph.measured_bytes, graph.budget_bytes)

    def test_what_is_further_apart_is_refused(self):
        module = nn.Linear(WIDTH, WIDTH)
        compiled = rematlas.compile(lambda x: drifting(module(x)).sum(), "1GiB", compare=True)
        compiled(sample()).backward()
        with self.assertRaisesRegex(rematlas.Refused, "output 0 .* apart from what torch.compile alone"):
            compiled(sample())
        compiled(sample()).backward()  # training can go on after the error


class Calls(Case):
    def test_torchs_own_cut_is_taken_where_it_keeps_the_budget(self):
        module = model()
        compiled = rematlas.compile(module, "1GiB")
        steps(compiled, module)
        (graph,) = rematlas.status(compiled).graphs
        self.assertEqual((graph.planned_bytes, graph.tries), (None, 0))
        self.assertEqual(graph.lowered_bytes, graph.plain_bytes)
        with self.assertRaisesRegex(ValueError, "no schedule"):
            graph.save(self.folder / "x.schedule.json")

    def test_what_cannot_be_reached_is_refused_with_the_bytes_that_work(self):
        module = model()
        with self.assertRaises(rematlas.Infeasible) as refused:
            rematlas.compile(module, "1MiB")(sample())
        self.assertIn("torch.compile alone takes", str(refused.exception))
        compiled = rematlas.compile(module, refused.exception.needed + (1 << 18))
        steps(compiled, module)
        (graph,) = rematlas.status(compiled).graphs
        self.assertLessEqual(graph.measured_bytes, graph.budget_bytes)

    @slow
    def test_a_function_is_compiled_as_a_module_is_and_told_of_from_the_cache(self):
        module = model()

        def loss(x):
            return module(x) * 2

        told = []
        for _ in range(2):
            torch._dynamo.reset()
            compiled = rematlas.compile(loss, "75%")
            steps(compiled, module, 2)
            told.append(rematlas.status(compiled).graphs[0])
            self.assertLessEqual(told[-1].measured_bytes, told[-1].budget_bytes)
        self.assertEqual(told[0].graph_text, told[1].graph_text)

    def test_each_graph_that_keeps_the_budget_is_lowered_once(self):
        budget, codegen = 1 << 30, GraphLowering.codegen
        for _ in range(2):  # first with torch's own partition, then with a schedule
            torch._dynamo.reset()
            module, lowered = model(), []

            def counted(graph):
                lowered.append(graph.is_backward)
                return codegen(graph)

            compiled = rematlas.compile(module, budget)
            with unittest.mock.patch.object(GraphLowering, "codegen", counted):
                steps(compiled, module)
            (graph,) = rematlas.status(compiled).graphs
            self.assertLessEqual(graph.measured_bytes, budget)
            self.assertEqual(len(lowered), 2 * max(1, graph.tries))
            budget = graph.plain_bytes * 8 // 10

    def test_options_for_torchs_own_compile(self):
        module = model()
        compiled = torch.compile(module, options=rematlas.compile_options("75%"))
        plain = model()
        ours = steps(compiled, module)
        torch._dynamo.reset()
        self.expect_close(ours, steps(torch.compile(plain), plain))

    def test_two_compiled_modules_in_one_loop(self):
        first, second = (nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(2))
        both = [rematlas.compile(module, "1GiB") for module in (first, second)]
        for _ in range(3):
            both[1](both[0](sample())).square().mean().backward()
        for compiled in both:
            (graph,) = rematlas.status(compiled).graphs
            self.assertLessEqual(graph.measured_bytes, graph.budget_bytes)

    def test_evaluation_is_not_cut(self):
        compiled = rematlas.compile(model(), "75%")
        with torch.no_grad():
            compiled(sample())
        self.assertEqual(rematlas.status(compiled).graphs, [])


class Words(unittest.TestCase):
    def test_what_is_no_budget_is_refused_at_once(self):
        for budget in ("much", "60% of activations", "-3"):
            with self.subTest(budget), self.assertRaises(ValueError):
                rematlas.compile(model(), budget)

    def test_another_backend_keeps_no_budget(self):
        with self.assertRaisesRegex(ValueError, "inductor"):
            rematlas.compile(model(), "75%", backend="eager")
        with self.assertRaisesRegex(ValueError, "disable"):
            rematlas.compile(model(), "75%", disable=True)

    def test_what_is_compiled_already_is_refused(self):
        with self.assertRaisesRegex(ValueError, "compiled already"):
            rematlas.compile(torch.compile(model()), "75%")


class Sizes:
    """The sizes of the buffers in code that a test writes by hand, in the form of generated code. Each buffer
    has a hundred bytes. The kernels that make the buffers in `with_workspace` have a workspace of seven
    bytes."""

    with_workspace = ()
    not_measured = ()

    def bytes_of(self, name):
        return 100 if name.startswith("buf") else None

    def argument_bytes_of(self, name):
        return 50 if name.startswith("saved") else None

    def workspace_of(self, name):
        if name in self.not_measured:
            return None
        return 7 if name in self.with_workspace else 0


class Texts(unittest.TestCase):
    def memory(self, *lines, with_workspace=(), not_measured=()):
        text = "def call(args):\n" + "".join(f"    {line}\n" for line in lines)
        sizes = Sizes()
        sizes.with_workspace, sizes.not_measured = with_workspace, not_measured
        return memory_of(text, sizes)

    def test_buffers_live_from_their_allocation_to_their_last_name(self):
        memory = self.memory(
            "buf0 = empty_strided_cpu((5, 5), (5, 1), torch.float32)",
            "buf1 = empty_strided_cpu((5, 5), (5, 1), torch.float32)",
            "cpp_fused_add_0(buf0, buf1)",
            "del buf0",
            "buf2 = reinterpret_tensor(buf1, (25, ), (1, ), 0); del buf1  # reuse",
            "buf3 = empty_strided_cpu((5, 5), (5, 1), torch.float32)",
            "return (buf2, buf3)",
        )
        self.assertEqual((memory.peak_bytes, memory.end_bytes), (200, 200))

    def test_a_kernels_workspace_is_there_beside_all_its_outputs(self):
        memory = self.memory(
            "both = torch.ops.aten.attention.default(primals_1)",
            "buf1 = both[0]",
            "buf2 = both[1]",
            "del both",
            "return (buf1, )",
            with_workspace=("both",),
        )
        self.assertEqual((memory.peak_bytes, memory.end_bytes), (207, 100))

    def test_what_a_kernel_returns_is_there_beside_what_it_reads(self):
        lines = (
            "buf0 = empty_strided_cpu((5, 5), (5, 1), torch.float32)",
            "both = torch.ops.aten.convolution_backward.default(buf0)",
            "del buf0",
            "buf1 = both[0]",
            "buf2 = both[1]",
            "del both",
            "return (buf1, buf2)",
        )
        self.assertEqual(self.memory(*lines).peak_bytes, 300)
        self.assertEqual(self.memory(*lines, with_workspace=("both",)).peak_bytes, 307)

    def test_a_kernel_that_was_not_measured_takes_as_much_as_its_largest_argument(self):
        memory = self.memory(
            "saved, primals_1 = args",
            "args.clear()",
            "both = torch.ops.some.kernel.default(saved, primals_1)",
            "return (saved, )",
            not_measured=("both",),
        )
        self.assertEqual((memory.peak_bytes, memory.end_bytes), (50, 0))

    def test_a_saved_tensor_that_is_dropped_or_written_over_takes_nothing_more(self):
        memory = self.memory(
            "saved, primals_1 = args",
            "args.clear()",
            "buf0 = saved; del saved  # reuse",
            "buf1 = empty_strided_cpu((5, 5), (5, 1), torch.float32)",
            "extern_kernels.mm(primals_1, buf0, out=buf1)",
            "del buf0",
            "return (buf1, )",
            with_workspace=("buf1",),
        )
        self.assertEqual((memory.peak_bytes, memory.end_bytes), (107, 50))


if __name__ == "__main__":
    unittest.main()
