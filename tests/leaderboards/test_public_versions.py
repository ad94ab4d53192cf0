"""The public history of versions: each version's order, what changed and why, and what nobody may learn from it."""

import csv
import io
import zipfile
from datetime import date, timedelta

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from leaderboards.models import Board, Release, Season, SeasonFile, Submission
from leaderboards.public import versions as public_versions
from leaderboards.public.published import published
from leaderboards.upkeep import jobs
from pools.models import QrelsVersion
from results import versions
from runs.models import Collection
from tests.leaderboards import upkept
from tests.results.judging import judged, new_run


@pytest.fixture
def board(collection: Collection) -> Board:
    """A board with two versions, on which two entries change ranks, and q4 as its eval query."""
    versions.version_add(campaign=judged(collection), why="The start.", by=None, at=timezone.now())
    new_run(collection, "new", {"q1": ["p0"], "q4": ["p01"]})
    board = upkept.board(collection)
    upkept.entry(board, "old", {"q1": ["p1"], "q2": ["p4"], "q3": ["p7"], "q4": ["p9", "p01"]})
    upkept.entry(board, "new", {"q1": ["p0"], "q2": ["p4"], "q3": ["p7"], "q4": ["p01", "p9"]})
    challenge = judged(collection, "second", runs=["new"], design="challengers")
    versions.version_add(campaign=challenge, why="<b>New</b> passages.", by=None, at=timezone.now())
    jobs.keep_up()
    return board


def page(client: Client, number: int, status: int = 200) -> str:
    answer = client.get(reverse("boards:version", args=["small", number]))
    assert answer.status_code == status
    return answer.content.decode()


def placed(board: Board, number: int) -> list[tuple[str, int, int, str, str]]:
    version = QrelsVersion.objects.get(number=number)
    (order,) = public_versions.order_on(published(board, timezone.now()), version)
    return [(row.entry.description, row.rank, row.before, row.printed_dev, row.printed_eval) for row in order.placed]


def test_each_version_has_its_order_beside_the_one_before(board: Board, client: Client) -> None:
    assert placed(board, 1) == [("System old", 1, 0, "1.000", "1.000"), ("System new", 2, 0, "0.667", "0.500")]
    assert placed(board, 2) == [("System new", 1, 2, "1.000", "1.000"), ("System old", 2, 1, "0.667", "0.500")]
    text = page(client, 2)
    assert "1 (2, up)" in text and "2 (1, down)" in text
    assert "&lt;b&gt;New&lt;/b&gt; passages." in text
    assert reverse("boards:version", args=["small", 1]) in text
    assert "1 (2" not in page(client, 1)


def test_the_list_says_what_each_version_changed_and_leads_back_to_any(board: Board, client: Client) -> None:
    newest, first = public_versions.summaries(board)
    assert (first.version.number, first.added, first.changed, first.answers) == (1, 3, 0, 3)
    assert (newest.version.number, newest.added, newest.changed, newest.answers) == (2, 0, 1, 3)
    text = client.get(reverse("boards:versions", args=["small"])).content.decode()
    for number in (1, 2):
        assert reverse("boards:version", args=["small", number]) in text


def test_nothing_is_said_of_the_answers_to_eval_queries(board: Board, client: Client) -> None:
    qrels = client.get(reverse("boards:version_qrels", args=["small", 2]))
    assert qrels.content.decode() == "q1 0 p0 1\nq2 0 p4 1\nq3 0 p7 1\n"
    assert qrels.headers["Content-Disposition"].endswith('"small-v2-dev-preference-qrels.txt"')
    for text in (page(client, 2), client.get(reverse("boards:versions", args=["small"])).content.decode()):
        assert "q4" not in text and "p01" not in text and "p9" not in text


def test_an_entry_under_embargo_stays_anonymous_and_one_without_gain_has_no_eval_score(
    board: Board, client: Client
) -> None:
    old, new = board.submissions.order_by("arrived_at")
    Submission.objects.filter(pk=old.pk).update(embargo_until=(timezone.now() + timedelta(days=30)).date())
    hidden = upkept.entry(board, "hidden", {"q1": ["p0"], "q4": ["p01"]}, eval_shown=False)
    Release.objects.create(
        submission=hidden, is_shown=False, fraction="", rule="ladder", why="No gain.", reference=new,
        policy=board.policies.get(), at=timezone.now(),
    )  # fmt: skip
    jobs.keep_up()
    rows = placed(board, 2)
    assert rows[:2] == [("System new", 1, 2, "1.000", "1.000"), ("System hidden", 0, 0, "0.333", "")]
    assert rows[2][0] == "Anonymous"
    for number in (1, 2):
        text = page(client, number)
        assert "System old" not in text and "Team old" not in text and "20261101-old" not in text


def test_what_is_not_there_or_not_public_is_not_found(board: Board, client: Client) -> None:
    for number in (0, 3, 2**40):
        page(client, number, 404)
    Board.objects.update(is_public=False)
    page(client, 1, 404)
    assert client.get(reverse("boards:versions", args=["small"])).status_code == 404


def test_before_anything_is_scored_the_pages_say_so(collection: Collection, client: Client) -> None:
    upkept.board(collection)
    assert "no preference qrels yet" in client.get(reverse("boards:versions", args=["small"])).content.decode()
    versions.version_add(campaign=judged(collection), why="The start.", by=None, at=timezone.now())
    assert "No entry has been scored on this version yet" in page(client, 1)


def test_a_query_that_another_season_hides_is_in_no_dev_qrels(board: Board, client: Client) -> None:
    address = reverse("boards:version_qrels", args=["small", 1])
    assert "q1 " in client.get(address).content.decode()
    now = timezone.now()
    season = Season.objects.create(board=board, number=2, name="Two", opens_at=now)
    SeasonFile.objects.create(
        season=season, part="eval_queries", file=ContentFile(b"q1\tquestion q1\n", "q"), name="eval.tsv", size=15,
        sha256="0" * 64, added_at=now,
    )  # fmt: skip
    qrels = client.get(address).content.decode()
    assert "q1 " not in qrels and "q2 " in qrels


def test_the_zip_has_every_version_and_nothing_of_the_hidden_queries(board: Board, client: Client) -> None:
    answer = client.get(reverse("boards:everything", args=["small"]))
    opened = zipfile.ZipFile(io.BytesIO(b"".join(answer)))
    files = {name: opened.read(name).decode() for name in opened.namelist() if name.startswith("versions/")}
    assert len(files) == 7
    for number in (1, 2):
        qrels = client.get(reverse("boards:version_qrels", args=["small", number])).content.decode()
        assert files[f"versions/{number}/dev-qrels.txt"] == qrels and qrels
    rows = list(csv.DictReader(io.StringIO(files["versions/versions.csv"])))
    assert [(row["version"], row["why"], row["changed"]) for row in rows] == [
        ("2", "<b>New</b> passages.", "1"), ("1", "The start.", "0"),
    ]  # fmt: skip
    assert files["versions/2/changes.csv"] == "query,before,after\nq1,p1,p0\n"
    order = list(csv.DictReader(io.StringIO(files["versions/2/order.csv"])))
    assert [(row["rank"], row["rank_before"], row["dev"], row["eval"]) for row in order] == [
        ("1", "2", "1.000", "1.000"), ("2", "1", "0.667", "0.500"),
    ]  # fmt: skip
    assert not any("q4" in text for text in files.values()), "an eval query"
    board.submissions.update(embargo_until=date(2099, 1, 1))
    opened = zipfile.ZipFile(io.BytesIO(b"".join(client.get(reverse("boards:everything", args=["small"])))))
    hidden = list(csv.DictReader(io.StringIO(opened.read("versions/2/order.csv").decode())))
    assert [row["run"] for row in hidden] == ["", ""] and all(row["run"] for row in order)
