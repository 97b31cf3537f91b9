"""The memory that a step takes between the runs of its compiled graphs, where torch runs eager code."""

import contextlib
import dataclasses

from ..compiled.memory import alive_bytes, peak_bytes, reset_peak


@dataclasses.dataclass(frozen=True)
class Pause:
    """The memory of a pause, in bytes above those that are allocated when the pause begins."""

    peak_bytes: int  # the most bytes at any time in the pause
    kept_bytes: int  # the bytes at the end of the pause; negative if it frees more than it allocates

    def times(self, factor: float) -> "Pause":
        return Pause(int(self.peak_bytes * factor), int(self.kept_bytes * factor))


class EagerPauses:
    """Measures the pauses of a step from now on. The first pause is the time before the first run of a
    graph."""

    def __init__(self, device):
        self.device = device
        self.ended = []  # the Pause before each run
        self.begin()
        self.start_bytes = self.level

    def begin(self) -> None:
        self.level, self.peak = alive_bytes(self.device), 0
        reset_peak(self.device)

    def end(self) -> None:
        self.ended.append(self.current())

    def current(self) -> Pause:
        """Returns the present pause, as if it ended now."""
        self.note_peak()
        return Pause(self.peak, alive_bytes(self.device) - self.level)

    def leave_out(self, freed_bytes: int) -> None:
        """Subtracts bytes that have been allocated since the step began, do not belong to the step, and are
        freed now."""
        self.start_bytes -= freed_bytes
        self.level -= freed_bytes
        reset_peak(self.device)

    def so_far(self) -> list[Pause]:
        return [*self.ended, self.current()]

    def note_peak(self) -> None:
        self.peak = max(self.peak, peak_bytes(self.device) - self.level)

    @contextlib.contextmanager
    def left_out(self):
        """A context in which memory does not count for the step."""
        self.note_peak()
        try:
            yield
        finally:
            reset_peak(self.device)
