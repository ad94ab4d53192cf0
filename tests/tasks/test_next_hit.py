"""Which HIT a worker gets next: the rule as one plain query is the reference, on random worlds."""

from datetime import timedelta
from random import Random

import pytest
from django.db import connection
from django.utils import timezone

from core.models import Lab
from pools.models import Campaign, Candidate, Collection, Pair, Passage, Pool, Query
from tasks.models import Assignment, Hit, Item, TestPair, Worker
from tasks.selectors import next_hit

# HITs that need more work than is out, without a pair that the worker met in whatever campaign; those with the fewest
# test pairs that the worker met come first.
RULE = """
WITH met AS (
  SELECT item.* FROM tasks_assignment own JOIN tasks_item item ON item.hit_id = own.hit_id
  WHERE own.worker_id = %(worker)s)
SELECT hit.id
FROM tasks_hit hit
WHERE hit.campaign_id = %(campaign)s
  AND hit.needed > (
    SELECT count(*) FROM tasks_assignment lease
    WHERE lease.hit_id = hit.id AND lease.verdict = 'pending' AND lease.leased_until > %(at)s)
  AND NOT EXISTS (SELECT 1 FROM tasks_assignment own WHERE own.hit_id = hit.id AND own.worker_id = %(worker)s)
  AND NOT EXISTS (
    SELECT 1
    FROM tasks_item item JOIN pools_pair pair ON pair.id = item.pair_id JOIN pools_pool pool ON pool.id = pair.pool_id
    WHERE item.hit_id = hit.id AND (pool.query_id, pair.a_id, pair.b_id) IN (
      SELECT met_pool.query_id, met_pair.a_id, met_pair.b_id
      FROM met JOIN pools_pair met_pair ON met_pair.id = met.pair_id
        JOIN pools_pool met_pool ON met_pool.id = met_pair.pool_id))
ORDER BY (
    SELECT count(*) FROM tasks_item item
    WHERE item.hit_id = hit.id AND item.test_id IN (SELECT test_id FROM met WHERE test_id IS NOT NULL)),
  hit.number
LIMIT 1
"""


def by_the_rule(worker: Worker, campaign: Campaign, at: object) -> int | None:
    with connection.cursor() as cursor:
        cursor.execute(RULE, {"campaign": campaign.pk, "worker": worker.pk, "at": at})
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
            asked = [(pair, None) for pair in sorted(set(pairs[place : place + 3]), key=lambda pair: pair.pk)]
            asked += [(None, test) for test in random.sample(tests, 2)]  # type: ignore[misc]
            Item.objects.bulk_create(
                Item(hit=hit, position=position, pair=pair, test=test, a_left=True)
                for position, (pair, test) in enumerate(asked, start=1)
            )
        campaigns.append(campaign)
    return campaigns


@pytest.mark.parametrize("seed", range(12))
def test_the_next_hit_is_the_one_that_the_rule_names(lab: Lab, seed: int) -> None:
    random = Random(seed)
    at = timezone.now()
    campaigns = make_world(random, lab, seed)
    workers = [Worker.objects.create(lab=lab) for _worker in range(4)]
    given = 0
    for _step in range(30):
        worker, campaign = random.choice(workers), random.choice(campaigns)
        expected = by_the_rule(worker, campaign, at)
        assert next_hit(worker, campaign, at) == expected
        assert next_hit(worker, campaign, at, lock=True) == expected
        if expected is None:
            continue
        given += 1
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
    assert given > 3
