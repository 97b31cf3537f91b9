"""The generated pages of the reference are up to date, and their sources are read correctly.

`python tests/docs/reference_pages.py --write` generates the pages again, with the programs of a build
(running.py).
"""

import ast
import unittest

import commands_page
import python_page
from reference_pages import FOLDER, PAGES
from running import programs

OF_CLI11 = """\
a checked schedule
Usage: rematlas solve [OPTIONS] graph files(1x)

Positionals:
  graph TEXT REQUIRED         a file | a pipe
  files TEXT REQUIRED         more files

Options:
  -h,--help                   Print this help message and exit
  --seed UINT=1               seed of the random choices
  -o,--output TEXT REQUIRED   write <here>
  --threads INT:INT in [1 - 1024]=1
                              threads
  --milp TEXT:{highs,dtr-eq}  the library
  --ratio FLOAT:FLOAT in [0 - 1000]=[0.5] ... Excludes: --budget
                              budget over the peak

Example:
  rematlas solve x.graph.json
"""


class UpToDate(unittest.TestCase):
    maxDiff = None

    def assert_is_new(self, name: str) -> None:
        path = FOLDER / name
        self.assertTrue(path.exists(), f"{path} is not there: python tests/docs/reference_pages.py --write")
        self.assertMultiLineEqual(path.read_text(), PAGES[name]())

    @unittest.skipUnless((programs() / commands_page.EXPLORER).exists(), "the programs are not all built")
    def test_the_page_of_commands(self):
        self.assert_is_new("commands.md")

    def test_the_page_of_python(self):
        self.assert_is_new("python.md")


class Commands(unittest.TestCase):
    def test_a_help_text_becomes_tables(self):
        lines = commands_page.section("solve", commands_page.parsed(OF_CLI11), "rematlas solve")
        for line in (
            "A checked schedule.",
            "| `graph` | a file \\| a pipe |",
            "| `--seed` | whole number | `1` | seed of the random choices |",
            "| `-o`, `--output` | text | required | write &lt;here> |",
            "| `--threads` | whole number, 1 to 1024 | `1` | threads |",
            "| `--milp` | `highs`, `dtr-eq` |  | the library |",
            "| `--ratio` | number, 0 to 1000; may be repeated | `0.5` | budget over the peak |",
            "rematlas solve x.graph.json",
        ):
            self.assertIn(line, lines)
        self.assertNotIn("--help", "\n".join(lines))

    def test_the_usage_has_the_arguments_alone(self):
        text = commands_page.parsed(OF_CLI11)
        self.assertEqual(
            commands_page.usage_of("rematlas solve", text), "rematlas solve graph files ... [OPTIONS]"
        )

    def test_options_of_argparse_have_their_values(self):
        for left, names, value in (
            ("-o x.json, --output x.json", "`-o`, `--output`", "`x.json`"),
            ("--set NAME=VALUE", "`--set`", "`NAME=VALUE`"),
            ("--autocast {bf16,f16}", "`--autocast`", "`bf16`, `f16`"),
            ("--verify", "`--verify`", ""),
        ):
            self.assertEqual(commands_page.names_of(left), names)
            self.assertEqual(commands_page.value_and_default(left), (value, ""))


def function(text: str) -> ast.FunctionDef:
    return ast.parse(text).body[0]


class Python(unittest.TestCase):
    def test_sentences_about_arguments_become_a_list(self):
        text = "Does it. Well.\n\n`a`: one. `b` and `c`: two; see `a`: no. Raises ValueError."
        self.assertEqual(
            python_page.described(text),
            [
                "Does it. Well.",
                "",
                "- `a`: one.",
                "- `b` and `c`: two; see `a`: no.",
                "",
                "Raises ValueError.",
                "",
            ],
        )

    def test_an_argument_that_nothing_describes_is_told(self):
        node = function('def f(a, *, b=1):\n    """Does it. `a`: one."""\n')
        with self.assertRaisesRegex(python_page.Missing, "f: the docstring does not describe b"):
            python_page.of_function(node, "f", "###")

    def test_signatures_are_those_of_calls(self):
        node = function("def f(self, a, b='x', *rest, c=None, **more): pass\n")
        self.assertEqual(
            python_page.signature_of(node, "f", True).shown, 'f(a, b="x", *rest, c=None, **more)'
        )


if __name__ == "__main__":
    unittest.main()
