"""Files that are written as a whole or left as they were."""

import os
import pathlib


def write_whole(path, text: str) -> None:
    """Raises OSError where the file cannot be written, which is then as it was before."""
    path = pathlib.Path(path)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
