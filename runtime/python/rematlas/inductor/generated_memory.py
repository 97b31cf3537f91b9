"""The memory of a compiled graph, read from the text that inductor generates for it.

Inductor writes each allocation, each reuse of a buffer and each `del` as a line of Python. So the allocated
bytes at each line are known before any kernel is compiled.
"""

import ast
import dataclasses


@dataclasses.dataclass(frozen=True)
class TextMemory:
    """The bytes of the tensors that the graph allocates, not counting its arguments."""

    peak_bytes: int  # the most bytes; an argument that the graph has dropped counts as negative bytes
    end_bytes: int  # bytes allocated when the graph returns, minus the arguments that it has dropped
    # names of the buffers that get new memory instead of the memory of a dead buffer
    allocated: tuple[str, ...] = ()
    larger: tuple["TextMemory", ...] = ()  # the memory for larger sizes, see larger_sizes.py


class Storage:
    def __init__(self, size):
        self.bytes = size


class _Reader:
    """Simulates the statements of the function `call`, and counts the bytes."""

    def __init__(self, sizes):
        self.sizes = sizes
        self.storages = {}  # by name
        self.uses = {}  # the number of names of each storage
        self.alive = self.peak = 0
        self.allocated = set()  # names of buffers that got new memory
        self.workspace = 0  # bytes of the workspace of the kernel whose outputs get their names now
        # For a line `buf4 = buf2[1]`, where a kernel returns the tuple buf2: {"buf2": {"buf2[1]": "buf4"}}.
        self.parts = {}

    def bind(self, name, storage) -> None:
        """Gives a storage one more name. A storage counts as allocated from its first name on."""
        if storage not in self.uses:
            self.uses[storage] = 0
            self.alive += storage.bytes
            self.peak = max(self.peak, self.alive + self.workspace)
        self.drop(name)
        self.uses[storage] += 1
        self.storages[name] = storage

    def drop(self, name) -> None:
        storage = self.storages.pop(name, None)
        if storage is None:
            return
        self.uses[storage] -= 1
        if self.uses[storage] == 0:
            self.alive -= storage.bytes

    def give(self, name, size) -> None:
        """Adds an argument. Its bytes are the caller's, so they do not count until the graph drops it."""
        storage = Storage(size)
        self.uses[storage] = 1
        self.storages[name] = storage

    def assign(self, target, value) -> None:
        if isinstance(value, ast.Name):
            if value.id in self.storages:
                self.bind(target, self.storages[value.id])
            return
        if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
            part = self.storages.get(ast.unparse(value))
            if part is not None:
                self.bind(target, part)
            return
        if not isinstance(value, ast.Call):
            return
        called = ast.unparse(value.func)
        if called.endswith("reinterpret_tensor") or called.endswith("as_strided"):
            source = value.args[0]
            if isinstance(source, ast.Name) and source.id in self.storages:
                self.bind(target, self.storages[source.id])
            return
        known = self.sizes.workspace_of(target)
        if known is None:
            known = self.largest_argument(value) - sum(self.made_by(target).values())
        self.workspace = max(0, known)
        self.peak = max(self.peak, self.alive + self.workspace)
        self.bind_made(target)

    def bind_made(self, name) -> None:
        """Adds the tensor that a kernel or an allocation made; for a tuple that a kernel made, adds each of
        its parts."""
        for made, size in self.made_by(name).items():
            self.bind(made, Storage(size))
            self.allocated.add(made)

    def made_by(self, name) -> dict[str, int]:
        """Returns {name: bytes}: one entry if `name` is a tensor, and one entry for each part if `name` is a
        tuple of tensors."""
        sizes = {
            made: self.sizes.bytes_of(known_as)
            for made, known_as in self.parts.get(name, {name: name}).items()
        }
        return {made: size for made, size in sizes.items() if size is not None}

    def largest_argument(self, call) -> int:
        names = [node.id for node in ast.walk(call) if isinstance(node, ast.Name)]
        return max((self.storages[name].bytes for name in names if name in self.storages), default=0)

    def run(self, call) -> None:
        """Simulates a kernel, whose workspace exists while the kernel runs. If an op of torch is called
        without `out`, it changes its arguments, and its workspace is not known. The workspace is then assumed
        to be as large as the largest argument."""
        outs = [keyword.value for keyword in call.keywords if keyword.arg == "out"]
        workspaces = [self.sizes.workspace_of(out.id) or 0 for out in outs if isinstance(out, ast.Name)]
        if not outs and ast.unparse(call.func).startswith(("aten.", "torch.ops.")):
            workspaces = [self.largest_argument(call)]
        self.peak = max(self.peak, self.alive + max(workspaces, default=0))

    def play(self, statements) -> None:
        for statement in statements:
            value = getattr(statement, "value", None)
            self.workspace = 0
            if isinstance(statement, ast.Delete):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        for name in (target.id, *self.parts.get(target.id, ())):
                            self.drop(name)
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                self.assign(statement.targets[0].id, value)
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
                self.play_arguments(statement)
            elif isinstance(statement, ast.Expr) and isinstance(value, ast.Call):
                self.run(value)
            elif isinstance(statement, ast.Return):
                returned = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
                for name in [name for name in self.storages if name not in returned]:
                    self.drop(name)
            elif isinstance(statement, ast.With | ast.If | ast.For | ast.Try):
                self.play(statement.body)

    def play_arguments(self, statement) -> None:
        if not (isinstance(statement.value, ast.Name) and statement.value.id == "args"):
            return
        for name in statement.targets[0].elts:
            size = self.sizes.argument_bytes_of(name.id)
            if size is not None:
                self.give(name.id, size)


class UnreadText(Exception):
    """Raised if the text does not have the form that this file reads."""


def call_of(text: str) -> ast.FunctionDef:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == "call":
            return node
    raise UnreadText("inductor has generated no function `call`")


def parts_of_tuples(statements) -> dict:
    """Finds the statements that give names to parts of tuples. For the statement `buf4 = buf2[1]`, the result
    contains {"buf2": {"buf2[1]": "buf4"}}."""
    found = {}
    for statement in statements:
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.Assign) and isinstance(value, ast.Subscript):
            if isinstance(value.value, ast.Name) and isinstance(statement.targets[0], ast.Name):
                parts = found.setdefault(value.value.id, {})
                parts.setdefault(ast.unparse(value), statement.targets[0].id)
        elif isinstance(statement, ast.With | ast.If | ast.For | ast.Try):
            found.update(parts_of_tuples(statement.body))
    return found


def memory_of(text: str, sizes) -> TextMemory:
    """Returns the memory of the graph whose generated text this is. `sizes` has the methods `bytes_of(name)`
    (None if the name is not a buffer), `workspace_of(name)` (None for an extern kernel that cannot be run
    alone), and `argument_bytes_of(name)`."""
    body = call_of(text).body
    reader = _Reader(sizes)
    reader.parts = parts_of_tuples(body)
    reader.play(body)
    return TextMemory(reader.peak, reader.alive, tuple(sorted(reader.allocated)))
