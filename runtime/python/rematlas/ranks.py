"""The processes of one training use one plan: rank 0 makes the plan, and the others receive it through the
store of the process group.

A process asks for a plan by the digest of its graph, so the plan that it receives has the same ops on the
same tensors. If rank 0 has other shapes, the process waits in vain and plans alone.
"""

import hashlib
import json
import time

import torch.distributed as dist

from .compiled.compiled_plan import CompiledPlan

MEASURED = ("time_ns", "workspace_bytes")  # measured facts of an op, which differ between processes


def store():
    """Returns the store of the process group; None if this process trains alone."""
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return None
    return dist.distributed_c10d._get_default_store()


def leads() -> bool:
    return dist.get_rank() == 0


def digest(plan) -> str:
    graph = json.loads(plan.graph_text())
    for op in graph["ops"]:
        for name in MEASURED:
            op.pop(name, None)
    parts = [graph["tensors"], graph["ops"], graph["results"], graph["replay"]]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Shared:
    """One plan that all ranks use. `asked`: a text of everything beside the graph that the plan is for
    (budget, solver, options). `seconds`: how long to wait for the plan."""

    def __init__(self, plan, asked: str, seconds: float):
        self.store = store()
        self.key = f"rematlas/{hashlib.sha256(asked.encode()).hexdigest()}/{digest(plan)}"
        self.end = time.monotonic() + seconds

    def publish(self, plan) -> None:
        self.store.set(self.key, plan.to_bytes())

    def publish_refusal(self, why: str) -> None:
        self.store.set(self.key, b"!" + why.encode())

    def waits(self) -> bool:
        return not self.store.check([self.key]) and time.monotonic() < self.end

    def received(self, device):
        """Returns the plan; the reason as text if rank 0 has none; None if rank 0 has sent nothing."""
        if not self.store.check([self.key]):
            return None
        data = self.store.get(self.key)
        if data[:1] == b"!":
            return data[1:].decode()
        return CompiledPlan.of_bytes(data, device)
