"""Notes in the package where the programs of this checkout are, so that an installed package finds them."""

import pathlib

from setuptools import setup
from setuptools.command.build_py import build_py


class NotePrograms(build_py):
    def run(self):
        super().run()
        programs = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "bin"
        if (programs / "librematlas_training.so").exists():
            note = pathlib.Path(self.build_lib) / "rematlas" / "programs.txt"
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(f"{programs}\n")


setup(cmdclass={"build_py": NotePrograms})
