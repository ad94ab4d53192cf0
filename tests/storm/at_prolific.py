"""A campaign at Prolific's double whose requests meet every fault, while its job workers are killed and people work."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.db import close_old_connections, connection
from django.test import Client as Browser
from django.test import override_settings
from django.utils import timezone

from config.celery import app
from core.errors import NotNow, Refused
from core.models import Alarm, Lab, User
from judgments import jobs as judgment_jobs
from judgments import services as judgment_services
from platforms import jobs as platform_jobs
from platforms.hooks import hooks_keep
from platforms.ledger_comparison import comparison_make
from platforms.models import AccountHook, Operation, Payment, Publication, PublishedHit, Submission
from platforms.outbox import may_be_decided, operation_decide
from platforms.prolific.client import ERRORS
from platforms.publishing.publications import publication_publish
from platforms.registry import adapter_of
from platforms.reviewing.compensations import GRACE, compensation_offer
from platforms.reviewing.deciding import bonus_grant
from platforms.reviewing.protocol import Ending
from platforms.terms import publication_write
from tasks.models import Assignment, Hit
from tests import factories
from tests.conftest import running_site
from tests.simulation.prolific import Double
from tests.storm.weather import background

FAULTS: tuple[dict[str, Any], ...] = (
    {"kind": "lost after", "path": "/pay/$", "probability": 0.5},
    {"kind": "lost before", "path": "/pay/$", "probability": 0.1},
    {"kind": "lost before", "probability": 0.06},
    {"kind": "lost after", "probability": 0.06},
    {"kind": "broken before", "probability": 0.04},
    {"kind": "broken after", "probability": 0.04},
    {"kind": "too many", "probability": 0.01, "seconds": 1},
    {"kind": "slow", "probability": 0.01, "seconds": 0.2},
    {"kind": "still active", "path": "/transition/$", "body": "APPROVE", "probability": 0.3},
)
# At the full size more than every second request fails.
THICK = tuple(fault | {"probability": fault["probability"] * (1 if "path" in fault else 4)} for fault in FAULTS)
# Notifications come twice, late, and overtake each other.
HOOKS = {"hook_copies": 2, "hook_delay": 0.5, "hook_scatter": 3.0}
ROUND = (platform_jobs.publish, platform_jobs.sync, judgment_jobs.check, platform_jobs.settle, platform_jobs.requeue)
PEOPLE = 3  # at once
DOUBT = timedelta(seconds=15)  # after which a person looks at Prolific's history
PAYS_WITHIN = timedelta(seconds=15)  # after which a person who sees no payment says that there is none
WAYS = ("finished", "failed", "left", "returned", "timed out", "without a code", "never came")
WEIGHTS = (6, 2, 4, 1, 1, 2, 1)
RETURNING = 0.5  # of those who leave early: they are owed a bonus, and the others a share of the reward


class Came(NamedTuple):
    publication: Publication
    did: Counter[str]
    faults: dict[str, int]
    kills: int
    requests: int
    notices: Counter[str]
    seconds: float


def published(lab: Lab, folder: Path, hits: int, name: str) -> Publication:
    """A campaign of so many HITs, of one pair and one test pair each, whose publication has begun."""
    queries = [f"q{number:05}" for number in range(hits)]
    tops = {"red": {query: [f"{query}b"] for query in queries}}
    qrels = {query: [f"{query}a"] for query in queries}
    collection = factories.collection(folder, in_lab=lab, name=name, qrels=qrels, tops=tops)
    campaign = factories.campaign(collection, name, pairs_per_hit=1, tests_per_hit=1)
    publication = publication_write(campaign=campaign, platform="prolific", rate=1000)
    return publication_publish(publication=publication, at=timezone.now(), typed_name=name)


class People:
    """Participants who take places at once and do what people do, until they are told that it is over."""

    def __init__(self, publication: Publication, prolific: Double, seed: int) -> None:
        self.publication, self.prolific, self.seed = publication, prolific, seed
        self.did: Counter[str] = Counter()
        self.over = threading.Event()
        self.errors: list[BaseException] = []
        self._threads = [threading.Thread(target=self._come, args=(number,)) for number in range(PEOPLE)]

    def __enter__(self) -> "People":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.over.set()
        for thread in self._threads:
            thread.join()

    def _come(self, number: int) -> None:
        chance = random.Random(f"{self.seed} {number}")
        double = Double(self.prolific.folder, self.prolific.port, token=self.prolific.token)
        try:
            while not self.over.is_set():
                study = Publication.objects.values_list("hit_type_id", flat=True).get(pk=self.publication.pk)
                person = double.participant(f"Pat {number} {sum(self.did.values())}")
                if study not in double.open_studies(person) or not self._visit(double, study, person, chance):
                    self.over.wait(0.5)
        except BaseException as error:  # shown by the test
            self.errors.append(error)
        finally:
            close_old_connections()
            connection.close()

    def _visit(self, double: Double, study: str, person: str, chance: random.Random) -> bool:
        """Somebody takes a place; whether they got one."""
        try:
            place = double.take(study, person)
        except ValueError:  # somebody else was quicker
            return False
        what = chance.choices(WAYS, WEIGHTS)[0]
        parts = urlsplit(place.url)
        arrived = Browser().post(f"{parts.path}?{parts.query}", {"version": 1}) if what != "never came" else None
        if arrived is None or arrived.status_code != 303:  # who it is cannot be said just now, or nothing is to be done
            double.give_back(place.submission)
            self.did["never came" if arrived is None else "turned away"] += 1
            return arrived is None
        self.did[what] += 1
        assignment = Assignment.objects.get(platform_assignment_id=place.submission)
        if what == "returned":
            double.give_back(place.submission)
        elif what == "timed out":
            double.time_out(place.submission)
        else:
            self._work(double, assignment, what, chance)
        return True

    def _work(self, double: Double, assignment: Assignment, what: str, chance: random.Random) -> None:
        factories.judge(assignment, only=[1] if what == "left" else None, fail_tests=what == "failed")
        end = judgment_services.assignment_leave if what == "left" else judgment_services.assignment_finish
        end(assignment=assignment, at=timezone.now())
        ending = Ending.LEFT if what == "left" else Ending.FINISHED
        way_back = adapter_of(self.publication).exit_of(self.publication, ending)
        assert way_back is not None
        session = assignment.platform_assignment_id
        double.complete(session, None if what == "without a code" else way_back.code)
        if what == "left" and chance.random() < RETURNING:
            with suppress(ValueError):  # a share of the reward was paid already
                double.give_back(session)
                self.did["left and returned"] += 1


def storm(
    publication: Publication,
    prolific: Double,
    rita: User,
    folder: Path,
    *,
    seed: int,
    seconds: float,
    calls_between_kills: int,
    faults: tuple[dict[str, Any], ...] = FAULTS,
    pay_again_until: Callable[[], bool] | None = None,
) -> Came:
    """Run the campaign to its last cent, or paying again what may have been paid until that is so. Raises
    AssertionError if it has not ended in time.
    """
    has_ended = pay_again_until or (lambda: ended(publication, prolific))
    started = time.monotonic()
    for number, fault in enumerate(faults):
        prolific.fault(**{"times": None, "seed": seed + number} | fault)
    options = ["--pay-again"] if pay_again_until else []
    with (
        running_site(str(folder)) as site,
        background(folder, *options) as workers,
        People(publication, prolific, seed) as people,
    ):
        made, hooked = 0, False
        while not has_ended():
            assert time.monotonic() - started < seconds, state(publication, prolific, folder)
            assert not people.errors, people.errors
            assert workers.are_alive, state(publication, prolific, folder)
            if app.connection_for_read().default_channel.client.llen("money") < len(ROUND):
                for job in ROUND:
                    job.delay()
            time.sleep(0.5)
            hooked = hooked or _listen(site.url)
            _let_time_pass(publication)
            _decide(publication, prolific, rita, people.did)
            _thank(publication, rita, people.did)
            _compensate(publication, people.did)
            done = publication.operations.exclude(ended_at=None).count()
            if done > made + calls_between_kills:
                workers.kill()
                made = done
    requests, met = prolific.counts()
    prolific.clear_faults()
    publication.refresh_from_db()
    notices = Counter(row["status"] for row in prolific.rows("event"))
    return Came(publication, people.did, met, workers.kills, requests, notices, time.monotonic() - started)


def _listen(url: str) -> bool:
    """Have notifications sent to the running site, though the request for it may fail."""
    AccountHook.objects.update(checked_at=None)
    with override_settings(SITE_URL=url), suppress(Refused, *ERRORS):
        return bool(hooks_keep(at=timezone.now()))
    return False


def _let_time_pass(publication: Publication) -> None:
    """Back-off and the waits between questions are real, and would make this long: minutes are a second here."""
    soon = timezone.now() + timedelta(seconds=1)
    Operation.objects.filter(ended_at=None, next_try__gt=soon).update(next_try=soon)
    Publication.objects.filter(pk=publication.pk, next_call_at__gt=soon).update(next_call_at=soon)
    PublishedHit.objects.filter(publication=publication, next_poll_at__gt=soon).update(next_poll_at=soon)
    Alarm.objects.filter(publication=publication, retry_at__gt=soon).update(retry_at=soon)
    # Whoever left did so longer ago than any work may take.
    long_ago = timezone.now() - publication.longest_time - GRACE - timedelta(minutes=1)
    left = Assignment.objects.filter(campaign=publication.campaign_id, state=Assignment.State.LEFT)
    left.filter(finished_at__gt=long_ago).update(finished_at=long_ago)


def _decide(publication: Publication, prolific: Double, rita: User, did: Counter[str]) -> None:
    """A person looks at Prolific's history for each payment in doubt, and says what is there, though it may be too soon
    for that.
    """
    long_sought = Operation.objects.filter(first_sent_at__lt=timezone.now() - DOUBT)
    doubtful = list(long_sought.filter(pk__in=may_be_decided(publication)))
    paid = {row["batch"] for row in prolific.ledger("bonus")} if doubtful else set()
    for operation in doubtful:
        was_done = operation.result.get("batch", {}).get("id") in paid
        why, at = "Looked at the history.", timezone.now()
        try:
            did["decided by a person"] += operation_decide(
                operation=operation, was_done=was_done, why=why, by=rita, at=at
            )
        except NotNow:
            did["decided too soon"] += 1


def _thank(publication: Publication, rita: User, did: Counter[str]) -> None:
    """A person grants a bonus for every second work that was approved."""
    work = publication.submissions.filter(status=Submission.Status.APPROVED, assignment__isnull=False)
    thanked = publication.payments.filter(purpose=Payment.Purpose.EXTRA).values("submission")
    for submission in work.exclude(pk__in=thanked):
        if submission.pk % 2:
            bonus_grant(submission=submission, amount=Decimal("0.35"), by=rita, why="Thank you.", at=timezone.now())
            did["thanked"] += 1


def _compensate(publication: Publication, did: Counter[str]) -> None:
    """A person offers all who left early, and returned their work, what is owed to them."""
    for payment in publication.payments.filter(purpose=Payment.Purpose.COMPENSATION, state=Payment.State.OWED):
        if not payment.operations.exists():
            compensation_offer(payment=payment, at=timezone.now())
            did["compensated"] += 1


def waiting(publication: Publication) -> dict[str, int]:
    """What has not ended here."""
    work = Submission.objects.filter(publication=publication, assignment__isnull=False)
    done = Assignment.objects.filter(campaign=publication.campaign_id, owed__gt=0)
    return {
        "HITs": Hit.objects.filter(campaign=publication.campaign_id, needed__gt=0).count(),
        "calls": publication.operations.filter(ended_at=None).count(),
        "submissions": work.exclude(status=Submission.Status.APPROVED).count(),
        "unpaid work": done.filter(payments=None).count(),
        "payments": publication.payments.exclude(state=Payment.State.PAID).count(),
    }


def ended(publication: Publication, prolific: Double) -> bool:
    """Whether nothing waits, here or there."""
    at_work = {"RESERVED", "ACTIVE", "AWAITING REVIEW"}
    return not any(waiting(publication).values()) and not any(
        row["status"] in at_work for row in prolific.rows("submission")
    )


def state(publication: Publication, prolific: Double, folder: Path) -> str:
    """How far it is, for whoever wonders why it does not end."""
    calls = publication.operations.filter(ended_at=None).values_list("kind", "state", "attempts", "error")
    statuses = Counter(row["status"] for row in prolific.rows("submission"))
    log = (folder / "jobs.log").read_text()[-3000:]
    return f"{waiting(publication)} {dict(statuses)} {list(calls)[:9]}\n{log}"


def bonuses_beside(publication: Publication, prolific: Double) -> tuple[Counter[str], Counter[str]]:
    """How many bonuses submissions got there, and how many there should be."""
    rows = [*prolific.ledger("bonus"), *prolific.ledger("partial")]
    purposes = (Payment.Purpose.EXTRA, Payment.Purpose.COMPENSATION)
    payments = publication.payments.filter(purpose__in=purposes).select_related("assignment")
    ours = Counter(payment.assignment.platform_assignment_id for payment in payments if payment.assignment)
    return Counter(row["submission"] for row in rows), ours


def is_paid_twice(publication: Publication, prolific: Double) -> bool:
    """Whether a bonus was paid again."""
    bonuses, ours = bonuses_beside(publication, prolific)
    return any(count > ours[one] == 1 for one, count in bonuses.items())


def wrong_after(publication: Publication, prolific: Double) -> list[str]:
    """Everything that is wrong, as sentences; none if all is well."""
    wrong = []
    studies = [row for row in prolific.rows("study") if row["status"] != "UNPUBLISHED"]
    if len(studies) != 1:
        wrong.append(f"{len(studies)} studies were published")
    rewards = Counter(row["submission"] for row in prolific.ledger("reward"))
    shares = Counter(row["submission"] for row in prolific.ledger("partial"))
    bonuses, ours = bonuses_beside(publication, prolific)
    wrong += [f"{submission} got {count} rewards" for submission, count in rewards.items() if count > 1]
    wrong += [f"{one} got {count} shares of the reward" for one, count in shares.items() if count > 1]
    wrong += [f"{one} got the reward and a share of it" for one in shares if one in rewards]
    wrong += [f"{one} got {count} bonuses, not {ours[one]}" for one, count in bonuses.items() if count != ours[one]]
    wrong += [f"{one} got no bonus" for one in ours if one not in bonuses]
    done = [row for row in prolific.rows("submission") if row["status"] == "APPROVED"]
    wrong += [f"{row['id']} was approved and not paid" for row in done if row["id"] not in rewards]
    stored = set(publication.submissions.values_list("platform_assignment_id", flat=True))
    wrong += [f"{row['id']} is not known here" for row in done if row["id"] not in stored]
    wrong += comparison_make(publication=publication, at=timezone.now()).differences
    spent = sum(row["amount"] + row["fee"] + row["vat"] for row in prolific.ledger() if row["kind"] != "deposit")
    paid = sum((payment.amount + payment.fee for payment in publication.payments.all()), Decimal(0))
    if spent != int(paid * 100):
        wrong.append(f"{spent} cents left the account, and the ledger says {paid * 100}")
    return wrong


def figures_of(came: Came) -> dict[str, Any]:
    return {
        "seconds": round(came.seconds),
        "requests": came.requests,
        "faults": sum(came.faults.values()),
        "kills": came.kills,
        "by kind": came.faults,
        "people": dict(came.did),
        "notifications": dict(came.notices),
        "paid": dict(Counter(came.publication.payments.values_list("purpose", flat=True))),
    }
