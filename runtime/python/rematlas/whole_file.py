"""Files that are either written completely or left as they were."""

import os
import pathlib


def write_whole(path, text: str) -> None:
    """Writes a file. If it cannot be written, raises OSError and leaves the file as it was."""
    path = pathlib.Path(path)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
