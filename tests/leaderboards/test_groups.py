"""Dev scores on groups of queries: from a season's file to an entry's page, a comparison, the zip and the API."""

import csv
import io
import zipfile
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from core.models import User
from evaluation.errors import BadInput
from leaderboards import boards, publishing
from leaderboards.models import Board, Season, Submission
from runs.models import Collection
from tests.api.conftest import Program
from tests.leaderboards import taking_part
from tests.leaderboards.taking_part import DAY, NOW, evaluated

GROUPS = b"d1\tshort\nd2\tshort\nd3\tlong\nd4\tlong\nd1\tGerman words\n"


def season(board: Board, groups: bytes = GROUPS) -> Season:
    files = taking_part.season_files() | {"dev_groups": ("groups.tsv", groups)}
    return boards.season_add(board=board, name="Second", opens_at=NOW + DAY, closes_at=None, files=files, at=NOW + DAY)


@pytest.fixture
def board(collection: Collection, olga: User) -> Board:
    """A board that shows every score, whose newest season has groups."""
    row = taking_part.make(collection, olga, quota_runs=9, release_rule="plain")
    season(row)
    return row


def entry(board: Board, team: Any, paul: User, olga: User, name: str, hits: int) -> Submission:
    at = NOW + 2 * DAY
    run = evaluated(board, team, paul, name, at, hits=hits)
    publishing.submission_publish(submission=run, reason="Fine", by=olga, at=at)
    run.refresh_from_db()
    return run


@pytest.fixture
def entries(board: Board, paul: User, olga: User) -> list[Submission]:
    """One that answers d1 to d3, and one that answers d1 alone."""
    team = taking_part.team(board, paul, confirmed_by=olga)
    return [entry(board, team, paul, olga, name, hits) for name, hits in (("red", 3), ("blue", 1))]


def test_an_entry_keeps_its_exact_mean_on_each_group(entries: list[Submission]) -> None:
    red, blue = entries
    dev = red.scores.get(part="dev")
    assert dev.groups == {
        "short": {"fraction": "1/1", "queries": 2},
        "long": {"fraction": "1/2", "queries": 2},
        "German words": {"fraction": "1/1", "queries": 1},
    }
    assert red.scores.get(part="eval").groups == {}
    assert blue.scores.get(part="dev").groups["short"]["fraction"] == "1/2"


def test_pages_the_zip_and_the_api_show_groups_the_worst_first(
    board: Board, entries: list[Submission], paul: User, client: Client
) -> None:
    red, blue = entries
    page = client.get(reverse("boards:entry", args=[board.slug, red.public_id])).text
    table = page[page.index("On groups of dev queries") :]
    assert table.index("long") < table.index("German words") < table.index("short")
    assert "(worst)" in table[table.index("long") : table.index("German words")] and "0.500" in table
    versus = client.get(reverse("boards:compare", args=[board.slug]), {"a": blue.public_id, "b": red.public_id}).text
    both = versus[versus.index("On groups of dev queries") :]
    assert both.index("long") < both.index("short") and "0.000" in both and "1.000" in both
    archived = client.get(reverse("boards:everything", args=[board.slug]))
    with zipfile.ZipFile(io.BytesIO(archived.getvalue())) as packed:
        rows = list(csv.DictReader(io.StringIO(packed.read("groups.csv").decode())))
        assert "season-2/groups.tsv" in packed.namelist()
    assert {(row["id"], row["group"], row["queries"], row["dev"]) for row in rows} >= {
        (red.public_id, "long", "2", "0.500"), (blue.public_id, "German words", "1", "1.000"),
    }  # fmt: skip
    answer = Program(paul).get(f"board-submissions/{red.public_id}/").json()
    assert answer["dev_groups"] == {"short": "1.000", "long": "0.500", "German words": "1.000"}


def test_without_groups_nothing_is_said_of_them(collection: Collection, olga: User, paul: User, client: Client) -> None:
    board = taking_part.make(collection, olga, release_rule="plain")
    run = taking_part.published(board, taking_part.team(board, paul, confirmed_by=olga), paul, olga)
    assert "groups of dev" not in client.get(reverse("boards:entry", args=[board.slug, run.public_id])).text
    with zipfile.ZipFile(io.BytesIO(client.get(reverse("boards:everything", args=[board.slug])).getvalue())) as packed:
        assert "groups.csv" not in packed.namelist()
    assert Program(paul).get(f"board-submissions/{run.public_id}/").json()["dev_groups"] == {}


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (b"d1\tshort\nd9\tshort\n", "groups.tsv, line 2: query “d9” of group “short” is not in dev-queries.tsv."),
        (b"d1\n", "groups.tsv, line 1: 1 column where groups have 2 (query group)."),
    ],
)
def test_groups_that_do_not_fit_are_refused_with_their_line(
    collection: Collection, olga: User, groups: bytes, message: str
) -> None:
    board = taking_part.make(collection, olga)
    with pytest.raises(BadInput) as refused:
        season(board, groups)
    assert str(refused.value) == message and board.seasons.count() == 1
