"""manage.py simulate_crowd: people who are not there, judging on the real pages."""

from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import Progress

from core.management.files import input_path, refusals_as_errors
from evaluation.files.preferences import Preference, read_preferences
from platforms.models import Publication
from pools.management.lookup import campaign_called
from pools.models import Campaign
from simulation import at_platform
from simulation.browser import WrongPage
from simulation.crowd import Habits, Tally, describe_crowd, judge
from tasks.models import Platform


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
    help = (
        "Let simulated people judge an open campaign over HTTP on the real pages, several at a time, "
        "following a file of preferences (query a b preferred), until no HIT is left. With "
        "--at-marketplace, they register at the marketplace where the campaign is published and work "
        "there until everything is approved and paid. The site, its background workers and the "
        "marketplace must be running. Use it for demonstrations, tests and load: their judgments are "
        "stored and paid like anyone else's."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        usual = Habits()
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--preferences", type=input_path, required=True, help="what the crowd thinks")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        parser.add_argument("--at-marketplace", action="store_true", help="work where the campaign is published")
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
        parser.add_argument("--most-hits", type=int, default=usual.most_hits, help="HITs per person (%(default)s)")
        parser.add_argument("--log", type=Path, help="append every acknowledged choice to this file, as JSON lines")

    def handle(self, *args: Any, **options: Any) -> None:
        """Judge, with a progress bar, and say what was done."""
        if options["workers"] < 1 or options["most_hits"] < 1:
            raise CommandError("--workers and --most-hits must be at least 1.")
        if not options["url"]:
            raise CommandError("Give the site's address, for example --url http://localhost:8000")
        with refusals_as_errors():
            campaign = campaign_called(options["campaign"], options["lab"])
            preferences = list(read_preferences(options["preferences"]))
        if campaign.state != Campaign.State.OPEN:
            raise CommandError(f"The campaign is “{campaign.state}”: only an open one can be judged.")
        habits = Habits(**{name: options[name] for name in Habits._fields})
        if options["at_marketplace"]:
            tally = self._judge_at_marketplace(campaign, preferences, habits, options)
        else:
            tally = self._judge_by_link(campaign, preferences, habits, options)
        for line in describe_crowd(tally, options["preferences"]):
            self.stdout.write(line)

    def _judge_by_link(
        self, campaign: Campaign, preferences: list[Preference], habits: Habits, options: dict[str, Any]
    ) -> Tally:
        with Progress(console=Console(stderr=True), transient=True) as bars:
            bar = bars.add_task("Judging", total=None)
            try:
                return judge(
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

    def _judge_at_marketplace(
        self, campaign: Campaign, preferences: list[Preference], habits: Habits, options: dict[str, Any]
    ) -> Tally:
        """Meanwhile, the background workers publish, match, approve and pay. No assignment's time is ended here."""
        if options["log"]:
            raise CommandError("--log is for people who come by the campaign's link.")
        published = Publication.objects.filter(campaign=campaign).exclude(state=Publication.State.DRAFT)
        publication = published.filter(platform=Platform.MARKETPLACE).first()
        if publication is None:
            raise CommandError(f"{campaign.name} is not published at our own marketplace, and people work elsewhere.")
        with Progress(console=Console(stderr=True), transient=True) as bars:
            bar = bars.add_task("Judging at the marketplace", total=None)
            try:
                return at_platform.judge(
                    publication=publication,
                    preferences=preferences,
                    url=options["url"],
                    workers=options["workers"],
                    habits=habits._replace(late=0.0),
                    platform_habits=at_platform.PlatformHabits(),
                    turn=lambda: None,
                    lapse=lambda _assignment_id: None,
                    seed=options["seed"],
                    progress=lambda now: bars.update(bar, completed=now.settled + now.done, total=2 * now.hits),
                )
            except WrongPage as error:
                raise CommandError(str(error)) from error
