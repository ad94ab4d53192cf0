"""manage.py import_collection: queries, qrels and passages from files."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from core.management.command import SiteCommand
from core.management.files import input_path, reporting_to
from evaluation.files.textfiles import counted
from runs.management.lookup import lab_made
from runs.services import KEEP_DEPTH, collection_import, outside_scores_set


class Command(SiteCommand):
    writes_rows = True
    help = (
        "Create a collection from files, or add files to one. Files may be plain, gz, bz2 or zst; queries and "
        "passages "
        "are tsv (id TAB text) or jsonl; qrels are TREC or MS MARCO; - is standard input, for one of them. "
        "Either everything is stored or nothing."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = (
            "example:\n  manage.py import_collection msmarco --lab ours --queries queries.tsv --qrels qrels.tsv\n"
            "  manage.py import_run msmarco run1.txt.gz run2.txt.gz --lab ours\n"
            "  manage.py import_collection msmarco --lab ours --passages collection.tsv.gz\n"
        )
        parser.add_argument("name", help="the collection's name")
        parser.add_argument("--lab", required=True, help="the lab that owns it; created if needed")
        parser.add_argument("--admin", metavar="USER", help="the user name of the first admin of a lab that is created")
        parser.add_argument("--language", help="BCP 47 tag of the texts, such as en or ar")
        parser.add_argument("--queries", type=input_path)
        parser.add_argument("--qrels", type=input_path)
        parser.add_argument("--passages", type=input_path)
        parser.add_argument(
            "--outside",
            type=input_path,
            help="scores of the runs from elsewhere (lines: run score, or run score rank); replaces those stored",
        )
        parser.add_argument(
            "--outside-source", metavar="TEXT", help="where these scores come from, and which measure they are"
        )
        parser.add_argument(
            "--keep",
            choices=["pooled", "all"],
            default="pooled",
            help="which passages to keep: those that pools can need (qrels, tops of the runs imported before), or all",
        )
        parser.add_argument("--depth", type=int, default=KEEP_DEPTH, help=f"what the top of a run is ({KEEP_DEPTH})")

    def work(self, **options: Any) -> dict[str, Any]:
        if bool(options["outside"]) != bool(options["outside_source"]):
            raise CommandError("Give --outside and --outside-source together.")
        with reporting_to(self.stderr) as report, transaction.atomic():
            lab, about_lab = lab_made(options["lab"], options["admin"])
            imported = collection_import(
                lab=lab,
                name=options["name"],
                language=options["language"],
                queries=options["queries"],
                qrels=options["qrels"],
                passages=options["passages"],
                keep=options["keep"],
                depth=options["depth"],
                report=report,
            )
            if options["outside"]:
                stored = outside_scores_set(
                    collection=imported.collection,
                    source=options["outside_source"],
                    file=options["outside"],
                    filename=options["outside"].name,
                    by=None,
                    at=timezone.now(),
                )
                scores = counted(len(stored.outside.scores), "outside score")
                self.say(f"{scores} stored, {stored.foreign:,} for runs that are not in the collection.")
        self.say(
            f"{imported.collection.name}: {imported.queries:,} queries, {imported.qrels:,} qrels and "
            f"{imported.passages:,} passages imported."
        )
        if about_lab:
            self.say(about_lab)
        if imported.missing:
            names = ", ".join(imported.missing[:20])
            more = f" and {len(imported.missing) - 20:,} more" if len(imported.missing) > 20 else ""
            self.say(f"{len(imported.missing):,} passages have no text yet: {names}{more}.")
        return {
            "collection": imported.collection.pk,
            "queries": imported.queries,
            "qrels": imported.qrels,
            "passages": imported.passages,
            "without_text": len(imported.missing),
        }
