#!/usr/bin/env python3
"""Checks whether the tests of core, or of the transfers to the host, notice errors in what they test.

    mutate.py [--count 80] [--seed 1] [--csv FILE]     # tries a random sample of mutants that compile
    mutate.py --again FILE [--csv FILE]                # tries again mutants that survived or ran out of time
    mutate.py --list [--only FOLDER]                   # counts the places, per operator and folder
    mutate.py --only runtime/transfers ...             # mutants of the transfers instead of mutants of core

A mutant is core with one small change: another operator, a negated condition, a constant off by one, or a
statement left out. core_test is built with this change and run. The mutant is killed if a test fails,
core_test crashes, or a group of tests exceeds its processor time (4 times the time without the change, plus
10 s); otherwise it survives. A mutant that does not compile says nothing about the tests, so another one is
drawn.

Every place in core/**/*.cpp and *.h is equally likely. If several changes are possible at one place, one is
drawn. Comments, strings, includes, static_assert and declarations without a value are never changed. A change
in a header that all files include costs a build of everything.

The tree is copied to a separate folder (`--copy`, build/mutation by default). There each file of core is
compiled by itself, so a mutant costs the build of one file and a link. The build uses -O1 and the assertions
of the standard library: code that reads beyond a vector's end dies, as in the build with sanitizers. The
build uses one core. The tests in the folder that mirrors the changed file run first, then all others; slow
tests (more than 2 s) run last. The run ends at the first failure. A survivor has passed all tests, which
takes some minutes: --quick omits the slow tests of other folders, and --again tries survivors with all tests.

The CSV has one line per mutant: file, line, column, operator, original, mutated, outcome (killed, survived),
by (the test that failed, or the test that was running when the time was over or the process died). The exit
status is 0 for any outcome.
"""

import argparse
import csv
import filecmp
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from bisect import bisect_right
from collections import Counter
from dataclasses import asdict, dataclass, fields
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
COPIED = [
    "CMakeLists.txt",
    "CMakePresets.json",
    "app",
    "bench",
    "core",
    "resources",
    "runtime",
    "tests",
    "viz",
]
TIMES_AS_LONG = 4
SECONDS_MORE = 10
# Limit of a run's clock time, as a multiple of its limit of processor time. A run that only waits, for
# example in a deadlock that a mutant causes, uses no processor time.
TIMES_WAITING = 5
SLOW = 2  # seconds; tests that take longer run last
MOST_MEMORY = 8 << 30  # bytes; otherwise a mutant might take all memory

# ---------------------------------------------------------------------------------------------------------------------
# Places: the parts of a text that can be changed.

SWAPPED = {
    "relation": {"<": ["<="], "<=": ["<"], ">": [">="], ">=": [">"], "==": ["!="], "!=": ["=="]},
    "arithmetic": {
        "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"], "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="],
        "&": ["|"], "|": ["&"], "&=": ["|="], "|=": ["&="], "<<": [">>"], ">>": ["<<"],
    },
    "logic": {"&&": ["||"], "||": ["&&"]},
    "name": {
        "std::min": ["std::max"], "std::max": ["std::min"],
        "std::min_element": ["std::max_element"], "std::max_element": ["std::min_element"],
        "std::lower_bound": ["std::upper_bound"], "std::upper_bound": ["std::lower_bound"],
        "std::any_of": ["std::all_of"], "std::all_of": ["std::any_of"], "std::none_of": ["std::all_of"],
        "true": ["false"], "false": ["true"],
    },
}  # fmt: skip
KEYWORDS = set(
    "return if for while switch case else do using static_assert throw delete new goto default public"
    " private protected "
    "operator sizeof namespace struct class enum template typedef constexpr const auto".split()
)
NOT_CODE = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*" | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'
      | ^[ \t]*\#(?:\\\n|[^\n])* | \bstatic_assert\b[^;]*; | \btemplate\ <[^\n]*>(?=\n) | \boperator\s*[^\w\s(]+ """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
# In formatted code, exactly the binary operators have spaces on both sides.
BINARY = re.compile(r"(?<= )(?:[<>=!]=|&&|\|\||[-+*/&|]=|<<|>>|[-+*/%&|<>])(?=\s)")
NAME = re.compile(
    r"\b(?:std::(?:min|max|lower_bound|upper_bound|any_of|all_of|none_of|min_element|max_element)(?=\()|true\b|false\b)"
)
NUMBER = re.compile(
    r"(?<![\w.'])(?:0x[0-9a-fA-F']+|\d[\d']*(?P<fraction>\.\d*(?:e[-+]?\d+)?|e[-+]?\d+)?)(?P<suffix>[uUlLfF]*)(?![\w.'])"
)
PURE_VIRTUAL = re.compile(r"\)[\w\s]*= $")
BRANCH = re.compile(r"\b(?:if|while) (?=\()")
NOT = re.compile(r"(?<![\w])!(?=[\w(])")
RETURN = re.compile(r"\breturn (?=[^;])")
JUMP = re.compile(r"\b(?:continue|break|return);")
STATEMENT = re.compile(r"(?:(?<=[;{})])|\belse\b)\s+(?=[\w*+-])")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
ASSIGNMENT = re.compile(r" (?:[-+*/%&|]|<<|>>)?=\s")
PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Change:
    start: int
    end: int
    operator: str
    mutated: str


def code_of(text: str) -> str:
    """Returns `text` in which spaces replace everything that is not code. Offsets do not change."""
    return NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def closing(code: str, start: int) -> int:
    """Returns the offset of the bracket that closes the bracket at `start`, or -1 if there is none."""
    depth = 0
    for i in range(start, len(code)):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth == 0:
            return i
    return -1


def at_top(code: str) -> str:
    """Returns `code` in which spaces replace everything in brackets."""
    depth, top = 0, []
    for c in code:
        depth -= c in ")]}"
        top.append(c if depth == 0 else " ")
        depth += c in "([{"
    return "".join(top)


def end_of_statement(code: str, start: int) -> int:
    """Returns the offset of the semicolon that ends the statement at `start`, or -1 if a bracket closes
    first."""
    i = start
    while i < len(code):
        if code[i] in PAIRS:
            i = closing(code, i)
            if i < 0:
                return -1
        elif code[i] in ")]}":
            return -1
        elif code[i] == ";":
            return i
        i += 1
    return -1


def end_of_deletable(code: str, start: int) -> int:
    """Returns the offset of the semicolon that ends the statement at `start`. Returns -1 unless the statement
    is a call, an assignment, an increment or a decrement."""
    i, steps, calls = start, 0, 0
    while code[i] in "*+-":
        steps += code[i] in "+-"
        i += 1
    while True:
        name = IDENTIFIER.match(code, i)
        if not name or name.group() in KEYWORDS:
            return -1
        i = name.end()
        while i < len(code) and code[i] in "([":
            calls += code[i] == "("
            i = closing(code, i) + 1
            if i == 0:
                return -1
        joint = next((j for j in ("::", "->", ".") if code.startswith(j, i)), None)
        if joint is None:
            break
        i += len(joint)
    if code.startswith(("++;", "--;"), i) or (code[i] == ";" and (steps == 2 or calls)):
        return code.index(";", i)
    return end_of_statement(code, i) if ASSIGNMENT.match(code, i) else -1


def numbers(found: re.Match) -> list[str]:
    digits, suffix = found.group().removesuffix(found["suffix"]), found["suffix"]
    if found["fraction"]:
        value = float(digits.replace("'", ""))
        return [repr(2 * value if value else 1.0) + suffix]
    value = int(digits.replace("'", ""), 0 if digits.startswith("0x") else 10)
    return [f"{n}{suffix}" for n in ([value - 1, value + 1] if value else [1])]


def is_condition(text: str) -> bool:
    """Says whether the outermost operators of a returned expression show that it is a boolean."""
    top = at_top(text)
    if " ? " in top or "{" in text or text.startswith(("true", "false")):
        return False
    return top.startswith("!") or any(
        f" {operator} " in top for operator in ("&&", "||", "<", "<=", ">", ">=", "==", "!=")
    )


def places_of(text: str) -> list[list[Change]]:
    """Returns every place where `text` can be changed, with the possible changes there."""
    code = code_of(text)
    places: list[list[Change]] = []

    def place(start: int, end: int, operator: str, mutants: list[str]):
        places.append([Change(start, end, operator, mutated) for mutated in mutants])

    for found in BINARY.finditer(code):
        for operator in ("relation", "arithmetic", "logic"):
            if mutants := SWAPPED[operator].get(found.group()):
                place(*found.span(), operator, mutants)
    for found in NAME.finditer(code):
        place(*found.span(), "name", SWAPPED["name"][found.group()])
    for found in NUMBER.finditer(code):
        if not PURE_VIRTUAL.search(code, max(0, found.start() - 60), found.start()):
            place(*found.span(), "constant", numbers(found))
    for found in BRANCH.finditer(code):
        end = closing(code, found.end()) + 1
        condition = text[found.end() : end]
        if not re.search(r";| = ", at_top(code[found.end() + 1 : end - 1])):
            place(found.end(), end, "negated", [f"(!{condition})"])
    for found in NOT.finditer(code):
        place(*found.span(), "negated", [""])
    for found in RETURN.finditer(code):
        end = end_of_statement(code, found.end())
        if end > 0 and is_condition(code[found.end() : end]):
            place(found.end(), end, "negated", [f"!({text[found.end() : end]})"])
    for found in STATEMENT.finditer(code):
        end = end_of_deletable(code, found.end())
        if end > 0:
            place(found.end(), end, "deleted", [""])
    for found in JUMP.finditer(code):
        place(found.start(), found.end() - 1, "deleted", [""])
    return sorted(places, key=lambda changes: (changes[0].start, changes[0].end))


# ---------------------------------------------------------------------------------------------------------------------
# Mutants: changes of a file.


@dataclass
class Mutant:
    file: str  # from the root of the tree
    line: int
    column: int
    operator: str
    original: str
    mutated: str
    outcome: str = ""
    by: str = ""


COLUMNS = [field.name for field in fields(Mutant)]


def one_line(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text)


# The program with the tests of each folder that can be mutated. All are part of the build without torch.
TESTED_BY = {"core": "core_test", "runtime/transfers": "transfers_test"}


def folder_of(only: str) -> str:
    """Returns the folder in TESTED_BY that has the files whose paths begin with `only`."""
    return next((folder for folder in TESTED_BY if only.startswith(folder)), "core")


def files_of(source: Path, only: str) -> list[str]:
    names = (
        path.relative_to(source).as_posix()
        for path in (source / folder_of(only)).rglob("*")
        if path.suffix in (".cpp", ".h")
    )
    return sorted(name for name in names if name.startswith(only))


def mutant_of(file: str, text: str, change: Change) -> Mutant:
    starts = [0] + [found.end() for found in re.finditer("\n", text)]
    line = bisect_right(starts, change.start)
    column = change.start - starts[line - 1] + 1
    return Mutant(
        file,
        line,
        column,
        change.operator,
        one_line(text[change.start : change.end]),
        one_line(change.mutated),
    )


def mutated_text(text: str, mutant: Mutant) -> str:
    """Returns `text` with the mutant's change. Raises ValueError if the place of the change is not in the
    text, because the text has changed since the mutant was made."""
    for changes in places_of(text):
        for change in changes:
            found = mutant_of(mutant.file, text, change)
            if all(getattr(found, c) == getattr(mutant, c) for c in COLUMNS[:6]):
                return text[: change.start] + change.mutated + text[change.end :]
    raise ValueError(f"{mutant.file}:{mutant.line}:{mutant.column} is no longer {mutant.original}")


def drawn(source: Path, only: str, seed: int):
    """Yields one mutant per place, in a random order that depends only on the seed and the files."""
    texts = {file: (source / file).read_text() for file in files_of(source, only)}
    places = [(file, changes) for file, text in texts.items() for changes in places_of(text)]
    generator = random.Random(seed)
    generator.shuffle(places)
    for file, changes in places:
        yield mutant_of(file, texts[file], generator.choice(changes))


# ---------------------------------------------------------------------------------------------------------------------
# Trials: building a mutant and running the tests.


def limited_to(seconds: float):
    """Returns a function that limits the processor time and the memory of a child process."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))

    return limit


def copy_tree(source: Path, copy: Path):
    """Updates `copy` from `source`. Afterwards, the files and folders in COPIED are equal in both. Files of
    `copy` that were equal before keep their times, so they are not built again."""
    kept = set()
    for name in COPIED:
        root = source / name
        for path in (
            [root]
            if root.is_file()
            else (p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
        ):
            target = copy / path.relative_to(source)
            kept.add(target)
            if not target.is_file() or not filecmp.cmp(path, target, shallow=False):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
                shutil.copymode(path, target)
    for name in COPIED:
        for path in (copy / name).rglob("*"):
            if path.is_file() and path not in kept:
                path.unlink()


class GoogleTests:
    """The tests of one program. They run in groups, one after the other. The tests that are most likely to
    fail come first, and the slow tests come last."""

    def __init__(self, program: Path, environment: dict[str, str] | None = None, quick: bool = False):
        self.program = program
        self.environment = dict(os.environ) | (environment or {})
        self.quick = quick
        self.seconds: dict[str, float] = {}  # test -> seconds
        self.folder: dict[str, str] = {}  # test -> the path of its folder below tests/

    def measure(self, report: Path):
        """Runs all tests on the unchanged code and writes their times to `report`. Raises RuntimeError if a
        test fails, because failures under mutants would then prove nothing."""
        command = [self.program, f"--gtest_output=json:{report}"]
        run = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        if run.returncode != 0:
            raise RuntimeError("the tests fail without any change:\n" + run.stdout[-2000:])

    def read(self, report: Path):
        """Reads the tests and their times from a report of GoogleTest."""
        for suite in json.loads(report.read_text())["testsuites"]:
            for test in suite["testsuite"]:
                name = f"{suite['name']}.{test['name']}"
                self.seconds[name] = float(test["time"].removesuffix("s"))
                self.folder[name] = Path(test["file"]).parent.as_posix().rpartition("/tests/")[2]

    def groups(self, file: str) -> list[list[str]]:
        folder = Path(file).parent.as_posix() + "/"
        kinds: list[list[str]] = [[], [], [], []]
        for name, seconds in self.seconds.items():
            far = not folder.startswith(self.folder[name] + "/")
            kinds[2 * (seconds > SLOW) + far].append(name)
        if self.quick:
            kinds.pop()
        return [kind for kind in kinds if kind]

    def killer(self, file: str) -> str | None:
        """Returns the test that kills the mutant of `file`: the first test that fails, or the test that was
        running when the time was over or the process died. Returns None if all tests pass."""
        for names in self.groups(file):
            limit = TIMES_AS_LONG * sum(self.seconds[name] for name in names) + SECONDS_MORE
            if killer := self.run(names, limit):
                return killer
        return None

    def run(self, names: list[str], limit: float) -> str | None:
        command = [self.program, "--gtest_fail_fast", "--gtest_filter=" + ":".join(names)]
        process = subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace",
            preexec_fn=limited_to(limit),
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=TIMES_WAITING * limit)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            return "time: " + last_test(output)
        if process.returncode == 0:
            return None
        if process.returncode == -signal.SIGXCPU:
            return "time: " + last_test(output)
        failed = re.search(r"\[  FAILED  \] (\S+?),? ", output)
        return failed[1] if failed else "crash: " + last_test(output)


def last_test(output: str) -> str:
    return (re.findall(r"\[ RUN      \] (\S+)", output) or ["?"])[-1]


class Trials:
    """Tries mutants one after the other on a copy of the tree. `build` is a command that builds the tests,
    and fails if the mutant does not compile."""

    def __init__(self, copy: Path, build: list, tests):
        self.copy, self.build, self.tests = copy, build, tests

    def compiles(self) -> bool:
        return subprocess.run(self.build, capture_output=True).returncode == 0

    def try_one(self, mutant: Mutant) -> bool:
        """Builds the mutant, runs the tests, and sets the mutant's outcome. Returns False if the mutant does
        not compile."""
        path = self.copy / mutant.file
        original = path.read_text()
        path.write_text(mutated_text(original, mutant))
        try:
            if not self.compiles():
                return False
            mutant.by = self.tests.killer(mutant.file) or ""
            mutant.outcome = "killed" if mutant.by else "survived"
            return True
        finally:
            path.write_text(original)


def trials_of(program: str, source: Path, copy: Path, quick: bool, times: Path | None) -> Trials:
    """Copies the tree, builds the tests, and measures them unless `times` has their times."""
    copy_tree(source, copy)
    build = copy / "build" / "headless"
    configure = [
        "cmake", "--preset", "headless", "-DREMATLAS_PICTURES=OFF", "-DREMATLAS_BENCHES=OFF",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG -D_GLIBCXX_ASSERTIONS",
        "-DCMAKE_PROJECT_INCLUDE=" + str(copy / "tests/mutation/one_file_at_a_time.cmake"),
    ]  # fmt: skip
    if shutil.which("ld.lld"):
        configure.append("-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld")
    command = ["ninja", "-C", build, "-j1", program]
    subprocess.run(configure, cwd=copy, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    problems = Path(os.environ.get("REMATLAS_PROBLEMS", source / ".." / "shared" / "problems"))
    tests = GoogleTests(build / "bin" / program, {"REMATLAS_PROBLEMS": str(problems.resolve())}, quick)
    if times is None:
        times = copy / f"{program}_times.json"
        tests.measure(times)
    tests.read(times)
    print(
        f"without a change: {sum(tests.seconds.values()):.0f} s, {len(tests.seconds)} tests",
        file=sys.stderr,
        flush=True,
    )
    return Trials(copy, command, tests)


def read_not_killed_by_a_test(file: Path) -> list[Mutant]:
    with open(file, newline="") as stream:
        rows = [
            row
            for row in csv.DictReader(stream)
            if row["outcome"] == "survived" or row["by"].startswith("time")
        ]
    return [
        Mutant(r["file"], int(r["line"]), int(r["column"]), r["operator"], r["original"], r["mutated"])
        for r in rows
    ]


def try_all(trials: Trials, mutants, count: int, output) -> Counter:
    """Tries mutants until `count` have an outcome, and writes each outcome as soon as it is known."""
    writer = csv.DictWriter(output, COLUMNS, lineterminator="\n")
    writer.writeheader()
    outcomes: Counter = Counter()
    for mutant in mutants:
        started = time.monotonic()
        if not trials.try_one(mutant):
            outcomes["did not compile"] += 1
            continue
        writer.writerow(asdict(mutant))
        output.flush()
        outcomes[mutant.outcome] += 1
        print(
            f"{outcomes['killed'] + outcomes['survived']:3} {time.monotonic() - started:5.0f} s "
            f" {mutant.outcome} {mutant.by}  {mutant.file}:{mutant.line} {mutant.operator}:"
            f" {mutant.original} -> {mutant.mutated}",
            file=sys.stderr, flush=True,
        )  # fmt: skip
        if outcomes["killed"] + outcomes["survived"] == count:
            break
    return outcomes


def list_places(source: Path, only: str):
    operators, folders = Counter(), Counter()
    for file in files_of(source, only):
        for changes in places_of((source / file).read_text()):
            operators[changes[0].operator] += 1
            folders[Path(file).parent.as_posix() + ("/*.h" if file.endswith(".h") else "")] += 1
    for name, count in [*sorted(operators.items()), *sorted(folders.items()), ("all", operators.total())]:
        print(f"{count:6} {name}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=80, help="mutants that compile")
    parser.add_argument("--seed", type=int, default=1, help="equal seeds on equal files draw equal mutants")
    parser.add_argument(
        "--only", default="core", metavar="FOLDER", help="draw from files whose path begins so"
    )
    parser.add_argument(
        "--again",
        type=Path,
        metavar="FILE",
        help="try what survived in this CSV, and what only the clock killed, instead of drawing",
    )
    parser.add_argument("--csv", type=Path, help="where to write (standard output)")
    parser.add_argument(
        "--copy", type=Path, default=SOURCE / "build" / "mutation", help="folder of the copy and its build"
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"leave out tests of more than {SLOW} s in other folders"
    )
    parser.add_argument(
        "--times", type=Path, metavar="FILE", help="an earlier run's times.json instead of measuring"
    )
    parser.add_argument("--list", action="store_true", help="count the places and end")
    options = parser.parse_args()
    if options.list:
        return list_places(SOURCE, options.only)
    if options.again:
        mutants = read_not_killed_by_a_test(options.again)
        options.count = len(mutants)
    else:
        mutants = drawn(options.copy.resolve(), options.only, options.seed)
    program = TESTED_BY[folder_of(options.only)]
    trials = trials_of(program, SOURCE, options.copy.resolve(), options.quick, options.times)
    with open(options.csv, "w", newline="") if options.csv else sys.stdout as output:
        outcomes = try_all(trials, mutants, options.count, output)
    print(", ".join(f"{name}: {count}" for name, count in sorted(outcomes.items())), file=sys.stderr)


if __name__ == "__main__":
    main()
