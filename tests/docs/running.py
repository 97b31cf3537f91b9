"""Runs the blocks of a page in a new folder and reports the differences from the page.

Environment variables: REMATLAS_BIN is the folder with the programs. REMATLAS_DOCS_PYTHON is the Python with
torch that pages run as `python`; the default is the Python of .venv-integrations, or else of .venv.
"""

import ast
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from blocks import Block, Command, Page, commands_of
from comparing import difference

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_SECONDS = 300  # limit for each command and each block
TAIL = 15  # lines of output that a message shows
# Like a terminal, this script keeps the folder and the variables from one command to the next.
SHELL = """
if [ -f "$0" ]; then . "$0"; cd "$OLDPWD_OF_PAGE"; fi
eval "$1"
status_of_page=$?
export OLDPWD_OF_PAGE=$PWD
export -p >"$0"
exit $status_of_page
"""


def environment(bin_folder: pathlib.Path, python: pathlib.Path, links: pathlib.Path) -> dict:
    """Returns the environment of a page. `links`: a new folder in which links to the programs are made."""
    links.mkdir()
    for program in ("rematlas", "rematlas-explorer"):
        if (bin_folder / program).exists():
            (links / program).symlink_to(bin_folder / program)
    (links / "python").write_text(f'#!/bin/sh\nexec "{python}" "$@"\n')
    (links / "python").chmod(0o755)
    (links / "python3").symlink_to("python")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REMATLAS", "DISPLAY"))}
    return kept | {
        "PATH": os.pathsep.join([str(links), str(python.parent), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT / "runtime" / "python"),
        "REMATLAS_PROGRAMS": str(bin_folder),
        "REMATLAS_PYTHON": str(links / "python"),
        "REMATLAS_CACHE": "",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "QT_QPA_PLATFORM": "offscreen",
        "HF_HUB_OFFLINE": "1",
        "COLUMNS": "100",
    }


class PythonProcess:
    """Runs the `python` blocks of a page one after the other, in one process."""

    def __init__(self, python: pathlib.Path, folder: pathlib.Path, variables: dict):
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [python, "-u", pathlib.Path(__file__).with_name("block_process.py")],
            cwd=folder,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            start_new_session=True,
        )

    def run(self, block: Block, name: str) -> tuple[str, str]:
        """Runs a block. Returns its output, and a description of what went wrong (empty if nothing did)."""
        given = {"page": name, "line": block.line, "text": block.text}
        try:
            self.process.stdin.write(json.dumps(given).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return "", "the process of the page's Python blocks has ended before"
        ends_at, read = time.monotonic() + MOST_SECONDS, b""
        while not read.endswith((b"\0done\n", b"\0raised\n")):
            left = ends_at - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                self.stop()
                return text_of(read), f"does not end within {MOST_SECONDS} s"
            some = os.read(self.process.stdout.fileno(), 1 << 16)
            if not some:
                return text_of(read), f"ends the process (status {self.process.wait()}): {self.last_errors()}"
            read += some
        printed, _, answer = text_of(read).rpartition("\0")
        return printed, "" if answer == "done\n" else "raises"

    def last_errors(self) -> str:
        self.errors.seek(0)
        return "\n".join(text_of(self.errors.read()).splitlines()[-TAIL:])

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()


def text_of(data: bytes) -> str:
    return data.decode(errors="replace")


class PageRun:
    """Runs a page in its own folder. `faults` has one text for each difference; each begins with
    page:line."""

    def __init__(self, page: Page, bin_folder: pathlib.Path, python: pathlib.Path):
        self.page, self.python = page, python
        self.faults = []
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="rematlas-page-"))
        self.folder = self.place / "page"
        self.folder.mkdir()
        self.variables = environment(bin_folder, python, self.place / "programs")
        self.blocks_process = None

    def run(self) -> list[str]:
        try:
            for block in self.page.blocks:
                if block.is_file():
                    self.write(block)
                elif block.is_runnable() and block.language == "console":
                    for command in commands_of(block, self.page.name):
                        self.run_command(command)
                elif block.is_runnable():
                    self.run_python(block)
        finally:
            if self.blocks_process:
                self.blocks_process.stop()
            shutil.rmtree(self.place, ignore_errors=True)
        return self.faults

    def fault(self, line: int, what: str, output: str) -> None:
        end = "".join(f"    | {text}\n" for text in output.splitlines()[-TAIL:])
        self.faults.append(f"{self.page.name}:{line}: {what}\n{end}".rstrip("\n"))

    def write(self, block: Block) -> None:
        path = self.folder / block.title
        if not path.resolve().is_relative_to(self.folder.resolve()):
            self.fault(block.line, f"the file {block.title!r} does not lie in the page's folder", "")
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)

    def run_command(self, command: Command) -> None:
        process = subprocess.Popen(
            ["bash", "-c", SHELL, self.place / "state", command.text],
            cwd=self.folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output = text_of(process.communicate(timeout=MOST_SECONDS)[0])
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output = text_of(process.communicate()[0])
            self.fault(command.line, f"`{command.text}` does not end within {MOST_SECONDS} s", output)
            return
        found = difference(list(command.output), output)
        if found:
            what = f"`{command.text}` prints other lines (exit status {process.returncode})\n    {found}"
            self.fault(found.line, what, output)
        elif process.returncode != 0 and not command.output:
            self.fault(command.line, f"`{command.text}` ends with status {process.returncode}", output)

    def run_python(self, block: Block) -> None:
        if self.blocks_process is None:
            self.blocks_process = PythonProcess(self.python, self.folder, self.variables)
        printed, wrong = self.blocks_process.run(block, self.page.name)
        shown = self.page.output_of(block)
        if wrong and not (wrong == "raises" and shown):
            self.fault(block.line, f"the Python block {wrong}", printed)
            return
        found = shown and difference(shown.lines, printed)
        if found:
            self.fault(found.line, f"the Python block prints other lines\n    {found}", printed)


def missing_modules(page: Page, python: pathlib.Path) -> list[str]:
    """Returns the modules that the page's Python imports and that this Python does not have."""
    sources = [block for block in page.blocks if block.title.endswith(".py") or block.language == "python"]
    of_page = {pathlib.PurePath(block.title).stem for block in page.blocks if block.title}
    wanted = set()
    for block in sources:
        if block.is_run or block.title:
            wanted |= imported(block.text)
    wanted -= of_page | {"rematlas"}
    if not wanted:
        return []
    asked = "import importlib.util, sys; print(*(n for n in sys.argv[1:] if not importlib.util.find_spec(n)))"
    done = subprocess.run([python, "-c", asked, *sorted(wanted)], capture_output=True, text=True, check=True)
    return done.stdout.split()


def imported(text: str) -> set[str]:
    """Returns the top-level modules that the text imports."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return set()  # running the block reports the error
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module.partition(".")[0])
    return found


def python_of_pages() -> pathlib.Path:
    if os.environ.get("REMATLAS_DOCS_PYTHON"):
        return pathlib.Path(os.environ["REMATLAS_DOCS_PYTHON"])
    made = [ROOT / folder / "bin" / "python" for folder in (".venv-integrations", ".venv")]
    return next((python for python in made if python.exists()), pathlib.Path(sys.executable))


def programs() -> pathlib.Path:
    return pathlib.Path(os.environ.get("REMATLAS_BIN") or ROOT / "build" / "release" / "bin")
