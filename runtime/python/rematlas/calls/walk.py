"""Walks all objects that can be reached from a module, in milliseconds, and lists facts about them."""

import array
import builtins
import collections.abc
import contextlib
import contextvars
import dataclasses
import functools
import gc
import inspect
import io
import itertools
import operator
import random
import sys
import types
import weakref
import zlib

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from .call_inputs import runs_python
from .code_names import (
    OF_OTHERS,
    READ_BY,
    globals_in,
    imported_in,
    is_foreign,
    is_shared_memory,
    names_in,
    names_of_slots,
    state_of_shared_memory,
    watched_global,
)
from .kept_tensors import Entries, geometry_for_plans, is_any, is_container, is_kept, kept_as, tensors_in
from .plain_values import digest_of_array, plain, state_of_numpy

HOOKS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
)
# Attributes of modules that are handled elsewhere, or have no influence on which ops the module runs.
CALL = "_compiled_call_impl"
APART = {"_parameters", "_buffers", "_modules", CALL, "_non_persistent_buffers_set", *HOOKS}
STATE = "state"
KEPT = "kept"
MOST = 50_000
# The largest depth of the walk. Going into a function, or into an object of a library, adds 1 to the depth.
DEEPEST = 6
INWARD = 0.1  # the depth added by going into a container, or into an object of the program
LONGEST = 4096  # entries of longer containers are compared, but the walk does not go into them
LARGEST_CACHED = 256  # Python makes a new object for each larger integer, so ids cannot compare them
SEQUENCES = (list, tuple, set, frozenset, collections.deque)
DICTIONARIES = (dict, types.MappingProxyType)
numbers_made = {}
numbers = itertools.count()
numbers_of_tensors = WeakTensorKeyDictionary()  # these numbers are never reused, unlike ids


class ByName:
    """Gives access to the parameters and buffers of a TorchScript module like a dictionary. The `__dict__` of
    such a module does not have them."""

    def __init__(self, module):
        self.module = module

    def __getitem__(self, name):
        return getattr(self.module, name)


@contextlib.contextmanager
def without_collections():
    """A context without garbage collections. A walk makes thousands of objects that live on, and no garbage,
    so a collection would search all objects of the process for nothing."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()


class Walk:
    def __init__(self, module, assigned=frozenset(), reads_kept=False, counted=frozenset()):
        """`assigned`: (id of a dictionary, name) of each attribute that the forward itself sets to a tensor
        or a container of tensors; the walk leaves out these attributes. `reads_kept`: whether a forward reads
        the values that the previous forward has left in these attributes. `counted`: the attributes that the
        forward uses as counters or logs, in the form of `assigned`."""
        self.module = module
        self.reads_kept = reads_kept
        self.assigned = assigned
        self.counted = counted
        self.containers = []  # (function that returns values, ids of these values at the time of the walk)
        self.held = []  # keeps objects alive whose ids are used
        self.facts = []  # (path, facts about the value ...) of each value
        self.seen = set()
        self.parameters = []  # (dictionary, name, path); a tied parameter occurs under each of its names
        self.buffers = []  # in the form of `parameters`
        self.read = set()  # the places in `assigned` whose tensors are among the buffers
        self.walked = set()  # functions and classes
        self.names = set()  # the names in the code of these functions
        self.others = []  # (path, object) of each of OF_OTHERS that is no part of the module
        with without_collections():
            for path, submodule in module.named_modules(remove_duplicate=True):
                self.add_module(path + "." if path else "", submodule)
            for path, other in self.others:  # grows meanwhile
                self.add_other(path, other)

    def add_values(self, values_of):
        """Returns the values that the function `values_of` returns now. Each later check of the watch calls
        the function again, and compares the ids of its values."""
        values = list(values_of())
        self.held.append(values)
        self.containers.append((values_of, tuple(map(id, values))))
        return values

    def add_state(self, path, state_of):
        """Watches the state of an object that has no attributes to compare. Equal states are represented by
        the same string object, so comparing ids compares states."""
        texts = {}

        def values_of():
            state = repr(state_of())
            return [texts.setdefault(state, state)]

        self.facts.append((path, STATE, hash(self.add_values(values_of)[0])))

    # Modules.

    def add_module(self, prefix, module):
        if isinstance(module, torch.jit.ScriptModule):
            self.add_script_module(prefix, module)
            return
        self.add_attributes(prefix, module.__dict__)
        for name, child in module._modules.items():
            self.facts.append((prefix + name, id(child)))
        if module._modules:
            self.add_values(module._modules.values)
        self.add_hooks(prefix, module)
        for found, entries in ((self.parameters, module._parameters), (self.buffers, module._buffers)):
            found.extend(
                (entries, name, prefix + name) for name, value in entries.items() if value is not None
            )
        self.add_kept_tensors(prefix, module.__dict__)
        for entries in (module._parameters, module._buffers):
            if entries:
                present = functools.partial(lambda e: [value is None for value in e.values()], entries)
                self.containers.append((present, tuple(map(id, present()))))
            missing = tuple(value is None for value in entries.values())
            self.facts.append((prefix + "names", tuple(entries), missing))
        self.add_class(type(module))

    def add_kept_tensors(self, prefix, values):
        """Adds tensors that a forward leaves in an attribute for the next forward, alone or within a
        container. If `reads_kept`, they are treated as buffers, but only while they are there, because the
        program may set the attribute back to None."""
        names = [name for of, name in self.assigned if of == id(values)]
        if not names:
            return
        look = geometry_for_plans if self.reads_kept else is_any
        self.add_values(
            functools.partial(lambda d, n: [kept_as(d.get(name), look) for name in n], values, names)
        )
        for name in sorted(names):
            value = values.get(name)
            found = [at for at, tensor in tensors_in(value) if self.reads_kept and look(tensor)]
            if found or (is_container(value) and is_kept(value)):
                self.facts.append((prefix + name, KEPT, kept_as(value, look)))
            for at in found:
                path = prefix + name + "".join(f"[{index}]" for index in at)
                self.buffers.append((Entries(values, name), at, path))
                self.read.add((id(values), name))

    def add_script_module(self, prefix, module):
        for name, _ in module.named_parameters(recurse=False):
            self.parameters.append((ByName(module), name, prefix + name))
        for name, _ in module.named_buffers(recurse=False):
            self.buffers.append((ByName(module), name, prefix + name))
        self.add_values(functools.partial(lambda m: [m.training], module))
        self.facts.append((prefix + "training", module.training))

    def add_hooks(self, prefix, module):
        hooks = [module.__dict__[name] for name in HOOKS if name in module.__dict__]
        for hook in hooks:
            for key, value in hook.items():
                self.add_value(f"{prefix}hook{key}", value, 1)
        # Hooks and names may be added or removed; the lengths of their dictionaries show this.
        counted = (*hooks, module._modules, module._parameters, module._buffers)
        lengths = functools.partial(map, len, counted)
        if max(lengths()) > LARGEST_CACHED:
            lengths = functools.partial(
                lambda c: [numbers_made.setdefault(len(entries), len(entries)) for entries in c], counted
            )
        self.containers.append((lengths, tuple(map(id, lengths()))))
        self.facts.append((prefix + "hooks", tuple(tuple(map(id, hook.values())) for hook in hooks)))

    # Values.

    def add_attributes(self, prefix, values):
        """Adds the attributes of a module."""
        names = [name for name in values if name not in APART and not self.is_set_by_forward(values, name)]
        if len(self.held) > MOST or not names:
            return
        getter = (
            operator.itemgetter(*names) if len(names) > 1 else (lambda d, n=names: [d[name] for name in n])
        )
        # A new attribute makes the dictionary longer. The entry CALL does not count, because this package
        # adds and removes it to observe calls.
        length = len(values) - (CALL in values)
        values_of = functools.partial(
            lambda d, get, n: get(d) if len(d) - (CALL in d) == n else (), values, getter, length
        )
        self.add_named_values(prefix, names, values_of, 1)

    def is_set_by_forward(self, values, name) -> bool:
        """Says whether the attribute is a counter or log of the forward, or holds a tensor or a container of
        tensors that the forward has left there. If the program has set such an attribute back to None, the
        result is False, so that this counts as a change of the module."""
        place = id(values), name
        return place in self.counted or (place in self.assigned and is_kept(values.get(name)))

    def add_dictionary(self, prefix, values, depth):
        if len(self.held) <= MOST:
            self.add_named_values(prefix, list(values), values.values, depth)

    def add_named_values(self, prefix, names, values_of, depth):
        try:
            now = self.add_values(values_of)
        except Exception:
            return
        for name, value in zip(names, now):
            self.add_value(f"{prefix}{name}", value, depth)

    def add_value(self, path, value, depth):
        """Adds a value. If its class raises errors when it is looked at, its identity is compared."""
        try:
            self.add_what_it_holds(path, value, depth)
        except Exception:
            self.held.append(value)
            self.facts.append((path, id(value)))

    def add_what_it_holds(self, path, value, depth):
        if self.add_what_is_compared(path, value):
            if isinstance(value, torch.Tensor) and runs_python(value) and hasattr(value, "__dict__"):
                self.add_dictionary(path + ".", value.__dict__, depth)  # the tensors within `value`
            return
        if id(value) in self.seen:
            self.facts.append((path, "seen"))
            return
        if depth > DEEPEST or len(self.held) > MOST:
            return
        self.seen.add(id(value))
        self.held.append(value)
        self.facts.append((path, type(value).__qualname__))
        if not path.rpartition(".")[2].startswith("__composable_api"):  # belongs to torch.distributed
            self.add_what_is_within(path, value, depth)

    def add_what_is_compared(self, path, value) -> bool:
        """Adds the value if values of its kind are compared as a whole. Returns whether they are."""
        if isinstance(value, random.Random):
            self.add_state(path, value.getstate)
        elif isinstance(value, torch.Generator):
            self.add_state(path, lambda: hash(bytes(value.get_state().numpy())))
        elif type(value).__module__.startswith("numpy.random"):
            self.add_state(path, functools.partial(state_of_numpy, value))
        elif (stand_in := plain(value)) is not None:
            self.facts.append((path, stand_in))
        elif isinstance(value, torch.Tensor):
            self.facts.append((path, numbers_of_tensors.setdefault(value, next(numbers))))
            if not isinstance(value, (torch.nn.Parameter, torch.nn.Buffer)) and not value.is_inference():
                self.add_state(path, lambda: value._version)  # a plan may depend on the tensor's contents
        elif isinstance(value, OF_OTHERS):
            self.facts.append((path, id(value)))
            if id(value) not in self.seen:
                self.seen.add(id(value))
                self.others.append((path, value))
        elif is_shared_memory(value):
            self.add_state(path, lambda: state_of_shared_memory(value))
        elif type(value).__module__ == "numpy" and hasattr(value, "tobytes") and not value.dtype.hasobject:
            self.add_state(path, lambda: digest_of_array(value))
        elif isinstance(value, (array.array, bytearray, memoryview)):
            self.add_state(path, lambda: (len(value), zlib.crc32(bytes(value))))
        elif isinstance(value, itertools.count):
            self.add_state(path, lambda: repr(value))
        elif isinstance(value, collections.abc.Iterator) and not isinstance(value, io.IOBase):
            # An iterator hides its position, so each check takes it for changed.
            self.add_state(path, lambda: next(numbers))
        else:
            return False
        return True

    def add_what_is_within(self, path, value, depth):
        if isinstance(value, (*SEQUENCES, *DICTIONARIES)):
            self.add_container(path, value, depth)
        elif isinstance(value, contextvars.ContextVar):
            for item in self.add_values(lambda: [value.get(None)]):
                self.add_value(f"{path}.get()", item, depth + 1)
        elif type(value).__module__ == "numpy" and hasattr(value, "flat"):
            for index, item in enumerate(self.add_values(lambda: list(value.flat))):
                self.add_value(f"{path}[{index}]", item, depth + INWARD)
        elif isinstance(value, weakref.ref):
            for target in self.add_values(lambda: [value()]):
                self.add_value(f"{path}()", target, depth + INWARD)
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
        elif type(value).__module__.partition(".")[0] in ("torch", "rematlas"):
            # Only the identity is compared, because torch and this package change their objects while they
            # run.
            self.facts.append((path, id(value)))
        else:
            self.add_object(path, value, depth)

    def add_container(self, path, value, depth):
        if len(value) > LONGEST:
            self.add_long(path, value)
            return
        if isinstance(value, DICTIONARIES):
            self.facts.append((path, tuple(str(key) for key in value)))
            self.add_dictionary(path + ".", value, depth + INWARD)
            return
        items = value if isinstance(value, tuple) else self.add_values(functools.partial(list, value))
        for index, item in enumerate(items):
            self.add_value(f"{path}[{index}]", item, depth + INWARD)

    def add_long(self, path, value):
        """Compares the entries of a long container without walking into them."""
        entries = self.add_values(
            functools.partial(list, value.values() if isinstance(value, DICTIONARIES) else value)
        )
        self.facts.append((path, STATE, hash(tuple(plain(entry) or id(entry) for entry in entries))))

    def add_object(self, path, value, depth):
        self.facts.append((path, "object"))
        inward = 1 if is_foreign(type(value).__module__) else INWARD
        if hasattr(value, "__dict__"):
            self.add_dictionary(path + ".", value.__dict__, depth + inward)
        for kind in type(value).__mro__:
            names = [name for name in names_of_slots(kind) if hasattr(value, name)]
            if names:
                values_of = functools.partial(lambda o, n: [getattr(o, name) for name in n], value, names)
                self.add_named_values(f"{path}.", names, values_of, depth + inward)
        if not dataclasses.is_dataclass(value):
            self.add_class(type(value))

    def add_other(self, path, other):
        """Adds those attributes of an object that is no part of the module, and of the modules in it, whose
        names occur in the module's code. Other attributes, such as counters of steps, may change. Tensors are
        compared by the plan itself, see OutsideTensors."""
        parts = other.modules() if isinstance(other, torch.nn.Module) else [other]
        wanted = {"training", *self.names, *(READ_BY[name] for name in self.names & READ_BY.keys())} - APART
        own = set(map(id, self.module.modules()))
        for number, part in enumerate(parts):
            values = part.__dict__
            names = [name for name in values if name in wanted]
            if id(part) not in own and names and len(self.held) <= MOST:
                values_of = functools.partial(lambda d, n: [d.get(name) for name in n], values, names)
                self.add_named_values(f"{path}({number}).", names, values_of, 1)

    # Code.

    def add_function(self, path, function, depth):
        """Adds the closure, the defaults, and the globals that the code names. Functions of Python itself and
        of libraries are skipped."""
        if function in self.walked or depth > DEEPEST or is_foreign(getattr(function, "__module__", None)):
            return
        self.walked.add(function)
        self.names.update(names_in(function.__code__))
        self.add_closure(path, function, depth)
        self.add_value(f"{path}:defaults", function.__defaults__ or (), depth + 1)
        if function.__kwdefaults__:
            self.add_value(f"{path}:kwdefaults", function.__kwdefaults__, depth + 1)
        if function.__dict__:
            self.add_dictionary(path + ".", function.__dict__, depth + 1)
        there = function.__globals__
        names = [name for name in globals_in(function.__code__) if name in there]
        held = [name for name in names if watched_global(there[name])]
        self.add_entries("", there, held, depth + 1)
        missing = [n for n in globals_in(function.__code__) if n not in there and not hasattr(builtins, n)]
        if missing:
            self.add_values(functools.partial(lambda g, n: [name in g for name in n], there, missing))
        modules = [(name, there[name]) for name in names if isinstance(there[name], types.ModuleType)]
        imported = imported_in(function.__code__)
        if not_yet := [name for name in imported if name not in sys.modules]:
            self.add_values(lambda: [name in sys.modules for name in not_yet])
        imported = [name for name in imported if name in sys.modules and not is_foreign(name)]
        modules += [(name, sys.modules[name]) for name in imported]
        for name, module in modules:
            asked = [other for other in names_in(function.__code__) if other in module.__dict__]
            self.add_entries(f"{name}.", module.__dict__, asked, depth + 1)

    def add_closure(self, path, function, depth):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            if isinstance(content, Walk) or content is self.module:
                continue
            self.add_values(functools.partial(lambda c: [c.cell_contents], cell))
            self.add_value(f"{path}:{name}", content, depth + 1)

    def add_entries(self, prefix, values, names, depth):
        """Adds those entries of the dictionary that have these names, which the code uses."""
        if names:
            values_of = functools.partial(lambda d, n: [d.get(name) for name in n], values, names)
            self.add_named_values(prefix, names, values_of, depth)

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
            for name, value in zip(names, self.add_values(values_of)):
                self.add_class_attribute(f"{base.__qualname__}.{name}", value)

    def add_class_attribute(self, path, value):
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if isinstance(value, property):
            value = value.fget
        if isinstance(value, types.FunctionType):
            self.facts.append((path, id(value)))
            self.add_function(path, value, 2)
        elif not inspect.isdatadescriptor(value):
            self.add_value(path, value, 2)
