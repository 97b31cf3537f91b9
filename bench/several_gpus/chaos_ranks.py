"""The program of chaos.py's ranks: trainings drawn from seeds, and trainings in which one rank ends."""

import collections
import contextlib
import dataclasses
import datetime
import faulthandler
import functools
import json
import os
import pathlib
import random
import re
import signal
import sys
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "runtime" / "python")]

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.distributed.nn  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed import _functional_collectives as collectives  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.distributed.tensor import parallel  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

import rematlas  # noqa: E402
from rematlas import api  # noqa: E402
from rematlas.lifecycle import together  # noqa: E402

WIDTH, HEAD, WORDS, BATCH, LENGTH, BLOCKS = 32, 8, 64, 4, 16, 2
TIMEOUT = 20  # timeout of the process groups, in seconds
LEFT_OUT = set()  # events that are not used (`--leave-out`)
SLOW = 17  # seconds after which a rank writes its stack trace to stderr
EVERY = -1  # stands for all ranks
KINDS = ("gathered", "summed", "fsdp", "tensor", "ddp")
PARALLEL = {
    **{name: parallel.ColwiseParallel() for name in ("q", "k", "v", "up")},
    **{name: parallel.RowwiseParallel() for name in ("o", "down")},
}
STAGES = {
    "recorded": "recording",
    "compared": "comparing",
}  # the state of a plan in which a rank ends; "planned" for all other stages
WAITED = re.compile("have come to forward|[Tt]imed out|[Tt]imeout")


class Failure(Exception):
    """Raised on purpose, on one rank."""


class Block(nn.Module):
    """A block of a GPT. `kind`: if "gathered", the ranks gather a weight from their shards; if "summed", each
    rank computes a part of the hidden features."""

    def __init__(self, kind, dropout):
        super().__init__()
        self.kind, ranks = kind, dist.get_world_size()
        self.dropout = nn.Dropout(dropout)
        self.n1, self.n2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up = nn.Linear(WIDTH, 4 * WIDTH // (ranks if kind in ("gathered", "summed") else 1))
        self.down = nn.Linear(4 * WIDTH // (ranks if kind == "summed" else 1), WIDTH)

    def forward(self, x):
        y = self.n1(x)
        heads = (part(y).view(*x.shape[:2], -1, HEAD).transpose(1, 2) for part in (self.q, self.k, self.v))
        mixed = functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).flatten(2))
        y = self.n2(x)
        if self.kind == "gathered":
            weight = collectives.all_gather_tensor_autograd(self.up.weight, 0, dist.group.WORLD)
            y = functional.linear(y, weight)
        else:
            y = self.up(y)
        y = self.down(functional.gelu(y))
        return x + self.dropout(dist.nn.all_reduce(y) if self.kind == "summed" else y)


class Model(nn.Module):
    """`fails`: where the forward raises, "before" or "after" the blocks."""

    def __init__(self, kind, dropout):
        super().__init__()
        self.factor, self.fails = 1.0, ""
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block(kind, dropout) for _ in range(BLOCKS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        if self.fails == "before":
            raise Failure(self.fails)
        x = self.embedding(words) * self.factor
        for block in self.blocks:
            x = block(x)
        if self.fails == "after":
            raise Failure(self.fails)
        return self.head(self.norm(x))


@dataclasses.dataclass
class Training:
    """`options`: arguments of `rematlas.apply`. `waits`: the ranks that wait for their plan after each step.
    `events`: tuples of (step, rank or EVERY, name of the event, number). For the event "after" the number is
    the rank that fails; for the other events it is random."""

    seed: int
    ranks: int
    kind: str = "gathered"
    budget: str | int = "80%"
    options: dict = dataclasses.field(default_factory=dict)
    steps: int = 12
    dropout: float = 0.0
    accumulate: int = 1
    syncs_each: bool = True
    clips: bool = False
    pauses: bool = False
    waits: tuple = (0, 1, 2, 3)
    events: list = dataclasses.field(default_factory=list)

    @classmethod
    def of(cls, seed, ranks):
        """Draws a training from the seed. All ranks draw the same training."""
        draw = random.Random(seed)
        kind = draw.choice((*KINDS, "both") if ranks == 4 else KINDS)
        share = f"{draw.randint(60, 100)}%" + draw.choice(("", "", " of activations"))
        budget = draw.choice((share, share, draw.randint(300_000, 1_400_000)))
        unplanned = draw.choice((None, None, "original") + ("evict",) * isinstance(budget, int))
        training = cls(seed, ranks, kind, budget, {"verify": draw.randint(0, 2), "unplanned": unplanned})
        training.steps, training.dropout = draw.randint(10, 14), draw.choice((0.0, 0.1))
        training.accumulate, training.syncs_each = draw.choice((1, 1, 2)), draw.random() < 0.7
        can_clip = kind not in ("tensor", "both")  # torch does not clip DTensors together with plain tensors
        training.clips, training.pauses = can_clip and draw.random() < 0.3, draw.random() < 0.5
        some = () if "wait" in LEFT_OUT else (draw.randrange(ranks),)  # one rank that waits alone
        training.waits = draw.choice((training.waits, training.waits, some, ()))
        alone = ["factor", "eval", "loss", "watched", "before", "ballast"]
        alone += ["rows"] * 2 * (kind not in ("summed", "tensor", "both"))
        every = ["evaluate", "after", "discard"] + ["two"] * (kind in ("gathered", "tensor"))
        every += ["freeze"] * (kind != "ddp")
        for _ in range(draw.randint(1, 4)):
            # The last step has no event, because some events skip the backward: after a forward alone, FSDP2
            # keeps the weights of the root gathered.
            step, rank, number = draw.randrange(training.steps - 1), draw.randrange(ranks), draw.random()
            what = draw.choice(alone if draw.random() < 0.7 else every)
            event = step, EVERY if what in every else rank, what, rank if what == "after" else number
            training.events += [event] * (what not in LEFT_OUT)
        return training

    def model(self):
        torch.manual_seed(self.seed)
        model = Model(self.kind, self.dropout)
        shape = {"both": (2, 2), "tensor": (1, self.ranks)}.get(self.kind, (self.ranks, 1))
        mesh = init_device_mesh("cpu", shape, mesh_dim_names=("shard", "tensor"))
        if self.kind in ("tensor", "both"):
            for block in model.blocks:
                parallel.parallelize_module(block, mesh["tensor"], PARALLEL)
        if self.kind in ("fsdp", "both"):
            for each in (*model.blocks, model):
                fully_shard(each, mesh=mesh["shard"])
        return DistributedDataParallel(model) if self.kind == "ddp" else model


class Loop:
    """One training on this rank. `results`: the losses, followed by this rank's parts of the weights."""

    def __init__(self, training, rank, is_planned):
        self.training, self.rank, self.is_planned = training, rank, is_planned
        self.model = training.model()
        self.module = api.planned_part(self.model)
        if is_planned:
            rematlas.apply(self.model, training.budget, time_limit=0.3, **training.options)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.02, momentum=0.9)
        own = 0 if training.kind in ("summed", "tensor", "both") else rank
        self.numbers = torch.Generator().manual_seed(training.seed + own)
        torch.manual_seed(training.seed + own)
        self.pauses = random.Random(f"{training.seed} {rank}")
        self.results, self.ballast = [], None

    def run(self):
        for step in range(self.training.steps):
            events = [event for event in self.training.events if event[0] == step]
            self.step({what: number for _, who, what, number in events if who in (self.rank, EVERY)})
        for parameter in self.model.parameters():
            part = parameter.to_local() if hasattr(parameter, "to_local") else parameter
            self.results.append(part.detach().clone())
        return self

    def step(self, here) -> None:
        """Trains a step. `here`: the events of this step on this rank, each with its number."""
        training, model = self.training, self.model
        if "freeze" in here:
            self.module.norm.weight.requires_grad_(not self.module.norm.weight.requires_grad)
        if "ballast" in here:
            self.ballast = torch.ones(int(here["ballast"] * 200_000)) if self.ballast is None else None
        self.module.factor = 0.5 if "factor" in here else 1.0
        model.train("eval" not in here)
        for part in range(training.accumulate):
            with self.syncing(part + 1 == training.accumulate):
                if not self.part(here if part == 0 else {}):
                    return
        if training.clips:
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        self.pause("optimizer")
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.is_planned and self.rank in training.waits:
            rematlas.status(model).wait()
        if "evaluate" in here:
            model.eval()
            with torch.no_grad():
                self.results.append(model(self.words()).clone())

    def syncing(self, is_last):
        if not self.training.syncs_each and self.training.kind in ("fsdp", "both"):
            self.model.set_requires_gradient_sync(is_last)
        sums = not self.training.syncs_each and self.training.kind == "ddp" and not is_last
        return self.model.no_sync() if sums else contextlib.nullcontext()

    def part(self, here) -> bool:
        """Runs a forward and a backward. Returns False if all ranks skip the rest of the step."""
        words = self.words()[: BATCH // 2 if "rows" in here else BATCH]
        self.pause("forward")
        logits = None
        if "before" in here:  # this rank raises before its first collective, then runs the forward as usual
            self.forward_that_fails(words, "before")
        if here.get("after") == self.rank:
            self.forward_that_fails(words, "after")
        else:
            with FlopCounterMode(display=False) if "watched" in here else contextlib.nullcontext():
                logits = self.model(words)
        if "after" in here or "discard" in here:
            is_well = torch.tensor(int(logits is not None and "discard" not in here))
            dist.all_reduce(is_well, dist.ReduceOp.MIN)
            return bool(is_well)
        if "loss" in here:
            loss = logits.mean() + logits.square().mean()
        else:
            loss = functional.cross_entropy(logits.flatten(0, 1), words.flatten())
        if "two" in here:
            loss = loss + self.model(words[:, 1:]).square().mean()
        self.results.append(loss.detach().clone())
        self.pause("backward", logits)
        loss.backward()
        return True

    def forward_that_fails(self, words, where) -> None:
        self.module.fails = where
        with contextlib.suppress(Failure):
            self.model(words)
        self.module.fails = ""

    def words(self):
        return torch.randint(0, WORDS, (BATCH, LENGTH), generator=self.numbers)

    def pause(self, before, logits=None) -> None:
        if self.is_planned and self.training.pauses and self.pauses.random() < 0.1:
            time.sleep(self.pauses.random() * 0.3)

    def told(self, courses) -> str:
        with contextlib.suppress(dist.DistError):
            status = rematlas.status(self.model)
            runs = " ".join(f"{together.Course(each).name}:{courses[each]}" for each in sorted(courses))
            return f"{status.state} replayed {status.replayed} [{runs}] {status.reason[:150]}"
        return "the store is gone"


class Ending(Loop):
    """A training in which one rank ends."""

    def __init__(self, rank, stage, way, ender, kind):
        options = {"on_refuse": "raise"} if way == "refusal" and rank == ender else {}
        super().__init__(Training(0, 2, kind, options=options, steps=40), rank, True)
        self.stage, self.way, self.ends = stage, way, rank == ender

    def pause(self, before, logits=None) -> None:
        state = STAGES.get(self.stage, "planned")
        is_now = self.ends and self.results and rematlas.status(self.model).state == state
        if is_now and self.stage == "backward" and before == "backward":
            logits.register_hook(lambda gradient: self.end())
        elif is_now and before == ("forward" if self.stage == "between" else "backward"):
            self.end()

    def end(self) -> None:
        tell(ends=True)
        if self.way in ("SIGKILL", "SIGINT"):
            os.kill(os.getpid(), getattr(signal, self.way))
        elif self.way == "exception":
            raise Failure("Error: this rank ends")
        else:
            for call_plan in list(api.of(self.model).call_plans.values()):
                call_plan.refuse("this rank refuses the step")


def tell(**facts) -> None:
    print(json.dumps(facts), flush=True)


def count_courses() -> collections.Counter:
    """Returns a counter. From now on, it counts the courses (`together.Course`) on which this rank agrees
    with the other ranks."""
    meet, courses = together.Together.meet, collections.Counter()

    @functools.wraps(meet)
    def counted(*given):
        agreed = meet(*given)
        courses[agreed.course] += 1
        return agreed

    together.Together.meet = counted
    return courses


def run_trainings(rank, ranks, seeds) -> None:
    """Runs the trainings of the given seeds, and stops at the first that fails."""
    courses = count_courses()
    for seed in seeds:
        training = Training.of(seed, ranks)
        courses.clear()
        loop, verdict, text = None, "illegal", ""
        faulthandler.dump_traceback_later(SLOW)
        print(f"training {seed}", file=sys.stderr)
        try:
            wanted = Loop(training, rank, False).run().results
            verdict = "error"
            loop = Loop(training, rank, True)
            found = loop.run().results
            is_same = len(wanted) == len(found) and all(map(torch.equal, wanted, found))
            verdict, text = "ok" if is_same else "different", loop.told(courses)
            rematlas.remove(loop.model)
            dist.barrier()
        except Exception as error:
            traceback.print_exc()
            if isinstance(error, torch.OutOfMemoryError) and training.kind in ("gathered", "summed", "ddp"):
                verdict = "memory"
            elif loop is not None and WAITED.search(str(error)):
                verdict = "hang"
            status = "" if loop is None else loop.told(courses)
            text += f"{type(error).__name__}: {str(error)[:300]}; {status}"
        faulthandler.cancel_dump_traceback_later()
        tell(verdict=verdict, text=text)
        if verdict not in ("ok", "different"):
            os._exit(1)


def run_rank(rank, ranks, port, part, given) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    timeout = datetime.timedelta(seconds=TIMEOUT)
    dist.init_process_group("gloo", rank=rank, world_size=ranks, timeout=timeout)
    if part == "runs":
        run_trainings(rank, ranks, given)
    else:
        Ending(rank, *given).run()
    dist.barrier()
    dist.destroy_process_group()
