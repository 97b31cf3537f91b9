"""A process group of two processes. As with NCCL, and unlike with Gloo, its gathers and scatters run while
other ops run, and make no copies of the data. Gloo runs all other collectives of this group."""

import torch
import torch.distributed as dist

FIRST_TAG = 1 << 20  # Gloo's own collectives have smaller tags


class Exchange(dist._Work):
    """A gather or scatter that runs. `after`: called when the data has arrived."""

    def __init__(self, group, works, after=lambda: None):
        super().__init__()
        self.group, self.works, self.after, self.number = group, works, after, group.begun

    def wait(self, timeout=None):
        for work in self.works:
            work.wait()
        if self.works:
            self.after()
            self.group.waited_late += self.group.begun > self.number
        self.works, self.after = [], None
        return True


class DirectGroup(dist.ProcessGroup):
    """`begun`: the number of gathers and scatters that have begun. `waited_late`: how many of them the
    program waited for only after a later one had begun."""

    def __init__(self, store, rank, size, timeout):
        super().__init__(rank, size)
        assert size == 2, "two processes"
        self.gloo = dist.ProcessGroupGloo(store, rank, size, timeout)
        self._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, self.gloo)
        self._set_default_backend(dist.ProcessGroup.BackendType.GLOO)
        # The factors are tensors, because a product with a number would allocate memory for the number.
        self.factors = {dist.ReduceOp.SUM: torch.tensor(1.0), dist.ReduceOp.AVG: torch.tensor(0.5)}
        self.begun = self.waited_late = 0

    def getBackendName(self):
        return "direct"

    def exchange(self, sent, received, after=lambda: None):
        self.begun += 1
        other, tag = 1 - self.rank(), FIRST_TAG + self.begun
        works = [self.gloo.send([sent], other, tag), self.gloo.recv([received], other, tag)]
        return Exchange(self, works, after)

    def all_gather_single_coalesced(self, outputs, inputs, options):
        return self.all_gather_single(*outputs, *inputs, options)

    def all_gather_single(self, output, given, _):
        parts = output.view(2, -1)
        parts[self.rank()].copy_(given.view(-1))
        return self.exchange(given.view(-1), parts[1 - self.rank()])

    def reduce_scatter_single_coalesced(self, outputs, inputs, options):
        return self.reduce_scatter_single(*outputs, *inputs, options)

    def reduce_scatter_single(self, output, given, options):
        parts, sums = given.view(2, -1), output.view(-1)
        factor = self.factors[options.reduceOp.op]

        def add():
            sums.add_(parts[self.rank()]).mul_(factor)

        return self.exchange(parts[1 - self.rank()], sums, add)


def delegate(name):
    """Makes a method that calls Gloo's method. Without this method, torch would call Gloo while it holds the
    interpreter lock, for which Gloo's threads may wait."""
    setattr(DirectGroup, name, lambda self, *a, **named: getattr(self.gloo, name)(*a, **named))


for name in ("allreduce", "allgather", "broadcast", "barrier"):
    delegate(name)


def begin(store, rank, size, timeout):
    return DirectGroup(store, rank, size, timeout)


dist.Backend.register_backend("direct", begin, devices=["cpu"])
