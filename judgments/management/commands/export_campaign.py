"""manage.py export_campaign: qrels, pairs, judgments and manifest as files."""

import io
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.core.management.base import CommandError

from core.management.command import SiteCommand
from core.management.files import reporting_to, write_output
from judgments.exports import export_to, write_zip
from judgments.stored_files import sha256_of
from pools.management.lookup import campaign_called


class Command(SiteCommand):
    """Write a campaign's export files into a folder."""

    help = (
        "Write a campaign's preference qrels, pairs, judgments (with pseudonyms) and manifest into a folder. "
        "The same judgments always give the same files."
    )
    dry_run_help = "name the files that would be written, with their sizes and sums, and write none"

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument(
            "--to",
            type=Path,
            required=True,
            help="the folder, which is created if needed; - writes a zip file to standard output",
        )
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")

    def work(self, **options: Any) -> dict[str, Any]:
        if options["to"] == Path("-") and options["json"]:
            raise CommandError("--to - and --json both write to standard output: name a folder, or leave --json out.")
        campaign = campaign_called(options["campaign"], options["lab"])
        to, archive = options["to"], io.BytesIO()
        is_kept = to != Path("-") and not options["dry_run"]
        with TemporaryDirectory(prefix="bestknown-") as folder:
            with reporting_to(self.stderr) as report:
                report("Writing the files")
                paths = export_to(campaign, to if is_kept else Path(folder))
            files = [{"name": path.name, "size": path.stat().st_size, "sha256": sha256_of(path)} for path in paths]
            if to == Path("-") and not options["dry_run"]:
                write_zip({path.name: path for path in paths}, archive)
                write_output(archive.getvalue())
            else:
                for path in paths:
                    self.say(str(to / path.name))
        return {"campaign": campaign.pk, "to": str(to), "files": files}
