"""`rematlas.compile`: torch.compile under a budget in bytes. Inductor is imported when it is called."""

SECONDS = 3.0  # of the solver, for each schedule that is tried
STEP = "_rematlas_compiled_step"  # the attribute of what `compile` returns that holds its BudgetedStep


def compile_options(budget, *, time_limit=SECONDS) -> dict:
    """Returns options for `torch.compile(model, options=...)` that keep a budget: bytes, "8GiB", or "60%" of
    what the step takes under torch.compile alone. Raises ValueError for what is no budget.

    No step is measured, of several graphs each takes what those before it have left, and what cannot be
    reached is told within torch's BackendCompilerFailed; `compile` does more.
    """
    from .budget import StepBudget
    from .partitioner import Partitioner
    from .several_graphs import WhatIsLeft

    return {"custom_partitioner_fn": Partitioner(StepBudget.parse(budget), time_limit, WhatIsLeft())}


def compile(model_or_function, budget, *, time_limit=SECONDS, compare=False, **options):
    """Compiles as `torch.compile(model_or_function, **options)` does, so that forward and backward keep a
    budget: bytes of the device with all that lives there, "8GiB", or "60%" of what the step takes under
    torch.compile alone.

    What forward saves and what backward computes again is chosen by the solver, in at most `time_limit`
    seconds for each schedule that is tried; the peak is read from the text that inductor generates before it
    is compiled. A step that dynamo cuts into several graphs is compiled with each graph at its least memory
    in the first call, which begins anew for that, and in the second with what is chosen for all of them
    together. Checkpoints within the step are dissolved. Raises Infeasible in the first call, or in a later
    one with larger sizes, where the budget cannot be reached, and ValueError for what is no budget or for
    options of torch.compile that exclude one. `rematlas.status(step)` says what became of each graph.

    `compare`: the second call compiles the step once more without a budget, runs both, and says in
    `rematlas.status(step).difference` how far outputs and gradients are apart; it raises Refused where that
    is more than rounding. That takes the time of a plain compilation, and the memory of the plain step, once.
    """
    backend = options.get("backend", "inductor")
    if backend != "inductor":
        raise ValueError(
            f"rematlas: a budget is kept by the backend inductor, not by {backend!r}: leave backend out"
        )
    from .budget import StepBudget
    from .compiled_step import BudgetedStep

    step = BudgetedStep(model_or_function, StepBudget.parse(budget), time_limit, options, compare)
    made = step.callable()
    vars(made)[STEP] = step
    return made


def compiled_status(made):
    """Returns the CompiledStatus of what `compile` has returned, None for all else."""
    step = getattr(made, "__dict__", {}).get(STEP)
    if step is None:
        return None
    from .compiled_step import CompiledStatus

    return CompiledStatus(step)
