"""The results of a campaign of 16 runs and 6,980 queries: what the job costs, and how fast its pages answer.

The job computes the results and makes all their files, in a process of its own. What is judged is that it costs in
proportion: CPU (of that process and PostgreSQL) and peak memory are compared with those of a campaign a tenth as large.

The pages are asked one after the other on the site as production runs it. The peers are the campaign's own page and the
health page. What is judged is the time of an answer in the median; on a busy machine, beside the health page's.

Before that, with all caches cold: what the campaign's page costs in CPU (of web processes and PostgreSQL together) and
in memory, how soon each export starts, and whether people who are judging notice six who look at the campaign's page
and download its exports over and over.

Last, what keeping its judgments in use costs: a version of the collection's preference qrels, and counting what a draft
over the same collection would reuse. The peer is the making of the campaign's export files.
"""

import argparse
import http.client
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from benchmarks.packing import PAIRS, QUERIES, sizes
from benchmarks.servers import own_servers, own_site

if TYPE_CHECKING:
    from local.supervisor import Site
    from pools.models import Campaign, Collection

LIMIT_KEPT = 0.5  # of the CPU of the exports
RUNS = 16
DEPTH = 10
ASKED = 40
TENTH = 10
LIMIT_GROWTH = 10  # times the CPU, for ten times the campaign
LIMIT_MEMORY_GROWTH = 3
LIMIT_SECONDS = 0.3
LIMIT_HEALTH = 100  # health pages, where the machine is too busy for the seconds
LIMIT_CPU = 0.2  # seconds for a campaign page with cold caches
LIMIT_PEERS = 8  # warm pages of the list of campaigns, where the machine is too busy for the seconds
PEERS = 40
LIMIT_MEGABYTES = 30  # that it adds to the largest web process
LIMIT_START = 0.2  # seconds until an export starts
LIMIT_JUDGING = 3.0  # times what a judging page takes without the viewers, in the median
VIEWERS = 6
JUDGED = 60  # judging pages that are asked for, without and with the viewers
PAUSE = 0.2  # seconds between what a viewer asks for
WORKERS = 100
COMPUTE = """
import resource, time
import django
django.setup()
from pools.models import Campaign
from results import refreshing
assert refreshing.result_refresh(campaign=Campaign.objects.get(pk={}))
print(time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def main(arguments: list[str]) -> int:
    """Measure with servers of its own, and return 1 if a page takes too long."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.results", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a hundredth of it, as a quick check")
    share = 100 if parser.parse_args(arguments).small else 1
    with own_servers() as folder:
        tenth = judged(folder, QUERIES // share // TENTH, PAIRS // share // TENTH, "tenth")
        campaign = judged(folder, QUERIES // share, PAIRS // share, "largest")
        exported = _export(campaign)
        with own_site() as (port, site):
            cold = _cold(port, campaign, site)
            computed = _compute(tenth, campaign)
            answered = _pages(port, campaign)
        return _kept(campaign, exported) or answered or computed or cold


def judged(folder: Path, queries: int, pairs: int, name: str, workers: int = WORKERS) -> "Campaign":
    """A packed campaign, each of its pairs judged once."""
    from tasks import services as task_services
    from tasks.models import TestPair
    from tests import factories

    pool_sizes = sizes(queries, pairs)
    collection = factories.collection(
        folder,
        in_lab=factories.lab("bench"),
        qrels={f"q{query}": [f"q{query}-0"] for query in range(queries)},
        tops={f"run{number}": dict(ranked(number, pool_sizes)) for number in range(RUNS)},
        name=name,
        texts=False,
    )
    campaign = factories.campaign(collection, name, tests=0, start=False)
    TestPair.objects.bulk_create(
        TestPair(
            campaign=campaign, question=f"test {n}", relevant_text=f"r{n}", off_topic_text=f"o{n}", state="confirmed"
        )
        for n in range(30)
    )
    campaign.state = "packing"
    campaign.save(update_fields=["state"])
    task_services.campaign_pack(campaign_id=campaign.pk)
    _judge(campaign, workers)
    campaign.refresh_from_db()
    return campaign


def ranked(number: int, pool_sizes: list[int]) -> Iterator[tuple[str, list[str]]]:
    """A run that puts a passage of the pool first, and others of it and of its own below."""
    random = Random(number)
    for query, size in enumerate(pool_sizes):
        top = number + 1 if number + 1 < size else random.randrange(size)
        others = [place for place in random.sample(range(size), size) if place != top]
        filled = [f"q{query}-{place}" for place in (top, *others)] + [f"q{query}-{number}-{n}" for n in range(DEPTH)]
        yield f"q{query}", filled[:DEPTH]


def _judge(campaign: "Campaign", count: int) -> None:
    """One accepted assignment a HIT; the passage with the lower number is preferred two times of three."""
    from django.db import connection

    from tasks.models import Worker

    workers = Worker.objects.bulk_create(Worker(lab=campaign.lab) for _ in range(count))
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO tasks_assignment (campaign_id, hit_id, worker_id, state, verdict, taken_at, leased_until,
              finished_at, judged, owed, receipt, platform_assignment_id, came_from)
            SELECT campaign_id, id, %s + number %% %s, 'submitted', 'accepted', now(), now(), now(), 13, 2, '', '', ''
            FROM tasks_hit WHERE campaign_id = %s
            """,
            [workers[0].pk, count, campaign.pk],
        )
        cursor.execute(
            """
            INSERT INTO judgments_judgment (assignment_id, item_id, preferred, shown_at, made_at)
            SELECT assignment.id, item.id,
              CASE WHEN item.a_left = (item.test_id IS NOT NULL OR abs(hashint8(item.id)) %% 3 > 0)
                THEN 'left' ELSE 'right' END,
              now() - interval '1 second' * (5 + abs(hashint8(item.id + 1)) %% 10), now()
            FROM tasks_assignment assignment JOIN tasks_item item ON item.hit_id = assignment.hit_id
            WHERE assignment.campaign_id = %s
            """,
            [campaign.pk],
        )
        cursor.execute(
            """
            INSERT INTO judgments_acceptance (pair_id, slot, judgment_id, worker_id, assignment_id)
            SELECT DISTINCT ON (item.pair_id) item.pair_id, 1, judgment.id, assignment.worker_id, assignment.id
            FROM judgments_judgment judgment JOIN tasks_assignment assignment ON assignment.id = judgment.assignment_id
            JOIN tasks_item item ON item.id = judgment.item_id
            WHERE assignment.campaign_id = %s AND item.pair_id IS NOT NULL ORDER BY item.pair_id, judgment.id
            """,
            [campaign.pk],
        )
        cursor.execute("UPDATE tasks_hit SET needed = 0 WHERE campaign_id = %s", [campaign.pk])
        cursor.execute("ANALYZE")


def _export(campaign: "Campaign") -> float:
    """Seconds of CPU, this process's and PostgreSQL's, for making all export files."""
    from judgments import refreshing
    from judgments.models import StoredFile

    started = spent()
    assert refreshing.export_refresh(campaign=campaign)
    files = StoredFile.objects.filter(state=StoredFile.State.CURRENT)
    size = sum(files.values_list("size", flat=True))
    seconds = spent() - started
    print(f"{len(files)} export files of {size / 1e6:,.0f} MB made in {seconds:.1f} s of CPU")
    return seconds


def _kept(campaign: "Campaign", exported: float) -> int:
    """What it costs to keep the judgments in use: a version of the collection's qrels, and a draft that reuses them."""
    from django.utils import timezone

    from pools.reuse import reused_pairs
    from results import versions
    from tests import factories

    started = spent()
    version = versions.version_add(campaign=campaign, why="For the benchmark.", by=None, at=timezone.now())
    versioned = spent() - started
    draft = factories.campaign(campaign.collection, "next", tests=0, start=False)
    started = spent()
    reused = reused_pairs(draft, afresh=True)
    counted = spent() - started
    assert reused == draft.pair_count, (reused, draft.pair_count)
    good = max(versioned, counted) <= LIMIT_KEPT * exported
    print(
        f"{verdict(good)}: a version of {version.qrels:,} qrels takes {versioned:.1f} s of CPU, and counting the "
        f"{reused:,} pairs that a draft reuses {counted:.1f} s: {versioned / exported:.2f} and "
        f"{counted / exported:.2f} of what the exports take (at most {LIMIT_KEPT})"
    )
    return 0 if good else 1


def spent() -> float:
    """Seconds of CPU that this process and PostgreSQL have used."""
    return time.process_time() + cpu_of(postmaster())


def _compute(tenth: "Campaign", campaign: "Campaign") -> int:
    from django.db import connection

    small_cpu, small_memory = _computed(tenth)
    cpu, memory = _computed(campaign)
    data = campaign.result.data
    print(
        f"{len(data['leaderboard'])} runs, {data['queries']:,} queries, {data['judgments']:,} judgments: results and "
        f"their {campaign.files.filter(kind='result').count()} files take {cpu:.0f} s of CPU and {memory} MB; a tenth "
        f"of it takes {small_cpu:.0f} s and {small_memory} MB"
    )
    good = cpu <= LIMIT_GROWTH * small_cpu and memory <= LIMIT_MEMORY_GROWTH * small_memory
    print(
        f"{verdict(good)}: ten times as much takes {cpu / small_cpu:.1f} times the CPU (at most {LIMIT_GROWTH}) and "
        f"{memory / small_memory:.1f} times the memory (at most {LIMIT_MEMORY_GROWTH})"
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT length(data::text), length(figures::text), length(tops::text) FROM results_result "
            "WHERE campaign_id = %s",
            [campaign.pk],
        )
        print("stored: {:,} bytes of data, {:,} of figures, {:,} of tops".format(*cursor.fetchone()))
    return 0 if good else 1


def _computed(campaign: "Campaign") -> tuple[float, int]:
    """Let a process of its own compute the results: its CPU with PostgreSQL's in seconds, its peak memory in MB."""
    before = cpu_of(postmaster())
    child = subprocess.run(
        [sys.executable, "-c", COMPUTE.format(campaign.pk)], check=True, stdout=subprocess.PIPE, text=True
    )
    seconds, kilobytes = child.stdout.split()[-2:]
    return float(seconds) + cpu_of(postmaster()) - before, int(kilobytes) // 1024


def cookie_of(of: "Campaign | Collection", name: str) -> str:
    """The cookie of a member of the lab who has logged in."""
    from django.conf import settings
    from django.test import Client

    from tests import factories

    member = factories.user(name)
    of.lab.members.add(member)
    browser = Client()
    browser.force_login(member)
    return f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"


def _cold(port: int, campaign: "Campaign", site: "Site") -> int:
    from django.core.cache import cache

    from judgments import exports

    cookie, path = cookie_of(campaign, "early"), f"/campaigns/{campaign.pk}/"
    files = [f"{path}exports/{name}" for name in (*exports.NAMES, exports.ARCHIVE)]
    web, database = site.pids()["web"], postmaster()
    for _time in range(20):  # each web process has loaded what every page needs
        asked(port, "/campaigns/", cookie, count=1, unseen=0)
    before = cpu_of(web, database)
    asked(port, "/campaigns/", cookie, count=PEERS, unseen=0)
    peer = (cpu_of(web, database) - before) / PEERS
    cache.clear()
    before, memory = cpu_of(web, database), largest_of(web)
    asked(port, path, cookie, count=1, unseen=0)
    seconds, megabytes = cpu_of(web, database) - before, largest_of(web) - memory
    good = seconds <= max(LIMIT_CPU, LIMIT_PEERS * peer) and megabytes <= LIMIT_MEGABYTES
    print(
        f"{verdict(good)}: the campaign's page with cold caches: {seconds:.2f} s of CPU, {seconds / peer:.1f} warm "
        f"pages of the list of campaigns; {megabytes} MB more in the largest process"
    )
    health = statistics.median(asked(port, "/healthz", cookie))
    slowest = max(_start(port, file, cookie) for file in files)
    started = slowest <= max(LIMIT_START, LIMIT_HEALTH * health)
    print(f"{verdict(started)}: the slowest of {len(files)} exports starts after {slowest * 1000:.0f} ms")
    unnoticed = _judging_beside_viewers(port, campaign, cookie, [path, *files])
    return 0 if good and started and unnoticed else 1


def _judging_beside_viewers(port: int, campaign: "Campaign", cookie: str, looked_at: list[str]) -> bool:
    """Whether a judging page takes about as long while six look at the campaign and download its files."""
    task = f"/j/{_task(campaign)}/1/"
    alone = asked(port, task, "", count=JUDGED)
    over = threading.Event()

    def look(_viewer: int) -> int:
        pages = 0
        while not over.is_set():
            for path in looked_at:
                asked(port, path, cookie, count=1, unseen=0)
                pages += 1
                time.sleep(PAUSE)
        return pages

    with ThreadPoolExecutor(VIEWERS) as viewers:
        looking = viewers.map(look, range(VIEWERS))
        beside = asked(port, task, "", count=JUDGED)
        over.set()
        pages = sum(looking)
    ratio = statistics.median(beside) / statistics.median(alone)
    print(
        f"{verdict(ratio <= LIMIT_JUDGING)}: a judging page takes {_times(alone)}; beside {VIEWERS} viewers, "
        f"who asked {pages} times, {_times(beside)}: {ratio:.1f} times as long"
    )
    return ratio <= LIMIT_JUDGING


def _task(campaign: "Campaign") -> str:
    """The token of a task that somebody is at."""
    from datetime import timedelta

    from django.utils import timezone

    from tasks.links import assignment_token
    from tasks.models import Assignment, Worker

    now, hit = timezone.now(), campaign.hits.earliest("number")
    worker = Worker.objects.create(lab=campaign.lab)
    return assignment_token(
        Assignment.objects.create(
            campaign=campaign, hit=hit, worker=worker, taken_at=now, leased_until=now + timedelta(hours=1)
        )
    )


def _start(port: int, path: str, cookie: str) -> float:
    """Seconds until the first bytes of a file are there."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    started = time.perf_counter()
    connection.request("GET", path, headers={"Cookie": cookie, "Host": "localhost"})
    answer = connection.getresponse()
    answer.read(1)
    seconds = time.perf_counter() - started
    assert answer.status == 200, (path, answer.status)
    connection.close()
    return seconds


def verdict(good: bool) -> str:
    return "PASS" if good else "FAIL"


def postmaster() -> int:
    """The process of the database's server."""
    (file,) = Path(os.environ["BESTKNOWN_VAR"]).rglob("postmaster.pid")
    return int(file.read_text().split()[0])


def cpu_of(*roots: int) -> float:
    """Seconds of CPU that processes, and all below them, have used: those that have ended since, too."""
    ticks = 0
    for pid in (pid for root in roots for pid in _family(root)):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended, and its parent counts it
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def largest_of(root: int) -> int:
    """The most that one of these processes has had in memory, in MB."""
    return max(_most_memory(pid) for pid in _family(root))


def _family(pid: int) -> list[int]:
    """A process and all below it."""
    children: list[int] = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):
            children += map(int, listed.read_text().split())
    return [pid, *(below for child in children for below in _family(child))]


def _most_memory(pid: int) -> int:
    """The most that a process has had in memory, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def _pages(port: int, campaign: "Campaign") -> int:
    cookie = cookie_of(campaign, "member")
    pool = campaign.pools.latest("id")
    address = f"/campaigns/{campaign.pk}/results/"
    health = asked(port, "/healthz", cookie)
    peer = asked(port, f"/campaigns/{campaign.pk}/", cookie)
    print(f"the peers: the health page {_times(health)}; the campaign's page {_times(peer)}")
    passed = True
    for path in (
        address, f"{address}tables/pairs/?words=run3&sort=-wsr", f"{address}tables/stability/?page=70",
        f"{address}plan/",
        f"/campaigns/{campaign.pk}/queries/{pool.pk}/",
    ):  # fmt: skip
        times = asked(port, path, cookie)
        good = statistics.median(times) <= max(LIMIT_SECONDS, LIMIT_HEALTH * statistics.median(health))
        passed = passed and good
        ratio, small = (statistics.median(times) / statistics.median(other) for other in (peer, health))
        print(
            f"{'PASS' if good else 'FAIL'}: {path}: {_times(times)}; "
            f"{ratio:.2f} of the campaign's page, {small:.0f} health pages"
        )
    return 0 if passed else 1


def asked(port: int, path: str, cookie: str, count: int = ASKED, unseen: int = 2) -> list[float]:
    """The seconds of each answer, after those that do not count."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    times = []
    for _ in range(count + unseen):
        started = time.perf_counter()
        connection.request("GET", path, headers={"Cookie": cookie, "Host": "localhost"})
        answer = connection.getresponse()
        answer.read()
        times.append(time.perf_counter() - started)
        assert answer.status == 200, (path, answer.status)
    return times[unseen:]


def _times(times: list[float]) -> str:
    cuts = statistics.quantiles(times, n=20)
    return f"{statistics.median(times) * 1000:.0f} ms in the median, 95% within {cuts[-1] * 1000:.0f} ms"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
