"""The memory of the whole process, not only of its tensors, is within 5 % of the plan's. Pages of libtorch's
own files do not count."""

import functools
import pathlib
import subprocess
import sys
import unittest

from slow import slow

ROWS = 4096
TRAINING = r"""
import ctypes
import sys
import torch
from torch import nn
import rematlas

torch.set_num_threads(1)


def pages(kind):
    return int(next(line for line in open("/proc/self/status") if line.startswith(kind)).split()[1]) * 1024


class Model(nn.Module):
    # The module computes its loss itself. If the caller computed the loss between forward and backward, the
    # loss would take memory in addition to the memory that the plan reserves.
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x).square().mean()


def build(layers):
    torch.manual_seed(0)
    blocks = [nn.Sequential(nn.Linear(512, 512), nn.GELU(), nn.Dropout(0.1), nn.LayerNorm(512)) for _ in range(layers)]
    return Model(blocks)


def train(module, rows):
    optimizer = torch.optim.AdamW(module.parameters())
    for rows_now in rows:
        optimizer.zero_grad()
        open("/proc/self/clear_refs", "w").write("5")  # the high-water mark starts anew
        torch.ops.rematlas.reset_counted_peak()
        module(torch.randn(rows_now, 512)).backward()
        yield pages("VmHWM"), pages("RssFile"), torch.ops.rematlas.counted_peak_bytes()
        optimizer.step()


rows = [int(count) for count in sys.argv[2].split(",")]
# libtorch allocates some memory only once, for example buffers of its kernels. This short training without a
# plan makes it do so before the memory is measured.
list(train(build(1), rows[:2]))
# The training has left free memory in the heap. This call returns it to the system, so that the measurement
# does not include it.
ctypes.CDLL(None).malloc_trim(0)
before, files, counted = pages("VmRSS"), pages("RssFile"), torch.ops.rematlas.counted_bytes()
module = rematlas.apply(build(12), sys.argv[1], time_limit=0.3)
for most, of_files, peak in train(module, rows):
    print(rematlas.status(module).replayed, most - before - (of_files - files), peak - counted)
    rematlas.status(module).wait()
"""


@functools.cache
def steps_at(budget, rows=(ROWS,) * 7):
    """Trains in a new process. Returns three numbers for each step: the number of steps replayed so far, the
    bytes by which the process has grown, and the bytes of tensors."""
    command = [sys.executable, "-c", TRAINING, budget, ",".join(map(str, rows))]
    run = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, cwd=pathlib.Path(__file__).parent
    )
    return [tuple(map(int, line.split())) for line in run.stdout.splitlines()]


# Kernels of matrix products copy an operand into memory that they allocate from the system.
OF_KERNELS = ROWS * 512 * 4
# malloc returns free memory at the end of its heap only if there is more than twice the largest block that
# was ever freed (M_TRIM_THRESHOLD in mallopt(3)). Here this limit is twice the bytes of a tensor. How many of
# these bytes are free at the peak depends on the schedule.
FREE_IN_MALLOC = 2 * ROWS * 512 * 4


class Process(unittest.TestCase):
    def expect_within(self, steps, free=0):
        for step, grown, counted in steps:
            self.assertLessEqual(grown, 1.05 * counted + OF_KERNELS + free, f"step {step}")

    def test_planned_steps_take_what_the_plan_says(self):
        steps = steps_at("60%")
        self.assertGreaterEqual(steps[-1][0], 3)
        self.expect_within(steps[-3:])

    def test_recorded_steps_take_no_more_than_their_tensors(self):
        self.expect_within(steps_at("60%")[:2])

    def test_a_step_that_does_not_fit_takes_no_more_from_the_first_on(self):
        steps = steps_at("260MiB")
        self.assertEqual(steps[-1][0], len(steps))
        self.expect_within(steps, FREE_IN_MALLOC)

    @slow
    def test_plans_of_several_kinds_of_calls_share_their_memory(self):
        kinds = (ROWS, ROWS - 64, ROWS - 128, ROWS - 192)
        steps = steps_at("260MiB", tuple(rows for rows in kinds for _ in range(4)))
        self.assertEqual(steps[-1][0], len(steps))
        most = max(counted for *_, counted in steps)
        for replayed, grown, _ in steps:
            self.assertLess(grown, 1.5 * most, f"step {replayed}: no room for the memory of two plans")


if __name__ == "__main__":
    unittest.main()
