"""Every page of the researcher on the demo, and the page of results with 60 runs.

The site is asked as production runs it. What is judged is the CPU of web processes and PostgreSQL together for a page,
or, on a machine that is busy, that beside the list of campaigns.
"""

import argparse
import sys
from typing import TYPE_CHECKING

from benchmarks.results import asked, cpu_of, postmaster, verdict
from benchmarks.servers import own_servers, own_site

if TYPE_CHECKING:
    from core.models import User

LIMIT_CPU = 0.1  # seconds for a page
LIMIT_PEERS = 6  # pages of the list of campaigns, where the machine is too busy for the seconds
LIMIT_BYTES = 100_000  # of the demo's page of results, the largest, unpacked
RUNS = 60
SLOWEST = 5  # pages that are named


def main(arguments: list[str]) -> int:
    """Measure with servers of its own, and return 1 if a page takes too long or is too large."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workplace", description=__doc__)
    parser.add_argument("--small", action="store_true", help="few runs, and each page once, as a quick check")
    is_small = parser.parse_args(arguments).small
    with own_servers():
        from core.models import User
        from tests import walk

        walk.make()
        _many_runs(4 if is_small else RUNS)
        with own_site() as (port, site):
            return _measure(port, site.pids()["web"], User.objects.get(username="researcher"), 1 if is_small else 10)


def _many_runs(runs: int) -> None:
    """Results of that many runs for the draft's sister, as a job would have stored them."""
    from django.utils import timezone

    from pools.models import Campaign, Collection
    from results import figures
    from results.apart import take_apart
    from results.inputs import SOFTWARE
    from results.models import Result, ResultList
    from tests import factories
    from tests.results.sample_results import sample

    campaign = factories.campaign(Collection.objects.get(), "many runs", tests=0, start=False)
    Campaign.objects.filter(pk=campaign.pk).update(state=Campaign.State.OPEN)
    data, at = sample(runs), timezone.now()
    parts = take_apart(data)
    result = Result.objects.create(
        campaign=campaign,
        revision=campaign.revision,
        software=SOFTWARE,
        computed_at=at,
        rests_until=at,
        seconds=1,
        data=parts.data,
        figures={figure.name: figures.svg(figure.name, data).decode() for figure in figures.drawable(data)},
        tops={},
    )
    for name, rows in parts.lists.items():
        ResultList.objects.create(result=result, name=name, rows=rows)


def _measure(port: int, web: int, user: "User", count: int) -> int:
    from django.conf import settings
    from django.test import Client
    from django.urls import reverse

    from pools.models import Campaign
    from tests import walk

    client = Client(SERVER_NAME="localhost")
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    cookie = f"{name}={client.cookies[name].value}"
    many = Campaign.objects.get(name="many runs")
    pages = [address for address in walk.addresses(user) if not any(part in address for part in walk.FILES)]
    pages = [address for address in pages if client.get(address).status_code == 200]
    pages += [reverse("results:results", args=[many.pk]), reverse("results:table", args=[many.pk, "pairs"])]

    def spent(path: str) -> float:
        asked(port, path, cookie, count=0)
        before = cpu_of(web, postmaster())
        asked(port, path, cookie, count=count, unseen=0)
        return (cpu_of(web, postmaster()) - before) / count

    demo = reverse("results:results", args=[Campaign.objects.earliest("pk").pk])
    size = len(client.get(demo).content)
    light = size <= LIMIT_BYTES
    print(f"{verdict(light)}: the demo's page of results has {size:,} bytes (at most {LIMIT_BYTES:,})")
    peer = spent(reverse("pools:campaigns"))
    costs = sorted(((spent(page), page) for page in pages), reverse=True)
    for seconds, page in costs[:SLOWEST]:
        print(f"{seconds * 1000:.0f} ms of CPU, {seconds / peer:.1f} lists of campaigns: {page}")
    slowest, _page = costs[0]
    good = slowest <= max(LIMIT_CPU, LIMIT_PEERS * peer)
    print(
        f"{verdict(good)}: the slowest of {len(pages)} pages takes {slowest * 1000:.0f} ms of CPU (at most "
        f"{LIMIT_CPU * 1000:.0f}, or {LIMIT_PEERS} lists of campaigns, each {peer * 1000:.0f} ms)"
    )
    return 0 if good and light else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
