"""The state, besides the module's tensors, that a forward could change: saved before a trial, restored after.

kept = KeptState(module, arguments)
copy.deepcopy(module, kept.shared)    # the copy shares the objects that code reaches by name
...                                   # forwards of the copy
kept.put_back()
"""

import array
import collections
import contextvars
import io
import random
import sys
import types
from functools import partial

import torch

from .code_names import globals_in, is_foreign, names_in
from .plain_values import plain
from .walk import APART, DEEPEST, Walk, names_of_slots

LARGEST_KEPT = 1 << 26  # the most bytes of a tensor whose contents are restored
# Objects of these Python modules reach other threads, processes or files. Data that a program sends through
# them cannot be taken back.
OF_OTHERS = {"queue", "_queue", "multiprocessing.queues", "asyncio.queues", "socket", "sqlite3"}
CONTAINERS = (list, dict, set, collections.deque)
MISSING = object()


class KeptState(Walk):
    """Saves and restores the state of all objects that the module and the arguments reach: attributes,
    containers, globals, closures, defaults and classes.

    `runs_itself`: the module itself will run, not a copy of it. So this object also saves the contents of the
    module's arrays, its generators, and its tensors that are neither parameters nor buffers. `shared`: the
    objects, by id, that code reaches by name in globals, closures and classes. A copy of the module shares
    these objects with the module. `uncopyable`: paths of objects that are not copied, change when they are
    used, and cannot be restored: iterators, files, queues.
    """

    def __init__(self, module, arguments=(), runs_itself=False):
        self.puts_back = []  # functions without arguments, each of which restores a part of the state
        self.kept = {}  # objects by id whose state is saved already; the references keep them alive
        self.shared = {}
        self.uncopyable = []
        self.runs_itself = runs_itself
        self.is_in_code = False
        self.reaches_module = False  # code reaches the module, or a part of it, by name
        self.own = {id(tensor) for tensor in (*module.parameters(), *module.buffers())}
        super().__init__(module)
        uncopyable = list(self.uncopyable)
        self.add_value("arguments", arguments, 0)
        # Paths within the arguments do not count, because the arguments are copied.
        self.uncopyable = uncopyable
        self.walk_code()

    def walk_code(self) -> None:
        """Walks once more, this time only over the objects that code reaches by name."""
        code, self.walked, self.seen, self.is_in_code = self.walked, set(), set(), True
        # `held` becomes empty, so this walk may hold as many objects as the first one.
        self.kept["walked"], self.held = self.held, []
        for function_or_class in code:
            if isinstance(function_or_class, type):
                self.add_class(function_or_class)
            else:
                self.add_function(function_or_class.__qualname__, function_or_class, 0)
        if self.reaches_module:  # containers may hold parts of the module, so they are copied, too
            self.shared = {i: value for i, value in self.shared.items() if not isinstance(value, CONTAINERS)}

    def put_back(self) -> None:
        for put_back in reversed(self.puts_back):
            put_back()

    # Saving state.
    def is_new(self, value) -> bool:
        """Says whether the state of this object has not been saved yet, and marks the object as saved."""
        is_new = id(value) not in self.kept
        self.kept[id(value)] = value
        return is_new

    def keep_container(self, value) -> None:
        if not self.is_new(value):
            return
        if isinstance(value, dict):
            self.puts_back.append(partial(put_entries_back, value, dict(value)))
        elif isinstance(value, set):
            self.puts_back.append(partial(put_set_back, value, set(value)))
        else:
            self.puts_back.append(partial(put_items_back, value, list(value)))

    def keep_names(self, values, names, get, put, delete) -> None:
        """Saves the values that an object has under these names, and notes which of the names have no
        value."""
        before = [(name, get(values, name)) for name in names]

        def put_back():
            for name, value in before:
                now = get(values, name)
                if now is value:
                    continue
                if value is MISSING:
                    delete(values, name)
                else:
                    put(values, name, value)

        self.puts_back.append(put_back)

    def keep_entries(self, values, names) -> None:
        self.keep_names(
            values, names, lambda d, n: dict.get(d, n, MISSING), dict.__setitem__, dict.__delitem__
        )

    def share(self, value) -> None:
        if not isinstance(value, (torch.Tensor, torch.nn.Module)) and plain(value) is None:
            self.shared[id(value)] = value

    # The walk.

    def add_attributes(self, prefix, values):
        if self.is_new(values):
            before = {name: value for name, value in values.items() if name not in APART}
            self.puts_back.append(partial(put_entries_back, values, before, APART))
        super().add_attributes(prefix, values)

    def add_value(self, path, value, depth):
        if self.is_in_code:
            self.share(value)
            self.reaches_module |= id(value) in self.own or isinstance(value, torch.nn.Module)
        super().add_value(path, value, depth)

    def add_what_is_compared(self, path, value) -> bool:
        is_compared = super().add_what_is_compared(path, value)
        is_kept = is_compared and (self.is_in_code or self.runs_itself) and plain(value) is None
        if is_kept and self.is_new(value):
            self.keep_state(path, value)
        return is_compared

    def keep_tensor(self, tensor) -> None:
        if id(tensor) in self.own or tensor.is_inference() or tensor.layout != torch.strided:
            return
        if tensor.nbytes > LARGEST_KEPT:
            return
        before, version = tensor.detach().clone(), tensor._version

        def put_back():
            if tensor._version != version:
                with torch.no_grad():
                    tensor.copy_(before)

        self.puts_back.append(put_back)

    def keep_state(self, path, value) -> None:
        kind = type(value)
        if isinstance(value, torch.Tensor):
            if self.runs_itself:
                self.keep_tensor(value)
        elif isinstance(value, random.Random):
            self.puts_back.append(partial(value.setstate, value.getstate()))
        elif isinstance(value, torch.Generator) or kind.__name__ == "RandomState":
            self.puts_back.append(partial(value.set_state, value.get_state()))
        elif kind.__module__.startswith("numpy.random"):
            made = getattr(value, "bit_generator", value)
            self.puts_back.append(partial(setattr, made, "state", made.state))
        elif kind.__module__ == "numpy":
            self.puts_back.append(partial(put_array_back, value, value.copy()))
        elif isinstance(value, (array.array, bytearray)):
            self.puts_back.append(partial(put_items_back, value, value[:]))
        elif not isinstance(value, torch.nn.Module):
            self.uncopyable.append(path)

    def add_what_is_within(self, path, value, depth):
        if isinstance(value, contextvars.ContextVar) and self.is_new(value):
            before = value.get(MISSING)
            if before is not MISSING:
                self.puts_back.append(lambda: value.get() is before or value.set(before))
        super().add_what_is_within(path, value, depth)

    def add_container(self, path, value, depth):
        if isinstance(value, CONTAINERS):
            self.keep_container(value)
        super().add_container(path, value, depth)

    def add_object(self, path, value, depth):
        if isinstance(getattr(value, "__dict__", None), dict):
            self.keep_container(value.__dict__)
        slots = [n for kind in type(value).__mro__ for n in names_of_slots(kind)]
        if slots and self.is_new(value):
            self.keep_names(
                value, slots, lambda o, n: getattr(o, n, MISSING), object.__setattr__, object.__delattr__
            )
        super().add_object(path, value, depth)

    def add_function(self, path, function, depth):
        is_walked = function in self.walked or depth > DEEPEST
        if not is_walked and not is_foreign(getattr(function, "__module__", None)):
            self.keep_code(function)
        super().add_function(path, function, depth)

    def keep_code(self, function) -> None:
        if not self.is_new(function):
            return
        there, names = function.__globals__, globals_in(function.__code__)
        self.keep_entries(there, names)
        self.keep_container(function.__dict__)
        for value in (there[name] for name in names if name in there):
            if isinstance(value, CONTAINERS):  # includes containers that are too long to be watched
                self.keep_container(value)
            if isinstance(value, types.ModuleType) and is_own(value):
                self.keep_entries(value.__dict__, names_in(function.__code__))
            if isinstance(value, io.IOBase) or type(value).__module__ in OF_OTHERS:
                self.uncopyable.append(f"a {type(value).__qualname__}")
            self.share(value)
        for cell in function.__closure__ or ():
            self.keep_names(cell, ["cell_contents"], content_of, setattr, delattr)

    def add_class(self, kind):
        for base in kind.__mro__:
            if base not in self.walked and not is_foreign(base.__module__) and self.is_new(base):
                self.keep_class(base)
        super().add_class(kind)

    def keep_class(self, kind) -> None:
        before = dict(kind.__dict__)

        def put_back():
            for name in [name for name in kind.__dict__ if name not in before]:
                type.__delattr__(kind, name)
            for name, value in before.items():
                if kind.__dict__.get(name, MISSING) is not value:
                    type.__setattr__(kind, name, value)

        self.puts_back.append(put_back)


def is_own(module) -> bool:
    """Says whether a Python module belongs to the program, not to Python or a library."""
    return sys.modules.get(module.__name__) is not module or not is_foreign(module.__name__)


def content_of(cell, _):
    try:
        return cell.cell_contents
    except ValueError:  # the variable has no value yet
        return MISSING


def put_entries_back(values, before, apart=()) -> None:
    """Restores the entries of a dictionary, except for the names in `apart`."""
    kind = collections.OrderedDict if isinstance(values, collections.OrderedDict) else dict
    if not apart and list(values) != list(before):
        kind.clear(values)
    for name in [name for name in values if name not in before and name not in apart]:
        kind.__delitem__(values, name)
    for name, value in before.items():
        if dict.get(values, name, MISSING) is not value:
            kind.__setitem__(values, name, value)


def put_set_back(values, before) -> None:
    if set(values) != before:
        set.clear(values)
        set.update(values, before)


def put_items_back(values, before) -> None:
    """Restores the items of a list, a deque, or an array."""
    if len(values) == len(before) and all(one is other for one, other in zip(values, before)):
        return
    if isinstance(values, collections.deque):
        collections.deque.clear(values)
        collections.deque.extend(values, before)
    else:
        kind = next(kind for kind in (list, array.array, bytearray) if isinstance(values, kind))
        kind.__setitem__(values, slice(None), before)


def put_array_back(values, before) -> None:
    """Restores the contents of a numpy array."""
    if values.shape == before.shape and values.flags.writeable:
        values[...] = before
