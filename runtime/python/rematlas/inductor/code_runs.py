"""Calls listeners when a run of a compiled training graph's code begins, and when it ends."""

import contextlib
import weakref

from .. import compiled_code_calls

# A listener has the methods `run_begins(code, graph, is_backward)`, `run_ends()` and `left_out()`.
# `run_begins` returns whether `run_ends` is to be called at the end of the run. `code` is an id of the code.
# `graph` is an id that the forward and the backward of a graph have in common.
listeners = weakref.WeakSet()


def listen(listener) -> None:
    """Adds a listener. It stays until `leave(listener)`, or until it is freed. If its `run_begins` raises an
    error, the code does not run."""
    compiled_code_calls.wrap(tell)
    listeners.add(listener)


def tell(run, graph, inputs):
    """Runs the code, and calls the listeners before and after it."""
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
    """A context in which listeners measure nothing. Planning runs in it, because the memory that planning
    takes belongs to no step."""
    with contextlib.ExitStack() as stack:
        for listener in list(listeners):
            stack.enter_context(listener.left_out())
        yield
