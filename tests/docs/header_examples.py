"""Turns the code examples at the top of C++ headers into functions that a compiler can check.

An example is a paragraph of the header's first comment. Its lines begin with `//     `, and at least one of
them is a statement. An example may use names that it does not define; `example_names/` declares them. `...`
stands for a value in an expression, and for a statement after `if (...)`, `for (...)` and `while (...)`. A
line `... words ...` stands for statements.
"""

import dataclasses
import pathlib
import re

INDENT = "//     "


@dataclasses.dataclass
class Example:
    header: str  # path relative to the repository
    line: int  # number of the first line
    code: list[str]
    namespaces: tuple[str, ...] = ()  # namespaces of the header within rematlas

    def defines_functions(self) -> bool:
        return any(re.match(r"(void|extern|constinit) ", line) for line in self.code)

    def says_this(self) -> bool:
        return any(re.search(r"\bthis\b", without_comment(line)) for line in self.code)


def examples_of(header: pathlib.Path, name: str) -> Example | None:
    """Returns the example of a header. All paragraphs of code together are one example."""
    found, paragraph = [], []
    for number, line in enumerate([*header.read_text().splitlines(), ""], 1):
        if line.startswith(INDENT):
            paragraph.append((number, line.removeprefix(INDENT)))
            continue
        if is_code([text for _, text in paragraph]):
            found += paragraph
        paragraph = []
        if not line.startswith("//"):
            break
    if not found:
        return None
    code = [""] * (found[-1][0] - found[0][0] + 1)
    for number, text in found:
        code[number - found[0][0]] = text
    namespaces = sorted(set(re.findall(r"^namespace rematlas::(\w+) ", header.read_text(), re.MULTILINE)))
    return Example(name, found[0][0], code, tuple(namespaces))


def is_code(lines: list[str]) -> bool:
    return any(without_comment(line).rstrip().endswith((";", "{", ") ...")) for line in lines)


def without_comment(line: str) -> str:
    return re.split(r"\s//( |$)", line)[0] if not line.startswith("//") else ""


def compilable(line: str) -> str:
    """Returns a line of an example in which each `...` is replaced by code that compiles."""
    line = without_comment(line).rstrip()
    if re.fullmatch(r" *\.\.\. .* \.\.\.", line):
        return ""
    line = re.sub(r"\{ \.\.\. \}", "{ return anything; }", line)
    line = re.sub(r"; \.\.\. \}", "; }", line)
    line = re.sub(r"\) \.\.\.$", ") {}", line)
    return line.replace("...", "anything")


def translation_unit(examples: list[Example], name_files: list[str], names: dict[str, str]) -> str:
    """Returns the text of a file with all examples. Errors name the header and its line.

    `name_files` declare names for all examples; `names` has declarations for the examples of single headers.
    The files are included first, because Qt's headers define macros with names that core uses (`slots`).
    """
    lines = [f'#include "{file}"' for file in [*name_files, *(example.header for example in examples)]]
    lines += ["namespace rematlas {"]
    for number, example in enumerate(examples):
        lines += [f"namespace example_{number} {{", "using namespace example_names;"]
        lines += [f"using namespace rematlas::{name};" for name in example.namespaces]
        lines += [names.get(example.header, "")]
        is_function = not example.defines_functions()
        owner = "Owner::" if example.says_this() else ""
        lines += [f"Returned {owner}example() {{" if is_function else ""]
        lines += [f'#line {example.line} "{example.header}"', *map(compilable, example.code)]
        lines += ["}" if is_function else "", "}"]
    return "\n".join([*lines, "}", ""])
