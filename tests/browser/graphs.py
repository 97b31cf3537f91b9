"""Makes training graphs as files, for tests of pages."""

import json
import pathlib
import random

MIB = 1 << 20


class GraphWriter:
    """Writes a graph: the forward ops of a network of layers in order, and a backward op for each of them."""

    def __init__(self, name: str, seed: int = 1, suffix: str = "") -> None:
        self.name = name
        self.suffix = suffix
        self.draw = random.Random(seed)
        self.tensors: list[dict] = []
        self.ops: list[dict] = []

    def tensor(self, name: str, size: int, kind: str) -> int:
        made = {"id": len(self.tensors), "name": name + self.suffix, "bytes": size, "kind": kind}
        self.tensors.append(made)
        return made["id"]

    def run(self, name: str, reads: list[int], module: str, phase: str = "forward", **more: object) -> int:
        """Adds an op. Returns its only output."""
        size = self.draw.randrange(1, 16) * MIB // 4
        kind = "gradient" if phase == "backward" else "activation"
        out = self.tensor(f"{module or 'step'}.{name}", size, kind)
        op = {
            "id": len(self.ops),
            "name": f"aten::{name}{self.suffix}",
            "time_ns": self.draw.randrange(100, 2000) * 1000,
            "workspace_bytes": self.draw.choice([0, 0, MIB // 2]),
            "inputs": reads,
            "outputs": [out],
            "phase": phase,
            "module": module + self.suffix if module else "",
        }
        self.ops.append(op | more)
        return out

    def layer(self, number: int, flow: int, width: int) -> int:
        """Adds a layer of attention and MLP. `width`: number of ops between the MLP's matrix products."""
        module = f"blocks.{number}"
        weight = self.tensor(f"{module}.weight", 2 * MIB, "parameter")
        norm = self.run("layer_norm", [flow], f"{module}.norm")
        parts = [self.run("mm", [norm, weight], f"{module}.attn.{part}") for part in ("q", "k", "v")]
        mixed = self.run("softmax", parts, f"{module}.attn")
        joined = self.run("add", [mixed, flow], module)
        grown = self.run("addmm", [joined, weight], f"{module}.mlp.fc1")
        for _ in range(width):
            grown = self.run(self.draw.choice(["gelu", "mul", "sigmoid"]), [grown], f"{module}.mlp")
        back = self.run("addmm", [grown, weight], f"{module}.mlp.fc2")
        return self.run("add", [back, joined], module)

    def backward(self, gradient: int) -> None:
        for op in reversed(self.ops[:-1]):
            reads = [gradient, *[t for t in op["inputs"] if self.tensors[t]["kind"] != "parameter"][:2]]
            name = op["name"].removeprefix("aten::").removesuffix(self.suffix) + "_backward"
            module = op["module"].removesuffix(self.suffix)
            gradient = self.run(name, list(dict.fromkeys(reads)), module, "backward", of=op["id"])
        self.results = [gradient]

    def write(self, path: pathlib.Path) -> None:
        told = {"format": "rematlas.graph", "version": 1, "name": self.name + self.suffix}
        told |= {"tensors": self.tensors, "ops": self.ops, "results": self.results}
        path.write_text(json.dumps(told))


def write_network(path: pathlib.Path, layers: int = 6, width: int = 1, suffix: str = "") -> int:
    """Writes a network. Returns the number of its ops: about 2 * (9 + width) for each layer."""
    writer = GraphWriter("network", suffix=suffix)
    flow = writer.run("embedding", [writer.tensor("tokens", MIB, "input")], "embed")
    for number in range(layers):
        flow = writer.layer(number, flow, width)
    writer.backward(writer.run("loss", [flow], "", "loss"))
    writer.write(path)
    return len(writer.ops)


def write_sharded(path: pathlib.Path, layers: int = 6) -> None:
    """Writes a network whose layers read weights that collectives of the queue "fsdp" gather."""
    writer = GraphWriter("sharded")
    flow = writer.tensor("tokens", MIB, "input")
    for number in range(layers):
        shard = writer.tensor(f"blocks.{number}.shard", MIB // 4, "parameter")
        wire = {"queue": "fsdp", "wire_bytes": MIB, "workspace_bytes": 0}
        weight = writer.run("all_gather", [shard], f"blocks.{number}", **wire)
        flow = writer.run("mm", [flow, weight], f"blocks.{number}")
    writer.results = [flow]
    writer.write(path)


def write_large(path: pathlib.Path, ops: int = 10_000) -> int:
    """Writes a network whose layers all differ, so that no layout of a layer can be reused. Returns the
    number of its ops."""
    writer = GraphWriter("large", seed=7)
    flow = writer.run("embedding", [writer.tensor("tokens", MIB, "input")], "embed")
    number = 0
    while 2 * len(writer.ops) < ops - 60:
        flow = writer.layer(number, flow, writer.draw.randrange(3, 20))
        number += 1
    while 2 * len(writer.ops) < ops:
        flow = writer.run("relu", [flow], "head")
    writer.backward(writer.run("loss", [flow], "", "loss"))
    writer.write(path)
    return len(writer.ops)
