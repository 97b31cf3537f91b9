"""A model's first step, recorded from shapes before it runs, compared with its real recording."""

from rematlas import from_shapes
from rematlas.applied import Applied


class FirstStep:
    """Of the model that is called next. `verdict`: "same", "other", or "unknown" where shapes do not tell what the step does; `why`."""

    def __init__(self):
        self.verdict, self.why = "unknown", "not recorded"
        self.record, self.settle = Applied.record, Applied.settle_recording
        self.told = None
        test = self

        def record(applied, entry, args, kwargs, inputs, device, *rest):
            Applied.record = test.record
            try:
                test.told = from_shapes.record(applied.module, args, kwargs, inputs, device, applied.hooks)
            except from_shapes.Unknown as error:
                test.why = str(error)
            return test.record(applied, entry, args, kwargs, inputs, device, *rest)

        def settle(applied, entry, pending):
            Applied.settle_recording = test.settle
            if test.told is not None:
                test.why = pending.recording.difference(test.told.recording)
                test.verdict = "other" if test.why else "same"
            return test.settle(applied, entry, pending)

        Applied.record, Applied.settle_recording = record, settle
