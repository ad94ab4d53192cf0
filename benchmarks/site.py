"""A site with a campaign in which every pair is judged: its pages, its jobs, and how a campaign comes to be."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from random import Random
from typing import Any

import httpx
from django.conf import settings
from django.core.cache import cache as django_cache
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from selectolax.lexbor import LexborHTMLParser

from benchmarks.harness import (
    RUNS,
    Bench,
    Row,
    Server,
    Used,
    cost,
    in_new_process,
    measurement,
    peak_megabytes,
    pool_sizes,
    postmaster,
)
from campaigns.forms import CampaignForm
from core.models import User
from judgments import alarm_checks, exports, summarizing
from judgments import refreshing as export_refreshing
from judgments.models import PairReport
from leaderboards.models import Board
from platforms.models import Message, Payment, Publication, PublishedHit, Submission
from pools.models import Campaign
from pools.reuse import reused_pairs
from protection import erasing, releasing
from results import figures, refreshing, scoring, versions
from results.apart import take_apart
from results.inputs import SOFTWARE
from results.models import Result, ResultList
from results.sections.subjects import Subject
from results.sections.whole import read
from runs import background
from runs.models import Collection, Job, Passage
from tasks import services as task_services
from tasks.links import assignment_token
from tasks.models import Assignment, Hit, Item, Platform, TestPair, Worker
from tasks.next_hit import next_hit
from tests import factories, walk
from tests.leaderboards.public_boards import filled
from tests.results.sample_results import sample

DEPTH = 10
HITS = 1000  # of each query of an uploaded run
PASSAGE = " ".join(["Passage number {} says what it says in about sixty words, as passages on the web do."] * 4)
JUDGED_SQL = """
    INSERT INTO tasks_assignment (campaign_id, hit_id, worker_id, state, verdict, taken_at, leased_until,
      finished_at, judged, owed, receipt, platform_assignment_id, came_from)
    SELECT campaign_id, id, %(first)s + number %% %(workers)s, 'submitted', 'accepted', now(), now(), now(), 13, 2,
      '', '', '' FROM tasks_hit WHERE campaign_id = %(campaign)s;
    INSERT INTO judgments_judgment (assignment_id, item_id, preferred, shown_at, made_at)
    SELECT assignment.id, item.id,
      CASE WHEN item.a_left = (item.test_id IS NOT NULL OR abs(hashint8(item.id)) %% 3 > 0)
        THEN 'left' ELSE 'right' END,
      now() - interval '1 second' * (5 + abs(hashint8(item.id + 1)) %% 10), now()
    FROM tasks_assignment assignment JOIN tasks_item item ON item.hit_id = assignment.hit_id
    WHERE assignment.campaign_id = %(campaign)s;
    INSERT INTO judgments_acceptance (pair_id, slot, judgment_id, worker_id, assignment_id)
    SELECT DISTINCT ON (item.pair_id) item.pair_id, 1, judgment.id, assignment.worker_id, assignment.id
    FROM judgments_judgment judgment JOIN tasks_assignment assignment ON assignment.id = judgment.assignment_id
    JOIN tasks_item item ON item.id = judgment.item_id
    WHERE assignment.campaign_id = %(campaign)s AND item.pair_id IS NOT NULL ORDER BY item.pair_id, judgment.id;
    UPDATE tasks_hit SET needed = 0 WHERE campaign_id = %(campaign)s;
    ANALYZE
"""


def browser(port: int, **cookies: str) -> httpx.Client:
    """Somebody who visits a site on this machine."""
    token = cookies.get(settings.CSRF_COOKIE_NAME, "")
    headers = {"Accept-Encoding": "identity", "X-CSRFToken": token}  # proxies compress
    client = partial(httpx.Client, timeout=300, trust_env=False, verify=False)  # reading certificates takes long
    return client(base_url=f"http://localhost:{port}", cookies=cookies, headers=headers)


@dataclass
class Visitor:
    """Somebody who visits a site, and what the site takes for it."""

    server: Server
    cookies: dict[str, str] = field(default_factory=dict)

    def ask(self, path: str, method: str = "GET", **form: Any) -> httpx.Response:
        """The answer, through a connection of its own, so that all web processes have a share."""
        with browser(self.server.port, **self.cookies) as client:
            return client.request(method, path, **form)

    def cost(self, path: str, count: int = 1, method: str = "GET", **form: Any) -> float:
        """Seconds of processor time of the web processes and PostgreSQL for each of a few requests."""

        def ask() -> None:
            for _ in range(count):
                answer = self.ask(path, method, **form)
                assert not answer.is_error, (path, answer.status_code, answer.text[-3000:])

        return cost(ask, self.server.pid, postmaster(), here=False) / count


def visitor_of(bench: Bench, user: User) -> Visitor:
    """A browser in which somebody has logged in."""
    client = Client(SERVER_NAME="localhost")
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    return Visitor(bench.site, {name: client.cookies[name].value, settings.CSRF_COOKIE_NAME: "t" * 32})


def cost_here(work: Callable[[], object]) -> float:
    """Seconds of processor time of this process and PostgreSQL."""
    return cost(work, postmaster())


# --- the made-up site


def collection_of(bench: Bench, name: str, share: int = 1, *, texts: bool = False) -> Collection:
    """Pools of the paper's sizes, and 16 runs that put different passages of them first."""
    sizes = pool_sizes(bench.queries // share, bench.pairs // share)
    return factories.collection(
        bench.folder,
        in_lab=factories.lab("bench"),
        qrels={f"q{query}": [f"q{query}-0"] for query in range(len(sizes))},
        tops={f"run{number}": dict(_ranked(number, sizes)) for number in range(RUNS)},
        name=name,
        texts=texts,
    )


def _ranked(number: int, sizes: list[int]) -> Iterator[tuple[str, list[str]]]:
    """A passage of the pool first, and others of it and of the run's own below."""
    random = Random(number)
    for query, size in enumerate(sizes):
        top = number + 1 if number + 1 < size else random.randrange(size)
        others = [place for place in random.sample(range(size), size) if place != top]
        passages = [f"q{query}-{place}" for place in (top, *others)] + [f"q{query}-{number}-{n}" for n in range(DEPTH)]
        yield f"q{query}", passages[:DEPTH]


def judged_campaign(bench: Bench, name: str, share: int = 1) -> Campaign:
    """A packed campaign, each of its pairs judged once, with one accepted assignment a HIT."""
    campaign = factories.campaign(collection_of(bench, name, share), name, tests=0, start=False)
    write_tests(campaign)
    Campaign.objects.filter(pk=campaign.pk).update(state=Campaign.State.PACKING)
    task_services.campaign_pack(campaign_id=campaign.pk)
    count = max(1, 1000 // bench.share // share)
    workers = Worker.objects.bulk_create(Worker(lab=campaign.lab) for _ in range(count))
    with connection.cursor() as cursor:
        cursor.execute(JUDGED_SQL, {"first": workers[0].pk, "workers": count, "campaign": campaign.pk})
    campaign.refresh_from_db()
    return campaign


def write_tests(campaign: Campaign) -> None:
    """Thirty confirmed test pairs."""
    TestPair.objects.bulk_create(
        TestPair(campaign=campaign, question=f"t{n}", relevant_text=f"r{n}", off_topic_text=f"o{n}", state="confirmed")
        for n in range(30)
    )


@dataclass
class World:
    """The judged campaign, a member of its lab, a draft over the same collection, and what the jobs took."""

    campaign: Campaign
    draft: Campaign
    user: User
    jobs: dict[str, float]
    results: Used


@cache
def world(bench: Bench) -> World:
    """Made once: with a ledger, messages, reports, and all that jobs compute."""
    campaign = judged_campaign(bench, "largest")
    user, collection = factories.user("researcher"), campaign.collection
    campaign.lab.members.add(user)
    _publish(campaign)
    Job.objects.create(lab=campaign.lab, kind="run", state="failed", name="a run", asked_at=timezone.now())
    jobs: dict[str, float] = {}

    def do(name: str, work: Callable[[datetime], object]) -> None:
        jobs[name] = cost_here(lambda: work(timezone.now()))

    do("exports", lambda _at: export_refreshing.export_refresh(campaign=campaign))
    results = compute_results(campaign)
    do("counting work", lambda _at: summarizing.campaign_summarize(campaign=campaign))
    do("looking for alarms", lambda at: alarm_checks.campaign_check(campaign=campaign, at=at))
    do("a version of the qrels", lambda at: versions.version_add(campaign=campaign, why="First.", by=None, at=at))
    do("scores on the version", lambda _at: scoring.scores_refresh(collection=collection))
    draft = factories.campaign(collection, "draft", tests=0, start=False)
    do("counting pairs to reuse", lambda _at: reused_pairs(draft, afresh=True))
    do("the release bundle", lambda at: releasing.bundle_make(campaign=campaign, at=at))
    worker = erasing.campaign_workers(campaign).earliest("pk")
    do("planning an erasure", lambda at: erasing.erasure_plan(worker, at=at))
    factories.analyze()
    return World(campaign, draft, user, jobs, results)


def compute_results(campaign: Campaign) -> Used:
    """What the job of results takes, in a process of its own, with PostgreSQL."""
    used: list[Used] = []
    database = cost(lambda: used.append(in_new_process(_compute, campaign.pk)), postmaster(), here=False)
    return used[0]._replace(seconds=used[0].seconds + database)


def _compute(campaign_id: int) -> None:
    assert refreshing.result_refresh(campaign=Campaign.objects.get(pk=campaign_id))


def _publish(campaign: Campaign) -> None:
    """Its publication at a marketplace, where every assignment was submitted and paid, with reports and messages."""
    at = timezone.now()
    publication = Publication.objects.create(
        campaign=campaign, state="open", platform=Platform.MARKETPLACE, title="Mine", description="Mine"
    )
    hits = PublishedHit.objects.bulk_create(
        PublishedHit(
            publication=publication, hit=hit, max_assignments=1, platform_hit_id=f"H{hit.pk}", posted_at=at,
            expires_at=at + timedelta(days=1),
        )
        for hit in campaign.hits.all()
    )  # fmt: skip
    published = {row.hit_id: row for row in hits}
    assignments = list(Assignment.objects.filter(campaign=campaign).order_by("pk"))
    Submission.objects.bulk_create(
        Submission(
            publication=publication, published_hit=published[row.hit_id], assignment=row,
            platform_assignment_id=f"A{row.pk}", platform_worker_id=f"W{row.worker_id}", status="Approved",
            submitted_at=at,
        )
        for row in assignments
    )  # fmt: skip
    Payment.objects.bulk_create(
        Payment(
            publication=publication, assignment=row, purpose=purpose, amount=Decimal("0.20"), fee=Decimal("0.04"),
            state=Payment.State.PAID, owed_at=at, paid_at=at,
        )
        for row in assignments
        for purpose in ("reward", "bonus")
    )  # fmt: skip
    PairReport.objects.bulk_create(
        PairReport(assignment=row, item=row.hit.items.earliest("pk"), reason="broken", made_at=at)
        for row in assignments[::10]
    )
    Message.objects.bulk_create(
        Message(publication=publication, worker_id=worker, state="received", subject="Hello", text="Why?", at=at)
        for worker in {row.worker_id for row in assignments}
    )


# --- jobs


@measurement
def jobs(bench: Bench) -> Iterator[Row]:
    """What jobs take for the judged campaign, beside the making of its export files, which the bundle has in it."""
    seconds = world(bench).jobs
    limits = {"a version of the qrels": 0.5, "counting pairs to reuse": 0.5, "the release bundle": 2}
    for name in seconds:
        if name != "exports":
            yield Row(f"job: {name}", seconds[name], seconds["exports"], limits.get(name, 1))


@measurement
def results(bench: Bench) -> Iterator[Row]:
    """The results of the judged campaign and all their files, beside those of a campaign a tenth as large."""
    large = world(bench).results
    small = compute_results(judged_campaign(bench, "tenth", share=10))
    yield Row("results of ten times as much", large.seconds, small.seconds, 10)
    yield Row("results of ten times as much, memory", large.peak, small.peak, 3, "MB")


# --- pages


@measurement
def pages(bench: Bench) -> Iterator[Row]:
    """Every page of the researcher with cold caches and warm, and every export file, beside the list of campaigns."""
    example = world(bench)
    many = _many_results(example.draft.collection)
    visitor, lists = visitor_of(bench, example.user), reverse("campaigns:campaigns")
    addresses = [
        address
        for address in walk.addresses(example.user, example.campaign)
        if not any(part in address for part in walk.FILES) and visitor.ask(address).status_code == HTTPStatus.OK
    ]
    addresses += [reverse("results:results", args=[many.pk]), reverse("results:table", args=[many.pk, "pairs"])]
    addresses.append(reverse("campaigns:search") + "?q=how")
    addresses += [reverse("results:subject", args=[many.pk, subject]) for subject in list(Subject)[1:]]
    peer = visitor.cost(lists, 40)
    before, costs = peak_megabytes(bench.site.pid), []
    for address in addresses:
        cold = []
        for _ in range(2):  # the first may be the first in its process
            django_cache.clear()
            reused_pairs(example.draft, afresh=True)  # as the jobs do that make a draft and results
            reused_pairs(example.campaign, overlap=example.campaign.overlap + 1)
            visitor = visitor_of(bench, example.user)  # sessions may be in the cache
            visitor.ask(lists)
            cold.append(visitor.cost(address))
        costs.append((max(min(cold), visitor.cost(address, 5)), address))
    slowest, address = max(costs)
    yield Row(f"the slowest of {len(costs)} pages: {address}", slowest, peer, 15)  # the peer reads counts alone
    files = [
        reverse("judgments:export", args=[example.campaign.pk, name]) for name in (*exports.NAMES, exports.ARCHIVE)
    ]
    files.append(reverse("runs:missing_ids", args=[example.campaign.collection_id]))  # made as it is sent
    slowest_file = max(visitor.cost(file, 3) for file in files)
    yield Row("the slowest export file", slowest_file, peer, 10)
    yield Row("all pages, memory of a web process", peak_megabytes(bench.site.pid), before, 1.4, "MB")


def _many_results(collection: Collection) -> Campaign:
    """A campaign with the results of 60 runs, as a job would have stored them."""
    campaign = factories.campaign(collection, "many runs", tests=0, start=False)
    Campaign.objects.filter(pk=campaign.pk).update(state=Campaign.State.OPEN)
    data, at = sample(60), timezone.now()
    parts = take_apart(data)
    result = Result.objects.create(
        campaign=campaign, revision=campaign.revision, software=SOFTWARE, computed_at=at, rests_until=at, seconds=1,
        data=parts.data, tops={},
        **figures.drawings(read(data))._asdict(),
    )  # fmt: skip
    ResultList.objects.bulk_create(
        ResultList(result=result, name=name, rows=rows) for name, rows in parts.lists.items()
    )
    return campaign


@measurement
def boards(bench: Bench) -> Iterator[Row]:
    """The public page of a board with 160 entries, sorted and filtered too, beside that of one with 16."""
    visitor = Visitor(bench.site)
    costs = []
    for entries in (16, 160):
        board = filled(factories.small(bench.folder, factories.lab(f"board of {entries}")), entries)
        Board.objects.filter(pk=board.pk).update(slug=f"with-{entries}")
        page = f"/boards/with-{entries}/"
        visitor.cost(page, 20)  # each web process has loaded what it needs
        costs.append(max(visitor.cost(page + query, 20) for query in ("", "?sort=-dev&type=reranking")))
    yield Row("a board with ten times as many entries", costs[1], costs[0], 6)


@measurement
def judging(bench: Bench) -> Iterator[Row]:
    """A hundred workers who judge at once, beside the same in turn. Any failure breaks the measurement off."""
    campaign, count = judging_campaign(bench), 100 if bench.share <= 10 else 4
    workers = [factories.worker(campaign, f"judge {number}") for number in range(count)]
    tokens = [assignment_token(factories.take(worker, campaign)) for worker in workers]
    visitor = Visitor(bench.site)
    for token in tokens[:4]:
        _judge(visitor, token, range(1, 3))

    def at_once() -> None:
        with ThreadPoolExecutor(count) as people:
            list(people.map(lambda token: _judge(visitor, token, range(1, 6)), tokens))

    def in_turn() -> None:
        for token in tokens:
            _judge(visitor, token, range(6, 11))

    ours, peer = (cost(work, bench.site.pid, postmaster(), here=False) for work in (at_once, in_turn))
    yield Row(f"{count} workers at once, beside in turn", ours, peer, 1.5)


def _judge(visitor: Visitor, token: str, positions: Iterable[int]) -> None:
    """Open items as a browser does, and save a choice as the page's form does."""
    for position in positions:
        address = f"/j/{token}/{position}/"
        page = LexborHTMLParser(visitor.ask(address).text)
        shown_at = page.css("input[name=shown]")[0].attributes["value"]
        answer = visitor.ask(address, "POST", data={"shown": shown_at, "preferred": "left"})
        assert not answer.is_error, answer.text


@cache
def judging_campaign(bench: Bench) -> Campaign:
    """An open campaign with passages of about sixty words, and HITs of 10 pairs and 3 test pairs for 280 workers."""
    queries = [f"q{number}" for number in range(2800 if bench.share <= 10 else 100)]
    collection = factories.collection(
        bench.folder,
        in_lab=factories.lab("bench"),
        qrels={query: [f"{query}a"] for query in queries},
        tops={"red": {query: [f"{query}b"] for query in queries}},
        name="judging",
    )
    passages = list(Passage.objects.filter(collection=collection))
    for passage in passages:
        passage.text = PASSAGE.format(*[passage.pid] * 4)
    Passage.objects.bulk_update(passages, ["text"], batch_size=1000)
    return factories.campaign(collection, "judging", tests=30, pairs_per_hit=10, tests_per_hit=3)


# --- how a campaign comes to be


@measurement
def making(bench: Bench) -> Iterator[Row]:
    """Uploading a run, making, starting and packing a campaign, and giving out its HITs.

    Pages only ask for jobs: their peer is the page of a new run, which costs the same at any size. What a web process
    does once, as reading a template or connecting to Redis, it has done before a page is measured.
    """
    collection = collection_of(bench, "new", texts=True)
    tops = {f"run{number}": {"q": [f"p{number}"]} for number in range(2)}
    small = factories.collection(bench.folder, in_lab=collection.lab, qrels={"q": ["p0"]}, tops=tops, name="small")
    started = factories.campaign(small, "small")
    user = factories.user("maker")
    collection.lab.members.add(user)
    visitor, memory = visitor_of(bench, user), partial(peak_megabytes, bench.site.pid)
    new_run, new_campaign = (
        reverse("runs:run_upload"),
        f"{reverse('campaigns:campaign_new')}?collection={collection.pk}",
    )
    for page in (new_run, new_campaign):
        visitor.cost(page, 10)
    visitor.cost(f"/campaigns/{started.pk}/start/", 10, method="POST")
    peer = visitor.cost(new_run, 40)

    _upload(visitor, collection, _run_file(bench.folder, collection, 10))
    before, file = memory(), _run_file(bench.folder, collection, HITS)
    _upload(visitor, collection, file)
    yield Row("uploading a run, memory", memory() - before, file.stat().st_size / 1e6, 0.4, "MB")

    form = CampaignForm(collection=collection)
    fields = {name: form[name].value() for name in form.fields}
    fields |= {
        "name": "new",
        "all_runs": False,
        "runs": [run.pk for run in collection.runs.filter(name__startswith="run")],
    }
    fields = {name: value for name, value in fields.items() if value is not None and value is not False}
    asking = visitor.cost(new_campaign, method="POST", data=fields)
    job = Job.objects.latest("pk")
    waiting = visitor.cost(f"/jobs/{job.pk}/", 3)
    _do_job(job)
    campaign = Campaign.objects.latest("pk")
    write_tests(campaign)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")  # as PostgreSQL does by itself within a minute
    page = f"/campaigns/{campaign.pk}/"
    visitor.cost(page, 10)
    draft = visitor.cost(page, 3)
    starting = visitor.cost(f"{page}start/", method="POST")
    visitor.cost(page, 10)
    packed = visitor.cost(page, 3)
    slowest = max(asking, waiting, draft, starting, packed)
    yield Row("making a campaign, the slowest page", slowest, peer, 25)

    packing = cost_here(lambda: task_services.campaign_pack(campaign_id=campaign.pk))
    items = Item.objects.filter(hit__campaign=campaign)
    rows = list(items.values("hit_id", "layout", "position", "pair_id", "test_id", "a_left"))
    items.delete()
    storing = cost_here(lambda: Item.objects.bulk_create([Item(**row) for row in rows], batch_size=5000))
    yield Row("packing, beside bulk_create of the items", packing, storing, 0.7)
    factories.analyze()
    yield from _giving(campaign)


def _giving(campaign: Campaign) -> Iterator[Row]:
    """The next HIT of a worker who has done a quarter of them, or 1,000, beside that of one who has done none."""
    at, database = timezone.now(), postmaster()
    hits = list(campaign.hits.order_by("number"))
    hits = hits[: min(1000, len(hits) // 4)]
    experienced, newcomer = (Worker.objects.create(lab=campaign.lab) for _ in range(2))
    ended = {"taken_at": at, "leased_until": at, "finished_at": at, "state": "submitted", "verdict": "accepted"}
    Assignment.objects.bulk_create(Assignment(campaign=campaign, hit=hit, worker=experienced, **ended) for hit in hits)

    def give(worker: Worker) -> None:
        for _ in range(30):
            with transaction.atomic():
                assert next_hit(worker, campaign, at, lock=True) is not None

    give(newcomer)
    for what in ("others may still do", "are done for good"):
        ours, peer = cost(partial(give, experienced), database), cost(partial(give, newcomer), database)
        yield Row(f"the next HIT after {len(hits)} that {what}", ours, peer, 3)
        Hit.objects.filter(pk__in=[hit.pk for hit in hits]).update(needed=0)


def _run_file(folder: Path, collection: Collection, hits: int) -> Path:
    path = folder / f"uploaded-{hits}.txt"
    with path.open("w") as file:
        for query in range(collection.queries.count()):
            file.writelines(f"q{query} Q0 q{query}-x{rank} {rank} {hits - rank} large\n" for rank in range(1, hits + 1))
    return path


def _upload(visitor: Visitor, collection: Collection, run: Path) -> None:
    """As a browser sends it, and its job."""
    with run.open("rb") as file:
        answer = visitor.ask(
            reverse("runs:run_upload"), "POST", data={"collection": collection.pk}, files={"file": (run.name, file)}
        )
    assert answer.status_code == HTTPStatus.SEE_OTHER, answer.text
    _do_job(Job.objects.latest("pk"))


def _do_job(job: Job) -> None:
    """What is small was done at once."""
    background.job_do(job_id=job.pk)
    job.refresh_from_db()
    assert job.state == Job.State.DONE, job.error
