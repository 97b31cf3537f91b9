"""Under online eviction, each trap of training loops (traps.py) trains as plain training does, bit by bit and
within the budget.

    python -m unittest evict_traps_test.Loops.test_early_exit
"""

import atexit
import gc
import unittest
import warnings

import torch
import torch._dynamo  # otherwise the first optimizer would import it later

import rematlas
import traps
from evicted import MESSAGE, SAME, THRASHES
from rematlas.library import ops

torch.set_num_threads(1)
gc.freeze()  # later collections then skip PyTorch's objects
atexit.register(gc.unfreeze)

SHARES = (0.6, 0.75, 0.9, 1.0)  # shares of the peak of plain training


class TrapCase(unittest.TestCase):
    def expect_same(self, build) -> None:
        """Compares plain training with training under the smallest budget in SHARES that eviction can
        keep."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trap = build()
            before = self.start()
            plain = traps.train(trap)
            peak = ops.counted_peak_bytes() - before
            del trap
            for share in SHARES:
                if self.trains_as(plain, build(), int(share * peak)):
                    return
        self.fail("the peak of plain training is called too small a budget")

    def start(self) -> int:
        gc.collect()
        ops.reset_counted_peak()
        return ops.counted_bytes()

    def trains_as(self, plain, trap, bytes_of_training) -> bool:
        budget = self.start() + bytes_of_training
        try:
            with rematlas.evict(budget, **SAME):
                ours = traps.train(trap)
                peak = ops.counted_peak_bytes()
        except RuntimeError as error:
            if not MESSAGE.match(str(error)) and not THRASHES.match(str(error)):
                raise
            return False
        self.assertIsNone(traps.first_difference(plain, ours))
        self.assertLessEqual(peak, budget)
        return True


def case_of(module: str) -> type[TrapCase]:
    name = module.removeprefix("traps_").capitalize()
    return globals().setdefault(name, type(name, (TrapCase,), {"__module__": __name__}))


def method_of(build):
    return lambda self: self.expect_same(build)


for _name, _build in traps.load().items():
    setattr(case_of(_build.__module__), f"test_{_name}", method_of(_build))


if __name__ == "__main__":
    unittest.main()
