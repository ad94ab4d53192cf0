"""`make run`: start everything, do the main job on a folder of files while you watch, and leave the site running."""

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from local import embedded
from local.marketplace import LocalMarketplace, MarketplaceError
from local.prolific import LocalProlific, ProlificError
from local.supervisor import Site, SiteError, end_on_sigterm, remember_address

if TYPE_CHECKING:
    from local.crowds import Place

FOLDER = Path(__file__).resolve().parent.parent

TRIES = 20  # at the main job, where servers go away in the middle of it

# The background jobs in the order in which work goes through them.
ROUND = (
    "platforms.jobs.publish",
    "platforms.jobs.sync",
    "judgments.jobs.check",
    "platforms.jobs.settle",
    "platforms.jobs.requeue",
    "platforms.jobs.publish",
)
ROUND_QUEUE = "money"  # where all of these wait


def main() -> int:
    """Parse the command line, run, and return the exit code."""
    parser = argparse.ArgumentParser(prog="make run", description=__doc__)
    parser.add_argument("--crowd", choices=["simulated", "people"], default="simulated", help="who judges")
    parser.add_argument(
        "--data", type=Path, default=FOLDER / "demo", help="a folder with queries, passages, qrels, runs/"
    )
    parser.add_argument(
        "--platform", choices=["marketplace", "prolific"], default="marketplace", help="where the campaign is published"
    )
    parser.add_argument("--leave", action="store_true", help="stop when the main job is done")
    options = parser.parse_args()
    console = Console(stderr=True)
    port = int(os.environ.get("PORT") or 8000)
    beside = port % 65535 + 1  # the port of whatever runs beside the site, unless one is named
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

    def complain(text: str) -> None:
        console.print(text, style="red", highlight=False, markup=False)

    end_on_sigterm()
    os.environ["PORT"] = str(port)  # for links that are printed
    from core.errors import Refused

    try:
        marketplace, prolific = None, None
        if options.platform == "prolific":
            prolific = LocalProlific(int(os.environ.get("PROLIFIC_PORT") or beside))
        else:
            # The simulated crowd registers from one address, faster than people may.
            marketplace_port = int(os.environ.get("MARKETPLACE_PORT") or beside)
            marketplace = LocalMarketplace(marketplace_port, rate_limits=options.crowd == "people")
        with console.status("Starting PostgreSQL and Redis"):
            embedded.ensure()
        _refuse_foreign_data()
        with console.status("Preparing the databases"), ThreadPoolExecutor(1) as thread:
            prepared = None if marketplace is None else thread.submit(marketplace.prepare)
            _migrate()
            if prepared is not None:
                prepared.result()
        site = Site(port, marketplace=marketplace, prolific=prolific, tell=complain)
        site.start()
        remember_address(port)
    except (embedded.EmbeddedServerError, SiteError, MarketplaceError, Refused) as error:
        complain(str(error))
        return 1
    except KeyboardInterrupt:
        return 130
    from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

    from evaluation.errors import BadInput
    from simulation.browser import WrongPage

    try:
        with console.status(f"Starting the site and its {'marketplace' if prolific is None else 'double of Prolific'}"):
            site.wait_until_ready()
        place = _place(marketplace, prolific)
        _through_outages(lambda: _main_job(options.data, options.crowd, port, place, console), site, complain)
        if not options.leave:
            console.print("\nThe site is running. Ctrl-C stops it; nothing is lost.")
            site.wait()
    except (
        *(SiteError, MarketplaceError, ProlificError, BadInput, Refused, WrongPage),
        *(BotoCoreError, ClientError),
    ) as error:
        complain(str(error))
        return 1
    except KeyboardInterrupt:
        console.print("Stopped. Run it again to go on where it was.")
        return 130
    finally:
        site.stop()
    return 0


def _through_outages(job: Callable[[], None], site: Site, complain: Callable[[str], None]) -> None:
    """Do a job whose every step looks at what is done already. If a server goes away, go on when it is back."""
    from botocore.exceptions import BotoCoreError, ClientError
    from django.db import InterfaceError, OperationalError, connections
    from kombu.exceptions import OperationalError as QueueError
    from redis import RedisError

    from platforms.adapter import Trouble
    from platforms.mturk.client import trouble_of

    for _try in range(TRIES - 1):
        try:
            return job()
        except (OperationalError, InterfaceError, QueueError, RedisError, BotoCoreError, ClientError) as error:
            if isinstance(error, BotoCoreError | ClientError) and trouble_of(error) is not Trouble.UNKNOWN:
                raise
            complain(f"Interrupted: {str(error).strip().partition(chr(10))[0]} Going on when everything answers.")
            connections.close_all()
            time.sleep(2)
            site.wait_until_ready(seconds=600)
    return job()


def _place(marketplace: LocalMarketplace | None, prolific: LocalProlific | None) -> "Place":
    """Where the campaign is published: whichever runs."""
    from local.crowds import AtMarketplace, AtProlific

    if prolific is not None:
        return AtProlific(prolific)
    assert marketplace is not None
    return AtMarketplace(marketplace)


def _refuse_foreign_data() -> None:
    import django

    django.setup()
    from simulation.demonstration import refuse_foreign_data

    refuse_foreign_data(is_own_server=embedded.is_database_ours())


def _migrate() -> None:
    from django.core.management import call_command

    call_command("migrate", verbosity=0, interactive=False)


def _turn() -> None:
    """Have the background jobs run now, instead of when their time comes; not while earlier ones wait."""
    from django_redis import get_redis_connection
    from kombu.exceptions import OperationalError
    from redis import RedisError

    from config.celery import app

    with contextlib.suppress(RedisError, OperationalError):  # while Redis is away, their time comes later
        if not get_redis_connection().llen(ROUND_QUEUE):
            for name in ROUND:
                app.send_task(name)


def _main_job(data: Path, crowd: str, port: int, place: "Place", console: Console) -> None:
    from core.errors import Refused
    from evaluation.files.textfiles import counted
    from judgments import selectors as judgment_selectors
    from pools.models import Campaign
    from pools.selectors import stored_sizes
    from results.refreshing import result_refresh
    from simulation import demonstration as demo
    from tasks.links import campaign_address
    from tasks.selectors import progress as task_progress

    started = time.monotonic()
    folder = demo.folder_at(data)
    if crowd == "simulated" and folder.preferences is None:
        raise Refused(
            f"{data} has no oracle-preferences.txt for a simulated crowd: let people judge, with CROWD=people."
        )
    logins = demo.accounts()
    columns = (TextColumn("{task.description:<26}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        tasks: dict[str, TaskID] = {}
        said: set[str] = set()

        def step(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=done, total=total)
            if done == total and not console.is_terminal and name not in said:
                said.add(name)
                print(f"{name}: {done:,} of {total:,}", file=sys.stderr, flush=True)

        collection = demo.load(folder, step)
        people = demo.open_campaign(collection, folder, f"{folder.name}, judged by people", step)
        campaign = demo.open_campaign(collection, folder, place.campaigns.format(folder=folder.name), step)
        crowd_said: list[str] = []
        publication = place.publication_of(campaign)
        if campaign.state == Campaign.State.OPEN:
            if publication is not None and crowd == "simulated":
                place.lapse_all()  # simulated workers of an interrupted earlier run will not come back
            if campaign.hits.filter(needed__gt=0).exists():
                publication = place.publish(campaign)
            if publication is not None and crowd == "people":
                demo.wait_until_posted(publication, _turn, step)
            elif publication is not None and folder.preferences is not None:
                url = f"http://127.0.0.1:{port}"
                crowd_said = place.judge(publication, folder.preferences, url, step, _turn)
    out = Console()
    sizes, progress, crowd_did = (
        stored_sizes(campaign),
        judgment_selectors.judging_progress(campaign),
        task_progress(campaign),
    )
    out.print(
        f"\n{campaign.name}: {sizes.queries:,} pools of {sizes.mean:.2f} passages on average, "
        f"{progress.pairs:,} pairs in {campaign.hits.count():,} HITs; {progress.done:,} pairs judged, "
        f"{crowd_did.workers:,} workers, {counted(crowd_did.excluded, 'assignment')} excluded and done again.",
        highlight=False,
    )
    if crowd_said:
        out.print(f"The simulated crowd: {', '.join(crowd_said)}.", highlight=False)
    if publication is not None:
        did = demo.count_at_platform(publication)
        out.print(place.report(did), highlight=False)
        for difference in did.ledgers.differences:
            out.print(f"  {difference}", highlight=False)
    later = collection.runs.exclude(pk__in=campaign.runs.all()).order_by("name").values_list("name", flat=True)
    if later:
        out.print(f"Not part of this campaign, as they came later: {', '.join(later)}.", highlight=False)
    if progress.done == progress.pairs:
        derived = judgment_selectors.derived(campaign)
        table = Table(title="RR@10 of each run", title_justify="left")
        table.add_column("run")
        for column in ("original qrels", "preference qrels", "change"):
            table.add_column(column, justify="right")
        for row in demo.outcome(campaign):
            table.add_row(
                row.run, f"{row.original:.4f}", f"{row.preference:.4f}", f"{row.preference - row.original:+.4f}"
            )
        out.print(table)
        deadlocks = ", ".join(f"{counted(count, 'deadlock')} of {size}" for size, count in derived.deadlocks.items())
        out.print(
            f"{counted(derived.single, 'query', 'queries')} with one best known answer, {deadlocks or 'no deadlock'}.",
            highlight=False,
        )
        paths = demo.export(campaign)
        out.print(f"Exported: {paths[0].parent}/", soft_wrap=True, highlight=False)
        for path in paths:
            out.print(f"  {path.name}", highlight=False)
    site = f"http://localhost:{port}"
    if progress.done == progress.pairs:
        result_refresh(campaign=campaign)
        out.print(
            f"What the preferences say about the runs: {site}/campaigns/{campaign.pk}/results/",
            highlight=False, soft_wrap=True,
        )  # fmt: skip
    out.print(f"\nAfter {time.monotonic() - started:.0f} seconds, the site is at {site}", highlight=False)
    ways = [
        (
            name,
            f"{site}/login/  user {name}, "
            + (f"password {password}" if password else "with the password that was set"),
        )
        for name, password in logins.items()
    ]
    ways.append(("worker", campaign_address(people)))
    for name, way in ways:
        out.print(f"  {name:<11} {way}", highlight=False, soft_wrap=True)
    out.print(f"and {place.name} at {place.url}", highlight=False)
    for name, way in place.ways():
        out.print(f"  {name:<11} {way}", highlight=False, soft_wrap=True)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
