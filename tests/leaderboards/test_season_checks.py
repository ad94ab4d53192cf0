"""What is looked at when entries come or go: a gap that grows, and whether a new best is really better."""

import re
from datetime import UTC, datetime, time, timedelta
from io import BytesIO
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from core.mail import mails_send
from core.models import Mail, User
from leaderboards import importing, jobs, season_checks
from leaderboards.models import Board, Season, SeasonCheck, Submission, SubmissionEvent
from leaderboards.public.published import published
from runs.models import Collection
from tests import factories
from tests.leaderboards.public_boards import NOW, OPENED, entry, public_board

pytestmark = pytest.mark.django_db
FIRST, LATER = NOW + timedelta(minutes=20), NOW + timedelta(hours=1)  # when the gap is looked at


@pytest.fixture
def board(collection: Collection, settings: Any) -> Board:
    """A board of a lab with an organizer, at a site that sends mails."""
    settings.HAS_MAIL = True
    return public_board(collection, slug="gap", rule="plain")


@pytest.fixture
def rita(rita: User) -> User:
    """An organizer with an address."""
    rita.email = "rita@example.org"
    rita.save()
    return rita


def come(board: Board, number: int, dev: int, eval_: int, at: datetime = NOW, **more: Any) -> Submission:
    """An entry, and that it was published."""
    day = OPENED.date() + timedelta(30 * number)
    row = entry(board, f"n{number}", on=day, dev=f"{dev}/1000", eval=f"{eval_}/1000", **more)
    SubmissionEvent.objects.create(submission=row, state="published", at=at)
    return row


def grown(board: Board, side: str) -> None:
    """A year in which the scores of one side rise faster."""
    for number in range(12):
        steady, rising = 300 + number % 3, 300 + 10 * number
        dev, eval_ = (steady, rising) if side == "eval" else (rising, steady)
        come(board, number, dev, eval_)


def check(at: datetime = FIRST) -> int:
    """How many seasons were looked at."""
    return sum(season_checks.season_check(season=season, at=at) for season in season_checks.seasons_due(at=at))


@pytest.mark.parametrize(("side", "text"), [("eval", "fitting the hidden queries"), ("dev", "fitting the dev queries")])
def test_organizers_get_one_mail_when_the_gap_begins_to_grow(board: Board, rita: User, side: str, text: str) -> None:
    grown(board, side)
    factories.user("stranger", email="stranger@example.org")
    assert check() == 1
    assert mails_send(at=FIRST) == 1
    (sent,) = mail.outbox
    assert sent.to == ["rita@example.org"] and text in sent.body
    assert sent.subject == f"Board gap: {side} scores rise faster than {'dev' if side == 'eval' else 'eval'} scores"
    assert "In the season First, eval less dev changes by" in sent.body and "12 entries" in sent.body
    assert reverse("leaderboards:organize", args=[board.slug]) in sent.body
    assert check(LATER) == 0  # nothing came since
    come(board, 12, 300 if side == "eval" else 420, 420 if side == "eval" else 300, at=LATER)
    assert check(LATER) == check(LATER) == 1  # what comes at this moment is not missed
    assert (mails_send(at=LATER), len(mail.outbox)) == (0, 1)
    row = SeasonCheck.objects.get()
    assert (row.side, row.since, row.checked_at) == (side, FIRST, LATER)


def test_a_gap_that_is_steady_tells_nobody_and_one_that_ends_is_told_again_when_it_begins_again(
    board: Board, rita: User
) -> None:
    for number in range(12):
        come(board, number, 300 + number % 3, 300 - number % 3)
    assert check() == 1
    assert not Mail.objects.exists() and SeasonCheck.objects.get().since is None
    fitted = [come(board, number, 300, 300 + 20 * (number - 11), at=LATER) for number in range(12, 24)]
    assert check(LATER) == 1 and Mail.objects.count() == 1
    # Who fitted withdraws: the gap is steady again.
    for row in fitted:
        row.state, row.withdrawn_at = "withdrawn", LATER
        row.save()
        SubmissionEvent.objects.create(submission=row, state="withdrawn", at=LATER + timedelta(hours=1))
    assert check(LATER + timedelta(hours=1)) == 1
    row = SeasonCheck.objects.get()
    assert (row.side, row.since, Mail.objects.count()) == ("", None, 1)


def test_a_season_is_looked_at_without_reading_the_entries_of_others(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Season.objects.create(board=board, number=2, name="Second", opens_at=OPENED)
    come(board, 0, 300, 300)
    come(board, 1, 400, 400, season=other)
    come(board, 2, 400, 400, season=other)
    read: list[int] = []

    def counts(of: Board, at: datetime, **only: Any) -> Any:
        current = published(of, at, **only)
        read.append(len(current.entries))
        return current

    monkeypatch.setattr(season_checks, "published", counts)
    assert check() == 2
    assert read == [1, 2]


def test_what_the_release_rule_does_not_show_raises_no_alarm(collection: Collection, rita: User, settings: Any) -> None:
    settings.HAS_MAIL = True
    board = public_board(collection, slug="gap")
    first = come(board, 0, 300, 300)
    for number in range(1, 12):
        come(board, number, 300 + number % 3, 300 + 10 * number, gains=False, reference=first)
    assert check() == 1 and not Mail.objects.exists()


def test_an_import_is_looked_at_too_and_one_bad_season_stops_no_other(
    board: Board, rita: User, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = "id,,description,team,paper,code,type,date,eval,dev,tweet\n"
    lines = [
        f",,Run {number},Team,,,full ranking,{2000 + number}/01/01,{0.2 + number / 50:.3f},0.300,\n"
        for number in range(1, 13)
    ]
    other = public_board(collection, slug="other", rule="plain")
    for each in (other, board):
        importing.board_import(
            board=each, source=_file(header + "".join(lines)), filename="board.csv", by=rita, at=datetime.now(UTC)
        )
    whole = season_checks.published

    def fails(of: Board, at: datetime, **only: Any) -> Any:
        if of.pk == board.pk:
            raise OSError("away")
        return whole(of, at, **only)

    monkeypatch.setattr(season_checks, "published", fails)
    assert jobs.check_seasons() == "checked: 1"
    assert [row.season.board for row in SeasonCheck.objects.exclude(side="")] == [other]
    monkeypatch.undo()
    assert jobs.check_seasons() in {"checked: 1", "checked: 2"}  # the other is looked at for ten minutes more
    assert SeasonCheck.objects.filter(side="eval").count() == 2


def test_a_new_best_is_significantly_better_or_not_wherever_it_is_called_so(
    board: Board, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = ("dev", "eval")
    low, high = [0.0, 1.0] * 10, [1.0] * 19 + [0.5]
    rows = [
        come(board, 0, 100, 100, origin="imported", package_sha256="", policy=None),
        come(board, 1, 500, 500, per_query=low, parts=parts),
        come(board, 2, 510, 510, per_query=[0.1, *low[1:]], parts=parts),
        come(board, 3, 900, 900, per_query=high, parts=parts),
        come(board, 4, 100, 100, per_query=low[::-1], parts=parts),
    ]
    ids = [row.public_id for row in rows]
    assert check() == 1
    bests = SeasonCheck.objects.get().bests
    assert set(bests) == {ids[2], ids[3]} and all(set(values) == {"dev", "eval"} for values in bests.values())
    assert bests[ids[2]]["dev"] > 0.05 > bests[ids[3]]["dev"]
    place = reverse("boards:time", args=[board.slug])
    page = client.get(place).text
    assert re.findall(r"<td>(significant[^<]*|not [^<]*|–)</td></tr>", page) == [
        f"significant on dev (p = {bests[ids[3]]['dev']:.3f}), significant on eval (p = {bests[ids[3]]['eval']:.3f})",
        f"not significant on dev (p = {bests[ids[2]]['dev']:.3f}), not significant on eval "
        f"(p = {bests[ids[2]]['eval']:.3f})",
        "not known",
        "–",
    ]
    address = reverse("boards:board", args=[board.slug])
    text = client.get(address).text
    assert "<small>new best: significant on dev" in text and "<small>new best: not significant on dev" in text
    assert text.count("new best:") == 2
    feed = client.get(reverse("boards:atom", args=[board.slug])).text
    assert feed.count("new best: significant on dev") == feed.count("new best: not significant on dev") == 1
    # The page of the entry says so in its own words, and not as a remark.
    assert "new best:" not in client.get(reverse("boards:entry", args=[board.slug, ids[3]])).text.lower()
    # A file that is away leaves the others, and is looked for with the next entry.
    whole = season_checks.compare_dev

    def fails(board: Any, entry: Any, last: Any) -> Any:
        if entry.id == ids[2]:
            raise OSError("away")
        return whole(board, entry, last)

    monkeypatch.setattr(season_checks, "compare_dev", fails)
    come(board, 5, 100, 100, at=LATER)
    assert check(LATER) == 1 and set(SeasonCheck.objects.get().bests) == {ids[3]}


def test_under_a_ladder_a_new_best_is_told_on_dev_alone(collection: Collection, client: Client) -> None:
    board = public_board(collection, slug="gap")
    for number, scores in enumerate(([0.0, 1.0] * 10, [1.0] * 19 + [0.5])):
        come(board, number, 500 + number, 500 + number, per_query=scores, parts=("dev", "eval"))
    assert check() == 1
    ((values,),) = [list(SeasonCheck.objects.get().bests.values())]
    assert set(values) == {"dev"}
    page = client.get(reverse("boards:time", args=[board.slug])).text
    assert "significant on dev" in page and "significant on eval" not in page


def test_the_page_says_since_when(board: Board, rita: User, client: Client) -> None:
    grown(board, "eval")
    check()
    client.force_login(rita)
    page = client.get(reverse("leaderboards:organize", args=[board.slug])).text
    assert f"Since {datetime.combine(NOW, time(), UTC):%-d %b %Y}." in page


def _file(text: str) -> BytesIO:
    return BytesIO(text.encode())
