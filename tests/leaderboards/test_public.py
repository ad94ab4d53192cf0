"""Public boards: the page, its files, and what nobody may learn under an embargo."""

import csv
import html
import io
import json
import re
import subprocess
import sys
import zipfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from core.models import User
from evaluation.boards.packages import read_terms
from leaderboards.boards import key_make
from leaderboards.models import Board, PolicyVersion, Season, SeasonFile, Submission
from leaderboards.public import archive, figures
from leaderboards.public.comparing import best_before, compare_dev
from leaderboards.public.numbers import gap_numbers, steps
from leaderboards.public.published import published
from runs.models import Collection
from tests import factories
from tests.conftest import REPOSITORY
from tests.leaderboards.public_boards import NOW, OPENED, entry, filled, public_board, team

pytestmark = pytest.mark.django_db
SCRIPT = REPOSITORY / "docs" / "board_page.py"
MOST_BYTES = 59_500
MOST_QUERIES = 12
ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def board(collection: Collection) -> Board:
    """A board with a baseline, a trophy, a tie, an entry without gain, one without a score, and one withdrawn."""
    board = public_board(collection)
    entry(board, "bm25", on=date(2026, 1, 5), dev="0.2", eval="1/5", is_baseline=True)
    best = entry(board, "red", on=date(2026, 2, 5), dev="0.35", eval="1/3", description='A <b>red</b> "run" & more')
    entry(board, "green", on=date(2026, 3, 5), dev="0.3", eval="333/1000", type="reranking", paper="", code="")
    entry(board, "blue", on=date(2026, 4, 5), dev="0.36", eval="0.3331", gains=False, reference=best)
    entry(board, "gray", on=date(2026, 5, 5), dev="0.31")
    entry(
        board, "gone", on=date(2026, 6, 5), dev="0.4", eval="0.4", state="withdrawn", withdrawn_at=NOW - timedelta(1)
    )  # fmt: skip
    return board


def rows(page: bytes) -> list[list[str]]:
    """The cells of the page's entries, as text, in order."""
    body = page.decode().partition("<tbody>")[2].partition("</table>")[0]
    return [
        [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.split(r"<t[dh][^>]*>", row)[1:]]
        for row in body.split("<tr")[1:]
    ]


def address(name: str, board: Board, *more: object) -> str:
    return reverse(f"boards:{name}", args=[board.slug, *more])


def test_the_page_has_ranks_trophies_ties_and_what_gains_nothing_after_what_it_repeats(
    board: Board, client: Client
) -> None:
    page = client.get(address("board", board))
    lines = rows(page.content)
    assert [row[3].partition("no gain")[0].partition("withdrawn")[0] for row in lines if len(row) > 1] == [
        "A &lt;b&gt;red&lt;/b&gt; &quot;run&quot; &amp; more", "System blue", "System green", "System bm25",
        "System gray", "System gone",
    ]  # fmt: skip
    assert [(row[0], row[1], row[8], row[9]) for row in lines if len(row) > 1] == [
        ("1=", "🏆", "0.350", "0.333"), ("", "", "0.360", ""), ("1=", "", "0.300", "0.333"),
        ("3", "🏛", "0.200", "0.200"), ("", "", "0.310", ""), ("", "🏆", "0.400", "0.400"),
    ]  # fmt: skip
    assert "no gain over 20260205-red" in lines[1][3]
    assert ["Withdrawn"] in lines and "withdrawn on 2026-10-31" in lines[-1][3]
    assert b"<b>red" not in page.content


def test_an_entry_names_the_version_of_the_policy_that_its_team_accepted(board: Board, client: Client) -> None:
    first = entry(board, "early", on=date(2026, 7, 6), eval="0.34")
    PolicyVersion.objects.create(
        board=board, number=7, text="Be fair.", begins_at=NOW, made_at=NOW, quota_runs=2, quota_days=30,
        embargo_months=9, promised_days=14, alike_threshold="0.95", release_rule="plain",
    )  # fmt: skip
    later = entry(board, "later", on=date(2026, 7, 7), eval="0.33", policy=board.policies.get(number=7))
    imported = entry(board, "old", on=date(2026, 1, 5), eval="0.3", origin="imported", package_sha256="", policy=None)
    number = board.policies.earliest("number").number
    for row, says in ((first, f"version {number}</a>"), (later, "version 7</a>")):
        page = client.get(address("entry", board, row.public_id)).text
        assert f'<a href="{address("policy", board)}">{says}, which its team accepted' in page
    assert "which its team accepted" not in client.get(address("entry", board, imported.public_id)).text


def test_the_script_in_the_docs_makes_the_same_page_byte_for_byte(board: Board, client: Client, tmp_path: Path) -> None:
    entry(board, "dear", on=date(2026, 7, 6), eval="0.34", metadata={"parameters": 11_000_000_000.0})
    entry(board, "boxed", on=date(2026, 7, 7), eval="0.32", code=f"ghcr.io/example/boxed@sha256:{'0a' * 32}")
    archive = tmp_path / "board.zip"
    archive.write_bytes(client.get(address("everything", board)).getvalue())
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(tmp_path / "folder")
    queries = [
        "show=costs&most=7&sort=parameters",
        "show=parameters&sort=-parameters",
        "",
        "sort=-dev",
        "sort=team&type=reranking",
        "q=RED",
        "mark=baseline",
        "season=none&sort=odd",
        'q="><',
    ]
    for query in queries:
        page = client.get(f"{address('board', board)}?{query}", headers={"accept-encoding": "identity"}).content
        for source in (archive, tmp_path / "folder"):
            ran = subprocess.run([sys.executable, "-I", SCRIPT, source, query], capture_output=True, check=True)
            assert ran.stdout == page, query
    assert len(SCRIPT.read_text("utf-8").splitlines()) <= 100
    assert (tmp_path / "folder" / "index.html").read_bytes() == client.get(address("board", board)).content


def test_code_that_is_an_image_is_named_and_leads_nowhere(board: Board, client: Client) -> None:
    image = f"example/ranker@sha256:{'0a' * 32}"
    boxed = entry(board, "boxed", on=date(2026, 7, 7), eval="0.32", code=image)
    page, more = (client.get(address(*of)).text for of in (("board", board), ("entry", board, boxed.public_id)))
    assert "<td>image" in page and "<td><a href=https://example.org/code>code</a>" in page
    assert f'<span class="code">{image}</span>' in more
    assert image not in re.findall(r"href=[\"']?([^\"'>]*)", page + more)


def test_the_head_says_since_when_a_board_is_open_what_it_holds_and_when_it_last_changed(
    board: Board, client: Client
) -> None:
    entry(board, "old", on=date(2026, 1, 2), dev="0.1", eval="0.1", origin="imported", package_sha256="", policy=None)
    entry(board, "covert", on=date(2026, 7, 1), dev="0.1", eval="0.1", embargo_until=date(2026, 12, 2))
    page = client.get(address("board", board)).text
    facts = dict(re.findall(r"<dt>([^<]*)<dd>([^<]*)</div>", page))
    assert facts["Open since"] == f"{OPENED:%Y-%m-%d}"
    assert [facts[name] for name in ("Entries", "Imported", "Without runs", "Under embargo")] == ["7", "1", "1", "1"]
    teams = {entry.team for entry in published(board, NOW).entries if not entry.is_hidden and not entry.withdrawn_on}
    assert int(facts["Teams"]) == len(teams)
    changes = [entry.changed_at for entry in published(board, NOW).entries]
    assert facts["Last activity"] == f"{max(changes):%Y-%m-%d}"
    # The best of each type, by the order of the page; organizers' baselines are none.
    assert (facts["Best full ranking"], facts["Best reranking"]) == ("0.333", "0.333")
    entry(board, "better", on=date(2026, 7, 8), dev="0.1", eval="0.4", type="reranking")
    later = dict(re.findall(r"<dt>([^<]*)<dd>([^<]*)</div>", client.get(address("board", board)).text))
    assert (later["Best full ranking"], later["Best reranking"]) == ("0.333", "0.400")


def test_the_archive_is_complete_and_the_same_every_time(board: Board, client: Client) -> None:
    season = board.seasons.get()
    for part, text in (("dev_qrels", "1 0 a 1\n"), ("eval_qrels", "secret 0 answer 1\n"), ("dev_queries", "1\twhy\n")):
        SeasonFile.objects.create(
            season=season, part=part, file=ContentFile(text.encode(), part), name=f"{part}.txt", size=len(text),
            sha256="0" * 64, added_at=NOW,
        )  # fmt: skip
    first, second = (client.get(address("everything", board)).getvalue() for _ in range(2))
    assert first == second
    opened = zipfile.ZipFile(io.BytesIO(first))
    assert opened.testzip() is None
    names = set(opened.namelist())
    assert {"board.json", "entries.csv", "frame.html", "board_page.py", "policy/1.txt", "looks.csv"} <= names
    assert opened.read("season-1/dev_qrels.txt") == b"1 0 a 1\n" and "season-1/dev_queries.txt" in names
    assert not any(b"secret" in opened.read(name) for name in names)
    assert opened.read("scores-eval.txt").decode().splitlines() == [
        "20260205-red RR@10 all 0.333", "20260305-green RR@10 all 0.333", "20260105-bm25 RR@10 all 0.200",
        "20260605-gone RR@10 all 0.400",
    ]  # fmt: skip
    assert len(list(csv.DictReader(io.StringIO(opened.read("entries.csv").decode())))) == 6
    assert json.loads(opened.read("board.json"))["seasons"] == ["First"]
    sums = dict(reversed(line.split("  ")) for line in opened.read("SHA256SUMS").decode().splitlines())
    assert set(sums) == names - {"SHA256SUMS"}
    assert client.get(address("file", board, 1, "dev_qrels")).getvalue() == b"1 0 a 1\n"
    assert client.get(address("file", board, 1, "eval_qrels")).status_code == 404
    assert b"eval_qrels" not in client.get(address("files", board)).content


def test_the_files_page_counts_each_set_and_hides_the_judgments_of_eval(board: Board, client: Client) -> None:
    season = board.seasons.get()
    for part, counts in (
        ("dev_queries", {"queries": 4, "words": 22}), ("dev_qrels", {"queries": 4, "lines": 10, "relevant": 6}),
        ("eval_queries", {"queries": 7, "words": 21}), ("eval_qrels", {"queries": 7, "lines": 8888, "relevant": 7777}),
    ):  # fmt: skip
        SeasonFile.objects.create(
            season=season, part=part, file=ContentFile(b"x", part), name=part, size=1, sha256="0" * 64, added_at=NOW,
            counts=counts,
        )  # fmt: skip
    corpus = {"file": "collection.tsv", "passages": 8_841_823, "mean_words": 56.25, "median_words": 50.0}
    type(board.collection).objects.filter(pk=board.collection.pk).update(statistics={"corpus": corpus})
    page = client.get(address("files", board)).content.decode()
    assert "8,841,823 passages, with a mean length of 56.3 words and a median of 50 (collection.tsv)" in page
    table = page.partition("The collection in numbers")[2]
    cells = [re.sub(r"<[^>]*>", " ", row).split() for row in table.split("<tr>")[2:]]
    assert cells[0][:7] == ["First", "dev", "4", "5.5", "10", "2.50", "1.50"]
    assert cells[1][:5] == ["First", "eval", "7", "3.0", "hidden"]
    assert "8888" not in page and "8,888" not in page and "7777" not in page


def test_a_new_best_is_significant_or_not(collection: Collection, client: Client) -> None:
    board = public_board(collection, slug="two")
    first = entry(board, "first", on=date(2026, 1, 1), dev="0.5", eval="0.5", per_query=[0.5, 0.5, 0.5, 0.5])
    second = entry(board, "second", on=date(2026, 1, 2), dev="0.6", eval="0.6", per_query=[0.6, 0.5, 0.55, 0.75])
    current = published(board, NOW)
    a, b = current.entry(second.public_id), current.entry(first.public_id)
    assert a is not None and b is not None
    assert best_before(current, a) == b and best_before(current, b) is None
    outcome = compare_dev(current, a, b)
    assert outcome is not None and (outcome.better, outcome.equal, outcome.worse) == (3, 1, 0)
    assert (round(outcome.difference, 3), round(outcome.p, 3), outcome.is_significant) == (0.1, 0.161, False)
    page = client.get(address("entry", board, second.public_id)).content.decode()
    assert "better on 3 dev queries, equal on 1 and worse on 0" in page and "not significant (p = 0.1" in page
    compared = client.get(f"{address('compare', board)}?a={second.public_id}&b={first.public_id}").content.decode()
    assert "<dd>3</dd>" in compared and "not significant" in compared
    assert "First: no entry matches “nobody”" in client.get(f"{address('compare', board)}?a=nobody&b=%00").text
    assert client.get(address("compare", board), {"a": second.run_id.upper(), "b": first.run_id}).text == compared
    several = client.get(address("compare", board), {"a": "SYSTEM", "b": first.public_id}).text
    assert f"?a={second.public_id}&amp;b={first.run_id}" in several and "<dd>3</dd>" not in several


def test_the_board_tells_participants_its_key_and_rules(board: Board, client: Client) -> None:
    assert client.get(address("terms", board)).status_code == 404
    key = key_make(board=board, by=None, at=NOW)
    answer = client.get(address("terms", board))
    terms = read_terms(answer.content, name="terms.json")
    assert (terms.board, terms.public_key, terms.hits, terms.order) == ("small", key.public_pem, 100, "rank")
    policy = client.get(address("policy", board)).text
    assert str(key) in policy and f"run by {html.escape(board.lab.name)}." in policy
    assert b"PRIVATE" not in answer.content


def test_sorting_and_filtering_happen_on_the_server(board: Board, client: Client) -> None:
    def shown(query: str) -> list[str]:
        lines = rows(client.get(f"{address('board', board)}?{query}").content)
        return [row[2] for row in lines if len(row) > 1]

    assert shown("sort=date") == [
        "2026-01-05", "2026-02-05", "2026-03-05", "2026-04-05", "2026-05-05", "2026-06-05"
    ]  # fmt: skip
    assert shown("sort=-dev")[:2] == ["2026-04-05", "2026-02-05"]
    assert shown("sort=eval")[-2] == "2026-05-05"  # nothing comes before a score, whichever way
    assert shown("sort=-eval")[-2] == "2026-05-05"
    assert shown("type=reranking") == ["2026-03-05"]
    assert shown("mark=baseline") == ["2026-01-05"]
    assert shown("q=GREEN") == ["2026-03-05"]
    assert shown("q=nothing+like+it") == []
    assert len(shown("sort=password&type=")) == 6


COSTS = {"parameters": 110_000_000.0, "query_latency_ms": 12.5, "query_hardware": "one <A100>"}


def test_costs_are_columns_sorted_and_filtered_by_number_and_drawn(board: Board, client: Client) -> None:
    page = client.get(address("board", board)).content
    assert b"Parameters" not in page and b"cost" not in page
    entry(board, "cheap", on=date(2026, 7, 5), eval="0.30", metadata={"parameters": 66_000_000.0})
    entry(board, "dear", on=date(2026, 7, 6), eval="0.34", metadata={"parameters": 11_000_000_000.0})
    entry(board, "beaten", on=date(2026, 7, 7), eval="0.29", metadata=COSTS)
    entry(board, "covert", on=date(2026, 7, 8), eval="0.2", embargo_until=date(2099, 1, 1), metadata={"parameters": 7})

    def told(query: str) -> list[tuple[str, ...]]:
        answer = client.get(f"{address('board', board)}?{query}")
        return [(row[3].split()[-1], *row[8:-2]) for row in rows(answer.content) if len(row) > 1]

    assert told("show=parameters&sort=parameters")[:4] == [
        ("cheap", "66,000,000"), ("beaten", "110,000,000"), ("dear", "11,000,000,000"), ("more", ""),
    ]  # fmt: skip
    assert [name for name, _cost in told("show=parameters&sort=-parameters")[:3]] == ["dear", "beaten", "cheap"]
    assert told("show=parameters&most=110000000") == [("cheap", "66,000,000"), ("beaten", "110,000,000")]
    assert ("beaten", "110,000,000", "12.5", "one &lt;A100&gt;") in told("show=costs")
    assert ("beaten", "12.5", "one &lt;A100&gt;") in told("show=query_latency_ms")
    for odd in ("show=odd&most=1", "show=parameters&most=-1", "show=parameters&most=nan", "most=1"):
        assert len(told(odd)) == 10, odd
    lines = csv.DictReader(io.StringIO(zipped(board, client, "entries.csv")))
    assert "dear" in zipped(board, client, "figures/season-1-eval-parameters.svg")
    assert {row["parameters"] for row in lines} == {"", "66000000", "110000000", "11000000000"}

    page = client.get(f"{address('costs', board)}?cost=parameters").content.decode()
    assert page.count("<td>yes</td>") == 2 and page.count('class="point') == 3
    assert '<td class="number">11,000,000,000</td>' in page and ">66 M</text>" in page and ">11 G</text>" in page
    assert "covert" not in page and "Anonymous" not in page
    page = client.get(f"{address('costs', board)}?cost=query_latency_ms&season=odd").content.decode()
    assert "one &lt;A100&gt;" in page and page.count("<td>yes</td>") == 1
    row = board.submissions.get(run_id="20260707-beaten")
    assert (
        b"<dt>Measured on</dt><dd>one &lt;A100&gt;</dd>" in client.get(address("entry", board, row.public_id)).content
    )


def zipped(board: Board, client: Client, name: str) -> str:
    """A file of the board's zip."""
    opened = zipfile.ZipFile(io.BytesIO(client.get(address("everything", board)).getvalue()))
    return opened.read(name).decode()


def test_what_an_anonymous_visitor_learns_under_an_embargo(board: Board, client: Client) -> None:
    hidden = {
        "team_words": "Secretive Labs", "description": "Covert ranker", "paper": "https://secret.example/paper",
        "code": "https://secret.example/code", "link": "https://secret.example/tweet", "flag": "Sneaky of Secretive",
        "team": team(board, "Secretive"), "metadata": {"parameters": 5, "query_hardware": "Secretive machine"},
    }  # fmt: skip
    overt = entry(board, "overt", on=date(2026, 7, 1), dev="0.5", eval="0.5", team=team(board, "Overt"))
    covert = entry(
        board, "covert", on=date(2026, 8, 1), dev="0.51", eval="0.51", embargo_until=date(2099, 1, 1), **hidden
    )
    entry(
        board, "covert2", on=date(2026, 8, 2), dev="0.52", eval="0.51", gains=False, reference=overt,
        embargo_until=date(2099, 1, 1), **hidden,
    )  # fmt: skip
    entry(board, "overt2", on=date(2026, 8, 3), dev="0.52", eval="0.51", gains=False, reference=covert)
    answers = walk(board, client)
    assert len(answers) > 25
    for place, answer in answers.items():
        text = answer.lower()
        for word in (b"secret", b"covert ", b"covert\n", b"covert2", b"0801-covert", b"sneaky"):
            assert word not in text, (place, word)
    page = client.get(address("board", board)).content.decode()
    assert page.count("no gain over an earlier entry of the same people") == 2
    assert "no gain over 20260701-overt" not in page
    assert page.count("<dt>Under embargo<dd>2<") == 1 and "<dt>Teams<dd>2<" in page
    assert client.get(address("entry", board, covert.run_id)).status_code == 404
    assert b"0.510" in client.get(address("entry", board, covert.public_id)).content


def test_an_embargo_ends_by_itself_at_midnight_and_the_address_stays(board: Board, client: Client) -> None:
    covert = entry(
        board, "covert", on=date(2026, 8, 1), eval="0.51", embargo_until=date(2026, 12, 1), team=team(board, "Covert")
    )  # fmt: skip
    page = address("entry", board, covert.public_id)
    midnight = datetime(2026, 12, 1, tzinfo=UTC)
    before, after = published(board, midnight - timedelta(seconds=1)), published(board, midnight)
    assert [at.entry(covert.public_id).team for at in (before, after)] == ["Anonymous", "Covert, Example University"]  # type: ignore[union-attr]
    assert after.entry(covert.public_id).changed_at == midnight  # type: ignore[union-attr]
    assert client.get(page).status_code == 200


def walk(board: Board, client: Client) -> dict[str, bytes]:
    """Every public address of a board that is linked or that the router knows, with what it answers; zips unpacked."""
    answers: dict[str, bytes] = {}
    waiting = [reverse("boards:boards"), *(address(name, board) for name in PAGES)]
    while waiting:
        place = waiting.pop()
        if place in answers or len(answers) > 150:
            continue
        answer = client.get(place)
        assert answer.status_code == 200, place
        body = answer.getvalue() if answer.streaming else answer.content
        answers[place] = place.encode() + b"\n" + repr(sorted(answer.headers.items())).encode() + b"\n" + body
        if place.endswith(".zip"):
            opened = zipfile.ZipFile(io.BytesIO(body))
            answers |= {f"{place}!{name}": name.encode() + b"\n" + opened.read(name) for name in opened.namelist()}
        elif answer["Content-Type"].startswith("text/html"):
            links = re.findall(rb'href="?([^"#> ]+)"?', body)
            base = place.partition("?")[0]
            addresses = [_resolved(base, link.decode().replace("&amp;", "&")) for link in links]
            waiting += [path for path in addresses if path.startswith(f"/boards/{board.slug}/")]
    return answers


def _resolved(base: str, link: str) -> str:
    if link.startswith("?"):
        return base + link
    return link if "://" in link or link.startswith("/") else base.rpartition("/")[0] + "/" + link


PAGES = (
    "board",
    "time",
    "costs",
    "policy",
    "files",
    "everything",
    "atom",
    "embedding",
    "embed",
    "compare",
    "versions",
    "order",
)


def test_a_board_that_is_not_public_is_there_for_its_lab_alone(board: Board, client: Client, rita: User) -> None:
    Board.objects.filter(pk=board.pk).update(is_public=False)
    entry_id = board.submissions.earliest("pk").public_id
    places = [*(address(name, board) for name in PAGES), address("entry", board, entry_id)]
    assert {client.get(place).status_code for place in places} == {404}
    assert board.name.encode() not in client.get(reverse("boards:boards")).content
    client.force_login(rita)
    answer = client.get(places[0])
    assert answer.status_code == 200 and "no-store" in answer["Cache-Control"]


def test_who_organizes_a_board_sees_a_change_at_once_and_others_keep_its_page_a_minute(
    board: Board, client: Client, rita: User
) -> None:
    assert client.get(address("board", board))["Cache-Control"] == "public, max-age=60"
    client.force_login(rita)
    answer = client.get(address("board", board))
    assert answer.status_code == 200 and "no-store" in answer["Cache-Control"]
    client.force_login(factories.user("mallory"))
    answer = client.get(address("board", board))
    assert answer["Cache-Control"] == "public, max-age=60" and "Cookie" in answer["Vary"]


def test_a_season_that_has_not_opened_is_nowhere(board: Board, client: Client) -> None:
    later = Season.objects.create(
        board=board, number=9, name="Secret season", opens_at=datetime.now(UTC) + timedelta(9)
    )
    SeasonFile.objects.create(
        season=later, part="dev_qrels", file=ContentFile(b"q 0 p 1\n", "q"), name="secret-qrels.txt", size=8,
        sha256="0" * 64, counts={"queries": 1}, added_at=NOW,
    )  # fmt: skip
    before = client.get(reverse("boards:board", args=["small"])).content
    for name in ("board", "files", "time", "policy"):
        assert b"ecret" not in client.get(reverse(f"boards:{name}", args=["small"])).content, name
    assert client.get(reverse("boards:file", args=["small", later.number, "dev_qrels"])).status_code == 404
    Season.objects.filter(pk=later.pk).update(opens_at=NOW)
    assert client.get(reverse("boards:board", args=["small"])).content != before


def test_a_query_of_many_fields_is_read_as_far_as_it_makes_sense(board: Board, client: Client) -> None:
    many = "&".join(f"field{number}=x" for number in range(2000))
    assert client.get(reverse("boards:board", args=["small"]) + f"?{many}").status_code == 200


def test_the_page_of_a_board_with_160_entries_is_small_and_asks_little(collection: Collection, client: Client) -> None:
    board = filled(collection)
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(address("board", board))
    assert len(queries) <= MOST_QUERIES
    assert len(rows(answer.content)) == 160
    assert b"160 of 160 entries.</p>" in answer.content and b"Show all" not in answer.content
    assert len(answer.content) < MOST_BYTES
    again = client.get(address("board", board), headers={"if-none-match": answer["ETag"]})
    assert (again.status_code, again.content, answer["Cache-Control"]) == (304, b"", "public, max-age=60")


def test_the_feed_is_valid_atom(board: Board, client: Client) -> None:
    answer = client.get(address("atom", board))
    assert answer["Content-Type"].startswith("application/atom+xml")
    root = ElementTree.fromstring(answer.content)
    assert root.tag == f"{ATOM}feed"
    entries = root.findall(f"{ATOM}entry")
    for element in (root, *entries):
        assert [len(element.findall(ATOM + name)) for name in ("id", "title", "updated")] == [1, 1, 1]
        updated = element.findtext(f"{ATOM}updated") or ""
        assert datetime.fromisoformat(updated).tzinfo is not None
        assert re.match(r"https?://", element.findtext(f"{ATOM}id") or "")
        assert element.findtext(f"{ATOM}author/{ATOM}name")
    ids = [entry.findtext(f"{ATOM}id") for entry in entries]
    assert len(set(ids)) == len(ids) == 6
    assert root.find(f"{ATOM}link[@rel='self']") is not None
    assert entries[0].findtext(f"{ATOM}title") == "Withdrawn: System gone (IR, Example University)"
    assert client.get(address("atom", board)).content == answer.content


def test_the_embedded_page_alone_may_be_framed(board: Board, client: Client) -> None:
    frame, page = client.get(address("embed", board)), client.get(address("board", board))
    assert "frame-ancestors *" in frame["Content-Security-Policy"] and "X-Frame-Options" not in frame
    assert "frame-ancestors *" not in page["Content-Security-Policy"] and page["X-Frame-Options"] == "DENY"
    assert b"<script" not in frame.content and b"A &lt;b&gt;red" in frame.content
    assert b"/embed" in client.get(address("embedding", board)).content


def test_entries_after_the_end_of_a_season_have_no_rank_and_no_trophy(board: Board, client: Client) -> None:
    first = board.seasons.get()
    Season.objects.filter(pk=first.pk).update(closes_at=datetime(2026, 9, 1, tzinfo=UTC))
    second = Season.objects.create(board=board, number=2, name="Second", opens_at=datetime(2026, 9, 1, tzinfo=UTC))
    late = entry(board, "late", on=date(2026, 9, 9), eval="0.9", season=first)
    new = entry(board, "new", on=date(2026, 9, 9), eval="0.1", season=second)
    current = published(board, NOW)
    assert [entry.id for entry in current.of_season("Second")] == [new.public_id]
    row = current.entry(late.public_id)
    assert row is not None and (row.rank, row.mark, row.section) == (0, "", "After the season ended")
    page = client.get(address("board", board)).content
    assert [row[3] for row in rows(page)] == ["System new"]
    earlier = client.get(address("board", board) + "?season=First&sort=-eval").content
    assert [row[0] for row in rows(earlier) if len(row) == 1] == ["After the season ended", "Withdrawn"]
    assert b'<option value="First" selected>' in earlier


def test_an_entry_has_an_address_to_cite_and_its_runs_id_leads_there(board: Board, client: Client) -> None:
    row = board.submissions.get(run_id="20260205-red")
    place = address("entry", board, row.public_id)
    answer = client.get(address("entry", board, "20260205-RED"))
    assert (answer.status_code, answer["Location"]) == (302, place)
    page = client.get(place).content.decode()
    assert "0.333" in page and "20260205-red" in page and "🏆" in page
    assert client.get(address("entry", board, "nobody")).status_code == 404


def test_the_zip_is_packed_once_and_again_when_an_embargo_ends(
    board: Board, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = entry(board, "covert", on=date(2026, 7, 1), dev="0.1", eval="0.1", embargo_until=date(2026, 11, 2))
    packed: list[datetime] = []
    write = archive.Archive.write

    def counted(self: archive.Archive, to: Any) -> None:
        packed.append(timezone.now())
        write(self, to)

    monkeypatch.setattr(archive.Archive, "write", counted)

    def got(at: datetime, **headers: str) -> Any:
        monkeypatch.setattr("django.utils.timezone.now", lambda: at)
        answer = client.get(address("everything", board), headers=headers)
        return answer, b"".join(answer.streaming_content) if answer.streaming else answer.content

    (first, content), (_again, same) = got(NOW), got(NOW + timedelta(minutes=1))
    assert content == same and len(packed) == 1 and row.run_id.encode() not in zip_text(content)
    unchanged, empty = got(NOW, **{"if-none-match": first["ETag"]})
    assert (unchanged.status_code, empty, len(packed)) == (304, b"", 1)
    later, revealed = got(datetime(2026, 11, 2, tzinfo=UTC), **{"if-none-match": first["ETag"]})
    assert later.status_code == 200 and len(packed) == 2 and row.run_id.encode() in zip_text(revealed)
    board.name = "Another name"
    board.save()
    assert b"Another name" in zip_text(got(NOW + timedelta(days=30))[1]) and len(packed) == 3
    folder = f"boards/archives/{board.pk}"
    stored = default_storage.listdir(folder)[1]
    assert len(stored) == 1, "what is no longer true goes after a day"
    assert got(NOW)[1] == got(NOW)[1]


def test_whoever_asks_for_the_zip_too_often_waits(board: Board, client: Client, limits: None) -> None:
    codes = [client.get(address("everything", board)).status_code for _number in range(31)]
    assert set(codes[:30]) == {200} and codes[30] == 429


def zip_text(content: bytes) -> bytes:
    """What the files of a zip hold, together."""
    opened = zipfile.ZipFile(io.BytesIO(content))
    return b"".join(opened.read(name) for name in opened.namelist())


def test_a_large_board_shows_its_first_entries_and_all_on_demand_with_filters(
    collection: Collection, client: Client
) -> None:
    board = filled(collection, 400)
    place = address("board", board)
    page = client.get(place).text
    assert len(rows(page.encode())) == 160 and "400 of 400 entries, the first 160 shown." in page
    links = re.findall(r'<a href="([^"]*)">Show all</a>', page)
    whole = client.get(place + html.unescape(links[0])).text
    assert len(rows(whole.encode())) == 400 and "Show all" not in whole
    some = client.get(place + "?type=full+ranking&sort=-dev").text
    every = re.findall(r'<a href="([^"]*)">Show all</a>', some)[0]
    lines = rows(client.get(place + html.unescape(every)).content)
    assert len(lines) > 160 and {row[7] for row in lines} == {"full ranking"}
    assert [row[8] for row in lines] == sorted((row[8] for row in lines), reverse=True)
    few = client.get(place + "?type=reranking").text
    assert "of 400 entries. " in few and '<a href="?season=First">Show all</a>' in few, "without the filter"


def test_nobody_is_published_under_a_name_that_the_organizers_have_not_confirmed(board: Board, client: Client) -> None:
    other = team(board, "Purple")
    row = entry(board, "alias", on=date(2026, 7, 1), dev="0.1", eval="0.1", team=other, team_words="Google Research")
    place = address("entry", board, row.public_id)
    board_page_text, page = client.get(address("board", board)).text, client.get(place).text
    assert "Google Research" not in board_page_text and "Purple, Example University" in board_page_text
    assert (
        re.search(r"Named in its metadata</dt><dd>Google Research", page)
        and "Google Research" not in page.split("<dl")[0]
    )
    into = team(board, "Violet")
    other.merged_into = into
    other.save()
    assert "Violet, Example University" in client.get(place).text
    row.embargo_until = date(2100, 1, 1)
    row.save()
    assert "Google Research" not in client.get(place).text and "Violet" not in client.get(place).text


def test_the_figures_draw_every_entry_and_the_best_so_far(board: Board, client: Client) -> None:
    entries = published(board, NOW).of_season("First")
    drawing = figures.over_time(entries, "red")
    ElementTree.fromstring(drawing)
    assert drawing.count('class="point') == 4 and drawing.count("marked") == 1
    assert drawing.count('class="best"') == 1 and drawing.count("point baseline") == 1
    assert figures.dev_against_eval(entries).count('class="point') == 3
    assert "<b>" not in drawing and figures.over_time([]) == figures.gaps([]) == ""
    page = client.get(address("time", board) + "?word=red").content.decode()
    assert "(1 of them)" in page and "Entries with both scores" in page
    entry = next(entry for entry in entries if entry.description in drawing)
    assert f'data-href="{reverse("boards:entry", args=[board.slug, entry.id])}"' in page and "data-href" not in drawing
    assert figures.of_teams(entries) == [("IR, Example University", 5, 100.0)]


@pytest.mark.parametrize(
    ("grows", "text", "absent"),
    [
        ("eval", "Eval scores rise faster than dev scores", "Dev scores rise faster"),
        ("dev", "Dev scores rise faster than eval scores", "Eval scores rise faster"),
        ("", "Eval less dev changes by", "rise faster than"),
    ],
)
def test_the_page_over_time_raises_the_alarm_where_the_gap_grows(
    collection: Collection, client: Client, grows: str, text: str, absent: str
) -> None:
    board = public_board(collection, slug="gap", rule="plain")
    for number in range(12):
        wobble = number % 3
        scores = {"dev": 300 + wobble, "eval": 300 - wobble}
        if grows:
            scores[grows] += 10 * number
        values = {part: f"{score}/1000" for part, score in scores.items()}
        entry(board, f"n{number}", on=OPENED.date() + timedelta(30 * number), dev=values["dev"], eval=values["eval"])
    page = client.get(address("time", board)).text
    assert text in page and absent not in page
    assert ('class="notice look"' in page) == bool(grows)


def test_organizers_see_the_alarm_where_they_decide(collection: Collection, client: Client, rita: User) -> None:
    board = public_board(collection, slug="gap", rule="plain")
    client.force_login(rita)
    organize = reverse("leaderboards:organize", args=[board.slug])
    assert "rise faster than" not in client.get(organize).text
    for number in range(12):
        scores = {"dev": f"{300 + number % 3}/1000", "eval": f"{300 + 10 * number}/1000"}
        entry(board, f"n{number}", on=OPENED.date() + timedelta(30 * number), **scores)
    page = client.get(organize).text
    assert "In the season First, eval scores rise faster than dev scores." in page
    assert "season=First" in page


def test_published_scores_of_another_level_make_no_alarm_and_no_mean(collection: Collection, client: Client) -> None:
    """Eval scores that were lowered when they were published, and true ones since."""
    board = public_board(collection, slug="gap", rule="plain")
    for number in range(16):
        wobble, is_old = number % 3, number < 8
        dev, eval_ = f"{300 + wobble}/1000", f"{(200 if is_old else 300) - wobble}/1000"
        more: dict[str, Any] = {"origin": "imported", "package_sha256": "", "policy": None} if is_old else {}
        entry(board, f"n{number}", on=OPENED.date() + timedelta(30 * number), dev=dev, eval=eval_, **more)
    entries = published(board, NOW).entries
    here, imported = gap_numbers(entries)
    assert (here.is_imported, here.summary.both, imported.is_imported, imported.summary.both) == (False, 8, True, 8)
    assert here.trend is not None and (here.trend.entries, here.trend.alarm) == (8, "")
    page = client.get(address("time", board)).text
    assert 'class="notice look"' not in page
    assert page.count("<dt>Mean of eval less dev</dt>") == 1 and "<dd>-0.0020</dd>" in page
    # Two figures of each: those of published scores have no line where dev and eval are equal, and no level.
    old, new = (figures.dev_against_eval(entries, imported=imported) for imported in (True, False))
    assert (old.count('class="even"'), old.count('class="point'), old.count(", as published</title>")) == (0, 8, 9)
    assert (new.count('class="even"'), new.count('class="point'), new.count("as published")) == (1, 8, 0)
    old = figures.gaps(entries, imported=True)
    assert "from its mean, of 8 entries by date, from -0.002 to +0.002." in old and old.count('class="point') == 8
    assert "of 8 entries by date, from -0.004 to +0.000." in figures.gaps(entries)
    assert all(name in page for name in ("dev-eval-title", "published-dev-eval-title", "published-gaps-title"))
    board.submissions.exclude(origin="imported").update(state="withdrawn", withdrawn_at=NOW)
    (alone,) = gap_numbers(published(board, NOW).entries)
    assert alone.is_imported and alone.trend is not None and alone.trend.entries == 8
    page = client.get(address("time", board)).text
    assert "Mean of eval less dev" not in page and "On the dashed line" not in page


def test_steps_trophies_the_line_and_the_best_before_go_by_arrival_alike(collection: Collection) -> None:
    board = public_board(collection, slug="order")
    day, hour = date(2026, 2, 5), timedelta(hours=1)
    base = datetime(2026, 2, 5, 9, tzinfo=UTC)
    low = entry(board, "low", on=day, dev="0.1", eval="0.3", arrived_at=base)
    high = entry(board, "high", on=day, dev="0.1", eval="0.5", arrived_at=base + hour)
    gone = entry(
        board, "gone", on=day, dev="0.1", eval="0.6", arrived_at=base + 2 * hour, state="withdrawn", withdrawn_at=NOW
    )
    less = entry(board, "less", on=day, dev="0.1", eval="0.55", arrived_at=base + 3 * hour)
    last = entry(board, "last", on=day, dev="0.1", eval="0.65", arrived_at=base + 4 * hour)
    season = board.seasons.get()
    season.closes_at = base + 5 * hour
    season.save()
    late = entry(board, "late", on=day, dev="0.1", eval="0.9", arrived_at=base + 6 * hour)

    current = published(board, NOW)
    entries = current.of_season("First")
    best = [low.public_id, high.public_id, gone.public_id, last.public_id]
    assert [entry.id for entry in sorted(entries, key=lambda entry: entry.arrived) if entry.mark == "trophy"] == best
    assert [step.entry.id for step in steps(entries)] == best[::-1]
    assert [step.gain for step in steps(entries)] == ["+0.050", "+0.100", "+0.200", ""]
    drawing = figures.over_time(entries)
    assert drawing.count('class="point') == 5 and drawing.count("withdrawn") == 1
    assert re.findall(r'class="best" d="([^"]*)"', drawing)[0].count("V") == 3 and "ends at 0.650" in drawing

    def before(row: Submission) -> str | None:
        entry = current.entry(row.public_id)
        assert entry is not None
        other = best_before(current, entry)
        return other.id if other else None

    assert [before(row) for row in (low, high, gone, less, last, late)] == [
        None, low.public_id, high.public_id, gone.public_id, gone.public_id, last.public_id
    ]  # fmt: skip


def test_figures_of_one_day_and_one_score_have_room(collection: Collection) -> None:
    board = public_board(collection, slug="one")
    entry(board, "only", on=date(2026, 2, 5), dev="1", eval="1")
    entries = published(board, NOW).entries
    for drawing in (figures.over_time(entries), figures.dev_against_eval(entries), figures.gaps(entries)):
        ElementTree.fromstring(drawing)
        assert "nan" not in drawing and "inf" not in drawing


def test_an_empty_board_says_so(collection: Collection, client: Client) -> None:
    board = public_board(collection, slug="new")
    page = client.get(address("board", board)).text
    assert "No entry yet." in page and "Take part" in page
    assert "<table" not in page and "<form" not in page and "<dd>0<" not in page
    for name in PAGES:
        assert client.get(address(name, board)).status_code == 200
    assert f"<dt>Open since<dd>{OPENED:%Y-%m-%d}<".encode() in client.get(address("board", board)).content


def test_an_entry_says_of_which_it_is_a_variant_but_under_an_embargo(collection: Collection, client: Client) -> None:
    board = public_board(collection)
    first = entry(board, "first", on=date(2026, 2, 1), dev="1/2", eval="1/2")
    says = {"metadata": {"variant_of": first.run_id.upper()}}
    second = entry(board, "second", on=date(2026, 2, 2), dev="1/2", eval="1/2", **says)

    def page() -> str:
        return client.get(reverse("boards:entry", args=[board.slug, second.public_id])).text

    assert "A variant of" in page() and first.run_id.upper() in page()
    zipped = client.get(reverse("boards:everything", args=[board.slug])).getvalue()
    with zipfile.ZipFile(io.BytesIO(zipped)) as packed:
        rows = list(csv.DictReader(io.StringIO(packed.read("entries.csv").decode())))
    assert {row["run"]: row["variant_of"] for row in rows} == {first.run_id: "", second.run_id: first.run_id.upper()}
    first.embargo_until = date(2030, 1, 1)
    first.save(update_fields=["embargo_until"])
    assert "A variant of" not in page() and first.run_id.upper() not in page()


def test_organizers_say_of_which_earlier_entry_one_is_a_variant(
    collection: Collection, client: Client, rita: User
) -> None:
    board = public_board(collection)
    first = entry(board, "first", on=date(2026, 2, 1), dev="1/2", eval="1/2")
    second = entry(board, "second", on=date(2026, 2, 2), dev="1/2", eval="1/2", metadata={"parameters": 7})
    hidden = entry(board, "hidden", on=date(2026, 2, 1), dev="1/3", embargo_until=date(2100, 1, 1))
    client.force_login(rita)

    def say(row: Submission, of: str, reason: str = "The same but for the seed") -> int:
        sent = {"do": "variant", "variant_of": of, "reason": reason}
        return client.post(reverse("leaderboards:decide", args=[row.public_id]), sent).status_code

    def page() -> str:
        return Client().get(reverse("boards:entry", args=[board.slug, second.public_id])).text

    assert [say(second, of) for of in ("20260101-nobody", second.run_id, hidden.run_id)] == [409, 409, 409]
    assert say(first, second.run_id) == 409 and say(second, first.run_id, "") == 409
    assert "A variant of" not in page() and not board.decisions.exists()
    assert say(second, f" {first.run_id.upper()} ") == 303
    assert f'<dt>A variant of</dt><dd class="code">{first.run_id}</dd>' in page()
    second.refresh_from_db()
    assert second.metadata == {"parameters": 7, "variant_of": first.run_id}
    decision = board.decisions.get()
    assert (decision.kind, decision.details) == ("variant", {"before": "", "after": first.run_id})
    text = client.get(reverse("leaderboards:submission", args=[second.public_id])).text
    assert f'value="{first.run_id}"' in text and "marked as a variant" in text
    assert say(second, "") == 303 and "A variant of" not in page()
