"""The situations of the table, by theme. Each file registers its own as `situation.SITUATIONS`."""

import modules

FILES = [
    "everyday_loops",
    "adversarial",
    "self_supervised",
    "generative",
    "sequences",
    "reinforcement",
    "checkpoints",
    "precision",
    "trainers",
    "graphs",
    "hooks",
]


def load() -> list[str]:
    """Registers the situations of every library that is installed; returns a line for each that is not."""
    return modules.load(__name__, FILES)
