"""Configurations of solvers. The compiled part makes and checks them."""

import json

from ..library import in_one_line, ops


def generated(kind: str) -> dict:
    """Returns a configuration of this kind. Raises RuntimeError, with one line that lists the kinds, if the
    kind is unknown."""
    return json.loads(in_one_line(ops.generate_config, kind))


def check_solver(name: str) -> None:
    """Raises RuntimeError, with one line that lists the solvers, if there is no solver of this name."""
    in_one_line(ops.check_solver, name)


def checked(config: dict):
    """Returns the solver's name and its options (None if there are none). Raises RuntimeError, with one line
    that names the wrong key, if the configuration is wrong."""
    told = json.loads(in_one_line(ops.check_config, json.dumps(config)))
    return told["solver"], told["options"] or None
