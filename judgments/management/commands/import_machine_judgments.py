"""manage.py import_machine_judgments: a machine's answers, to be compared with people's judgments."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from core.management.command import SiteCommand
from core.management.files import STANDARD_INPUT, input_path, open_file, reporting_to
from evaluation.files.runs import run_name
from evaluation.files.textfiles import counted
from judgments.machines import machine_judge_import
from pools.management.lookup import collection_called


class Command(SiteCommand):
    help = (
        "Store the answers of a machine, such as a language model, beside a collection: lines `query a b preferred`, "
        "where `preferred` is a, b, = (a tie) or ! (no answer), plain, gz, bz2 or zst. A pair may be there in both "
        "orders. The answers are compared with people's judgments, and never counted among them. If the file has an "
        "error, or an id that the collection does not know, nothing is stored."
    )

    writes_rows = True

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("collection", help="the collection's name")
        parser.add_argument("file", type=input_path, help="the file, or - for standard input")
        parser.add_argument("--lab", help="the collection's lab, if several labs have a collection with this name")
        parser.add_argument("--name", help="the judge's name (default: the file's name without its extensions)")
        parser.add_argument("--model", required=True, help="which model it was, with its version or date")
        parser.add_argument("--prompt", required=True, type=input_path, help="a file with what it was told")

    def work(self, **options: Any) -> Mapping[str, Any]:
        path = options["file"]
        if path == STANDARD_INPUT and not options["name"]:
            raise CommandError("Answers from standard input need a --name.")
        collection = collection_called(options["collection"], options["lab"])
        prompt = options["prompt"].read_text(encoding="utf-8", errors="replace").strip()
        with open_file(path) as source, reporting_to(self.stderr) as report:
            judge = machine_judge_import(
                collection=collection,
                name=options["name"] or run_name(str(path)),
                source=source,
                filename=path.name,
                model=options["model"],
                prompt=prompt,
                by=None,
                at=timezone.now(),
                report=report,
            )
        self.say(
            f"{judge.name} ({judge.model}): {counted(judge.answer_count, 'answer')} on "
            f"{counted(judge.pair_count, 'pair')} stored."
        )
        return {"name": judge.name, "answers": judge.answer_count, "pairs": judge.pair_count, "sha256": judge.sha256}
