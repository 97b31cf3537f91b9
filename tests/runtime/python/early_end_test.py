"""Tests programs that end their own process while `python -m rematlas capture` calls them."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ENDS = {
    "os._exit": "import os\n\ndef step():\n    os._exit(0)\n",
    "sys.exit": "import sys\n\ndef step():\n    sys.exit(0)\n",
    "at_import": "import sys\n\nsys.exit()\n",
    "in_the_forward": "import os, torch\n\nclass Net(torch.nn.Linear):\n    def forward(self, x):\n"
    "        os._exit(0)\n\ndef step():\n    return Net(2, 2), (torch.randn(2, 2),)\n",
}
FORKS = """
import os, torch

def step():
    child = os.fork()
    if child == 0:
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    return torch.nn.Linear(2, 2), (torch.randn(2, 2),)
"""


class EarlyEnds(unittest.TestCase):
    def capture(self, source):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "nets.py").write_text(source)
            return subprocess.run(
                [sys.executable, "-m", "rematlas", "capture", "nets:step"],
                cwd=folder,
                env=dict(os.environ),
                capture_output=True,
                text=True,
            )

    def test_are_told_in_one_line_with_the_status_of_wrong_input(self):
        for name, source in ENDS.items():
            with self.subTest(name):
                done = self.capture(source)
                line = "rematlas: nets:step: the program ended its process before the step was recorded\n"
                self.assertEqual(done.stderr, line)
                self.assertEqual(done.returncode, 2)

    def test_of_processes_that_the_program_forks_are_its_own(self):
        done = self.capture(FORKS)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
