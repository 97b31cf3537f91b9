"""Work that no op of libtorch shows: compiled regions, and kernels that Python launches."""

from . import calls, compiled_regions, triton_launches


def watch_for(recording) -> None:
    """Makes such work an op of the recorded step, or refuses the recording."""
    calls.recordings.add(recording)
    compiled_regions.watch()
    triton_launches.watch()
