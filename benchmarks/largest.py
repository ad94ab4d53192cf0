"""Every page of the researcher, and the jobs behind them, for a campaign of 141,887 pairs, 14,189 HITs, 1,000 workers.

The site is asked as production runs it, each page once with cold caches and then a few times. What is judged is the CPU
of web processes and PostgreSQL together, beside the list of campaigns, and the memory that a page adds. Jobs are judged
beside the making of the export files.
"""

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarks.packing import PAIRS, QUERIES
from benchmarks.results import asked, cpu_of, judged, largest_of, postmaster, spent, verdict
from benchmarks.servers import own_servers, own_site

if TYPE_CHECKING:
    from core.models import User
    from pools.models import Campaign

WORKERS = 1_000
LIMIT_CPU = 0.2  # seconds for a page with cold caches
LIMIT_PEERS = 10  # pages of the list of campaigns, where the machine is too busy for the seconds
LIMIT_MEGABYTES = 60  # that all the pages together add to the largest web process
LIMIT_JOB = 1.0  # of the CPU of the exports
SLOWEST = 12  # pages that are named
PEERS = 20


def main(arguments: list[str]) -> int:
    """Measure with servers of its own, and return 1 if a page or a job takes too long."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.largest", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a hundredth of it, as a quick check")
    share = 100 if parser.parse_args(arguments).small else 1
    with own_servers(RATE_LIMITS="0") as folder:
        from core.models import User

        campaign = judged(folder, QUERIES // share, PAIRS // share, "largest", WORKERS // share)
        user = _more(campaign)
        jobs = _jobs(campaign)
        with own_site() as (port, site):
            pages = _pages(port, site.pids()["web"], User.objects.get(pk=user.pk), campaign)
        return max(jobs, pages, _last_jobs(campaign))


def _more(campaign: "Campaign") -> "User":
    """What else such a campaign has: a researcher, a draft beside it, its publication with the ledger, reports."""
    from datetime import timedelta
    from decimal import Decimal

    from django.utils import timezone

    from judgments.models import PairReport
    from platforms.models import Message, Payment, Publication, PublishedHit, Submission
    from pools.models import Job
    from tasks.models import Assignment, Platform
    from tests import factories

    user, at = factories.user("researcher"), timezone.now()
    campaign.lab.members.add(user)
    factories.campaign(campaign.collection, "draft", tests=0, start=False)
    Job.objects.create(lab=campaign.lab, kind="run", state="failed", name="a run", asked_at=at)
    publication = Publication.objects.create(
        campaign=campaign, state="open", platform=Platform.MARKETPLACE, title="Mine", description="Mine"
    )
    hits = PublishedHit.objects.bulk_create(
        PublishedHit(
            publication=publication,
            hit=hit,
            max_assignments=1,
            platform_hit_id=f"H{hit.pk}",
            posted_at=at,
            expires_at=at + timedelta(days=1),
        )
        for hit in campaign.hits.all()
    )
    of_hit = {published.hit_id: published for published in hits}
    assignments = list(Assignment.objects.filter(campaign=campaign).order_by("pk"))
    Submission.objects.bulk_create(
        Submission(
            publication=publication,
            published_hit=of_hit[assignment.hit_id],
            assignment=assignment,
            platform_assignment_id=f"A{assignment.pk}",
            platform_worker_id=f"W{assignment.worker_id}",
            status="Approved",
            submitted_at=at,
        )
        for assignment in assignments
    )
    Payment.objects.bulk_create(
        Payment(
            publication=publication,
            assignment=assignment,
            purpose=purpose,
            amount=Decimal("0.20"),
            fee=Decimal("0.04"),
            state=Payment.State.PAID,
            owed_at=at,
            paid_at=at,
        )
        for assignment in assignments
        for purpose in ("reward", "bonus")
    )
    PairReport.objects.bulk_create(
        PairReport(assignment=assignment, item=assignment.hit.items.earliest("pk"), reason="broken", made_at=at)
        for assignment in assignments[::10]
    )
    Message.objects.bulk_create(
        Message(publication=publication, worker_id=worker, state="received", subject="Hello", text="Why?", at=at)
        for worker in {assignment.worker_id for assignment in assignments}
    )
    factories.analyze()
    return user


def _jobs(campaign: "Campaign") -> int:
    """The jobs while and after it is judged; the exports are the peer."""
    from django.utils import timezone

    from judgments import alarm_checks, refreshing, summarizing
    from results import refreshing as results
    from results import scoring, versions

    now, collection = timezone.now(), campaign.collection
    exported = _took("exports", lambda: refreshing.export_refresh(campaign=campaign))
    _took("results", lambda: results.result_refresh(campaign=campaign))  # judged by another benchmark
    seconds = [
        _took("counts of work", lambda: summarizing.campaign_summarize(campaign=campaign)),
        _took("alarms", lambda: alarm_checks.campaign_check(campaign=campaign, at=now)),
        _took("a version", lambda: versions.version_add(campaign=campaign, why="First.", by=None, at=now)),
        _took("its scores", lambda: scoring.scores_refresh(collection=collection)),
    ]
    return _judge_jobs(seconds, exported)


def _last_jobs(campaign: "Campaign") -> int:
    """The jobs after it: the bundle without identities, and the erasure of its workers."""
    from django.utils import timezone

    from judgments import erasing, refreshing, releasing
    from tasks import services as task_services

    now = timezone.now()
    exported = _took("exports again", lambda: refreshing.export_refresh(campaign=campaign))
    bundled = _took("the release bundle", lambda: releasing.bundle_make(campaign=campaign, at=now))
    worker = erasing.campaign_workers(campaign).earliest("pk")
    planned = _took("the plan of an erasure", lambda: erasing.erasure_plan(worker, at=now))
    task_services.campaign_move(campaign=campaign, to="closed")  # until then, its workers are needed
    seconds = _took("the erasure of its workers", lambda: erasing.campaign_erase(campaign=campaign, at=now))
    print(f"{seconds / WORKERS * 1000:.0f} ms of CPU for the erasure of a worker")
    return _judge_jobs([bundled, planned], exported)


def _judge_jobs(seconds: list[float], exported: float) -> int:
    good = max(seconds) <= LIMIT_JOB * exported
    print(
        f"{verdict(good)}: the slowest of these takes {max(seconds) / exported:.2f} of what the exports take (at most "
        f"{LIMIT_JOB})"
    )
    return 0 if good else 1


def _took(name: str, work: Callable[[], Any]) -> float:
    started = spent()
    work()
    seconds = spent() - started
    print(f"{name}: {seconds:.1f} s of CPU", flush=True)
    return seconds


def _pages(port: int, web: int, user: "User", campaign: "Campaign") -> int:
    from django.conf import settings
    from django.core.cache import cache
    from django.test import Client
    from django.urls import reverse

    from pools.models import Campaign
    from pools.reuse import reused_pairs
    from tests import walk

    draft = Campaign.objects.get(name="draft")
    client = Client(SERVER_NAME="localhost")
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    cookie = f"{name}={client.cookies[name].value}"
    pages = []
    for address in walk.addresses(user, campaign):
        answer = client.get(address)
        assert answer.status_code < 500, address
        if answer.status_code == 200 and not answer.streaming and not any(part in address for part in walk.FILES):
            pages.append((address, len(answer.content)))

    def cost(path: str, count: int) -> float:
        before = cpu_of(web, postmaster())
        asked(port, path, cookie, count=count, unseen=0)
        return (cpu_of(web, postmaster()) - before) / count

    lists = reverse("pools:campaigns")
    for _time in range(PEERS):  # each web process has loaded what every page needs
        cost(lists, 1)
    peer, memory, costs = cost(lists, PEERS), largest_of(web), []
    for page, size in pages:
        cost(lists, 1)
        cache.clear()
        reused_pairs(draft, afresh=True)  # as the job does that makes a draft
        client.force_login(user)  # sessions may be in the cache
        cookie = f"{name}={client.cookies[name].value}"
        costs.append((cost(page, 1), cost(page, 4), size, page))
    for cold, warm, size, page in sorted(costs, reverse=True)[:SLOWEST]:
        print(f"{cold * 1000:.0f} ms of CPU cold, {warm * 1000:.0f} warm, {size:,} bytes: {page}")
    slowest, grown = max(costs)[0], largest_of(web) - memory
    good = slowest <= max(LIMIT_CPU, LIMIT_PEERS * peer) and grown <= LIMIT_MEGABYTES
    print(
        f"{verdict(good)}: the slowest of {len(pages)} pages takes {slowest * 1000:.0f} ms of CPU, "
        f"{slowest / peer:.1f} lists of campaigns (at most {LIMIT_PEERS}); {grown} MB more in the largest process"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
