"""Finds out from a Triton kernel's code which of its arguments it writes to. No kernel runs in this test, so
a replacement of Triton's driver that reports a GPU is enough. (custom_kernels_test uses Triton's interpreter,
which is chosen for a whole process.)

    python -m unittest triton_code_test
"""

import importlib.util
import unittest
from unittest import mock

import torch

from rematlas.unseen import triton_launches

HAS_TRITON = importlib.util.find_spec("triton") is not None

if HAS_TRITON:
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget

    class Driver:
        def get_current_target(self):
            return GPUTarget("cuda", 90, 32)

        def get_benchmarker(self):
            return None

    @triton.jit
    def swap_halves(a, b, sums, count, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(a + at, mask=at < count)
        tl.store(b + at, x, mask=at < count)
        tl.atomic_add(sums, tl.sum(x))

    @triton.autotune([triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 512})], key=["count"])
    @triton.heuristics({"IS_EVEN": lambda named: named["count"] % named["BLOCK"] == 0})
    @triton.jit
    def tuned(x, out, count, IS_EVEN: tl.constexpr, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        if IS_EVEN:
            tl.store(out + at, tl.load(x + at))
        else:
            tl.store(out + at, tl.load(x + at, mask=at < count), mask=at < count)


@unittest.skipUnless(HAS_TRITON, "Triton is not installed")
class Code(unittest.TestCase):
    def setUp(self):
        driver = mock.patch.object(triton.runtime.driver, "_active", Driver())
        driver.start()
        self.addCleanup(driver.stop)
        self.a, self.b = torch.zeros(4096), torch.zeros(4096)

    def test_stores_and_atomic_sums(self):
        named = {"a": self.a, "b": self.b, "sums": torch.zeros(1), "count": 4096, "BLOCK": 256}
        written = triton_launches.written_by_code(swap_halves, {**named, "num_warps": 4})
        self.assertEqual(written, {"b", "sums"})

    def test_tuned_kernels(self):
        named = {"x": self.a, "out": self.b, "count": 4096}
        self.assertEqual(triton_launches.written_by_code(tuned, named), {"out"})

    def test_what_torch_does_not_know_is_an_error(self):
        with self.assertRaisesRegex(Exception, "b|count"):
            triton_launches.written_by_code(swap_halves, {"a": self.a})

    def test_grids(self):
        count = 4096
        named = {"x": self.a, "out": self.b, "count": count}
        self.assertEqual(triton_launches.fixed(lambda named: (triton.cdiv(count, 256),), named), (16,))
        self.assertEqual(triton_launches.fixed([3, 2], named), (3, 2))
        tuned_later = triton_launches.fixed(lambda named: (triton.cdiv(count, named["BLOCK"]),), named)
        self.assertIn("with (4096)", triton_launches.told_grid(tuned_later))
        of_tensor = triton_launches.fixed(lambda named: (self.a.numel() // named["BLOCK"],), named)
        with self.assertRaises(triton_launches.NoOp):
            triton_launches.told_grid(of_tensor)


if __name__ == "__main__":
    unittest.main()
