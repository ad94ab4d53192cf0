"""What statements read does not grow with a campaign: budgets, in one of a hundred thousand judgments.

A statement that reads the campaign reads seven thousand HITs, or more of everything else.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchmarks.growth import Reads, fill, statements_read
from judgments import quality, reported, summarizing, watching
from judgments import selectors as judgment_selectors
from judgments import services as judgment_services
from judgments.refreshing import candidates
from platforms import finishing
from platforms.attention import attention_check, returns_check
from platforms.models import LedgerComparison, Publication, PublishedHit
from platforms.money.pay_desk import payments_mark
from platforms.outbox import _sendable
from platforms.publishing.publications import unposted
from platforms.reviewing.compensations import compensations_find
from platforms.syncing import _take
from pools.counting import campaign_recount
from tasks import selectors as task_selectors
from tasks.models import Assignment, Hit, Worker
from tasks.next_hit import next_hit, next_layout
from tests import factories
from tests.databases import EMPTY_TABLES

pytestmark = pytest.mark.django_db
JUDGMENTS = 100_000
ROWS, BUFFERS = 700, 400  # that one statement may read
# Times as much, where pages show fifty things, or estimate from the items of ten HITs.
MORE = {
    "choosing a HIT": 8,
    "looking for HITs to publish": 3,
    "looking for HITs to poll": 5,
    "the list of queries": 20,
    "the list of work": 40,
    "the platform": 2,
    "a worker's page": 8,
    "the plan": 8,
    "the ledger": 2,
}


class World:
    """A grown campaign, and those who are in it."""

    def __init__(self) -> None:
        self.user = factories.user("researcher", is_staff=True)
        self.campaign = fill(factories.lab("grown", self.user), JUDGMENTS)
        campaign_recount(campaign=self.campaign, at=timezone.now())
        factories.analyze()
        self.publication = Publication.objects.get(campaign=self.campaign)
        self.active = Assignment.objects.filter(state="active").earliest("pk")
        self.ended = Assignment.objects.filter(state="submitted").latest("pk")
        self.worker = Worker.objects.exclude(pk=self.active.worker_id).filter(barred_at=None).latest("pk")
        self.client = Client(SERVER_NAME="localhost")
        self.client.force_login(self.user)

    @property
    def at(self) -> Any:
        return timezone.now()

    def mark(self) -> None:
        payments_mark(
            campaign=self.campaign, chosen=None, expected=Decimal(0), by=self.user, at=self.at, paid_on=self.at.date()
        )

    def finish(self) -> None:
        """Where nothing is left to do, so that all is looked at before it is over."""
        wrappers, connection.execute_wrappers = connection.execute_wrappers, []
        Hit.objects.filter(campaign=self.campaign, needed__gt=0).update(needed=0)
        PublishedHit.objects.filter(next_poll_at__isnull=False).update(next_poll_at=None)
        Assignment.objects.filter(state="active").update(state="left", finished_at=self.at, platform_assignment_id="")
        about = {"version": 1, "is_full": True, "differences": 0, "content": {}}
        LedgerComparison.objects.create(publication=self.publication, began_at=self.at, made_at=self.at, **about)
        connection.execute_wrappers = wrappers
        assert finishing.publication_finish(publication=self.publication, at=self.at)

    def page(self, name: str, *arguments: object, **query: str) -> None:
        cache.clear()
        assert self.client.get(reverse(name, args=arguments), query).status_code == 200


# By what somebody or a job does, doing it.
ACTIONS: dict[str, Callable[[World], object]] = {
    "showing an item": lambda world: judgment_selectors.shown_item(
        assignment_id=world.active.pk, worker_id=world.active.worker_id, hit_id=world.active.hit_id, position=3
    ),
    "saving a choice": lambda world: judgment_services.judgment_save(
        assignment_id=world.active.pk, position=3, preferred="left", shown_at=world.at, at=world.at
    ),
    "choosing a HIT": lambda world: next_hit(world.worker, world.campaign, world.at, lock=True),
    "choosing a layout": lambda world: next_layout(world.active.hit_id, world.at),
    "counting what a worker took": lambda world: task_selectors.left_count(world.worker, world.campaign),
    "ending work": lambda world: judgment_services.assignment_leave(assignment=world.active, at=world.at),
    "excluding work": lambda world: quality.assignment_exclude(
        assignment=world.ended, why="Careless.", by=world.user, at=world.at
    ),
    "looking for work that was left": lambda world: list(judgment_selectors.abandoned(world.at)[:500]),
    "looking for HITs to publish": lambda world: list(unposted(world.publication)[:200]),
    "looking for calls to make": lambda world: list(_sendable(world.publication, world.at)[:1]),
    "looking for HITs to poll": lambda world: _take(world.publication, world.at),
    "looking whether workers come": lambda world: attention_check(
        publication=world.publication, at=world.at + timedelta(hours=2)
    ),
    "looking at what is returned": lambda world: returns_check(
        publication=world.publication, at=world.at + timedelta(minutes=55)
    ),
    "looking for what is going on": lambda world: list(finishing.unfinished()),
    "finishing": lambda world: world.finish(),
    "looking for lost work": lambda world: compensations_find(publication=world.publication, at=world.at),
    "looking for pairs to decide": lambda world: reported.pairs_to_decide(world.campaign).count(),
    "looking for what to export": lambda world: list(candidates(at=world.at)),
    "looking for what to sum up": lambda world: list(summarizing.campaigns_to_summarize(at=world.at)),
    "forecasting": lambda world: watching.forecast(world.campaign, world.at),
    "counting progress": lambda world: task_selectors.progress(world.campaign),
    "counting pairs": lambda world: judgment_selectors.judging_progress(world.campaign),
    "the newest work": lambda world: list(judgment_selectors.assignments_of(world.campaign)[:50]),
    "the list of campaigns": lambda world: world.page("campaigns:campaigns"),
    "the campaign": lambda world: world.page("campaigns:campaign", world.campaign.pk),
    "the platform": lambda world: world.page("platforms:publication", world.campaign.pk),
    "the pay": lambda world: world.page("platforms:pay", world.campaign.pk),
    "marking all pay": lambda world: world.mark(),
    "the list of queries": lambda world: world.page("judgments:queries", world.campaign.pk),
    "the list of work": lambda world: world.page("review:work", world.campaign.pk),
    "a worker's page": lambda world: world.page("review:worker", world.campaign.pk, world.worker.pk),
    "an assignment's page": lambda world: world.page("review:assignment", world.campaign.pk, world.ended.pk),
    "the plan": lambda world: world.page("campaigns:plan", world.campaign.pk),
    "the export files": lambda world: world.page("judgments:files", world.campaign.pk),
    "the ledger": lambda world: world.page("platforms:ledger", world.campaign.pk),
    "the audit": lambda world: world.page("audit:entries", lab=str(world.campaign.lab_id)),
    "the results": lambda world: world.page("results:results", world.campaign.pk),
}


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    with django_db_blocker.unblock():
        with connection.cursor() as cursor:  # plans and counts are those of these rows, whatever tests came before
            cursor.execute(EMPTY_TABLES)
            cursor.execute("VACUUM FULL")
        with transaction.atomic():
            yield World()
            transaction.set_rollback(True)


def reads_in(world: World, action: str) -> list[Reads]:
    """What each statement of an action reads, which is undone."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")  # small tables would be read whole
        with statements_read() as reads:
            ACTIONS[action](world)
        transaction.set_rollback(True)
    return reads


def beyond(action: str, reads: list[Reads]) -> list[str]:
    """The statements that read more than they may."""
    times = MORE.get(action, 1)
    return [
        f"{read.rows} rows and {read.buffers} buffers: {' '.join(read.statement.split())[:300]}"
        for read in reads
        if read.rows > times * ROWS or read.buffers > times * BUFFERS
    ]


@pytest.mark.parametrize("action", ACTIONS)
def test_no_statement_reads_the_campaign(world: World, action: str) -> None:
    reads = reads_in(world, action)

    assert reads
    assert beyond(action, reads) == []


# By index, an action that needs it. Where several indexes begin alike, all of them go.
NEEDED = {
    "item_position_once tasks_item_hit_id_b0f08886": "showing an item",
    "judgment_newest_first judgments_judgment_assignment_id_0f42a956 judgments_judgment_item_id_de34bce2":
        "showing an item",
    "hit_waiting hit_number_once tasks_hit_campaign_id_46e13417": "choosing a HIT",
    "tasks_item_pair_id_67ad5a22": "choosing a HIT",
    "assignment_of_worker": "counting what a worker took",
    "judgments_acceptance_assignment_id_af7127e3": "excluding work",
    "judgments_acceptance_pair_id_81a22a77 acceptance_one_per_slot acceptance_one_per_worker": "excluding work",
    "assignment_going_on": "looking for work that was left",
    "platforms_publishedhit_hit_id_195f740a published_hit_once_per_round": "looking for HITs to publish",
    "operation_to_send": "looking for calls to make",
    "published_hit_to_poll": "looking for HITs to poll",
    "assignment_unbooked": "the campaign",
    "payment_unpaid": "the pay",
    "assignment_checked_last": "forecasting",
    "assignment_taken assignment_newest_first": "looking at what is returned",
    "assignment_unsubmitted": "looking for lost work",
    "operation_ended": "finishing",
    "payment_paid": "finishing",
    "submission_decided to_decide submission_open": "finishing",
    "published_hit_unposted published_hit_once_per_round": "finishing",
    "pool_once_per_query pools_pool_query_id_459c3a3d": "the list of queries",
    "pair_once_per_pool pools_pair_pool_id_3ac5d9ba": "the list of queries",
}  # fmt: skip


@pytest.mark.parametrize("indexes", NEEDED)
def test_a_lost_index_is_noticed(world: World, indexes: str) -> None:
    action = NEEDED[indexes]
    with transaction.atomic():
        with connection.cursor() as cursor:
            for index in indexes.split():
                cursor.execute("SELECT indrelid::regclass FROM pg_index WHERE indexrelid = %s::regclass", [index])
                (table,) = cursor.fetchone()
                cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {index}")
                cursor.execute(f"DROP INDEX IF EXISTS {index}")
        noticed = beyond(action, reads_in(world, action))
        transaction.set_rollback(True)

    assert noticed
