"""Training loops of many kinds under online eviction: tensors that are kept, copied, saved or read outside
the steps, writes that no op shows, and steps that the loop breaks off."""

import copy
import gc
import io
import threading
import unittest

import torch
import torch.nn.functional as F
from torch import nn

import rematlas
from evict_models import data, integers
from evicted import SAME, Course, eagerly, expect_as_eager, first_difference, train_one
from rematlas.library import ops


class Layers(nn.Module):
    def __init__(self, width: int = 32, count: int = 6):
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Dropout(0.1)) for _ in range(count))
        )

    def forward(self, x):
        return self.layers(x)


def layers(**options) -> Course:
    return Course(Layers(), lambda m, n: m(data(n, 256, 32)).square().mean(), **options)


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, row):
        return data(row, 32) * 2, row, torch.tensor([row, row + 1])


def with_workers(course, number):
    total = 0.0
    for batch, rows, pairs in torch.utils.data.DataLoader(Rows(), batch_size=256, num_workers=2):
        loss = course.module(batch).square().mean()
        total += rows.sum().item() + pairs.float().mean().item()
        loss.backward()
        total += loss.item()
    return loss + total


def with_average(course, number):
    """Keeps averages of the weights, and copies of the whole model."""
    if number == 0:
        course.average = torch.optim.swa_utils.AveragedModel(
            course.module, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
        )
        course.copies = []
    loss = train_one(course, number)
    course.average.update_parameters(course.module)
    course.copies.append(copy.deepcopy(course.module))
    with torch.no_grad():
        x = data(90, 64, 32)
        return loss + course.average(x).sum() + sum(one(x).sum() for one in course.copies)


def scaled(course, number):
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    with torch.autocast("cpu", torch.bfloat16):
        loss = course.loss(course.module, number)
    scaler.scale(loss).backward()
    scaler.unscale_(course.trained)
    nn.utils.clip_grad_norm_(course.module.parameters(), 0.1)
    return loss


def functional(course, number):
    parameters = dict(course.module.named_parameters())
    course.module.eval()
    x = data(number, 64, 32)

    def loss_of(values, row):
        return torch.func.functional_call(course.module, values, (row[None],)).square().mean()

    each = torch.func.vmap(torch.func.grad(loss_of), in_dims=(None, 0))(
        {k: v.detach() for k, v in parameters.items()}, x
    )
    for name, parameter in parameters.items():
        parameter.grad = each[name].mean(0)
    tangent = torch.func.jvp(lambda x: course.module(x).sum(), (x,), (torch.ones_like(x),))[1]
    return tangent.detach() + sum(one.square().sum() for one in each.values()).detach()


def keeping_activations(course, number):
    seen = {}
    handles = [
        layer.register_forward_hook(lambda m, i, o, n=n: seen.__setitem__(n, o))
        for n, layer in enumerate(course.module.layers)
    ]
    loss = train_one(course, number)
    for handle in handles:
        handle.remove()
    return loss + sum(one.detach().abs().sum() for one in seen.values())


def packing(course, number):
    with torch.autograd.graph.saved_tensors_hooks(
        lambda x: (x.to(torch.float64), x.dtype), lambda y: y[0].to(y[1])
    ):
        first = train_one(course, number)
    with torch.autograd.graph.save_on_cpu():
        return first + train_one(course, number)


def interrupted(course, number):
    """Begins a backward that fails in the middle, then runs the whole step again."""

    def fails(gradient):
        raise ValueError("of the program")

    handle = course.module.layers[2][0].weight.register_hook(fails)
    try:
        train_one(course, number)
    except ValueError:
        pass
    handle.remove()
    course.trained.zero_grad()
    return train_one(course, number)


def threads(course, number):
    results = [None] * 3

    def part(index):
        course.module.eval()
        (course.loss(course.module, 10 * number + index) * (index == 1)).backward()
        results[index] = index

    for index in range(3):
        thread = threading.Thread(target=part, args=(index,))
        thread.start()
        thread.join()
    assert results == [0, 1, 2]
    return torch.zeros(())


def saved_and_loaded(course, number):
    loss = train_one(course, number)
    file = io.BytesIO()
    torch.save(
        {"model": course.module.state_dict(), "optimizer": course.trained.state_dict(), "loss": loss}, file
    )
    file.seek(0)
    found = torch.load(file)
    return loss + found["loss"] + sum(one.sum() for one in found["model"].values())


def views_outlive(course, number):
    base = course.module(data(number, 256, 32))
    view, row = base[::2, 3:9].t(), base.unbind(0)[5]
    base.square().mean().backward()
    del base
    course.module(data(number + 9, 256, 32)).square().mean().backward()
    view = view.detach().add_(1.0)
    return (view.sum() + row.detach().sum()) / 100


def lazily(course, number):
    x = course.module(data(number, 256, 32))
    y = torch._lazy_clone(x.detach())
    outside = torch._lazy_clone(course.given)
    z = y * 2
    y.add_(1.0)
    outside.mul_(3.0)
    x.square().mean().backward()
    return z.sum() + y.sum() + outside.sum() + course.given.sum()


class Gated(nn.Module):
    """A model with a GRU and an LSTM with flat weights, tied weights, running statistics and complex
    numbers."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(40, 24, sparse=False)
        self.lstm, self.gru = (
            nn.LSTM(24, 24, 2, dropout=0.2, batch_first=True, bidirectional=True),
            nn.GRU(48, 24, batch_first=True),
        )
        self.norm = nn.BatchNorm1d(24)
        self.head = nn.Linear(24, 40, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        x, _ = self.gru(self.lstm(self.tokens(ids))[0])
        x = self.norm(x.transpose(1, 2)).transpose(1, 2)
        x = torch.fft.irfft(torch.fft.rfft(x, dim=1) * torch.complex(x.mean(), x.std()), n=x.shape[1], dim=1)
        return self.head(x)


def gated():
    def loss(m, n):
        ids = integers(n, 40, 16, 12)
        return F.cross_entropy(m(ids).flatten(0, 1), ids.flatten())

    return Course(Gated(), loss)


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.rest = nn.Embedding(200, 32, sparse=True), Layers(32, 4)

    def forward(self, ids):
        return self.rest(self.tokens(ids))


def sparse():
    return Course(
        Sparse(),
        lambda m, n: m(integers(n, 200, 32, 8)).square().mean(),
        optimizer=lambda p: torch.optim.SGD(p, lr=0.1),
    )


class Drawn(nn.Module):
    """A model that draws random numbers from its own generator."""

    def __init__(self):
        super().__init__()
        self.own, self.rest = torch.Generator().manual_seed(5), Layers(32, 4)

    def forward(self, x):
        x = self.rest(x)
        keep = torch.empty_like(x).bernoulli_(0.8, generator=self.own)
        return x * keep + torch.randn(x.shape, generator=self.own)


def drawn():
    return Course(Drawn(), lambda m, n: m(data(n, 256, 32)).square().mean())


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Layers(32, 3), Layers(32, 3)

    def forward(self, x):
        x = self.first(x)
        low = torch.quantize_per_tensor(x.detach(), 0.05, 10, torch.quint8)
        x = torch.fake_quantize_per_tensor_affine(x, 0.05, 0, -128, 127) + 0.1 * low.dequantize()
        return self.second(x)


def quantized():
    return Course(Quantized(), lambda m, n: m(data(n, 256, 32)).square().mean())


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Layers(32, 2), Layers(32, 2)

    def forward(self, x):
        x = self.first(x)
        nested = torch.nested.as_nested_tensor([x[:100], x[100:180], x[180:]], layout=torch.strided)
        return self.second(torch.nested.to_padded_tensor(nested * 2.0, 0.0).flatten(0, 1))


def nested():
    return Course(Nested(), lambda m, n: m(data(n, 256, 32)).square().mean())


class Loops(unittest.TestCase):
    def expect(self, step=train_one, build=None, fits=0.9, **options):
        build = build or (lambda: layers(step=step, **options))
        found = expect_as_eager(self, build, (0.9, 0.7, 0.5), fits, 3)
        self.assertGreater(max(one.evictions for one in found), 0)

    def test_workers_that_load(self):
        self.expect(with_workers)

    def test_averages_and_copies_of_the_model(self):
        self.expect(with_average, fits=1.0)

    def test_a_scaler_autocast_and_clipping(self):
        self.expect(scaled)

    def test_functional_transforms(self):
        self.expect(functional)

    def test_hooks_that_keep_activations(self):
        self.expect(keeping_activations)

    def test_hooks_of_saved_tensors(self):
        self.expect(packing)

    def test_an_exception_in_a_backward(self):
        self.expect(interrupted)

    def test_steps_in_threads(self):
        found = expect_as_eager(self, lambda: layers(step=threads), (0.9,), 0.9, 3)
        self.assertGreater(found[0].evictions, 0)

    def test_states_are_saved_and_loaded(self):
        self.expect(saved_and_loaded)

    def test_views_outlive_their_base(self):
        self.expect(views_outlive)

    def test_lazy_copies(self):
        def build():
            course = layers(step=lazily)
            course.given = torch.randn(64, 32)
            course.other = torch._lazy_clone(course.given)
            return course

        self.expect(build=build)

    def test_models(self):
        for build in (gated, sparse, drawn, quantized, nested):
            with self.subTest(model=build.__name__):
                self.expect(build=build)


class GivenUp(unittest.TestCase):
    def thrash(self, course, budget):
        with rematlas.evict(course.module, budget, heuristic="lru", thrash=1.0, **SAME):
            course.trained.zero_grad()
            train_one(course, 0)

    def test_thrashing_is_told_and_training_goes_on_under_a_larger_budget(self):
        build = lambda: Course(Layers(64, 24), lambda m, n: m(data(n, 512, 64)).square().mean())
        eager = eagerly(build, 3)
        torch.manual_seed(1)
        course = build()
        torch.manual_seed(2)
        saved = course.snapshot()
        gc.collect()
        with self.assertRaisesRegex(
            rematlas.Thrashing,
            r"^rematlas: eviction thrashes at \S.*: within this step \d+ ms .*"
            r" give a larger one, or a larger `thrash` to rematlas.evict$",
        ):
            self.thrash(course, ops.counted_bytes() + eager.peak * 12 // 100)
        for value, was in saved[0]:
            self.assertTrue((value.detach().numpy() == was).all())
        course.restore(saved)
        with rematlas.evict(course.module, ops.counted_bytes() + eager.peak * 8 // 10, **SAME) as context:
            records = [course.run(number) for number in range(3)]
            self.assertGreater(context.status().evictions, 0)
        self.assertIsNone(first_difference(eager.records, records))

    def test_thrashing_is_an_error_at_run_time(self):
        self.assertTrue(issubclass(rematlas.Thrashing, torch.OutOfMemoryError))


class PastOperators(unittest.TestCase):
    def test_graphs_of_a_device_are_refused_and_others_see_nothing_of_it(self):
        own = torch.cuda.graph.__enter__, torch.cuda.CUDAGraph.replay, torch.cuda.CUDAGraph.capture_begin
        graph, capture = (
            torch.cuda.CUDAGraph.__new__(torch.cuda.CUDAGraph),
            torch.cuda.graph.__new__(torch.cuda.graph),
        )
        with rematlas.evict(1 << 40):
            for refused in (capture.__enter__, graph.capture_begin, graph.replay):
                with self.assertRaisesRegex(
                    RuntimeError, "online eviction does not see what a CUDA graph does"
                ):
                    refused()
        self.assertEqual(
            own, (torch.cuda.graph.__enter__, torch.cuda.CUDAGraph.replay, torch.cuda.CUDAGraph.capture_begin)
        )

    def test_compiled_parts_run_as_they_are_written(self):
        ran = []

        def backend(graph, inputs):
            ran.append("compiled")
            return graph.forward

        def build():
            course = layers()
            course.module.forward = torch.compile(course.module.forward, backend=backend)
            return course

        eager = eagerly(layers, 3)
        expect_as_eager(self, build, (0.8, 0.6), 0.8, 3, eager)
        self.assertEqual(ran, [])
        build().module(data(1, 256, 32))
        self.assertEqual(ran, ["compiled"])

    def test_what_is_compiled_within_runs_as_it_is_written(self):
        with rematlas.evict(1 << 40):
            compiled = torch.compile(lambda x: x * 2, backend=lambda graph, inputs: self.fail("compiled"))
            self.assertEqual(compiled(torch.ones(3)).sum().item(), 6)


if __name__ == "__main__":
    unittest.main()
