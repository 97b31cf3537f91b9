"""The package chooses its build for the installed version of torch. A plan that was made with another version
is used only after a step was compared."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import tomllib
import torch

import models
import rematlas
import rematlas_command
from apply_test import planned_by_the_command_line, program
from rematlas_command import builds

OTHER = "2.99.0"


def steps(module, count=4):
    torch.manual_seed(3)
    losses = models.train(module, models.texts, models.text_loss, models.adamw(module), count)
    return losses, [parameter.detach().clone() for parameter in module.parameters()]


class Package(unittest.TestCase):
    def test_has_all_its_folders(self):
        """pyproject.toml lists all folders of the packages. A folder that is not listed would be missing in
        the wheel."""
        root = pathlib.Path(rematlas.__file__).parent.parent
        folders = {
            ".".join(file.parent.relative_to(root).parts)
            for package in ("rematlas", "rematlas_command")
            for file in (root / package).rglob("*.py")
        }
        told = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
        self.assertEqual(folders, set(told))


class Builds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.package = pathlib.Path(folder.name) / "rematlas"
        patch = unittest.mock.patch.object(builds, "PACKAGE", self.package)
        patch.start()
        self.addCleanup(patch.stop)

    def add(self, version, *, is_whole=True):
        folder = self.package / "bin" / f"torch{builds.minor_of(version)}"
        folder.mkdir(parents=True)
        (folder / builds.LIBRARY).touch()
        (folder / "rematlas-runtime").touch()
        if is_whole:
            (folder / "torch_version").write_text(version + "\n")
        return folder

    def test_the_minor_version_chooses(self):
        old, new = self.add("2.9.1"), self.add("2.11.0+cu130")
        self.add("2.12.0", is_whole=False)
        self.assertEqual(builds.find("2.11.3"), new)
        self.assertEqual(builds.find("2.9.0+cpu"), old)
        self.assertIsNone(builds.find("2.12.0"))
        self.assertEqual(
            builds.why_none("2.12.0+cu130"),
            "there are builds for torch 2.9, 2.11, and this is torch 2.12.0+cu130: `python -m rematlas build`"
            " makes one, in some minutes; it needs g++",
        )

    def test_the_command_line_finds_the_program_of_the_torch_that_is_installed(self):
        found = self.add(torch.__version__)
        given = rematlas_command.environment_of_runtime()
        self.assertEqual(given["REMATLAS_RUNTIME"], str(found / "rematlas-runtime"))
        self.assertIn(str(pathlib.Path(torch.__file__).parent / "lib"), given["LD_LIBRARY_PATH"])
        shutil.rmtree(found)
        self.add(OTHER)
        self.assertIn(
            "python -m rematlas build", rematlas_command.environment_of_runtime()["REMATLAS_NO_RUNTIME"]
        )

    def test_what_the_command_line_lacks_is_told(self):
        alone = shutil.copy(program("rematlas"), self.package.parent)
        said = subprocess.run(
            [alone, "capture", "m.pt", "--input", "f32[1]", "-o", "g.graph.json"],
            env={"PATH": "", "REMATLAS_NO_RUNTIME": "there is no build for it"},
            capture_output=True,
            text=True,
        )
        self.assertEqual(said.stderr, "rematlas: capture: there is no build for it\n")

    def test_an_environment_without_torch_is_told_of_in_one_line(self):
        def said(*arguments):
            # With -S, Python does not find installed packages.
            command = [sys.executable, "-S", *arguments]
            return subprocess.run(command, capture_output=True, text=True, env=os.environ).stderr

        self.assertEqual(said("-m", "rematlas", "fits", "--help"), f"rematlas: {builds.NO_TORCH}\n")
        self.assertIn(f"ImportError: rematlas: {builds.NO_TORCH}", said("-c", "import rematlas"))


class Libraries(unittest.TestCase):
    def test_a_build_for_another_torch_is_not_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(pathlib.Path(program("rematlas")).with_name(builds.LIBRARY), folder)
            (pathlib.Path(folder) / "torch_version").write_text(OTHER)
            failed = subprocess.run(
                [sys.executable, "-c", "import rematlas"],
                env=os.environ | {"REMATLAS_PROGRAMS": folder},
                capture_output=True,
                text=True,
            )
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn(f"is built for torch 2.99, and this is torch {torch.__version__}", failed.stderr)


class PlansOfAnotherTorch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        graph, schedule, _ = planned_by_the_command_line("sample")
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        there = pathlib.Path(cls.folder.name)
        made = json.loads(graph.read_text())
        assert builds.minor_of(made["provenance"]["torch"]) == builds.minor_of(torch.__version__)
        made["provenance"]["torch"] = OTHER
        text = json.dumps(made)
        (there / graph.name).write_text(text)
        plan = json.loads(schedule.read_text())
        plan["graph_sha256"] = hashlib.sha256(text.encode()).hexdigest()
        cls.path = there / schedule.name
        cls.path.write_text(json.dumps(plan))

    def test_it_is_used_when_a_step_was_compared(self):
        losses, trained = steps(models.gpt())
        module = rematlas.apply(models.gpt(), plan=self.path, verify=1, on_refuse="raise")
        made = steps(module)
        self.assertEqual(made[0], losses)
        self.assertTrue(all(map(torch.equal, made[1], trained)))
        self.assertEqual(rematlas.status(module).replayed, 3)
        self.assertEqual(rematlas.status(module).plans[0].compared, 1)

    def test_it_is_not_used_without(self):
        module = rematlas.apply(models.gpt(), plan=self.path, verify=0)
        with self.assertWarnsRegex(rematlas.RefusedWarning, "made with torch 2.99.*must be compared"):
            made = steps(module)
        self.assertEqual(made[0], steps(models.gpt())[0])
        self.assertEqual(rematlas.status(module).replayed, 0)

    def test_the_command_line_compares_its_first_step(self):
        ran = subprocess.run(
            [
                sys.executable,
                "-m",
                "rematlas",
                "run",
                "apply_test:sample",
                self.path,
                "--steps",
                "2",
                "--json",
            ],
            cwd=pathlib.Path(__file__).parent,
            capture_output=True,
            text=True,
        )
        self.assertEqual(ran.returncode, 0, ran.stderr)


if __name__ == "__main__":
    unittest.main()
