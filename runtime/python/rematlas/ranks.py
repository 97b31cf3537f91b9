"""Lets the ranks that train one module use one plan: one of them makes the plan, and the others receive it
through the store of the process group.

The rank that calls its module first leads. A rank asks for a plan by the digest of its graph, so the plan
that it receives has the same ops on the same tensors. If the leading rank has a graph with other shapes, a
rank plans alone.
"""

import hashlib
import json
import time

import torch
import torch.distributed as dist

GRACE = 5.0  # seconds in which the leading rank must begin with a graph after it has answered for another one
MEASURED = ("time_ns", "workspace_bytes")  # facts about an op that differ between processes


def store():
    """Returns the store of the process group; None if this process trains alone."""
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return None
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


class Team:
    """The ranks that train a module with the same parameters. The stages of a pipeline are several teams.
    `number`: the number of the module among those of the process."""

    def __init__(self, number, module):
        named = [(name, *facts_of(parameter)) for name, parameter in module.named_parameters()]
        self.key = f"rematlas/modules/{number}/{hashlib.sha256(json.dumps(named).encode()).hexdigest()}"
        self.leads = store().add(f"{self.key}/members", 1) == 1


def facts_of(parameter) -> tuple:
    return () if torch.nn.parameter.is_lazy(parameter) else (list(parameter.shape), str(parameter.dtype))


class Shared:
    """One plan that the ranks of a team use. `asked`: everything except the graph that the plan depends on
    (budget, solver, options), as text. `seconds`: how long to wait for the plan. `is_needed`: whether this
    rank cannot plan alone."""

    def __init__(self, team, plan, asked: str, seconds: float, is_needed: bool):
        self.store = store()
        self.key = f"{team.key}/{hashlib.sha256(asked.encode()).hexdigest()}/{digest(plan)}"
        self.begun = f"{self.key}/begun"  # set when the leading rank begins to plan this graph
        self.answers = f"{team.key}/answers"  # key of the number of graphs that it has answered for
        self.end = time.monotonic() + seconds
        self.is_needed = is_needed
        self.identity = ""  # a digest of the plan that the ranks share, once there is one
        # None until the leading rank has answered for a graph; then the time by which it must begin with this
        # one
        self.begin_by = None
        # The leading rank also takes a plan that it has made before for an equal step.
        self.is_received = not team.leads or self.store.check([self.key])
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
        """Says whether the leading rank may still answer. If it has answered for another graph, it must begin
        to plan this graph within GRACE seconds."""
        if self.store.check([self.key]):
            return False
        now = time.monotonic()
        if self.begin_by is None and not self.is_needed and self.store.add(self.answers, 0) > 0:
            self.begin_by = now + GRACE
        is_hopeless = (
            self.begin_by is not None and now >= self.begin_by and not self.store.check([self.begun])
        )
        return now < self.end and not is_hopeless

    def received(self, plan):
        """Returns `plan`, a plan of this process, with the schedule of the leading rank. Returns the reason
        as text if the leading rank has no plan; None if it has sent nothing."""
        if not self.store.check([self.key]):
            return None
        data = self.store.get(self.key)
        if data[:1] == b"!":
            return data[1:].decode()
        self.identity = hashlib.sha256(data).hexdigest()
        return plan.with_schedule_of(data)
