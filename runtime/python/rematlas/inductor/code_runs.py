"""Tells listeners when the code of a compiled graph that is trained begins to run and ends."""

import contextlib
import weakref

from .. import compiled_code_calls

# Each with `run_begins(code, graph, is_backward)`, which says whether the listener is to be told of the end,
# with `run_ends()`, and with `left_out()`. `code` is a number for the code, `graph` one that forward and
# backward have in common.
listeners = weakref.WeakSet()


def listen(listener) -> None:
    """Until `leave(listener)`, or as long as the listener lives. An error of `run_begins` ends the run."""
    compiled_code_calls.wrap(tell)
    listeners.add(listener)


def tell(run, graph, inputs):
    """Runs the code and tells the listeners."""
    if not listeners or graph.fx_kwargs.get("is_inference"):
        return run(graph, inputs)
    run_of = (id(graph), graph.fx_kwargs.get("graph_id"), bool(graph.fx_kwargs.get("is_backward")))
    told_of_end = [one for one in listeners if one.run_begins(*run_of)]
    try:
        return run(graph, inputs)
    finally:
        for one in told_of_end:
            one.run_ends()


def leave(listener) -> None:
    listeners.discard(listener)


@contextlib.contextmanager
def left_out():
    """What planning takes within it on the device is no listener's step."""
    with contextlib.ExitStack() as stack:
        for listener in list(listeners):
            stack.enter_context(listener.left_out())
        yield
