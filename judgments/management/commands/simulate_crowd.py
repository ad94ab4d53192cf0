"""manage.py simulate_crowd: people who are not there, judging on the real pages."""

from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import Progress

from evaluation.preferences import read_preferences
from judgments.simulation import Habits, described, judge
from judgments.simulation_browser import WrongPage
from pools.management.files import campaign_called, refusals_as_errors
from pools.models import Campaign


def share(text: str) -> float:
    """A number between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ArgumentTypeError(f"{text!r} is not a share between 0 and 1")
    return value


class Command(BaseCommand):
    """Simulate a crowd over HTTP."""

    help = (
        "Let simulated people judge an open campaign over HTTP on the real pages, N at a time, by a file of "
        "preferences (query a b preferred), until no HIT waits. The site must be running. Meant for demonstrations, "
        "tests and load: what they judge is stored like anybody's work."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        usual = Habits()
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--preferences", type=Path, required=True, help="what the crowd thinks")
        parser.add_argument("--lab", help="the campaign's lab, where several labs have one of this name")
        parser.add_argument("--url", default=settings.SITE_URL, help="where the site runs (%(default)s)")
        parser.add_argument("--workers", type=int, default=8, help="people at a time (%(default)s)")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--errors", type=share, default=usual.errors, help="share of wrong choices of the careful")
        for name in ("careless", "leavers", "late", "scripted"):
            parser.add_argument(
                f"--{name}", type=share, default=getattr(usual, name), help="share of the people (%(default)s)"
            )
        for name in ("double_clicks", "reloads", "second_thoughts"):
            flag = f"--{name.replace('_', '-')}"
            parser.add_argument(
                flag, type=share, default=getattr(usual, name), help="share of the choices (%(default)s)"
            )
        parser.add_argument("--most-hits", type=int, default=usual.most_hits, help="HITs a person (%(default)s)")
        parser.add_argument("--log", type=Path, help="append every acknowledged choice to this file, as JSON lines")

    def handle(self, *args: Any, **options: Any) -> None:
        """Judge, with a progress bar, and say what was done."""
        if options["workers"] < 1 or options["most_hits"] < 1:
            raise CommandError("--workers and --most-hits must be at least 1.")
        if not options["url"]:
            raise CommandError("Say where the site runs: --url http://localhost:8000")
        with refusals_as_errors():
            campaign = campaign_called(options["campaign"], options["lab"])
            preferences = list(read_preferences(options["preferences"]))
        if campaign.state != Campaign.State.OPEN:
            raise CommandError(f"The campaign is “{campaign.state}”: only an open one can be judged.")
        habits = Habits(**{name: options[name] for name in Habits._fields})
        with Progress(console=Console(stderr=True), transient=True) as bars:
            bar = bars.add_task("Judging", total=None)
            try:
                tally = judge(
                    campaign=campaign,
                    preferences=preferences,
                    url=options["url"],
                    workers=options["workers"],
                    habits=habits,
                    seed=options["seed"],
                    acknowledged=options["log"],
                    progress=lambda done, total: bars.update(bar, completed=done, total=total),
                )
            except WrongPage as error:
                raise CommandError(str(error)) from error
        for line in described(tally, options["preferences"]):
            self.stdout.write(line)
