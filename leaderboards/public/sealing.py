"""What participants seal with: the wheel of the command `bestknown`, and a sample submission of a board."""

from __future__ import annotations

import bz2
import io
import json
import zipfile
from dataclasses import replace
from datetime import datetime
from functools import cache
from itertools import islice
from typing import BinaryIO, NamedTuple, cast

from django.conf import settings
from django.urls import reverse

from evaluation.boards import sealing
from evaluation.boards.packages import BoardTerms
from evaluation.files.texts import Text, read_queries
from evaluation.package.wheels import SEALING, Wheel, make_wheel
from leaderboards.boards import board_terms
from leaderboards.models import Board, Season, SeasonFile

QUERIES = 3  # in a sample
_HITS = 10  # of each, if the board takes fewer than it asks for
_PARTS = {"dev": SeasonFile.Part.DEV_QUERIES, "eval": SeasonFile.Part.EVAL_QUERIES}
_README = """A sample submission to {name}: the first queries of the season {season}, and runs with made-up passages.

  pip install {address}
  bestknown check dev.txt --queries dev-queries.tsv
  {seal}
  bestknown unseal --key sample.pem --to opened {id}.sealed

{id}.sealed is sealed with board.json, whose key is sample.pem: the board cannot open it. For a run
of yours, take the board's own file and all of its queries from {site}
"""


@cache  # the source of a running site does not change
def wheel() -> Wheel:
    """What participants install."""
    return make_wheel(SEALING)


class Installing(NamedTuple):
    """What a page says of the wheel. `address`: what pip takes, and checks what it gets by."""

    name: str
    size: int
    sha256: str
    address: str


def installing() -> Installing:
    """The wheel, and where this site serves it."""
    package = wheel()
    address = settings.SITE_URL + reverse("boards:wheel", args=[package.name.removesuffix(".whl")])
    return Installing(package.name, len(package.content), package.sha256, f"{address}#sha256={package.sha256}")


def seal_command(terms: str) -> str:
    """The command that seals the files of a sample, or one's own under the same names."""
    return (
        f"bestknown seal --board {terms} --name NAME --metadata metadata.json --dev dev.txt --eval eval.txt "
        "--dev-queries dev-queries.tsv --eval-queries eval-queries.tsv"
    )


def sample(board: Board, season: Season, at: datetime) -> bytes | None:
    """A zip with all that a submission has, sealed for a key that lies beside it; None where a file of queries lacks.

    It is sealed for a board of another name, so nobody submits it by mistake. Each is drawn anew.
    """
    files = {file.part: file for file in season.files.filter(part__in=_PARTS.values())}
    if len(files) < len(_PARTS):
        return None
    key, terms = sealing.new_key(), board_terms(board, board.policy_at(at))
    terms = replace(terms, board=f"{board.slug}-sample", public_key=key.public_pem)
    run_id = f"{at:%Y%m%d}-sample"
    metadata = {"team": "Sample Group, Example University", "model_description": "A sample", "type": terms.types[0]}
    contents = {
        "board.json": json.dumps(terms.as_dict(), indent=1).encode(),
        "metadata.json": json.dumps(metadata, indent=1).encode(),
        "sample.pem": key.private_pem.encode(),
    }
    for half, part in _PARTS.items():
        with files[part].file.open("rb") as file:
            queries = list(islice(read_queries(cast(BinaryIO, file), name=files[part].name), QUERIES))
        contents[f"{half}-queries.tsv"] = "".join(f"{query.id}\t{query.text}\n" for query in queries).encode()
        contents[f"{half}.txt"] = _run(queries, terms).encode()
    packed = {"metadata.json": contents["metadata.json"]}
    packed |= {f"{half}.txt.bz2": bz2.compress(contents[f"{half}.txt"]) for half in _PARTS}
    contents[f"{run_id}.sealed"] = sealing.seal(packed, to=key.public_pem, board=terms.board, run_id=run_id)
    words = {
        "name": board.name, "season": season.name, "id": run_id, "address": installing().address,
        "seal": seal_command("board.json").replace("NAME", "sample"),
        "site": settings.SITE_URL + reverse("boards:files", args=[board.slug]),
    }  # fmt: skip
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.txt", _README.format(**words))
        for name, written in contents.items():
            archive.writestr(name, written)
    return content.getvalue()


def _run(queries: list[Text], terms: BoardTerms) -> str:
    """As TREC has runs where the board orders by score, and as MS MARCO has them where it orders by rank."""
    hits = terms.hits if terms.fewer == "refuse" else min(terms.hits, _HITS)
    form = "{0} Q0 passage{1} {1} {2} sample\n" if terms.order == "score" else "{0}\tpassage{1}\t{1}\n"
    return "".join(form.format(query.id, rank, hits - rank) for query in queries for rank in range(1, hits + 1))
