"""Lets the ranks that train one module use one plan: one of them makes the plan, and the others receive it
through the store of the process group.

A rank asks for a plan by the digest of its graph, so the plan that it receives has the same ops on the same
tensors. The rank that asks first leads: it makes the plan. A rank with other shapes asks for another plan.
"""

import atexit
import contextlib
import gc
import hashlib
import json
import threading
import time
import weakref

import torch
import torch.distributed as dist

from .errors import infeasible_text

at_exit = threading.Event()
has_others = threading.Event()  # this process trains, or has trained, with other processes
publishing = weakref.WeakSet()  # threads, see Shared.lead


@atexit.register
def end_threads() -> None:
    at_exit.set()
    for thread in list(publishing):
        thread.join()


def let_threads_end() -> None:
    """Called before the interpreter ends. A thread of Gloo may still be about to drop its last collective,
    which refers to a Python object. If the interpreter ended meanwhile, the process would abort. A process
    group that is freed here waits for its threads. For groups that the program still holds, this function
    waits a moment."""
    if has_others.is_set():
        gc.collect()
        time.sleep(0.05)


# Facts about an op that differ between processes. A collective with a measured workspace has no queue.
MEASURED = ("time_ns", "workspace_bytes", "queue", "wire_bytes")


def store():
    """Returns the store of the process group; None if this process trains alone."""
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return None
    has_others.set()
    return dist.distributed_c10d._get_default_store()


def digest(plan) -> str:
    """Returns a text that is equal for plans of steps with the same ops on the same tensors. Values of
    arguments may differ, for example names of process groups."""
    graph = json.loads(plan.graph_text())
    for op in graph["ops"]:
        for name in MEASURED:
            op.pop(name, None)
    parts = [graph["tensors"], graph["ops"], graph["results"]]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def key_of(number, module) -> str:
    """Returns a key for the plans of a module. Ranks that train a module with the same parameters have the
    same key; the stages of a pipeline have different keys. `number`: the position of the module among the
    planned modules of the process."""
    named = [(name, *facts_of(parameter)) for name, parameter in module.named_parameters()]
    return f"rematlas/modules/{number}/{hashlib.sha256(json.dumps(named).encode()).hexdigest()}"


def facts_of(parameter) -> tuple:
    return () if torch.nn.parameter.is_lazy(parameter) else (list(parameter.shape), str(parameter.dtype))


class Shared:
    """One plan that several ranks use. `key`: see `key_of`. `asked`: as text, everything that the plan
    depends on except the graph (budget, solver, options). `seconds`: how long to wait for the plan.
    `solver`: the solver's name."""

    def __init__(self, key, plan, asked: str, seconds: float, solver: str):
        self.store = store()
        self.solver = solver
        self.key = f"{key}/{hashlib.sha256(asked.encode()).hexdigest()}/{digest(plan)}"
        self.end = time.monotonic() + seconds
        self.identity = ""  # a digest of the plan that the ranks share, once there is one
        # True if another rank makes the plan, or if the plan was made before for an equal step.
        self.is_received = self.store.add(f"{self.key}/asked", 1) > 1
        self.lock = threading.Lock()
        self.is_published = False

    def lead(self, plan) -> None:
        """Starts a thread that publishes the plan as soon as it is solved. The training thread cannot do
        this: it may be waiting for another rank, which waits for the plan."""

        def publish() -> None:
            while plan.busy():
                if at_exit.wait(0.02):
                    return
            with contextlib.suppress(dist.DistError):  # the group has ended
                self.publish(plan)

        thread = threading.Thread(target=publish, name="rematlas plan", daemon=True)
        publishing.add(thread)
        thread.start()

    def publish(self, plan) -> None:
        """Gives the other ranks the answer of the solver."""
        with self.lock:
            if self.is_published:
                return
            answer = plan.answer()
            if answer.is_solved:
                data = plan.to_bytes()
                self.identity = hashlib.sha256(data).hexdigest()
            else:
                why = answer.error or f"the leading rank: {infeasible_text(self.solver, answer)}"
                data = b"!" + why.encode()
            self.store.set(self.key, data)
            self.is_published = True

    def waits(self) -> bool:
        """Says whether the leading rank has not answered yet, and there is still time for its answer."""
        return not self.store.check([self.key]) and time.monotonic() < self.end

    def received(self, plan):
        """Returns `plan`, a plan of this process, with the schedule of the leading rank. If the leading rank
        has no plan, returns the reason as text. Returns None if it has sent nothing."""
        if not self.store.check([self.key]):
            return None
        data = self.store.get(self.key)
        if data[:1] == b"!":
            return data[1:].decode()
        self.identity = hashlib.sha256(data).hexdigest()
        return plan.with_schedule_of(data)
