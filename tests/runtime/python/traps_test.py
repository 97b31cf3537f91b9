"""For each trap, training under `rematlas.apply` has the bits of plain training, whether the module is
planned or refused.

    python -m unittest traps_test                              # all; each file of traps has its own test case
    python -m unittest traps_test.State.test_buffer_replaced   # one
"""

import unittest
import warnings

import torch

import rematlas
import traps
from models import by_moves

torch.set_num_threads(1)


class TrapCase(unittest.TestCase):
    def expect_same(self, build) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain = traps.train(build())
        trap = build()

        def apply(model):
            self.assertIs(rematlas.apply(model, trap.budget, config=by_moves()), model)
            return lambda: rematlas.status(model).wait()

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ours = traps.train(trap, apply)
        status = rematlas.status(trap.model)
        told = (
            f"{status.state}, {status.replayed} replayed, {status.original} original, reason: {status.reason}"
        )
        self.assertIsNone(traps.first_difference(plain, ours), told)
        if trap.expected != "either":
            self.assertEqual(status.state, trap.expected, told)
        by_plan = status.replayed + status.original_backwards
        self.assertGreaterEqual(by_plan, max(trap.least_replayed, trap.expected == "planned"), told)
        refusals = [str(warning.message) for warning in caught if warning.category is rematlas.RefusedWarning]
        is_refused = status.state == "refused"
        of_others = str(status).count("calls of another kind run the original")
        self.assertEqual(
            len(refusals), is_refused + of_others + len(status.left_alone), f"{told}; {refusals}"
        )
        if is_refused:
            self.assertTrue(status.reason)
            self.assertNotIn("infeasible", status.reason, "a budget that is no part of the trap")


class Warned(unittest.TestCase):
    def test_refusals_are_warnings_of_the_user(self):
        self.assertTrue(issubclass(rematlas.RefusedWarning, UserWarning))


def case_of(module: str) -> type[TrapCase]:
    """Returns the test case of a file of traps, for example `State` for `traps_state`. Makes it at the first
    call."""
    name = module.removeprefix("traps_").capitalize()
    return globals().setdefault(name, type(name, (TrapCase,), {"__module__": __name__}))


def method_of(build):
    return lambda self: self.expect_same(build)


for _name, _build in traps.load().items():
    setattr(case_of(_build.__module__), f"test_{_name}", method_of(_build))


if __name__ == "__main__":
    unittest.main()
