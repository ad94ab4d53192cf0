"""manage.py report_campaign: figures, tables, data and a page that shows them, as a folder."""

import io
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.utils.text import slugify

from core.management.command import SiteCommand
from core.management.files import must_share_output, reporting_to, write_output
from judgments.exports import write_zip
from judgments.stored_files import sha256_of
from pools.management.lookup import campaign_called
from results.refreshing import report_try, result_refresh
from results.report import report_to


class Command(SiteCommand):
    """Compute a campaign's results and write the report on them into a folder."""

    help = (
        "Write a report on a campaign's results into a folder that needs nothing else: index.html, every figure and "
        "table, the exports and a manifest. Results that are out of date are computed again first. "
        "The same judgments always give the same files."
    )
    dry_run_help = (
        "compute the results, name the files that would be written, with their sizes and sums, and keep nothing"
    )

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="the campaign's name")
        parser.add_argument(
            "--to",
            type=Path,
            help="the folder, which is created if needed (default: report- and the campaign's name); - writes "
            "a zip file to standard output",
        )
        parser.add_argument("--lab", help="the campaign's lab, if several labs have a campaign with this name")

    def work(self, **options: Any) -> dict[str, Any]:
        must_share_output(options["to"], options["json"])
        campaign = campaign_called(options["campaign"], options["lab"])
        to = options["to"] or Path(f"report-{slugify(campaign.name) or campaign.pk}")
        is_kept = to != Path("-") and not options["dry_run"]
        with TemporaryDirectory(prefix="bestknown-") as name:
            folder = to if is_kept else Path(name)
            with reporting_to(self.stderr) as report:
                report("Computing the results")
                if options["dry_run"]:
                    written = report_try(campaign=campaign, folder=folder)
                else:
                    result_refresh(campaign=campaign)
                    report("Writing the report")
                    written = report_to(campaign, folder)
            paths = {str(path.relative_to(folder)): path for path in written}
            files = [
                {"name": inside, "size": path.stat().st_size, "sha256": sha256_of(path)}
                for inside, path in paths.items()
            ]
            if to == Path("-") and not options["dry_run"]:
                archive = io.BytesIO()
                write_zip(paths, archive)
                write_output(archive.getvalue())
            else:
                for inside in paths:
                    self.say(str(to / inside))
        return {"campaign": campaign.pk, "to": str(to), "files": files}
