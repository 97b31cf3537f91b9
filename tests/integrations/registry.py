"""The entries of a table by name: functions that build a model or a program, with the expected result."""

import dataclasses
from collections.abc import Callable
from typing import Any

import torch


@dataclasses.dataclass
class Entry:
    """An entry of a table. `essential`: the entry is also part of the quick tests."""

    name: str
    builder: Callable[[], Any]
    expected: str
    reason: str
    essential: bool

    def build(self):
        """Builds the model or program, with the same weights every time."""
        torch.manual_seed(0)
        return self.builder()


class Registry(dict):
    """The entries of a table, by name."""

    def register(self, name: str, expected: str = "planned", reason: str = "", essential: bool = False):
        """Returns a decorator that registers a function, which builds the model or program.

        `expected` is "planned", "refused", or "either" if both are right. `reason` says why the entry need
        not be planned.
        """
        if expected not in ("planned", "refused", "either") or (expected == "planned") == bool(reason):
            raise ValueError(f"{name}: expected is planned, or else it has a reason")

        def register(builder: Callable[[], Any]) -> Callable[[], Any]:
            if name in self:
                raise ValueError(f"two entries are called {name}")
            self[name] = Entry(name, builder, expected, reason, essential)
            return builder

        return register

    def chosen(self, options, parser) -> list[Entry]:
        """Returns the entries that the command line asks for. If it names unknown entries, `parser` ends the
        program."""
        unknown = [name for name in options.only if name not in self]
        if unknown:
            parser.error(f"nothing is called {', '.join(unknown)}; there are {', '.join(sorted(self))}")
        return [self[name] for name in options.only] or list(self.values())
