"""The gate that every plan passes before it may run a step, whichever way it was made: from steps that were
recorded, from shapes, from a file, or by another process.

There are six lists of checks. Those of a forward look at one that has run, for real or on shapes, for what
it did beside its tensors, which no plan repeats. Those of a step ask what is left of it when its backward is
over. Those of a kind of call ask what its forwards share with others. Those of a plan look at the training
that it is for, those of a plan that was not compared at where it comes from, and those of a planned step at
what is open when it begins. What none can tell, whether the plan computes the same bits, a comparison with
the original tells in the first steps that leave room for both (comparing.py).
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
    "several forwards are open at a time, and share what they sum: it would be summed in another order"
)
MOST_SHARED = 4  # forwards that come while others are open, before that is taken for how the training is
QUIET = 8  # forwards in a row after which it is not


class RunForward(typing.NamedTuple):
    """A forward that has run."""

    call: Call
    before: BeforeForward
    change_of_module: typing.Callable  # says how the forward has changed it; empty where it has not


class Check(typing.NamedTuple):
    name: str
    why_not: typing.Callable  # empty where nothing speaks against it


def draws_elsewhere(forward: RunForward) -> str:
    return forward.before.changed()


def changes_its_arguments(forward: RunForward) -> str:
    change = forward.call.change()
    return change and f"the forward changes its arguments: {change}"


def changes_the_module(forward: RunForward) -> str:
    change = forward.change_of_module()
    return change and f"the forward changes the module: {change}"


OF_FORWARDS = (
    Check("random numbers of others", draws_elsewhere),
    Check("arguments", changes_its_arguments),
    Check("state of the module", changes_the_module),
)


def why_no_forward(forward: RunForward) -> str:
    """Says why no plan can repeat this forward; empty where one can."""
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
    """Says why no plan can repeat this recorded step, whose backward is over; empty where one can."""
    return first_reason(OF_STEPS, step)


def shares_casts(times, keeps_bytes) -> str:
    return SHARED_CASTS if times >= (1 if keeps_bytes else MOST_ATTEMPTS) else ""


OF_KINDS = (Check("casts of several forwards", shares_casts),)


def why_no_kind(times, keeps_bytes) -> str:
    """Says why no plan may run steps of a kind of call; empty where one may. `times`: in how many regions of
    autocast its forwards shared casts of weights with others that were open. `keeps_bytes`: there is a budget
    in bytes, for which each such step would be planned once more."""
    return first_reason(OF_KINDS, times, keeps_bytes)


class Sharing:
    """How often forwards came while others were open whose gradients are sums of their own, or who share
    casts of weights with them. Each of these would be added as a whole, and without a plan its terms are
    added one by one."""

    def __init__(self):
        self.sums_now = False  # so came the last forward
        self.casts_now = False
        self.count = 0  # of sums
        self.quiet = 0  # the last forwards that did not

    def note(self, sums_now, casts_now) -> None:
        """A forward begins. Others were open, and were released to the caller: for their sums, or as they
        share casts with it."""
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
    """A plan of a file may have been made with another version, whose ops may compute other bits."""
    mine, made_with = minor_of(torch.__version__), minor_of(answer.torch)
    if not made_with or made_with == mine or comparisons.identical > 0:
        return ""
    return (
        f"the plan was made with torch {made_with}, and this is torch {mine}: a step must be compared with"
        " the original before it is used; give the budget room for both and verify=1, or plan the module here"
    )


OF_UNCOMPARED_PLANS = (Check("version of torch", is_of_another_torch),)


def why_not_uncompared(answer, comparisons) -> str:
    """Says why the plan may not run before it was compared with the original; empty where it may."""
    return first_reason(OF_UNCOMPARED_PLANS, answer, comparisons)


def why_no_plan(sharing, plan) -> str:
    """Says why the plan may not run the module's steps; empty where it may."""
    return first_reason(OF_PLANS, sharing, plan)


def why_not_now(sharing, plan) -> str:
    """Says why the plan may not run the step that begins; empty where it may."""
    return first_reason(OF_PLANNED_STEPS, sharing, plan)


def first_reason(checks, *asked) -> str:
    return next((why for why in (check.why_not(*asked) for check in checks) if why), "")
