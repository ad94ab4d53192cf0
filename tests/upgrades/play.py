"""A little of everything that happens on a site: campaigns by link and at a platform, finished, begun, in trouble."""

import os
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from core import alarms
from core.models import User
from judgments import quality
from judgments import services as judgment_services
from judgments.refreshing import export_refresh
from platforms.finishing import publication_finish
from platforms.ledger_comparison import comparison_make
from platforms.models import Operation, Publication
from platforms.money.ledger import ledger_lines
from platforms.publishing.publications import publication_pause, publication_publish
from platforms.publishing.replacing_terms import publication_replace_terms
from platforms.reviewing.compensations import compensation_offer
from platforms.reviewing.deciding import submission_reject
from platforms.reviewing.requeuing import publication_requeue
from platforms.reviewing.settling import publication_settle
from platforms.syncing import publication_sync
from platforms.terms import publication_write
from pools.models import Campaign
from results.refreshing import result_refresh
from results.report import ARCHIVE
from runs.models import Collection
from tasks import services as task_services
from tasks.links import home_address
from tasks.models import CampaignAlarm, Worker
from tests import factories
from tests.marketplace.server import Marketplace
from tests.platforms.platforms import Clock, arrive, drain, finish, published_hit_of, work
from tests.upgrades import EXPORTS, LEDGERS, LINK, PASSWORD


def play(marketplace: Marketplace, folder: Path) -> dict[str, bytes]:
    """Let researchers, panel members and a platform's workers do all that.

    Gives what is kept beside the database, by name: exports, ledgers, and a worker's own link.
    """
    rita, ruth, _ada = (
        User.objects.create_user(name, f"{name}@example.org", PASSWORD, is_staff=admin, is_superuser=admin)
        for name, admin in (("rita", False), ("ruth", False), ("ada", True))
    )
    small = factories.small(folder, factories.lab("Rita's lab", rita))
    graded = factories.collection(
        folder,
        in_lab=factories.lab("Ruth's lab", ruth),
        name="graded",
        qrels={"q1": {"p1": 3, "p2": 0}, "q2": {"p4": 2, "p5": 1}, "q3": {"p7": 1}},
        tops={"grün": {"q1": ["p2", "p3"], "q2": ["p6", "p4"], "q3": ["p8"]}},
    )
    _by_link(small, rita)
    _graded(graded)
    _not_started(small)
    begun = _half_done(small)
    requester = marketplace.requester()
    os.environ |= {"AWS_ACCESS_KEY_ID": requester.key_id, "AWS_SECRET_ACCESS_KEY": requester.secret}
    _finished_at_a_platform(small, marketplace)
    _in_trouble(small, marketplace, rita)
    kept = {LINK: home_address(begun, Campaign.objects.get(name="half done")).encode()}
    for campaign in Campaign.objects.exclude(state__in=["draft", "packing"]):
        kept |= {f"{EXPORTS}{campaign.name}/{name}": file for name, file in factories.exported(campaign).items()}
    for publication in Publication.objects.select_related("campaign"):
        kept[f"{LEDGERS}{publication.campaign.name}.csv"] = "".join(ledger_lines(publication)).encode()
    return kept


def _by_link(collection: Collection, rita: User) -> None:
    """Two judgments for each pair, by a panel: a changed mind, work excluded and restored, stored results; closed."""
    campaign = factories.campaign(collection, "by link", overlap=2, pairs_per_hit=3, tests_per_hit=2)
    alice, bob, dan, erin = (factories.worker(campaign, name) for name in ("Alice", "Bob", "Dan", "Erin"))
    factories.do(bob, campaign, fail_tests=True)
    quality.worker_unbar(worker=bob, campaign=campaign, why="A slip", by=rita, at=timezone.now())
    factories.judge(factories.take(alice, campaign), only=[1, 2], prefer="b")
    restored = factories.do(alice, campaign)
    export_refresh(campaign=campaign, anew=True)
    quality.assignment_exclude(assignment=restored, why="Too quick", by=rita, at=timezone.now())
    quality.assignment_restore(assignment=restored, why="It was not", by=rita, at=timezone.now())
    quality.worker_bar(worker=erin, campaign=campaign, why="Asked for it", by=rita, at=timezone.now())
    left = factories.take(dan, campaign)
    factories.judge(left, only=[1])
    judgment_services.assignment_leave(assignment=left, at=timezone.now())
    task_services.consent_write(campaign=campaign, text="Another text.\n\nYou may stop at any time.")
    _finish_by_link(campaign, prefer="ab")
    export_refresh(campaign=campaign, anew=True)
    result_refresh(campaign=campaign)
    for large in campaign.files.filter(name=ARCHIVE):  # half of all that is kept, and made of the rest
        large.file.delete(save=False)
        large.delete()
    task_services.campaign_move(campaign=campaign, to="closed")


def _graded(collection: Collection) -> None:
    """Another lab's: champion check on graded qrels, and other settings."""
    campaign = factories.campaign(
        collection,
        "graded",
        design="champion_check",
        min_grade=2,
        method="bradley-terry",
        exclusion="worker",
        selection="list",
        query_list="q1\nq2",
        reward="1.25",
    )
    _finish_by_link(campaign, prefer="b")


def _finish_by_link(campaign: Campaign, prefer: str) -> None:
    """Let new workers, who take turns in what they prefer, do what is left."""
    number = 0
    while campaign.hits.filter(needed__gt=0).exists():
        number += 1
        factories.do(
            factories.worker(campaign, f"{campaign.name} {number}"), campaign, prefer=prefer[number % len(prefer)]
        )


def _not_started(collection: Collection) -> None:
    """A draft with suggestions, one that waits for packing with an alarm, and one that was paused at once."""
    draft = factories.campaign(collection, "draft", tests=1, start=False, selection="sample", sample_size=2)
    factories.elsewhere(collection)
    suggested = task_services.test_pairs_suggest(campaign=draft, count=2, seed=1)
    task_services.test_pair_decide(test_pair=suggested[0], confirm=False, by=None, at=timezone.now())
    waiting = factories.campaign(collection, "waiting", start=False)
    task_services.campaign_launch(campaign=waiting)
    alarms.alarm_raise(
        of=waiting, kind=CampaignAlarm.PACKING, text="It could not be packed.", at=timezone.now(), retried=True
    )
    task_services.campaign_move(campaign=factories.campaign(collection, "paused", fill_last_hit=True), to="paused")


def _half_done(collection: Collection) -> Worker:
    """An open campaign with one HIT done and another begun. Returns the worker who has begun."""
    campaign = factories.campaign(collection, "half done", reuse="nothing", pairs_per_hit=3, tests_per_hit=2)
    alice, fay = factories.worker(campaign, "Alice"), factories.worker(campaign, "Fay")
    factories.do(alice, campaign)
    factories.judge(factories.take(fay, campaign), only=[1, 2])
    return fay


def _finished_at_a_platform(collection: Collection, marketplace: Marketplace) -> None:
    """A base and a bonus: a careless worker, one who leaves, and others who finish; paid, compared, finished."""
    campaign = factories.campaign(collection, "at the marketplace", reuse="nothing", pairs_per_hit=3, tests_per_hit=2)
    workers = iter([marketplace.worker(vouched_approved=20_000) for _ in range(9)])
    publication, clock = _publish(campaign, Publication.Pay.BASE_AND_BONUS)
    work(publication, next(workers), 1, fail_tests=True)
    work(publication, next(workers), 2, only=range(1, 3))
    _settle(publication, clock)
    while campaign.hits.filter(needed__gt=0).exists():
        for hit in campaign.hits.filter(needed__gt=0).order_by("number"):
            work(publication, next(workers), hit.number)
        _settle(publication, clock)
    _settle(publication, clock)
    comparison_make(publication=publication, at=clock())
    assert publication_finish(publication=publication, at=clock())


def _in_trouble(collection: Collection, marketplace: Marketplace, rita: User) -> None:
    """Returned and compensated work, work that nothing matches, replaced terms, a lost call, a pause."""
    campaign = factories.campaign(
        collection, "in trouble", reuse="nothing", pairs_per_hit=3, tests_per_hit=2, overlap=2
    )
    publication, clock = _publish(campaign, Publication.Pay.RETURN_AND_COMPENSATE)
    workers = [marketplace.worker(vouched_approved=20_000) for _ in range(7)]
    for number, worker in enumerate(workers[:2], start=1):
        returned = arrive(publication, worker, number)
        factories.judge(returned, only=range(1, 3))
        judgment_services.assignment_leave(assignment=returned, at=timezone.now())
        worker.give_back(returned.platform_assignment_id)
    finish(arrive(publication, workers[2], 3), workers[2])
    for worker, number in zip(workers[3:5], (1, 2), strict=True):
        worker.do(published_hit_of(publication, number).platform_hit_id)
    _settle(publication, clock)
    clock.sleep(3 * 3600)
    _settle(publication, clock)
    compensation_offer(payment=publication.payments.filter(purpose="compensation").earliest("id"), at=clock())
    unmatched = publication.submissions.filter(assignment=None).earliest("id")
    submission_reject(submission=unmatched, by=rita, why="Nothing was judged", at=clock())
    terms = {"title": "Compare two answers", "lifetime": timedelta(days=3)}
    publication_replace_terms(publication=publication, terms=terms, by=rita, at=clock())
    drain(publication, clock)
    finish(arrive(publication, workers[5], 2), workers[5])
    publication_sync(publication=publication, at=clock(), everything=True)
    factories.judge(arrive(publication, workers[6], 3), only=[1])
    publication_pause(publication=publication, at=clock())
    lost = publication.operations.filter(ended_at=None).earliest("id")
    Operation.objects.filter(pk=lost.pk).update(
        state="unknown", attempts=3, first_sent_at=clock(), sent_at=clock(), error="The connection was lost."
    )


def _publish(campaign: Campaign, pay: str) -> tuple[Publication, Clock]:
    """The campaign at the marketplace, and our clock."""
    publication = publication_write(campaign=campaign, pay=pay, rate=1000)
    clock = Clock()
    publication_publish(publication=publication, at=clock())
    return publication, drain(publication, clock)


def _settle(publication: Publication, clock: Clock) -> None:
    """Store what was submitted, check it, decide, pay, and ask for more."""
    publication_sync(publication=publication, at=clock(), everything=True)
    quality.confirmed_check_all(at=clock())
    publication_settle(publication=publication, at=clock())
    publication_requeue(publication=publication, at=clock())
    drain(publication, clock)
