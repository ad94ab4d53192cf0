"""How sure the order of a board is: what a check keeps, who sees it, and when it is due."""

import csv
import io
import zipfile
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from core.models import User
from leaderboards import boards, jobs, order_checks
from leaderboards.boards import NUMBERS, policy_add
from leaderboards.models import Board, Opening, OrderCheck, PolicyVersion, Score, Season, Submission
from runs.models import Collection
from tests.api.conftest import Program
from tests.leaderboards.public_boards import NOW, OPENED, entry, public_board
from tests.leaderboards.test_pages import browser as log_in

GOOD, FAIR, BAD = [1.0, 1.0, 1.0, 0.5] * 10, [1.0, 0.5, 1.0, 1.0] * 10, [0.0, 0.1, 0.0, 0.2] * 10


def scored(board: Board, name: str, values: list[float], **fields: Any) -> Submission:
    """An entry with the same scores of queries on dev and on eval."""
    mean, parts = str(np.mean(values)), ("dev", "eval")
    return entry(board, name, on=date(2026, 2, 5), dev=mean, eval=mean, per_query=values, parts=parts, **fields)


def filled(board: Board) -> Season:
    """Two entries that are as good as each other, one far below, one imported, and one withdrawn."""
    scored(board, "good", GOOD)
    scored(board, "fair", FAIR)
    scored(board, "bad", BAD)
    entry(board, "old", on=date(2026, 1, 5), dev="0.99", eval="0.99", origin="imported", package_sha256="")
    scored(board, "gone", [1.0] * 40, state="withdrawn", withdrawn_at=NOW)
    return Season.objects.select_related("board").get(board=board)


@pytest.fixture
def board(collection: Collection) -> Board:
    """A board that shows every score."""
    return public_board(collection, rule="plain")


@pytest.fixture
def season(board: Board) -> Season:
    return filled(board)


def test_a_check_keeps_intervals_bands_and_places_and_the_same_day_gives_the_same(
    board: Board, season: Season, olga: User
) -> None:
    dev, eval_ = order_checks.order_check(season=season, at=NOW)
    assert (dev.queries, dev.draws, dev.seed, dev.part, eval_.part) == (40, 1000, 20261101, "dev", "eval")
    names = dict(board.submissions.values_list("public_id", "run_id"))
    lines = order_checks.lines_of(eval_)
    assert [names[line.id].partition("-")[2] for line in lines] == ["good", "fair", "bad"]
    assert [line.band for line in lines] == [1, 1, 2]
    assert [(line.rank_low, line.rank_high) for line in lines] == [(1, 2), (1, 2), (3, 3)]
    assert sum(line.first for line in lines) == pytest.approx(1) and lines[2].first == 0
    assert 0.4 < lines[0].first < 0.6
    assert lines[0].mean == pytest.approx(0.875)
    assert lines[0].low is not None and lines[0].high is not None and lines[0].low < 0.875 < lines[0].high
    again = order_checks.order_check(season=season, at=NOW + timedelta(hours=1), by=olga)[1]
    assert again.entries == eval_.entries and again.made_by == olga
    assert dev.correction == "bonferroni"
    boards.board_change(board=board, correction="holm")
    season.refresh_from_db()
    by_holm = order_checks.order_check(season=season, at=NOW + timedelta(hours=2), by=olga)[1]
    assert by_holm.correction == "holm"
    opened = board.submissions.get(run_id="20260205-good").openings.filter(what="per_query").order_by("pk")
    assert [(row.by, row.job) for row in opened] == [(None, order_checks.JOB)] * 2 + [(olga, "")] * 4
    assert not board.submissions.get(run_id="20260205-gone").openings.exists()


def test_under_a_ladder_eval_is_for_organizers_who_do_not_take_part(
    collection: Collection, olga: User, paul: User, client: Client
) -> None:
    board = public_board(collection)
    season = filled(board)
    _dev, eval_ = order_checks.order_check(season=season, at=NOW)
    assert not eval_.is_public
    page = client.get(reverse("boards:order", args=[board.slug])).text
    assert "On the dev queries" in page and "On the eval queries" not in page and "hides how sure" in page
    assert "corrected for their many tests by Bonferroni" in page
    address = reverse("leaderboards:order", args=[board.slug])
    for_organizers = log_in(olga).get(address).text
    assert "Only organizers see it" in for_organizers and for_organizers.count("20260205-good") == 2
    team = board.submissions.get(run_id="20260205-good").team
    assert team is not None
    team.members.create(user=olga, joined_at=NOW)
    text = log_in(olga).get(address).text
    assert "You take part" in text and "Only organizers see it" not in text and text.count("20260205-good") == 1
    assert log_in(paul).get(address).status_code == 404


def test_a_policy_that_shows_every_score_acts_forward(collection: Collection, client: Client) -> None:
    board = public_board(collection)
    season = filled(board)
    order_checks.order_check(season=season, at=NOW - timedelta(days=2))
    PolicyVersion.objects.create(
        board=board, number=2, text="Be fair.", begins_at=NOW - timedelta(days=1), made_at=NOW - timedelta(days=1),
        quota_runs=2, quota_days=30, embargo_months=9, promised_days=14, alike_threshold="0.95", release_rule="plain",
    )  # fmt: skip
    assert "On the eval queries" not in client.get(reverse("boards:order", args=[board.slug])).text
    assert [check.part for check in order_checks.order_check(season=season, at=NOW)] == ["dev"], "old ones stay hidden"
    scored(board, "new", GOOD)
    scored(board, "newer", BAD)
    _dev, eval_ = order_checks.order_check(season=season, at=NOW)
    assert eval_.is_public and len(eval_.entries) == 2


def test_an_organizer_who_sees_what_a_ladder_hides_is_written_down(collection: Collection, olga: User) -> None:
    board = public_board(collection)
    season = filled(board)
    hidden = scored(board, "hidden", FAIR, gains=False, reference=board.submissions.get(run_id="20260205-good"))
    order_checks.order_check(season=season, at=NOW)
    log_in(olga).get(reverse("leaderboards:order", args=[board.slug]))
    assert hidden.openings.get(what="scores").by == olga
    assert not board.submissions.get(run_id="20260205-good").openings.filter(what="scores").exists()


def test_where_every_score_is_shown_everybody_sees_the_order_and_how_it_was_before(
    board: Board, client: Client
) -> None:
    address = reverse("boards:order", args=[board.slug])
    assert "has not been checked yet" in client.get(address).text
    season = filled(board)
    order_checks.order_check(season=season, at=NOW - timedelta(days=31))
    late = scored(board, "late", GOOD, embargo_until=date(2100, 1, 1), description="Secret")
    order_checks.order_check(season=season, at=NOW)
    page = client.get(address).text
    assert "On the eval queries" in page and "2026-11-01" in page and "2026-10-01" in page
    assert "Secret" not in page and late.run_id not in page and "Anonymous" in page
    summaries = map(order_checks.summary, order_checks.checks_of(season, "eval", public=True))
    assert [summary.entries for summary in summaries] == [4, 3]
    assert client.get(address, {"season": "no such"}).status_code == 200


def test_each_month_has_one_check_of_a_season_that_has_two_entries(season: Season, collection: Collection) -> None:
    now = timezone.now()
    empty = public_board(collection, slug="empty")
    scored(empty, "alone", GOOD)
    assert jobs.check_orders() == "checked: 1"
    assert jobs.check_orders() == "checked: 0"
    assert OrderCheck.objects.count() == 2
    assert list(order_checks.seasons_due(at=now + timedelta(days=32))) == [season]
    Season.objects.filter(pk=season.pk).update(closes_at=now - timedelta(days=1))
    assert list(order_checks.seasons_due(at=now + timedelta(days=32))) == []


def test_a_check_that_somebody_asked_for_does_not_stand_for_that_of_the_month(season: Season, olga: User) -> None:
    order_checks.order_check(season=season, at=NOW)
    later = NOW + timedelta(days=40)
    order_checks.order_check(season=season, at=later, by=olga)
    assert list(order_checks.seasons_due(at=later)) == [season]
    assert order_checks.monthly_check(season=season, at=later)
    assert list(order_checks.seasons_due(at=later)) == []


def test_seasons_that_are_not_due_cost_one_query_together(season: Season, board: Board) -> None:
    assert order_checks.monthly_check(season=season, at=NOW)
    for number in range(2, 12):
        other = Season.objects.create(board=board, number=number, name=f"S{number}", opens_at=OPENED)
        scored(board, f"alone{number}", GOOD, season=other)
    with CaptureQueriesContext(connection) as queries:
        assert list(order_checks.seasons_due(at=NOW)) == []
    assert len(queries) == 1


def test_a_damaged_file_is_left_out_and_so_are_other_queries(
    board: Board, season: Season, caplog: pytest.LogCaptureFixture
) -> None:
    scored(board, "short", [1.0] * 39)
    score = Score.objects.get(submission__run_id="20260205-bad", part="dev")
    with score.per_query.storage.open(score.per_query.name, "wb") as file:
        file.write(b"not sealed")
    dev, eval_ = order_checks.order_check(season=season, at=NOW)
    assert (len(dev.entries), len(eval_.entries)) == (2, 3)
    assert "were left out" in caplog.text and "39 queries, not 40" in caplog.text


def test_a_check_is_asked_for_by_a_button_and_refused_where_it_makes_no_sense(
    board: Board, season: Season, olga: User, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[int, ...]] = []
    monkeypatch.setattr(jobs.check_orders, "delay", lambda *keys: calls.append(keys))
    client, address = log_in(olga), reverse("leaderboards:order", args=[board.slug])
    assert client.post(address, {"season": season.pk}).status_code == 303
    assert calls == [(season.pk, olga.pk)]
    assert jobs.check_orders(*calls[0]) == "checked: 2"
    again = client.post(address, {"season": season.pk})
    assert again.status_code == 409 and "within the last ten minutes" in again.text and len(calls) == 1
    monkeypatch.setattr(order_checks, "REST", timedelta(0))
    assert client.post(address, {"season": season.pk}).status_code == 303
    other = public_board(collection, slug="empty")
    assert client.post(address, {"season": other.seasons.get().pk}).status_code == 404
    assert client.post(address, {"season": "x"}).status_code == 400
    few = client.post(reverse("leaderboards:order", args=["empty"]), {"season": other.seasons.get().pk})
    assert few.status_code == 409 and "There are fewer yet" in few.text
    assert len(calls) == 2


def zipped(client: Client, board: Board) -> dict[str, str]:
    """The texts of the zip."""
    packed = zipfile.ZipFile(io.BytesIO(client.get(reverse("boards:everything", args=[board.slug])).getvalue()))
    return {name: packed.read(name).decode() for name in packed.namelist() if name.endswith((".csv", ".svg", ".txt"))}


def test_the_zip_has_the_checks_that_everybody_may_see(board: Board, season: Season, client: Client) -> None:
    assert not [name for name in zipped(client, board) if "order-" in name]
    order_checks.order_check(season=season, at=NOW - timedelta(days=31))
    secret = scored(board, "late", GOOD, embargo_until=date(2100, 1, 1), description="Secret")
    order_checks.order_check(season=season, at=NOW)
    files = zipped(client, board)
    rows = list(csv.DictReader(io.StringIO(files["season-1/order-eval.csv"])))
    check = order_checks.checks_of(season, "eval", public=True)[0]
    assert [row["id"] for row in rows] == [line.id for line in order_checks.lines_of(check)]
    assert float(rows[0]["mean"]) == pytest.approx(0.875) and float(rows[0]["low"]) < 0.875 < float(rows[0]["high"])
    assert {row["rank_low"] for row in rows} == {"1", "4"}
    past = list(csv.DictReader(io.StringIO(files["season-1/order-checks.csv"])))
    assert [(row["part"], row["entries"]) for row in past] == [("eval", "4"), ("eval", "3"), ("dev", "4"), ("dev", "3")]
    assert secret.run_id not in "".join(files.values())


def test_under_a_ladder_the_zip_says_nothing_of_eval(collection: Collection, client: Client) -> None:
    board = public_board(collection)
    order_checks.order_check(season=filled(board), at=NOW)
    files = zipped(client, board)
    assert "season-1/order-dev.csv" in files and "season-1/order-eval.csv" not in files
    assert "eval" not in files["season-1/order-checks.csv"]


def test_programs_of_organizers_read_checks_and_ask_for_them(
    collection: Collection,
    olga: User,
    paul: User,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    board = public_board(collection)
    season = filled(board)
    hidden = scored(board, "hidden", FAIR, gains=False, reference=board.submissions.get(run_id="20260205-good"))
    calls: list[tuple[int, ...]] = []
    monkeypatch.setattr(jobs.check_orders, "delay", lambda *keys: calls.append(keys))
    program, address = Program(olga), f"boards/{board.slug}/seasons/{season.number}/order/"
    assert program.get(address).json() == []
    with django_capture_on_commit_callbacks(execute=True):
        assert program.post(address, {}).status_code == 202
    jobs.check_orders(*calls[0])
    by_part = {check["part"]: check for check in program.get(address).json()}
    assert [by_part[part]["is_public"] for part in ("eval", "dev")] == [False, True]
    assert [line["band"] for line in by_part["eval"]["entries"]] == [1, 1, 1, 2]
    assert hidden.openings.get(what="scores").by == olga
    assert program.post(address, {}).status_code == 409
    assert Program(paul).get(address).status_code == 404
    assert program.get(f"boards/{board.slug}/seasons/9/order/").status_code == 404
    team = board.submissions.get(run_id="20260205-good").team
    assert team is not None
    team.members.create(user=olga, joined_at=NOW)
    assert [check["part"] for check in program.get(address).json()] == ["dev"]


def compared(board: Board, first: str, other: str) -> str:
    """What anybody reads of two entries, by name."""
    ids = [board.submissions.get(run_id__endswith=f"-{name}").public_id for name in (first, other)]
    where = reverse("boards:compare", args=[board.slug])
    return Client().get(where, {"a": ids[0], "b": ids[1]}).text


def test_two_entries_are_compared_on_eval_where_every_score_is_shown_and_it_is_written_down_once(
    board: Board, season: Season
) -> None:
    for _time in range(2):
        text = compared(board, "good", "bad")
        _before, _between, on_eval = text.partition("On the eval queries")
        assert "<dt>First is better</dt><dd>40</dd>" in on_eval
        assert "The difference on eval is significant at the 5% level." in on_eval
    assert "The difference on eval is not significant" in compared(board, "good", "fair")
    opened = {row.run_id.partition("-")[2]: row.openings.count() for row in board.submissions.all()}
    assert opened == {"good": 1, "fair": 1, "bad": 1, "old": 0, "gone": 0}
    assert "On the eval queries" not in compared(board, "good", "old")
    assert "On the eval queries" not in compared(board, "good", "gone")


def test_a_new_best_is_qualified_on_eval_where_every_score_is_shown(collection: Collection) -> None:
    board = public_board(collection, rule="plain")
    scored(board, "good", GOOD)
    better = scored(board, "better", [1.0] * 40)
    page = Client().get(reverse("boards:entry", args=[board.slug, better.public_id])).text
    assert "On eval it is better on 10 queries, equal on 30 and worse on 0; the difference is significant" in page


def test_under_a_ladder_nothing_but_printed_scores_is_told_of_eval(collection: Collection, olga: User) -> None:
    board = public_board(collection, rule="plain")
    scored(board, "good", GOOD)
    scored(board, "bad", BAD)
    policy = board.policies.get()

    def rule(name: str) -> None:
        numbers = {field: getattr(policy, field) for field in NUMBERS if field != "release_rule"}
        policy_add(
            board=board,
            text=policy.text,
            numbers=numbers | {"release_rule": name},
            begins_at=NOW,
            why="So.",
            by=olga,
            at=NOW,
        )

    rule("tested")
    page = compared(board, "good", "bad")
    assert "On the dev queries" in page
    assert "On the eval queries" not in page and "more would tell of the hidden qrels" in page
    assert not Opening.objects.exists()
    scored(board, "late", [1.0] * 40)
    rule("plain")
    assert "On the eval queries" in compared(board, "good", "bad")
    assert "On the eval queries" not in compared(board, "good", "late"), "what came under a Ladder stays under it"
