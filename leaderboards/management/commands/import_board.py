"""manage.py import_board: the CSV file of a leaderboard becomes entries of a board here."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from core.management.command import SiteCommand
from core.management.files import input_path, open_file
from leaderboards.importing import board_import
from leaderboards.models import Board


class Command(SiteCommand):
    writes_rows = True
    help = (
        "Add the entries of an MS MARCO leaderboard's CSV file (documents or passages, told apart by the names of "
        "their columns) to a board, without runs, and with their scores as published. Trophies are computed anew; "
        "those on which the file disagrees are listed. If a line is wrong, nothing is imported."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("board", help="the board's name in its address")
        parser.add_argument("file", type=input_path, help="the CSV file, or - for standard input")
        parser.add_argument("--season", help="the season of the entries; otherwise the board's first")

    def work(self, **options: Any) -> Mapping[str, Any]:
        board = Board.objects.filter(slug=options["board"]).first()
        if board is None:
            raise CommandError(f"There is no board {options['board']!r}.")
        season = None
        if options["season"]:
            season = board.seasons.filter(name=options["season"]).first()
            if season is None:
                names = ", ".join(board.seasons.order_by("number").values_list("name", flat=True)) or "none"
                raise CommandError(f"{board.name} has no season {options['season']!r}; it has: {names}.")
        path = options["file"]
        with open_file(path) as source:
            done = board_import(
                board=board, source=source, filename=path.name, by=None, at=timezone.now(), season=season
            )
        for note in done.file.notes:
            self.say(f"{path.name}, line {note.line:,}: {note.message}")
        for line, entry, earned in done.disagreements:
            said = "has earned a trophy that it does not have" if earned else "has a trophy that it has not earned"
            self.say(f"{path.name}, line {line:,}: {entry.key} {said}.")
        found = done.summary
        self.say(
            f"{board.name}: {found.entries:,} entries, of these {found.baselines:,} baselines; {found.trophies:,} "
            f"trophies, {len(found.disagreements):,} disagreements; {found.both:,} with both scores."
        )
        return done.as_dict()
