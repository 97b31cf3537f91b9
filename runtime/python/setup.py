"""A wheel for one kind of system and any Python: what is compiled lies in rematlas/bin, and knows none."""

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel


class ForThisSystem(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"bdist_wheel": ForThisSystem})
