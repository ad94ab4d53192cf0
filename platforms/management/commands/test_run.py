"""manage.py test_run: try a campaign through its platform, with test participants who are paid nothing."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from core.management.command import SiteCommand
from platforms import testing
from platforms.management.platforms import platform_errors
from platforms.models import Publication
from pools.management.lookup import campaign_called


class Command(SiteCommand):
    dry_run_help = "say whether a test run could begin or end, send nothing, and change nothing"
    help = (
        "Begin a test run of a campaign that is not published yet: its platform makes a study that only test "
        "participants see, where the account has that, and the address of it is printed. Nobody is paid and nothing is "
        "stored. Or end the test run."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--email", default="", help="make a test participant first, with this address; it has no account there yet"
        )
        what.add_argument("--end", action="store_true", help="end the test run instead")

    def work(self, **options: Any) -> dict[str, Any]:
        """Begin or end it, or say what stands in the way."""
        campaign = campaign_called(options["campaign"], options["lab"])
        publication = Publication.objects.select_related("campaign__lab").filter(campaign=campaign).first()
        if publication is None:
            raise CommandError(f"{campaign.name} has no terms at a platform yet. Write them on its page Platform.")
        with platform_errors():
            done = self._end(publication, **options) if options["end"] else self._begin(publication, **options)
        return {
            "campaign": campaign.pk,
            **done,
            "study": publication.test_study_id,
            "address": publication.test_study_address,
        }

    def _begin(self, publication: Publication, **options: Any) -> dict[str, Any]:
        if options["dry_run"]:
            if obstacle := testing.test_run_obstacle(publication):
                self.failure = obstacle
            else:
                self.say(f"A test run of {publication.campaign.name} could begin.")
            return {"begun": False}
        testing.test_run_begin(publication=publication, email=options["email"])
        self.say(f"The test run of {publication.campaign.name} has begun: {publication.test_study_address}")
        return {"begun": True}

    def _end(self, publication: Publication, **options: Any) -> dict[str, Any]:
        ended = False if options["dry_run"] else testing.test_run_end(publication=publication)
        if ended:
            self.say(f"The test run of {publication.campaign.name} has ended.")
        elif publication.test_study_id:
            self.say(f"The test run of {publication.campaign.name} would be ended.")
        else:
            self.say(f"{publication.campaign.name} has no test run.")
        return {"ended": ended}
