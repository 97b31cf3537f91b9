"""Takes the plan that was given to `apply`: a Plan, or the path of a file."""

from ..errors import message
from ..loss_head.language_models import chunks_of
from ..unseen import calls
from .file_ops import op_that_does_more
from .packing import Packing
from .step_plan import Returned, StepPlan


def take(call_plan) -> None:
    """Makes the given plan the plan of this kind of call, or refuses this kind of call."""
    owner = call_plan.owner
    compiled = owner.options.plan.compiled(owner.device())
    graph_text = compiled.graph_text()
    if op := op_that_does_more(graph_text):
        call_plan.refuse(f"the plan runs {op}, which does more than compute on tensors: make a plan here")
        return
    try:
        packing = Packing.of(compiled)
    except ValueError as error:
        call_plan.refuse(message(error).removeprefix("rematlas: "))
        return
    if packing.chunk_loss != chunks_of(owner.module):
        call_plan.refuse(
            f"the plan was made with chunk_loss={packing.chunk_loss!r}, and its steps are others than those"
            f" of the module here: give apply(chunk_loss={packing.chunk_loss!r}), or make a plan here"
        )
        return
    if calls.are_missing(graph_text):
        call_plan.refuse(
            "the plan runs what torch.compile had compiled in the process that made it, or kernels that"
            " Python launched there, and here none of them has run: make a plan here (apply with a budget)"
        )
        return
    try:
        returned = Returned.unpacked(packing, owner.module)
    except Exception as error:
        call_plan.refuse(f"the plan is another module's: {message(error)} (make a plan here)")
        return
    owner.state.note_assigned([(values, name) for values, name, *_ in returned.kept])
    owner.state.note_effects([(values, name) for values, name, _ in returned.effects])
    if packing.reads_kept:
        owner.state.note_reads_kept()
    if owner.state.watch is None:  # from now on the watch also covers the attributes that the forward sets
        del owner.call_plans[call_plan.key]  # calls of this kind have another key from now on
        return
    plan = StepPlan(compiled, returned, sums=packing.sums, other_bytes=0, frames=owner.frames)
    call_plan.plan, call_plan.answer = plan, compiled.answer()
    if not compiled.state_names():
        call_plan.bind()
        return
    why = why_no_updates(call_plan, packing.ending)
    if why:
        call_plan.refuse(f"the plan cannot run: {why}")
    else:
        call_plan.use()  # a plan that includes the updates cannot be compared


def why_no_updates(call_plan, ending) -> str:
    """Takes over a plan that includes the optimizer's updates. Returns why the plan cannot run; empty if it
    can."""
    owner = call_plan.owner
    if not ending:
        return (
            "it ends with updates that are not an optimizer's of Python: `rematlas run` takes it where it is"
            " of a TorchScript file; for a card that is not there make it without an optimizer"
        )
    if owner.updates is None:
        return "it ends with the updates of an optimizer: give optimizer="
    return owner.updates.take_given(owner.context(), call_plan.plan, ending)
