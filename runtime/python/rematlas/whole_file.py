"""Writes files either completely or not at all."""

import os
import pathlib


def write_whole(path, text: str) -> None:
    """Writes a file. If that fails, raises OSError and leaves an existing file unchanged."""
    path = pathlib.Path(path)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
