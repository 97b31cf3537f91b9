"""The checks that every plan must pass before it may run a step, whether it was made from recorded steps,
from shapes, from a file, or by another process.

There are six lists of checks:

- OF_FORWARDS looks at a forward that has run, for real or on shapes. It asks what the forward did
  besides computing tensors, because no plan repeats that.
- OF_STEPS asks what remains of a step after its backward.
- OF_KINDS asks what the forwards of a kind of call share with other forwards.
- OF_PLANS asks whether the training's forwards usually share sums of gradients.
- OF_UNCOMPARED_PLANS asks for the origin of a plan that was not compared with the original.
- OF_PLANNED_STEPS asks whether a planned step shares sums or casts with forwards that are open.

No check can find out whether the plan computes the same bits. A comparison with the original does that, in
the first steps that have room for plan and original (comparing.py).
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
# If more forwards than this share sums of gradients (see Sharing), the module is assumed to do so regularly.
MOST_SHARED = 4
QUIET = 8  # after this many forwards in a row without shared sums, the count restarts at 0


class RunForward(typing.NamedTuple):
    """A forward that has run."""

    call: Call
    before: BeforeForward
    change_of_module: typing.Callable  # returns how the forward has changed the module; empty if it has not


class Check(typing.NamedTuple):
    name: str
    why_not: typing.Callable  # returns why the check fails; empty if it passes


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
    """Returns why no plan can repeat this forward; empty if a plan can."""
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
    """Returns why no plan can repeat this recorded step, whose backward must be over; empty if a plan can."""
    return first_reason(OF_STEPS, step)


def shares_casts(times, keeps_bytes) -> str:
    return SHARED_CASTS if times >= (1 if keeps_bytes else MOST_ATTEMPTS) else ""


OF_KINDS = (Check("casts of several forwards", shares_casts),)


def why_no_kind(times, keeps_bytes) -> str:
    """Returns why no plan may run steps of this kind of call; empty if a plan may. `times`: in how many
    autocast regions forwards of this kind shared casts of weights with other open forwards. `keeps_bytes`:
    whether the budget is in bytes. If so, one such region is enough to refuse, because each step with shared
    casts would need another plan to keep the budget."""
    return first_reason(OF_KINDS, times, keeps_bytes)


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
    """Returns a reason to refuse a plan from a file that was made with another version of torch and was never
    compared here, because the ops of that version may compute other bits. Returns an empty text for any other
    plan."""
    mine, made_with = minor_of(torch.__version__), minor_of(answer.torch)
    if not made_with or made_with == mine or comparisons.identical > 0:
        return ""
    return (
        f"the plan was made with torch {made_with}, and this is torch {mine}: a step must be compared with"
        " the original before it is used; give the budget room for both and verify=1, or plan the module here"
    )


OF_UNCOMPARED_PLANS = (Check("version of torch", is_of_another_torch),)


def why_not_uncompared(answer, comparisons) -> str:
    """Returns why the plan may not run before it has been compared with the original; empty if it may."""
    return first_reason(OF_UNCOMPARED_PLANS, answer, comparisons)


def why_no_plan(sharing, plan) -> str:
    """Returns why the plan may not run the module's steps; empty if it may."""
    return first_reason(OF_PLANS, sharing, plan)


def why_not_now(sharing, plan) -> str:
    """Returns why the plan may not run the step that begins; empty if it may."""
    return first_reason(OF_PLANNED_STEPS, sharing, plan)


def first_reason(checks, *asked) -> str:
    return next((why for why in (check.why_not(*asked) for check in checks) if why), "")
