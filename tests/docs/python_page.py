"""Makes docs/reference/python.md from the signatures and docstrings of the package's public names.

The sources are read, not imported. A docstring describes an argument in a sentence that begins with the
argument's name and a colon (`budget`: bytes ...); the page makes a list of these sentences. Every argument of
a function must be described.
"""

import ast
import dataclasses
import inspect
import pathlib
import re

from running import ROOT

PACKAGE = ROOT / "runtime" / "python" / "rematlas"
INTRODUCTION = """\
# Python

<!-- tests/docs/reference_pages.py writes this page from the signatures and docstrings of the package. -->

`import rematlas` has the names of this page. Import it before the model is made, because memory of the host
is counted from the import on.

A budget is a number of bytes (`2 * 1024**3`), a text with a unit (`"2GiB"`, `"512MiB"`, `"1500MB"`), or a
share (`"60%"` of the step's peak without recomputation, `"60% of activations"`). All sizes are in bytes, and
all times are in seconds unless their names say otherwise. An overhead is the time of a step by the plan over
its time without recomputation: 1.1 means ten percent more time.
"""
# The groups of the page: a title, and the public names in the order of the page.
GROUPS = {
    "Training under a budget": ("apply", "load", "remove", "status", "Status"),
    "Plans ahead of training": ("plan", "Plan", "fits"),
    "torch.compile": ("compile", "compile_options"),
    "Online eviction": ("evict",),
    "Head and loss by chunks": ("chunked_loss", "ChunkedLoss"),
    "PyTorch's own checkpointing": ("checkpoint_policy", "SelectivePolicy"),
    "Errors and warnings": ("Refused", "Infeasible", "RefusedWarning", "Thrashing"),
    "The interface of Rockmate": (
        *("PublishedModule", "Rockmate", "PureRockmate", "HiRemate", "Hiremate", "HRockmate"),
        *("Checkmate", "Rotor", "DTR"),
        *("from_config", "generate_config", "check_config", "save_config", "load_config"),
    ),
}
# Classes of values that public names return, as (file, class). The page describes them after the name.
RETURNED = {
    "Status": (("training_status.py", "PlanInfo"), ("compiled/answers.py", "Eviction")),
    "compile": (
        ("inductor/compiled_status.py", "CompiledStatus"),
        ("inductor/compiled_graph.py", "CompiledGraph"),
        ("inductor/plain_comparison.py", "Difference"),
    ),
    "evict": (("fallback/evicting.py", "OnlineEviction"),),
}
WIDTH = 100
# Matches `budget`: or `args` and `kwargs`: at the beginning of a sentence.
ABOUT_ARGUMENT = re.compile(r"(?:^|(?<=[.)] ))`\w+`(?:, `\w+`)*(?: and `\w+`)?:")


class Missing(ValueError):
    """A public name or an argument has no description."""


def tree_of(path: pathlib.Path) -> ast.Module:
    return ast.parse(path.read_text())


def public_names() -> dict[str, pathlib.Path]:
    """Returns each name of `__all__` with the file that defines it."""
    tree = tree_of(PACKAGE / "__init__.py")
    names, files = [], {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            names = ast.literal_eval(node.value)
        elif isinstance(node, ast.ImportFrom) and node.level == 1:
            path = PACKAGE / (node.module.replace(".", "/") + ".py")
            files |= {alias.asname or alias.name: path for alias in node.names}
    return {name: files[name] for name in names}


def definition(path: pathlib.Path, name: str):
    for node in tree_of(path).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
            return node
    raise Missing(f"{path}: {name} is not defined there")


@dataclasses.dataclass
class Signature:
    shown: str
    arguments: list[str]  # without self, *args and **kwargs


def signature_of(node: ast.FunctionDef, name: str, is_method: bool) -> Signature:
    """Returns the signature as a call; a long one takes several lines."""
    given, parts = node.args, []
    plain = [*given.posonlyargs, *given.args]
    without = [None] * (len(plain) - len(given.defaults))
    pairs = list(zip(plain, [*without, *given.defaults]))[1 if is_method else 0 :]
    parts += [shown_argument(argument, default) for argument, default in pairs]
    if given.vararg:
        parts.append(f"*{given.vararg.arg}")
    elif given.kwonlyargs:
        parts.append("*")
    parts += [shown_argument(*pair) for pair in zip(given.kwonlyargs, given.kw_defaults)]
    if given.kwarg:
        parts.append(f"**{given.kwarg.arg}")
    one_line = f"{name}({', '.join(parts)})"
    if len(one_line) > WIDTH:
        one_line = f"{name}(\n" + "".join(f"    {line},\n" for line in filled(parts)) + ")"
    names = [argument.arg for argument, _ in pairs] + [argument.arg for argument in given.kwonlyargs]
    return Signature(one_line, names)


def shown_argument(argument: ast.arg, default) -> str:
    if default is None:
        return argument.arg
    return f"{argument.arg}={ast.unparse(default)}".replace("'", '"').replace("=SECONDS", f"={seconds()}")


def seconds() -> float:
    """Returns the default time limit of `compile`, which is a constant of its module."""
    found = re.search(r"^SECONDS = ([\d.]+)", (PACKAGE / "inductor" / "entry.py").read_text(), re.MULTILINE)
    return float(found[1])


def filled(parts: list[str]) -> list[str]:
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 2 > WIDTH - 6:
            lines.append(part)
        else:
            lines[-1] += ", " + part
    return lines


def blocks_of(text: str) -> list[tuple[bool, str]]:
    """Returns (is_code, text) for each paragraph of a docstring. Code is not wrapped."""
    found = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        is_code = all(line.startswith("    ") for line in part.splitlines())
        found.append((is_code, part))
    return found


def described(text: str) -> list[str]:
    """Returns the lines of a docstring, with a list of its sentences about arguments. The sentence about
    exceptions follows the list."""
    lines, is_behind_list = [], False
    for is_code, part in blocks_of(text):
        if is_code:
            code = [line[4:] for line in part.splitlines()]
            lines += ["<!-- not run: a part of a program -->", "```python", *code, "```", ""]
            continue
        if part.startswith("- "):
            lines += [*part.splitlines(), ""]
            continue
        before, items, behind = split_at_arguments(" ".join(part.split()))
        if before:
            lines += [*wrapped(before), ""]
        elif is_behind_list:
            lines.pop()
        for item in items:
            lines += wrapped(item, "- ", "  ")
        lines += [""] if items else []
        lines += [*wrapped(behind), ""] if behind else []
        is_behind_list = bool(items and not behind)
    return lines


def split_at_arguments(text: str) -> tuple[str, list[str], str]:
    """Splits a paragraph before each sentence that begins with the name of an argument and a colon. Returns
    the text before these sentences, the sentences, and the text about exceptions."""
    starts = [found.start() for found in ABOUT_ARGUMENT.finditer(text)]
    ends = [*starts, len(text)]
    items = [text[a:b].strip() for a, b in zip(starts, ends[1:])]
    behind = ""
    if items:
        last, _, raised = items[-1].partition(". Raises ")
        if raised:
            items[-1], behind = f"{last}.", f"Raises {raised}"
    return text[: ends[0]].strip(), items, behind


def wrapped(text: str, first: str = "", further: str = "") -> list[str]:
    lines, current = [], first
    for word in text.split():
        is_empty = current in (first, further)
        if not is_empty and len(current) + 1 + len(word) > 108:
            lines.append(current)
            current, is_empty = further, True
        current += word if is_empty else " " + word
    return [*lines, current]


def undescribed(text: str, arguments: list[str]) -> list[str]:
    told = set(re.findall(r"`(\w+)`", text))
    return [argument for argument in arguments if argument not in told]


def of_function(node: ast.FunctionDef, name: str, level: str, is_method=False) -> list[str]:
    text = ast.get_docstring(node) or ""
    signature = signature_of(node, name if is_method else f"rematlas.{name}", is_method)
    if not text:
        raise Missing(f"{name} has no docstring")
    missing = [] if is_method else undescribed(text, signature.arguments)
    if missing:
        raise Missing(f"{name}: the docstring does not describe {', '.join(missing)}")
    title = f"{level} {name}"
    call = ["```text", *signature.shown.splitlines(), "```", ""]
    return [title, "", *call, *described(text)]


def of_class(path: pathlib.Path, name: str, level: str, is_public: bool) -> list[str]:
    """Returns the section of a class: its docstring, its attributes and its methods as tables."""
    node = definition(path, name)
    text = ast.get_docstring(node) or ""
    base = [ast.unparse(base) for base in node.bases]
    lines = [f"{level} {name}", ""]
    if is_public and base:
        lines += wrapped(f"A class derived from `{'`, `'.join(base)}`.") + [""]
    if not text:
        raise Missing(f"the class {name} has no docstring")
    made = next((inner for inner in node.body if getattr(inner, "name", "") == "__init__"), None)
    if is_public and ABOUT_ARGUMENT.search(" ".join(text.split())) and made:
        shown = signature_of(made, f"rematlas.{name}", True).shown
        lines += ["```text", *shown.splitlines(), "```", ""]
    lines += described(text)
    fields = fields_of(path, node) + properties_of(node)
    if fields:
        lines += ["| attribute | meaning |", "|---|---|"]
        lines += [f"| `{field}` | {meaning.replace('|', chr(92) + '|')} |" for field, meaning in fields] + [
            ""
        ]
    methods = methods_of(node)
    if methods:
        lines += ["| method | what it does |", "|---|---|"]
        lines += [f"| `{call}` | {meaning} |" for call, meaning in methods] + [""]
    return lines


def fields_of(path: pathlib.Path, node: ast.ClassDef) -> list[tuple[str, str]]:
    """Returns the fields of a dataclass with the comments next to or above them. Fields with repr=False are
    left out, because they are internal."""
    source, found = path.read_text().splitlines(), []
    for inner in node.body:
        if not isinstance(inner, ast.AnnAssign) or "repr=False" in ast.unparse(inner):
            continue
        name, comment = inner.target.id, comment_of(source, inner.lineno - 1)
        if not comment:
            raise Missing(f"{path}: {node.name}.{name} has no comment")
        found.append((name, sentence(comment)))
    return found


def comment_of(source: list[str], at: int) -> str:
    behind = source[at].partition("  # ")[2]
    above = []
    while not behind and source[at - 1].strip().startswith("# "):
        at -= 1
        above.insert(0, source[at].strip().removeprefix("# "))
    return behind or " ".join(above)


def properties_of(node: ast.ClassDef) -> list[tuple[str, str]]:
    found = []
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_") and is_property(inner):
            found.append((inner.name, one_line(ast.get_docstring(inner), f"{node.name}.{inner.name}")))
    return found


def is_property(node: ast.FunctionDef) -> bool:
    return any(getattr(decorator, "id", "") == "property" for decorator in node.decorator_list)


def methods_of(node: ast.ClassDef) -> list[tuple[str, str]]:
    found = []
    for inner in node.body:
        if not isinstance(inner, ast.FunctionDef) or is_property(inner) or inner.name in UNTOLD:
            continue
        if inner.name.startswith("_") and inner.name not in ("__call__",):
            continue
        text = ast.get_docstring(inner)
        if text is None or any(ast.unparse(d).endswith(".setter") for d in inner.decorator_list):
            continue
        call = signature_of(inner, inner.name, not is_static(inner)).shown
        found.append((" ".join(call.split()), one_line(text, inner.name)))
    return found


UNTOLD = {
    "of",
    "is_told_by",
    "used_outputs",
    "chunk_size",
    "likeliest_first",
    "note_end",
}  # internal methods


def is_static(node: ast.FunctionDef) -> bool:
    return any(getattr(decorator, "id", "") == "staticmethod" for decorator in node.decorator_list)


def one_line(text: str | None, name: str) -> str:
    if not text:
        raise Missing(f"{name} has no docstring")
    return sentence(" ".join(text.split()).replace("|", "\\|"))


def sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith(".") else text + "."


def page() -> str:
    names = public_names()
    told = [name for group in GROUPS.values() for name in group]
    if sorted(told) != sorted(names):
        raise Missing(f"rematlas.__all__ and the groups of the page differ: {set(told) ^ set(names)}")
    lines = [INTRODUCTION]
    for title, group in GROUPS.items():
        lines += [f"## {title}", ""]
        for name in group:
            lines += of_name(name, names[name])
            for file, inner in RETURNED.get(name, ()):
                lines += of_class(PACKAGE / file, inner, "####", False)
    return "\n".join(lines).rstrip("\n") + "\n"


def of_name(name: str, path: pathlib.Path) -> list[str]:
    node = definition(path, name)
    if isinstance(node, ast.ClassDef):
        return of_class(path, name, "###", True)
    return of_function(node, name, "###")
