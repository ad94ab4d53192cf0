"""The paper's largest design in PostgreSQL: storing 141,887 pairs, packing and storing 14,189 HITs, giving them out.

The peer is the same work done row by row through the ORM's bulk_create.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from random import Random

PAIRS = 141_887
QUERIES = 6_980
LIMIT_SECONDS = 30.0


def main(arguments: list[str]) -> int:
    """Measure in a database of its own, and return 1 if packing and storing takes too long."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.packing", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a hundredth of it, as a quick check")
    share = 100 if parser.parse_args(arguments).small else 1
    with tempfile.TemporaryDirectory(prefix="bestknown-bench-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        os.environ.update(BESTKNOWN_VAR=folder, DEVELOPMENT="1", DJANGO_SETTINGS_MODULE="config.settings")
        os.environ.pop("DATABASE_URL", None)
        os.environ.pop("REDIS_URL", None)
        from config import embedded

        embedded.ensure()
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
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
    from django.utils import timezone

    from evaluation.pooling import all_pairs
    from pools.models import Campaign, Collection, Lab, Pair
    from pools.services import Plan, _store_plan
    from tasks import services
    from tasks.models import Hit, Item, TestPair, Worker

    lab = Lab.objects.create(name="bench")
    collection = Collection.objects.create(lab=lab, name="bench")
    campaign = Campaign.objects.create(lab=lab, collection=collection, name="bench")
    pools = {f"q{n}": tuple(f"q{n}-{m:02}" for m in range(size)) for n, size in enumerate(sizes(queries, pairs))}
    plan = Plan(pools, {query: tuple(all_pairs(query, pool)) for query, pool in pools.items()})
    started = time.perf_counter()
    _store_plan(campaign, plan)
    stored = Pair.objects.filter(pool__campaign=campaign).count()
    print(f"storing {stored:,} pairs of {queries:,} pools: {time.perf_counter() - started:.2f} s")

    TestPair.objects.bulk_create(
        TestPair(campaign=campaign, question=f"test {n}", relevant_text="r", off_topic_text="o", state="confirmed")
        for n in range(30)
    )
    Campaign.objects.update(state="packing")
    started = time.perf_counter()
    services.campaign_pack(campaign_id=campaign.pk)
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
    taken, started = 200, time.perf_counter()
    worker = Worker.objects.create(lab=lab)
    for _ in range(taken):
        services.assignment_take(worker=Worker.objects.create(lab=lab), campaign=campaign, at=timezone.now())
    print(f"giving out a HIT: {(time.perf_counter() - started) / taken * 1000:.1f} ms")
    worker.delete()

    passed = seconds < LIMIT_SECONDS
    print(f"{'PASS' if passed else 'FAIL'}: packing and storing in under {LIMIT_SECONDS:.0f} seconds")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
