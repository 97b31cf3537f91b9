"""What the compiled part asks Python for and tells it of, by the number of the forward.

Nobody above could catch what is raised here, an interrupt, say: it is raised on the way back.
"""

import ctypes

from ..library import kept, ops

open_forwards = {}  # planned forwards whose backward may come, by number: lifecycle/open_forward.py
planned_modules = None  # all of them, alive: `answer_for` sets it


def original_is_wanted(number):
    """The original's forward has to run again, with gradients."""
    given, used = ops.original_inputs(number), ops.original_uses(number)
    ops.original_outputs(number, open_forwards[number].run_original(given, used))


def gradients_are_taken(number):
    """The backward has updated the parameters, or has added to the sums of gradients. What an interrupt comes
    into is done again."""
    updates = open_forwards[number].owner.updates
    for part in updates.parts_of_taking:
        try:
            part(updates, number)
        except BaseException as error:
            kept.append(error)
            part(updates, number)


def backward_is_over(number):
    """The backward that took gradients is over; its forward may be forgotten by then."""
    for module in list(planned_modules):
        if module.updates is not None:
            module.updates.end_backward(number)


def hooks_are_asked_for(number):
    """The compiled part is told if some of the parameters have hooks."""
    try:
        if open_forwards[number].owner.updates.has_hooks():
            ops.tell_of_hooks(number)
    except BaseException:
        ops.tell_of_hooks(number)
        raise


# by the compiled part's number
ASKED = (original_is_wanted, gradients_are_taken, backward_is_over, hooks_are_asked_for)


@ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int)
def on_frame(number, asked):
    try:
        ASKED[asked](number)
    except BaseException as error:
        kept.append(error)


# Whose code is no Python: when forwards go no handler of a signal runs, which could raise where nobody takes
# it.
forget_forward = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(open_forwards.pop)


def answer_for(modules) -> None:
    """Begins to answer, for these modules."""
    global planned_modules
    planned_modules = modules
    on_asked, on_gone = (
        ctypes.cast(function, ctypes.c_void_p).value for function in (on_frame, forget_forward)
    )
    ops.set_callbacks(on_asked, on_gone, id(kept))


def answer_no_more() -> None:
    """Nobody calls back into Python from here on."""
    ops.set_callbacks(0, 0, 0)
