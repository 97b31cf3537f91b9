"""Tests mutate.py: how it finds the places of a text that can be changed, and which mutants it reports as
killed, surviving or not compiling."""

import io
import tempfile
import unittest
from pathlib import Path

from mutate import (
    GoogleTests,
    Mutant,
    Trials,
    code_of,
    drawn,
    mutant_of,
    mutated_text,
    places_of,
    read_not_killed_by_a_test,
    try_all,
)

SAMPLE = """\
#include <a+b>
// a < b && c
static_assert(sizeof(int) == 4);
template <typename T>
bool fits(const std::vector<int>& sizes, T&& room) {
    int sum = 0;
    for (int size : sizes) sum += size;  // 1 + 1
    if (sizes.empty()) return true;
    note("a < b");
    while (const auto next = more()) use(*next);
    room.left -= std::max(sum, 1'000) - 0x10;
    items[sum]->count++;
    return !closed && sum <= -room;
}
"""


def changes_of(text: str) -> list[tuple]:
    return [
        (mutant.line, mutant.operator, mutant.original, mutant.mutated)
        for changes in places_of(text)
        for mutant in (mutant_of("core/sample.cpp", text, change) for change in changes)
    ]


class PlacesTest(unittest.TestCase):
    def test_every_place_of_a_sample_and_no_other(self):
        self.assertEqual(
            sorted(changes_of(SAMPLE)),
            sorted(
                [
                    (6, "constant", "0", "1"),
                    (7, "deleted", "sum += size", ""),
                    (7, "arithmetic", "+=", "-="),
                    (8, "negated", "(sizes.empty())", "(!(sizes.empty()))"),
                    (8, "name", "true", "false"),
                    (9, "deleted", 'note("a < b")', ""),
                    (10, "deleted", "use(*next)", ""),
                    (11, "deleted", "room.left -= std::max(sum, 1'000) - 0x10", ""),
                    (11, "arithmetic", "-=", "+="),
                    (11, "name", "std::max", "std::min"),
                    (11, "constant", "1'000", "999"),
                    (11, "constant", "1'000", "1001"),
                    (11, "arithmetic", "-", "+"),
                    (11, "constant", "0x10", "15"),
                    (11, "constant", "0x10", "17"),
                    (12, "deleted", "items[sum]->count++", ""),
                    (13, "negated", "!closed && sum <= -room", "!(!closed && sum <= -room)"),
                    (13, "negated", "!", ""),
                    (13, "logic", "&&", "||"),
                    (13, "relation", "<=", "<"),
                ]
            ),
        )

    def test_what_is_not_code_is_blank_and_offsets_stay(self):
        code = code_of(SAMPLE)
        self.assertEqual(len(code), len(SAMPLE))
        self.assertNotIn("a < b", code)
        self.assertEqual(code.count("\n"), SAMPLE.count("\n"))

    def test_a_mutant_is_found_again_and_refused_when_its_text_has_changed(self):
        mutant = Mutant("core/sample.cpp", 13, 27, "relation", "<=", "<")
        self.assertIn("sum < -room", mutated_text(SAMPLE, mutant))
        with self.assertRaises(ValueError):
            mutated_text(SAMPLE.replace("<=", ">="), mutant)


# TEST is a program whose output looks like GoogleTest's.
CODE = """\
bool less(int a, int b) { return a < b; }
int twice(int a) { return a * 2; }
int spun() {
    int n = 0;
    while (n < 3) ++n;
    return n;
}
"""
TEST = """\
#include <cstdio>
bool less(int a, int b);
int spun();
int main() {
    std::puts("[ RUN      ] Sample.Orders");
    std::fflush(stdout);
    if (less(1, 2) && !less(2, 2) && spun() == 3) return 0;
    std::puts("[  FAILED  ] Sample.Orders (0 ms)");
    return 1;
}
"""


class TrialsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "core").mkdir()
        (self.root / "core" / "sample.cpp").write_text(CODE)
        (self.root / "sample_test.cpp").write_text(TEST)
        program = self.root / "sample_test"
        tests = GoogleTests(program)
        tests.seconds, tests.folder = {"Sample.Orders": 0.0}, {"Sample.Orders": "core"}
        build = ["c++", "-o", program, self.root / "core" / "sample.cpp", self.root / "sample_test.cpp"]
        self.trials = Trials(self.root, build, tests)

    def outcome(self, *mutant) -> tuple:
        tried = Mutant("core/sample.cpp", *mutant)
        compiled = self.trials.try_one(tried)
        self.assertEqual((self.root / "core" / "sample.cpp").read_text(), CODE)
        return compiled, tried.outcome, tried.by

    def test_a_mutant_that_a_test_sees_is_killed_by_it(self):
        self.assertEqual(self.outcome(1, 36, "relation", "<", "<="), (True, "killed", "Sample.Orders"))

    def test_a_mutant_that_no_test_sees_survives(self):
        self.assertEqual(self.outcome(2, 29, "arithmetic", "*", "/"), (True, "survived", ""))

    def test_a_mutant_that_does_not_compile_has_no_outcome(self):
        self.trials.build = ["false"]
        self.assertEqual(self.outcome(2, 29, "arithmetic", "*", "/"), (False, "", ""))

    def test_a_mutant_that_never_ends_is_killed_by_the_clock(self):
        self.assertTrue(self.trials.compiles())
        self.assertEqual(self.trials.tests.run(["Sample.Orders"], 60), None)
        (self.root / "core" / "sample.cpp").write_text(CODE.replace("++n", ""))
        self.assertTrue(self.trials.compiles())
        self.assertEqual(self.trials.tests.run(["Sample.Orders"], 2), "time: Sample.Orders")

    def test_a_sample_is_drawn_by_its_seed_and_its_survivors_can_be_tried_again(self):
        first, same, other = (list(drawn(self.root, "core", seed)) for seed in (1, 1, 2))
        self.assertEqual(first, same)
        self.assertNotEqual(first, other)
        self.trials.tests.killer = lambda file: None
        written = io.StringIO()
        outcomes = try_all(self.trials, iter(first), 3, written)
        self.assertEqual(outcomes["survived"], 3)
        (self.root / "sample.csv").write_text(written.getvalue())
        again = read_not_killed_by_a_test(self.root / "sample.csv")
        self.assertEqual(
            [(m.line, m.column, m.mutated) for m in again],
            [(m.line, m.column, m.mutated) for m in first if m.outcome],
        )


if __name__ == "__main__":
    unittest.main()
