"""Runs cases as `python -m unittest` does, and prints the slowest tests. If the cases have not ended after
15 minutes, the process prints the stack of each thread and fails.

    run_cases.py [--without-slow | --only-slow] CASE ...

A test is slow if its method is marked by @slow (slow.py).
"""

import faulthandler
import os
import subprocess
import sys
import time
import unittest

HANGS_AFTER = 15 * 60  # seconds; the longest group takes six minutes on a slow machine
SLOWEST = 5  # number of tests that are printed with their seconds
# Scripts for sed. The last line of a report has no line break, so the next line follows it directly.
WITHOUT_LEAK_REPORTS = (
    "s#^See https://nanobind[^ ]*/refleaks[.]html[.]?##",
    "/^(nanobind: .*| - (leaked|[.]{3} skipped) .*)?$/d",
)


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


class Loader(unittest.TestLoader):
    """Loads all tests of the named cases, or only those that are slow or are not."""

    def __init__(self, choice):
        super().__init__()
        self.choice = choice

    def loadTestsFromNames(self, names, module=None):
        tests = list(tests_of(super().loadTestsFromNames(names, module)))
        if self.choice:
            tests = [test for test in tests if is_slow(test) == (self.choice == "--only-slow")]
        if not tests:
            sys.exit(f"run_cases: {' '.join(names)}: there are no such tests")
        return self.suiteClass(tests)


def tests_of(suite):
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from tests_of(part)
        else:
            yield part


def is_slow(test) -> bool:
    return getattr(getattr(test, test._testMethodName), "is_slow", False)


def drop_leak_reports() -> None:
    """Sends the stderr of this process and of its children through sed from now on. Sed drops the lines that
    libraries write about leaks when Python ends: they are so many that they hide why a test has failed."""
    reads, writes = os.pipe()
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    scripts = [f"--expression={script}" for script in WITHOUT_LEAK_REPORTS]
    subprocess.Popen(["sed", "-u", "-E", *scripts], stdin=reads, stdout=2, env=environment)
    os.dup2(writes, 2)
    os.close(reads)
    os.close(writes)


if __name__ == "__main__":
    choice = sys.argv.pop(1) if sys.argv[1:2] in (["--without-slow"], ["--only-slow"]) else ""
    if len(sys.argv) == 1:
        sys.exit("run_cases: name the cases to run")
    drop_leak_reports()
    faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)
    arguments = ["unittest", *sys.argv[1:]]
    unittest.main(module=None, argv=arguments, testRunner=TimedRunner, testLoader=Loader(choice))
