"""Declares names for examples, in C++."""


def values(names: str) -> str:
    """Returns a declaration of names that stand for values of any type."""
    return f"extern const Anything {', '.join(names.split())};"
