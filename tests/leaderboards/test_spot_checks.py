"""Spot checks: which entries are drawn, when, that nothing is drawn twice, and what organizers write down."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from core.errors import NotNow, Refused
from core.models import AuditEntry, User
from leaderboards import boards, jobs, spot_checks
from leaderboards.models import Board, SpotCheck
from runs.models import Collection
from tests import factories
from tests.leaderboards.public_boards import entry, public_board
from tests.leaderboards.test_pages import browser as log_in

MAY = datetime(2026, 5, 1, 0, 5, tzinfo=UTC)


@pytest.fixture
def filled(collection: Collection) -> Board:
    """Six entries that can be drawn, and three that cannot."""
    board = public_board(collection)
    for number in range(6):
        entry(board, f"own{number}", on=date(2026, 2, 5), dev="1/2", eval="1/2")
    entry(board, "old", on=date(2026, 2, 6), dev="1/2", eval="1/2", origin="imported", package_sha256="")
    entry(board, "gone", on=date(2026, 2, 7), dev="1/2", eval="1/2", state="withdrawn", withdrawn_at=MAY)
    entry(board, "wait", on=date(2026, 2, 8), dev="1/2", eval="1/2", state="waiting")
    return board


def drawn(board: Board, at: datetime) -> list[str]:
    return [row.submission.run_id.partition("-")[2] for row in spot_checks.checks_draw(board=board, at=at)]


def test_published_entries_are_drawn_once_a_month_and_none_again_within_a_year(filled: Board) -> None:
    first = drawn(filled, MAY)
    assert len(first) == len(set(first)) == 2
    assert drawn(filled, MAY + timedelta(days=20)) == []
    later = [drawn(filled, datetime(2026, month, 3, tzinfo=UTC)) for month in (6, 7, 8)]
    assert sorted([*first, *later[0], *later[1]]) == [f"own{number}" for number in range(6)]
    assert later[2] == []  # all were drawn within the year
    assert len(drawn(filled, MAY + timedelta(days=366))) == 2


def test_every_entry_may_be_drawn(filled: Board) -> None:
    names = set()
    for _ in range(60):
        names.update(drawn(filled, MAY))
        SpotCheck.objects.all().delete()
    assert names == {f"own{number}" for number in range(6)}


def test_a_board_without_spot_checks_draws_none_and_one_that_was_empty_draws_once_there_is_an_entry(
    filled: Board, collection: Collection
) -> None:
    boards.board_change(board=filled, spot_checks=0)
    assert drawn(filled, MAY) == []
    empty = public_board(collection, slug="empty")
    assert drawn(empty, MAY) == []
    entry(empty, "first", on=date(2026, 5, 2), dev="1/2", eval="1/2")
    assert drawn(empty, MAY + timedelta(days=2)) == ["first"]


def test_the_job_draws_for_each_board_and_again_draws_nothing(filled: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    assert jobs.draw_spot_checks() == "drawn: 2"
    assert jobs.draw_spot_checks() == "drawn: 0"

    def fail(**_: Any) -> None:
        raise ConnectionError

    SpotCheck.objects.all().delete()
    monkeypatch.setattr(spot_checks, "checks_draw", fail)
    assert jobs.draw_spot_checks() == "drawn: 0"


def test_an_organizer_writes_down_what_was_found_once(filled: Board, olga: User) -> None:
    spot_checks.checks_draw(board=filled, at=MAY)
    check, other = spot_checks.checks_open(filled)
    client, act = log_in(olga), reverse("leaderboards:board_act", args=[filled.slug])
    page = client.get(reverse("leaderboards:organize", args=[filled.slug])).text
    assert "drawn in May 2026" in page and page.count("What you looked at and found in") == 2
    assert client.post(act, {"do": "check", "check": check.pk, "reason": "  "}).status_code == 400
    assert client.post(act, {"do": "check", "check": "x", "reason": "Fine."}).status_code == 400
    assert client.post(act, {"do": "check", "check": 99_999, "reason": "Fine."}).status_code == 404
    answer = client.post(act, {"do": "check", "check": check.pk, "reason": "The paper <b>fits</b>."})
    assert answer.headers["Location"].endswith("#checks")
    check.refresh_from_db()
    assert (check.note, check.done_by) == ("The paper <b>fits</b>.", olga) and check.done_at is not None
    page = client.get(reverse("leaderboards:organize", args=[filled.slug])).text
    assert "The paper &lt;b&gt;fits&lt;/b&gt;." in page and page.count("What you looked at and found in") == 1
    with pytest.raises(NotNow, match="looked at this entry already"):
        spot_checks.check_do(check=check, note="Again.", by=olga, at=MAY)
    noted = AuditEntry.objects.filter(subject="leaderboards_spotcheck").order_by("pk").last()
    assert noted is not None and noted.lab_id == filled.lab_id and noted.why == "The paper <b>fits</b>."
    other.submission.state = "withdrawn"
    other.submission.withdrawn_at = MAY
    other.submission.save(update_fields=["state", "withdrawn_at"])
    assert not spot_checks.checks_open(filled).exists()


def test_nobody_checks_the_own_teams_entry_nor_anothers_board(filled: Board, olga: User, paul: User) -> None:
    check = spot_checks.checks_draw(board=filled, at=MAY)[0]
    team = check.submission.team
    assert team is not None
    team.members.create(user=olga, joined_at=MAY)
    with pytest.raises(Refused, match="own team's entry"):
        spot_checks.check_do(check=check, note="Fine.", by=olga, at=MAY)
    act = {"do": "check", "check": check.pk, "reason": "Fine."}
    assert log_in(paul).post(reverse("leaderboards:board_act", args=[filled.slug]), act).status_code == 404
    viewer = factories.member(filled.lab, "viewer", "vera")
    assert log_in(viewer).post(reverse("leaderboards:board_act", args=[filled.slug]), act).status_code == 403
    page = log_in(viewer).get(reverse("leaderboards:organize", args=[filled.slug])).text
    assert "drawn in May 2026" in page and "What you looked at" not in page


def test_participants_and_the_public_see_nothing_of_it(filled: Board, client: Client) -> None:
    spot_checks.checks_draw(board=filled, at=MAY)
    assert "pot check" not in client.get(reverse("boards:board", args=[filled.slug])).text


def test_the_settings_of_a_board_say_how_many_and_how_bands_correct(filled: Board, olga: User) -> None:
    address = reverse("leaderboards:board_edit", args=[filled.slug])
    sent = {"name": filled.name, "about": "It.", "is_public": "on", "season_months": "0"}
    assert log_in(olga).post(address, sent | {"spot_checks": "51"}).status_code == 400
    assert log_in(olga).post(address, sent | {"correction": "some"}).status_code == 400
    assert log_in(olga).post(address, sent | {"spot_checks": "5", "correction": "bh"}).status_code == 303
    filled.refresh_from_db()
    assert (filled.spot_checks, filled.correction) == (5, "bh")
    assert log_in(olga).post(address, sent).status_code == 303
    filled.refresh_from_db()
    assert (filled.spot_checks, filled.correction) == (5, "bh")
