"""Makes all ranks that run a module's collectives agree on one Course in each step.

A plan runs collectives in another order than the original, and runs some of them twice. If one rank ran the
plan and another rank the original, these ranks would wait for each other without end, or exchange wrong data.
So before each forward, each rank tells the other ranks which courses it can take. The ranks exchange these
messages through the store of the process group.
"""

import contextlib
import dataclasses
import datetime
import enum
import hashlib
import itertools
import json
import logging
import time

import torch.distributed as dist

from .. import ranks

log = logging.getLogger("rematlas")
numbers = itertools.count()  # ids of the planned modules of this process; the ids are the same on all ranks
MOST_WAIT = datetime.timedelta(seconds=30)  # the longest wait for other ranks to leave the plan
MOST_UNEQUAL = 3  # the number of forwards in a row with unequal plans after which ranks refuse
UNEQUAL = (
    "the ranks that exchange data have different plans, because their steps have other ops or sizes, or"
    " because apply got other arguments: give it the same budget and options on all ranks"
)
TELLS_BESIDE = 1 << 48  # a flag of ranks that tell `beside`; above the sum of 65,536 digests
FIELD = 12  # bits for each Course in the number that counts the ranks by Course


class Course(enum.IntEnum):
    """The ways in which a rank can run a step. Each rank names the greatest course that it can take; all
    ranks then take the least of these courses. RECORDED: the original runs in the form in which steps are
    recorded. This form differs from the original only for sharded parameters."""

    REFUSED = 0
    ORIGINAL = 1
    RECORDED = 2
    UNCOMPARED = 3  # the plan runs, and this rank cannot compare it in this step
    COMPARED = 4  # the plan runs beside the original, because it must be compared first
    PLANNED = 5  # the plan runs, alone or beside the original
    UNEQUAL = 6  # only as a common result: each rank has a plan, but not the same one


COUNTED = (Course.ORIGINAL, Course.RECORDED, Course.UNCOMPARED, Course.COMPARED, Course.PLANNED)


@dataclasses.dataclass(frozen=True)
class Told:
    """The facts that a rank tells the others before a forward, and the facts that all of them agree on.
    `plan`: a text that is equal on ranks with the same plan. `why`: the reason for REFUSED. `beside`: bytes;
    the ranks agree on the largest number. A rank that has recorded a step of this kind tells the bytes of the
    tensors that did not belong to the step. A rank with a plan tells by how many bytes the plan and the
    tensors outside of the step together exceed the budget."""

    course: Course
    plan: str = ""
    why: str = ""
    beside: int = 0


class Together:
    """The ranks that run a module's collectives. `name`: the class of the module."""

    def __init__(self, name):
        self.name = name
        self.number = next(numbers)
        self.key = ""  # see ranks.key_of; empty if this process trains alone
        self.unequal = 0  # forwards in a row whose ranks have unequal plans
        self.groups = []  # names of the process groups, in the order in which the step was seen to use them
        self.meetings = 0  # how often the ranks have told each other their course
        # If the forward after the last meeting raised an error: the result of `begun()` at that moment.
        self.failed_at = None
        self.has_kept = False  # the failed forward has kept all parameters that it had gathered
        self.tries_again = False  # the present forward is a second try of the failed forward
        # From the last meeting: the Told on which the ranks agreed, and the result of `begun()` at that time.
        self.last = None

    @property
    def is_on(self) -> bool:
        return bool(self.groups)

    def note(self, groups) -> None:
        """Called when a step was seen to run collectives of these groups."""
        if ranks.store() is not None:
            self.groups.extend(group for group in groups if group not in self.groups)

    @contextlib.contextmanager
    def watching(self):
        """A context around a forward of the original that nobody records. Notes the process groups whose
        collectives the forward runs."""
        watches = not self.is_on and ranks.store() is not None
        before = counts_of_collectives() if watches else {}
        try:
            yield
        finally:
            if watches:
                after = counts_of_collectives()
                self.note(group for group in before if after.get(group) != before[group])

    def runs_collectives(self, recording) -> bool:
        """Says whether a step that was recorded from shapes runs collectives. If so, the step is not planned,
        because each rank would plan alone."""
        if recording.groups():
            log.warning(
                "rematlas: the step exchanges data with other ranks, so it is not planned from shapes"
            )
        return bool(recording.groups())

    def shared(self, plan, options, frames, *more) -> ranks.Shared:
        """Returns the plan that this rank shares with others, see ranks.Shared. `more`: further facts that
        the plan depends on."""
        asked = [str(options.budget), options.solver, options.config, options.time_limit, options.wire_weight]
        seconds = 60 + 3 * options.time_limit
        return ranks.Shared(self.key, plan, json.dumps([*asked, frames, *more]), seconds, options.solver)

    def keeps_from_plan(self, call_plan, call) -> bool | None:
        """Called before each forward, when this rank has decided which course it can take. Says whether
        another rank makes this rank run the original, although this rank has a plan or would record the
        step. If a rank refuses the step, all ranks refuse it. If the plan is too large on one rank,
        all ranks make a smaller one; the result is then None, and the ranks must agree again."""
        mine = call_plan.state.course(call)
        plan = call_plan.plan.digest() if mine > Course.RECORDED else ""
        told = Told(mine, plan, self.of_rank(call_plan.reason), call_plan.state.beside(call))
        agreed = self.meet(told)
        common = agreed.course
        if Course.RECORDED < common < Course.UNEQUAL and agreed.beside:
            plan_smaller(call_plan, agreed.beside)
            return None
        call_plan.more_beside = max(0, agreed.beside - told.beside)
        if common is Course.REFUSED and mine is not Course.REFUSED:
            call_plan.refuse(f"another rank refuses the step: {agreed.why}")
        elif common is Course.COMPARED and mine is Course.PLANNED:
            call_plan.compare_again()
        elif common is Course.UNCOMPARED and mine is Course.COMPARED:
            call_plan.skip_comparison()
            if not call_plan.is_planned:
                self.leave_plan(call_plan.reason)
        self.unequal = self.unequal + 1 if common is Course.UNEQUAL else 0
        if common is Course.UNEQUAL:
            common = Course.ORIGINAL
            if self.unequal == MOST_UNEQUAL and mine > Course.RECORDED:
                call_plan.refuse(UNEQUAL)
        form = call_plan.owner.form
        form.is_own = form.is_sharded and common >= Course.RECORDED
        if not self.tries_again:
            form.left_over = {}
        if mine is Course.RECORDED:
            return form.is_sharded and (common is Course.ORIGINAL or bool(form.left_over))
        return mine > Course.RECORDED and common <= Course.RECORDED

    def run_original(self) -> None:
        """Called before a forward that this rank can only run by the original."""
        if self.is_on:
            self.meet(Told(Course.ORIGINAL))

    def refuse(self, why) -> None:
        """Called before a forward of a kind that this rank never plans."""
        if self.is_on:
            self.meet(Told(Course.REFUSED, why=self.of_rank(why)))

    @staticmethod
    def of_rank(why) -> str:
        return f"rank {dist.get_rank()}: {why}"

    def leave_plan(self, why) -> None:
        """Called when the plan cannot run a step of this rank. Waits until all ranks have called this method;
        then all of them run the original. Raises RuntimeError if a rank does not call it, because that rank
        runs the plan."""
        for group in self.groups:
            process_group = dist.distributed_c10d._resolve_process_group(group)
            size, store = process_group.size(), ranks.store()
            place = self.place(group, self.meetings)
            if store.add(place + "left", 1) == size:
                store.set(place + "all_left", "")
            if not is_there_within(min(timeout_of(process_group), MOST_WAIT), store, place + "all_left"):
                raise RuntimeError(
                    f"rematlas: {why}; the other ranks run this step of {self.name} by the plan, so this rank"
                    " cannot run the original: train without a plan (rematlas.remove)"
                )

    def meet(self, told: Told) -> Told:
        """Waits for all ranks. Returns the course that all of them can take, and a rank's reason if it is
        REFUSED. Raises RuntimeError if a rank does not come within the timeout of its process group."""
        begun, failed_at = self.begun(), self.failed_at
        self.failed_at = None
        self.tries_again = self.last is not None and self.is_tried_again(begun, failed_at)
        if self.tries_again:
            return self.last[0]
        self.meetings += 1
        are_unequal = False
        for group in self.groups:
            told = self.meet_group(group, told)
            if told.course is Course.UNEQUAL:
                told, are_unequal = dataclasses.replace(told, course=Course.ORIGINAL), True
        if are_unequal and told.course is Course.ORIGINAL:
            told = dataclasses.replace(told, course=Course.UNEQUAL)
        self.last = told, begun
        return told

    def note_failed(self, has_kept) -> None:
        """Called when a forward has raised an error. `has_kept`: whether the forward has kept all parameters
        that it gathered."""
        self.failed_at, self.has_kept = self.begun(), has_kept

    def is_tried_again(self, begun, failed_at) -> bool:
        """Says whether the present forward is a second try of the forward after the last meeting, which
        failed on this rank. The other ranks may be waiting in a collective of the failed forward. The answer
        is True only if this rank has begun no collective since the meeting (since the failure, if the failed
        forward kept the parameters that it had gathered)."""
        at_meeting = self.last[1]
        return failed_at is not None and begun == (failed_at if self.has_kept else at_meeting)

    def begun(self) -> list[int]:
        """Returns, for each process group in `groups`, the number of collectives that it has begun."""
        counts = counts_of_collectives() if self.groups else {}
        return [counts.get(group, 0) for group in self.groups]

    def meet_group(self, group, told: Told) -> Told:
        process_group = dist.distributed_c10d._resolve_process_group(group)
        size, store, course = process_group.size(), ranks.store(), told.course
        place = self.place(group, self.meetings)
        if course is Course.REFUSED:  # REFUSED is told by its reason, and counted as ORIGINAL
            store.set(place + "why", told.why)
        own_beside = f"{place}beside/{process_group.rank()}"
        if told.beside:
            store.set(own_beside, str(told.beside))
        digest = int.from_bytes(hashlib.sha256(told.plan.encode()).digest()[:4], "big")
        store.add(place + "plans", digest + (TELLS_BESIDE if told.beside else 0))
        courses = store.add(place + "courses", 1 << (FIELD * COUNTED.index(max(course, Course.ORIGINAL))))
        count = {each: (courses >> (FIELD * at)) & ((1 << FIELD) - 1) for at, each in enumerate(COUNTED)}
        if sum(count.values()) == size:
            tell_beside, digests = divmod(store.add(place + "plans", 0), TELLS_BESIDE)
            are_same = digests == size * digest
            least = Course.REFUSED if store.check([place + "why"]) else min(filter(count.get, COUNTED))
            common = Course.UNEQUAL if least > Course.RECORDED and not are_same else least
            besides = [f"{place}beside/{rank}" for rank in range(size)] if tell_beside else []
            most = max((int(store.get(key)) for key in besides if store.check([key])), default=0)
            store.set(place + "common", f"{common} {most}")
            self.forget(store, self.place(group, self.meetings - 1))
        timeout = timeout_of(process_group)
        if not is_there_within(timeout, store, place + "common"):
            raise RuntimeError(
                f"rematlas: not all {size} ranks have come to forward {self.meetings} of {self.name} within"
                f" {timeout}: the logs of the other ranks tell why"
            )
        if told.beside:
            store.delete_key(own_beside)
        common, most = map(int, store.get(place + "common").split())
        why = store.get(place + "why").decode() if common == Course.REFUSED else ""
        return Told(Course(common), told.plan, why, max(most, told.beside))

    def place(self, group, meeting) -> str:
        return f"rematlas/together/{group}/{self.number}/{meeting}/"

    @staticmethod
    def forget(store, place) -> None:
        """Deletes the entries of an earlier meeting, which all ranks have read."""
        for key in ("why", "plans", "courses", "common", "left", "all_left"):
            store.delete_key(place + key)


def plan_smaller(call_plan, too_many) -> None:
    """Plans again on all ranks, because the present plan is too large by `too_many` bytes on one rank. Waits
    for the new plan."""
    owner, plan = call_plan.owner, call_plan.plan
    log.warning(
        "rematlas: a rank has %d bytes more beside the step than the plan leaves free: it is planned anew",
        too_many,
    )
    plan.be_for(other_bytes=owner.options.budget_bytes - call_plan.answer.step_bytes + too_many)
    call_plan.comparisons.begin_anew()
    more = plan.digest(), too_many
    plan.be_shared_anew(owner.together.shared(plan.recorded, owner.options, owner.frames, *more))
    call_plan.start_planning()
    call_plan.wait()


def counts_of_collectives() -> dict[str, int]:
    """Returns the number of collectives that each process group has begun, by the group's name. Groups that
    do not count their collectives are left out."""
    counts = {}
    for group in dist.distributed_c10d._world.pg_map:
        with contextlib.suppress(RuntimeError):
            counts[group.group_name] = group._get_sequence_number_for_group()
    return counts


def is_there_within(timeout, store, key) -> bool:
    """Waits until the store has the key. Returns False if the store does not have the key after `timeout`.
    `Store.wait` is not used, because it would block the store for the thread that publishes this rank's plan.
    Another rank may need this plan before it can set the key."""
    end, pause = time.monotonic() + timeout.total_seconds(), 0.0002
    while not store.check([key]):
        if time.monotonic() > end:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.01)
    return True


def timeout_of(process_group) -> datetime.timedelta:
    """Returns how long collectives of the group wait for a rank."""
    backend = process_group._get_backend(process_group._device_types[0])
    return getattr(getattr(backend, "options", None), "_timeout", dist.constants.default_pg_timeout)
