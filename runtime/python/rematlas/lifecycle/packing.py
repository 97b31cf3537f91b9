"""How a module makes its return value from the outputs of its plan, in the form that a plan file keeps."""

import base64
import pickle
from typing import NamedTuple


class Packing(NamedTuple):
    template: object  # the template of the return value, see calls/structure.py
    sources: list  # per output tensor: ("input", i), ("tensor", i) or ("plan", place)
    sums: bool  # the plan sums gradients, so several open forwards cannot be planned
    # Attributes that the forward sets, whose tensors are the last outputs: (place of their dictionary, name,
    # template, count of tensors), see Kept
    kept: list
    ending: str = ""  # how a plan with the optimizer's updates uses the gradients, see UpdateRule.text
    # Counters and logs of the forward: (place of their dictionary, name, amount), see Effect; the numbers
    # that are logged are the very last outputs
    effects: tuple = ()
    budget: int | None = None  # bytes that the plan was made for; None: a share, or unknown
    reads_kept: bool = False  # see Walk
    chunk_loss: int | str | None = None  # chunks of the loss in the planned forward, see `apply`

    def outputs(self) -> int:
        """Returns how many tensors the caller gets."""
        of_kept = sum(count for *_, count in self.kept)
        return len(self.sources) - of_kept - sum(amount is None for _, _, amount in self.effects)

    def text(self) -> str:
        return base64.b64encode(pickle.dumps(tuple(self))).decode()

    @classmethod
    def of(cls, plan):
        """Returns the packing of a plan of the compiled part. A plan of a TorchScript model has none: its
        module returns a tensor, or a tuple of tensors. No class or submodule is looked up yet."""
        text = plan.packing()
        if text:
            found = cls(*pickle.loads(base64.b64decode(text)))
            # An attribute with a single tensor may be packed without template and count.
            return found._replace(kept=[(*kept, "tensor", 1)[:4] for kept in found.kept])
        outputs = plan.output_count()
        sources = [("plan", place) for place in range(outputs)]
        return cls("tensor" if outputs == 1 else (tuple, outputs), sources, True, [])
