"""Only one step of the process is recorded or compared at a time. Other steps wait for their turn, or run
unobserved."""

import time

import torch

from ..library import ops

LONGEST_WAIT = 30  # seconds
OWN_KEY = ops.own_key()  # the dispatch key through which steps are recorded, compared and evicted


class Busy(RuntimeError):
    """Raised if another step of the program is being recorded or compared."""

    def __init__(self):
        super().__init__("another step of the program is recorded or compared at the moment")


def when_free(begin, is_evicting=False):
    """Calls `begin` until it does not raise Busy, and returns its result. Waiting helps, because other
    threads soon finish their forward or backward. Raises Busy at once if this thread itself is in an observed
    step; otherwise after LONGEST_WAIT. `is_evicting`: whether eviction is in force, which alone does not
    count as an observed step."""
    is_own = torch._C._dispatch_tls_is_dispatch_key_included(OWN_KEY) and not is_evicting
    end = time.monotonic() + (0 if is_own else LONGEST_WAIT)
    while True:
        try:
            return begin()
        except Busy:
            if time.monotonic() >= end:
                raise
        time.sleep(0.005)
