"""Intercepts all calls of code that inductor has compiled. The code of each compiled graph is run by torch's
private CompiledFxGraph.__call__."""

import functools
import sys

MODULE = "torch._inductor.output_code"
wrappers = []


def wrap(wrapper) -> None:
    """Makes every later call of a compiled graph's code, `run(graph, inputs)`, call `wrapper(run, graph,
    inputs)` instead. The wrapper that was added last is the outermost one. Does nothing if the process has
    not imported inductor."""
    graphs = getattr(sys.modules.get(MODULE), "CompiledFxGraph", None)
    if graphs is None or wrapper in wrappers:
        return
    if not wrappers:
        run = graphs.__call__

        @functools.wraps(run)  # keeps attributes that others have set on the function
        def call(graph, inputs):
            around = run
            for one in wrappers:
                around = functools.partial(one, around)
            return around(graph, inputs)

        graphs.__call__ = call
    wrappers.append(wrapper)
