"""Online eviction: everything that runs in the context stays within the budget, without a plan.

    with rematlas.evict("2GiB"):
        for batch in batches:                  # each step may run other ops
            loss = criterion(model(batch.x), batch.y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

If memory is short, results of ops are evicted. Before such a result is read, its op runs again (Kirisame et
al., Dynamic Tensor Rematerialization, ICLR 2021). Losses, gradients and buffers are those of training without
eviction, bit by bit.
"""

import json
import os

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from ..calls.module_hooks import PathHooks
from ..calls.watch import Watch
from ..compiled.answers import Eviction
from ..compiled.memory import budget_bytes
from ..compiled.turns import Busy, when_free
from ..errors import Thrashing, message
from ..library import classes, ops
from .python_reads import python_reads
from .untracked_writes import refuse_capture, untracked_writes

HEURISTICS, DEALLOCATIONS = ops.eviction_heuristics(), ops.eviction_deallocations()

NOT_BEGUN = "rematlas: this eviction has not begun: ask within or after its `with`"

in_force = None  # the OnlineEviction that is in force; there is at most one in a process


def evict(
    *model_and_budget,
    budget=None,
    heuristic="dtr-eq",
    deallocation="eager",
    thrash=20.0,
    sample=False,
    ignore_small=False,
    seed=1,
    device=None,
    record=False,
    **further,
):
    """Returns a context of online eviction: `evict(budget)` or `evict(model, budget)`. The model's parameters
    and buffers are never evicted, wherever they were made.

    `budget`: bytes of all tensors on the device ("2GiB", or a number), including parameters, gradients and
    the optimizer's state. `heuristic`: the rule that chooses the storage to evict first; one of "dtr-eq",
    "dtr", "local", "lru", "size", "msps" or "random". `deallocation`: what happens to tensors that the
    program drops: "eager" (they are freed), "ignore" (they stay until memory is short), "banish" (they are
    freed for ever). `thrash`: a step is given up if its reruns take this many times its own time. `sample`:
    scores only a sample of the storages. `ignore_small`: never evicts small storages. `seed`: the seed of the
    random numbers for "random" and `sample`. `record`: keeps the events of the last step, for `save`.
    `device`: the device whose memory is limited; by default the model's device, or torch's default device if
    no model is given.

    On a GPU the budget is for the bytes that the caching allocator hands out. Only results on the stream that
    is current at the beginning of the context can be evicted; tensors that other streams read or make are
    not. If the budget cannot be kept, the op that needs more raises torch.OutOfMemoryError, and all tensors
    are as they were before the op. A step that is given up raises rematlas.Thrashing. At the end of the
    context all tensors that the program holds have their contents again, even if that exceeds the budget.
    """
    model, budget = model_and_bytes(model_and_budget, budget)
    check_choices(heuristic, deallocation, thrash)
    options = {
        "heuristic": heuristic,
        "deallocation": deallocation,
        "thrash": float(thrash),
        "sample": bool(sample),
        "ignore_small": bool(ignore_small),
        "seed": seed,
        "record": bool(record),
    }
    return OnlineEviction(model, bytes_in(budget), options | further, device)


def opened(eviction) -> None:
    """Opens the eviction. Raises Busy if another dispatch mode is in force, such as that of an observed step,
    and the other RuntimeErrors of the compiled part."""
    try:
        eviction.open()
    except RuntimeError as error:
        if "another dispatch mode is in force" in str(error):
            raise Busy from None
        raise


class OnlineEviction:
    """The context that `evict` returns."""

    def __init__(self, model, budget: int, options: dict, device=None):
        """`options`: the options in the form that the compiled Eviction takes."""
        self.model, self.budget = model, budget
        self.options = json.dumps(options)
        self.device = device and str(torch.device(device))
        self.eviction = None
        self.is_left = False  # the context is no longer needed, but could not be ended at that time
        self.hooks = PathHooks() if options["record"] and model is not None else None

    def __enter__(self):
        global in_force
        end_if_left()
        if in_force is not None:
            raise RuntimeError(
                "rematlas: online eviction is in force already; contexts do not nest: leave this one out"
            )
        where = [] if self.model is None else [p.device for p in self.model.parameters()]
        device = self.device or str((where or [torch.get_default_device()])[0])
        refuse_capture(device)
        eviction = classes.Eviction(device, self.budget, self.options)
        if self.model is not None:
            parameters, buffers = made(self.model.named_parameters()), made(self.model.named_buffers())
            names, tensors = zip(*parameters, *buffers) if parameters or buffers else ((), ())
            eviction.names(list(tensors), list(names), len(parameters))
        try:
            when_free(lambda: opened(eviction))
        except Busy:
            raise
        except RuntimeError as error:
            raise RuntimeError(f"rematlas: online eviction cannot begin: {message(error)}") from None
        self.eviction, in_force = eviction, self
        python_reads.watch(eviction)
        untracked_writes.watch()
        # The optimizer's tensors are never evicted, because each step needs them, and the ops that made them
        # would have to run again.
        self.after_updates = register_optimizer_step_post_hook(
            lambda optimizer, *_: eviction.stays(kept_by(optimizer))
        )
        if self.hooks:
            self.hooks.start(self.model, eviction, Watch(self.model).walked)
        self.model = None  # the program can now free the model while eviction is in force
        return self

    def __exit__(self, _, error, __):
        global in_force
        in_force = None
        python_reads.stop()
        untracked_writes.stop()
        self.after_updates.remove()
        if self.hooks:
            self.hooks.stop(self.eviction)
        self.eviction.close()
        if error is not None:
            forget_failed_backward()
        if Thrashing.is_told_by(error):
            raise Thrashing(str(error).splitlines()[0]) from error

    def save(self, name) -> None:
        """Writes the last complete step as NAME.graph.json and NAME.schedule.json, which `rematlas check`,
        `rematlas draw` and the explorer open. A step ends with its backward; later ops, such as an
        optimizer's step, belong to the next step."""
        if self.eviction is None:
            raise RuntimeError(NOT_BEGUN)
        try:
            self.eviction.save(os.fspath(name))
        except RuntimeError as error:
            raise RuntimeError(message(error)) from None

    def status(self) -> Eviction:
        """Returns an Eviction, with the counts so far."""
        if self.eviction is None:
            raise RuntimeError(NOT_BEGUN)
        return Eviction.of(self.eviction.status())


def made(named) -> list:
    """Returns the pairs of a name and a tensor that exist. A lazy module makes the others in its forward."""
    return [(name, tensor) for name, tensor in named if not torch.nn.parameter.is_lazy(tensor)]


def end_if_left() -> None:
    if in_force is not None and in_force.is_left:
        in_force.__exit__(None, None, None)


def model_and_bytes(given, budget):
    """Returns the model (None if no model is given) and the budget from the arguments of `evict(budget)` or
    `evict(model, budget)`. The budget may also be given by name."""
    given = list(given)
    model = given.pop(0) if given and isinstance(given[0], torch.nn.Module) else None
    if given and given[0] is None and len(given) == 2:
        given.pop(0)
    if given and budget is None:
        budget = given.pop(0)
    if given or budget is None:
        raise TypeError("rematlas: evict takes a budget, or a model and a budget")
    return model, budget


def check_choices(heuristic, deallocation, thrash) -> None:
    if heuristic not in HEURISTICS:
        raise ValueError(f"rematlas: heuristic is {heuristic!r}; expected one of {', '.join(HEURISTICS)}")
    if deallocation not in DEALLOCATIONS:
        raise ValueError(
            f"rematlas: deallocation is {deallocation!r}; expected one of {', '.join(DEALLOCATIONS)}"
        )
    if isinstance(thrash, bool) or not isinstance(thrash, (int, float)) or not thrash >= 1:
        raise ValueError(f"rematlas: thrash is {thrash!r}; expected a number of at least 1")


def bytes_in(budget) -> int:
    if isinstance(budget, bool) or not isinstance(budget, (int, str)):
        raise TypeError(f"rematlas: the budget is {budget!r}; expected bytes, or text such as '2GiB'")
    try:
        found = budget_bytes(budget)
    except RuntimeError as error:
        raise ValueError(f"rematlas: {message(error)}") from None
    if found is None:
        raise ValueError(
            f"rematlas: the budget is {budget!r}: nobody knows a step's peak before it runs; give bytes"
        )
    return found


def forget_failed_backward():
    """Runs a small backward. If an op of a backward fails, the remaining nodes of that backward and their
    tensors stay in the thread's queue until the next backward; this call frees them."""
    with torch.enable_grad():
        torch.zeros((), requires_grad=True).backward()


def kept_by(optimizer) -> list:
    """Returns the tensors that outlive the optimizer's step: its parameters, and their states."""
    found = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    left = list(optimizer.state.values())
    while left:
        value = left.pop()
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, dict):
            left.extend(value.values())
        elif isinstance(value, (list, tuple)):
            left.extend(value)
    return found


def leave_to_parent():
    """Ends eviction in a process that was forked within the context, such as a worker that loads data. The
    parent's eviction goes on."""
    global in_force
    if in_force is not None:
        classes.Eviction.leave_to_parent()
        python_reads.stop()
        untracked_writes.stop()
        in_force.after_updates.remove()
        in_force = None


os.register_at_fork(after_in_child=leave_to_parent)
