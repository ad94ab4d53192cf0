"""manage.py report_campaign: figures, tables, data and a page that shows them, as a folder."""

import io
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.core.management.base import BaseCommand
from django.utils.text import slugify

from core.management.files import refusals_as_errors, write_output
from judgments.exports import write_zip
from pools.management.lookup import campaign_called
from results.refreshing import result_refresh
from results.report import report_to


class Command(BaseCommand):
    """Compute a campaign's results and write the report on them into a folder."""

    help = (
        "Write a report on a campaign's results into a folder that needs nothing else: index.html, every figure and "
        "table, the exports and a manifest. Results that are out of date are computed again first. "
        "The same judgments always give the same files."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument(
            "--to",
            type=Path,
            help="the folder, which is created if needed (default: report- and the campaign's name); - writes "
            "a zip file to standard output",
        )
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Compute, write, and name the files."""
        with refusals_as_errors():
            campaign = campaign_called(options["campaign"], options["lab"])
            result_refresh(campaign=campaign)
            if options["to"] == Path("-"):
                with TemporaryDirectory(prefix="bestknown-") as name:
                    root, archive = Path(name), io.BytesIO()
                    write_zip({str(path.relative_to(root)): path for path in report_to(campaign, root)}, archive)
                write_output(archive.getvalue())
                return
            folder = options["to"] or Path(f"report-{slugify(campaign.name) or campaign.pk}")
            for path in report_to(campaign, folder):
                self.stdout.write(str(path))
