"""Work that is not visible as ops of libtorch: regions that torch.compile has compiled, and kernels that
Python launches."""

from . import calls, compiled_regions, triton_launches


def watch_for(recording) -> None:
    """From now on turns work that is not visible as ops into ops of the recorded step. If some work cannot be
    turned into an op, the recording is refused."""
    calls.recordings.add(recording)
    compiled_regions.watch()
    triton_launches.watch()
