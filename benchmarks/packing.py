"""The paper's largest design in PostgreSQL: storing 141,887 pairs, packing and storing 14,189 HITs, giving them out.

The peer of packing is the same work done row by row through the ORM's bulk_create. The peer of giving out a HIT, to
workers who have done 0 to 1,000 before, is one count over all items, in turns with it. Both are measured in processor
time, here and in PostgreSQL. What a worker has done is done for good, or waits for other workers too, as it does in a
campaign that asks for several judgments of a pair.
"""

import argparse
import sys
import time
from random import Random
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.processor import thread_seconds
from benchmarks.servers import own_servers

if TYPE_CHECKING:
    from pools.models import Campaign

PAIRS = 141_887
QUERIES = 6_980
LIMIT_PACKING = 0.7  # of the time of its peer, which stores the items alone
LIMIT_GIVING = 2.0  # counts of all items, for the next HIT of whoever has done the most
DONE = (0, 10, 100, 1_000)
ROUNDS = 15


def main(arguments: list[str]) -> int:
    """Measure in a database of its own. Return 1 if packing, or giving out a HIT, takes too long beside its peer."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.packing", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a hundredth of it, as a quick check")
    share = 100 if parser.parse_args(arguments).small else 1
    with own_servers():
        return _measure(QUERIES // share, PAIRS // share)


def sizes(queries: int, pairs: int) -> list[int]:
    """Pool sizes of so many queries whose pairs add up to `pairs` or a little more, 16 passages at the most."""
    random = Random(1)
    drawn = [1 + min(15, int(random.gammavariate(3.6, 1.45))) for _ in range(queries)]
    while sum(size * (size - 1) // 2 for size in drawn) < pairs:
        at = random.randrange(queries)
        drawn[at] = min(17, drawn[at] + 1)
    return drawn


def _measure(queries: int, pairs: int) -> int:
    from django.db import connection

    from core.models import Lab
    from core.progress import silent
    from evaluation.judging.pooling import all_pairs
    from pools.models import Campaign, Collection, Pair
    from pools.services import Plan, _store_plan
    from tasks import services as task_services
    from tasks.models import Hit, Item, TestPair

    lab = Lab.objects.create(name="bench")
    collection = Collection.objects.create(lab=lab, name="bench")
    campaign = Campaign.objects.create(lab=lab, collection=collection, name="bench")
    pools = {f"q{n}": tuple(f"q{n}-{m:02}" for m in range(size)) for n, size in enumerate(sizes(queries, pairs))}
    plan = Plan(pools, {query: tuple(all_pairs(query, pool)) for query, pool in pools.items()}, len(pools))
    started = time.perf_counter()
    _store_plan(campaign, plan, silent())
    stored = Pair.objects.filter(pool__campaign=campaign).count()
    print(f"storing {stored:,} pairs of {queries:,} pools: {time.perf_counter() - started:.2f} s")

    TestPair.objects.bulk_create(
        TestPair(
            campaign=campaign, question=f"test {n}", relevant_text=f"r{n}", off_topic_text=f"o{n}", state="confirmed"
        )
        for n in range(30)
    )
    Campaign.objects.update(state="packing")
    started = time.perf_counter()
    task_services.campaign_pack(campaign_id=campaign.pk)
    seconds = time.perf_counter() - started
    hits, items = Hit.objects.count(), Item.objects.count()
    print(f"packing and storing {hits:,} HITs ({items:,} items): {seconds:.2f} s")

    rows = list(Item.objects.values_list("hit_id", "position", "pair_id", "test_id", "a_left"))
    Item.objects.all().delete()
    started = time.perf_counter()
    Item.objects.bulk_create(
        [Item(hit_id=h, position=p, pair_id=pair, test_id=test, a_left=left) for h, p, pair, test, left in rows],
        batch_size=5000,
    )
    peer = time.perf_counter() - started
    print(f"the peer, storing the items alone with bulk_create: {peer:.2f} s; ours takes {seconds / peer:.2f} of that")

    campaign.refresh_from_db()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    worst = max(_giving(campaign, min(done, hits // 4), waiting=waiting) for done in DONE for waiting in (True, False))

    # Of a few items, a count says nothing.
    passed = [seconds < LIMIT_PACKING * peer, worst < LIMIT_GIVING or pairs < PAIRS]
    print(f"{'PASS' if passed[0] else 'FAIL'}: packing and storing in under {LIMIT_PACKING} of the peer's time")
    if pairs >= PAIRS:
        print(f"{'PASS' if passed[1] else 'FAIL'}: the next HIT in under {LIMIT_GIVING:.1f} counts of all items")
    return 0 if all(passed) else 1


def _giving(campaign: "Campaign", done: int, *, waiting: bool) -> float:
    """Find the next HIT of a worker who has done so many, and return its processor time as a share of the peer's."""
    from django.db import connection, transaction
    from django.utils import timezone

    from tasks import selectors as task_selectors
    from tasks.models import Assignment, Hit, Worker

    at = timezone.now()
    worker = Worker.objects.create(lab=campaign.lab)
    hits = list(Hit.objects.filter(campaign=campaign, needed__gt=0).order_by("number")[:done])
    ended = {"taken_at": at, "leased_until": at, "finished_at": at, "state": "submitted", "verdict": "accepted"}
    Assignment.objects.bulk_create(Assignment(campaign=campaign, hit=hit, worker=worker, **ended) for hit in hits)
    if not waiting:
        Hit.objects.filter(pk__in=[hit.pk for hit in hits]).update(needed=0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (server,) = cursor.fetchone()

    def used() -> float:
        return time.thread_time() + thread_seconds(server)

    seconds, ours, peers = [], [], []
    for _round in range(ROUNDS):
        with transaction.atomic():  # what storing the assignment costs does not depend on how much was done before
            started, before = time.perf_counter(), used()
            assert task_selectors.next_hit(worker, campaign, at, lock=True) is not None
            ours.append(used() - before)
            seconds.append(time.perf_counter() - started)
        before = used()
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*), count(test_id) FROM tasks_item")
            cursor.fetchone()
        peers.append(used() - before)
    share = median(ours) / median(peers)
    print(
        f"the next HIT of a worker who has done {done:,}{' that wait for others' if waiting and done else ''}: "
        f"{median(ours) * 1000:.1f} ms of processor time ({median(seconds) * 1000:.1f} ms), "
        f"{share:.2f} of a count of all items ({median(peers) * 1000:.1f} ms)"
    )
    return share


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
