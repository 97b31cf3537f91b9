"""Runs cases as `python -m unittest` does, and prints the slowest tests. If the cases have not ended after
15 minutes, the process prints the stack of each thread and fails."""

import faulthandler
import sys
import time
import unittest

HANGS_AFTER = 15 * 60  # seconds; the longest group takes six minutes on a slow machine
SLOWEST = 5  # tests that are printed with their seconds


class TimedResult(unittest.TextTestResult):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.seconds = []

    def startTest(self, test):
        self.begin = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.seconds.append((time.monotonic() - self.begin, test.id()))

    def printErrors(self):
        super().printErrors()
        for seconds, name in sorted(self.seconds, reverse=True)[:SLOWEST]:
            self.stream.writeln(f"{seconds:7.1f} s {name}")


class TimedRunner(unittest.TextTestRunner):
    resultclass = TimedResult


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit("run_cases: name the cases to run")
    faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)
    unittest.main(module=None, argv=["unittest", *sys.argv[1:]], testRunner=TimedRunner)
