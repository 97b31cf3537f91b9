"""Handles work that runs without the dispatcher. Eviction sees neither its reads nor its writes."""

import contextlib
import sys
import threading
from unittest import mock

import torch

from ..library import classes

GRAPHS = (
    "rematlas: online eviction does not see what a CUDA graph does: capture and replay it outside of"
    " rematlas.evict"
)


def refuse_capture(device: str) -> None:
    if device.startswith("cuda") and torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
        raise RuntimeError(GRAPHS)


def refuse_graphs(*_, **__):
    raise RuntimeError(GRAPHS)


def started_as(start):
    def start_followed(thread):
        run = thread.run

        def run_followed():
            thread.__dict__.pop("run", None)
            classes.Eviction.follow_thread(True)
            try:
                run()
            finally:
                classes.Eviction.follow_thread(False)

        thread.run = run_followed
        start(thread)

    return start_followed


class UntrackedWrites:
    """Handles work without the dispatcher while eviction is in force. Ops of threads that start during
    eviction are seen, too. CUDA graphs are refused before anything is captured. Functions that torch.compile
    has compiled run uncompiled, because compiled kernels use addresses."""

    def __init__(self):
        self.replaced = contextlib.ExitStack()
        self.runs_as_written = False

    def watch(self):
        graph = torch.cuda.CUDAGraph
        # __enter__ of torch.cuda.graph is refused too, because it changes the stream.
        for owner, name in ((torch.cuda.graph, "__enter__"), (graph, "capture_begin"), (graph, "replay")):
            self.replace(owner, name, refuse_graphs)
        self.replace(threading.Thread, "start", started_as(threading.Thread.start))
        if "torch._dynamo" in sys.modules:
            self.run_as_written()
        else:
            compile_first = torch.compile

            def compile_later(*args, **kwargs):
                compiled = compile_first(*args, **kwargs)
                self.run_as_written()
                return compiled

            self.replace(torch, "compile", compile_later)

    def run_as_written(self):
        if not self.runs_as_written:
            self.replaced.enter_context(torch.compiler.set_stance("force_eager"))
            self.runs_as_written = True

    def replace(self, owner, name, by):
        self.replaced.enter_context(mock.patch.object(owner, name, by))

    def stop(self):
        self.replaced.close()
        self.runs_as_written = False


untracked_writes = UntrackedWrites()
