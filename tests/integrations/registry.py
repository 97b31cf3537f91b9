"""What a table is of: functions that build something, by name, and what is expected of each."""

import dataclasses
from collections.abc import Callable
from typing import Any

import torch


@dataclasses.dataclass
class Entry:
    """`essential`: it belongs to the quick tests, too."""

    name: str
    builder: Callable[[], Any]
    expected: str
    reason: str
    essential: bool

    def build(self):
        """The same weights every time."""
        torch.manual_seed(0)
        return self.builder()


class Registry(dict):
    """The entries of a table, by name."""

    def register(self, name: str, expected: str = "planned", reason: str = "", essential: bool = False):
        """Registers the function that it decorates, which builds what is trained.

        `expected` is "planned", "refused", or "either" where both would be right; `reason` says why it need
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
        """Those that the command line asks for; `parser` ends the program where it names others."""
        unknown = [name for name in options.only if name not in self]
        if unknown:
            parser.error(f"nothing is called {', '.join(unknown)}; there are {', '.join(sorted(self))}")
        return [self[name] for name in options.only] or list(self.values())
