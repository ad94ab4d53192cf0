"""Publishing the paper's largest campaign to a marketplace, and asking it what was submitted.

The marketplace is ours, as production runs it, on this machine. The peers are the same calls of boto3 from the same
number of processes, with nothing written down on our side: what the outbox, the ledger and the matching cost.
"""

import argparse
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from benchmarks.servers import own_servers

HITS = 14_189
PEERS_HITS = 2_000
PROCESSES = 4
MOST_MEMORY_GROWTH = 1.25


def main(arguments: list[str]) -> int:
    """Measure with servers of its own, and return 1 if a mark is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.platform", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a hundredth of it, as a quick check")
    share = 100 if parser.parse_args(arguments).small else 1
    with own_servers() as folder:
        from django.conf import settings

        from tests.marketplace.server import Marketplace

        marketplace = Marketplace(folder)
        try:
            requester = marketplace.test("requester", name="bench", deposit="100000.00")
            os.environ.update(
                AWS_ACCESS_KEY_ID=requester["key_id"],
                AWS_SECRET_ACCESS_KEY=requester["secret"],
                MARKETPLACE_URL=marketplace.url,
                SITE_URL="http://localhost:8000",
            )
            settings.MARKETPLACE_URL = settings.MARKETPLACE_SUBMIT_HOST = marketplace.url
            settings.SITE_URL = os.environ["SITE_URL"]
            return _measure(marketplace.database, HITS // share, PEERS_HITS // share)
        finally:
            marketplace.stop()


def _measure(marketplace: str, hits: int, peers_hits: int) -> int:
    from platforms.models import Operation, Publication, Submission
    from tasks.models import Hit

    publication = _published(hits)
    first, growth = _pool(_publish, publication.pk, hits)
    assert Operation.objects.filter(kind="create", state="done").count() == Hit.objects.count() == hits
    publication = Publication.objects.get(pk=publication.pk)
    peer, _none = _pool(_publish_bare, publication.hit_type_id, peers_hits)
    rate, peers_rate = hits / first, peers_hits / peer
    print(f"publishing {hits:,} HITs from {PROCESSES} processes: {first:.0f} s, {rate:.0f} a second")
    print(
        f"the peer, boto3 alone, {peers_hits:,} HITs: {peers_rate:.0f} a second; "
        f"ours is {rate / peers_rate:.2f} of that"
    )
    print(f"memory of a publishing process at the end: {growth:.2f} of what it was after its first 100 calls")

    _submit(marketplace, publication)
    seconds, _growth = _pool(_sync, publication.pk, hits)
    matched = Submission.objects.filter(publication=publication, assignment__isnull=False).count()
    assert matched == hits, f"{matched} of {hits} submitted assignments were found and matched"
    peer, _none = _pool(_ask_bare, publication.pk, peers_hits)
    rate, peers_rate = hits / seconds, peers_hits / peer
    print(f"sync of {hits:,} submitted assignments: {seconds:.0f} s, {rate:.0f} a second, all matched")
    print(
        f"the peer, asking boto3 about {peers_hits:,} HITs: {peers_rate:.0f} a second; ours is {rate / peers_rate:.2f}"
    )

    passed = growth <= MOST_MEMORY_GROWTH
    print(f"{'PASS' if passed else 'FAIL'}: publishing in bounded memory, at most {MOST_MEMORY_GROWTH} of the first")
    return 0 if passed else 1


def _published(hits: int) -> Any:
    """A campaign of so many HITs whose publication has begun."""
    from django.utils import timezone

    from core.models import Lab
    from platforms.publishing import publication_publish, publication_write
    from pools.models import Campaign, Collection
    from tasks.models import Hit

    lab = Lab.objects.create(name="bench")
    collection = Collection.objects.create(lab=lab, name="bench")
    campaign = Campaign.objects.create(lab=lab, collection=collection, name="bench", state=Campaign.State.OPEN)
    Hit.objects.bulk_create(Hit(campaign=campaign, number=number, needed=1) for number in range(1, hits + 1))
    publication = publication_write(campaign=campaign, pay="base-and-bonus", rate=1000, requirements=[])
    return publication_publish(publication=publication, at=timezone.now(), although_nobody_qualifies=True)


def _pool(work: Callable[[Any, int], float], about: object, count: int) -> tuple[float, float]:
    """Let processes do a share each. The seconds that it took, and the most that a process said of itself."""
    context = multiprocessing.get_context("spawn")
    shares = [count // PROCESSES + (number < count % PROCESSES) for number in range(PROCESSES)]
    with context.Pool(PROCESSES, _begin) as pool:
        pool.map(_ready, range(PROCESSES))
        started = time.perf_counter()
        said = pool.starmap(work, [(about, share) for share in shares], chunksize=1)
        return time.perf_counter() - started, max(said)


def _begin() -> None:
    import django

    django.setup()


def _ready(_number: int) -> None:
    time.sleep(0.5)  # so that each process gets one of these, and has begun


def _publish(publication_id: int, _share: int) -> float:
    """What the job does, until nothing is left. How much its memory grew."""
    from django.utils import timezone

    from platforms.models import Operation, Publication
    from platforms.outbox import operations_run
    from platforms.publishing import publication_plan, unposted

    publication = Publication.objects.get(pk=publication_id)
    first = 0
    while True:
        publication_plan(publication_id=publication_id, at=timezone.now())
        calls = operations_run(publication=publication, limit=100)
        first = first or (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss if calls else 0)
        publication.refresh_from_db()
        if not calls and not Operation.objects.filter(ended_at=None).exists() and not unposted(publication).exists():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (first or 1) if first else 1.0


def _publish_bare(hit_type_id: str, share: int) -> float:
    from platforms.mturk.client import client_for, external_question
    from platforms.mturk.endpoints import endpoint_of

    client = client_for(endpoint_of("marketplace"))
    for number in range(share):
        client.create_hit_with_hit_type(
            HITTypeId=hit_type_id,
            LifetimeInSeconds=1_209_600,
            MaxAssignments=1,
            Question=external_question("http://localhost:8000/m/link/1/"),
            RequesterAnnotation=f"peer {os.getpid()} {number}",
            UniqueRequestToken=f"peer {os.getpid()} {number}",
        )
    return 0.0


def _submit(marketplace: str, publication: Any) -> None:
    """Every HIT done by one of 200 workers: rows at the marketplace, and ours."""
    import psycopg2
    from django.utils import timezone

    from platforms.models import PublishedHit
    from tasks.models import Assignment, Worker
    from tasks.services import receipt_code

    at = timezone.now()
    published_hits = list(PublishedHit.objects.filter(publication=publication).order_by("id").select_related("hit"))
    campaign = publication.campaign
    workers = Worker.objects.bulk_create(
        Worker(lab=campaign.lab, platform="marketplace", external_id=f"ABENCH{number}") for number in range(200)
    )
    done = Assignment.objects.bulk_create(
        Assignment(
            campaign=campaign,
            hit=published_hit.hit,
            worker=workers[number % 200],
            state=Assignment.State.SUBMITTED,
            taken_at=at,
            leased_until=at + timedelta(hours=1),
            finished_at=at,
            judged=13,
            platform_assignment_id=f"3BENCH{number}",
        )
        for number, published_hit in enumerate(published_hits)
    )
    for assignment in done:
        assignment.receipt = receipt_code(assignment)
    Assignment.objects.bulk_update(done, ["receipt"], batch_size=2000)
    answer = (
        '<?xml version="1.0" encoding="UTF-8"?><QuestionFormAnswers xmlns="http://mechanicalturk.amazonaws.com/'
        'AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd"><Answer><QuestionIdentifier>receipt'
        "</QuestionIdentifier><FreeText>{}</FreeText></Answer></QuestionFormAnswers>"
    )
    with (
        psycopg2.connect(marketplace.replace("postgres://", "postgresql://", 1)) as database,
        database.cursor() as cursor,
    ):
        cursor.execute("CREATE TEMP TABLE done (hit_id text, worker_id text, assignment_id text, answer text)")
        for number in range(0, len(done), 1000):
            values = [
                (published_hits[n].platform_hit_id, f"ABENCH{n % 200}", f"3BENCH{n}", answer.format(done[n].receipt))
                for n in range(number, min(number + 1000, len(done)))
            ]
            cursor.executemany("INSERT INTO done VALUES (%s, %s, %s, %s)", values)
        _fill(cursor)


def _fill(cursor: Any) -> None:
    """Workers and submitted assignments at the marketplace, as if they had come through its site."""
    cursor.execute(
        """
        INSERT INTO marketplace_account (password, email, is_operator, is_active, created_at)
        SELECT '!', lower(worker_id) || '@example.org', false, true, now() FROM (SELECT DISTINCT worker_id FROM done) w;
        INSERT INTO marketplace_worker (account_id, worker_id, status, country, subdivision, adult_content, is_master,
          vouched_approved, vouched_rejected, registered_at)
        SELECT id, upper(split_part(email, '@', 1)), 'active', 'US', '', false, false, 0, 0, now()
        FROM marketplace_account WHERE email LIKE 'abench%';
        INSERT INTO marketplace_assignment (assignment_id, hit_id, worker_id, state, reward, fee, auto_approval_seconds,
          accepted_at, deadline, submitted_at, auto_approval_at, approved_by_clock, answer, feedback)
        SELECT done.assignment_id, hit.id, worker.id, 'Submitted', 0.10, 0.02, 604800, now(), now() + interval '1 hour',
          now(), now() + interval '7 days', false, done.answer, ''
        FROM done JOIN marketplace_hit hit ON hit.hit_id = done.hit_id
          JOIN marketplace_worker worker ON worker.worker_id = done.worker_id;
        UPDATE marketplace_hit SET n_submitted = 1, status = 'Reviewable', reviewable_at = now()
        WHERE hit_id IN (SELECT hit_id FROM done);
        ANALYZE;
        """
    )


def _sync(publication_id: int, _share: int) -> float:
    from django.utils import timezone

    from platforms.models import Publication
    from platforms.syncing import publication_sync

    publication = Publication.objects.get(pk=publication_id)
    while publication_sync(publication=publication, at=timezone.now()).polled:
        pass
    return 0.0


def _ask_bare(publication_id: int, share: int) -> float:
    from platforms.models import PublishedHit
    from platforms.mturk.client import client_for
    from platforms.mturk.endpoints import endpoint_of

    client = client_for(endpoint_of("marketplace"))
    for platform_hit_id in PublishedHit.objects.filter(publication=publication_id).values_list(
        "platform_hit_id", flat=True
    )[:share]:
        client.list_assignments_for_hit(HITId=platform_hit_id, MaxResults=100)
    return 0.0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
