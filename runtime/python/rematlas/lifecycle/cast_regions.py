"""Autocast regions. All forwards in one region share its casts of weights. Autograd sums the gradients of a
shared cast before it casts the sum back to the weight's type. A plan of a single forward cannot do that."""

import contextlib

import torch

from ..calls import modes
from ..compiled import callbacks


class CastRegions:
    """The autocast regions that the module's forwards are in."""

    def __init__(self):
        self.last = None  # the newest region in which a forward ran (modes.CastRegion)
        self.now = None  # the region of the newest forward; None if this forward shares no casts

    def note_forward(self, device) -> None:
        """Called when a forward begins that may be recorded, compared or planned. Notes the forward's
        region."""
        if not modes.shares_casts(device):
            self.now = None
            return
        if not self.goes_on():
            self.last = modes.CastRegion(device)
        self.now = self.last

    def goes_on(self) -> bool:
        """Says whether the program is still in the region `last`."""
        return self.last is not None and self.last.goes_on()

    def release_open_forwards(self, call_plans, before_release) -> bool:
        """Called when one more forward begins. Releases the open forwards of the program's present region to
        autograd, which sums the gradients of the casts that all forwards of the region share. Returns whether
        forwards of this region are released now, or were released before. Calls `before_release` before the
        first release."""
        if not self.goes_on():
            return False
        region = self.last
        if region.is_shared:  # autograd already has all forwards of the region
            return True
        planned = [forward for forward in list(callbacks.open_forwards.values()) if forward.region is region]
        observed = [
            (call_plan, step)
            for call_plan in call_plans
            for step in call_plan.open_steps
            if step.is_open() and step.region is region
        ]
        if not planned and not observed:
            return False
        region.is_shared = True
        before_release()
        for forward in planned:
            forward.compiled.abandon_open_forwards()
        for _, step in observed:
            step.release(modes.SHARED_CASTS)
        kinds = [*(forward.call_plan for forward in planned), *(call_plan for call_plan, _ in observed)]
        for call_plan in dict.fromkeys(kinds):
            call_plan.note_shared_casts(region)
        return True

    @contextlib.contextmanager
    def of(self, forward):
        """A context in which the original runs again for this open forward. If the forward was not in the
        program's present region, the run shares no casts with that region."""
        is_another = forward.region is not None and not (forward.region is self.last and self.goes_on())
        if is_another:
            self.clear()
        try:
            yield
        finally:
            if is_another:
                self.clear()

    def clear(self) -> None:
        """Clears the cast cache, so that forwards before this call share no casts with forwards after it."""
        if self.goes_on():
            self.last.clear()
        else:
            torch.clear_autocast_cache()
