"""The ranks of a training that does not run here: torch.distributed on its "fake" backend, as rank 0.

with card, AbsentRanks(dimensions_of("fsdp=8,tp=2"), card) as ranks:
    ranks.mesh                      # a DeviceMesh with the dimensions fsdp and tp
    ranks.spans(["1", "3"])         # which ranks belong to the process groups with these names
"""

import contextlib
import math
import sys
import typing
from unittest import mock

import torch
import torch.distributed as dist

from ..errors import Refused
from ..sharded import fsdp

MOST_RANKS = 1 << 16


def dimensions_of(mesh) -> dict[str, int]:
    """Returns the sizes of a mesh by the names of its dimensions, outermost first. `mesh`: "fsdp=8,tp=2", or
    a dict. Raises ValueError for anything else."""
    wrong = ValueError(
        f"rematlas: mesh is {mesh!r}; expected names with numbers of ranks, outermost first: 'fsdp=8,tp=2'"
    )
    if isinstance(mesh, str):
        pairs = [part.partition("=")[::2] for part in mesh.split(",")]
        if not all(size.strip().isdecimal() for _, size in pairs):
            raise wrong
        pairs = [(name.strip(), int(size)) for name, size in pairs]
    elif isinstance(mesh, dict):
        pairs = list(mesh.items())
    else:
        raise wrong
    found = dict(pairs)
    are_sizes = all(type(size) is int and size >= 1 for size in found.values())
    are_names = all(isinstance(name, str) and name.isidentifier() for name in found)
    if not (found and are_sizes and are_names and len(found) == len(pairs)):
        raise wrong
    if math.prod(found.values()) > MOST_RANKS:
        raise ValueError(f"rematlas: mesh is {mesh!r}; expected at most {MOST_RANKS:,} ranks")
    return found


class Span(typing.NamedTuple):
    """The ranks of a process group to which rank 0 belongs. `dimensions`: the dimensions of the mesh that
    the group spans. `ranks`: the numbers of the ranks, ascending."""

    dimensions: tuple
    ranks: tuple


class Unseen:
    """A context whose ops are not recorded. Within it, DTensors find out the shapes of results on fake
    tensors."""

    def __init__(self):
        self.before = torch._C._dispatch_tls_local_include_set()
        self.open = contextlib.ExitStack()

    def __enter__(self):
        # A recording sees ops through a dispatch key that it switches on. This context switches the key off.
        keys = torch._C._dispatch_tls_local_include_set() - self.before
        self.open.enter_context(torch._C._ExcludeDispatchKeyGuard(keys))

    def __exit__(self, *_):
        self.open.close()


class AbsentRanks:
    """A context in which torch.distributed has as many ranks as the mesh; this process is rank 0.
    Nothing is exchanged. The context of the card must be open. Raises Refused if torch.distributed is
    initialized already."""

    def __init__(self, dimensions, card):
        self.dimensions = dimensions
        self.card = card
        self.mesh = None
        self.open = contextlib.ExitStack()

    def __enter__(self):
        if dist.is_initialized():
            raise Refused(
                "rematlas: mesh: torch.distributed is initialized already, and a step from shapes makes the"
                " ranks of the mesh itself: call it in a process of its own, without torchrun"
            )
        import torch.distributed._functional_collectives  # noqa: F401  registers the shapes of collectives
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import _random, _sharding_prop
        from torch.testing._internal.distributed import fake_pg

        with contextlib.ExitStack() as entered:
            entered.enter_context(mock.patch.object(_random, "_rng_tracker", None))
            entered.enter_context(fsdp.without_streams())
            propagator = _sharding_prop.ShardingPropagator
            entered.enter_context(mock.patch.object(propagator, "_fake_mode_lock", Unseen(), create=True))
            # torch replaces sys.excepthook, so that errors name their rank, and does not restore it.
            entered.enter_context(mock.patch.object(sys, "excepthook", sys.excepthook))
            size = math.prod(self.dimensions.values())
            dist.init_process_group("fake", store=fake_pg.FakeStore(), rank=0, world_size=size)
            entered.callback(dist.destroy_process_group)
            self.mesh = init_device_mesh(
                self.card.name.partition(":")[0],
                tuple(self.dimensions.values()),
                mesh_dim_names=tuple(self.dimensions),
            )
            self.open = entered.pop_all()
        return self

    def __exit__(self, *_):
        self.mesh = None
        self.open.close()
        forget_meshes()

    def spans(self, names) -> dict[str, Span]:
        """Returns which ranks belong to the process groups with these names."""
        return {name: self.span_of(name) for name in names}

    def span_of(self, name) -> Span:
        group = dist.distributed_c10d._resolve_process_group(name)
        ranks = sorted(dist.get_process_group_ranks(group))
        places = torch.unravel_index(torch.tensor(ranks), tuple(self.dimensions.values()))
        along = tuple(name for name, place in zip(self.dimensions, places) if (place != place[0]).any())
        return Span(along, tuple(ranks))


def forget_meshes() -> None:
    """Empties the caches in which DTensors keep meshes. For the caches, two meshes of equal form are the
    same, even if the process groups of one mesh no longer exist. Versions of torch have different caches."""
    from torch.distributed.tensor import _collective_utils, _redistribute, debug

    for place, name in (
        (debug, "_clear_sharding_prop_cache"),
        (_redistribute, "clear_redistribute_planner_cache"),
        (getattr(_redistribute, "_gen_transform_infos", None), "cache_clear"),
        (_collective_utils.MeshTopoInfo.build_from_mesh, "cache_clear"),
    ):
        getattr(place, name, lambda: None)()
