"""A whole board as files that anybody can take away, and from which `docs/board_page.py` makes the same page again."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.files import File
from django.core.files.storage import default_storage
from django.http import HttpResponseBase
from django.template.loader import render_to_string

from core.direct import stored_file_response
from evaluation.boards.checking import COSTS
from leaderboards import order_checks
from leaderboards.models import Season, SeasonFile
from leaderboards.public import board_page, figures, versions
from leaderboards.public.data import COST_NAMES, board_json, calls, content, entries_csv, facts, links, scores_text
from leaderboards.public.published import Published, dev_groups

STYLES = ("css/tokens.css", "css/components.css", "css/boards.css", "img/mark.svg")
_TOO_LARGE = (SeasonFile.Part.DEV_CANDIDATES, SeasonFile.Part.EVAL_CANDIDATES)  # the board's page of files has them
KEPT = timedelta(days=1)  # of zips that are no longer what the board is: somebody may be reading one
_WHEN = (1980, 1, 1, 0, 0, 0)  # of every file: the same board gives the same zip
_README = """{name}

board.json         the board's settings, and what its page says besides the entries
entries.csv        every entry, in the board's order
frame.html         the page around that
board_page.py      makes the board's page of these three: python3 board_page.py . > index.html
index.html         that page; with `python3 -m http.server` here it has its styles, too
scores-dev.txt     run measure topic value: what is shown of the scores, topic "all"
scores-eval.txt    the same on the hidden queries
looks.csv          how many answers of the release rule were shown, by month
policy/            each version of the policy
versions/          each version of the preference qrels: those of dev, what changed and why, and the order on it
season-*/          queries and qrels; those of eval once the organizers publish them. order-*.csv: how sure the order
                   is, by its last check; order-checks.csv: the checks in numbers
figures/           scores over time, dev against eval, their gap, and eval scores against costs
SHA256SUMS         of all other files: sha256sum --check SHA256SUMS

Under an embargo, an entry is Anonymous here, too, and goes by a random id that stays when it is revealed.
Runs are sealed, and no part of this.
"""


def frame(board: Published) -> bytes:
    """The page around a board, the same for everybody."""
    context = {
        "board": board.board, "content": board_page.CONTENT.decode(),
        "calls": calls(board), "facts": facts(board), "links": links(board),
    }  # fmt: skip
    return render_to_string("leaderboards/public/frame.html", context).encode()


def page(board: Published, query: str = "") -> bytes:
    """The board's page: what `docs/board_page.py` makes of the files."""
    return frame(board).replace(board_page.CONTENT, content(board, query).encode(), 1)


def public_files(season: Season) -> list[SeasonFile]:
    """A season's files that everybody may have: never the eval qrels, unless the organizers have published them."""
    hidden = () if season.eval_qrels_published_at else (SeasonFile.Part.EVAL_QRELS,)
    return [file for file in season.files.order_by("part") if file.part not in hidden]


class Archive:
    """The zip of a board at a moment: the same board gives the same bytes.

    Once packed it is stored, by a digest of all that it holds, and whoever asks next gets that. What changes the board,
    such as an embargo that ends, changes the digest.
    """

    def __init__(self, board: Published) -> None:
        self._small = dict(_small_files(board))
        self._large = [
            (f"season-{season.number}/{Path(file.name).name}", file)
            for season in board.seasons
            for file in public_files(season)
            if file.part not in _TOO_LARGE
        ]
        sums = [(name, hashlib.sha256(content).hexdigest()) for name, content in self._small.items()]
        sums += [(name, file.sha256) for name, file in self._large]
        self.digest = hashlib.sha256(json.dumps(sums).encode()).hexdigest()
        self._folder = f"boards/archives/{board.board.pk}"

    def response(self, at: datetime, filename: str) -> HttpResponseBase:
        """The zip as a download. If it has to be packed, those of the board that are older than a day go."""
        name = f"{self._folder}/{self.digest}.zip"
        if not default_storage.exists(name):
            with tempfile.SpooledTemporaryFile(max_size=8 << 20) as packed:
                self.write(packed)
                packed.seek(0)
                stored = default_storage.save(name, File(packed))
            if stored != name:  # somebody else stored the same meanwhile
                default_storage.delete(stored)
            for other in default_storage.listdir(self._folder)[1]:
                path = f"{self._folder}/{other}"
                if path != name and default_storage.get_modified_time(path) < at - KEPT:
                    default_storage.delete(path)
        return stored_file_response(
            name,
            size=default_storage.size(name),
            filename=filename,
            content_type="application/zip",
            etag=self.digest[:32],
        )

    def write(self, to: IO[bytes]) -> None:
        sums = []
        with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, blocks in self._files():
                digest = hashlib.sha256()
                with archive.open(_member(name), "w") as member:
                    for block in blocks:
                        digest.update(block)
                        member.write(block)
                sums.append(f"{digest.hexdigest()}  {name}\n")
            with archive.open(_member("SHA256SUMS"), "w") as member:
                member.write("".join(sums).encode())

    def _files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Every file but the sums, as blocks, in order."""
        for name, written in self._small.items():
            yield name, iter([written])
        for name, file in self._large:
            with file.file.open("rb") as opened:
                yield name, opened.chunks()


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _WHEN)
    info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return info


def _small_files(board: Published) -> Iterator[tuple[str, bytes]]:
    yield "README.txt", _README.format(name=board.board.name).encode()
    yield "board.json", board_json(board)
    yield "entries.csv", entries_csv(board)
    yield "frame.html", frame(board)
    yield "board_page.py", Path(board_page.__file__).read_bytes()
    yield "index.html", page(board)
    for part in ("dev", "eval"):
        yield f"scores-{part}.txt", scores_text(board, part)
    if groups := _groups(board):
        yield "groups.csv", groups
    yield "looks.csv", _looks(board)
    for policy in board.board.policies.filter(begins_at__lte=board.at).order_by("number"):
        yield f"policy/{policy.number}.txt", f"From {policy.begins_at:%Y-%m-%d} on\n\n{policy.text}\n".encode()
    yield from _versions(board)
    for season in board.seasons:
        yield from _order_checks(board, season)
    for season in board.seasons:
        entries = board.of_season(season.name)
        drawings = {
            "over-time": figures.over_time(entries),
            "dev-eval": figures.dev_against_eval(entries),
            "gaps": figures.gaps(entries),
            "published-dev-eval": figures.dev_against_eval(entries, imported=True),
            "published-gaps": figures.gaps(entries, imported=True),
        } | {f"eval-{cost}": figures.against_cost(entries, cost, COST_NAMES[cost]) for cost in COSTS}
        for name, drawing in drawings.items():
            if drawing:
                yield f"figures/season-{season.number}-{name}.svg", drawing.encode()
    for name in STYLES:
        path = finders.find(name)
        assert isinstance(path, str), name
        yield staticfiles_storage.url(name).lstrip("/"), Path(path).read_bytes()


def _versions(board: Published) -> Iterator[tuple[str, bytes]]:
    """Each version of the preference qrels: the dev qrels, what changed, and the order of the entries on it."""
    summaries = versions.summaries(board.board)
    if not summaries:
        return
    head = ["version", "made", "why", "answers", "added", "changed", "challengers", "won"]
    rows = [[row.version.number, row.version.made_at.isoformat(), row.version.why, *row[1:]] for row in summaries]
    yield "versions/versions.csv", _csv(head, rows)
    for summary in summaries:
        folder = f"versions/{summary.version.number}"
        yield f"{folder}/dev-qrels.txt", "".join(versions.dev_qrels(board.board, summary.version)).encode()
        changes = versions.changes_of(board.board, summary.version)
        rows = [[change.qid, " ".join(change.before), " ".join(change.after)] for change in changes]
        yield f"{folder}/changes.csv", _csv(["query", "before", "after"], rows)
        rows = [
            [order.season.name, row.rank or "", row.before or "", row.entry.id, row.entry.run_id,
             row.printed_dev, row.printed_eval]
            for order in versions.order_on(board, summary.version)
            for row in order.placed
        ]  # fmt: skip
        yield f"{folder}/order.csv", _csv(["season", "rank", "rank_before", "id", "run", "dev", "eval"], rows)


def _order_checks(board: Published, season: Season) -> Iterator[tuple[str, bytes]]:
    """How sure the order of a season is, as far as everybody may see it."""
    past = []
    for part, checks in order_checks.shown_checks(season, board.at).items():
        rows = [
            [line.id, entry.run_id, line.band, *line[1:4], *line[5:8]]
            for line in order_checks.lines_of(checks[0])
            if (entry := board.entry(line.id)) is not None
        ]
        head = ["id", "run", "band", "mean", "low", "high", "rank_low", "rank_high", "first"]
        yield f"season-{season.number}/order-{part}.csv", _csv(head, rows)
        past += [
            [part, row.check.made_at.isoformat(), row.check.queries, row.check.draws, row.check.seed, *row[1:]]
            for row in map(order_checks.summary, checks)
        ]
    if past:
        head = ["part", "checked", "queries", "draws", "seed", "entries", "bands", "mean_ranks", "most_first"]
        yield f"season-{season.number}/order-checks.csv", _csv(head, past)


def _groups(board: Published) -> bytes:
    """The dev scores of entries on groups of queries; empty where no season has any."""
    grouped = {season.name for season in board.seasons if season.files.filter(part=SeasonFile.Part.DEV_GROUPS).exists()}
    rows = [
        [season, entry.id, row.group, row.queries, score]
        for season in sorted(grouped)
        for entries in [board.of_season(season)]
        for row in dev_groups(board, *entries)
        for entry, score in zip(entries, row.scores, strict=True)
        if score
    ]
    return _csv(["season", "id", "group", "queries", "dev"], rows) if rows else b""


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([head, *rows])
    return file.getvalue().encode()


def _looks(board: Published) -> bytes:
    """The log of looks: no more than months and numbers, since who looked is not everybody's to know."""
    counts: dict[str, int] = {}
    for at in board.board.looks.order_by("at").values_list("at", flat=True):
        month = f"{at:%Y-%m}"
        counts[month] = counts.get(month, 0) + 1
    file = io.StringIO()
    file.write("month,looks\n")
    file.writelines(f"{month},{count}\n" for month, count in counts.items())
    return file.getvalue().encode()
