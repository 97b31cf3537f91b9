"""The links between the ranks of a mesh, and the times of collectives over them."""

import json

from ..errors import message

# The usual links of the cards that come with the package: within nodes of 8, and between nodes. Cards without
# NVLink exchange data over PCI Express.
USUAL = {
    "a100": "nvlink3,ib200",
    "h100": "nvlink4,ib400",
    "h200": "nvlink4,ib400",
    "b200": "nvlink5,ib400",
}
WITHOUT_NVLINK = "pcie4,ib200"


class WrongLinks(ValueError):
    """The links between ranks are unknown, or do not connect all ranks of a group."""


def links_of(card, given: str | None) -> str:
    """Returns the names of the links between ranks that have this card: `given`, or the usual links."""
    return given or USUAL.get(card.facts["id"], WITHOUT_NVLINK)


def with_rank_links(plan, spans, links: str):
    """Returns a plan of the same step in which collectives use these links and run beside compute. The plan
    has no schedule yet. `plan`: a plan recorded from shapes. `spans`: the ranks of each process group of the
    step, see AbsentRanks; if it is empty, `plan` itself is returned. `links`: "nvlink4,ib400", or paths of
    files. Raises WrongLinks."""
    if not spans:
        return plan
    groups = {
        name: {"queue": "_".join(span.dimensions), "ranks": list(span.ranks)} for name, span in spans.items()
    }
    try:
        found = plan.with_rank_costs(json.dumps({"links": links, "groups": groups}))
    except RuntimeError as error:
        raise WrongLinks(f"rematlas: {message(error)}") from None
    found.spans = spans
    return found
