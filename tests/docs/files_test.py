"""docs/reference/files.md names every key that the readers of files ask for. pages_test.py reads the examples
of this page."""

import json
import re
import unittest

from blocks import Page
from running import ROOT

PAGE = ROOT / "docs" / "reference" / "files.md"
READERS = (
    *("core/graph/graph_file.cpp", "core/schedule/schedule_file.cpp", "core/planning/sweep_file.cpp"),
    *("core/planning/fits_file.cpp", "core/planning/run_steps.cpp"),
    *("core/costs/device_profile.cpp", "core/costs/host_profile.cpp", "core/costs/link_profile.cpp"),
    "runtime/python/rematlas/checkpointing/policy_file.py",
)
KEY = re.compile(
    r"(?:\.(?:text|text_or|integer|integer_or|number|array|at|has|boolean_or)|id_of<\w+>|ids_of<\w+>"
    r"|ids_if_any<\w+>|sizes_of|bytes_in|bytes_if|bytes_of|time_of|positive|share_or|shares|rates|size_or"
    r"|within|bandwidth|read_tensors_once)\((?:\w+, )?\"([a-z_0-9]+)\"|(?:told|region|op)\[\"(\w+)\"\]"
)
FORMAT = re.compile(r"\"(rematlas\.[a-z]+)\"")
# Formats of printed answers, which are not files.
PRINTED = {"rematlas.doctor", "rematlas.measurement", "rematlas.run"}
EXPLAINED_ELSEWHERE = {"format", "version"}


class Files(unittest.TestCase):
    def on_page(self) -> set[str]:
        return set(re.findall(r"`([a-z_0-9.]+)`", PAGE.read_text()))

    def test_every_key_that_a_reader_asks_for_is_on_the_page(self):
        for reader in READERS:
            with self.subTest(reader=reader):
                keys = {name for pair in KEY.findall((ROOT / reader).read_text()) for name in pair if name}
                self.assertGreater(len(keys), 1)
                self.assertEqual(keys - self.on_page() - EXPLAINED_ELSEWHERE, set())

    def test_every_key_of_an_example_is_on_the_page(self):
        def keys_of(value) -> set[str]:
            if isinstance(value, dict):
                below = [keys_of(one) for key, one in value.items() if key not in ("sources", "options")]
                return set(value).union(*below)
            return set().union(*map(keys_of, value)) if isinstance(value, list) else set()

        examples = [block for block in Page.read(PAGE).blocks if block.language == "json"]
        self.assertGreater(len(examples), 6)
        for block in examples:
            with self.subTest(example=block.title):
                values = map(
                    json.loads, block.text.splitlines() if block.title.endswith("l") else [block.text]
                )
                found = set().union(*map(keys_of, values))
                types = {"f32", "bf16", "slots", "options", "type", "process", "model"}
                self.assertEqual(found - self.on_page() - types, set())

    def test_every_format_has_an_example_or_a_heading(self):
        text = PAGE.read_text()
        sources = [*(ROOT / "core").rglob("*.cpp"), *(ROOT / "app").rglob("*.cpp")]
        sources += (ROOT / "runtime" / "python").rglob("*.py")
        found = {name for path in sources for name in FORMAT.findall(path.read_text())} - PRINTED
        self.assertGreater(len(found), 8)
        for name in sorted(found):
            word = name.removeprefix("rematlas.")
            has_heading = re.search(rf"^## .*\b{word}", text, re.MULTILINE | re.IGNORECASE)
            self.assertTrue(name in text or has_heading, f"{PAGE} says nothing of the format {name}")


if __name__ == "__main__":
    unittest.main()
