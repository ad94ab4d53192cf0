"""Seasons that follow each other by themselves, and what becomes of their eval qrels."""

import hashlib
import re
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse

from core.errors import NotNow, Refused
from core.models import User
from evaluation.errors import BadInput
from leaderboards import boards, jobs
from leaderboards.models import Board, Season
from leaderboards.public import data
from leaderboards.public.published import published
from leaderboards.selectors import open_seasons
from leaderboards.submitting import season_for
from runs.models import Collection
from tests.leaderboards import taking_part
from tests.leaderboards.taking_part import DAY, NOW
from tests.rows import fresh

pytestmark = pytest.mark.django_db
DUE = datetime(2027, 2, 1, 12, tzinfo=UTC)  # three months after NOW


@pytest.fixture
def board(collection: Collection, olga: User) -> Board:
    """A board whose seasons run three months."""
    return boards.board_change(board=taking_part.make(collection, olga), season_months=3)


def add(board: Board, at: datetime, name: str = "Second", prefix: str = "n", **how: bool) -> Season:
    """A season in turn, whose eval queries begin with a prefix."""
    files = taking_part.season_files()
    for part in ("eval_queries", "eval_qrels"):
        called, content = files[part]
        files[part] = (called, b"".join(prefix.encode() + line for line in content.splitlines(keepends=True)))
    return boards.season_add(
        board=board, name=name, opens_at=at, closes_at=None, files=files, at=at, **({"in_turn": True} | how)
    )


def facts(board: Board, at: datetime) -> dict[str, str]:
    """The head of the board's page at a time."""
    return dict(data.facts(published(board, at)))  # type: ignore[arg-type]


def test_a_season_in_turn_opens_when_the_one_before_has_run_its_months(board: Board, client: Client) -> None:
    assert facts(board, NOW)["Season runs until"] == "2027-02-01"
    first = board.seasons.get()
    second = add(board, NOW + DAY)
    first.refresh_from_db()
    assert second.opens_at == first.closes_at == DUE
    before, after = DUE - DAY, DUE
    assert season_for(board, None, before) == first and first.is_open(before) and not second.is_open(before)
    assert season_for(board, None, after) == second and not first.is_open(after) and second.is_open(after)
    assert facts(board, before)["Season ends"] == "2027-02-01"
    assert facts(board, after)["Season runs until"] == "2027-05-01"
    assert client.get(reverse("boards:board", args=[board.slug])).status_code == 200


def test_a_season_goes_on_while_the_next_is_not_there_and_the_board_says_that_it_waits(board: Board) -> None:
    late = DUE + 9 * DAY
    assert facts(board, late)["Next season"] == "due since 2027-02-01, waits for its queries"
    first = board.seasons.get()
    assert first.is_open(late)
    second = add(board, late)
    assert second.opens_at == fresh(first).closes_at == late and "Next season" not in facts(board, late)


def test_a_season_in_turn_needs_months_and_eval_queries_of_its_own(board: Board) -> None:
    with pytest.raises(Refused, match="4 of its eval queries are in the season First"):
        add(board, NOW, prefix="")
    assert board.seasons.get().closes_at is None
    boards.board_change(board=board, season_months=0)
    with pytest.raises(Refused, match="set the months of a season"):
        add(Board.objects.get(), NOW)
    assert board.seasons.count() == 1


def test_eval_qrels_become_public_by_themselves_once_a_season_closed_if_the_board_says_so(
    board: Board, client: Client
) -> None:
    season = board.seasons.get()
    file = reverse("boards:file", args=[board.slug, 1, "eval_qrels"])
    Season.objects.filter(pk=season.pk).update(closes_at=NOW + DAY)
    assert not boards.seasons_to_publish(at=NOW + 2 * DAY).exists(), "nobody asked for it"
    boards.board_change(board=board, publishes_qrels=True)
    assert not boards.seasons_to_publish(at=NOW).exists(), "it is open"
    Season.objects.filter(pk=season.pk).update(opens_at=NOW - 900 * DAY, closes_at=NOW - 800 * DAY)
    assert client.get(file).status_code == 404
    assert jobs.publish_qrels() == "published: 1" and jobs.publish_qrels() == "published: 0"
    assert client.get(file).status_code == 200


def test_eval_qrels_stay_hidden_while_an_open_season_asks_the_same_queries(board: Board) -> None:
    boards.board_change(board=board, publishes_qrels=True)
    Season.objects.update(opens_at=NOW - 900 * DAY, closes_at=NOW - 800 * DAY)
    other = taking_part.season(board, "Again", NOW - 700 * DAY)
    with pytest.raises(NotNow, match="4 of its eval queries are asked in the season Again"):
        boards.qrels_publish(season=board.seasons.get(number=1), at=NOW)
    assert jobs.publish_qrels() == "published: 0"
    assert open_seasons(board, NOW).first() == other
    boards.season_close(season=other, closes_at=NOW, at=NOW)
    assert boards.qrels_publish(season=board.seasons.get(number=1), at=NOW).eval_qrels_published_at == NOW


def test_a_season_does_not_ask_eval_queries_whose_qrels_are_public(board: Board) -> None:
    Season.objects.update(opens_at=NOW - 9 * DAY, closes_at=NOW - DAY)
    boards.qrels_publish(season=board.seasons.get(), at=NOW)
    with pytest.raises(Refused, match=r"4 of its eval queries were asked in the season First, .*; the first is “.+”"):
        add(board, NOW, prefix="", in_turn=False)
    assert board.seasons.count() == 1
    assert add(board, NOW, prefix="n", in_turn=False).number == 2


def test_a_season_does_not_ask_eval_queries_that_are_dev_queries_of_it_or_of_another(board: Board) -> None:
    files = taking_part.season_files()
    how = {"board": board, "name": "Second", "opens_at": NOW, "closes_at": None, "at": NOW}
    same = files | {"eval_queries": files["dev_queries"], "eval_qrels": files["dev_qrels"]}
    with pytest.raises(Refused, match=r"4 of its eval queries are in dev-queries\.tsv, too, the first is “d1”"):
        boards.season_add(files=same, **how)  # type: ignore[arg-type]
    swapped = {
        "dev_queries": files["eval_queries"], "dev_qrels": files["eval_qrels"],
        "eval_queries": files["dev_queries"], "eval_qrels": files["dev_qrels"],
    }  # fmt: skip
    with pytest.raises(Refused, match="4 of its eval queries are dev queries of the season First"):
        boards.season_add(files=swapped, **how)  # type: ignore[arg-type]
    # Qrels of the other side need no check of their own: they are about queries that this side does not ask.
    for part, other in (("eval_qrels", "dev_qrels"), ("dev_qrels", "eval_qrels")):
        with pytest.raises(BadInput, match=rf"4 queries that {part.removesuffix('_qrels')}-queries\.tsv does not have"):
            boards.season_add(files=files | {part: files[other]}, **how)  # type: ignore[arg-type]
    assert board.seasons.count() == 1


def test_files_are_what_their_checksums_say_and_eval_qrels_are_none_of_them(
    collection: Collection, client: Client
) -> None:
    board = taking_part.make(collection)
    page = client.get(reverse("boards:files", args=[board.slug])).text
    rows = re.findall(r'<a href="([^"]+)">([^<]+[.](?:txt|tsv))</a>.*?<code>([0-9a-f]{64})</code>', page)
    assert [name for _link, name, _sum in rows] == ["dev-qrels.txt", "dev-queries.tsv", "eval-queries.tsv"]
    for link, _name, checksum in rows:
        content = b"".join(client.get(link).streaming_content)  # type: ignore[attr-defined]
        assert content and hashlib.sha256(content).hexdigest() == checksum
    hidden = rows[0][0].replace("dev_qrels", "eval_qrels")
    assert hidden != rows[0][0] and client.get(hidden).status_code == 404
