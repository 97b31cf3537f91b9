"""How a module packs the outputs of its plan, as a plan file keeps it."""

import base64
import pickle
from typing import NamedTuple


class Packing(NamedTuple):
    template: object  # of what the forward returns, see calls/structure.py
    sources: list  # per output tensor: ("input", i), ("tensor", i) or ("plan", place)
    sums: bool  # several open forwards cannot be planned
    # Attributes that the forward sets, whose tensors are the last outputs: (place of their dictionary, name,
    # template, count of tensors), see Kept
    kept: list
    ending: str = ""  # of a plan that takes the gradients itself: what becomes of them, see UpdateRule.text
    # Counters and logs of the forward: (place of their dictionary, name, amount), see Effect; the numbers
    # that are logged are the very last outputs
    effects: tuple = ()
    budget: int | None = None  # bytes that it was made for; None: a share, or nobody knows
    reads_kept: bool = False  # see Walk
    chunk_loss: int | str | None = None  # of the forward that it is for, see `apply`

    def outputs(self) -> int:
        """How many tensors the caller gets."""
        of_kept = sum(count for *_, count in self.kept)
        return len(self.sources) - of_kept - sum(amount is None for _, _, amount in self.effects)

    def text(self) -> str:
        return base64.b64encode(pickle.dumps(tuple(self))).decode()

    @classmethod
    def of(cls, plan):
        """Of a plan of the compiled part. One of a TorchScript model returns a tensor, or a tuple of them.
        Nothing of the module's is looked up yet."""
        text = plan.packing()
        if text:
            found = cls(*pickle.loads(base64.b64decode(text)))
            # Of a single tensor there may be the first two alone.
            return found._replace(kept=[(*kept, "tensor", 1)[:4] for kept in found.kept])
        outputs = plan.output_count()
        sources = [("plan", place) for place in range(outputs)]
        return cls("tensor" if outputs == 1 else (tuple, outputs), sources, True, [])
