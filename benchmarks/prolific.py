"""Keeping in step with a study of the paper's largest design at Prolific, and approving it.

Prolific is its double, in a process of its own. The peer is what asking and storing plainly costs: the whole list by
pages of 100 and each submission stored by itself, every time; and one call to look and one to approve for each. What
both ask for and the processor's time on our side are measured in one run. Where our database does the work, its time
counts too.
"""

import argparse
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.results import spent
from benchmarks.servers import own_servers

HITS = 14_189
PEERS = 1_000  # submissions that the peer stores and approves
NEW = 30  # submissions of a busy minute
RETURNED = 1_000  # submissions that are returned in one minute, after they were submitted
MOST_QUIET = 1  # requests of a minute without news
MOST_BUSY = 10  # requests of a busy minute
MOST_CPU = 0.1  # of the peer's processor time for each submission: for storing, returning and approving
MOST_PLACES = 1.0  # of the processor time for reading everything anew, for finding the places that are missing


class Cost(NamedTuple):
    """What something took: requests, seconds of our processor, and seconds."""

    requests: int
    cpu: float
    seconds: float

    def __str__(self) -> str:
        return f"{self.requests:,} requests, {self.cpu:.2f} s of CPU, {self.seconds:.1f} s"


def main(arguments: list[str]) -> int:
    """Measure with servers of its own, and return 1 if a mark is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prolific", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a hundredth of it, as a quick check")
    hits = HITS // 100 if parser.parse_args(arguments).small else HITS
    with own_servers(SITE_URL="http://localhost:8000") as folder:
        from django.conf import settings

        from tests.ports import free_port
        from tests.simulation.prolific import Double

        prolific = Double(folder, free_port())
        prolific.start()
        try:
            prolific.reset(cents=100_000_000)
            settings.PROLIFIC_API_URL, settings.SITE_URL = f"{prolific.api}/", os.environ["SITE_URL"]
            return _measure(prolific, folder / "prolific.sqlite3", hits)
        finally:
            prolific.stop()


def _measure(prolific: Any, database: Path, hits: int) -> int:
    from django.utils import timezone

    from judgments.services import confirmed_check_all
    from platforms.models import Payment, StudySync, Submission
    from platforms.outbox import operations_run
    from platforms.reviewing import publication_requeue, publication_settle
    from platforms.syncing import publication_sync
    from tasks.models import Hit

    def cost(act: Callable[[], object]) -> Cost:
        before = len(prolific.requests())
        cpu, started = spent(), time.perf_counter()
        act()
        cpu, seconds = spent() - cpu, time.perf_counter() - started
        return Cost(len(prolific.requests()) - before, cpu, seconds)

    def sync() -> None:
        publication_sync(publication=publication, at=timezone.now())

    publication = _published(prolific, hits)
    keys = _submit(publication, database, hits)
    first = cost(sync)
    assert Submission.objects.filter(assignment__isnull=False).count() == hits - NEW
    quiet = cost(sync)
    with sqlite3.connect(database) as there:
        there.executemany("UPDATE submission SET status = 'AWAITING REVIEW' WHERE id = ?", [(k,) for k in keys[-NEW:]])
    busy = cost(sync)
    assert Submission.objects.filter(assignment__isnull=False).count() == hits
    StudySync.objects.update(full_at=timezone.now() - timedelta(hours=1))
    full = cost(sync)
    Hit.objects.filter(number__gt=NEW).update(needed=0)
    places = cost(lambda: publication_requeue(publication=publication, at=timezone.now()))
    count = min(PEERS, hits)
    listed, stored = cost(lambda: _list_plainly(publication)), cost(lambda: _store_plainly(publication, count))

    print(f"a study of {hits:,} submissions, {hits - NEW:,} of them new: {first}")
    print(f"a minute without news: {quiet}; everything, read anew: {full}")
    print(f"a minute with {NEW} new submissions: {busy}")
    print(f"the peer: the whole list by pages of 100: {listed}; storing {count:,} one by one: {stored}")
    storing = (first.cpu / (hits - NEW)) / (stored.cpu / count)
    print(f"storing one costs {storing:.3f} of the peer's processor time")
    print(f"finding the places that are missing: {places}, {places.cpu / full.cpu:.3f} of reading everything anew")

    gone = keys[: min(RETURNED, hits // 10)]
    with sqlite3.connect(database) as there:
        there.executemany("UPDATE submission SET status = 'RETURNED' WHERE id = ?", [(key,) for key in gone])
    returned = cost(sync)
    assert Submission.objects.filter(status=Submission.Status.RETURNED, assignment=None).count() == len(gone)
    returning = (returned.cpu / len(gone)) / (stored.cpu / count)
    print(f"a minute with {len(gone):,} returned: {returned}, {returning:.3f} of the peer for each")

    confirmed_check_all(at=timezone.now())
    publication_settle(publication=publication, at=timezone.now())
    alone = cost(lambda: _approve_plainly(publication, count // 5))
    together = cost(lambda: operations_run(publication=publication, limit=hits * 2, sleep=lambda _seconds: None))
    paid = Payment.objects.filter(state="paid").count()
    due = hits - len(gone)
    assert paid == len(prolific.ledger("reward")) == due, f"{paid} of {due} were paid"
    print(f"approving {due - count // 5:,}: {together}")
    print(f"the peer, {count // 5} one by one: {alone}")
    approving = (together.cpu / (due - count // 5)) / (alone.cpu / (count // 5))
    print(f"approving one costs {approving:.3f} of the peer's processor time")

    marks = {
        f"a minute without news is {MOST_QUIET} request": quiet.requests <= MOST_QUIET,
        f"a busy minute is at most {MOST_BUSY}": busy.requests <= MOST_BUSY,
        f"storing at most {MOST_CPU} of the peer": storing <= MOST_CPU,
        f"finding missing places at most {MOST_PLACES} of reading everything": places.cpu <= MOST_PLACES * full.cpu,
        f"returning at most {MOST_CPU} of the peer": returning <= MOST_CPU,
        f"approving at most {MOST_CPU} of the peer": approving <= MOST_CPU,
    }
    for mark, passed in marks.items():
        print(f"{'PASS' if passed else 'FAIL'}: {mark}")
    return 0 if all(marks.values()) else 1


def _published(prolific: Any, hits: int) -> Any:
    """A campaign of so many HITs, published at the double."""
    from django.utils import timezone

    from core.models import Lab, User
    from platforms.lab_accounts import lab_account_store
    from platforms.outbox import operations_run
    from platforms.publishing import publication_plan, publication_publish, publication_write
    from pools.models import Campaign, Collection
    from tasks.models import Hit

    at, by = timezone.now(), User.objects.create_user("bench")
    lab = Lab.objects.create(name="bench")
    lab_account_store(lab=lab, platform="prolific", token=prolific.token, workspace_id="", by=by, at=at)
    collection = Collection.objects.create(lab=lab, name="bench")
    campaign = Campaign.objects.create(lab=lab, collection=collection, name="bench", state=Campaign.State.OPEN)
    Hit.objects.bulk_create(Hit(campaign=campaign, number=number, needed=1) for number in range(1, hits + 1))
    publication = publication_write(campaign=campaign, platform="prolific", rate=1000)
    publication = publication_publish(
        publication=publication, at=at, although_nobody_qualifies=True, typed_name="bench"
    )
    while publication_plan(publication_id=publication.pk, at=timezone.now()) or operations_run(publication=publication):
        pass
    publication.refresh_from_db()
    assert publication.published_hits.exclude(platform_hit_id="").count() == hits
    return publication


def _submit(publication: Any, database: Path, hits: int) -> list[str]:
    """Every HIT done here by one of 200 people, and submitted there, but for the last few, who are at work there."""
    from django.utils import timezone

    from tasks.models import Assignment, Hit, Worker
    from tasks.services import receipt_code

    at, campaign = timezone.now(), publication.campaign
    workers = Worker.objects.bulk_create(
        Worker(lab=campaign.lab, platform="prolific", external_id=f"{number:024x}") for number in range(200)
    )
    keys = [f"{number:024x}" for number in range(1_000_000, 1_000_000 + hits)]
    done = Assignment.objects.bulk_create(
        Assignment(
            campaign=campaign,
            hit=hit,
            worker=workers[number % 200],
            state=Assignment.State.SUBMITTED,
            verdict=Assignment.Verdict.ACCEPTED,
            taken_at=at,
            leased_until=at + timedelta(hours=1),
            finished_at=at,
            judged=13,
            platform_assignment_id=keys[number],
        )
        for number, hit in enumerate(Hit.objects.filter(campaign=campaign).order_by("number"))
    )
    for assignment in done:
        assignment.receipt = receipt_code(assignment)
    Assignment.objects.bulk_update(done, ["receipt"], batch_size=2000)
    now = time.time()
    with sqlite3.connect(database) as there:
        there.executemany(
            "INSERT INTO participant (id, name, attributes) VALUES (?, ?, ?)",
            [(worker.external_id, worker.external_id, json.dumps({})) for worker in workers],
        )
        there.executemany(
            "INSERT INTO submission (id, number, study, participant, status, reserved_at, started_at, completed_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    key,
                    number,
                    publication.hit_type_id,
                    workers[number % 200].external_id,
                    "ACTIVE" if number >= hits - NEW else "AWAITING REVIEW",
                    now - 600,
                    now - 600,
                    now,
                )
                for number, key in enumerate(keys)
            ],
        )
    return keys


def _list_plainly(publication: Any) -> None:
    from platforms.registry import adapter_of

    assert list(adapter_of(publication).client().listed("submissions/", study=publication.hit_type_id))


def _store_plainly(publication: Any, count: int) -> None:
    """What is known already, as if it was not: the rows are taken back at the end."""
    from django.db import transaction
    from django.utils import timezone

    from platforms.models import Submission
    from platforms.prolific.lists import submissions_of
    from platforms.registry import adapter_of
    from platforms.submitted import submission_store

    adapter = adapter_of(publication)
    known = list(Submission.objects.order_by("id")[:count].select_related("published_hit__publication__campaign"))
    homes = {row.platform_assignment_id: row for row in known}
    rows = [row for row in submissions_of(adapter.client(), publication.hit_type_id) if row["id"] in homes]
    with transaction.atomic():
        Submission.objects.filter(pk__in=[row.pk for row in known]).delete()
        for row in rows:
            work = adapter.work_of(row | {"receipt": homes[row["id"]].receipt})
            submission_store(published_hit=homes[row["id"]].published_hit, work=work, at=timezone.now())
        transaction.set_rollback(True)


def _approve_plainly(publication: Any, count: int) -> None:
    """Some of the planned approvals, each looked at and made by itself."""
    from unittest.mock import patch

    from platforms.outbox import operations_run
    from platforms.prolific.operations import Approve

    with patch.object(Approve, "at_once", 1):
        operations_run(publication=publication, limit=count, sleep=lambda _seconds: None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
