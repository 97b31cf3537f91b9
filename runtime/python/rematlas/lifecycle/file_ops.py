"""Ops that a plan given to `apply` may not run, because they do more than compute on tensors."""

import json

import torch

FILES = {"filename", "file_name", "file", "path"}  # names of arguments
OTHERS = {"aten::_print", "aten::set_data", "aten::set_"}


def op_that_does_more(graph_text: str) -> str:
    """Returns the name of an op of the graph that names files, writes to the terminal, or replaces the memory
    of tensors; empty if there is none."""
    for name in sorted({op["name"] for op in json.loads(graph_text)["ops"]}):
        schemas = torch._C._jit_get_schemas_for_operator(name)
        names_files = any(argument.name in FILES for schema in schemas for argument in schema.arguments)
        if names_files or name in OTHERS or name.startswith(("profiler::", "prim::")):
            return name
    return ""
