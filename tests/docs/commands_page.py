"""Makes docs/reference/commands.md from the outputs of the programs for --help."""

import dataclasses
import os
import re
import subprocess

from running import ROOT, programs, python_of_pages

INTRODUCTION = """\
# Commands

<!-- tests/docs/reference_pages.py writes this page from what the programs print for --help. -->

`rematlas COMMAND --help` prints what this page says about a command. Every command takes two more options:
`--json` prints one machine-readable object, and `--quiet` leaves out the progress on standard error, which is
shown in a terminal only.

| exit status | meaning |
|---|---|
| 0 | success |
| 1 | the answer is no: no schedule keeps the budget, a check fails, or a step is not identical |
| 2 | wrong usage or input; one line on standard error names the flag, the file or the field |

Sizes are `2GiB`, `512MiB`, `1500MB` or a number of bytes. A budget may also be a share: `60%` of the peak
without recomputation, or `60% of activations`, a share of the part of that peak that is not resident. Output
files are written whole or not at all.
"""
EXPLORER = "rematlas-explorer"
OF_PYTHON = ("capture", "run", "build")  # commands of `python -m rematlas` that have their own sections
ABOUT_PYTHON = """\
The Python package records models that are written in Python. A model is `package.module:function`; the
function returns `(model, args)` or `(model, args, kwargs)`. `rematlas capture`, `rematlas fits`,
`rematlas maxbatch` and `rematlas run` hand such a model over to the package. The package's own commands have
these options.
"""
# Options that every command has. The page describes them only once.
SHARED = ("-h,--help", "-h, --help", "--json", "--quiet")
DESCRIPTION_COLUMN = 30


@dataclasses.dataclass
class Entry:
    """An argument or an option in a help text: the part on the left, and the description."""

    left: str
    meaning: str


@dataclasses.dataclass
class Help:
    """The parts of a help text."""

    summary: str
    usage: str
    positionals: list[Entry]
    options: list[Entry]
    commands: list[Entry]
    examples: list[str]


def printed(*words) -> str:
    """Returns the output of a program for --help."""
    python = python_of_pages()
    variables = os.environ | {
        "COLUMNS": "1000",
        "PYTHONPATH": str(ROOT / "runtime" / "python"),
        "REMATLAS_PROGRAMS": str(programs()),
        "REMATLAS_PYTHON": str(python),
        "QT_QPA_PLATFORM": "offscreen",
    }
    variables.pop("VIRTUAL_ENV", None)
    done = subprocess.run([*words, "--help"], env=variables, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))} --help: {done.stderr.strip()}")
    return done.stdout


def parsed(text: str) -> Help:
    """Reads a help text of CLI11 or of argparse."""
    found, section = Help("", "", [], [], [], []), ""
    sections = {"positional arguments": "positionals", "positionals": "positionals", "options": "options"}
    sections |= {"subcommands": "commands", "example": "examples", "examples": "examples"}
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line[:6].lower() == "usage:":
            found.usage = line[6:].strip()
        elif line and not line.startswith(" "):
            name = line.rstrip(":").lower()
            section = sections.get(name, "")
            if not section and not found.summary and name != "usage":
                found.summary = line
        elif section == "examples" and line.strip():
            found.examples.append(line.strip())
        elif section and re.match(r"  \S", line):
            below = (
                lines[at + 1].strip() if at + 1 < len(lines) and lines[at + 1].startswith(" " * 20) else ""
            )
            getattr(found, section).append(entry_of(line, below))
    return found


def entry_of(line: str, below: str) -> Entry:
    if below:
        return Entry(line.strip(), below)
    parts = re.split(r" {2,}", line.strip(), maxsplit=1)
    if len(parts) == 1 and len(line) > DESCRIPTION_COLUMN and line[DESCRIPTION_COLUMN - 1] == " ":
        parts = [line[:DESCRIPTION_COLUMN].strip(), line[DESCRIPTION_COLUMN:]]
    return Entry(parts[0], parts[1].strip() if len(parts) > 1 else "")


def cell(text: str) -> str:
    """Returns a text for a cell of a table. `<` is escaped, because it would begin a tag."""
    return text.replace("|", "\\|").replace("<", "&lt;").strip()


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def names_of(left: str) -> str:
    found = re.match(r"-{1,2}[\w-]+", left)
    names = []
    while found:
        names.append(found[0])
        left = re.sub(r"^( [A-Za-z]\S*)?, ?", ",", left[found.end() :])
        found = re.match(r"-{1,2}[\w-]+", left[1:]) if left.startswith(",-") else None
        left = left[1:]
    return ", ".join(code(name) for name in names)


KINDS = {"TEXT": "text", "UINT": "whole number", "INT": "whole number", "FLOAT": "number"}
NAMES = re.compile(r"^(?:-{1,2}[\w-]+(?: [^-\s,]\S*)?, ?)*-{1,2}[\w-]+ ?")
OF_CLI11 = re.compile(r"(TEXT|U?INT|FLOAT|none,[\w,]*)(?::(.*?))?(?:=(\S+))?")


def value_and_default(left: str) -> tuple[str, str]:
    """Returns the values that an option takes, and its default."""
    rest = NAMES.sub("", re.sub(r" Excludes: .*", "", left))
    is_required = "REQUIRED" in rest
    rest = re.sub(r" ?REQUIRED", "", rest)
    is_repeated = rest.endswith(" ...")
    rest = rest.removesuffix(" ...")
    found = OF_CLI11.fullmatch(rest)
    kind, check, default = found.groups(default="") if found else (rest, rest, "")
    choices = re.fullmatch(r"\{(.*)\}", check) or re.fullmatch(r"(none,.*)", kind)
    span = re.search(r"in \[(\S+) - (\S+)\]", check)
    if choices:
        value = ", ".join(code(choice) for choice in choices[1].split(","))
    elif span:
        value = f"{KINDS[kind]}, {span[1]} to {float(span[2]):.0f}"
    else:
        value = KINDS.get(kind) or code(kind)
    value += "; may be repeated" if is_repeated else ""
    return value, "required" if is_required else code(default.strip("[]"))


def table(entries: list[Entry], title: str) -> list[str]:
    lines = [f"| {title} | value | default | meaning |", "|---|---|---|---|"]
    for entry in entries:
        value, default = value_and_default(entry.left)
        name = names_of(entry.left) or code(entry.left.partition(" ")[0])
        lines.append(f"| {name} | {value} | {default} | {cell(entry.meaning)} |")
    return [*lines, ""]


def sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", ":")) else text + "."


def section(title: str, text: Help, usage: str) -> list[str]:
    lines = [f"## {title}", "", *wrapped(sentence(text.summary)), "", "```text", usage, "```", ""]
    if text.positionals:
        lines += ["| argument | meaning |", "|---|---|"]
        for entry in text.positionals:
            name, _, kind = entry.left.partition(" ")
            lines.append(f"| `{name.removesuffix('(1x)')}` | {cell(entry.meaning)} |")
        lines.append("")
    options = [entry for entry in text.options if not entry.left.startswith(SHARED)]
    lines += table(options, "option") if options else []
    if text.examples:
        lines += ["```sh", *text.examples, "```", ""]
    return lines


def wrapped(text: str, width: int = 110) -> list[str]:
    lines, current = [], ""
    for word in text.split():
        if current and len(current) + 1 + len(word) > width:
            lines.append(current)
            current = word
        else:
            current = f"{current} {word}".strip()
    return [*lines, current] if current else lines


def usage_of(program: str, text: Help) -> str:
    """Returns the usage with arguments only, because the table has the options."""
    words = [entry.left.partition(" ")[0] for entry in text.positionals]
    optional = [word for word in words if f"[{word}]" in text.usage]
    many = [word for word in words if f"{word}(1x)" in text.usage or f"{word} ..." in text.usage]
    shown = []
    for word in words:
        word = f"[{word}]" if word in optional else word
        shown.append(word + " ..." if word in many else word)
    return " ".join([program, *shown, "[OPTIONS]"])


def page() -> str:
    rematlas, python = programs() / "rematlas", python_of_pages()
    everything = parsed(printed(rematlas))
    lines = [INTRODUCTION, "| command | what it does |", "|---|---|"]
    names = [entry.left for entry in everything.commands]
    for entry in everything.commands:
        meaning = re.sub(r" \(rematlas \w+ --help\)$", "", entry.meaning)
        lines.append(f"| [`{entry.left}`](#{entry.left}) | {cell(meaning)} |")
    lines.append("")
    for name in names:
        lines += sections_of(name, rematlas)
    lines += ["## python -m rematlas", "", *ABOUT_PYTHON.splitlines(), ""]
    for name in OF_PYTHON:
        text = parsed(printed(python, "-m", "rematlas", name))
        text.summary = text.summary or summary_of_python(name, python)
        program = f"python -m rematlas {name}"
        lines += one_level_down(section(program, text, usage_of(program, text)))
    lines += explorer()
    return "\n".join(lines).rstrip("\n") + "\n"


def sections_of(name: str, rematlas) -> list[str]:
    text = parsed(printed(rematlas, name))
    text.summary = text.summary or summary_of_python(name, python_of_pages())
    if not text.commands:
        return section(name, text, usage_of(f"rematlas {name}", text))
    lines = [f"## {name}", "", *wrapped(sentence(text.summary)), ""]
    for entry in text.commands:
        below = parsed(printed(rematlas, name, entry.left))
        made = section(f"{name} {entry.left}", below, usage_of(f"rematlas {name} {entry.left}", below))
        lines += one_level_down(made)
    return lines


def one_level_down(lines: list[str]) -> list[str]:
    return ["#" + line if line.startswith("## ") else line for line in lines]


def summary_of_python(name: str, python) -> str:
    for line in printed(python, "-m", "rematlas").splitlines():
        found = re.match(rf"    {name} +(\S.*)", line)
        if found:
            return found[1]
    return ""


def explorer() -> list[str]:
    """Returns the section about the explorer. Its help is shown as printed, because it already has tables."""
    program = programs() / EXPLORER
    if not program.exists():
        raise RuntimeError(f"{EXPLORER} is not built")
    text = printed(program)
    usage, _, rest = text.partition("\n")
    usage = f"Usage: {EXPLORER} " + usage.partition(" [options]")[2].strip()
    return [f"## {EXPLORER}", "", "```text", usage, *rest.rstrip().splitlines(), "```", ""]
