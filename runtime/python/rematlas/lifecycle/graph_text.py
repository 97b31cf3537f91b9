"""The graph of a step that was recorded, as text."""

from ..errors import Refused


def graph_text(owner):
    """Returns the text of a graph file of the first recorded step, including the updates of an optimizer;
    None if no step was recorded. Raises Refused if the optimizer cannot be a part of the graph."""
    for call_plan in owner.call_plans.values():
        plan = call_plan.plan
        if plan is None:
            continue
        compiled, packing = plan.compiled, plan.packing(owner.module, owner.state.reads_kept)
        if owner.updates is not None:
            try:
                compiled, ending = owner.updates.endings.ended(owner.context(), plan)
            except RuntimeError as error:
                raise Refused(str(error)) from None
            packing = packing._replace(ending=ending)
        compiled.pack(packing.text())
        return compiled.graph_text()
    return None
