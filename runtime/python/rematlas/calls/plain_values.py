"""Plain values, which are compared by value, and their descriptions."""

import enum
import zlib

import torch

PLAIN = (
    *(int, float, complex, bool, str, bytes, type(None)),
    *(torch.dtype, torch.device, torch.Size, torch.memory_format, torch.layout),
)


def plain(value):
    """Returns a hashable key; None for a value that is compared only by identity. Two values have equal keys
    exactly if they have the same type and are equal, except that 0.0 and -0.0 have different keys."""
    kind = type(value)
    if kind is float:
        return (kind, value.hex())
    if kind in PLAIN or isinstance(value, enum.Enum):
        return (kind, value)
    return None


def text(value) -> str:
    shown = repr(value) if plain(value) is not None else type(value).__name__
    return shown if len(shown) < 60 else shown[:57] + "..."


def shown(value):
    value = value[0] if len(value) == 1 else value
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], type):
        return text(float.fromhex(value[1])) if value[0] is float else text(value[1])
    return "an object" if isinstance(value, int) else str(value)[:60]


def digest_of_array(array):
    try:
        return array.shape, zlib.crc32(array)
    except (BufferError, TypeError, ValueError):  # the array is not contiguous, or holds dates
        return array.shape, zlib.crc32(array.tobytes())


def state_of_numpy(generator):
    if hasattr(generator, "bit_generator"):
        return generator.bit_generator.state
    return generator.get_state()
