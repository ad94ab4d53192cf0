"""`make run`: start everything, do the main job on a folder of files before your eyes, and leave the site running."""

import argparse
import os
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from config import embedded
from config.serve import Site, SiteError

FOLDER = Path(__file__).resolve().parent.parent


def main() -> int:
    """Parse the command line, run, and return the exit code."""
    parser = argparse.ArgumentParser(prog="make run", description=__doc__)
    parser.add_argument("--crowd", choices=["simulated", "people"], default="simulated", help="who judges")
    parser.add_argument(
        "--data", type=Path, default=FOLDER / "demo", help="a folder with queries, passages, qrels, runs/"
    )
    parser.add_argument("--leave", action="store_true", help="stop when the main job is done")
    options = parser.parse_args()
    console = Console(stderr=True)
    port = int(os.environ.get("PORT", "8000"))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        with console.status("Starting PostgreSQL and Redis"):
            embedded.ensure()
            _migrate()
        site = Site(port)
        site.start()
    except (embedded.EmbeddedServerError, SiteError) as error:
        console.print(str(error), style="red", highlight=False, markup=False)
        return 1
    from evaluation.errors import BadInput
    from judgments.simulation import WrongPage
    from pools.errors import Refused

    try:
        with console.status("Starting the site"):
            site.wait_until_ready()
        _main_job(options.data, options.crowd, f"http://127.0.0.1:{port}", console)
        if not options.leave:
            console.print("\nThe site is running. Ctrl-C stops it; nothing is lost.")
            site.wait()
    except (SiteError, BadInput, Refused, WrongPage) as error:
        console.print(str(error), style="red", highlight=False, markup=False)
        return 1
    except KeyboardInterrupt:
        console.print("Stopped. Run it again to go on where it was.")
        return 130
    finally:
        site.stop()
    return 0


def _migrate() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0, interactive=False)


def _main_job(data: Path, crowd: str, url: str, console: Console) -> None:
    from evaluation.textfiles import counted
    from judgments import demonstration as demo
    from judgments import selectors
    from pools.errors import Refused
    from pools.models import Campaign
    from pools.selectors import stored_sizes
    from tasks.crowd.link import campaign_address
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
        told: set[str] = set()

        def step(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=done, total=total)
            if done == total and not console.is_terminal and name not in told:
                told.add(name)
                print(f"{name}: {done:,} of {total:,}", file=sys.stderr, flush=True)

        collection = demo.load(folder, step)
        people = demo.open_campaign(collection, folder, f"{folder.name}, judged by people", step)
        campaign = people
        if crowd == "simulated":
            campaign = demo.open_campaign(collection, folder, folder.name, step)
            if campaign.state == Campaign.State.OPEN and campaign.hits.filter(needed__gt=0).exists():
                assert folder.preferences is not None  # looked for above
                demo.judge(campaign, folder.preferences, url, step)
    out = Console()
    sizes, progress, crowd_did = stored_sizes(campaign), selectors.judging_progress(campaign), task_progress(campaign)
    out.print(
        f"\n{campaign.name}: {sizes.queries:,} pools of {sizes.mean:.2f} passages on average, "
        f"{progress.pairs:,} pairs in {campaign.hits.count():,} HITs; {progress.done:,} pairs judged, "
        f"{crowd_did.workers:,} workers, {counted(crowd_did.excluded, 'assignment')} excluded and done again.",
        highlight=False,
    )
    later = collection.runs.exclude(pk__in=campaign.runs.all()).order_by("name").values_list("name", flat=True)
    if later:
        out.print(f"Not part of this campaign, as they came later: {', '.join(later)}.", highlight=False)
    if progress.done == progress.pairs:
        derived = selectors.derived(campaign)
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
    site = url.replace("127.0.0.1", "localhost")
    out.print(f"\nAfter {time.monotonic() - started:.0f} seconds, the site is at {site}", highlight=False)
    for name, password in logins.items():
        out.print(f"  {name:<11} {site}/login/  user {name}, password {password}", highlight=False, soft_wrap=True)
    out.print(f"  {'worker':<11} {campaign_address(people)}", highlight=False, soft_wrap=True)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
