"""manage.py import_dataset: a public collection by its id in ir_datasets."""

from argparse import ArgumentParser
from typing import Any

from django.template.defaultfilters import filesizeformat

from core.management.command import SiteCommand
from core.management.files import reporting_to
from runs import catalogue
from runs.fetching import dataset_import
from runs.management.lookup import lab_made


class Command(SiteCommand):
    """Make a collection from a dataset of ir_datasets."""

    help = (
        "Create a collection from a dataset of ir_datasets: its queries and qrels and, with --passages, the passages "
        "that these name. Run it again after importing runs to fetch the passages that these put first. Needs the "
        "package ir_datasets (pip install -r requirements-ir-datasets.txt)."
    )

    dry_run_help = "say what would be downloaded, and fetch nothing"

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("dataset", help="its id, such as beir/scifact/test")
        parser.add_argument("--lab", required=True, help="the lab that owns the collection; created if needed")
        parser.add_argument("--admin", metavar="USER", help="the user name of the first admin of a lab that is created")
        parser.add_argument("--name", help="the collection's name (default: the id)")
        parser.add_argument(
            "--passages", action="store_true", help="fetch the passages too, for which the whole corpus is downloaded"
        )

    def work(self, **options: Any) -> dict[str, Any]:
        dataset, passages = options["dataset"], options["passages"]
        offer = catalogue.look(dataset, passages=passages)
        more = "" if offer.is_size_known else ", and files of unknown size"
        self.say(
            f"{filesizeformat(offer.size)} to download{more}; "
            f"up to {filesizeformat(offer.needed)} of the disk, {filesizeformat(offer.free)} are free."
        )
        if offer.agreement:
            self.say(offer.agreement)
        facts = {"dataset": dataset, "bytes": offer.size, "is_size_known": offer.is_size_known}
        if options["dry_run"]:
            return facts
        with reporting_to(self.stderr) as report:
            lab, about_lab = lab_made(options["lab"], options["admin"])
            imported = dataset_import(
                lab=lab, name=options["name"] or dataset[:100], dataset=dataset, passages=passages, report=report
            )
        self.say(
            f"{imported.collection.name}: {imported.queries:,} queries, {imported.qrels:,} qrels and "
            f"{imported.passages:,} passages imported."
        )
        if about_lab:
            self.say(about_lab)
        if imported.missing:
            self.say(f"{len(imported.missing):,} passages have no text yet.")
        return {
            **facts,
            "collection": imported.collection.pk,
            "queries": imported.queries,
            "qrels": imported.qrels,
            "passages": imported.passages,
            "without_text": len(imported.missing),
        }
