"""Tests which faults of a page the runner reports, and which differences it accepts."""

import pathlib
import sys
import tempfile
import textwrap
import unittest

from blocks import BadPage, Line, commands_of, parsed
from comparing import difference
from running import PageRun, missing_modules

PAGE = pathlib.Path("page.md")


def page_of(text: str):
    return parsed(PAGE, "page.md", textwrap.dedent(text))


def shown(text: str) -> list[Line]:
    return [Line(number, line) for number, line in enumerate(textwrap.dedent(text).splitlines(), 1)]


class Blocks(unittest.TestCase):
    def test_commands_have_the_lines_behind_them_as_their_output(self):
        page = page_of("""\
            Words.

            ```console
            $ echo one \\
                two
            one two
            $ true
            ```
            """)
        first, second = commands_of(page.blocks[0], "page.md")
        self.assertEqual((first.line, first.text), (4, "echo one \\\n    two"))
        self.assertEqual([(line.number, line.text) for line in first.output], [(6, "one two")])
        self.assertEqual((second.line, second.output), (7, ()))

    def test_a_document_behind_the_prompt_of_the_shell_is_part_of_the_command(self):
        page = page_of("""\
            ```console
            $ cat > words.txt <<'END'
            > one
            >
            > two
            > END
            $ wc -l < words.txt
            3
            ```
            """)
        first, second = commands_of(page.blocks[0], "page.md")
        self.assertEqual(first.text, "cat > words.txt <<'END'\none\n\ntwo\nEND")
        self.assertEqual([line.text for line in second.output], ["3"])

    def test_text_right_behind_python_is_its_output_and_text_elsewhere_is_not(self):
        page = page_of("""\
            ```python
            print(1)
            ```

            ```text
            1
            ```

            ```python
            print(2)
            ```

            Words.

            ```text
            3
            ```
            """)
        first, output, second, _ = page.blocks
        self.assertIs(page.output_of(first), output)
        self.assertIsNone(page.output_of(second))

    def test_a_mark_needs_a_reason_and_is_for_the_next_block_alone(self):
        text = "<!-- not run: needs a GPU -->\n```console\n$ false\n```\n\n```console\n$ true\n```\n"
        page = page_of(text)
        self.assertEqual([block.is_runnable() for block in page.blocks], [False, True])
        self.assertEqual(page.reasons, ["needs a GPU"])
        with self.assertRaisesRegex(BadPage, "page.md:1: the mark"):
            page_of("<!-- not run: -->\n")

    def test_a_block_with_a_title_is_a_file_and_blocks_in_lists_lose_their_indent(self):
        page = page_of("""\
            - an item

                ```python title="net.py"
                def f():
                    return 1
                ```
            """)
        self.assertEqual(page.blocks[0].title, "net.py")
        self.assertEqual(page.blocks[0].text, "def f():\n    return 1\n")
        self.assertFalse(page.blocks[0].is_runnable())

    def test_a_block_without_an_end_is_told(self):
        with self.assertRaisesRegex(BadPage, "page.md:1: the block has no end"):
            page_of("```python\nprint(1)\n")

    def test_a_console_block_that_begins_with_an_output_is_told(self):
        with self.assertRaisesRegex(BadPage, "page.md:2: a console block begins"):
            commands_of(page_of("```console\noutput\n```\n").blocks[0], "page.md")


class Comparing(unittest.TestCase):
    def assert_same(self, page: str, output: str) -> None:
        self.assertIsNone(difference(shown(page), output), f"{page!r} against {output!r}")

    def assert_other(self, page: str, output: str) -> None:
        self.assertIsNotNone(difference(shown(page), output), f"{page!r} against {output!r}")

    def test_free_numbers_pass(self):
        self.assert_same("a step takes 2.15 s", "a step takes 840 ms")
        self.assert_same("captured in 1 min 20 s", "captured in 21.1 s")
        self.assert_same("overhead   1.0655  (+6.55 % time)", "overhead  1.1 (+10 % time)")
        self.assert_same("gap 0.51 %; took 1.76 s, 0 nodes", "gap 12.2 %; took 9 s, 0 nodes")
        self.assert_same(
            "overhead  x1.065 predicted, x1.062 measured", "overhead  x2 predicted, x3.5 measured"
        )
        self.assert_same("loss 2.3026, rate 1e-05", "loss 7.1, rate 3e-04")
        self.assert_same("to the host at 24.1 GB/s", "to the host at 9 GB/s")
        self.assert_same("t4   16 GiB   x1.04, 15.3 GiB", "t4   16 GiB   x1.1, 15.0 GiB")
        self.assert_same("peak 405 MiB of a budget of 406 MiB", "peak 404 MiB of a budget of 406 MiB")
        self.assert_same("2 MiB predicted, 2 MiB measured", "1 MiB predicted, 1 MiB measured")

    def test_words_bytes_and_counts_do_not(self):
        self.assert_other("status feasible", "status optimal")
        self.assert_other("peak 405 MiB of a budget of 406 MiB", "peak 405 MiB of a budget of 407 MiB")
        self.assert_other("2 MiB predicted, 2 MiB measured", "2 MiB predicted, 3 MiB measured")
        self.assert_other("93.7 MiB of it resident", "93.8 MiB of it resident")
        self.assert_other("(213157888 bytes)", "(213157889 bytes)")
        self.assert_other("735 ops on 986 tensors", "736 ops on 986 tensors")
        self.assert_other("12x  blocks.0", "11x  blocks.0")
        self.assert_other("overhead 1.0655", "overhead none")
        self.assert_other("torch 2.15.0", "torch 2.14.1")

    def test_lines_too_many_and_too_few_are_noticed(self):
        self.assert_other("one", "one\ntwo")
        self.assert_other("one\ntwo", "one")
        self.assert_other("one\ntwo", "two\none")

    def test_dots_stand_for_any_lines(self):
        self.assert_same("one\n...\nfour", "one\ntwo\nthree\nfour")
        self.assert_same("...\nthree\n...", "one\ntwo\nthree\nfour")
        self.assert_same("one\n...", "one")
        self.assert_same("...\ntwo\n...\ntwo", "one\ntwo\ntwo")
        self.assert_other("one\n...\nfive", "one\ntwo\nthree\nfour")
        self.assert_other("...\nfive\n...", "one\ntwo\nthree\nfour")
        self.assert_other("one\n...", "zero\none")

    def test_a_difference_names_the_line_of_the_page(self):
        found = difference(shown("one\n...\nthree\nfour"), "one\ntwo\nthree\nfive")
        self.assertEqual((found.line, found.expected, found.came), (4, "four", "five"))
        found = difference(shown("one\ntwo"), "one\nthree")
        self.assertEqual((found.line, found.expected, found.came), (2, "two", "three"))


class Running(unittest.TestCase):
    def faults_of(self, text: str) -> list[str]:
        with tempfile.TemporaryDirectory() as nothing:
            return PageRun(page_of(text), pathlib.Path(nothing), pathlib.Path(sys.executable)).run()

    def test_a_page_whose_outputs_are_right_has_no_faults(self):
        text = """\
            ```python title="net.py"
            answer = 42
            ```

            ```console
            $ export WORD=there && mkdir sub && cd sub
            $ echo $WORD; pwd | grep -o 'sub$'
            there
            sub
            $ ls ..
            net.py
            sub
            ```

            ```python
            from net import answer
            ```

            ```python
            print("answer", answer)
            ```

            ```text
            answer 42
            ```
            """
        self.assertEqual(self.faults_of(text), [])

    def test_a_wrong_word_of_a_command_is_a_fault_with_page_and_line(self):
        fault = self.faults_of("```console\n$ echo peak 405 MiB\npeak 406 MiB\n```\n")[0]
        for part in ("page.md:3: `echo peak 405 MiB`", "expected: peak 406 MiB", "came:     peak 405 MiB"):
            self.assertIn(part, fault)

    def test_a_wrong_word_of_python_is_a_fault(self):
        fault = self.faults_of("```python\nprint('peak 1 MiB')\n```\n\n```text\npeak 2 MiB\n```\n")[0]
        self.assertIn("page.md:6: the Python block prints other lines", fault)

    def test_a_command_that_fails_is_a_fault_unless_its_output_is_shown(self):
        self.assertIn(
            "page.md:2: `false` ends with status 1", self.faults_of("```console\n$ false\n```\n")[0]
        )
        self.assertEqual(self.faults_of("```console\n$ echo no; false\nno\n```\n"), [])

    def test_an_error_of_python_is_a_fault_unless_it_is_shown(self):
        raising = "```python\nraise ValueError('no')\n```\n"
        fault = self.faults_of(raising)[0]
        self.assertIn("page.md:1: the Python block raises", fault)
        self.assertIn('File "page.md", line 2', fault)
        self.assertEqual(self.faults_of(raising + "```text\n...\nValueError: no\n```\n"), [])

    def test_blocks_go_on_after_an_error_and_a_process_that_ends_is_told(self):
        text = "```python\n1 / 0\n```\n```python\nprint(2)\n```\n```text\n3\n```\n"
        self.assertEqual(len(self.faults_of(text)), 2)
        fault = self.faults_of("```python\nimport os\nos._exit(3)\n```\n")[0]
        self.assertIn("ends the process (status 3)", fault)

    def test_a_file_outside_of_the_folder_is_a_fault(self):
        fault = self.faults_of('```sh title="../x.sh"\n```\n')[0]
        self.assertIn("does not lie in the page's folder", fault)

    def test_missing_packages_are_known_before_the_run(self):
        page = page_of(
            "```python\nimport os, rematlas, no_such_package.part\nimport net\n```\n"
            '```python title="net.py"\n```\n'
        )
        self.assertEqual(missing_modules(page, pathlib.Path(sys.executable)), ["no_such_package"])


if __name__ == "__main__":
    unittest.main()
