"""The ops that the runtime knows by name have the same schemas in the running torch as when the runtime's
code was written.

    python schemas_test.py --write     # after the code was adapted to a new version

`tests/runtime/schemas/2.11.txt` has the sorted schemas of these ops in torch 2.11. A version without a file
is compared with the latest earlier version that has a file.
"""

import pathlib
import re
import sys
import unittest

import torch
import torchgen

from rematlas_command.builds import minor_of

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCHEMAS = ROOT / "tests" / "runtime" / "schemas"
FULL_NAME = re.compile(r'"aten::([a-zA-Z_0-9]+)[".]')
SHAPE_KERNEL = re.compile(r'add\(libraries, "([a-zA-Z_0-9]+)["_.]?')
SHAPE_KERNELS = re.compile(r"for \(const char\* name : \{([^}]*)\}\)\s*add\(libraries, name,")
NAME_IN_LIST = re.compile(r'"([a-zA-Z_0-9]+)')

BACKWARD_CALL = re.compile(r"\b([a-z_0-9]+_backward(?:_[a-z]+)?)\(")
ON_META = ("Meta", "CompositeImplicitAutograd", "CompositeExplicitAutograd")
WITHOUT_SHAPES = {
    "_fake_quantize_learnable_per_channel_affine_backward",
    "_fake_quantize_learnable_per_tensor_affine_backward",
    "_nested_sum_backward",
    "_sparse_mm_reduce_impl_backward",
    "fractional_max_pool3d_backward",
}


def shape_kernels() -> set:
    """Returns the names of the ops for which the runtime has its own shape kernel."""
    text = sources()
    in_lists = "".join(SHAPE_KERNELS.findall(text))
    return {*SHAPE_KERNEL.findall(text), *NAME_IN_LIST.findall(in_lists)}


def named_ops() -> set:
    """Returns the names of the ops that occur in the runtime's sources."""
    return {*FULL_NAME.findall(sources()), *shape_kernels()}


def sources() -> str:
    return "".join(file.read_text() for file in (ROOT / "runtime").rglob("*.cpp"))


def schemas_now() -> list:
    """Returns the schemas of the ops in `named_ops` in the running torch, including overloads."""
    names = named_ops()
    found = {str(schema) for schema in torch._C._jit_get_all_schemas()}
    return sorted(
        text for text in found if text.partition("(")[0].removeprefix("aten::").split(".")[0] in names
    )


def version(path) -> list:
    return [int(part) for part in path.stem.split(".")]


def file_for(minor: str) -> pathlib.Path:
    """Returns the file of schemas of this version of torch, or of the latest earlier version that has a
    file."""
    running = [int(part) for part in minor.split(".")]
    return max((path for path in SCHEMAS.glob("*.txt") if version(path) <= running), key=version)


def changes(before, after) -> list:
    return [f"- {text}" for text in before if text not in after] + [
        f"+ {text}" for text in after if text not in before
    ]


class Schemas(unittest.TestCase):
    def test_they_are_as_the_code_knows_them(self):
        path = file_for(minor_of(torch.__version__))
        changed = changes(path.read_text().splitlines(), schemas_now())
        self.assertEqual(
            changed,
            [],
            f"torch {torch.__version__} has other schemas than {path.name} says; look at the shape kernels,"
            " the traits of ops and the rules that name these ops, and then run this file with --write",
        )

    def test_what_changed_between_versions_is_listed(self):
        """The printed list shows where to begin when the code is adapted to a new version."""
        files = sorted(SCHEMAS.glob("*.txt"), key=version)
        self.assertGreaterEqual(len(files), 2)
        for before, after in zip(files, files[1:]):
            listed = changes(before.read_text().splitlines(), after.read_text().splitlines())
            print(f"{before.stem} to {after.stem}: {len(listed)} lines", *listed, sep="\n  ", file=sys.stderr)
            self.assertTrue(listed, f"{after.name} says the same as {before.name}: it is not needed")

    def test_ops_that_formulas_of_gradients_name_have_shapes(self):
        """The formulas are those of the running torch (derivatives.yaml). The shapes of their ops come from
        torch's Meta kernels or from the runtime's kernels."""
        formulas = pathlib.Path(torchgen.__file__).parent / "packaged" / "autograd" / "derivatives.yaml"
        overloads = {str(schema).partition("(")[0] for schema in torch._C._jit_get_all_schemas()}
        called = set(BACKWARD_CALL.findall(formulas.read_text()))
        ops = {name: [op for op in overloads if op.split(".")[0] == f"aten::{name}"] for name in called}
        ops = {name: found for name, found in ops.items() if found}
        self.assertGreater(len(ops), 100)
        ours = shape_kernels()
        has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
        without = {
            name
            for name, found in ops.items()
            if name not in ours and not any(has_kernel(op, key) for op in found for key in ON_META)
        }
        self.assertEqual(without, WITHOUT_SHAPES, "capture --device meta refuses these by name")

    def test_ops_are_found_in_the_sources(self):
        names = named_ops()
        self.assertGreater(len(names), 150)
        self.assertLessEqual({"convolution", "native_batch_norm", "max_unpool2d", "copy_"}, names)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        (SCHEMAS / f"{minor_of(torch.__version__)}.txt").write_text("\n".join(schemas_now()) + "\n")
    else:
        unittest.main()
