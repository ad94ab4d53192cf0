"""A campaign at a marketplace whose requests meet every fault, while its processes are killed and a crowd works."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psycopg2
from botocore.exceptions import BotoCoreError, ClientError
from django.db import close_old_connections, connection
from django.urls import reverse
from django.utils import timezone

from config.celery import app
from core.errors import NotNow, Refused
from core.models import Lab
from judgments import jobs as judgment_jobs
from judgments import services as judgment_services
from platforms import jobs as platform_jobs
from platforms.arriving import assignment_arrive
from platforms.ledger_comparison import comparison_make
from platforms.models import Operation, Publication, Submission
from platforms.mturk.notifications import notifications_ask
from platforms.outbox import LEASE
from platforms.publishing.publications import publication_publish
from platforms.terms import publication_write
from tasks.models import Hit
from tests import factories
from tests.conftest import REPOSITORY, database_url, running_site
from tests.marketplace.server import Marketplace, Requester

# From here on a campaign is large, and its storm long. A small one meets more in less time.
# Chances add up to 1 at most.
LARGE = 500
CHANCES = {
    "before_commit": 0.08,
    "after_commit": 0.08,
    "reply_dropped": 0.08,
    "throttled": 0.01,  # each holds the whole publication back
    "slow": 0.03,
    "not_ready": 0.12,
    "notification_lost": 0.1,
    "notification_doubled": 0.1,
}
DENSE = CHANCES | {
    **dict.fromkeys(("before_commit", "after_commit", "reply_dropped"), 0.14),
    **dict.fromkeys(("notification_lost", "notification_doubled"), 0.16),
    **dict.fromkeys(("throttled", "slow"), 0.04),
}
REPEATABLE = ("CreateHITWithHITType", "SendBonus")  # only the token keeps these from being done twice
CARELESS, LEAVING, RETURNING = 0.13, 0.13, 0.1
ROUND = (platform_jobs.publish, platform_jobs.sync, judgment_jobs.check, platform_jobs.settle, platform_jobs.requeue)
CALLS_BETWEEN_KILLS = 90  # in a large campaign
# How many work at once.
PEOPLE = 4


def published(lab: Lab, tmp_path: Path, hits: int, name: str = "small") -> Publication:
    """A campaign of so many HITs, of one pair and one test pair each, whose publication has begun. The name is that of
    its collection too.
    """
    queries = [f"q{number:05}" for number in range(hits)]
    collection = factories.collection(
        tmp_path,
        in_lab=lab,
        name=name,
        qrels={query: [f"{query}a"] for query in queries},
        tops={"red": {query: [f"{query}b"] for query in queries}},
    )
    campaign = factories.campaign(collection, name, pairs_per_hit=1, tests_per_hit=1)
    assert campaign.hits.count() == hits
    publication = publication_write(campaign=campaign, pay="base-and-bonus", rate=1000)
    return publication_publish(publication=publication, at=timezone.now(), although_nobody_qualifies=True)


class JobWorkers:
    """Background workers on the test database that are killed, all at once and without a word, and started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.kills = 0
        self._log = (folder / "jobs.log").open("ab")
        self._starter = subprocess.Popen(
            [sys.executable, "-m", "tests.storm.jobs", "--on-demand", *options],
            cwd=REPOSITORY,
            env=os.environ | {"DATABASE_URL": database_url()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self._pid = self._start()

    def _start(self) -> int:
        assert self._starter.stdin is not None
        assert self._starter.stdout is not None
        self._starter.stdin.write("\n")
        self._starter.stdin.flush()
        return int(self._starter.stdout.readline())

    def kill(self) -> None:
        """Kill every process of them. Nobody holds a call any more: let the time pass after which others take it."""
        os.killpg(self._pid, signal.SIGKILL)
        while self.are_alive:
            time.sleep(0.01)
        self.kills += 1
        held = Operation.objects.filter(state=Operation.State.SENT)
        held.update(sent_at=timezone.now() - LEASE - timedelta(seconds=1))
        self._pid = self._start()

    @property
    def are_alive(self) -> bool:
        """Whether they run: nobody but we should end them."""
        return Path(f"/proc/{self._pid}").exists()

    def stop(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        self._starter.communicate(timeout=60)
        self._log.close()


class Crowd:
    """People who find HITs at the marketplace, do them here and submit there. `submitted` is what it took from them."""

    def __init__(self, marketplace: Marketplace, publication: Publication, seed: int) -> None:
        self.marketplace, self.publication, self.seed = marketplace, publication, seed
        self.submitted: set[tuple[str, str]] = set()
        self.did: Counter[str] = Counter()
        self.ended = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(PEOPLE)]
        self.errors: list[BaseException] = []

    def __enter__(self) -> "Crowd":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.ended.set()
        for thread in self._threads:
            thread.join()

    def assert_well(self) -> None:
        """Raise what went wrong with somebody, if it did."""
        if self.errors:
            raise self.errors[0]

    def _work(self, number: int) -> None:
        chance = random.Random(f"{self.seed} {number}")
        try:
            with httpx.Client(base_url=self.marketplace.url, timeout=30, trust_env=False, verify=False) as http:
                me, done, in_vain = self._somebody(http, number), 0, 0
                while not self.ended.is_set():
                    found = self._asked(http, "find", worker_id=me, most=40).get("hit_ids", [])
                    if found:
                        in_vain, careless = 0, chance.random() < CARELESS
                        somebody = self._somebody(http, number) if careless else me
                        done += self._one(http, somebody, chance.choice(found), chance, careless)
                    else:
                        in_vain += 1
                        self.ended.wait(0.2 * in_vain)
                    if done >= 200 or in_vain >= 6:  # what is left may be for others
                        me, done, in_vain = self._somebody(http, number), 0, 0
        except BaseException as error:  # shown by the test
            self.errors.append(error)
        finally:
            close_old_connections()
            connection.close()

    def _somebody(self, http: httpx.Client, number: int) -> str:
        self.did["people"] += 1
        for _ in range(50):  # an address is taken if a killed server made its worker and did not answer
            email = f"storm{self.seed}-{number}-{time.monotonic_ns()}@example.org"
            answer = self._asked(http, "worker", email=email, vouched_approved=20_000)
            if "worker_id" in answer:
                return str(answer["worker_id"])
            time.sleep(0.1)
        raise AssertionError(f"no worker: {answer}")

    def _asked(self, http: httpx.Client, action: str, **given: Any) -> dict[str, Any]:
        """An order of a test, made again if a killed server did not answer; `error` in it if it was refused."""
        for _ in range(50):
            try:
                return dict(http.post(f"/test/{action}", json=given).json())
            except (httpx.TransportError, ValueError):
                time.sleep(0.1)
        raise AssertionError(f"no answer to {action}")

    def _one(self, http: httpx.Client, worker_id: str, hit_id: str, chance: random.Random, careless: bool) -> bool:
        reference, number = self._frame_of(hit_id)
        if reference != self.publication.reference:  # an earlier storm has left it open
            return False
        accepted = self._asked(http, "accept", worker_id=worker_id, hit_id=hit_id)
        if "error" in accepted:
            return False
        assignment_id = accepted["assignment_id"]
        if chance.random() < RETURNING:
            self._asked(http, "return", worker_id=worker_id, assignment_id=assignment_id)
            self.did["returned"] += 1
            return False
        try:
            assignment = assignment_arrive(
                publication=self.publication,
                hit=Hit.objects.get(campaign=self.publication.campaign, number=number),
                assignment_id=assignment_id,
                worker_id=worker_id,
                at=timezone.now(),
            )
        except Refused:
            self._asked(http, "return", worker_id=worker_id, assignment_id=assignment_id)
            self.did["refused here"] += 1
            return False
        leaves = not careless and chance.random() < LEAVING
        if assignment.state != assignment.State.ACTIVE:  # the HIT is there twice, and they did the other one
            self._submit(http, assignment_id, assignment.receipt)
            self.submitted.add((assignment_id, worker_id))
            return False
        factories.judge(assignment, only=[1] if leaves else None, fail_tests=careless)
        end = judgment_services.assignment_leave if leaves else judgment_services.assignment_finish
        ended = end(assignment=assignment, at=timezone.now())
        self._submit(http, assignment_id, ended.receipt)
        self.submitted.add((assignment_id, worker_id))
        self.did["careless" if careless else "left" if leaves else "finished"] += 1
        return True

    def _submit(self, http: httpx.Client, assignment_id: str, receipt: str) -> None:
        for _ in range(50):
            try:
                answer = http.post("/mturk/externalSubmit", data={"assignmentId": assignment_id, "receipt": receipt})
                if answer.status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise AssertionError(f"{assignment_id} could not be submitted: {answer.text}")

    def _frame_of(self, hit_id: str) -> tuple[str, int]:
        """Which publication's HIT the frame's address names, and which of its HITs."""
        rows = at_the_platform(self.marketplace, "SELECT annotation FROM marketplace_hit WHERE hit_id = %s", hit_id)
        _ours, reference, number = rows[0][0].split()[:3]
        return reference, int(number.partition("/")[0])


def at_the_platform(marketplace: Marketplace, query: str, *given: object) -> list[tuple[Any, ...]]:
    """Rows of the marketplace's own database: the truth, whatever its replies said."""
    found = psycopg2.connect(marketplace.database.replace("postgres://", "postgresql://", 1))
    try:
        with found.cursor() as cursor:
            cursor.execute(query, given)
            return list(cursor.fetchall())
    finally:
        found.close()


def kill_one_server(marketplace: Marketplace, chance: random.Random) -> None:
    """Kill one of the marketplace's gunicorn workers in the midst of what it does."""
    master = marketplace.pid
    children = Path(f"/proc/{master}/task/{master}/children").read_text().split()
    if children:
        with suppress(ProcessLookupError):  # it has ended by itself
            os.kill(int(chance.choice(children)), signal.SIGKILL)


@contextmanager
def background(folder: Path, *options: str) -> Iterator[JobWorkers]:
    """Job workers, with these options of tests.storm.jobs, until the block ends."""
    app.control.purge()
    workers = JobWorkers(folder, *options)
    try:
        yield workers
    finally:
        workers.stop()
        app.control.purge()


class Stressed(NamedTuple):
    crowd: Crowd
    kills: int
    faults: dict[str, int]
    seconds: float


def weather(
    publication: Publication,
    marketplace: Marketplace,
    folder: Path,
    *,
    seed: int,
    seconds: float,
    without_tokens_until: Callable[[], bool] | None = None,
) -> Stressed:
    """Run the campaign to its end through a storm. Raises AssertionError if it has not ended in time.

    One fault of each kind is met for sure, and more as they are drawn. Without tokens, it runs until that is so, and
    the first two replies about a HIT and about a bonus are lost for sure.
    """
    tokens = without_tokens_until is None
    has_ended = without_tokens_until or (lambda: _ended(publication))
    chance = random.Random(seed)
    started = time.monotonic()
    is_large = publication.campaign.hits.count() >= LARGE
    chances, calls_between_kills = (CHANCES, CALLS_BETWEEN_KILLS) if is_large else (DENSE, CALLS_BETWEEN_KILLS // 4)
    lost = [{"kind": "reply_dropped", "operation": operation, "times": 2} for operation in REPEATABLE]
    script = [{"kind": kind} for kind in CHANCES] if tokens else lost
    marketplace.test("faults", clear=True, script=script, storm={"seed": str(seed), "chances": chances, "seconds": 0.2})
    with (
        running_site(str(folder)) as site,
        background(folder, *([] if tokens else ["--without-token"])) as workers,
        Crowd(marketplace, publication, seed) as crowd,
    ):
        made, told = 0, False
        while not has_ended():
            assert time.monotonic() - started < seconds, _state(publication, folder)
            crowd.assert_well()
            assert workers.are_alive, _state(publication, folder)
            if app.connection_for_read().default_channel.client.llen("money") < len(ROUND):
                for job in ROUND:
                    job.delay()
            time.sleep(0.4)
            told = told or _ask_to_be_told(publication, site.url)
            with suppress(httpx.TransportError, AssertionError):  # the server that was asked may just have been killed
                marketplace.test("tick")
                marketplace.test("deliver")
            # Back-off is real, and would make this long: what waits a minute waits a moment.
            soon = timezone.now() + timedelta(seconds=0.2)
            Operation.objects.filter(ended_at=None, next_try__gt=soon).update(next_try=soon)
            Publication.objects.filter(pk=publication.pk, next_call_at__gt=soon).update(next_call_at=soon)
            ended = Operation.objects.filter(publication=publication).exclude(ended_at=None).count()
            if ended > made + calls_between_kills:
                workers.kill()
                kill_one_server(marketplace, chance)
                made = ended
    crowd.assert_well()
    met = marketplace.test("faults")["met"]
    marketplace.test("faults", clear=True)
    return Stressed(crowd, workers.kills, met, time.monotonic() - started)


def _ask_to_be_told(publication: Publication, url: str) -> bool:
    publication.refresh_from_db()
    address = f"{url}{reverse('platforms:notifications', args=[publication.reference])}"
    try:
        notifications_ask(publication=publication, address=address)
    except (NotNow, BotoCoreError, ClientError):
        return False
    return True


def _ended(publication: Publication) -> bool:
    waiting = (
        Hit.objects.filter(campaign=publication.campaign, needed__gt=0),
        Operation.objects.filter(publication=publication, ended_at=None),
        Submission.objects.filter(publication=publication, assignment__isnull=False).exclude(status="Approved"),
        publication.payments.exclude(state="paid"),
    )
    return not any(rows.exists() for rows in waiting)


def _state(publication: Publication, folder: Path) -> str:
    hits = Hit.objects.filter(campaign=publication.campaign, needed__gt=0).count()
    waiting = Counter(Operation.objects.filter(publication=publication, ended_at=None).values_list("kind", "state"))
    submitted = Counter(publication.submissions.values_list("status", "decision"))
    log = (folder / "jobs.log").read_text()[-3000:]
    return f"{hits} HITs wait; calls {dict(waiting)}; submissions {dict(submitted)}\n{log}"


def doubled(publication: Publication, marketplace: Marketplace) -> list[str]:
    """What was published twice and what was paid twice, as sentences."""
    wrong = []
    mark = f"bestknown {publication.reference} %"
    twice = at_the_platform(
        marketplace,
        "SELECT annotation, count(*) FROM marketplace_hit WHERE annotation LIKE %s GROUP BY 1 HAVING count(*) > 1",
        mark,
    )
    wrong += [f"HIT “{annotation}” was published {count} times" for annotation, count in twice]
    paid_twice = at_the_platform(
        marketplace,
        "SELECT a.assignment_id, count(*) FROM marketplace_bonuspayment b"
        " JOIN marketplace_assignment a ON a.id = b.assignment_id JOIN marketplace_hit h ON h.id = a.hit_id"
        " WHERE h.annotation LIKE %s GROUP BY a.id HAVING count(*) > 1",
        mark,
    )
    wrong += [f"assignment {one} got {count} bonuses" for one, count in paid_twice]
    return wrong


def faults_of(publication: Publication, marketplace: Marketplace, requester: Requester, crowd: Crowd) -> list[str]:
    """Everything that is wrong after the storm, as sentences; none if all is well."""
    wrong = doubled(publication, marketplace)
    mark = f"bestknown {publication.reference} %"
    there = set(
        at_the_platform(
            marketplace,
            "SELECT a.assignment_id, w.worker_id FROM marketplace_assignment a"
            " JOIN marketplace_worker w ON w.id = a.worker_id JOIN marketplace_hit h ON h.id = a.hit_id"
            " WHERE h.annotation LIKE %s AND a.submitted_at IS NOT NULL",
            mark,
        )
    )
    here = set(publication.submissions.values_list("platform_assignment_id", "platform_worker_id"))
    wrong += [f"the worker was told that {one} was submitted, and it was not" for one in crowd.submitted - there]
    wrong += [f"submitted assignment {one} was missed" for one in there - here]
    wrong += [f"assignment {one} is not at the platform" for one in here - there]
    matched = publication.submissions.filter(assignment__isnull=False).count()
    if matched != len(there):
        wrong.append(f"{len(there) - matched} submitted assignments match nothing here")
    wrong += comparison_make(publication=publication, at=timezone.now()).differences
    spent = sum((payment.amount + payment.fee for payment in publication.payments.all()), Decimal(0))
    available, on_hold = map(Decimal, requester.money())
    if requester.deposit - available - on_hold != spent:
        wrong.append(f"the account has spent ${requester.deposit - available - on_hold}, and the ledger says ${spent}")
    return wrong
