"""Records of compiled graphs, kept next to torch's cache. A process that takes graphs from the cache reads
the facts about them from these records."""

import dataclasses
import hashlib
import json
import pathlib

import torch
from torch._inductor.runtime.cache_dir_utils import cache_dir
from torch.utils import _pytree as pytree

from ..whole_file import write_whole
from .compiled_graph import CompiledGraph
from .save_set import SaveSet
from .several_graphs import Decision, PausePerByte


@dataclasses.dataclass
class StepRecord:
    """The facts about a step that are known when its second call begins."""

    way: str  # a part of the key of torch's cache
    graphs: list[CompiledGraph]
    decisions: list[Decision]  # empty if the graphs keep the cuts of the first call
    between: PausePerByte | None  # if the step has one graph: the pause between its forward and its backward
    held_bytes: int = 0  # bytes that the caller held besides the arguments when the step was compiled
    rounding: float = 0.0  # the largest result of `rounding_of` for a graph of the step


def key_of(partitioner: str, target, options, args, kwargs) -> str:
    """Returns a digest of everything that the cuts of a step depend on: the budget, the compiled target, its
    options, and the shapes of the arguments."""
    parts = [partitioner, torch.__version__, getattr(target, "__qualname__", type(target).__qualname__)]
    parts.append(repr(sorted(options.items())))
    tensors = list(pytree.tree_leaves((args, kwargs)))
    if isinstance(target, torch.nn.Module):
        tensors.extend(target.parameters())
    for value in tensors:
        is_tensor = isinstance(value, torch.Tensor)
        parts.append(f"{tuple(value.shape)} {value.dtype} {value.device}" if is_tensor else repr(value))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def path_of(key: str) -> pathlib.Path:
    return pathlib.Path(cache_dir()) / "rematlas" / f"{key}.json"


def write(key: str, record: StepRecord) -> None:
    """Writes the record. Does nothing if the cache cannot be written."""
    path = path_of(key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(dataclasses.asdict(record)))
    except OSError:
        pass


def read(key: str) -> StepRecord | None:
    """Returns the record that was written under this key; None if there is no readable one."""
    try:
        told = json.loads(path_of(key).read_text())
        return StepRecord(
            told["way"],
            [CompiledGraph(**graph) for graph in told["graphs"]],
            [decision_of(decision) for decision in told["decisions"]],
            told["between"] and PausePerByte(**told["between"]),
            told["held_bytes"],
            told["rounding"],
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None


def decision_of(told) -> Decision:
    save_set = told["save_set"]
    if save_set is not None:
        lists = {name: tuple(value) for name, value in save_set.items() if isinstance(value, list)}
        save_set = SaveSet(**{**save_set, **lists})
    return Decision(told["graph"], save_set, CompiledGraph(**told["told"]), told["growth"])
