"""Compares a recording from shapes of a model's first step, made before the step runs, with its real
recording."""

from rematlas.lifecycle import from_shapes
from rematlas.lifecycle.recording import Recording


class FirstStep:
    """The comparison for the model that is called next. `verdict`: "same", "other", or "unknown" if shapes do
    not tell what the step does. `why`: the reason of the verdict."""

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
