"""The one place where calls of what inductor has compiled are seen: torch's private CompiledFxGraph.__call__
runs the code of each compiled graph."""

import functools
import sys

MODULE = "torch._inductor.output_code"
wrappers = []


def wrap(wrapper) -> None:
    """From here on `wrapper(run, graph, inputs)` is called in place of `run(graph, inputs)`, which runs the
    code. The wrapper that came last is the outermost. Without inductor in the process nothing happens."""
    graphs = getattr(sys.modules.get(MODULE), "CompiledFxGraph", None)
    if graphs is None or wrapper in wrappers:
        return
    if not wrappers:
        run = graphs.__call__

        @functools.wraps(run)  # with what others have marked it by
        def call(graph, inputs):
            around = run
            for one in wrappers:
                around = functools.partial(one, around)
            return around(graph, inputs)

        graphs.__call__ = call
    wrappers.append(wrapper)
