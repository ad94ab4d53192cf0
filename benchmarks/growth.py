"""`python -m benchmarks.growth JUDGMENTS`: a site with so many judgments in one campaign, and what its pages cost.
`python -m benchmarks.growth --design TIMES`: what the paper's largest design, so many times over, costs from plan to
results.

Everything is written by SQL, past the triggers that services rely on: pairs are judged once, in HITs of ten pairs and
three test pairs, at a marketplace that has paid. One HIT in fifty still waits, and one in a thousand is being judged.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import connection

from benchmarks.harness import Bench, Used, cost, in_new_process, postmaster

if TYPE_CHECKING:
    from datetime import datetime

    from core.models import Lab
    from pools.models import Campaign

PASSAGES, PAIRS, ITEMS = 7, 10, 13  # passages of a pool; pairs of a HIT, and items
PAIRS_OF_POOL = PASSAGES * (PASSAGES - 1) // 2
TESTS = 300
HITS_OF_WORKER = 60
# What makes PostgreSQL take many rows fast, and lets a crash lose them.
BULK = ("max_wal_size = '8GB'", "checkpoint_timeout = '1h'", "fsync = off", "full_page_writes = off")
PUBLISHED = 1_000  # HITs of a design that are published at the marketplace
# By table and columns, rows for n from 0 to the count. A table's name is its first key here, with `_count` how many.
ROWS = (
    (
        "runs_query (id, qid, text, collection_id)",
        "queries",
        "%(runs_query)s + n, 'q' || lpad(n::text, 8, '0'), 'question ' || n, %(collection)s",
    ),
    (
        "runs_passage (id, pid, text, collection_id)",
        "passages",
        "%(runs_passage)s + n, 'p' || lpad(n::text, 9, '0'), 'What passage ' || n || ' says.', %(collection)s",
    ),
    ("pools_pool (id, campaign_id, query_id)", "queries", "%(pools_pool)s + n, %(campaign)s, %(runs_query)s + n"),
    (
        "pools_candidate (id, passage_id, pool_id)",
        "passages",
        "%(pools_candidate)s + n, %(runs_passage)s + n, %(pools_pool)s + n / 7",
    ),
    (
        "pools_pair (id, a_id, b_id, pool_id)",
        "pairs",
        "%(pools_pair)s + n, %(runs_passage)s + n / 21 * 7 + (%(sides)s::int[])[n %% 21 + 1] / 7, "
        "%(runs_passage)s + n / 21 * 7 + (%(sides)s::int[])[n %% 21 + 1] %% 7, %(pools_pool)s + n / 21",
    ),
    (
        "tasks_testpair (id, question, relevant_text, off_topic_text, state, proven_at, campaign_id)",
        "tests",
        "%(tasks_testpair)s + n, 't' || n, 'r' || n, 'o' || n, 'confirmed', now(), %(campaign)s",
    ),
    (
        "tasks_worker (id, platform, label, external_id, came_at, barred_at, lab_id)",
        "workers",
        "%(tasks_worker)s + n, 'marketplace', '', 'W' || n, now(), CASE WHEN n %% 50 = 1 THEN now() END, %(lab)s",
    ),
    (
        "tasks_hit (id, number, needed, campaign_id)",
        "hits",
        "%(tasks_hit)s + n, n + 1, (n >= %(done)s)::int, %(campaign)s",
    ),
    (
        "tasks_item (id, position, a_left, hit_id, pair_id, test_id)",
        "items",
        "%(tasks_item)s + n, n %% 13 + 1, n %% 2 = 0, %(tasks_hit)s + n / 13, "
        "CASE WHEN n %% 13 < 10 THEN %(pools_pair)s + n %% 13 * %(hits)s + n / 13 END, "
        "CASE WHEN n %% 13 >= 10 THEN %(tasks_testpair)s + (n / 13 * 3 + n %% 13) %% %(tests)s END",
    ),
    (
        "tasks_assignment (id, state, verdict, taken_at, leased_until, finished_at, judged, owed, is_booked, "
        "is_submitted, receipt, platform_assignment_id, came_from, campaign_id, hit_id, worker_id)",
        "assignments",
        "%(tasks_assignment)s + n, CASE WHEN n < %(done)s THEN 'submitted' ELSE 'active' END, "
        "CASE WHEN n >= %(done)s THEN 'pending' WHEN n %% 50 = 1 THEN 'excluded' ELSE 'accepted' END, "
        "now() - interval '1 second' * (%(assignments)s - n), now() + interval '1 hour', "
        "CASE WHEN n < %(done)s THEN now() - interval '1 second' * (%(done)s - n) END, 13, 2, "
        "n < %(done)s, n < %(done)s, '', 'A' || n, '', %(campaign)s, %(tasks_hit)s + n, "
        "%(tasks_worker)s + n %% %(workers)s",
    ),
    (
        "judgments_judgment (id, preferred, shown_at, made_at, assignment_id, item_id)",
        "judgments",
        "%(judgments_judgment)s + n, CASE WHEN n %% 3 = 0 THEN 'right' ELSE 'left' END, now() - interval '7 seconds', "
        "now(), %(tasks_assignment)s + n / 13, %(tasks_item)s + n",
    ),
    (
        "judgments_acceptance (id, slot, assignment_id, pair_id, worker_id, judgment_id)",
        "accepted",
        "%(judgments_acceptance)s + n, 1, %(tasks_assignment)s + n / 10, "
        "%(pools_pair)s + n %% 10 * %(hits)s + n / 10, "
        "%(tasks_worker)s + n / 10 %% %(workers)s, %(judgments_judgment)s + n / 10 * 13 + n %% 10",
    ),
    (
        "platforms_publishedhit (id, round, max_assignments, added, platform_hit_id, hit_type_id, posted_at, "
        "expires_at, turn, next_poll_at, compare_due, ours_rewards, ours_bonuses, platform_rewards, platform_bonuses, "
        "difference, hit_id, publication_id)",
        "hits",
        "%(platforms_publishedhit)s + n, 1, 1, 0, 'H' || n, 'T', now(), now() + interval '1 day', 0, "
        "CASE WHEN n >= %(done)s THEN now() - interval '1 second' * (%(hits)s - n) END, false, 0, 0, 0, 0, '', "
        "%(tasks_hit)s + n, %(publication)s",
    ),
    (
        "platforms_submission (id, platform_assignment_id, platform_worker_id, status, submitted_at, receipt, "
        "why_unmatched, decision, decided_at, reason, assignment_id, publication_id, published_hit_id)",
        "done",
        "%(platforms_submission)s + n, 'A' || n, 'W' || n %% %(workers)s, 'Approved', now(), '', '', 'approve', now(), "
        "'', %(tasks_assignment)s + n, %(publication)s, %(platforms_publishedhit)s + n",
    ),
    (
        "platforms_payment (id, purpose, amount, fee, token, state, evidence, owed_at, paid_at, assignment_id, "
        "publication_id, submission_id)",
        "done",
        "%(platforms_payment)s + n, 'reward', 2, 0.4, 'p' || n, 'paid', '{}', now(), now(), "
        "%(tasks_assignment)s + n, %(publication)s, %(platforms_submission)s + n",
    ),
    (
        "platforms_operation (id, kind, turn, token, state, attempts, next_try, ended_at, request, result, error, "
        "publication_id, published_hit_id)",
        "hits",
        "%(platforms_operation)s + n, 'create', 0, 'o' || n, 'done', 1, now(), now(), '{}', '{}', '', "
        "%(publication)s, %(platforms_publishedhit)s + n",
    ),
)
PAGES = (
    "campaigns:campaigns", "campaigns:campaign", "campaigns:plan", "judgments:queries", "judgments:files",
    "review:work", "review:reports", "platforms:publication", "platforms:ledger", "platforms:pay", "results:results",
)  # fmt: skip


def fill(lab: "Lab", judgments: int) -> "Campaign":
    """An open campaign of a lab with so many judgments, or up to twelve fewer. The role may go past triggers."""
    from django.utils import timezone

    from platforms.models import Publication
    from pools.models import Campaign
    from runs.models import Collection

    collection = Collection.objects.create(lab=lab, name="grown")
    done = judgments // ITEMS
    hits = done + done // 50 + 1
    pairs = hits * PAIRS
    queries = -(-pairs // PAIRS_OF_POOL)
    campaign = Campaign.objects.create(
        lab=lab, collection=collection, name="grown", state="open", pair_count=pairs, pool_histogram={PASSAGES: queries}
    )
    publication = Publication.objects.create(
        campaign=campaign, platform="marketplace", state="open", title="t", description="d", published_at=timezone.now()
    )
    values: dict[str, Any] = {
        "lab": lab.pk, "collection": collection.pk, "campaign": campaign.pk, "publication": publication.pk,
        "queries": queries, "passages": queries * PASSAGES, "pairs": pairs, "tests": TESTS, "hits": hits, "done": done,
        "workers": -(-hits // HITS_OF_WORKER), "items": hits * ITEMS, "assignments": done + done // 1000,
        "judgments": done * ITEMS, "sides": [a * PASSAGES + b for a in range(PASSAGES) for b in range(a + 1, PASSAGES)],
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        for table, count, row in ROWS:
            name = table.partition(" ")[0]
            cursor.execute(f"SELECT coalesce(max(id), 0) + 1 FROM {name}")
            values[name] = cursor.fetchone()[0]
            where = "WHERE n / 10 %% 50 <> 1" if count == "accepted" else ""
            number = "%(done)s * 10" if count == "accepted" else f"%({count})s"
            cursor.execute(
                f"INSERT INTO {table} SELECT {row} FROM generate_series(0::bigint, {number} - 1) n {where}", values
            )
            cursor.execute(f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), max(id)) FROM {name}")
        cursor.execute("SET session_replication_role = origin")
        cursor.execute("ANALYZE")
    return campaign


# --- what statements read


class Reads(NamedTuple):
    """What a statement read: rows of all steps of its plan, those that were left out too; buffers of 8 kB; and the
    names of the indexes that it used.
    """

    rows: int
    buffers: int
    indexes: frozenset[str]
    statement: str


def reads_of(statement: str, parameters: Any) -> Reads:
    """Run a statement, and count what it reads."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", parameters)
        answer = cursor.fetchone()[0]
    plan = (json.loads(answer) if isinstance(answer, str) else answer)[0]["Plan"]
    steps = list(_steps(plan))
    rows = sum(
        (step["Actual Rows"] + step.get("Rows Removed by Filter", 0) + step.get("Rows Removed by Join Filter", 0))
        * step["Actual Loops"]
        for step in steps
    )
    indexes = frozenset(step["Index Name"] for step in steps if "Index Name" in step)
    return Reads(round(rows), plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], indexes, statement)


def _steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _steps(below)


@contextmanager
def statements_read() -> Iterator[list[Reads]]:
    """Every statement sent meanwhile, with what it reads; outside a transaction, only those that change nothing.

    Each is carried out twice, and taken back in between.
    """
    reads: list[Reads] = []

    def explain(execute: Callable[..., Any], sql: str, parameters: Any, many: bool, context: dict[str, Any]) -> Any:
        is_whole = connection.in_atomic_block and sql.lstrip().startswith(("INSERT", "UPDATE", "DELETE"))
        if (is_whole or sql.lstrip("( \n").startswith(("SELECT", "WITH"))) and "set_config" not in sql:
            wrappers, connection.execute_wrappers = connection.execute_wrappers, []
            try:
                with connection.cursor() as cursor:
                    if connection.in_atomic_block:
                        cursor.execute("SAVEPOINT explained")
                    reads.extend(reads_of(part, parameters) for part in sql.split(";") if part.strip())
                    if connection.in_atomic_block:
                        cursor.execute("ROLLBACK TO SAVEPOINT explained")
            finally:
                connection.execute_wrappers = wrappers
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(explain):
        yield reads


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("judgments", type=int, nargs="?", default=2_000_000)
    parser.add_argument("--design", type=float, metavar="TIMES")
    options = parser.parse_args(arguments)
    os.environ.update(DEVELOPMENT="1", DJANGO_SETTINGS_MODULE="config.settings")
    with Bench("full") as bench:
        bench.start_servers()
        import psycopg2

        address = os.environ["DATABASE_URL"].replace("bestknown@", "postgres@", 1)
        with closing(psycopg2.connect(address)) as server, server.cursor() as cursor:
            server.autocommit = True
            cursor.execute("GRANT SET ON PARAMETER session_replication_role TO bestknown")
            for setting in BULK:
                cursor.execute(f"ALTER SYSTEM SET {setting}")
            cursor.execute("SELECT pg_reload_conf()")
        if options.design is None:
            measure(options.judgments)
        else:
            measure_design(bench, options.design)


def measure_design(bench: Bench, times: float) -> None:
    """Print what each step takes: processor time, PostgreSQL's included, and the most memory of its process."""
    from django.utils import timezone

    from benchmarks import platforms, site
    from pools.models import Campaign
    from tasks.models import Worker
    from tests import factories

    def step(name: str, work: Callable[..., Any], *arguments: Any) -> Any:
        used: list[Used] = []
        started = time.perf_counter()
        database = cost(lambda: used.append(in_new_process(work, *arguments)), postmaster(), here=False)
        seconds = time.perf_counter() - started
        spent, most = used[0].seconds + database, used[0].peak
        print(f"{name:<12} {spent:8.1f} s of processors {seconds:8.1f} s {most:8,.0f} MB", flush=True)
        return used[0].result

    bench.queries, bench.pairs = round(bench.queries * times), round(bench.pairs * times)
    collection = site.collection_of(bench, "grown")
    campaign = Campaign.objects.get(pk=step("plan", _plan, collection.pk))
    print(f"{campaign.pair_count:,} pairs of {bench.queries:,} queries", flush=True)
    site.write_tests(campaign)
    Campaign.objects.filter(pk=campaign.pk).update(state=Campaign.State.PACKING)
    step("pack", _pack, campaign.pk)
    factories.analyze()
    campaign.refresh_from_db()
    platforms.start_marketplace(bench)
    publication = platforms.published(campaign)
    hits = min(PUBLISHED, campaign.hits.count())
    step(f"publish {hits:,}", platforms.publish, publication.pk, hits)
    count = max(1, round(1000 * times))
    workers = Worker.objects.bulk_create(Worker(lab=campaign.lab) for _ in range(count))
    with connection.cursor() as cursor:
        cursor.execute(site.JUDGED_SQL, {"first": workers[0].pk, "workers": count, "campaign": campaign.pk})
    step("count", _count, campaign.pk, timezone.now())
    step("export", _export, campaign.pk)
    step("compute", _compute, campaign.pk)


def _plan(collection_id: int) -> int:
    from runs.models import Collection
    from tests import factories

    return factories.campaign(Collection.objects.get(pk=collection_id), "grown", tests=0, start=False).pk


def _pack(campaign_id: int) -> None:
    from tasks.services import campaign_pack

    campaign_pack(campaign_id=campaign_id)


def _count(campaign_id: int, at: "datetime") -> None:
    from pools.counting import campaign_recount
    from pools.models import Campaign

    campaign_recount(campaign=Campaign.objects.get(pk=campaign_id), at=at)


def _export(campaign_id: int) -> None:
    from judgments.refreshing import export_refresh
    from pools.models import Campaign

    export_refresh(campaign=Campaign.objects.get(pk=campaign_id))


def _compute(campaign_id: int) -> None:
    from pools.models import Campaign
    from results.refreshing import result_refresh

    result_refresh(campaign=Campaign.objects.get(pk=campaign_id))


def measure(judgments: int) -> None:
    """Fill the database and print what each page takes: seconds at first and again, and its greatest statement."""
    from django.core.cache import cache
    from django.test import Client
    from django.urls import reverse
    from django.utils import timezone

    from pools.counting import campaign_recount
    from tests import factories

    started = time.perf_counter()
    user = factories.user("researcher")
    lab = factories.lab("grown", user)
    campaign = fill(lab, judgments)
    print(f"filled: {time.perf_counter() - started:.0f} s", flush=True)
    started = time.perf_counter()
    campaign_recount(campaign=campaign, at=timezone.now())
    print(f"counted: {time.perf_counter() - started:.0f} s", flush=True)
    client = Client(SERVER_NAME="localhost")
    client.force_login(user)
    for page in PAGES:
        address = reverse(page, args=[] if page == "campaigns:campaigns" else [campaign.pk])
        cache.clear()
        seconds = []
        for _turn in range(2):
            started = time.perf_counter()
            status = client.get(address).status_code
            seconds.append(time.perf_counter() - started)
        cache.clear()
        with statements_read() as reads:
            client.get(address)
        most, buffers = max(reads, key=lambda read: read.rows), sum(read.buffers for read in reads)
        print(
            f"{page:<24} {status} {seconds[0]:6.2f} s {seconds[1]:6.2f} s {buffers:>9,} buffers; "
            f"most: {most.rows:>10,} rows {most.buffers:>8,} buffers {most.statement[:60]}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
