"""The keyword arguments of `apply`, checked and normalized."""

import dataclasses
import os

import torch

from .compiled import configurations
from .compiled.memory import budget_bytes, fits_tensors_loosely
from .copies import Copies
from .fallback.fallback import CHOICES
from .loss_head.chunking import check_chunk_loss
from .plan_file import Plan
from .updates.optimizers import of_another_model, unfit


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """The options. The docstring of `apply` explains them."""

    budget: int | str | None
    budget_bytes: int | None  # None if the budget is a share of the step
    solver: str
    config: dict | None  # the solver's options
    time_limit: float  # seconds; 0 means the solver's default
    plan: Plan | None
    shapes: int
    frames: int
    on_refuse: str
    verify: int
    arena: bool | None
    unplanned: str | None
    optimizer: torch.optim.Optimizer | None
    accumulate: int | None
    clip_norm: float | None
    scaler: torch.amp.GradScaler | None  # None also if the scaler is disabled
    chunk_loss: int | str | None
    watch: str | os.PathLike | None
    wire_weight: float  # a factor for the times of collectives
    copies: Copies

    def in_arena(self, device: str) -> bool:
        """Says whether the tensors of steps on this device are put into one arena. If the user has not
        chosen, an arena is used on a device whose own allocator may hand out larger blocks than the tensors
        need, or may be slow."""
        return fits_tensors_loosely(device) if self.arena is None else self.arena

    def why_not_sharded(self) -> str:
        """Returns why these options cannot be used for a module with DTensors; empty if they can."""
        if self.optimizer is not None:
            return "optimizer= takes no parameters that are DTensors: leave it out, and call optimizer.step()"
        if self.copies.moves_weights:
            return "offload= moves no parameters that are DTensors: use offload='activations'"
        if self.plan is not None:
            return "plan= holds no placements of gradients of DTensors: leave it out"
        if self.unplanned == "evict":
            return "unplanned='evict' evicts no tensors of a step whose parameters are DTensors: leave it out"
        return ""

    @classmethod
    def of(cls, module, given: dict) -> "Options":
        """Checks the keyword arguments of `apply` for this module. Raises ValueError and TypeError."""
        check_numbers(given)
        check_choices(given)
        check_budget(given["budget"], given["plan"])
        check_optimizer(module, given)
        check_chunk_loss(given["chunk_loss"])
        home = next(module.parameters(), torch.empty(0)).device
        device = str(torch.empty(0, device=given.pop("device") or home).device)
        copies = Copies(given.pop("offload"), given.pop("links"), given.pop("host_budget"), device)
        plan, scaler = given.pop("plan"), given.pop("scaler")
        if plan is not None and not isinstance(plan, Plan):
            plan = Plan.read(plan)
        if plan is not None and given["budget"] is None:
            given["budget"] = plan.budget_bytes()
        solver, config = solver_of(given.pop("solver"), given.pop("config"))
        return cls(
            **given
            | {
                "time_limit": float(given["time_limit"] or 0),
                "wire_weight": float(given["wire_weight"]),
            },
            budget_bytes=None if given["budget"] is None else budget_bytes(given["budget"]),
            solver=solver,
            config=config,
            plan=plan,
            scaler=scaler if scaler is not None and scaler.is_enabled() else None,
            copies=copies,
        )


def check_numbers(given) -> None:
    for name, least in (("shapes", 1), ("frames", 1), ("verify", 0)):
        check_count(name, given[name], least)
    check_time_limit(given["time_limit"])
    if not is_positive(given["wire_weight"]):
        raise ValueError(f"rematlas: wire_weight is {given['wire_weight']!r}; expected a factor above 0")


def check_time_limit(time_limit) -> None:
    if time_limit is not None and not is_positive(time_limit):
        raise ValueError(f"rematlas: time_limit is {time_limit!r}; expected seconds")


def is_positive(value) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and 0 < value < float("inf")


def check_count(name, value, least) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"rematlas: {name} is {value!r}; expected a whole number of at least {least}")


def check_choices(given) -> None:
    arena, unplanned, on_refuse, budget = (
        given[name] for name in ("arena", "unplanned", "on_refuse", "budget")
    )
    if arena is not None and not isinstance(arena, bool):
        raise ValueError(f"rematlas: arena is {arena!r}; expected True, False or None")
    if unplanned not in (None, *CHOICES):
        raise ValueError(f"rematlas: unplanned is {unplanned!r}; expected 'original' or 'evict'")
    if unplanned == "evict" and isinstance(budget, str) and "%" in budget:
        raise ValueError(
            "rematlas: steps without a plan are evicted under a budget in bytes; nobody knows a share of them"
        )
    if on_refuse not in ("warn", "raise"):
        raise ValueError(f"rematlas: on_refuse is {on_refuse!r}; expected 'warn' or 'raise'")


def check_budget(budget, plan) -> None:
    if budget is None:
        if plan is None:
            raise TypeError("rematlas: a budget is needed, or a plan")
        return
    if isinstance(budget, bool) or not isinstance(budget, (int, str)):
        raise TypeError(
            f"rematlas: the budget is {budget!r}; expected bytes, or text such as '2GiB', '60%' or '60% of"
            " activations'"
        )
    try:
        budget_bytes(budget)
    except RuntimeError as error:
        raise ValueError(str(error).splitlines()[0]) from None


def check_optimizer(module, given) -> None:
    optimizer, clip_norm, scaler = given["optimizer"], given["clip_norm"], given["scaler"]
    if optimizer is not None:
        why = unfit(optimizer) or of_another_model(optimizer, module)
        if why:
            raise ValueError(f"rematlas: optimizer: {why}")
    if given["accumulate"] is not None:
        check_count("accumulate", given["accumulate"], 1)
    if clip_norm is not None and not (isinstance(clip_norm, (int, float)) and clip_norm > 0):
        raise ValueError(f"rematlas: clip_norm is {clip_norm!r}; expected a norm above 0")
    if scaler is not None and not isinstance(scaler, torch.amp.GradScaler):
        raise TypeError(f"rematlas: scaler is a {type(scaler).__name__}; expected a torch.amp.GradScaler")
    moves_weights = given["offload"] in ("weights", "all")
    is_given = {"accumulate": given["accumulate"] is not None, "clip_norm": clip_norm is not None}
    is_given |= {"scaler": scaler is not None, "offload": moves_weights}
    for name in is_given:
        if is_given[name] and optimizer is None:
            raise ValueError(
                f"rematlas: {name} says what comes before the optimizer's steps, which are no part of the"
                " plan: give optimizer="
            )
    if given["device"] is not None and not moves_weights:
        raise ValueError(
            "rematlas: device says where a model trains that lives on the host: with offload 'weights' or"
            " 'all'"
        )


def solver_of(solver, config):
    """Returns the solver's name and options. If a configuration is given (see `generate_config`), the
    solver's name in it is used."""
    try:
        if config is None:
            configurations.check_solver(solver)
            return solver, None
        return configurations.checked(config)
    except RuntimeError as error:
        raise ValueError(str(error)) from None
