"""The page "When something is refused" (docs/refusals.md) has an entry for each message, and the words of
each entry occur in a source.

These texts count as messages:

- Python (runtime/python): each text of at least four words in the package, except docstrings, help of the
  command line and logging below the level of warnings. So no way of raising, warning or returning a reason is
  missed.
- C++ of the runtime (RUNTIME): each literal of at least four words. The readers of model files and of
  recorded steps are left out: their messages name damaged fields, and the page describes them in groups.
- C++ of the command line, of planning and of pictures (COMMANDS): each literal of at least four words inside
  `Error{...}`.

REPORTS lists the texts that are no refusals. The page has an entry for a message if the message contains the
words of the entry. These words are the code spans in headings `### ...`, and in paragraphs that begin with
"Also:".

Not covered: texts that are composed of parts of fewer than four words, and the explorer's dialogs.
"""

import pathlib
import re
import unittest

import messages
from messages import ROOT, VALUE

PAGE = ROOT / "docs" / "refusals.md"
PYTHON = "runtime/python"
RUNTIME = (
    *("runtime/allocator", "runtime/capture", "runtime/device", "runtime/dispatch", "runtime/eviction"),
    *("runtime/model/load_model.cpp", "runtime/model/torchscript.cpp", "runtime/model/training_step.cpp"),
    *("runtime/model/optimizer.cpp", "runtime/replay", "runtime/shapes", "runtime/training"),
    *("runtime/transfers", "runtime/verify"),
)
DAMAGED_FILES = ("runtime/replay/tape.cpp",)
COMMANDS = (
    *(
        "app/cli",
        "core/planning",
        "core/solving/copies.cpp",
        "runtime/program",
        "viz/layout/layout_worker.cpp",
    ),
    *("viz/paint", "viz/report"),
)

# For each of these files: the construct in which its error messages stand. In other files it is `Error{`.
PLACES_OF_ERRORS = {"app/cli/serve/request_gate.cpp": "RefusedRequest{"}
WHOLE_FILES = ("app/cli/infeasible_answer.cpp", "core/pins/pinned_ops.cpp")  # every literal counts

# Texts that are not refusals: they report a result, or name a part of a table, a file or an interface. The
# keys are files; an empty text stands for all texts of the file.
REPORTS = {
    "app/cli/infeasible_answer.cpp": ("most is needed at op",),
    "runtime/capture/capture.cpp": ("times…", "determinism…", "states of the optimizer"),
    "runtime/capture/capture_shapes.cpp": ("host_tensors…", "times…", "workspaces…"),
    "runtime/capture/recorder.cpp": ("in the backward pass",),
    "runtime/capture/recording.cpp": ("in the backward pass",),
    "runtime/capture/update_recorder.cpp": ("in the optimizer's step:",),
    "runtime/device/measure_links.cpp": ("",),
    "runtime/dispatch/every_op.cpp": ("beside another fallback",),
    "runtime/eviction/evictor_outside.cpp": ("a look at a tensor's memory",),
    "runtime/python/rematlas/cards/fits.py": ("Of each card", "No larger … was asked about"),
    "runtime/python/rematlas/cards/recorded_update.py": (
        *(
            "on lists of parameters",
            "its step comes after the backward",
            "recorded as … calls",
            "in f32 among them",
        ),
        *(
            "temporaries of at most",
            "as it was recorded uncompiled",
            "were taken to be 1",
            "taken to hold nothing",
        ),
    ),
    "runtime/python/rematlas/checkpointing/policy.py": ("<rematlas.SelectivePolicy",),
    "runtime/python/rematlas/command_line/early_end.py": ("the steps were run", "the step was recorded"),
    "runtime/python/rematlas/fallback/step_peaks.py": (
        "that the original ran",
        "plan",
        "call in",
        "calls in",
    ),
    "runtime/python/rematlas/inductor/compiled_graph.py": (", with … that live beside it",),
    "runtime/python/rematlas/inductor/compiled_status.py": (
        *("compiled under a budget", "as torch.compile cuts it"),
        *("under torch.compile alone), …", "outputs are … apart"),
    ),
    "runtime/python/rematlas/inductor/node_classes.py": ("",),
    "runtime/python/rematlas/inductor/save_set.py": ("the caller's backward begins",),
    "runtime/python/rematlas/lifecycle/observed.py": ("an output of the module",),
    "runtime/python/rematlas/lifecycle/planned_module.py": ("a module that trains by plans",),
    "runtime/python/rematlas/loss_head/chunked_loss.py": ("With one chunk the loss",),
    "runtime/python/rematlas/loss_head/chunking.py": ("by chunks of tokens", "computed in … chunks"),
    "runtime/python/rematlas/run.py": (
        *(
            "unplanned the original ran",
            "peak … predicted",
            "arena …;",
            "of its time",
            "original peak",
            "yes:",
        ),
    ),
    "runtime/training/comparison_class.cpp": ("open…same",),
    "runtime/python/rematlas/training_status.py": (
        *(
            ", needs … bytes",
            ", not compared with the original yet",
            "without recomputation",
            "of them under",
        ),
        *("steps replayed", "online eviction is in force:", "the last step that a plan should have run"),
    ),
    "runtime/python/rematlas/unseen/compiled_regions.py": ("code of torch.compile … of …",),
    "runtime/python/rematlas/unseen/triton_launches.py": ("the kernel … … on … with",),
    "runtime/python/rematlas_command/builds.py": ("`make build TORCH=…` makes one",),
    "runtime/python/rematlas_command/compiling.py": (
        *("files compiled", "there is a build for", "compiling for torch", "built for torch"),
    ),
    "runtime/replay/open_forward.cpp": ("the gradient of output",),
    "runtime/shapes/shape_kernels.cpp": ("with Meta tensors",),
    "runtime/training/graph_solving.cpp": ("the graph of kernels",),
    "runtime/training/planner.cpp": (
        *("forwards open at a time", "times…", "from a real step", "the timing of ops", "median of each"),
    ),
    "runtime/training/planner_updates.cpp": ("optimizer…",),
    "runtime/training/step_recording.cpp": ("the forward has failed",),
}


def files(folders, suffixes) -> list:
    found = []
    for folder in folders:
        path = ROOT / folder
        found += [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in suffixes)
    return found


def all_messages() -> list:
    found = [m for path in files([PYTHON], {".py"}) for m in messages.python_messages(path)]
    left_out = {ROOT / path for path in DAMAGED_FILES}
    for path in files((*RUNTIME, *WHOLE_FILES), {".cpp", ".h"}):
        if path not in left_out:
            found += messages.cpp_messages(path)
    left_out = {ROOT / path for path in WHOLE_FILES}
    for path in files(COMMANDS, {".cpp", ".h"}):
        if path not in left_out:
            place = PLACES_OF_ERRORS.get(str(path.relative_to(ROOT)), "Error{")
            found += messages.cpp_messages(path, within=place)
    return found


def is_report(message) -> bool:
    reports = REPORTS.get(str(message.path.relative_to(ROOT)), ())
    is_declaration = " -> " in message.text and "(" in message.text  # the declaration of an operator
    return is_declaration or any(report in message.text for report in reports)


def words_of_entries(page) -> list:
    """Returns (line, words) for each code span in a heading of an entry or in a paragraph "Also: ..."."""
    found, is_also = [], False
    for number, line in enumerate(page.splitlines(), 1):
        is_also = line.startswith("Also:") or (is_also and line.strip() != "")
        if line.startswith("### ") or is_also:
            found += [(number, words) for words in re.findall(r"`([^`]+)`", line)]
    return found


def texts_of_all_sources() -> list:
    """Returns all literals, even short ones, because entries may also name messages that need no entry."""
    texts = [m.text for path in files([PYTHON], {".py"}) for m in messages.python_messages(path, fewest=1)]
    for path in files(("app", "core", "viz", "runtime"), {".cpp", ".h"}):
        texts += [m.text for m in messages.cpp_messages(path, fewest=1)]
    return texts


class Refusals(unittest.TestCase):
    def setUp(self):
        self.page = PAGE.read_text()
        self.words = words_of_entries(self.page)

    def test_each_message_has_an_entry(self):
        words = [words for _, words in self.words]
        missing = [
            f"{message.where()}: no entry of docs/refusals.md has words of: {message.text}"
            for message in all_messages()
            if not is_report(message) and not any(one in message.text for one in words)
        ]
        if missing:
            self.fail("\n" + "\n".join(missing))

    def test_each_entry_has_words_of_a_message(self):
        texts = texts_of_all_sources()
        unknown = [
            f"docs/refusals.md:{line}: no source has the words `{words}`"
            for line, words in self.words
            if not any(words in text for text in texts)
        ]
        if unknown:
            self.fail("\n" + "\n".join(unknown))

    def test_each_report_is_a_text_of_its_file(self):
        texts = {}
        for message in all_messages():
            texts.setdefault(str(message.path.relative_to(ROOT)), []).append(message.text)
        for path, reports in REPORTS.items():
            for report in reports:
                self.assertTrue(any(report in text for text in texts.get(path, ())), f"{path}: {report}")

    def test_no_words_stand_twice(self):
        seen = {}
        for line, words in self.words:
            self.assertNotIn(words, seen, f"docs/refusals.md:{line} and {seen.get(words)}")
            seen[words] = line

    def test_entries_have_a_cause_and_a_cure(self):
        for entry in re.split(r"^### ", self.page, flags=re.M)[1:]:
            heading, _, text = entry.partition("\n")
            text = re.split(r"^## ", text, flags=re.M)[0]
            sentences = re.findall(r"[.!?](?=\s|$)", re.sub(r"`[^`]*`", "x", text))
            self.assertGreaterEqual(len(sentences), 2, f"{heading}: no cause, or no cure")


class Collection(unittest.TestCase):
    """The collection finds messages in all forms in which sources write them."""

    def python(self, source) -> list:
        return [message.text for message in messages.PythonMessages(ROOT, source, 4).found]

    def test_python(self):
        self.assertEqual(self.python('"""A docstring of five words."""'), [])
        self.assertEqual(self.python('log.info("this is not told anybody")'), [])
        self.assertEqual(self.python('raise E(f"the {a} is not" " known")'), [f"the {VALUE} is not known"])
        self.assertEqual(self.python('log.warning("so many are %d here", 5)'), [f"so many are {VALUE} here"])
        self.assertEqual(self.python('x = "why it is so: " + why'), [f"why it is so: {VALUE}"])
        found = self.python("f\"{a if b else 'one more text here'} is told\"")
        self.assertIn("one more text here", found)

    def test_cpp(self):
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.cpp"
            path.write_text(
                '// "a comment of four words"\n'
                'if (a) return Error{"no " + b + " bytes "\n  "are free here"};\n'
                'TORCH_CHECK(c, "it has ", d, " of these four");\n'
                'f(c ? "this is the first" : "that is the second");\n'
            )
            texts = [message.text for message in messages.cpp_messages(path)]
            self.assertEqual(
                texts,
                [
                    "no … bytes are free here",
                    "it has … of these four",
                    "this is the first",
                    "that is the second",
                ],
            )
            inside = [message.text for message in messages.cpp_messages(path, within="Error{")]
            self.assertEqual(inside, ["no … bytes are free here"])
            self.assertEqual([message.line for message in messages.cpp_messages(path)], [2, 4, 5, 5])


if __name__ == "__main__":
    unittest.main()
