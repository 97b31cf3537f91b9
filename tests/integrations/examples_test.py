"""Runs each example without and with rematlas, each in its own process. Losses and weights must be equal, bit
by bit."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STATUS = re.compile(r"rematlas (\w+), (\d+) steps replayed, (\d+) run by the original(.*)")
PEAK = re.compile(r"peak (\d+) of (\d+) bytes")


class Examples(unittest.TestCase):
    def lines_of(self, name: str, *arguments: str) -> list[str]:
        """Returns the lines that the example prints."""
        paths = [str(ROOT / "runtime" / "python"), os.environ.get("PYTHONPATH", "")]
        done = subprocess.run(
            [sys.executable, str(ROOT / "resources" / "examples" / f"{name}.py"), *arguments],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, paths)),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            timeout=600,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def expect_same(self, name: str, *packages: str) -> None:
        for package in ["torch", *packages]:
            if importlib.util.find_spec(package) is None:
                self.skipTest(f"{package} is not installed")
        plain, planned = self.lines_of(name, "--plain"), self.lines_of(name)
        for word in ("losses", "weights"):
            expected = [line for line in plain if line.startswith(word)]
            self.assertEqual(len(expected), 1, plain)
            self.assertEqual([line for line in planned if line.startswith(word)], expected)
        statuses = [found for line in planned if (found := STATUS.fullmatch(line))]
        self.assertTrue(statuses, planned)
        for status in statuses:
            self.assertEqual(status[1], "planned", status[0])
            self.assertGreater(int(status[2]), 0, status[0])
            peaks = PEAK.findall(status[4])
            self.assertTrue(peaks, status[0])
            for peak, budget in peaks:
                self.assertLessEqual(int(peak), int(budget), status[0])

    def test_plain_loop(self):
        self.expect_same("plain_loop")

    def test_hugging_face_trainer(self):
        self.expect_same("hugging_face_trainer", "transformers", "accelerate")

    def test_accelerate_loop(self):
        self.expect_same("accelerate_loop", "accelerate", "timm")

    def test_lightning_trainer(self):
        self.expect_same("lightning_trainer", "lightning", "diffusers")

    def test_distributed_data_parallel(self):
        self.expect_same("distributed_data_parallel")

    def test_fully_sharded(self):
        self.expect_same("fully_sharded")

    def test_torchvision_reference(self):
        self.expect_same("torchvision_reference", "torchvision")

    def test_lora_with_peft(self):
        self.expect_same("lora_with_peft", "peft", "transformers")


if __name__ == "__main__":
    unittest.main()
