"""Work that is not visible as ops of libtorch: compiled regions, and kernels that Python launches."""

from . import calls, compiled_regions, triton_launches


def watch_for(recording) -> None:
    """Makes such work an op of the recorded step. If such work cannot be an op, the recording is refused."""
    calls.recordings.add(recording)
    compiled_regions.watch()
    triton_launches.watch()
