"""Work that no op of libtorch shows: compiled regions, and kernels that Python launches."""

from . import calls, compiled_regions, triton_launches


def watch_for(recording) -> None:
    """While its step runs, such work is an op of it, or is refused."""
    calls.recordings.add(recording)
    compiled_regions.watch()
    triton_launches.watch()
