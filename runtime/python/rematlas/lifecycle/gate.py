"""The checks that every plan must pass before it may run a step, whether it was made from recorded steps,
from shapes, from a file, or by another process.

Each function returns why a check fails; empty if all of its checks pass:

- `why_no_forward` looks at a forward that has run, for real or on shapes. It asks what the forward did
  besides computing tensors, because no plan repeats that.
- `why_no_step` asks what remains of a step after its backward.
- `why_no_kind` asks what the forwards of a kind of call share with other forwards.
- `why_no_plan` asks whether the training's forwards usually share sums of gradients.
- `why_not_uncompared` asks for the origin of a plan that was not compared with the original.
- `why_not_now` asks which forwards are open when a planned step begins.

No check can find out whether the plan computes the same bits. A comparison with the original does that, in
the first steps that have room for plan and original (comparing.py).
"""

import gc

import torch

from rematlas_command.builds import minor_of

from ..calls.modes import SHARED_CASTS
from .refusals import MOST_ATTEMPTS

SHARED_SUMS = (
    "several forwards are open at a time, and share what they sum: it would be summed in another order; run"
    " each backward before the next forward where the training allows it"
)
# If more forwards than this share sums of gradients (see Sharing), the module is assumed to do so regularly.
MOST_SHARED = 4
QUIET = 8  # after this many forwards in a row without shared sums, the count restarts at 0


def why_no_forward(call, before, change_of_module) -> str:
    """`call`: the Call of a forward that has run. `before`: its BeforeForward. `change_of_module` returns how
    the forward has changed the module; empty if it has not."""
    if why := before.changed():
        return why
    if change := call.change():
        return f"the forward changes its arguments: {change} (change a copy of them)"
    if change := change_of_module():
        return f"the forward changes the module: {change}"
    return ""


def why_no_step(step) -> str:
    """`step`: a recorded step, whose backward must be over."""
    if step.recording.survivors():
        gc.collect()
        if alive := step.recording.survivors():
            return (
                f"a tensor of the step is kept after it, a result of {alive[0]}: where the program assigns it"
                " to `parameter.data`, write in place (`parameter.data.copy_(...)`); where it keeps it, keep"
                " `tensor.detach().clone()`"
            )
    if name := step.counted.change():
        return (
            f"the forward counts by {name}, and so does its backward (a checkpoint runs it again), or the"
            " program changes it before the next step"
        )
    return ""


def why_no_kind(times, keeps_bytes) -> str:
    """`times`: in how many autocast regions forwards of this kind of call shared casts of weights with other
    open forwards. `keeps_bytes`: whether the budget is in bytes. If so, one such region is enough to refuse,
    because each step with shared casts would need another plan to keep the budget."""
    return SHARED_CASTS if times >= (1 if keeps_bytes else MOST_ATTEMPTS) else ""


class Sharing:
    """Counts the forwards that, when they begin, share sums of gradients with open forwards. Also notes
    whether the newest forward shares casts of weights with open forwards. A plan would sum the gradients of
    each forward first, and then add the sums. Without a plan autograd adds all gradients one by one, in
    another order."""

    def __init__(self):
        self.sums_now = False  # the newest forward shares sums with open forwards
        self.casts_now = False  # the newest forward shares casts with open forwards
        self.count = 0  # forwards that shared sums, since the count last started at 0
        self.quiet = 0  # how many forwards in a row, up to the newest, shared no sums

    def note(self, sums_now, casts_now) -> None:
        """Called when a forward begins. `sums_now`: open forwards were released to autograd, because they sum
        gradients, or because their backward would update buffers. `casts_now`: open forwards were released to
        autograd, because the new forward shares casts with them."""
        self.sums_now, self.casts_now = sums_now, casts_now
        self.quiet = 0 if sums_now else self.quiet + 1
        self.count = self.count + sums_now if self.quiet < QUIET else 0

    @property
    def is_now(self) -> bool:
        return self.sums_now or self.casts_now


def why_no_plan(sharing, plan) -> str:
    return SHARED_SUMS if sharing.count > MOST_SHARED and plan.sums else ""


def why_not_uncompared(answer, comparisons) -> str:
    """Refuses a plan from a file that was made with another version of torch and was never compared here,
    because the ops of that version may compute other bits."""
    mine, made_with = minor_of(torch.__version__), minor_of(answer.torch)
    if not made_with or made_with == mine or comparisons.identical > 0:
        return ""
    return (
        f"the plan was made with torch {made_with}, and this is torch {mine}: a step must be compared with"
        " the original before it is used; give the budget room for both and verify=1, or plan the module here"
    )


def why_not_now(sharing, plan) -> str:
    if sharing.sums_now and plan.sums:
        return SHARED_SUMS
    return SHARED_CASTS if sharing.casts_now else ""
