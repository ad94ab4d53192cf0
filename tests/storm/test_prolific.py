"""At Prolific, where a repeated payment pays again: nobody is paid twice and nobody is left unpaid, whatever breaks."""

import os
import random
from collections import Counter
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from django.test import Client as Browser
from django.utils import timezone

from core.errors import Refused
from core.models import Lab, User
from judgments import services as judgment_services
from platforms.adapter import Ending
from platforms.lab_accounts import lab_account_store
from platforms.ledger_comparison import comparison_make
from platforms.models import Operation, Payment, Publication, Submission
from platforms.outbox import LEASE, may_be_decided, operation_decide, operations_run
from platforms.prolific import client as prolific_client
from platforms.prolific.operations import PaidOnce
from platforms.publishing import publication_plan, publication_publish, publication_write
from platforms.registry import adapter_of
from platforms.reviewing import (
    bonus_grant,
    compensation_offer,
    publication_requeue,
    publication_settle,
)
from platforms.syncing import publication_sync
from tasks.models import Assignment, Hit
from tests import factories
from tests.doubles.prolific import Double

# How many HITs go through the storm; 1,000 is the full size.
HITS = int(os.environ.get("STORM_PROLIFIC_HITS", "8"))
ROUNDS = 40 + 2 * HITS
ARRIVALS = 6  # in each round
DEATHS = 0.04  # of the process, before and after each change that it asks for
FAULTS = (
    {"kind": "lost after", "path": "/pay/$", "probability": 0.5},
    {"kind": "lost before", "path": "/pay/$", "probability": 0.1},
    {"kind": "lost before", "probability": 0.06},
    {"kind": "lost after", "probability": 0.06},
    {"kind": "broken before", "probability": 0.04},
    {"kind": "broken after", "probability": 0.04},
    {"kind": "too many", "probability": 0.03, "seconds": 1},
    {"kind": "still active", "path": "/transition/$", "body": "APPROVE", "probability": 0.3},
)


class Killed(BaseException):
    """The process is gone, here and now."""


class Clock:
    """The site's time, pages and jobs alike: real time, and what was slept."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)
        self._real = timezone.now

    def __call__(self) -> datetime:
        return self._real() + self.ahead

    def sleep(self, seconds: float) -> None:
        """Do not wait; be later."""
        self.ahead += timedelta(seconds=seconds)


class Came(NamedTuple):
    """What came of it."""

    publication: Publication
    did: Counter[str]
    faults: Counter[str]


@pytest.fixture
def account(lab: Lab, rita: User, prolific: Double, settings: Any) -> None:
    """The lab's account at the double, with $20,000."""
    settings.PROLIFIC_API_URL, settings.PROLIFIC_APP_URL = f"{prolific.api}/", prolific.url
    settings.DEVELOPMENT, settings.SITE_URL = True, "http://localhost:8000"
    prolific.reset(cents=2_000_000, bonus_seconds=2)
    lab_account_store(lab=lab, platform="prolific", token=prolific.token, workspace_id="", by=rita, at=timezone.now())


def storm(lab: Lab, rita: User, prolific: Double, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> Came:
    """A campaign, from publishing it to its last cent. Raises AssertionError if it does not end."""
    chance, clock, did = random.Random(seed), Clock(), Counter[str]()
    queries = [f"q{number:05}" for number in range(HITS)]
    tops = {"red": {query: [f"{query}b"] for query in queries}}
    qrels = {query: [f"{query}a"] for query in queries}
    collection = factories.collection(tmp_path, in_lab=lab, name=f"storm {seed}", qrels=qrels, tops=tops)
    campaign = factories.campaign(collection, f"storm {seed}", pairs_per_hit=1, tests_per_hit=1)
    publication = publication_write(campaign=campaign, platform="prolific", rate=1000)
    publication_publish(publication=publication, at=clock(), typed_name=campaign.name)
    for number, fault in enumerate(FAULTS):
        prolific.fault(**{"times": None, "seed": seed + number} | fault)
    _die_now_and_then(monkeypatch, chance, did)
    monkeypatch.setattr(timezone, "now", clock)
    for _round in range(ROUNDS):
        publication.refresh_from_db()
        if publication.hit_type_id:
            for _person in range(ARRIVALS):
                _visit(publication, prolific, chance, did)
        _jobs(publication, clock, did)
        prolific.advance(60)
        _decide(publication, prolific, rita, clock, did)
        _thank(publication, rita, clock, did)
        _compensate(publication, clock, did)
        if _ended(publication, prolific):
            break
        if not _waiting(publication)["HITs"]:
            clock.sleep(3600)
    assert _ended(publication, prolific), _state(publication, prolific)
    faults = Counter(entry["fault"] for entry in prolific.requests() if entry["fault"])
    prolific.clear_faults()
    monkeypatch.undo()
    return Came(publication, did, faults)


def _die_now_and_then(monkeypatch: pytest.MonkeyPatch, chance: random.Random, did: Counter[str]) -> None:
    send = prolific_client.Client._send

    def deadly(client: prolific_client.Client, method: str, *given: Any) -> Any:
        if method != "GET" and chance.random() < DEATHS:
            did["killed before"] += 1
            raise Killed
        answer = send(client, method, *given)
        if method != "GET" and chance.random() < DEATHS:
            did["killed after"] += 1
            raise Killed
        return answer

    monkeypatch.setattr(prolific_client.Client, "_send", deadly)


def _visit(publication: Publication, prolific: Double, chance: random.Random, did: Counter[str]) -> None:
    """Somebody takes a place and does what people do."""
    person = prolific.participant(f"Pat {sum(did.values())}")
    if publication.hit_type_id not in prolific.open_studies(person):
        return
    place = prolific.take(publication.hit_type_id, person)
    what = chance.choices(
        ["finished", "failed", "left", "returned", "timed out", "without a code", "never came"], [6, 2, 4, 1, 1, 2, 1]
    )[0]
    parts = urlsplit(place.url)
    arrived = Browser().post(f"{parts.path}?{parts.query}", {"version": 1}) if what != "never came" else None
    if arrived is None or arrived.status_code != 303:  # nobody can say who it is just now, or there is nothing to do
        prolific.give_back(place.submission)
        did["never came" if arrived is None else "turned away"] += 1
        return
    did[what] += 1
    assignment = Assignment.objects.get(platform_assignment_id=place.submission)
    if what == "returned":
        prolific.give_back(place.submission)
    elif what == "timed out":
        prolific.time_out(place.submission)
    else:
        factories.judge(assignment, only=[1] if what == "left" else None, fail_tests=what == "failed")
        end = judgment_services.assignment_leave if what == "left" else judgment_services.assignment_finish
        end(assignment=assignment, at=timezone.now())
        way_back = adapter_of(publication).exit_of(publication, Ending.LEFT if what == "left" else Ending.FINISHED)
        assert way_back is not None
        prolific.complete(place.submission, None if what == "without a code" else way_back.code)
        if what == "left":
            prolific.give_back(place.submission)


def _jobs(publication: Publication, clock: Clock, did: Counter[str]) -> None:
    """A round of the jobs, each of which may die, be refused or get no answer."""

    def send() -> None:
        for _ in range(5):
            publication_plan(publication_id=publication.pk, at=clock())
            operations_run(publication=publication, clock=clock, sleep=clock.sleep)
            clock.sleep(61)

    jobs = (
        send,
        lambda: publication_sync(publication=publication, at=clock()),
        lambda: judgment_services.confirmed_check_all(at=clock()),
        lambda: publication_settle(publication=publication, at=clock()),
        lambda: publication_requeue(publication=publication, at=clock()),
        send,
    )
    for job in jobs:
        try:
            with suppress(Refused, *prolific_client.ERRORS):
                job()
        except Killed:
            did["killed"] += 1
            clock.sleep(LEASE.total_seconds() + 1)  # until others take what the dead process held
        publication.refresh_from_db()


def _decide(publication: Publication, prolific: Double, rita: User, clock: Clock, did: Counter[str]) -> None:
    """A person looks at Prolific's history for each payment in doubt, and says whether it is there."""
    paid = Counter(row["batch"] for row in prolific.ledger("bonus"))
    old = clock() - timedelta(minutes=30)
    for operation in Operation.objects.filter(pk__in=may_be_decided(publication), first_sent_at__lt=old):
        was_done = bool(paid[operation.result["batch"]["id"]])
        operation_decide(operation=operation, was_done=was_done, why="Looked at the history.", by=rita, at=clock())
        did["decided by a person"] += 1


def _thank(publication: Publication, rita: User, clock: Clock, did: Counter[str]) -> None:
    """A person grants a bonus for every second work that was approved."""
    work = publication.submissions.filter(status=Submission.Status.APPROVED, assignment__isnull=False)
    thanked = publication.payments.filter(purpose=Payment.Purpose.EXTRA).values("submission")
    for submission in work.exclude(pk__in=thanked):
        if submission.pk % 2:
            bonus_grant(submission=submission, amount=Decimal("0.35"), by=rita, why="Thank you.", at=clock())
            did["thanked"] += 1


def _compensate(publication: Publication, clock: Clock, did: Counter[str]) -> None:
    """A person offers all who left early, and returned their work, what is owed to them."""
    for payment in publication.payments.filter(purpose=Payment.Purpose.COMPENSATION, state=Payment.State.OWED):
        if not payment.operations.exists():
            compensation_offer(payment=payment, at=clock())
            did["compensated"] += 1


def _waiting(publication: Publication) -> dict[str, int]:
    work = Submission.objects.filter(publication=publication, assignment__isnull=False)
    done = Assignment.objects.filter(campaign=publication.campaign_id, owed__gt=0)
    return {
        "HITs": Hit.objects.filter(campaign=publication.campaign_id, needed__gt=0).count(),
        "calls": publication.operations.filter(ended_at=None).count(),
        "submissions": work.exclude(status=Submission.Status.APPROVED).count(),
        "unpaid work": done.filter(payments=None).count(),
        "payments": publication.payments.exclude(state=Payment.State.PAID).count(),
    }


def _ended(publication: Publication, prolific: Double) -> bool:
    waits = {"RESERVED", "ACTIVE", "AWAITING REVIEW"}
    return not any(_waiting(publication).values()) and not any(
        row["status"] in waits for row in prolific.rows("submission")
    )


def _state(publication: Publication, prolific: Double) -> str:
    calls = publication.operations.filter(ended_at=None).values_list("kind", "state", "attempts", "error")
    there = Counter(row["status"] for row in prolific.rows("submission"))
    return (
        f"{_waiting(publication)} {dict(there)} {[row['status'] for row in prolific.rows('study')]} {list(calls)[:9]}"
    )


def wrong_after(came: Came, prolific: Double) -> list[str]:
    """Everything that is wrong, as sentences; none if all is well."""
    publication, wrong = came.publication, []
    studies = [row for row in prolific.rows("study") if row["status"] != "UNPUBLISHED"]
    if len(studies) != 1:
        wrong.append(f"{len(studies)} studies were published")
    rewards = Counter(row["submission"] for row in prolific.ledger("reward"))
    bonuses = Counter(row["submission"] for row in prolific.ledger("bonus"))
    wrong += [f"{submission} got {count} rewards" for submission, count in rewards.items() if count > 1]
    purposes = (Payment.Purpose.EXTRA, Payment.Purpose.COMPENSATION)
    payments = publication.payments.filter(purpose__in=purposes).select_related("assignment")
    ours = Counter(payment.assignment.platform_assignment_id for payment in payments if payment.assignment)
    wrong += [f"{one} got {count} bonuses, not {ours[one]}" for one, count in bonuses.items() if count != ours[one]]
    wrong += [f"{one} got no bonus" for one in ours if one not in bonuses]
    done = [row for row in prolific.rows("submission") if row["status"] == "APPROVED"]
    wrong += [f"{row['id']} was approved and not paid" for row in done if row["id"] not in rewards]
    known = set(publication.submissions.values_list("platform_assignment_id", flat=True))
    wrong += [f"{row['id']} is not known here" for row in done if row["id"] not in known]
    wrong += comparison_make(publication=publication, at=timezone.now()).differences
    spent = sum(row["amount"] + row["fee"] + row["vat"] for row in prolific.ledger() if row["kind"] != "deposit")
    paid = sum((payment.amount + payment.fee for payment in publication.payments.all()), Decimal(0))
    if spent != int(paid * 100):
        wrong.append(f"{spent} cents left the account, and the ledger says {paid * 100}")
    return wrong


@pytest.mark.timeout(300 + 5 * HITS)
def test_a_campaign_at_prolific_comes_through_a_storm(
    account: None, lab: Lab, rita: User, prolific: Double, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came = storm(lab, rita, prolific, tmp_path, monkeypatch, seed=7)
    print(f"{sum(came.faults.values())} faults {dict(came.faults)}, crowd {dict(came.did)}")
    assert wrong_after(came, prolific) == []
    assert {fault["kind"] for fault in FAULTS} <= set(came.faults)
    assert came.did["finished"] >= HITS // 2 and came.did["killed"]


@pytest.mark.timeout(300 + 5 * HITS)
def test_where_payments_may_be_repeated_the_same_storm_pays_twice(
    account: None, lab: Lab, rita: User, prolific: Double, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PaidOnce, "may_repeat", lambda *_given: True)
        patch.setattr(
            PaidOnce,
            "_keep",
            lambda _self, row, batch: Operation.objects.filter(pk=row.pk).update(result={"batch": batch}),
        )
        patch.setattr(PaidOnce, "find", lambda *_given: None)
        came = storm(lab, rita, prolific, tmp_path, monkeypatch, seed=7)
    assert "got 2 bonuses, not 1" in " ".join(wrong_after(came, prolific))
