"""Functions that the compiled part calls to request work from Python or to report an event. Each function
gets the number that identifies a forward.

No caller could catch an error that is raised here, such as an interrupt. So errors are kept, and raised when
the compiled part returns to Python.
"""

import ctypes

from ..library import kept, ops

open_forwards = {}  # planned forwards whose backward may still come, by number: lifecycle/open_forward.py
planned_modules = None  # all PlannedModules that are alive; `answer_for` sets it


def original_is_wanted(number):
    """Runs the original's forward again, recorded by autograd, for a backward that the plan cannot run."""
    given, used = ops.original_inputs(number), ops.original_uses(number)
    ops.original_outputs(number, open_forwards[number].run_original(given, used))


def gradients_are_taken(number):
    """Called when a backward has updated the parameters or has added to the sums of gradients. Runs the
    functions in `updates.parts_of_taking`. A function that raises an error, such as an interrupt, is run
    again."""
    updates = open_forwards[number].owner.updates
    for part in updates.parts_of_taking:
        try:
            part(updates, number)
        except BaseException as error:
            kept.append(error)
            part(updates, number)


def backward_is_over(number):
    """Called when a backward that took gradients is over. Its forward is perhaps forgotten already."""
    for module in list(planned_modules):
        if module.updates is not None:
            module.updates.consumed.end_backward(number)


def hooks_are_asked_for(number):
    """Tells the compiled part if some parameters have hooks. If the search for hooks raises an error, tells
    the compiled part that there are hooks."""
    try:
        if open_forwards[number].owner.updates.consumed.has_hooks():
            ops.tell_of_hooks(number)
    except BaseException:
        ops.tell_of_hooks(number)
        raise


# the functions in the order of the numbers by which the compiled part asks for them
ASKED = (original_is_wanted, gradients_are_taken, backward_is_over, hooks_are_asked_for)


@ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int)
def on_frame(number, asked):
    try:
        ASKED[asked](number)
    except BaseException as error:
        kept.append(error)


# This callback runs no Python code, because `pop` is a built-in function. So no signal handler can run when a
# forward is freed. At that point nobody could catch the handler's error.
forget_forward = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(open_forwards.pop)


def answer_for(modules) -> None:
    """Lets the compiled part call the functions above from now on. `modules`: all planned modules."""
    global planned_modules
    planned_modules = modules
    on_asked, on_gone = (
        ctypes.cast(function, ctypes.c_void_p).value for function in (on_frame, forget_forward)
    )
    ops.set_callbacks(on_asked, on_gone, id(kept))


def answer_no_more() -> None:
    """Ends the callbacks: from now on the compiled part does not call Python."""
    ops.set_callbacks(0, 0, 0)
