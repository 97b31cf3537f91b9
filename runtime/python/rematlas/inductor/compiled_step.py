"""A step that `rematlas.compile` has made, and what has become of it."""

import functools
import gc
import logging

import torch
from torch.utils import _pytree as pytree

from ..compiled.memory import alive_bytes, peak_bytes, reset_peak
from . import graph_records
from .partitioner import Partitioner

log = logging.getLogger("rematlas")


class BudgetedStep:
    """One that `compile` has made."""

    def __init__(self, target, budget, seconds, options):
        self.target, self.budget = target, budget
        self.partitioner = Partitioner(budget, seconds)
        mode, given = options.pop("mode", None), options.pop("options", None) or {}
        if mode is not None:
            given = {**torch._inductor.list_mode_options(mode), **given}
        ours = {"custom_partitioner_fn": self.partitioner}
        self.compiled = torch.compile(target, options={**given, **ours}, **options)
        self.calls = 0
        self.is_told = False
        self.forward = self.compiled.forward if isinstance(target, torch.nn.Module) else self.compiled

    def callable(self):
        """Returns what the caller calls: torch's module, or a function as the one that was given."""
        if isinstance(self.target, torch.nn.Module):
            self.compiled.forward = self.call
            return self.compiled
        return functools.wraps(self.target)(lambda *args, **kwargs: self.call(*args, **kwargs))

    def call(self, *args, **kwargs):
        if not torch.is_grad_enabled():
            return self.forward(*args, **kwargs)
        device = device_of(args, kwargs, self.compiled)
        if self.calls == 0:
            self.partitioner.beside_bytes = self.bytes_beside(args, kwargs, device)
        reset_peak(device)
        try:
            outputs = self.forward(*args, **kwargs)
        except Exception:
            refusal, self.partitioner.refusal = self.partitioner.refusal, None
            if refusal is None:
                raise
            # Frames of torch's compilers would hold the tensors of the step as long as the error lives.
            raise refusal.with_traceback(None) from None
        self.calls += 1
        if self.calls == 1:
            self.remember(args, kwargs)
        self.watch_backward(outputs, device)
        return outputs

    def bytes_beside(self, args, kwargs, device) -> int:
        """Returns what lives on the device beside arguments and parameters, in steps of a MiB."""
        gc.collect()
        tensors = [value for value in pytree.tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor)]
        if isinstance(self.target, torch.nn.Module):
            tensors.extend((*self.target.parameters(), *self.target.buffers()))
        storages = {tensor.untyped_storage()._cdata: tensor.untyped_storage() for tensor in tensors}
        own = sum(storage.nbytes() for storage in storages.values() if storage.device == device)
        return max(0, alive_bytes(device) - own) >> 20

    def remember(self, args, kwargs) -> None:
        """What is told of the graphs lies beside torch's cache: a process that takes them from there cuts
        none."""
        key = graph_records.key_of(self.partitioner.uuid(), self.target, args, kwargs)
        if self.graphs:
            graph_records.write(key, self.graphs)
        else:
            self.graphs.extend(graph_records.read(key))

    def watch_backward(self, outputs, device) -> None:
        """The peak is read when the backward that reaches the outputs first is over."""
        if self.calls == 1:  # kernels are measured, and compiled, in this call
            return
        has_begun = []

        def begins(gradient):
            if not has_begun:
                has_begun.append(True)
                torch.autograd.Variable._execution_engine.queue_callback(lambda: self.note_peak(device))

        for output in pytree.tree_leaves(outputs):
            if isinstance(output, torch.Tensor) and output.requires_grad:
                output.register_hook(begins)

    def note_peak(self, device) -> None:
        peak = peak_bytes(device)
        for graph in self.graphs:
            graph.measured_bytes = max(graph.measured_bytes or 0, peak)
        budget = min((graph.budget_bytes for graph in self.graphs), default=peak)
        if peak > budget and not self.is_told:
            self.is_told = True
            log.warning(
                "rematlas: a compiled step has taken %d bytes of a budget of %d; where more lives beside it"
                " than the %d bytes of when it was compiled, compile it again; else give it a budget of %d",
                *(peak, budget, self.graphs[0].beside_bytes, peak),
            )

    @property
    def graphs(self) -> list:
        return self.partitioner.graphs


class CompiledStatus:
    """What has become of a step that `compile` has made."""

    def __init__(self, step):
        self._step = step

    @property
    def graphs(self) -> list:
        """A CompiledGraph for each graph of the step that has a backward."""
        return list(self._step.graphs)

    def __repr__(self):
        lines = [f"compiled under a budget of {self._step.budget.text}: {len(self.graphs)} graphs"]
        for graph in self.graphs:
            way = "as torch.compile cuts it"
            if graph.planned_bytes is not None:
                way = f"overhead {graph.overhead:.4f} by plan, {graph.tries} tries"
            measured = "not measured yet"
            if graph.measured_bytes is not None:
                measured = f"{graph.measured_bytes} measured"
            lines.append(
                f"{graph.lowered_bytes} bytes of {graph.budget_bytes} ({graph.plain_bytes} under"
                f" torch.compile alone), {way}; {measured}"
            )
        return "\n".join(lines)


def device_of(args, kwargs, compiled) -> torch.device:
    """Returns the device of the first tensor on a GPU, among the arguments and the parameters."""
    tensors = [value for value in pytree.tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor)]
    if isinstance(compiled, torch.nn.Module):
        tensors.extend(compiled.parameters())
    on_gpu = (tensor.device for tensor in tensors if tensor.device.type == "cuda")
    return next(on_gpu, torch.device("cpu"))
