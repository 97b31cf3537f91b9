"""The function package.module:function of the command line, which returns (model, args, kwargs) or (model,
args)."""

import argparse
import importlib
import inspect
import os
import sys

from ..cards.absent_device import autocast_is_there
from ..errors import message
from ..whole_file import write_whole
from .early_end import Told
from .where_from import print_where


def wrong(why):
    """Prints one line about wrong usage or input, and ends the command with status 2."""
    print(f"rematlas: {str(why).removeprefix('rematlas: ')}", file=sys.stderr)
    raise Told(2)


def write(path, text) -> None:
    """Writes a file as a whole, or ends the program with a message of one line."""
    try:
        write_whole(path, text)
    except OSError as error:
        wrong(f"{path}: {error.strerror}")


def add_example(parser, *lines: str) -> None:
    """Puts these lines, which are example commands, at the end of the help."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n  ".join(("Example:" if len(lines) == 1 else "Examples:", *lines))


def add_function(parser) -> None:
    parser.add_argument(
        "function",
        metavar="package.module:function",
        help="a Python function that returns (model, args) or (model, args, kwargs)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a keyword of the function, a number or a word; may be given several times",
    )


class NotMade(Exception):
    """Raised if the function of the command line makes no model."""


class ModelFunction:
    """The function that the command line names, with the keywords that --set gives."""

    def __init__(self, options):
        self.name = options.function
        module, colon, function = self.name.partition(":")
        if not colon:
            wrong(f"{self.name}: expected package.module:function")
        sys.path.insert(0, os.getcwd())
        try:
            with autocast_is_there():
                self.function = getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError, ValueError) as error:
            print_where(error)
            wrong(f"{self.name}: {error}")
        self.keywords = dict(map(keyword_of, options.set))

    @property
    def divides(self) -> bool:
        """Whether the function takes the keyword `mesh`, and divides its model itself."""
        try:
            return "mesh" in inspect.signature(self.function).parameters
        except (TypeError, ValueError):
            return False

    def step(self, mesh, make=None, **keywords) -> tuple:
        """Returns the model and the arguments of a call, as `graph_of_step` takes them. `mesh`: the
        dimensions of the mesh; None if there is none. If the function divides its model itself, the result
        has, in place of the model, a function that makes the model. `make`: one of the methods `made` and
        `make`; by default `make`."""
        make = make or self.make
        if mesh is None or not self.divides:
            return make(**keywords)
        return (lambda mesh: make(**keywords, mesh=mesh)), (), {}

    def made(self, **keywords):
        """Returns (model, args, kwargs), or ends the program with a message of one line."""
        try:
            return self.make(**keywords)
        except NotMade as error:
            if error.__cause__ is not None:
                print_where(error.__cause__)
            wrong(error)

    def make(self, **keywords):
        """Returns the same as `made`, but raises NotMade instead of ending the program."""
        keywords = self.keywords | keywords
        try:
            with autocast_is_there():
                made = self.function(**keywords)
        except Exception as error:
            given = ", ".join(f"{name}={value}" for name, value in keywords.items() if name != "mesh")
            why = f"{self.name}({given}) raises {type(error).__name__}: {message(error)}"
            if "mesh" in keywords and isinstance(error, RuntimeError):
                why += "; with --mesh a model lies on the meta device: make it under torch.device('meta')"
            raise NotMade(why) from error
        if not (isinstance(made, tuple) and len(made) in (2, 3)):
            kind = type(made).__name__
            raise NotMade(
                f"{self.name}: it returns a {kind}; expected (model, args) or (model, args, kwargs)"
            )
        model, args, *kwargs = made
        args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
        return model, args, kwargs[0] if kwargs else {}

    def value_of(self, keyword) -> int:
        """Returns the number that the function uses for a keyword: the value of --set, or the default if
        --set does not give it."""
        value = self.keywords.get(keyword)
        if value is None:
            try:
                parameter = inspect.signature(self.function).parameters[keyword]
            except (KeyError, TypeError, ValueError):
                wrong(f"--vary {keyword}: {self.name} takes no keyword {keyword}")
            value = parameter.default
        if not isinstance(value, int) or value < 1:
            wrong(f"--vary {keyword}: say with --set {keyword}=NUMBER where to begin")
        return value


def keyword_of(text) -> tuple:
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()):
        wrong(f"--set {text}: expected NAME=VALUE")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            pass
    return name, {"true": True, "false": False, "none": None}.get(value.lower(), value)
