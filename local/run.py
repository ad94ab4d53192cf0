"""`make run`: start everything, do the main job on a folder of files while you watch, and leave the site running."""

import argparse
import contextlib
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from local import embedded
from local.marketplace import LocalMarketplace, MarketplaceError
from local.prolific import LocalProlific, ProlificError
from local.supervisor import Site, SiteError, end_on_signals, remember_address

if TYPE_CHECKING:
    from local.crowds import Place
    from pools.models import Campaign

FOLDER = Path(__file__).resolve().parent.parent

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
    options = parser.parse_args()
    console = Console(stderr=True)
    port = int(os.environ.get("PORT") or 8000)
    beside = port % 65535 + 1  # the port of whatever runs beside the site, unless one is named
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ["PORT"] = str(port)  # for links that are printed

    def complain(text: str) -> None:
        console.print(text, style="red", highlight=False, markup=False)

    started = time.monotonic()
    end_on_signals()
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
        with console.status("Preparing the databases"), ThreadPoolExecutor(1) as executor:
            prepared = None if marketplace is None else executor.submit(marketplace.prepare)
            _migrate()
            if prepared is not None:
                prepared.result()
        site = Site(port, marketplace=marketplace, prolific=prolific, tell=complain).start()
        remember_address(port)
    except (embedded.EmbeddedServerError, SiteError, MarketplaceError, Refused) as error:
        complain(str(error))
        return 1
    except KeyboardInterrupt:
        return 130
    from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

    from evaluation.errors import BadInput
    from local.crowds import AtMarketplace, AtProlific
    from simulation.browser import WrongPage

    try:
        with console.status(f"Starting the site and its {'marketplace' if prolific is None else 'double of Prolific'}"):
            site.wait_until_ready()
        place: Place
        if marketplace is not None:
            place = AtMarketplace(marketplace)
        elif prolific is not None:
            place = AtProlific(prolific)
        _main_job(options.data, options.crowd, port, place, console, started)
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


def _refuse_foreign_data() -> None:
    import django

    django.setup()
    from simulation.demonstration import refuse_foreign_data

    refuse_foreign_data(is_own_server=embedded.is_database_ours())


def _migrate() -> None:
    from django.core.management import call_command

    call_command("migrate", verbosity=0, interactive=False)


def turn() -> None:
    """Have the background jobs run now, instead of when their time comes; not while earlier ones wait."""
    from django_redis import get_redis_connection
    from kombu.exceptions import OperationalError
    from redis import RedisError

    from config.celery import app

    with contextlib.suppress(RedisError, OperationalError):  # while Redis is away, their time comes later
        if not get_redis_connection().llen(ROUND_QUEUE):
            for name in ROUND:
                app.send_task(name)


def _main_job(data: Path, crowd: str, port: int, place: "Place", console: Console, started: float) -> None:
    from django.urls import reverse

    from core.errors import Refused
    from judgments.selectors import judging_progress
    from pools.models import Campaign
    from simulation import demonstration as demo
    from tasks.links import campaign_address

    folder = demo.folder_at(data)
    if crowd == "simulated" and folder.preferences is None:
        raise Refused(
            f"{data} has no oracle-preferences.txt for a simulated crowd: let people judge, with CROWD=people."
        )
    logins = demo.accounts()
    columns = (TextColumn("{task.description:<26}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        tasks: dict[str, TaskID] = {}
        printed: set[str] = set()

        def step(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=done, total=total)
            if done == total and not console.is_terminal and name not in printed:
                printed.add(name)
                print(f"{name}: {done:,} of {total:,}", file=sys.stderr, flush=True)

        collection = demo.load(folder, step)
        people = demo.open_campaign(collection, folder, f"{folder.name}, judged by people", step)
        campaign = people
        if people.state != Campaign.State.DRAFT:
            name = place.campaigns.format(folder=folder.name)
            campaign = demo.open_campaign(collection, folder, name, step, is_simulated=crowd == "simulated")
        crowd_did: list[str] = []
        publication = place.publication_of(campaign)
        if campaign.state == Campaign.State.OPEN:
            if publication is not None and crowd == "simulated":
                place.lapse_all()  # simulated workers of an interrupted earlier run will not come back
            if campaign.hits.filter(needed__gt=0).exists():
                publication = place.publish(campaign)
            if publication is not None and crowd == "people":
                demo.wait_until_posted(publication, turn, step)
            elif publication is not None and folder.preferences is not None:
                crowd_did = place.judge(publication, folder.preferences, f"http://127.0.0.1:{port}", step, turn)
                campaign = demo.finish(campaign)
    site = f"http://localhost:{port}"
    out = Console(highlight=False, soft_wrap=True)
    progress = judging_progress(campaign)
    if campaign.state == Campaign.State.DRAFT:
        out.print(
            f"\nNobody has read test pairs of {campaign.name} yet, and unread ones would be unfair to workers. Log in "
            f"as the researcher, read what is suggested at {site}{reverse('tasks:tests', args=[campaign.pk])}, and "
            f"confirm {campaign.tests_per_hit} or more that nobody can get wrong; or list some in test-pairs.tsv. "
            "Then stop this, and run it again."
        )
    else:
        out.print(f"\n{demo.summary(campaign, progress)}")
    if crowd_did:
        out.print(f"The simulated crowd: {', '.join(crowd_did)}.")
    if publication is not None:
        at_platform = demo.count_at_platform(publication)
        out.print(place.report(at_platform))
        for difference in at_platform.ledgers.differences:
            out.print(f"  {difference}")
    later = collection.runs.exclude(pk__in=campaign.runs.all()).order_by("name").values_list("name", flat=True)
    if later:
        out.print(f"Not part of this campaign, as they came later: {', '.join(later)}.")
    if progress.done == progress.pairs and campaign.state != Campaign.State.DRAFT:
        _print_results(campaign, site, out)
    out.print(f"\nAfter {time.monotonic() - started:.0f} seconds, the site is at {site}")
    for name, password in logins.items():
        credential = f"password {password}" if password else "with the password that was set"
        out.print(f"  {name:<11} {site}/login/  user {name}, {credential}")
    out.print(f"  {'worker':<11} {campaign_address(people)}")
    out.print(f"and {place.name} at {place.url}")
    for name, way in place.ways():
        out.print(f"  {name:<11} {way}")
    sys.stdout.flush()


def _print_results(campaign: "Campaign", site: str, out: Console) -> None:
    """The runs' scores by both kinds of qrels, the exported files, and where the site shows more."""
    from evaluation.files.textfiles import counted
    from judgments.evidence import Evidence
    from results import refreshing
    from simulation import demonstration as demo

    table = Table(title="RR@10 of each run", title_justify="left")
    table.add_column("run")
    for column in ("original qrels", "preference qrels", "change"):
        table.add_column(column, justify="right")
    for row in demo.outcome(campaign):
        table.add_row(row.run, f"{row.original:.4f}", f"{row.preference:.4f}", f"{row.preference - row.original:+.4f}")
    out.print(table)
    best = Evidence(campaign).derived
    deadlocks = ", ".join(f"{counted(count, 'deadlock')} of {size}" for size, count in best.deadlocks.items())
    out.print(f"{counted(best.single, 'query', 'queries')} with one best known answer, {deadlocks or 'no deadlock'}.")
    paths = demo.export(campaign)
    out.print("\n".join([f"Exported: {paths[0].parent}/", *(f"  {path.name}" for path in paths)]))
    while not refreshing.result_refresh(campaign=campaign) and refreshing.out_of_step().filter(pk=campaign.pk).exists():
        time.sleep(1)  # a job computes them now, and maybe without the last judgments
    out.print(f"What the preferences say about the runs: {site}/campaigns/{campaign.pk}/results/")


if __name__ == "__main__":
    sys.exit(main())
