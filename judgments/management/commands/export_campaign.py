"""manage.py export_campaign: qrels, pairs, judgments and manifest as files."""

import io
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.core.management.base import BaseCommand

from core.management.files import refusals_as_errors, write_output
from judgments.exports import export_to, write_zip
from pools.management.lookup import campaign_called


class Command(BaseCommand):
    """Write a campaign's export files into a folder."""

    help = (
        "Write a campaign's preference qrels, pairs, judgments (with pseudonyms) and manifest into a folder. "
        "The same judgments always give the same files."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument(
            "--to",
            type=Path,
            required=True,
            help="the folder, which is created if needed; - writes a zip file to standard output",
        )
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the files and name them."""
        with refusals_as_errors():
            campaign = campaign_called(options["campaign"], options["lab"])
            if options["to"] == Path("-"):
                with TemporaryDirectory(prefix="bestknown-") as folder:
                    files = {path.name: path for path in export_to(campaign, Path(folder))}
                    archive = io.BytesIO()
                    write_zip(files, archive)
                write_output(archive.getvalue())
                return
            for path in export_to(campaign, options["to"]):
                self.stdout.write(str(path))
