"""manage.py import_dataset: a public collection by its id in ir_datasets."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.template.defaultfilters import filesizeformat

from core.management.files import refusals_as_errors, reporting_to
from core.models import Lab
from pools import catalogue
from pools.fetching import dataset_import


class Command(BaseCommand):
    """Make a collection from a dataset of ir_datasets."""

    help = (
        "Create a collection from a dataset of ir_datasets: its queries and qrels and, with --passages, the passages "
        "that these name. Run it again after importing runs to fetch the passages that these put first. Needs the "
        "package ir_datasets (pip install -r requirements-ir-datasets.txt)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("dataset", help="its id, such as beir/scifact/test")
        parser.add_argument("--lab", required=True, help="the lab that owns the collection; created if needed")
        parser.add_argument("--name", help="the collection's name (default: the id)")
        parser.add_argument(
            "--passages", action="store_true", help="fetch the passages too, for which the whole corpus is downloaded"
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would be downloaded, and fetch nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        """Say what it takes, then fetch and import it."""
        dataset, passages = options["dataset"], options["passages"]
        with refusals_as_errors():
            offer = catalogue.look(dataset, passages=passages)
            more = "" if offer.is_size_known else ", and files of unknown size"
            self.stdout.write(
                f"{filesizeformat(offer.size)} to download{more}; "
                f"up to {filesizeformat(offer.needed)} of the disk, {filesizeformat(offer.free)} are free."
            )
            if offer.agreement:
                self.stdout.write(offer.agreement)
            if options["dry_run"]:
                return
            lab, _new = Lab.objects.get_or_create(name=options["lab"])
            with reporting_to(self.stderr) as report:
                imported = dataset_import(
                    lab=lab, name=options["name"] or dataset[:100], dataset=dataset, passages=passages, report=report
                )
        self.stdout.write(
            f"{imported.collection.name}: {imported.queries:,} queries, {imported.qrels:,} qrels and "
            f"{imported.passages:,} passages imported."
        )
        if imported.missing:
            self.stdout.write(f"{len(imported.missing):,} passages have no text yet.")
