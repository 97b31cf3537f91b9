"""Lets all ranks whose collectives a module runs take the same course in each step.

A plan runs collectives in another order than the original, and runs some of them twice. If one rank ran the
plan and another rank the original, they would wait for each other without end, or exchange wrong data. So
before each forward of such a module its ranks tell each other, through the store of the process group, what
they can do.
"""

import contextlib
import datetime
import enum
import hashlib
import itertools
import logging
import time

import torch.distributed as dist

from .. import ranks
from .state import StateName

log = logging.getLogger("rematlas")
numbers = itertools.count()  # numbers of the planned modules of this process, which are the same on all ranks
MOST_UNEQUAL = 3  # after so many forwards in a row with unequal plans, the ranks refuse the step
UNEQUAL = "the ranks exchange data in steps with other ops or sizes, and so need plans of their own"
FIELD = 12  # bits of the sum in which the ranks count themselves by their Course


class Course(enum.IntEnum):
    """What a rank can do in a step. RECORDED: the original runs in the form in which steps are recorded. This
    matters only for sharded parameters: otherwise this form is the original itself."""

    REFUSED = 0
    ORIGINAL = 1
    RECORDED = 2
    COMPARED = 3
    PLANNED = 4
    UNEQUAL = 5  # of all ranks together: each has a plan, but not the same one


COURSES = {
    StateName.REFUSED: Course.REFUSED,
    StateName.RECORDING: Course.RECORDED,
    StateName.COMPARING: Course.COMPARED,
    StateName.PLANNED: Course.PLANNED,
}  # the other states run the original


class Together:
    """The ranks that run a module's collectives. `name`: the class of the module."""

    def __init__(self, name):
        self.name = name
        self.number = next(numbers)
        self.key = ""  # see ranks.key_of; empty if this process trains alone
        self.unequal = 0  # forwards in a row whose ranks have unequal plans
        self.groups = []  # names of the process groups, in the order in which the step was seen to use them
        self.meetings = 0  # how often the ranks have told each other their course
        self.failed_at = None  # `begun` when the forward after the last meeting raised an error
        self.has_kept = False  # that forward has kept all that it had gathered
        self.tries_again = False  # the present forward is that forward, tried again
        self.last = None  # what the ranks agreed on last, and how many collectives had begun until then

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
        collectives it runs."""
        watches = not self.is_on and ranks.store() is not None
        before = counts_of_collectives() if watches else {}
        try:
            yield
        finally:
            if watches:
                after = counts_of_collectives()
                self.note(group for group in before if after.get(group) != before[group])

    def runs_collectives(self, recording) -> bool:
        """Says whether a step that was recorded from shapes runs collectives. If so, it is not planned: each
        rank would plan alone."""
        if recording.groups():
            log.warning(
                "rematlas: the step exchanges data with other ranks, so it is not planned from shapes"
            )
        return bool(recording.groups())

    def shared(self, plan, asked, seconds) -> ranks.Shared:
        """Returns the plan that this rank shares with others, see ranks.Shared."""
        return ranks.Shared(self.key, plan, asked, seconds)

    def keeps_from_plan(self, call_plan) -> bool:
        """Called before each forward, when what has happened since the last forward is settled. Says whether
        this rank must run the original although it has a plan or would record the step, because other ranks
        cannot. If a rank refuses the step, all ranks refuse it."""
        if not self.is_on:
            return False
        mine = COURSES.get(call_plan.state.name, Course.ORIGINAL)
        if mine is Course.REFUSED and call_plan.owner.has_planned():
            mine = Course.ORIGINAL  # only this kind of call, for example a smaller last batch, has no plan
        plan = call_plan.plan.digest() if mine > Course.RECORDED else ""
        common, why = self.meet(mine, plan, self.told(call_plan.reason))
        if common is Course.REFUSED and mine is not Course.REFUSED:
            call_plan.refuse(f"another rank refuses the step: {why}")
        elif common is Course.COMPARED and mine is Course.PLANNED:
            call_plan.compare_again()
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
            self.meet(Course.ORIGINAL, "", "")

    def refuse(self, why) -> None:
        """Called before a forward of a kind that this rank never plans."""
        if self.is_on:
            self.meet(Course.REFUSED, "", self.told(why))

    @staticmethod
    def told(why) -> str:
        return f"rank {dist.get_rank()}: {why}"

    def stay_with_plan(self, why) -> None:
        """Called when the plan cannot run a step of this rank. Raises RuntimeError, because the other ranks
        run the plan."""
        if self.is_on:
            raise RuntimeError(
                f"rematlas: {why}; the other ranks run this step of {self.name} by the plan, so this rank"
                " cannot run the original: train without a plan (rematlas.remove)"
            )

    def meet(self, course: Course, plan: str, why: str) -> tuple[Course, str]:
        """Waits for all ranks. Returns the course that all of them can take, and a rank's reason if it is
        REFUSED. `plan`: a text that is equal on ranks with the same plan. `why`: this rank's reason for
        REFUSED. Raises RuntimeError if a rank does not come within the timeout of its process group."""
        begun, failed_at = self.begun(), self.failed_at
        self.failed_at = None
        self.tries_again = self.last is not None and self.is_tried_again(begun, failed_at)
        if self.tries_again:
            return self.last[0]
        self.meetings += 1
        are_unequal = False
        for group in self.groups:
            course, why = self.meet_group(group, course, plan, why)
            if course is Course.UNEQUAL:
                course, are_unequal = Course.ORIGINAL, True
        common = Course.UNEQUAL if are_unequal and course is Course.ORIGINAL else course
        self.last = (common, why), begun
        return common, why

    def note_failed(self, has_kept) -> None:
        """Called when a forward has raised an error. `has_kept`: it has kept all that it had gathered."""
        self.failed_at, self.has_kept = self.begun(), has_kept

    def is_tried_again(self, begun, failed_at) -> bool:
        """Says whether the forward after the last meeting failed and is tried again, while the other ranks
        may be waiting in its next collective: if it failed before its first collective, or if it has kept
        what it had gathered, and this rank has begun nothing since."""
        at_meeting = self.last[1]
        return failed_at is not None and begun == (failed_at if self.has_kept else at_meeting)

    def begun(self) -> list[int]:
        """Returns for each group how many collectives it has begun."""
        counts = counts_of_collectives() if self.groups else {}
        return [counts.get(group, 0) for group in self.groups]

    def meet_group(self, group, course, plan, why) -> tuple[Course, str]:
        process_group = dist.distributed_c10d._resolve_process_group(group)
        size, store = process_group.size(), ranks.store()
        place = self.place(group, self.meetings)
        if course is Course.REFUSED:
            store.set(place + "why", why)
        digest = int.from_bytes(hashlib.sha256(plan.encode()).digest()[:4], "big")
        store.add(place + "plans", digest)
        courses = store.add(place + "courses", 1 << (FIELD * course))
        count = [(courses >> (FIELD * one)) & ((1 << FIELD) - 1) for one in Course]
        if sum(count) == size:
            are_same = store.add(place + "plans", 0) == size * digest
            store.set(place + "common", bytes([common_course(count, are_same)]))
            self.forget(store, self.place(group, self.meetings - 1))
        timeout = timeout_of(process_group)
        if not is_there_within(timeout, store, place + "common"):
            raise RuntimeError(
                f"rematlas: not all {size} ranks have come to forward {self.meetings} of {self.name} within"
                f" {timeout}: the logs of the other ranks tell why"
            )
        common = Course(store.get(place + "common")[0])
        return common, store.get(place + "why").decode() if common is Course.REFUSED else ""

    def place(self, group, meeting) -> str:
        return f"rematlas/together/{group}/{self.number}/{meeting}/"

    @staticmethod
    def forget(store, place) -> None:
        """Deletes what the ranks told each other before. All of them have read it."""
        for key in ("why", "plans", "courses", "common"):
            store.delete_key(place + key)


def counts_of_collectives() -> dict[str, int]:
    """Returns by the name of each process group how many collectives it has begun. Groups that do not count
    their collectives are left out."""
    counts = {}
    for group in dist.distributed_c10d._world.pg_map:
        with contextlib.suppress(RuntimeError):
            counts[group.group_name] = group._get_sequence_number_for_group()
    return counts


def is_there_within(timeout, store, key) -> bool:
    """Waits until the store has the key. Returns False if it has not after this time. `Store.wait` would keep
    the store's connection from the thread that publishes this rank's plan, for which another rank may be
    waiting before it comes here."""
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


def common_course(count, are_same) -> Course:
    """Returns the course of all ranks. `count`: the number of ranks by their Course. `are_same`: whether all
    ranks have the same plan."""
    if count[Course.REFUSED]:
        return Course.REFUSED
    if count[Course.ORIGINAL]:
        return Course.ORIGINAL
    if count[Course.RECORDED]:
        return Course.RECORDED
    if not are_same:
        return Course.UNEQUAL
    return Course.COMPARED if count[Course.COMPARED] else Course.PLANNED
