"""`python -m rematlas` reports where a model fails."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest


class Tracebacks(unittest.TestCase):
    """With REMATLAS_TRACEBACK=1, a traceback is printed before the error message. The traceback has only
    lines of the program."""

    def failing(self, source, traceback="1"):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "nets.py").write_text(source)
            return subprocess.run(
                [sys.executable, "-m", "rematlas", "capture", "nets:step"],
                cwd=folder,
                env=os.environ | {"REMATLAS_TRACEBACK": traceback},
                capture_output=True,
                text=True,
            )

    def test_begin_in_the_program_and_end_with_a_sentence(self):
        sources = {
            "in_the_function": "def step():\n    return boom()\n",
            "at_import": "import no_such_package_of_mine\n",
            "in_the_forward": "import torch\n\nclass Net(torch.nn.Linear):\n    def forward(self, x):\n"
            "        return boom()\n\ndef step():\n    return Net(2, 2), (torch.randn(2, 2),)\n",
        }
        for name, source in sources.items():
            with self.subTest(name):
                done = self.failing(source)
                lines = done.stderr.strip().splitlines()
                self.assertIn("Traceback (most recent call last):", lines)
                self.assertRegex(done.stderr, r'File ".*nets\.py", line \d+')
                self.assertNotIn("model_function.py", done.stderr)
                self.assertTrue(lines[-1].startswith("rematlas: nets:step"), lines[-1])
                self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
