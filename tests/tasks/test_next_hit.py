"""Which HIT a worker gets next: the rule as one plain query is the reference, on random worlds. Nobody waits for it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from random import Random

import pytest
from django.db import connection, transaction
from django.utils import timezone

from core.models import Lab
from pools.models import Campaign, Candidate, Pair, Pool
from runs.models import Collection, Passage, Query
from tasks import next_hit as choice
from tasks import services as task_services
from tasks.models import Assignment, Hit, Item, TestPair, Worker
from tasks.next_hit import next_hit
from tests import factories

# Of the first HITs that need more work than is out and that the worker has not taken, those without a pair that the
# worker met in whatever campaign, and of these the one with the fewest test pairs of their last HITs. If there is none,
# the first after them.
RULE = """
WITH met AS (
  SELECT item.* FROM tasks_assignment own JOIN tasks_item item ON item.hit_id = own.hit_id
  WHERE own.worker_id = %(worker)s),
remembered AS (
  SELECT item.test_id FROM tasks_item item WHERE item.test_id IS NOT NULL AND item.hit_id IN (
    SELECT own.hit_id FROM tasks_assignment own
    WHERE own.worker_id = %(worker)s AND own.campaign_id = %(campaign)s
    ORDER BY own.hit_id DESC LIMIT %(remembered)s)),
waiting AS (
  SELECT hit.*, row_number() OVER (ORDER BY hit.number) AS place FROM tasks_hit hit
  WHERE hit.campaign_id = %(campaign)s
    AND hit.needed > (
      SELECT count(*) FROM tasks_assignment lease
      WHERE lease.hit_id = hit.id AND lease.verdict = 'pending' AND lease.leased_until > %(at)s)
    AND NOT EXISTS (SELECT 1 FROM tasks_assignment own WHERE own.hit_id = hit.id AND own.worker_id = %(worker)s))
SELECT hit.id
FROM waiting hit
WHERE NOT EXISTS (
    SELECT 1
    FROM tasks_item item JOIN pools_pair pair ON pair.id = item.pair_id JOIN pools_pool pool ON pool.id = pair.pool_id
    WHERE item.hit_id = hit.id AND (pool.query_id, pair.a_id, pair.b_id) IN (
      SELECT met_pool.query_id, met_pair.a_id, met_pair.b_id
      FROM met JOIN pools_pair met_pair ON met_pair.id = met.pair_id
        JOIN pools_pool met_pool ON met_pool.id = met_pair.pool_id))
ORDER BY
  greatest(place - %(looked_at)s, 0),
  (SELECT count(*) FROM tasks_item item
   WHERE item.hit_id = hit.id AND item.test_id IN (SELECT test_id FROM remembered)),
  hit.number
LIMIT 1
"""


def by_the_rule(worker: Worker, campaign: Campaign, at: object) -> int | None:
    with connection.cursor() as cursor:
        bounds = {"looked_at": choice.LOOKED_AT, "remembered": choice.REMEMBERED}
        cursor.execute(RULE, {"campaign": campaign.pk, "worker": worker.pk, "at": at, **bounds})
        row = cursor.fetchone()
    return row and row[0]


def make_world(random: Random, lab: Lab, number: int) -> list[Campaign]:
    """Two campaigns that ask partly the same of one collection, in HITs of three pairs and two test pairs.

    Some pairs stand in two HITs of a campaign, as they do where the last HIT is filled.
    """
    collection = Collection.objects.create(lab=lab, name=f"world {number}")
    queries = [Query.objects.create(collection=collection, qid=f"q{n}", text="q") for n in range(6)]
    passages = [Passage.objects.create(collection=collection, pid=f"p{n}", text="p") for n in range(4)]
    campaigns = []
    for name in ("first", "second"):
        campaign = Campaign.objects.create(lab=lab, collection=collection, name=f"{name} {number}", state="open")
        tests = TestPair.objects.bulk_create(
            TestPair(campaign=campaign, question="q", relevant_text="r", off_topic_text="o", state="confirmed")
            for _test in range(random.choice([2, 4, 8]))
        )
        pairs = []
        for query in random.sample(queries, random.randint(3, 6)):
            pool = Pool.objects.create(campaign=campaign, query=query)
            chosen = random.sample(passages, random.randint(2, 4))
            Candidate.objects.bulk_create(Candidate(pool=pool, passage=passage) for passage in chosen)
            every = [(a, b) for a in chosen for b in chosen if a.pid < b.pid]
            pairs += [Pair.objects.create(pool=pool, a=a, b=b) for a, b in every]
        random.shuffle(pairs)
        pairs += random.sample(pairs, -len(pairs) % 3)
        for place in range(0, len(pairs), 3):
            hit = Hit.objects.create(campaign=campaign, number=place // 3 + 1, needed=random.choice([0, 1, 1, 2]))
            items = [(pair, None) for pair in sorted(set(pairs[place : place + 3]), key=lambda pair: pair.pk)]
            items += [(None, test) for test in random.sample(tests, 2)]  # type: ignore[misc]
            Item.objects.bulk_create(
                Item(hit=hit, position=position, pair=pair, test=test, a_left=True)
                for position, (pair, test) in enumerate(items, start=1)
            )
        campaigns.append(campaign)
    return campaigns


# Of the first 24 seeds, those that told a broken line of the query from the rule when others did not.
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 12, 13, 16, 18, 21, 23])
def test_the_next_hit_is_the_one_that_the_rule_names(lab: Lab, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    monkeypatch.setattr(choice, "LOOKED_AT", random.choice([1, 2, 3, 100]))
    monkeypatch.setattr(choice, "REMEMBERED", random.choice([1, 2, 100]))
    at = timezone.now()
    campaigns = make_world(random, lab, seed)
    workers = [Worker.objects.create(lab=lab) for _worker in range(4)]
    factories.analyze()  # or the rule, as it is written above, is planned for tables without rows
    count = 0
    for _step in range(30):
        worker, campaign = random.choice(workers), random.choice(campaigns)
        expected = by_the_rule(worker, campaign, at)
        assert next_hit(worker, campaign, at) == expected
        assert next_hit(worker, campaign, at, lock=True) == expected
        if expected is None:
            continue
        count += 1
        Assignment.objects.create(
            campaign=campaign,
            hit_id=expected,
            worker=worker,
            taken_at=at,
            leased_until=at + timedelta(hours=random.choice([-1, 1])),
            state="left",
            finished_at=at,
            verdict=random.choice(["pending", "accepted", "excluded"]),
        )
    assert count > 3


@pytest.fixture
def eight(db: None, lab: Lab) -> Campaign:
    """An open campaign of eight HITs, each of which needs one more assignment."""
    campaign = Campaign.objects.create(
        lab=lab, collection=Collection.objects.create(lab=lab, name="eight"), name="eight", state="open"
    )
    Hit.objects.bulk_create(Hit(campaign=campaign, number=number, needed=1) for number in range(1, 9))
    return campaign


def take_in_thread(worker: Worker, campaign: Campaign) -> int | None:
    """The number of the HIT that a worker takes through a connection of their own; None if none is left."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '5s'")
        return task_services.assignment_take(worker=worker, campaign=campaign, at=timezone.now()).hit.number
    except task_services.NoWork:
        return None
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_workers_who_come_at_once_get_a_hit_each(eight: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "LOOKED_AT", 2)
    workers = [Worker.objects.create(lab=eight.lab) for _worker in range(10)]
    with ThreadPoolExecutor(len(workers)) as threads:
        numbers = list(threads.map(lambda worker: take_in_thread(worker, eight), workers))
    assert sorted(number for number in numbers if number is not None) == list(range(1, 9))


@pytest.mark.django_db(transaction=True)
def test_nobody_waits_for_those_who_hold_every_hit_that_is_looked_at(
    eight: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "LOOKED_AT", 2)
    worker = Worker.objects.create(lab=eight.lab)
    with transaction.atomic():
        hits = list(Hit.objects.filter(number__in=[1, 2, 4]).order_by("number").select_for_update())
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(take_in_thread, worker, eight).result() == 3
    assert [hit.number for hit in hits] == [1, 2, 4]
    assert Assignment.objects.get().worker == worker
