"""`rematlas.plan` for an absent card."""

import dataclasses

from ..compiled.memory import budget_bytes
from ..copies import Copies
from ..errors import Infeasible, Refused, infeasible_text, message
from ..lifecycle.packing import Packing
from ..loss_head.chunking import check_chunk_loss
from ..options import check_budget, check_time_limit, solver_of
from ..plan_file import Plan
from .absent_device import device_named
from .recorded_step import StepOptions, graph_of_step

# The options that affect how a step is recorded.
OF_STEP = tuple(field.name for field in dataclasses.fields(StepOptions))


@dataclasses.dataclass(frozen=True, kw_only=True)
class CardOptions(StepOptions):
    """The keyword arguments of `plan` for an absent card, on which no step really runs."""

    device: str | None = None
    device_profile: str
    host_profile: str | None = None
    solver: str = "atlas"
    config: dict | None = None
    time_limit: float | None = None
    offload: str = "none"
    links: str | None = None
    host_budget: int | str | None = None

    @classmethod
    def of(cls, given: dict) -> "CardOptions":
        """Reads the keyword arguments. Raises TypeError with the name of an unknown argument."""
        known = {field.name for field in dataclasses.fields(cls)}
        for name in given:
            if name not in known:
                raise TypeError(
                    f"rematlas: {name} says how steps run, and with device_profile none does; plan takes"
                    f" {', '.join(sorted(known - {name}))}"
                )
        return cls(**given)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """The request for a plan, in the form that CompiledPlan.start takes."""

    budget: int | str
    solver: str
    config: dict | None
    time_limit: float
    copies: Copies
    lies_in_arena: bool

    def in_arena(self, _) -> bool:
        return self.lies_in_arena


def solved(compiled, card, asked):
    """Solves the step of `compiled` for the card, and returns the planner's answer. Raises Refused if the
    solver fails."""
    compiled.start(asked, frames=1, other_bytes=0, device=card.name)
    compiled.wait()
    answer = compiled.answer()
    if answer.error is not None:
        raise Refused(f"rematlas: {message(answer.error)}")
    return answer


def plan_for_card(model, args, budget, kwargs, given: dict) -> Plan:
    """See `rematlas.plan`. Raises Refused, Infeasible, ValueError and TypeError."""
    options = CardOptions.of(given)
    check_budget(budget, None)
    check_time_limit(options.time_limit)
    check_chunk_loss(options.chunk_loss)
    card = device_named(options.device, options.device_profile, options.host_profile)
    solver, config = solver_of(options.solver, options.config)
    moves = options.offload != "none"
    links = options.links or (card.profile if moves else None)
    asked = Asked(
        budget=budget,
        solver=solver,
        config=config,
        time_limit=float(options.time_limit or 0),
        copies=Copies(options.offload, links, options.host_budget, card.name),
        lies_in_arena=card.is_cuda,
    )
    how = {name: getattr(options, name) for name in OF_STEP}
    compiled = graph_of_step(model, args, kwargs, card, **how)
    answer = solved(compiled, card, asked)
    if answer.infeasible is not None:
        raise Infeasible.of(infeasible_text(solver, answer), answer.infeasible)
    compiled.pack(Packing.of(compiled)._replace(budget=budget_bytes(budget)).text())
    return Plan(compiled.to_bytes())
