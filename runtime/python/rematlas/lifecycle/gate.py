"""The gate that every plan passes before it may run a step, whichever way it was made: from steps that were
recorded, from shapes, from a file, or by another process.

There are six lists of checks:

- OF_FORWARDS looks at a forward that has run, for real or on shapes. It asks what the forward did beside
  computing tensors, because no plan repeats that.
- OF_STEPS asks what is left of a step when its backward is over.
- OF_KINDS asks what the forwards of a kind of call share with other forwards.
- OF_PLANS looks at the training that a plan is for.
- OF_UNCOMPARED_PLANS asks where a plan comes from that was not compared with the original.
- OF_PLANNED_STEPS asks which forwards are open when a planned step begins.

No check can tell whether the plan computes the same bits. A comparison with the original tells that, in the
first steps that leave room for both (comparing.py).
"""

import gc
import typing

import torch

from rematlas_command.builds import minor_of

from ..calls.call import Call
from ..calls.modes import SHARED_CASTS
from ..calls.module_hooks import BeforeForward
from .refusals import MOST_ATTEMPTS

SHARED_SUMS = (
    "several forwards are open at a time, and share what they sum: it would be summed in another order; run"
    " each backward before the next forward where the training allows it"
)
MOST_SHARED = 4  # if more forwards than these come while others are open, the training counts as sharing sums
QUIET = 8  # forwards in a row without shared sums after which the count begins anew


class RunForward(typing.NamedTuple):
    """A forward that has run."""

    call: Call
    before: BeforeForward
    change_of_module: typing.Callable  # says how the forward has changed the module; empty if it has not


class Check(typing.NamedTuple):
    name: str
    why_not: typing.Callable  # returns the reason against it; empty if there is none


def draws_elsewhere(forward: RunForward) -> str:
    return forward.before.changed()


def changes_its_arguments(forward: RunForward) -> str:
    change = forward.call.change()
    return change and f"the forward changes its arguments: {change} (change a copy of them)"


def changes_the_module(forward: RunForward) -> str:
    change = forward.change_of_module()
    return change and f"the forward changes the module: {change}"


OF_FORWARDS = (
    Check("random numbers of others", draws_elsewhere),
    Check("arguments", changes_its_arguments),
    Check("state of the module", changes_the_module),
)


def why_no_forward(forward: RunForward) -> str:
    """Says why no plan can repeat this forward; empty if a plan can."""
    return first_reason(OF_FORWARDS, forward)


def keeps_tensors(step) -> str:
    recording = step.recording
    if not recording.survivors():
        return ""
    gc.collect()
    alive = recording.survivors()
    return alive and (
        f"a tensor of the step is kept after it, a result of {alive[0]}: where the program assigns it to"
        " `parameter.data`, write in place (`parameter.data.copy_(...)`); where it keeps it, keep"
        " `tensor.detach().clone()`"
    )


def counts_in_backward(step) -> str:
    name = step.counted.change()
    return name and (
        f"the forward counts by {name}, and so does its backward (a checkpoint runs it again), or the program"
        " changes it before the next step"
    )


OF_STEPS = (
    Check("tensors that are kept", keeps_tensors),
    Check("counters", counts_in_backward),
)


def why_no_step(step) -> str:
    """Says why no plan can repeat this recorded step, whose backward is over; empty if a plan can."""
    return first_reason(OF_STEPS, step)


def shares_casts(times, keeps_bytes) -> str:
    return SHARED_CASTS if times >= (1 if keeps_bytes else MOST_ATTEMPTS) else ""


OF_KINDS = (Check("casts of several forwards", shares_casts),)


def why_no_kind(times, keeps_bytes) -> str:
    """Says why no plan may run steps of a kind of call; empty if a plan may. `times`: the number of autocast
    regions in which its forwards shared casts of weights with other open forwards. `keeps_bytes`: the budget
    is in bytes, and each such step would be planned once more for it."""
    return first_reason(OF_KINDS, times, keeps_bytes)


class Sharing:
    """Counts the forwards that begin while other forwards are open whose gradients are sums, or that share
    casts of weights with open forwards. A plan would add the sum of one forward as a whole; without a plan
    autograd adds its terms one by one, in another order."""

    def __init__(self):
        self.sums_now = False  # the last forward shares sums with open ones
        self.casts_now = False  # the last forward shares casts with open ones
        self.count = 0  # forwards that shared sums
        self.quiet = 0  # the number of last forwards in a row that shared no sums

    def note(self, sums_now, casts_now) -> None:
        """A forward begins. `sums_now`: open forwards were given back to autograd because of their sums.
        `casts_now`: it shares casts with open forwards, which were given back, too."""
        self.sums_now, self.casts_now = sums_now, casts_now
        self.quiet = 0 if sums_now else self.quiet + 1
        self.count = self.count + sums_now if self.quiet < QUIET else 0

    @property
    def is_now(self) -> bool:
        return self.sums_now or self.casts_now

    @property
    def is_usual(self) -> bool:
        return self.count > MOST_SHARED


def shares_sums(sharing, plan) -> str:
    return SHARED_SUMS if sharing.is_usual and plan.sums else ""


def shares_sums_now(sharing, plan) -> str:
    return SHARED_SUMS if sharing.sums_now and plan.sums else ""


def shares_casts_now(sharing, plan) -> str:
    return SHARED_CASTS if sharing.casts_now else ""


OF_PLANS = (Check("sums of several forwards", shares_sums),)
OF_PLANNED_STEPS = (
    Check("sums of what is open", shares_sums_now),
    Check("casts of what is open", shares_casts_now),
)


def is_of_another_torch(answer, comparisons) -> str:
    """Refuses a plan from a file that was made with another version of torch, because the ops of that version
    may compute other bits."""
    mine, made_with = minor_of(torch.__version__), minor_of(answer.torch)
    if not made_with or made_with == mine or comparisons.identical > 0:
        return ""
    return (
        f"the plan was made with torch {made_with}, and this is torch {mine}: a step must be compared with"
        " the original before it is used; give the budget room for both and verify=1, or plan the module here"
    )


OF_UNCOMPARED_PLANS = (Check("version of torch", is_of_another_torch),)


def why_not_uncompared(answer, comparisons) -> str:
    """Says why the plan may not run before it was compared with the original; empty if it may."""
    return first_reason(OF_UNCOMPARED_PLANS, answer, comparisons)


def why_no_plan(sharing, plan) -> str:
    """Says why the plan may not run the module's steps; empty if it may."""
    return first_reason(OF_PLANS, sharing, plan)


def why_not_now(sharing, plan) -> str:
    """Says why the plan may not run the step that begins; empty if it may."""
    return first_reason(OF_PLANNED_STEPS, sharing, plan)


def first_reason(checks, *asked) -> str:
    return next((why for why in (check.why_not(*asked) for check in checks) if why), "")
