"""The facts from which a module makes its return value out of the plan's outputs, as plan files store
them."""

import base64
import pickle
from typing import NamedTuple

from ..calls import plain_pickles


class Packing(NamedTuple):
    template: object  # the structure of the return value, see calls/structure.py
    sources: list  # for each output tensor: ("input", i), ("tensor", i) or ("plan", place)
    sums: bool  # the plan sums gradients, so it cannot be used with several open forwards
    # The attributes that the forward sets: (place of their dictionary, name, template, number of tensors),
    # see Kept. The tensors in these attributes come after the other outputs.
    kept: list
    ending: str = ""  # how a plan with the optimizer's updates uses the gradients, see UpdateRule.text
    # The counters and logs of the forward: (place of their dictionary, name, amount), see Effect. The last
    # outputs are the numbers to log.
    effects: tuple = ()
    budget: int | None = None  # the budget in bytes of the plan; None if it was a share, or is unknown
    reads_kept: bool = False  # see Walk
    chunk_loss: int | str | None = None  # chunks of the loss in the planned forward, see `apply`

    def outputs(self) -> int:
        """Returns how many tensors the forward returns to the caller."""
        of_kept = sum(count for *_, count in self.kept)
        return len(self.sources) - of_kept - sum(amount is None for _, _, amount in self.effects)

    def text(self) -> str:
        return base64.b64encode(pickle.dumps(tuple(self))).decode()

    @classmethod
    def of(cls, plan):
        """Returns the packing of a compiled plan. A plan of a TorchScript model has no packing: its module
        returns a tensor, or a tuple of tensors. Classes and submodules are not looked up here."""
        text = plan.packing()
        if text:
            try:
                found = cls(*plain_pickles.loads(base64.b64decode(text)))
            except (TypeError, ValueError, pickle.UnpicklingError) as error:
                raise ValueError(
                    f"rematlas: the plan's packing of outputs cannot be read: {error} (make the plan again)"
                ) from None
            # Some files have no template and no count for an attribute with a single tensor.
            return found._replace(kept=[(*kept, "tensor", 1)[:4] for kept in found.kept])
        outputs = plan.output_count()
        sources = [("plan", place) for place in range(outputs)]
        return cls("tensor" if outputs == 1 else (tuple, outputs), sources, True, [])
