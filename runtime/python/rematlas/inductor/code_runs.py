"""Tells listeners when the code of a compiled graph that is trained begins to run and ends."""

import weakref

from torch._inductor.output_code import CompiledFxGraph

listeners = weakref.WeakSet()  # each with `run_begins(code, is_backward)` and `run_ends()`


def listen(listener) -> None:
    """Until `leave(listener)`, or as long as the listener lives. `code` is a number for the code. An error of
    `run_begins` ends the run."""
    if not getattr(CompiledFxGraph.__call__, "tells_listeners", False):
        run = CompiledFxGraph.__call__

        def told(graph, inputs):
            if not listeners or graph.fx_kwargs.get("is_inference"):
                return run(graph, inputs)
            told_now = list(listeners)
            for one in told_now:
                one.run_begins(id(graph), bool(graph.fx_kwargs.get("is_backward")))
            try:
                return run(graph, inputs)
            finally:
                for one in told_now:
                    one.run_ends()

        told.tells_listeners = True
        CompiledFxGraph.__call__ = told
    listeners.add(listener)


def leave(listener) -> None:
    listeners.discard(listener)
