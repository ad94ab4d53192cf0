"""manage.py release_campaign: a campaign's release bundle, searched for ids of people, as a file."""

from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.utils import timezone

from core.management.command import SiteCommand
from core.management.files import reporting_to
from judgments.releasing import bundle_make, bundle_write
from judgments.stored_files import sha256_of
from pools.management.lookup import campaign_called


class Command(SiteCommand):
    help = (
        "Make one archive of a campaign's export files, to publish, unless one of them has the id of a worker, an "
        "assignment, a panel member or a researcher. It is offered on the campaign's page Release, too."
    )
    dry_run_help = "search the files, and offer no archive"

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--to", type=Path, help="a file to write the archive to as well")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")

    def work(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_called(options["campaign"], options["lab"])
        with reporting_to(self.stderr) as report:
            report("Searching the files")
            if options["dry_run"]:
                with TemporaryDirectory(prefix="bestknown-") as folder:
                    paths, _revision = bundle_write(campaign, Path(folder))
                    facts: dict[str, Any] = {"files": {path.name: sha256_of(path) for path in paths}}
            else:
                row = bundle_make(campaign=campaign, at=timezone.now())
                facts = {"archive": row.name, "size": row.size, "sha256": row.sha256}
                if options["to"]:
                    with row.file.open("rb") as file:
                        options["to"].write_bytes(file.read())
                    facts["written_to"] = str(options["to"])
        self.say("No id of a person is in the files.")
        for name, value in (facts["files"] if options["dry_run"] else facts).items():
            self.say(f"{name}: {value}")
        return {"campaign": campaign.name, **facts}
