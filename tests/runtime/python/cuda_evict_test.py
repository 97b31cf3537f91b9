"""On a GPU, or on the software stand-in for a GPU (tests/simgpu), training under online eviction gives the
bits of plain training and keeps the budget, whatever the order in which the device does its work."""

import threading
import unittest

import torch
from torch import nn

import models
import rematlas

STEPS = 3


class ConvNet(nn.Module):
    """A network with running statistics, in-place activations and random ops."""

    def __init__(self, layers=5):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        body = [
            (
                nn.Conv2d(16, 16, 3, padding=1, bias=False),
                nn.BatchNorm2d(16),
                nn.ReLU(inplace=i % 2 == 0),
                nn.Dropout(0.1),
            )
            for i in range(layers)
        ]
        self.body = nn.Sequential(*(module for block in body for module in block))
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        return self.fc(self.body(self.stem(x)).mean((2, 3)))


def conv_net():
    torch.manual_seed(0)
    return ConvNet()


class Trained:
    """The losses and other results of a training, and its peak in bytes."""

    def __init__(self, module, batches, loss_of, optimizer, after=lambda: None):
        """Trains for `STEPS` steps. `after` is called after each step."""
        torch.manual_seed(1)
        self.losses = []
        models.reset_peak()
        for step in range(STEPS):
            x, target = batches(step)
            loss = loss_of(module(x), target)
            loss.backward()
            self.losses.append(loss.item())
            del loss
            optimizer.step()
            optimizer.zero_grad()
            after()
        self.peak = models.peak()
        self.random = [state.clone() for state in models.generator_states()]
        self.numbers = {name: value.cpu() for name, value in module.state_dict().items()}


def train(build, batches, loss_of, make_optimizer):
    module = build()
    return Trained(module, batches, loss_of, make_optimizer(module))


class EvictionCase(unittest.TestCase):
    def expect_as(self, plain, ours):
        self.assertEqual(plain.losses, ours.losses)
        self.assertTrue(all(map(torch.equal, plain.random, ours.random)))
        for name, value in plain.numbers.items():
            self.assertTrue(torch.equal(value, ours.numbers[name]), name)

    def expect_as_plain(self, build, batches, loss_of, optimizer, shares, **options):
        alive = models.reset_peak()
        plain = train(build, batches, loss_of, optimizer)
        evictions = []
        for share in shares:
            budget = alive + int(share * (plain.peak - alive))
            module = build()
            its_optimizer = optimizer(module)
            with self.subTest(share=share), rematlas.evict(module, budget, **options) as eviction:
                ours = Trained(module, batches, loss_of, its_optimizer)
                evictions.append(eviction.status().evictions)
            self.expect_as(plain, ours)
            self.assertLessEqual(ours.peak, budget)
            del module, its_optimizer, eviction
            self.assertEqual(models.reset_peak(), alive, "all is given back")
        self.assertGreater(evictions[0], 0)
        if options.get("costs_from_bytes"):  # with measured costs, the first run can evict smaller tensors
            self.assertGreater(evictions[-1], evictions[0])


class Training(EvictionCase):
    def test_a_convolutional_network(self):
        """With measured costs the budgets are larger, because small budgets can lead to thrashing."""
        how = (conv_net, models.images, models.image_loss, models.sgd)
        self.expect_as_plain(*how, (0.9, 0.7))
        self.expect_as_plain(*how, (0.5, 0.4), costs_from_bytes=True)

    def test_a_gpt(self):
        sgd = lambda module: torch.optim.SGD(module.parameters(), lr=0.05)
        how = (models.gpt, models.texts, models.text_loss, sgd)
        self.expect_as_plain(*how, (0.9, 0.7))
        self.expect_as_plain(*how, (0.5, 0.4), costs_from_bytes=True)

    def test_nothing_waits_for_the_device_to_learn_what_ops_cost(self):
        """With costs from bytes, no measurement waits for the device in the first steps, so the stand-in can
        reorder all work."""
        self.expect_as_plain(
            conv_net, models.images, models.image_loss, models.sgd, (0.8, 0.5), costs_from_bytes=True
        )
        self.expect_as_plain(
            models.gpt, models.texts, models.text_loss, models.sgd, (0.8, 0.5), costs_from_bytes=True
        )

    def test_a_model_made_within(self):
        """The model's parameters and statistics can also be evicted, until an op writes to them."""
        alive = models.reset_peak()
        plain = train(models.resnet, models.images, models.image_loss, models.sgd)
        budget = alive + int(0.5 * (plain.peak - alive))
        with rematlas.evict(budget):
            ours = train(models.resnet, models.images, models.image_loss, models.sgd)
        self.expect_as(plain, ours)
        self.assertLessEqual(ours.peak, budget)


class Operands(EvictionCase):
    """Ops on the device that also read tensors or numbers of the host."""

    def squeezed(self, chain, budget=4 << 20):
        """Checks that a chain of ops on one megabyte has the same results with and without eviction."""
        x = torch.randn(1 << 18)
        alive = models.reset_peak()
        torch.manual_seed(3)
        expected = chain(x)
        self.assertGreater(models.peak(), alive + budget, "a budget that is felt")
        expected = [value.clone() for value in expected]
        alive = models.reset_peak()
        torch.manual_seed(3)
        with rematlas.evict(alive + budget) as eviction:
            ours = chain(x)
            self.assertGreater(eviction.status().evictions, 0)
            for value, other in zip(expected, ours):
                self.assertTrue(torch.equal(value, other))
            self.assertLessEqual(models.peak(), alive + budget)
            del ours, value, other

    def test_numbers_and_small_tensors_of_the_host(self):
        def chain(x):
            factor = torch.tensor(3.0, device="cpu")
            made = [x * 2.0 + 0.1, x * factor]
            factor.fill_(7.0)  # earlier results used the former factor
            for _ in range(6):
                made.append(made[-1] * factor - 1)
            return [value.sum() for value in made]

        self.squeezed(chain)

    def test_what_was_copied_from_the_host_stays(self):
        host = torch.randn(1 << 16, device="cpu")

        def chain(x):
            copied = host.to(models.DEVICE)
            host_before = host.clone()
            made = [torch.cat([copied] * 4) + x]
            host.zero_()
            for step in range(6):
                made.append(made[-1] * 2 + copied.sum())
            host.copy_(host_before)
            return [value.sum() for value in made]

        self.squeezed(chain)

    def test_memory_of_the_host_does_not_count(self):
        alive = models.reset_peak()
        with rematlas.evict(alive + (1 << 20), device=str(models.DEVICE)):
            big = torch.ones(1 << 22, device="cpu")
            self.assertEqual(big.sum().item(), 1 << 22)
            x = torch.ones(1 << 10)
            self.assertEqual((x + 1).sum().item(), 2 << 10)

    def test_memory_of_the_device_does_not_count_on_the_host(self):
        # The software stand-in for a GPU learns the shapes of an op's results by running the kernel on the
        # host. This line makes it do so now: during eviction, the memory of that run would count.
        torch.ones(1 << 20).sum().item()
        with rematlas.evict(torch.ops.rematlas.counted_bytes() + (1 << 20), device="cpu"):
            made = [torch.ones(1 << 20) for _ in range(4)]
            self.assertEqual(sum(value.sum().item() for value in made), 4 << 20)

    def test_random_ops_draw_their_own_numbers_again(self):
        def chain(x):
            made = [x]
            for _ in range(8):
                made.append(nn.functional.dropout(made[-1] + torch.randn_like(x), 0.3))
            made.append(torch.rand(1 << 10))
            return [value.sum() for value in made]

        self.squeezed(chain)

    def test_what_cannot_fit_is_one_error_and_all_is_there(self):
        alive = models.reset_peak()
        x = torch.randn(1 << 18)
        with rematlas.evict(alive + (5 << 20)):
            y = x + 1
            with self.assertRaisesRegex(
                torch.OutOfMemoryError, "aten::.* needs 16777216 bytes more within a budget"
            ):
                torch.cat([y] * 16)
            self.assertTrue(torch.equal(y, x + 1))
        self.assertTrue(torch.equal(y, x + 1))


class Streams(EvictionCase):
    """A second stream works while the first stream runs under eviction. If the two streams race for memory,
    the software stand-in for a GPU ends the process."""

    def test_what_another_stream_reads_stays_until_it_has_read(self):
        x = torch.randn(1 << 18)
        plain = (x * 2).to("cpu")
        side = torch.cuda.Stream()
        with rematlas.evict(models.reset_peak() + (6 << 20), costs_from_bytes=True):
            y = x * 2
            made = [y + i for i in range(7)]  # `y` is evicted while these tensors are made
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                z = y.clone()
            y.record_stream(side)
            del y
            for i in range(7):
                self.assertTrue(torch.equal(made[i].cpu(), plain + i))
            torch.cuda.current_stream().wait_stream(side)
            self.assertTrue(torch.equal(z.cpu(), plain))
            z.record_stream(torch.cuda.current_stream())

    def test_memory_that_is_recorded_for_another_stream_is_not_used_before(self):
        """`record_stream` works as in PyTorch: eviction leaves the memory to the allocator that it came
        from."""
        side = torch.cuda.Stream()
        with rematlas.evict(models.reset_peak() + (64 << 20), costs_from_bytes=True):
            for _ in range(4):
                batch = torch.full((1 << 18,), 3.0)
                side.wait_stream(torch.cuda.current_stream())
                batch.record_stream(side)
                copies = []

                def read(batch=batch):  # runs on a thread whose ops are hidden from eviction
                    with torch.cuda.stream(side):
                        copies.append(torch.mul(batch, 2))  # noqa: F821

                thread = threading.Thread(target=read)
                thread.start()
                thread.join()
                (copy,) = copies
                del batch, read, thread, copies
                torch.full((1 << 18,), 5.0)  # must not reuse memory that the side stream still reads
                torch.cuda.current_stream().wait_stream(side)
                self.assertEqual(copy.sum().item(), 6.0 * (1 << 18))
                copy.record_stream(torch.cuda.current_stream())


if __name__ == "__main__":
    unittest.main()
