"""Configurations of solvers, which the compiled part makes and checks."""

import json

from ..library import ops


def generated(kind: str) -> dict:
    """Raises RuntimeError with one line that lists what there is."""
    return json.loads(asked(ops.generate_config, kind))


def checked(config: dict):
    """Returns the solver's name and its options, None for none. Raises RuntimeError with one line that names
    the key."""
    told = json.loads(asked(ops.check_config, json.dumps(config)))
    return told["solver"], told["options"] or None


def asked(op, text) -> str:
    try:
        return op(text)
    except RuntimeError as error:
        raise RuntimeError(str(error).splitlines()[0]) from None
