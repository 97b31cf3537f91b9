"""Runs cases as `python -m unittest` does. If they have not ended after 15 minutes, the process prints the
stack of each thread and fails."""

import faulthandler
import sys
import unittest

HANGS_AFTER = 15 * 60  # seconds; the longest group takes six minutes on a slow machine

if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit("run_cases: name the cases to run")
    faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)
    unittest.main(module=None, argv=["unittest", *sys.argv[1:]])
