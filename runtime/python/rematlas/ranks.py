"""Lets the processes of one training use one plan: rank 0 makes the plan, and the other processes receive it
through the store of the process group.

A process asks for a plan by the digest of its graph, so the plan that it receives has the same ops on the
same tensors. If rank 0 has a graph with other shapes, the process plans alone.
"""

import hashlib
import json
import time

import torch.distributed as dist

GRACE = 5.0  # seconds in which rank 0 must begin to plan this graph after it has answered for another one
MEASURED = ("time_ns", "workspace_bytes")  # facts about an op that differ between processes


def store():
    """Returns the store of the process group; None if this process trains alone."""
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return None
    return dist.distributed_c10d._get_default_store()


def leads() -> bool:
    return dist.get_rank() == 0


def digest(plan) -> str:
    """Returns a text that is equal for plans of steps with the same ops on the same tensors. Values of
    arguments may differ, for example names of process groups."""
    graph = json.loads(plan.graph_text())
    for op in graph["ops"]:
        for name in MEASURED:
            op.pop(name, None)
    parts = [graph["tensors"], graph["ops"], graph["results"]]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Shared:
    """One plan that all ranks use. `asked`: everything except the graph that the plan depends on (budget,
    solver, options), as text. `seconds`: how long to wait for the plan."""

    def __init__(self, plan, asked: str, seconds: float):
        self.store = store()
        question = f"rematlas/{hashlib.sha256(asked.encode()).hexdigest()}"
        self.key = f"{question}/{digest(plan)}"
        self.begun = f"{self.key}/begun"  # set when rank 0 begins to plan this graph
        self.answers = f"{question}/answers"  # key of the number of graphs that rank 0 has answered for
        self.end = time.monotonic() + seconds
        self.known_answers = self.store.add(self.answers, 0)
        self.identity = ""  # a digest of the plan that the ranks share, once there is one
        # None until rank 0 has answered for another graph; then the time by which it must begin with this one
        self.begin_by = None
        # Rank 0 also takes a plan that it has made before for an equal step.
        self.is_received = not leads() or self.store.check([self.key])
        if not self.is_received:
            self.store.set(self.begun, b"1")

    def publish(self, plan) -> None:
        data = plan.to_bytes()
        self.identity = hashlib.sha256(data).hexdigest()
        self.answer(data)

    def publish_refusal(self, why: str) -> None:
        self.answer(b"!" + why.encode())

    def answer(self, data: bytes) -> None:
        self.store.set(self.key, data)
        self.store.add(self.answers, 1)

    def waits(self) -> bool:
        """Says whether rank 0 may still answer. If rank 0 has answered for another graph meanwhile, it must
        begin to plan this graph within GRACE seconds."""
        if self.store.check([self.key]):
            return False
        now = time.monotonic()
        if self.begin_by is None and self.store.add(self.answers, 0) > self.known_answers:
            self.begin_by = now + GRACE
        is_hopeless = (
            self.begin_by is not None and now >= self.begin_by and not self.store.check([self.begun])
        )
        return now < self.end and not is_hopeless

    def received(self, plan):
        """Returns `plan`, a plan of this process, with the schedule of rank 0. Returns the reason as text if
        rank 0 has no plan; None if it has sent nothing."""
        if not self.store.check([self.key]):
            return None
        data = self.store.get(self.key)
        if data[:1] == b"!":
            return data[1:].decode()
        self.identity = hashlib.sha256(data).hexdigest()
        return plan.with_schedule_of(data)
