"""Finds out which cards a training step fits on: as it is, with recomputation, and with copies to the host.

found = fits(model, args, optimizer=("adamw", {}), cards=["h100", "rtx4090"], offload="all")
found["cards"][0]["ways"]      # plain, recompute, offload: fits, overhead, peak_bytes, bound, largest
"""

import concurrent.futures
import dataclasses
import json
import math
import os
import typing

from ..copies import Copies
from ..errors import message
from ..library import ops
from ..loss_head.chunking import check_chunk_loss
from ..options import check_time_limit
from .absent_device import AbsentDevice
from .absent_mesh import dimensions_of
from .plan_for_card import Asked, solved
from .rank_links import links_of, with_rank_links
from .recorded_step import graph_of_step

DRIVERS_BYTES = 640 << 20  # bytes of a card that CUDA 13 and its libraries occupy
SECONDS_A_SOLVE = 4.0
SECONDS_A_SOLVE_ON_RANKS = 20.0  # steps whose collectives run beside compute take longer to solve
FORMAT = {"format": "rematlas.fits", "version": 1}
# The search for the largest value of the varied keyword stops when a value fits that is at least this large.
MOST = 1 << 20


class Way(typing.NamedTuple):
    name: str  # plain, recompute or offload
    offload: str


@dataclasses.dataclass
class Found:
    """The result of one way on one card."""

    way: str
    fits: bool
    overhead: float | None = None
    peak_bytes: int | None = None  # the schedule's peak; if no schedule fits, the smallest peak found
    bound: float | None = None  # a proven lower bound on the overhead
    time_ns: int | None = None  # the predicted time of the step, if the step was solved
    needed_bytes: int | None = None  # bytes that the step provably needs in this way, if it does not fit
    largest: int | None = None  # the largest value of the varied keyword that fits
    largest_overhead: float | None = None  # the overhead of the step with this value
    ends: str | None = None  # if a step for a larger value could not be made: the reason


@dataclasses.dataclass(frozen=True, kw_only=True)
class Question:
    """The limits that are the same for each card."""

    ways: tuple
    seconds: float  # the time limit of each solve
    most: float  # the largest overhead that counts as fitting; None if there is no limit


class Steps:
    """The recorded steps. Each step is recorded once for all cards of the same kind and capability, because
    these cards run the same ops."""

    def __init__(self, make_step, how):
        self.make_step = make_step  # makes (model, args, kwargs) from a value of the varied keyword
        self.how = how  # keyword arguments of graph_of_step
        self.recorded = {}
        mesh = how.get("mesh")
        sizes = None if mesh is None else dimensions_of(mesh)
        self.mesh = sizes and ",".join(
            f"{name}={size}" for name, size in sizes.items()
        )  # None without a mesh

    def on(self, card, value=None):
        """Returns the step on this card, without a schedule. `value`: the value of the varied keyword, if one
        is varied."""
        key = (card.facts["kind"], card.facts["capability"], value)
        if key not in self.recorded:
            model, args, kwargs = self.make_step(value)
            self.recorded[key] = graph_of_step(model, args, kwargs, card, **self.how)
        recorded = self.recorded[key]
        plan = recorded.on_card(card.recorded_as)
        return with_rank_links(plan, recorded.spans, self.rank_links(card)) if recorded.spans else plan

    def rank_links(self, card) -> str | None:
        """Returns the links between the ranks of the mesh; None without a mesh."""
        return links_of(card, self.how.get("rank_links")) if self.mesh else None


def room_of(card) -> int:
    """Returns how many bytes of the card the step may take."""
    memory = card.facts["memory_bytes"]
    return memory - DRIVERS_BYTES if card.is_cuda else memory


def asked_of(card, way, solver, seconds) -> Asked:
    """Returns the request for a plan that may use all memory of the card that the driver leaves."""
    links = card.profile if way.offload != "none" else None
    return Asked(
        budget=room_of(card),
        solver=solver,
        config=None,
        time_limit=seconds,
        copies=Copies(way.offload, links, None, card.name, in_training=False),
        lies_in_arena=card.is_cuda,
    )


def looked_at(steps, card, way, question, value=None) -> Found:
    """Returns whether the step fits the card in this way, and with which overhead."""
    plan = steps.on(card, value)
    whole = plan.answer().whole_peak_bytes
    if whole <= room_of(card) and not plan.spans:
        return Found(way.name, True, 1.0, whole, 1.0)
    if way.name == "plain" and whole > room_of(card):
        return Found(way.name, False, None, whole, None, needed_bytes=whole)
    # If collectives run beside compute, the peak and the time of the step depend on the order of its ops.
    solver = "keep-all" if way.name == "plain" else "atlas"
    answer = solved(plan, card, asked_of(card, way, solver, question.seconds))
    if answer.infeasible is not None:
        shortage = answer.infeasible
        needed = shortage.needed_bytes if shortage.proven else None
        return Found(way.name, False, None, shortage.smallest_found_bytes, None, needed_bytes=needed)
    fits_in_time = question.most is None or answer.overhead <= question.most
    return Found(
        way.name, fits_in_time, answer.overhead, answer.peak_bytes, answer.bound, time_ns=answer.time_ns
    )


def find_largest(steps, card, way, question, base, first) -> None:
    """Sets `first.largest` to the largest value of the varied keyword that fits, up to about two percent; 0
    if not even 1 fits. Sets `first.largest_overhead` to the overhead of its step. `first` is the result for
    the value `base`. For each value that is tried, a step is recorded and solved. A value counts as too large
    if no step can be made for it, for example because it exceeds the model's longest sequence."""
    known = {base: first}

    def fits_at(value) -> bool:
        if value not in known:
            try:
                known[value] = looked_at(steps, card, way, question, value)
            except Exception as error:
                known[value] = Found(way.name, False)
                first.ends = message(error)
        return known[value].fits

    low, high = (base, None) if first.fits else (0, base)
    while high is None and low < MOST:
        low, high = (2 * low, None) if fits_at(2 * low) else (low, 2 * low)
    while high is not None and high - low > max(1, low // 64):
        middle = (low + high) // 2
        low, high = (middle, high) if fits_at(middle) else (low, middle)
    first.largest = low
    first.largest_overhead = known[low].overhead if low else None


def answered(steps, card, question, base) -> dict:
    """Returns the result for one card."""
    ways = []
    for way in question.ways:
        found = looked_at(steps, card, way, question, base)
        if base is not None:
            find_largest(steps, card, way, question, base, found)
        ways.append(dataclasses.asdict(found))
    return {
        "card": card.facts["id"],
        "name": card.facts["name"],
        "memory_bytes": card.facts["memory_bytes"],
        "room_bytes": room_of(card),
        "updates": steps.on(card, base).answer().updates,
        "ways": ways,
        "loss_head": steps.on(card, base).loss_head,
        "mesh": steps.mesh,
        "rank_links": steps.rank_links(card),
    }


def known_cards() -> list:
    """Returns the names of all cards whose profiles come with the package, sorted by memory, the smallest
    first."""
    cards = [AbsentDevice(name) for name in json.loads(ops.device_profiles())]
    cards = sorted((card for card in cards if card.is_cuda), key=lambda card: card.facts["memory_bytes"])
    return [card.profile for card in cards]


def fits(
    model,
    args,
    kwargs=None,
    *,
    optimizer=None,
    master_weights=None,
    cards=None,
    offload="none",
    max_overhead=None,
    values=False,
    autocast=None,
    time_limit=None,
    host_profile=None,
    chunk_loss=None,
    mesh=None,
    param_dtype=None,
    reduce_dtype=None,
    rank_links=None,
) -> dict:
    """Says for each card whether a training step of the model fits it as it is, with recomputation, and, if
    `offload` is not "none", with copies to the host over the card's own links.

    `model`: a torch.nn.Module. `args` and `kwargs`: the arguments of a call, as in `plan`. Model and
    arguments may be on the meta device. `cards`: names or paths of device profiles; by default all profiles
    that come with the package. `optimizer`, `master_weights`, `values`, `autocast`, `chunk_loss`,
    `mesh`, `param_dtype`, `reduce_dtype` and `rank_links` are as in `plan` with `device_profile`; with
    `mesh`, each rank has a card. `max_overhead`: the largest overhead that counts as fitting, 1.1 for ten
    percent more time. `time_limit`: seconds for each card and way, by default 4, or 20 with `mesh`.
    `host_profile`: the host of all cards; by default each card has the host that such cards mostly have.

    Returns {"cards": [{"card", "name", "memory_bytes", "room_bytes", "updates", "ways": [{"way", "fits",
    "overhead", "peak_bytes", "bound", "time_ns", "needed_bytes", "largest", "largest_overhead", "ends"}],
    "loss_head", "mesh", "rank_links"}]}. Bytes are those of the device. "updates" says how the updates run,
    and how much memory they take. "overhead" is the step's predicted time over its time without
    recomputation, and "bound" a proven lower bound on it. "time_ns" is the predicted time of the step, if the
    step was solved.
    "needed_bytes" are the bytes that the step provably needs in this way, if it does not fit. "largest" and
    "largest_overhead" are None here; `rematlas fits --vary` sets them to the largest value of a keyword that
    fits, and to the overhead of its step. "loss_head" has
    the form of `inspect --json`: the bytes of head and loss in the peak of the step as it is, and their bytes
    in 2, 4 and 8 chunks of tokens; None if chunks would save few bytes. "mesh" is the mesh as text, and
    "rank_links" are the links between its ranks; both are None without a mesh. Raises Refused, ValueError and
    TypeError.
    """
    how = {"optimizer": optimizer, "master_weights": master_weights, "values": values, "autocast": autocast}
    check_chunk_loss(chunk_loss)
    how |= {"chunk_loss": chunk_loss, "mesh": mesh, "rank_links": rank_links}
    how |= {"param_dtype": param_dtype, "reduce_dtype": reduce_dtype}
    steps = Steps(lambda _: (model, args, kwargs or {}), how)
    return fits_of_steps(steps, cards_named(cards, host_profile), offload, max_overhead, time_limit)


def cards_named(cards, host=None) -> list:
    """Returns the cards with these names, each once and with this host; all known cards if `cards` is
    None."""
    if cards is None:
        cards = known_cards()
    if isinstance(cards, str):
        cards = cards.split(",")
    names = list(dict.fromkeys(str(name).strip() for name in cards))
    if not names or "" in names:
        raise ValueError(f"rematlas: cards is {cards!r}; expected names such as h100")
    found = [AbsentDevice(name, host) for name in names]
    for card in found:
        if room_of(card) <= 0:
            raise ValueError(
                f"rematlas: cards: the profile {card.profile} does not say how much memory there is"
            )
    return found


def fits_of_steps(steps, cards, offload, max_overhead=None, time_limit=None, base=None) -> dict:
    """Does the work of `fits` for these AbsentDevices. `steps`: the steps, which may vary by a keyword.
    `base`: the value of this keyword that is tried first; None if nothing varies."""
    check_time_limit(time_limit)
    if max_overhead is not None and not (
        isinstance(max_overhead, (int, float)) and 1 <= max_overhead < math.inf
    ):
        raise ValueError(f"rematlas: max_overhead is {max_overhead!r}; expected a number of at least 1")
    ways = [Way("plain", "none"), Way("recompute", "none")]
    if offload != "none":
        Copies(offload, "pcie4", None, "cpu")  # raises ValueError for a wrong `offload`
        ways.append(Way("offload", offload))
    usual = SECONDS_A_SOLVE_ON_RANKS if steps.mesh else SECONDS_A_SOLVE
    question = Question(ways=tuple(ways), seconds=time_limit or usual, most=max_overhead)
    # Steps are recorded one after the other, because torch can simulate only one absent card at a time.
    for card in cards:
        steps.on(card, base)
    if base is not None:
        return FORMAT | {"cards": [answered(steps, card, question, base) for card in cards]}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return FORMAT | {"cards": list(pool.map(lambda card: answered(steps, card, question, None), cards))}


def size_of(number) -> str:
    if number < 1 << 29:
        return f"{number / 2**20:.1f} MiB"
    return f"{number / 2**30:.1f} GiB"


def text_of(found, varies=None) -> str:
    """Returns the results as a table of text."""
    names = {"plain": "as it is", "recompute": "recomputed", "offload": "offloaded"}
    meshes = {card["mesh"] for card in found["cards"]}
    head = ["card", "memory"] if len(meshes) == 1 else ["card", "mesh", "memory"]
    rows = [[*head, *(names[way["way"]] for way in found["cards"][0]["ways"])]]
    for card in found["cards"]:
        facts = {"card": card["card"], "mesh": card["mesh"]}
        facts["memory"] = f"{card['memory_bytes'] / 2**30:.0f} GiB"
        rows.append(
            [
                *(facts[name] for name in head),
                *(cell_of(way, varies, bool(card["mesh"])) for way in card["ways"]),
            ]
        )
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["   ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    has_ranks = any(card["rank_links"] for card in found["cards"])
    lines.append(
        "The number after x is the time of the step over its time"
        f" {'with all communication hidden' if has_ranks else 'as it is'}."
        f" Of each card {size_of(DRIVERS_BYTES)} are left to the driver."
    )
    lines += [
        f"Optimizer: {updates}." for updates in dict.fromkeys(c["updates"] for c in found["cards"]) if updates
    ]
    ends = dict.fromkeys(way["ends"] for card in found["cards"] for way in card["ways"] if way["ends"])
    lines += [f"No larger {varies} was asked about: {why}" for why in ends]
    links = dict.fromkeys((card["card"], card["rank_links"]) for card in found["cards"] if card["rank_links"])
    lines += [f"Links between ranks that have the {card}: {names}." for card, names in links]
    heads = [(card["card"], card["loss_head"]["text"]) for card in found["cards"] if card["loss_head"]]
    # Only the first card is shown, because other cards run nearly the same ops.
    lines.extend(f"On the {card} {text}" for card, text in heads[:1])
    return "\n".join(lines)


def cell_of(way, varies, with_time=False) -> str:
    if way["fits"]:
        text = f"x{way['overhead']:.2f}, {size_of(way['peak_bytes'])}"
        if with_time and way["time_ns"] is not None:
            text += f", {way['time_ns'] / 1e9:.3g} s"
    elif way["overhead"] is not None:
        text = f"no: x{way['overhead']:.2f}"
    elif way["needed_bytes"] is not None:
        text = f"no: needs {size_of(way['needed_bytes'])}"
    else:
        text = "no" if way["peak_bytes"] is None else f"no: least found {size_of(way['peak_bytes'])}"
    if varies is None:
        return text
    factor = way["largest_overhead"]
    return f"{text}; {varies} {way['largest']}" + ("" if factor is None else f" at x{factor:.2f}")
