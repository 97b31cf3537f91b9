"""`rematlas links` writes a device profile for which plans can be made. The tests run on the CPU, or on the
device in REMATLAS_TEST_DEVICE."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

DEVICE = os.environ.get("REMATLAS_TEST_DEVICE", "cpu")
GRAPH = pathlib.Path(__file__).parents[3] / "resources" / "graphs" / "gpt.graph.json"

MODEL = """
import torch

def make():
    return torch.nn.Linear(64, 64), (torch.zeros(8, 64),)
"""


class Links(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def call(self, *words):
        program = pathlib.Path(os.environ["REMATLAS_PROGRAMS"]) / "rematlas"
        return subprocess.run([program, *map(str, words)], cwd=self.folder, capture_output=True, text=True)

    def measured(self, *words):
        done = self.call("links", "--device", DEVICE, "--bytes", "1MiB", "--quiet", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_profile_is_written_that_solve_reads(self):
        told = json.loads(self.measured("-o", "mine.json", "--json"))
        self.assertEqual(json.loads((self.folder / "mine.json").read_text()), told)
        self.assertEqual(told["format"], "rematlas.links")
        for way in ("to_host", "to_device"):
            alone, contended = (told[f"{way}{kind}_bytes_per_second"] for kind in ("", "_contended"))
            self.assertGreater(contended, 0)
            self.assertLessEqual(contended, alone)
            self.assertIn("measured on", told["sources"]["to_host_bytes_per_second"])
        self.assertEqual(told["least_copy_bytes"] & (told["least_copy_bytes"] - 1), 0)
        solve = (
            "solve",
            GRAPH,
            "--budget",
            "60%",
            "--offload",
            "all",
            "--time-limit",
            "0.5s",
            "-o",
            "s.schedule.json",
            "--quiet",
        )
        solved = self.call(*solve, "--device-profile", "mine.json")
        self.assertEqual(solved.returncode, 0, solved.stderr)
        links = json.loads((self.folder / "s.schedule.json").read_text())["links"]
        self.assertEqual(links, {field: told[field] for field in links})
        self.assertIn("to_host_contended_bytes_per_second", links)

    def test_the_same_file_describes_the_host(self):
        host = json.loads(self.measured("-o", "mine.json", "--json"))["host"]
        self.assertGreater(host["memory_bytes_per_second"], 0)
        self.assertEqual(host["memory_bytes"], os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        self.assertRegex(self.measured(), r"host +a measured host .*: updates move [0-9.]+ GB/s")
        (self.folder / "net.py").write_text(MODEL)
        program = [sys.executable, "-m", "rematlas", "capture", "net:make", "--optimizer", "adamw"]
        card = ["--device", "meta", "--device-profile", "h100", "--host-profile", "mine.json"]
        done = subprocess.run(
            [*program, *card, "-o", "x.graph.json"], cwd=self.folder, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        graph = json.loads((self.folder / "x.graph.json").read_text())
        self.assertIn("a measured host", graph["provenance"]["host_times"])
        self.assertEqual(graph["device"]["host_memory_bytes"], host["memory_bytes"])

    def test_it_says_of_what_its_figures_are(self):
        text = self.measured()
        if DEVICE == "cpu":
            self.assertIn("copies within host memory", text)
        self.assertRegex(text, r"to host +[0-9.]+ GB/s, and [0-9.]+ GB/s while bytes move the other way")
        self.assertRegex(text, r"each copy +[0-9.]+ us before its bytes move")

    def test_wrong_words_are_refused_in_one_line(self):
        for words, why in (
            (("-o", "mine.txt"), "ends in .json"),
            (("--bytes", "none"), "--bytes"),
            (("--bytes", "0"), "--bytes"),
            (("--device", "tpu"), "tpu"),
        ):
            done = self.call("links", "--quiet", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(why, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn("rematlas links --device cuda -o links.json", self.call("links", "--help").stdout)


if __name__ == "__main__":
    unittest.main()
