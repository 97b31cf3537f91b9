"""Runs the tests of a file. If all are skipped, the exit status is 77, which ctest counts as skipped."""

import sys
import unittest

SKIPPED = 77


def main() -> None:
    result = unittest.main(exit=False, verbosity=2).result
    if result.skipped and len(result.skipped) == result.testsRun:
        sys.exit(SKIPPED)
    sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)
