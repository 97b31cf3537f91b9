"""The situations of the table, by theme. Each file registers its situations in `situation.SITUATIONS`."""

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
    """Registers the situations of every installed library. Returns a line for each library that is
    missing."""
    return modules.load(__name__, FILES)
