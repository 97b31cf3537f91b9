"""How the memory of a process grows."""

import pathlib


def resident(process="self") -> int:
    """Returns the resident memory of a process in bytes; 0 if the process has ended."""
    try:
        return int(pathlib.Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096
    except (OSError, IndexError):
        return 0


def slope(values, distance) -> float:
    """Returns the slope of the least-squares line through values that are `distance` apart."""
    count = len(values)
    middle, mean = (count - 1) / 2, sum(values) / count
    above = sum((i - middle) * (value - mean) for i, value in enumerate(values))
    return above / sum((i - middle) ** 2 for i in range(count)) / distance
