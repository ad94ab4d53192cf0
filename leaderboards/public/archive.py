"""A whole board as files that anybody can take away, and from which `docs/board_page.py` makes the same page again."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.template.loader import render_to_string

from leaderboards.models import Season, SeasonFile
from leaderboards.public import board_page, figures
from leaderboards.public.data import board_json, content, entries_csv, scores_text
from leaderboards.public.reading import Published

STYLES = ("css/tokens.css", "css/components.css", "css/boards.css", "img/mark.svg")
_TOO_LARGE = (SeasonFile.Part.DEV_CANDIDATES, SeasonFile.Part.EVAL_CANDIDATES)  # the board's page of files has them
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
season-*/          queries and qrels; those of eval once the organizers publish them
figures/           scores over time, dev against eval, and their gap
SHA256SUMS         of all other files: sha256sum --check SHA256SUMS

Under an embargo, an entry is Anonymous here, too, and goes by a random id that stays when it is revealed.
Runs are sealed, and no part of this.
"""


def frame(board: Published) -> bytes:
    """The page around a board, the same for everybody."""
    text = render_to_string(
        "leaderboards/public/frame.html", {"board": board.board, "content": board_page.CONTENT.decode()}
    )
    return text.encode()


def page(board: Published, query: str = "") -> bytes:
    """The board's page: what `docs/board_page.py` makes of the files."""
    return frame(board).replace(board_page.CONTENT, content(board, query).encode(), 1)


def public_files(season: Season) -> list[SeasonFile]:
    """A season's files that everybody may have: never the eval qrels, unless the organizers have published them."""
    hidden = () if season.eval_qrels_published_at else (SeasonFile.Part.EVAL_QRELS,)
    return [file for file in season.files.order_by("part") if file.part not in hidden]


def write_archive(board: Published, to: IO[bytes]) -> None:
    """Write the zip. The same board gives the same bytes."""
    sums = []
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, blocks in _files(board):
            digest = hashlib.sha256()
            with archive.open(_member(name), "w") as member:
                for block in blocks:
                    digest.update(block)
                    member.write(block)
            sums.append(f"{digest.hexdigest()}  {name}\n")
        with archive.open(_member("SHA256SUMS"), "w") as member:
            member.write("".join(sums).encode())


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _WHEN)
    info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return info


def _files(board: Published) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Every file but the sums, as blocks, in order."""
    for name, written in _small_files(board):
        yield name, iter([written])
    for season in board.seasons:
        for file in public_files(season):
            if file.part in _TOO_LARGE:
                continue
            with file.file.open("rb") as opened:
                yield f"season-{season.number}/{Path(file.name).name}", opened.chunks()


def _small_files(board: Published) -> Iterator[tuple[str, bytes]]:
    yield "README.txt", _README.format(name=board.board.name).encode()
    yield "board.json", board_json(board)
    yield "entries.csv", entries_csv(board)
    yield "frame.html", frame(board)
    yield "board_page.py", Path(board_page.__file__).read_bytes()
    yield "index.html", page(board)
    for part in ("dev", "eval"):
        yield f"scores-{part}.txt", scores_text(board, part)
    yield "looks.csv", _looks(board)
    for policy in board.board.policies.filter(begins_at__lte=board.at).order_by("number"):
        yield f"policy/{policy.number}.txt", f"From {policy.begins_at:%Y-%m-%d} on\n\n{policy.text}\n".encode()
    for season in board.seasons:
        entries = board.of_season(season.name)
        drawings = {
            "over-time": figures.over_time(entries),
            "dev-eval": figures.dev_against_eval(entries),
            "gaps": figures.gaps(entries),
        }
        for name, drawing in drawings.items():
            if drawing:
                yield f"figures/season-{season.number}-{name}.svg", drawing.encode()
    for name in STYLES:
        found = finders.find(name)
        assert isinstance(found, str), name
        yield staticfiles_storage.url(name).lstrip("/"), Path(found).read_bytes()


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
