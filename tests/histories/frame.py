"""What every platform's histories share: choosing steps, playing them, and making a history that goes wrong short.

A history is a list of steps, each the name of something that may happen and a number that chooses whom it happens to.
So it can be played again, and any part of it too. Everything happens in one transaction, and is undone at its end.
"""

import gc
import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, ClassVar

import pytest
from django.db import connection, transaction

from platforms.models import Publication
from platforms.outbox import operations_run
from platforms.publishing.publications import publication_plan
from pools.counting import campaign_recount
from pools.models import Campaign
from tasks.models import Assignment
from tests import factories

STEPS = int(os.environ.get("HISTORY_STEPS", "20000"))  # of each platform
PARTS = 10  # of the histories of one kind, each a test
SEED = int(os.environ.get("HISTORY_SEED", "1"))
LENGTH = int(os.environ.get("HISTORY_LENGTH", "1000"))  # steps of one history
TRIES = int(os.environ.get("HISTORY_TRIES", "60"))  # to make a history shorter
COUNTED_EVERY = 50  # steps after which everything is counted again
Plan = Sequence[tuple[str, int]]


class Killed(BaseException):
    """The process of a job is gone."""


class Wrong(AssertionError):
    """What must always hold does not."""


class World:
    """A place where things happen. `WEIGHTS` has what may, by the name of a method, and how often it does."""

    WEIGHTS: ClassVar[dict[str, float]]

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.right_answers: dict[tuple[int, int], list[str]] = {}  # by HIT and layout

    def clock(self) -> datetime:
        return self.now

    def sleep(self, seconds: float) -> None:
        """Nothing waits: it is later."""
        self.now += timedelta(seconds=seconds)

    def right_answer(self, assignment: Assignment, position: int) -> str:
        """On which side of an item the better passage is."""
        layout = (assignment.hit_id, assignment.layout)
        if layout not in self.right_answers:
            lefts = assignment.items.order_by("position").values_list("a_left", flat=True)
            self.right_answers[layout] = ["left" if left else "right" for left in lefts]
        return self.right_answers[layout][position - 1]

    def check(self) -> None:
        """Raise Wrong where something does not hold that always must."""

    def end(self) -> None:
        """Let everything come to its end, and raise Wrong where it is not as it must be then."""


def check_counts() -> None:
    """Raise Wrong where a count that is kept is not what counting gives, or work is marked as what it is not."""
    for campaign in Campaign.objects.all():
        if wrong := campaign_recount(campaign=campaign, at=campaign.created_at):
            raise Wrong(f"counts of {campaign} were wrong: {wrong}")
    if wrongly := factories.wrongly_booked() + factories.wrongly_submitted():
        raise Wrong(f"marked as booked or submitted and not, or not marked: {wrongly}")


def plan_make(world: type[World], seed: int, length: int = LENGTH) -> Plan:
    chance = random.Random(seed)
    names = chance.choices(list(world.WEIGHTS), list(world.WEIGHTS.values()), k=length)
    return [(name, chance.randrange(1 << 30)) for name in names]


@contextmanager
def undone() -> Iterator[None]:
    """Take back what happens to the database. Code that asks for a transaction of its own gets one inside."""
    block = transaction.atomic()
    block._from_testcase = True
    with block, with_statements():
        yield
        transaction.set_rollback(True)


@contextmanager
def with_statements() -> Iterator[None]:
    """Savepoints go with the next statement in one message, and nowhere if none comes before their end."""
    waiting: list[str] = []

    def release(sid: str) -> None:
        if waiting and waiting[-1] == connection.ops.savepoint_create_sql(sid):
            waiting.pop()
        else:
            waiting.append(connection.ops.savepoint_commit_sql(sid))

    def roll_back(sid: str) -> None:
        created = connection.ops.savepoint_create_sql(sid)
        if created in waiting:
            del waiting[waiting.index(created) + 1 :]
            return
        waiting.clear()
        with connection.cursor() as cursor:
            cursor.execute(connection.ops.savepoint_rollback_sql(sid))

    def send(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        before = "".join(f"{statement}; " for statement in waiting)
        waiting.clear()
        if before and (many or context["cursor"].name):
            with context["connection"].connection.cursor() as cursor:
                cursor.execute(before)
            before = ""
        return execute(before + sql, params, many, context)

    with pytest.MonkeyPatch.context() as patch, connection.execute_wrapper(send):
        patch.setattr(connection, "_savepoint", lambda sid: waiting.append(connection.ops.savepoint_create_sql(sid)))
        patch.setattr(connection, "_savepoint_commit", release)
        patch.setattr(connection, "_savepoint_rollback", roll_back)
        yield


def play(make: Callable[[], World], plan: Plan, *, ends: bool = True) -> str:
    """What is wrong with a history; nothing if all is well."""
    with undone():
        world = make()
        try:
            for number, (name, pick) in enumerate(plan, start=1):
                getattr(world, name)(pick)
                world.check()
                if number % COUNTED_EVERY == 0:
                    check_counts()
            if ends:
                world.end()
            check_counts()
        except Wrong as wrong:
            return str(wrong)
    return ""


def shorten(make: Callable[[], World], plan: Plan) -> Plan:
    """The same fault in fewer steps."""
    tries, size = TRIES, max(1, len(plan) // 2)
    while size and tries:
        start = 0
        while start < len(plan) and tries:
            shorter = [*plan[:start], *plan[start + size :]]
            tries -= 1
            if play(make, shorter):
                plan = shorter
            else:
                start += size
        size //= 2
    return plan


@contextmanager
def uncollected() -> Iterator[None]:
    """What a history makes is collected after it, and what was there before is not looked through again and again."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()  # what was there stays frozen: a process of the tests searches it no more


def histories(world: type[World], make: Callable[[], World], *, steps: int, seed: int) -> int:
    """Play so many steps of random histories; how many it were. Raises AssertionError with a short one that fails."""
    played = 0
    while played < steps:
        plan = plan_make(world, seed * 1_000_003 + played)
        with uncollected():
            wrong = play(make, plan)
        if wrong:
            short = shorten(make, plan)
            raise AssertionError(f"{play(make, short) or wrong}\nhistory: {list(short)}")
        played += len(plan)
    return played


BEGUN = [("somebody_comes", 1), *[("somebody_answers", 0)] * 3]
JOBS = [("sync", 0), ("check_work", 0), ("settle", 0), ("call", 0)]
COMPENSATED = [*BEGUN, ("somebody_finishes", 0), ("hours_pass", 4), *JOBS, ("a_researcher_compensates", 1), *JOBS]
BACK = [*BEGUN, ("somebody_finishes", 0), ("somebody_comes_back", 2)]


def find_guards(
    guards: dict[str, tuple[str, Any, Plan]], make: Callable[[], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each history is well with its guard, and goes wrong without it."""
    well: list[Plan] = []
    for name, (guard, without, plan) in guards.items():
        if plan not in well:
            assert not play(make, plan), name
            well.append(plan)
        with monkeypatch.context() as patch:
            patch.setattr(guard, without)
            assert play(make, plan), name


def drain(publication: Publication, now: datetime) -> None:
    """Plan and make the calls of a publication until none is left."""
    while publication_plan(publication_id=publication.pk, at=now) + operations_run(
        publication=publication, clock=lambda: now, sleep=lambda _seconds: None
    ):
        pass
