"""Finds in the code of a forward the attributes that the forward uses only as counters and logs."""

import ast
import functools
import itertools
import linecache
import types

import torch

from .code_names import codes_within, names_in, steps_in

OF_ATTRIBUTES = ("_ATTR", "_METHOD")  # endings of names of bytecode instructions that use attributes
ASK_FOR_ANY = {"__dict__", "vars", "attrgetter", "__getattribute__", "eval", "exec"}
OF_TORCH = frozenset(dir(torch.nn.Module)) | {"training", *torch.nn.Module().__dict__}


class UnreadNames:
    """Judges attributes by the code of a module's forward. `walked`: the functions and classes that can be
    reached from the module."""

    def __init__(self, module, walked):
        self.codes = reachable(module, [f.__code__ for f in walked if isinstance(f, types.FunctionType)])

    def is_unread(self, owner, name) -> bool:
        """Says whether the code mentions the attribute only in statements that use it as a counter or a log.
        `owner`: the class of the submodule that has the attribute."""
        if name in OF_TORCH or any(mentions(code, name) for code in codes_of_others(owner)):
            return False
        if any(may_ask_for(code, name) or may_ask_by_text(code, name) for code in self.codes):
            return False
        found = [code for code in self.codes if name in asked_in(code)]
        return bool(found) and all(counts_or_logs(code, name) for code in found)

    @staticmethod
    def log_statement(frame):
        """Returns (name of the variable, name of its attribute) if the call that the frame now runs is the
        argument of a statement VARIABLE.ATTRIBUTE.append(...); otherwise None."""
        positions = getattr(frame.f_code, "co_positions", None)
        if positions is None:  # Python 3.10 knows only lines, no columns
            return None
        at = next(itertools.islice(positions(), frame.f_lasti // 2, None), None)
        return log_calls(frame.f_code.co_filename).get(at)


def reachable(module, codes) -> list:
    """Returns the code objects that the forward may reach. The search compares names: it may find too many
    code objects, but it misses none."""
    reached, left = [], list(codes)
    names = {"forward", "backward", "setup_context", "vjp", "jvp"}
    for submodule in module.modules():
        for hooks in (submodule._forward_hooks, submodule._forward_pre_hooks):
            names.update(getattr(hook, "__name__", type(hook).__name__) for hook in hooks.values())
    while True:
        new = [code for code in left if code.co_name in names or is_called_by_python(code.co_name)]
        if not new:
            return reached
        for code in new:
            left.remove(code)
            reached.append(code)
            names.update(names_in(code))
            names.update(texts_in(code))


def is_called_by_python(name) -> bool:
    """Says whether Python may call code with this name although no code mentions the name, as it does for
    lambdas and operators."""
    return name.startswith("<") or (name.startswith("__") and name != "__init__")


@functools.cache
def texts_in(code) -> frozenset:
    found = set()
    for constant in (constant for each in codes_within(code) for constant in each.co_consts):
        several = constant if isinstance(constant, (tuple, frozenset)) else (constant,)
        found.update(part for part in several if isinstance(part, str))
    return frozenset(found)


@functools.cache
def asked_in(code) -> frozenset:
    """Returns the names of the attributes that the code reads, sets or deletes. Globals of the same names are
    not counted."""
    return frozenset(step.argval for step in steps_in(code) if step.opname.endswith(OF_ATTRIBUTES))


def mentions(code, name) -> bool:
    return name in names_in(code) or name in texts_in(code)


def codes_of_others(kind):
    """Yields the code of those base classes of `kind` that belong to libraries. The walk over the model does
    not enter code of libraries."""
    for base in kind.__mro__:
        if base not in (object, torch.nn.Module):
            for value in base.__dict__.values():
                if isinstance(value, types.FunctionType) and "site-packages" in value.__code__.co_filename:
                    yield value.__code__


@functools.cache
def tree_of(filename):
    """Returns the syntax tree of the file; None if there is no source, or if the source is not Python."""
    try:
        lines = linecache.getlines(filename)
        return ast.parse("".join(lines)) if lines else None
    except SyntaxError:
        return None


def may_ask_for(code, name) -> bool:
    """Says whether the code uses attributes by computed names, and this attribute may be one of them."""
    names = names_in(code)
    if not ASK_FOR_ANY.isdisjoint(names):
        return True
    if "getattr" not in names:
        return False
    tree = tree_of(code.co_filename)
    if tree is None:
        return True
    first, last = lines_of(code)
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and first <= n.lineno <= last]
    asked = [
        call.args[1] for call in calls if getattr(call.func, "id", "") == "getattr" and len(call.args) > 1
    ]
    return not all(isinstance(text, ast.Constant) or begins_otherwise(text, name) for text in asked)


def may_ask_by_text(code, name) -> bool:
    """Says whether the code may use the attribute by a string with its name. Strings in comparisons and as
    indices of containers do not count, because they are not used as names of attributes."""
    if name not in texts_in(code):
        return False
    tree = tree_of(code.co_filename)
    if tree is None:
        return True
    first, last = lines_of(code)
    itself = code.co_varnames[0] if code.co_argcount else None
    texts, harmless = 0, set()
    for node in ast.walk(tree):
        if not first <= getattr(node, "lineno", 0) <= last:
            continue
        texts += is_text(node, name)
        if isinstance(node, ast.Compare):
            harmless.update(id(part) for part in compared_texts(node) if is_text(part, name))
        if isinstance(node, ast.Subscript) and is_text(node.slice, name):
            is_container = (
                isinstance(node.value, ast.Attribute) or getattr(node.value, "id", itself) != itself
            )
            harmless.update([id(node.slice)] if is_container else [])
    return texts == 0 or texts > len(harmless)


def is_text(node, name) -> bool:
    return isinstance(node, ast.Constant) and node.value == name


def compared_texts(node):
    """Yields the operands of a comparison, and the items of those operands that are literal tuples, lists or
    sets."""
    for part in (node.left, *node.comparators):
        yield from part.elts if isinstance(part, (ast.Tuple, ast.List, ast.Set)) else (part,)


def begins_otherwise(text, name) -> bool:
    """Says whether `text` is an f-string, such as f"layer{i}", and `name` does not begin with its first part,
    such as "layer"."""
    first = text.values[0] if isinstance(text, ast.JoinedStr) and text.values else None
    return isinstance(first, ast.Constant) and not name.startswith(first.value)


def counts_or_logs(code, name) -> bool:
    """Says whether this code mentions the attribute only in statements that use it as a counter or a log."""
    tree = tree_of(code.co_filename)
    if tree is None:
        return False
    first, last = lines_of(code)
    mentioned = allowed = 0
    for node in ast.walk(tree):
        if not first <= getattr(node, "lineno", 0) <= last:
            continue
        mentioned += isinstance(node, ast.Attribute) and node.attr == name
        if isinstance(node, ast.stmt):
            allowed += mentions_in_statement(node, name)
    return 0 < mentioned == allowed


def lines_of(code):
    lines = [line for each in codes_within(code) for _, _, line in each.co_lines() if line is not None]
    return min([code.co_firstlineno, *lines]), max([code.co_firstlineno, *lines])


def mentions_in_statement(node, name) -> int:
    """Returns how often the statement mentions the attribute if it uses the attribute as a counter or a log;
    0 for any other statement."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Add, ast.Sub)):
        return int(is_attribute(node.target, name) and name not in attributes_in(node.value))
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.BinOp):
        target, value = node.targets[0], node.value
        is_same = is_attribute(target, name) and is_attribute(value.left, name)
        is_same = is_same and target.value.id == value.left.value.id
        return 2 * int(
            is_same and isinstance(value.op, (ast.Add, ast.Sub)) and name not in attributes_in(value.right)
        )
    found = log_of(node)
    return int(found is not None and found[1] == name and name not in attributes_in(found[2]))


def is_attribute(node, name) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.value, ast.Name)


def attributes_in(node) -> set:
    return {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}


def log_of(node):
    """Takes a statement VARIABLE.ATTRIBUTE.append(X.item()) or VARIABLE.ATTRIBUTE.append(float(X)). Returns
    the variable, the attribute, and the inner call; None for any other statement."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return None
    call = node.value
    if call.keywords or len(call.args) != 1 or not isinstance(call.args[0], ast.Call):
        return None
    function, argument = call.func, call.args[0]
    if not (isinstance(function, ast.Attribute) and function.attr == "append"):
        return None
    log = function.value
    if not (isinstance(log, ast.Attribute) and isinstance(log.value, ast.Name)):
        return None
    by = argument.func
    is_item = isinstance(by, ast.Attribute) and by.attr == "item" and not argument.args
    is_float = isinstance(by, ast.Name) and by.id == "float" and len(argument.args) == 1
    return (log.value.id, log.attr, argument) if (is_item or is_float) and not argument.keywords else None


@functools.cache
def log_calls(filename) -> dict:
    """Returns (variable, attribute) of each log statement in the file, by the position of the call whose
    value is appended."""
    tree = tree_of(filename)
    found = {}
    for statement in ast.walk(tree) if tree is not None else ():
        log = log_of(statement) if isinstance(statement, ast.stmt) else None
        if log is not None:
            variable, attribute, call = log
            place = call.lineno, call.end_lineno, call.col_offset, call.end_col_offset
            found[place] = variable, attribute
    return found
