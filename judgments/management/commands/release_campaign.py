"""manage.py release_campaign: a campaign's release bundle, searched for ids of people, as a file."""

import json
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from core.management.files import refusals_as_errors
from judgments.releasing import bundle_make, bundle_write
from judgments.stored_files import sha256_of
from pools.management.lookup import campaign_called


class Command(BaseCommand):
    """Make a release bundle."""

    help = (
        "Make one archive of a campaign's export files, to publish, unless one of them has the id of a worker, an "
        "assignment, a panel member or a researcher. It is offered on the campaign's page Release, too."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument("--to", type=Path, help="a file to write the archive to as well")
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")
        parser.add_argument("--dry-run", action="store_true", help="search the files, and offer no archive")
        parser.add_argument("--json", action="store_true", help="answer in JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make it, and say what is in it."""
        with refusals_as_errors():
            campaign = campaign_called(options["campaign"], options["lab"])
            if options["dry_run"]:
                with TemporaryDirectory(prefix="bestknown-") as folder:
                    paths, _revision = bundle_write(campaign, Path(folder))
                    said: dict[str, Any] = {"files": {path.name: sha256_of(path) for path in paths}}
            else:
                row = bundle_make(campaign=campaign, at=timezone.now())
                said = {"archive": row.name, "size": row.size, "sha256": row.sha256}
                if options["to"]:
                    with row.file.open("rb") as file:
                        options["to"].write_bytes(file.read())
                    said["written_to"] = str(options["to"])
        if options["json"]:
            self.stdout.write(json.dumps({"campaign": campaign.name, "dry_run": options["dry_run"]} | said, indent=1))
            return
        self.stdout.write("No id of a person is in the files.")
        for name, value in (said["files"] if options["dry_run"] else said).items():
            self.stdout.write(f"{name}: {value}")
