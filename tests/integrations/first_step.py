"""Records a model's first step from shapes before it runs, and compares this with the recording of the real
step."""

from rematlas.lifecycle import from_shapes
from rematlas.lifecycle.recording import Recording


class FirstStep:
    """Compares the two recordings of the next model that is called. `verdict`: "same", "other", or "unknown"
    if the step cannot be recorded from shapes. `why`: the reason for the verdict."""

    def __init__(self):
        self.verdict, self.why = "unknown", "not recorded"
        self.told = None
        record, settle = Recording.try_to_record, Recording.settle_recorded

        def record_from_shapes_first(recording, call):
            Recording.try_to_record = record
            owner = recording.owner
            try:
                self.told = from_shapes.record(owner.module, call, owner.hooks)
            except from_shapes.Unknown as error:
                self.why = str(error)
            return record(recording, call)

        def compare_first(recording, step):
            Recording.settle_recorded = settle
            if self.told is not None:
                self.why = step.recording.difference(self.told.recording)
                self.verdict = "other" if self.why else "same"
            return settle(recording, step)

        Recording.try_to_record, Recording.settle_recorded = record_from_shapes_first, compare_first
