"""What a module's course depends on beside its tensors: attributes, modes, hooks, configuration, globals, closures.

    watch = Watch(module)          # walks all that the module reaches, in milliseconds
    watch.unchanged()              # microseconds a submodule: compares identities alone
    watch.fingerprint              # hashable; equal for equal states
    watch.changes(Watch(module))   # in words: "h.0.dropout.p: 0.1, then 0.2"
"""

import argparse
import array
import collections.abc
import contextvars
import dataclasses
import dis
import enum
import functools
import inspect
import io
import itertools
import operator
import random
import sys
import sysconfig
import types
import zlib

import torch
from torch.utils.weak import WeakTensorKeyDictionary

PLAIN = (int, float, complex, bool, str, bytes, type(None), torch.dtype, torch.device, torch.Size, torch.memory_format, torch.layout)
HOOKS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
)
# Of a module's own dictionary: looked at by other means, or without influence on its course.
APART = {"_parameters", "_buffers", "_modules", "_compiled_call_impl", "_non_persistent_buffers_set", *HOOKS}
STANDARD_LIBRARY = sysconfig.get_path("stdlib")
STATE = "state"
MOST = 50_000
DEEPEST = 6  # objects of others and functions within each other; lists and the program's own objects go deeper
INWARD = 0.1  # what these count
LONGEST = 4096  # of longer containers the entries are told apart, and not what is in them
LARGEST_CACHED = 256  # beyond it Python makes equal numbers anew, and ids do not compare them
numbers_made = {}
numbers = itertools.count()
numbers_of_tensors = WeakTensorKeyDictionary()  # an id may be another tensor's later


def plain(value):
    """A hashable stand-in that is equal exactly for equal values; None for what is known by identity alone."""
    kind = type(value)
    if kind is float:
        return (kind, value.hex())
    if kind in PLAIN or isinstance(value, enum.Enum):
        return (kind, value)
    return None


def text(value) -> str:
    shown = repr(value) if plain(value) is not None else type(value).__name__
    return shown if len(shown) < 60 else shown[:57] + "..."


class ByName:
    """Looks like a dictionary of a module whose own cannot be asked by name (TorchScript)."""

    def __init__(self, module):
        self.module = module

    def __getitem__(self, name):
        return getattr(self.module, name)


class Watch:
    def __init__(self, module, assigned=frozenset()):
        """`assigned`: (id of a dictionary, name) of what the forward sets itself; it is not looked at."""
        self.module = module
        self.assigned = assigned
        self.containers = []  # (values, ids): a function that lists the values now, and what they were
        self.held = []  # what ids stand for must stay alive
        self.contents = []  # (where things can be set, what was there): lists, dictionaries, sets, closures
        self.facts = []  # (path, stand-in) of each value
        self.seen = set()
        self.parameters = []  # (dictionary, name, path), under all names
        self.buffers = []
        self.walked = set()
        for path, submodule in module.named_modules(remove_duplicate=True):
            self.add_module(path, submodule)
        self.requires_grad = tuple(d[n].requires_grad for d, n, _ in self.parameters)
        self.fingerprint = hash(tuple(self.facts)), len(self.facts), self.requires_grad

    # Walking.

    def add_values(self, path, names, values_of):
        values = list(values_of())
        self.held.append(values)
        self.containers.append((values_of, tuple(map(id, values)), path, names))
        return values

    def add_module(self, path, module):
        prefix = path + "." if path else ""
        own = module.__dict__
        if isinstance(module, torch.jit.ScriptModule):
            for name, parameter in module.named_parameters(recurse=False):
                self.parameters.append((ByName(module), name, prefix + name))
            for name, buffer in module.named_buffers(recurse=False):
                self.buffers.append((ByName(module), name, prefix + name))
            self.add_values(prefix + "training", None, functools.partial(lambda m: [m.training], module))
            self.facts.append((prefix + "training", module.training))
            return
        self.add_dictionary(prefix, own, skip=APART, depth=0)
        for name, child in module._modules.items():
            self.facts.append((prefix + name, id(child)))
        if module._modules:
            self.add_values(prefix + "submodules", None, module._modules.values)
        hooks = [own[name] for name in HOOKS if name in own]
        for hook in hooks:
            if hook:
                for key, value in hook.items():
                    self.add_value(f"{prefix}hook{key}", value, 1)
        # Hooks come and go, and so do names: their numbers tell.
        counted = (*hooks, module._modules, module._parameters, module._buffers)
        lengths = functools.partial(map, len, counted)
        if max(lengths()) > LARGEST_CACHED:
            lengths = functools.partial(lambda c: [numbers_made.setdefault(len(entries), len(entries)) for entries in c], counted)
        self.containers.append((lengths, tuple(map(id, lengths())), prefix + "hooks", None))
        self.facts.append((prefix + "hooks", tuple(tuple(map(id, hook.values())) for hook in hooks)))
        for name, parameter in module._parameters.items():
            if parameter is not None:
                self.parameters.append((module._parameters, name, prefix + name))
        for name, buffer in module._buffers.items():
            if buffer is not None:
                self.buffers.append((module._buffers, name, prefix + name))
        for entries in (module._parameters, module._buffers):
            if any(value is None for value in entries.values()):
                present = functools.partial(lambda e: [value is None for value in e.values()], entries)
                self.containers.append((present, tuple(map(id, present())), prefix + "parameters", None))
            self.facts.append((prefix + "names", tuple(entries), tuple(value is None for value in entries.values())))
        self.add_class(type(module))

    def put_back(self):
        """What a forward has put into the lists, dictionaries, sets, globals and closures that were walked is gone again."""
        for kept, before in self.contents:
            if isinstance(kept, list):
                if len(kept) != len(before) or any(map(operator.is_not, kept, before)):
                    kept[:] = before
            elif isinstance(kept, collections.deque):
                if len(kept) != len(before) or any(map(operator.is_not, kept, before)):
                    kept.clear()
                    kept.extend(before)
            elif isinstance(kept, set):
                if kept != before:
                    kept.clear()
                    kept.update(before)
            elif isinstance(kept, types.CellType):
                kept.cell_contents = before
            else:
                for name in [name for name in kept if name not in before]:
                    del kept[name]
                kept.update((name, value) for name, value in before.items() if kept.get(name) is not value)

    def add_dictionary(self, prefix, values, skip=(), depth=0, inward=1):
        if len(self.held) > MOST:
            return
        if skip:
            names = [name for name in values if name not in skip and (id(values), name) not in self.assigned]
            if not names:
                return
            getter = operator.itemgetter(*names) if len(names) > 1 else (lambda d, n=names: [d[name] for name in n])
            # A new name makes the dictionary longer.
            count = len(values)
            values_of = functools.partial(lambda d, get, n: get(d) if len(d) == n else (), values, getter, count)
        else:
            names = list(values)
            values_of = values.values
        try:
            now = self.add_values(prefix, names, values_of)
        except Exception:
            return
        for name, value in zip(names, now):
            self.add_value(f"{prefix}{name}", value, depth + inward)

    def add_state(self, path, state_of):
        """Of an object that hides its state: equal states give one and the same text."""
        texts = {}

        def values_of():
            state = repr(state_of())
            return [texts.setdefault(state, state)]

        self.facts.append((path, STATE, hash(self.add_values(path, None, values_of)[0])))

    def add_value(self, path, value, depth):
        if isinstance(value, random.Random):
            return self.add_state(path, value.getstate)
        if isinstance(value, torch.Generator):
            return self.add_state(path, lambda: hash(bytes(value.get_state().numpy())))
        if type(value).__module__.startswith("numpy.random"):
            return self.add_state(path, lambda: getattr(value, "bit_generator", value).state if hasattr(value, "bit_generator") else value.get_state())
        stand_in = plain(value)
        if stand_in is not None:
            self.facts.append((path, stand_in))
            return
        if isinstance(value, torch.Tensor):
            self.facts.append((path, numbers_of_tensors.setdefault(value, next(numbers))))
            if not isinstance(value, (torch.nn.Parameter, torch.nn.Buffer)) and not value.is_inference():
                self.add_state(path, lambda: value._version)  # what the program reads there is part of a plan
            return
        if isinstance(value, torch.nn.Module):
            self.facts.append((path, id(value)))
            return
        if type(value).__module__ == "numpy" and hasattr(value, "tobytes") and not value.dtype.hasobject:
            return self.add_state(path, lambda: digest_of_array(value))
        if isinstance(value, (array.array, bytearray, memoryview)):
            return self.add_state(path, lambda: (len(value), zlib.crc32(bytes(value))))
        if isinstance(value, itertools.count):
            return self.add_state(path, lambda: repr(value))
        if isinstance(value, collections.abc.Iterator) and not isinstance(value, io.IOBase):
            return self.add_state(path, lambda: next(numbers))  # nobody sees how far it is
        if id(value) in self.seen:
            self.facts.append((path, "seen"))
            return
        if depth > DEEPEST or len(self.held) > MOST:
            return
        self.seen.add(id(value))
        self.held.append(value)
        self.facts.append((path, type(value).__qualname__))
        if path.rpartition(".")[2].startswith("__composable_api"):
            return  # of torch.distributed
        if isinstance(value, (list, tuple, set, frozenset, dict, collections.deque)) or isinstance(value, types.MappingProxyType):
            if len(value) > LONGEST:
                return self.add_long(path, value)
            if isinstance(value, (list, set, collections.deque)):
                self.contents.append((value, value.copy()))
            elif isinstance(value, dict):
                self.contents.append((value, dict(value)))
            if isinstance(value, (dict, types.MappingProxyType)):
                self.facts.append((path, tuple(str(key) for key in value)))
                self.add_dictionary(path + ".", value, depth=depth, inward=INWARD)
            else:
                items = list(value)
                if not isinstance(value, tuple):
                    items = self.add_values(path, None, functools.partial(list, value))
                for index, item in enumerate(items):
                    self.add_value(f"{path}[{index}]", item, depth + INWARD)
        elif isinstance(value, contextvars.ContextVar):
            for item in self.add_values(path, None, lambda: [value.get(None)]):
                self.add_value(f"{path}.get()", item, depth + 1)
        elif type(value).__module__ == "numpy" and hasattr(value, "flat"):
            for index, item in enumerate(self.add_values(path, None, lambda: list(value.flat))):
                self.add_value(f"{path}[{index}]", item, depth + INWARD)
        elif isinstance(value, functools.partial):
            self.add_value(path, (value.func, value.args, value.keywords), depth)
        elif isinstance(value, types.MethodType):
            self.facts.append((path, id(value.__func__)))
            self.add_value(path, value.__self__, depth + 1)
            self.add_function(path, value.__func__, depth)
        elif isinstance(value, types.FunctionType):
            self.facts.append((path, id(value)))
            self.add_function(path, value, depth)
        elif isinstance(value, (types.ModuleType, types.BuiltinFunctionType)):
            self.facts.append((path, id(value)))
        elif isinstance(value, type):
            self.facts.append((path, id(value)))
            self.add_class(value)
        elif type(value).__module__.partition(".")[0] == "torch":
            self.facts.append((path, id(value)))  # what torch hangs on modules changes as it runs
        else:
            self.facts.append((path, "object"))
            inward = 1 if is_foreign(type(value).__module__) else INWARD
            if hasattr(value, "__dict__"):
                if inward < 1:
                    self.contents.append((value.__dict__, dict(value.__dict__)))
                self.add_dictionary(path + ".", value.__dict__, depth=depth, inward=inward)
            for slots in (getattr(kind, "__slots__", ()) for kind in type(value).__mro__):
                names = [slots] if isinstance(slots, str) else [n for n in slots if n not in ("__dict__", "__weakref__")]
                names = [name for name in names if hasattr(value, name)]
                if names:
                    values_of = functools.partial(lambda o, n: [getattr(o, name) for name in n], value, names)
                    for name, item in zip(names, self.add_values(path, names, values_of)):
                        self.add_value(f"{path}.{name}", item, depth + inward)
            if not dataclasses.is_dataclass(value):
                self.add_class(type(value))

    def add_long(self, path, value):
        """Which entries there are, and no further."""
        values_of = functools.partial(list, value.values() if isinstance(value, (dict, types.MappingProxyType)) else value)
        entries = self.add_values(path, None, values_of)
        self.facts.append((path, STATE, hash(tuple(plain(entry) or id(entry) for entry in entries))))

    def add_function(self, path, function, depth):
        """The closure, the defaults, and the globals that the code names, of functions outside of torch."""
        if function in self.walked or depth > DEEPEST or is_foreign(getattr(function, "__module__", None)):
            return
        self.walked.add(function)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            if isinstance(content, Watch) or content is self.module:
                continue
            self.contents.append((cell, content))
            self.add_values(f"{path}:{name}", None, functools.partial(lambda c: [c.cell_contents], cell))
            self.add_value(f"{path}:{name}", content, depth + 1)
        self.add_value(f"{path}:defaults", function.__defaults__ or (), depth + 1)
        names = [name for name in globals_in(function.__code__) if name in function.__globals__]
        held = [name for name in names if watched_global(function.__globals__[name])]
        if held:
            values_of = functools.partial(lambda g, n: [g.get(name) for name in n], function.__globals__, held)
            for name, value in zip(held, self.add_values(path, held, values_of)):
                self.add_value(name, value, depth + 1)
        for name in names:
            module = function.__globals__[name]
            if isinstance(module, types.ModuleType):
                self.add_names_of(name, module, [other for other in names_in(function.__code__) if other in module.__dict__], depth)

    def add_names_of(self, path, module, names, depth):
        """Of a module that code names, what the code may ask it for."""
        if not names:
            return
        values_of = functools.partial(lambda d, n: [d.get(name) for name in n], module.__dict__, names)
        for name, value in zip(names, self.add_values(path, names, values_of)):
            self.add_value(f"{path}.{name}", value, depth + 1)

    def add_class(self, kind):
        for base in kind.__mro__:
            if base in self.walked or is_foreign(base.__module__):
                continue
            self.walked.add(base)
            values = base.__dict__
            names = [name for name in values if not (name.startswith("__") and name.endswith("__"))]
            if not names:
                continue
            values_of = functools.partial(lambda d, n: [d.get(name) for name in n], values, names)
            for name, value in zip(names, self.add_values(base.__qualname__, names, values_of)):
                path = f"{base.__qualname__}.{name}"
                if isinstance(value, (staticmethod, classmethod)):
                    value = value.__func__
                if isinstance(value, property):
                    value = value.fget
                if isinstance(value, types.FunctionType):
                    self.facts.append((path, id(value)))
                    self.add_function(path, value, 2)
                elif not inspect.isdatadescriptor(value):
                    self.add_value(path, value, 2)

    # Comparing.

    def unchanged(self) -> bool:
        for values_of, ids, _, _ in self.containers:
            if tuple(map(id, values_of())) != ids:
                return False
        return tuple([d[n].requires_grad for d, n, _ in self.parameters]) == self.requires_grad

    def changes(self, later) -> str:
        """The first difference to a later watch of the same module, in words; empty when there is none."""
        before, after = dict_of(self.facts), dict_of(later.facts)
        for path, value in after.items():
            if path not in before:
                return f"{path} is new"
            if before[path] != value and STATE in value:
                return f"what is in {path} has changed"
            if before[path] != value:
                return f"{path}: {shown(before[path])}, then {shown(value)}"
        for path in before:
            if path not in after:
                return f"{path} is gone"
        for (_, _, path), old, new in zip(self.parameters, self.requires_grad, later.requires_grad):
            if old != new:
                return f"{path}: requires_grad {old}, then {new}"
        return ""

    def tensors(self):
        """Parameters and buffers as they are now, in the order of `names`."""
        return [d[n] for d, n, _ in self.parameters] + [d[n] for d, n, _ in self.buffers]

    @property
    def names(self):
        return [path for _, _, path in self.parameters] + [path for _, _, path in self.buffers]


class Assignments:
    """Which tensors a forward sets as attributes and buffers of its modules."""

    def __init__(self, module):
        self.before = []
        for submodule in module.modules():
            for values in (submodule.__dict__, submodule.__dict__.get("_buffers") or {}):
                self.before.append((values, {n: id(v) for n, v in values.items() if isinstance(v, torch.Tensor)}))

    def made(self):
        """(dictionary, name) of each."""
        return [
            (values, name)
            for values, ids in self.before
            for name, value in values.items()
            if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter) and ids.get(name) != id(value)
        ]


def places_of(module):
    """Where a forward sets attributes: (path of the submodule, whether as a buffer) by the id of the dictionary."""
    found = {}
    for path, submodule in module.named_modules():
        found[id(submodule.__dict__)] = path, False
        found[id(submodule._buffers)] = path, True
    return found


def dictionary_at(module, place):
    path, of_buffers = place
    submodule = module.get_submodule(path)
    return submodule._buffers if of_buffers else submodule.__dict__


def digest_of_array(array):
    try:
        return array.shape, zlib.crc32(array)
    except (BufferError, TypeError, ValueError):  # not contiguous, or of dates
        return array.shape, zlib.crc32(array.tobytes())


def dict_of(facts):
    result = {}
    for fact in facts:
        result[fact[0]] = result.get(fact[0], ()) + fact[1:]
    return result


def shown(value):
    value = value[0] if len(value) == 1 else value
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], type):
        return text(float.fromhex(value[1])) if value[0] is float else text(value[1])
    return "an object" if isinstance(value, int) else str(value)[:60]


@functools.cache
def names_in(code):
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(names_in(constant))
    return tuple(sorted(names))


@functools.cache
def globals_in(code):
    """Names that are looked up among the globals; others of the same spelling are attributes."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(globals_in(constant))
    return tuple(sorted(names))


@functools.cache
def is_foreign(module) -> bool:
    """Of Python or an installed library, which keeps no state of a model in its classes and globals."""
    if (module or "").partition(".")[0] == "rematlas":
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return module != "__main__"
    return "site-packages" in file or "dist-packages" in file or file.startswith(STANDARD_LIBRARY)


def watched_global(value) -> bool:
    if plain(value) is not None:
        return True
    if isinstance(value, (types.FunctionType, type)):
        return not is_foreign(value.__module__)
    if isinstance(value, (list, dict, set, collections.deque, array.array, bytearray)):
        return len(value) <= 256
    if isinstance(value, (contextvars.ContextVar, torch.Tensor, types.SimpleNamespace, argparse.Namespace, collections.abc.Iterator)):
        return not isinstance(value, io.IOBase)
    kind = type(value).__module__
    return kind == "numpy" or not (isinstance(value, (torch.nn.Module, types.ModuleType)) or is_foreign(kind))
