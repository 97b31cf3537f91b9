"""`rematlas.compile`: torch.compile under a budget in bytes. Inductor is imported in the first call."""

from ..options import check_time_limit

SECONDS = 3.0  # the solver's time limit for each schedule that is tried
STEP = "_rematlas_compiled_step"  # the attribute with the BudgetedStep, in the object that `compile` returns


def compile_options(budget, *, time_limit=SECONDS) -> dict:
    """Returns options for `torch.compile(model, options=...)` that keep a budget.

    `budget`: bytes of the device, "8GiB", or "60%" of the step's peak under torch.compile alone.
    `time_limit`: seconds for each schedule that is tried. Raises ValueError if `budget` is no budget.

    These options do less than `compile`: no step is measured; if there are several graphs, each takes the
    budget that the graphs before it have left; and a budget that cannot be reached raises torch's
    BackendCompilerFailed.
    """
    check_time_limit(time_limit)
    from .budget import StepBudget
    from .partitioner import IN_ONE_FUNCTION, Partitioner
    from .several_graphs import WhatIsLeft

    partitioner = Partitioner(StepBudget.parse(budget), time_limit, WhatIsLeft())
    return {"custom_partitioner_fn": partitioner, **IN_ONE_FUNCTION}


def compile(model_or_function, budget, *, time_limit=SECONDS, compare=False, **options):
    """Compiles as `torch.compile(model_or_function, **options)` does, so that forward and backward keep a
    budget.

    `model_or_function`: a torch.nn.Module, or a function of tensors. `budget`: bytes of the device with all
    tensors that live there, "8GiB", or "60%" of the step's peak under torch.compile alone. `time_limit`:
    seconds for each schedule that is tried. `options`: those of torch.compile.

    The solver chooses which tensors forward saves and which tensors backward computes again. The peak is read
    from the text that inductor generates, before any text is compiled. If dynamo cuts a step into several
    graphs, the first call starts again, with each graph at its least memory; the second call compiles the
    graphs with the cuts that are chosen for all of them together.

    Checkpoints within the step have no effect. Raises Infeasible, in the first call or in a later call with
    larger sizes, if the budget cannot be reached; raises ValueError if `budget` is no budget or if an option
    of torch.compile excludes a budget. `rematlas.status(step)` shows the result for each graph.

    `compare`: the second call compiles the step once more without a budget and runs both.
    `rematlas.status(step).difference` says how far their outputs and gradients are apart. The call raises
    Refused if the difference is more than rounding. This call takes the time of one more compilation, and the
    memory of the plain step.
    """
    backend = options.get("backend", "inductor")
    if backend != "inductor":
        raise ValueError(
            f"rematlas: a budget is kept by the backend inductor, not by {backend!r}: leave backend out"
        )
    if options.get("disable"):
        raise ValueError(
            "rematlas: with disable=True nothing is compiled and no budget is kept: leave it out"
        )
    check_time_limit(time_limit)
    if not callable(model_or_function):
        raise TypeError(f"rematlas: compile takes a module or a function, not {model_or_function!r}")
    from torch._dynamo import OptimizedModule

    from ..api import is_planned

    if is_planned(model_or_function):
        raise ValueError(
            "rematlas: a plan is applied to the module that is to be compiled: call rematlas.remove(model)"
            " first"
        )
    if isinstance(model_or_function, OptimizedModule):
        raise ValueError(
            "rematlas: the module is compiled already: give rematlas.compile the module that was compiled"
        )
    from .budget import StepBudget
    from .compiled_step import BudgetedStep

    step = BudgetedStep(model_or_function, StepBudget.parse(budget), time_limit, options, compare)
    made = step.callable()
    vars(made)[STEP] = step
    return made


def compiled_status(made):
    """Returns the CompiledStatus of an object that `compile` has returned; None for any other object."""
    step = getattr(made, "__dict__", {}).get(STEP)
    if step is None:
        return None
    from .compiled_status import CompiledStatus

    return CompiledStatus(step)
