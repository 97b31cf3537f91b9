"""A step that `rematlas.compile` has made."""

import contextlib
import functools
import gc
import logging
import threading
import uuid

import torch
from torch._dynamo.convert_frame import compile_lock
from torch._dynamo.exc import FailOnRecompileLimitHit
from torch.utils import _pytree as pytree

from ..compiled.memory import alive_bytes, peak_bytes, reset_peak
from ..errors import Infeasible
from . import code_runs, graph_records, plain_comparison
from .budget import StepBudget
from .graph_records import StepRecord
from .partitioner import IN_ONE_FUNCTION, Partitioner
from .several_graphs import (
    Decided,
    LeastMemory,
    MeasuredStep,
    OneGraph,
    SeveralGraphs,
    StepOfGraphs,
    WhatIsLeft,
)
from .step_state import StepState
from .torch_internals import without_caches

MOST_TIMES_ANEW = 3
SLACK = 64  # `call_anew` sets the budget 1/64 above the smallest peak that was found, because peaks vary

log = logging.getLogger("rematlas")


class BudgetedStep:
    """A step that `compile` has made."""

    def __init__(self, target, budget, seconds, options, is_compared=False):
        self.target, self.budget, self.seconds = target, budget, seconds
        self.is_compared = is_compared  # the next measured call compares the step with the plain one
        self.difference = None  # the Difference that the comparison found
        mode, given = options.pop("mode", None), options.pop("options", None) or {}
        if mode is not None:
            given = {**torch._inductor.list_mode_options(mode), **given}
        given = {name.replace("-", "_"): value for name, value in given.items()}
        self.inductor_options, self.options = {**IN_ONE_FUNCTION, **given}, options
        self.beside_bytes = 0  # tensors outside of the step at its first call, in MiB despite the name
        self.passing_bytes = 0  # bytes of the copied state, which exists only during the first call
        self.held_then = 0  # bytes that the caller held besides the arguments when the step was compiled
        self.more_bytes = 0  # the newest `grown_bytes` that were compared with a budget in bytes
        self.grown_bytes = 0  # bytes that the caller held at the newest call in addition to `held_then`
        self.times_anew = 0  # how often the step was compiled again because the caller held more bytes
        self.rounding = 0.0  # the largest result of `rounding_of` for a graph of the step
        self.partitioner = None
        self.compiled = self.compile(WhatIsLeft())
        self.measured = None  # the MeasuredStep of the first call, until the next call decides about the cuts
        self.measured_graphs = set()  # ids of the graphs that have run in the measured step
        self.caller = None  # the thread in which a measured call is running
        self.record = ""  # the key of the StepRecord next to torch's cache
        self.calls = 0
        self.is_measured = False  # the present step compiles and times no kernels, so its peak counts
        self.is_told = False  # the log already has a warning about a peak above the budget

    def compile(self, way):
        """Makes the next call compile the target again. Returns the result of torch.compile."""
        self.note_rounding()
        self.partitioner = Partitioner(self.budget, self.seconds, way)
        self.partitioner.beside_bytes, self.partitioner.more_bytes = self.beside_bytes, self.more_bytes
        self.partitioner.passing_bytes = self.passing_bytes
        ours = {"custom_partitioner_fn": self.partitioner}
        compiled = torch.compile(self.target, options={**self.inductor_options, **ours}, **self.options)
        self.forward = compiled.forward if isinstance(self.target, torch.nn.Module) else compiled
        return compiled

    def note_rounding(self) -> float:
        if self.partitioner is not None:
            self.rounding = max(self.rounding, self.partitioner.rounding)
        return self.rounding

    def compile_decided(self, decisions, between) -> None:
        self.compile(Decided(decisions, between))
        self.partitioner.graphs = [decision.told for decision in decisions]

    def callable(self):
        """Returns the object that the caller calls: torch's compiled module, or a function that wraps the
        caller's function."""
        if isinstance(self.target, torch.nn.Module):
            self.compiled.forward = self.call
            return self.compiled
        return functools.wraps(self.target)(lambda *args, **kwargs: self.call(*args, **kwargs))

    def call(self, *args, **kwargs):
        if not torch.is_grad_enabled():
            return self.forward(*args, **kwargs)
        device = device_of(args, kwargs, self.compiled)
        self.is_measured = self.calls > 0 and not self.is_cut_anew()
        if self.is_measured and self.is_compared:
            self.compare(args, kwargs, device)
        with code_runs.left_out():
            reset_peak(device)
        self.partitioner.peak_before = 0
        if self.calls == 0:
            outputs = self.first_call(args, kwargs, device)
        elif self.lacks_room(args, kwargs, device):
            outputs = self.call_anew(args, kwargs, device)
        else:
            outputs = self.run(args, kwargs)
        self.calls += 1
        if self.calls == 2 and not self.graphs:
            self.tell_of_no_graph(outputs)
        self.watch_backward(outputs, device)
        return outputs

    def run(self, args, kwargs):
        try:
            # Without this option dynamo would continue without the budget.
            with torch._dynamo.config.patch(fail_on_recompile_limit_hit=True):
                return self.forward(*args, **kwargs)
        except FailOnRecompileLimitHit as error:
            limit = torch._dynamo.config.recompile_limit
            raise RuntimeError(
                f"rematlas: dynamo compiles a step at most {limit} times and would go on without a budget:"
                " call the step with its largest sizes first, or raise torch._dynamo.config.recompile_limit"
            ) from error
        except Exception:
            refusal, self.partitioner.refusal = self.partitioner.refusal, None
            if refusal is None:
                raise
        gc.collect()  # frames of torch's compilers hold tensors of the step in reference cycles
        raise without_frames(refusal)

    def compare(self, args, kwargs, device) -> None:
        """Runs the step once with the budget and once without it. Raises Refused if outputs or gradients
        differ by more than rounding errors."""
        self.is_compared = False
        target = self.target.forward if isinstance(self.target, torch.nn.Module) else self.target
        plain = torch.compile(target, options=self.inductor_options, **self.options)
        state = StepState(self.target, args, kwargs, device)
        with code_runs.left_out():
            self.difference = plain_comparison.difference(
                lambda: self.forward(*args, **kwargs),
                lambda: plain(*args, **kwargs),
                state,
                self.note_rounding(),
            )

    def first_call(self, args, kwargs, device):
        """Runs the first call. If torch's cache has the graphs, no graph is cut, and the facts about the
        graphs come from a StepRecord next to the cache. If there is no record, a new key makes sure that no
        graph comes from the cache, because all graphs of the step must be seen before their final cuts are
        chosen."""
        self.beside_bytes = self.partitioner.beside_bytes = self.bytes_beside(args, kwargs, device)
        options = {**self.inductor_options, **self.options}
        self.record = graph_records.key_of(self.partitioner.step_key(), self.target, options, args, kwargs)
        before = alive_bytes(device)
        self.held_then = before - bytes_of_arguments(args, kwargs, device)
        known = self.record_that_fits()
        state = StepState(self.target, args, kwargs, device)
        self.passing_bytes = self.partitioner.passing_bytes = alive_bytes(device) - before
        try:
            outputs, has_several = self.call_of_one_graph(known, args, kwargs, device)
            if has_several:
                state.put_back()
                outputs = self.call_with_least_memory(args, kwargs, device)
        except Infeasible:
            state.put_back()
            raise
        state = None
        if self.measured is not None:
            self.measured.pauses.leave_out(self.passing_bytes)
        self.passing_bytes = self.partitioner.passing_bytes = 0
        return outputs

    def record_that_fits(self) -> StepRecord:
        """Returns the record of the step. Returns a new record if there is none, or if the step would exceed
        a budget in bytes because the caller holds more than when the recorded step was compiled."""
        known = graph_records.read(self.record)
        if known is not None and self.budget.bytes is not None:
            more = self.held_then - known.held_bytes
            most = max((graph.lowered_bytes for graph in known.graphs), default=0)
            known = known if most + more <= self.budget.bytes else None
        if known is None:
            return StepRecord(uuid.uuid4().hex, [], [], None)
        self.held_then = known.held_bytes
        self.rounding = known.rounding
        return known

    def lacks_room(self, args, kwargs, device) -> bool:
        """Says whether the step would exceed a budget in bytes because the caller holds more than when the
        step was compiled: for example optimizer states, summed gradients, or the tensors of an open
        forward."""
        self.grown_bytes = alive_bytes(device) - bytes_of_arguments(args, kwargs, device) - self.held_then
        if self.budget.bytes is None or not self.graphs or self.times_anew == MOST_TIMES_ANEW:
            return False
        self.more_bytes = self.grown_bytes
        return max(graph.lowered_bytes for graph in self.graphs) + self.more_bytes > self.budget.bytes

    def call_anew(self, args, kwargs, device):
        """Compiles the step again, with the bytes that the caller holds now, and runs it. If no such step
        fits the budget, the step with the smallest peak that was found runs from now on. Some of the bytes
        that the caller holds may belong to tensors that the previous forward saved; a forward that is
        compiled again may save fewer."""
        self.times_anew += 1
        self.is_measured = False
        before = self.forward, self.partitioner, self.held_then
        self.compile(WhatIsLeft())
        try:
            return self.first_call(args, kwargs, device)
        except Infeasible as error:
            refusal = without_frames(error)
        self.go_on(refusal)
        asked, self.budget = self.budget, StepBudget.parse(refusal.needed + refusal.needed // SLACK)
        self.compile(WhatIsLeft())
        try:
            return self.first_call(args, kwargs, device)
        except Infeasible:
            self.forward, self.partitioner, self.held_then = before
        finally:
            self.budget = asked
        return self.run(args, kwargs)

    def go_on(self, refusal: Infeasible) -> None:
        """Ends compiling the step again: later calls run it as it is compiled then. Warns once why the budget
        is not kept."""
        self.times_anew = MOST_TIMES_ANEW
        if not self.is_told:
            log.warning("%s. More lives beside the step than when it was compiled; it goes on.", refusal)
        self.is_told = True

    def call_of_one_graph(self, known: StepRecord, args, kwargs, device):
        """Runs the step. Uses the decisions about cuts in the record `known` if there are any; without them,
        the step must have one graph. Returns the outputs and False. If the step turns out to have several
        graphs, returns None and True, and the caller must start the step again."""
        if known.decisions:
            self.compile_decided(known.decisions, known.between)
        else:
            self.partitioner.way = OneGraph(device, known.way)
        try:
            outputs = self.measured_run(args, kwargs)
        except SeveralGraphs:
            return None, True
        if not known.decisions:
            self.partitioner.way = WhatIsLeft(known.way, known.between)
        self.partitioner.graphs = self.graphs or known.graphs
        return outputs, False

    def measured_run(self, args, kwargs):
        """Runs the step. If the cuts of its graphs are not yet decided, the step is measured until its next
        call. A call that fails ends the measurement."""
        if not isinstance(self.partitioner.way, MeasuredStep):
            return self.run(args, kwargs)
        self.measured, self.measured_graphs = self.partitioner.way, set()
        code_runs.listen(self)
        self.caller = threading.get_ident()
        try:
            return self.run(args, kwargs)
        except BaseException:
            self.end_measuring()
            raise
        finally:
            self.caller = None

    def end_measuring(self) -> None:
        code_runs.leave(self)
        self.measured = None

    @contextlib.contextmanager
    def cutting(self):
        """A context in which the step's graphs can be cut while torch does not compile the step: torch's
        options are the caller's, and the memory that planning takes does not count."""
        with compile_lock, code_runs.left_out(), torch._inductor.config.patch(self.inductor_options):
            yield

    def call_with_least_memory(self, args, kwargs, device):
        least, refusal = LeastMemory(device), None
        self.compile(least)
        with without_caches():
            outputs = self.measured_run(args, kwargs)
        try:
            step = StepOfGraphs(least, least.pauses.so_far())
            with self.cutting():
                step.check(step.budget())
            return outputs
        except Infeasible as error:
            refusal = error
        del outputs
        self.end_measuring()
        raise without_frames(refusal)

    def is_cut_anew(self) -> bool:
        """Chooses the cuts of all graphs together if a whole step has been measured. Returns whether the
        graphs are compiled again. If no cuts keep the budget, raises Infeasible. But if `call_anew` has
        compiled the step before, training goes on with the present graphs instead."""
        if self.measured is None:
            return False
        decisions, refusal, measured = [], None, self.measured
        try:
            if measured.graphs:
                pauses = measured.pauses.so_far()
                with self.cutting():
                    decisions = measured.decisions(pauses)
        except Infeasible as error:
            refusal = without_frames(error)
        if refusal is not None and self.times_anew == 0:
            raise refusal
        self.end_measuring()
        if refusal is not None:
            self.go_on(refusal)
            return False
        if decisions:
            self.compile_decided(decisions, measured.between)
        elif measured.between is not None:
            self.partitioner.way.between = measured.between
        if measured.graphs:
            way = self.partitioner.way
            facts = (way.key, self.graphs, decisions, way.between)
            record = StepRecord(*facts, self.held_then, self.note_rounding())
            graph_records.write(self.record, record)
        return bool(decisions)

    def run_begins(self, code, graph, is_backward) -> bool:
        """Called when the code of a graph begins to run. Returns whether the run belongs to this step. Other
        compiled modules may run in the same training loop, or in other threads."""
        if not is_backward and self.caller == threading.get_ident():
            self.measured_graphs.add(graph)
        elif not is_backward or graph not in self.measured_graphs:
            return False
        try:
            self.measured.run_begins(code, is_backward)
        except SeveralGraphs as refusal:
            self.partitioner.refusal = refusal
            raise
        return True

    def run_ends(self) -> None:
        self.measured.run_ends()

    def left_out(self):
        return self.measured.pauses.left_out()

    def bytes_beside(self, args, kwargs, device) -> int:
        """Returns, in MiB rounded down, the memory on the device that belongs neither to the arguments nor to
        the module's parameters and buffers."""
        gc.collect()
        is_module = isinstance(self.target, torch.nn.Module)
        own = (*self.target.parameters(), *self.target.buffers()) if is_module else ()
        return max(0, alive_bytes(device) - bytes_of_arguments((args, own), kwargs, device)) >> 20

    def watch_backward(self, outputs, device) -> None:
        """Arranges that the peak is read when the first backward that reaches the outputs has ended."""
        if not self.is_measured:
            return
        has_begun = []

        def begins(gradient):
            if not has_begun:
                has_begun.append(True)
                torch.autograd.Variable._execution_engine.queue_callback(lambda: self.note_peak(device))

        for output in pytree.tree_leaves(outputs):
            if isinstance(output, torch.Tensor) and output.requires_grad:
                output.register_hook(begins)

    def tell_of_no_graph(self, outputs) -> None:
        """Warns if the step has a backward that was not compiled, because dynamo has left it to autograd."""
        tensors = [value for value in pytree.tree_leaves(outputs) if isinstance(value, torch.Tensor)]
        if any(tensor.requires_grad for tensor in tensors):
            log.warning(
                "rematlas: torch.compile has compiled no backward of this step, so that no budget is kept;"
                " TORCH_LOGS=graph_breaks tells why"
            )

    def note_peak(self, device) -> None:
        peak = max(peak_bytes(device), self.partitioner.peak_before)
        if self.budget.bytes is None:  # a share does not limit the bytes of the caller
            peak -= self.grown_bytes
        for graph in self.graphs:
            graph.measured_bytes = max(graph.measured_bytes or 0, peak)
        budget = self.budget.bytes or peak
        if peak > budget and not self.is_told:
            self.is_told = True
            smaller = f"a budget of {2 * budget - peak}, or " if 2 * budget > peak else ""
            log.warning(
                "rematlas: a compiled step has taken %d bytes of a budget of %d: more lives beside the"
                " step than when it was compiled; give it %sa smaller batch",
                *(peak, budget, smaller),
            )

    @property
    def graphs(self) -> list:
        return self.partitioner.graphs


def bytes_of_arguments(args, kwargs, device) -> int:
    """Returns the bytes of those tensors among the arguments that are on the device."""
    tensors = [value for value in pytree.tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor)]
    storages = {tensor.untyped_storage()._cdata: tensor.untyped_storage() for tensor in tensors}
    return sum(storage.nbytes() for storage in storages.values() if storage.device == device)


def without_frames(error):
    """Returns the error without the frames of torch's compilers and of the step, which would hold the step's
    tensors as long as the error exists. The caller must raise it outside of any `except`. Within an `except`,
    Python would link it to the error that has these frames."""
    error.__context__ = error.__cause__ = None
    return error.with_traceback(None)


def device_of(args, kwargs, compiled) -> torch.device:
    """Returns the device of the first GPU tensor among the arguments and the parameters; the CPU if none is
    on a GPU."""
    tensors = [value for value in pytree.tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor)]
    if isinstance(compiled, torch.nn.Module):
        tensors.extend(compiled.parameters())
    on_gpu = (tensor.device for tensor in tensors if tensor.device.type == "cuda")
    return next(on_gpu, torch.device("cpu"))
