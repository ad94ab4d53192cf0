"""Whose an entry under embargo is: nobody learns it from any address of the site or operation of the API."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import get_resolver, reverse
from django.utils import timezone

from api.pages import described
from core.models import User
from leaderboards import events, metadata, order_checks, publishing, submitting
from leaderboards.models import Board, Submission
from tests import factories
from tests.api.conftest import Program
from tests.leaderboards import taking_part
from tests.leaderboards.test_public import walk
from tests.walk import named

pytestmark = pytest.mark.django_db
WORD = b"zqkxv"  # in everything that would tell whose the hidden entries are, and nowhere else
VERBS = ("get", "post", "put", "patch", "delete")


@pytest.fixture
def at() -> datetime:
    """When the board's entries came."""
    return timezone.now()


@pytest.fixture
def board(collection: Any, olga: User, at: datetime) -> Board:
    """A public board that began two months ago."""
    return taking_part.make(collection, olga, at - timedelta(days=60))


@pytest.fixture
def vera(board: Board, olga: User, at: datetime) -> User:
    """Another participant, whose team has an entry that everybody sees."""
    vera = factories.user("vera")
    taking_part.published(board, taking_part.team(board, vera, "Green", confirmed_by=olga), vera, olga, "green", at)
    return vera


@pytest.fixture
def hidden(board: Board, vera: User, olga: User, at: datetime) -> list[Submission]:
    """A published and a withdrawn entry under embargo, with all that a team and its organizers can write of one."""
    sender = factories.user("zqkxvuser", email="zqkxvuser@zqkxvhost.example")
    team = taking_part.team(board, sender, "zqkxvteam", confirmed_by=olga)
    team.organization, team.contributors = "zqkxvorganization", "zqkxvcontributor"
    team.save()
    until = f"{at + timedelta(days=100):%Y/%m/%d}"
    fields = {
        "model_description": "zqkxvdescription", "paper": "https://zqkxvpaper.example",
        "code": "https://zqkxvcode.example", "query_hardware": "zqkxvhardware", "embargo_until": until,
    }  # fmt: skip
    rows = []
    for number, name in enumerate(("zqkxvrun", "zqkxvgone"), 2):
        row = taking_part.published(board, team, sender, olga, name, at, hits=number, **fields)
        row.team_words, row.link = "zqkxvteam of zqkxvorganization", "https://zqkxvlink.example"
        row.metadata |= {"parameters": 7}
        row.save()
        publishing.submission_flag(submission=row, flag="zqkxvflag", reason="zqkxvreason", by=olga, at=at)
        events.message_add(submission=row, text="zqkxvmessage", by=sender, is_organizers=False, at=at)
        after = {"paper": "https://zqkxvother.example"}
        metadata.request_add(submission=row, kind="links", after=after, why="zqkxvwhy", by=sender, at=at)
        rows.append(row)
    submitting.submission_withdraw(submission=rows[1], why="zqkxvbug", by=sender, at=at)
    assert order_checks.order_check(season=board.seasons.get(), at=at)
    for row in rows:
        row.refresh_from_db()
        assert row.is_hidden(at) and row.description == "zqkxvdescription"
    return rows


def told(content: bytes, query: str) -> bytes:
    """Where an answer has the word, apart from what was asked."""
    text = content.lower().replace(query.lower().encode(), b"")
    place = text.find(WORD)
    return b"" if place < 0 else text[max(0, place - 60) : place + 60]


def filled(route: str, rows: list[Submission]) -> Iterator[str]:
    """A route's addresses with what there is of these entries: their ids, their board, team, lab and requests."""
    row = rows[0]
    assert row.team is not None
    board = row.board
    of_what = {"labs": board.lab_id, "collections": board.collection_id}
    common: dict[str, object] = {
        "slug": board.slug, "board_slug": board.slug, "team_id": row.team.public_id, "number": 1, "token": "x",
        "part": "eval_queries", "pk": of_what.get(route.partition("/")[0].removeprefix("^"), row.pk),
    }  # fmt: skip
    of_team = route.startswith("boards/<slug:slug>/teams/") or "/teams/{" in route
    for entry in rows:
        request = entry.metadata_requests.get().pk if "request_pk" in route else row.pk
        for key in (entry.team.public_id,) if of_team and entry.team else (entry.public_id, entry.run_id):
            values = common | {"key": key, "submission_id": key, "request_pk": request}

            def value(match: re.Match[str], values: dict[str, object] = values) -> str:
                return str(values.get(match[1], row.pk))

            yield re.sub(r"[<{](?:\w+:)?(\w+)[>}]", value, route)


def api_operations(rows: list[Submission]) -> Iterator[tuple[str, str]]:
    """Every operation that the API's description has, with its address filled in: once if it names no entry."""
    for path, verbs in described()["paths"].items():
        for address in sorted(set(filled(path.removeprefix("/api/v1/"), rows))):
            for verb in VERBS:
                if verb in verbs:
                    yield verb, f"/api/v1/{address}"


def pages(rows: list[Submission]) -> set[str]:
    """Every address of leaderboards that the router knows, public or not."""
    spaces = ("leaderboards:", "boards:", "upkeep:")
    return {
        f"/{address}"
        for name, route in named(get_resolver().url_patterns)
        if name.startswith(spaces)
        for address in filled(route, rows)
    }


def found_in_pages(client: Client, rows: list[Submission]) -> tuple[set[str], list[tuple[str, bytes]]]:
    """The addresses that answered with a page, and those that told something."""
    answered, telling = set(), []
    for address in sorted(pages(rows)):
        for verb in ("get", "post"):
            answer = getattr(client, verb)(address)
            body = answer.getvalue() if answer.streaming else answer.content
            if answer.status_code == 200:
                answered.add(address)
            if where := told(repr(sorted(answer.headers.items())).encode() + body, address):
                telling.append((f"{verb} {address}", where))
    return answered, telling


def found_in_api(
    call: Callable[[str, str], Any], rows: list[Submission], verbs: tuple[str, ...] = VERBS
) -> tuple[set[str], list[tuple[str, bytes]]]:
    """The operations that answered, and those that told something."""
    answered, telling = set(), []
    for verb, address in api_operations(rows):
        if verb not in verbs:
            continue
        answer = call(verb, address)
        body = answer.getvalue() if answer.streaming else answer.content
        if answer.status_code == 200:
            answered.add(address)
        if where := told(repr(sorted(answer.headers.items())).encode() + body, address):
            telling.append((f"{verb} {address}", where))
    return answered, telling


@pytest.mark.parametrize("who", ["anonymous", "participant"])
@pytest.mark.timeout(300)
def test_no_page_feed_file_or_search_tells_whose_an_entry_is(
    board: Board, hidden: list[Submission], vera: User, client: Client, who: str
) -> None:
    if who == "participant":
        client.force_login(vera)
    answers = walk(board, client)
    assert len(answers) > 40 and any(b"Anonymous" in answer for answer in answers.values())
    assert [(place, told(answer, place)) for place, answer in answers.items() if told(answer, place)] == []
    answered, telling = found_in_pages(client, hidden)
    assert telling == [] and reverse("boards:order", args=[board.slug]) in answered
    at_board = reverse("boards:board", args=[board.slug])
    row = hidden[0]
    for query in (
        "q=zqkxv", f"run={row.run_id}", "team=zqkxvteam", "description=zqkxvdescription", f"paper={row.paper}",
        f"link={row.link}", "parameters=7", f"season=First&q={row.run_id}",
    ):  # fmt: skip
        assert re.search(r"\b0 of \d+ entries", client.get(f"{at_board}?{query}").text), query
    # Its seven parameters are neither a column nor more than six.
    counts = {client.get(f"{at_board}?show=parameters&most={most}").text.count("<tr") for most in (6, 7, 8)}
    assert len(counts) == 1 and reverse("boards:costs", args=[board.slug]) not in answers[at_board].decode()
    assert "(0 of them)" in client.get(reverse("boards:time", args=[board.slug]) + "?word=zqkxvdescription").text


@pytest.mark.timeout(300)
def test_no_operation_of_the_api_tells_another_participant_whose_an_entry_is(
    board: Board, hidden: list[Submission], vera: User, client: Client
) -> None:
    program = Program(vera)
    answered, telling = found_in_api(lambda verb, address: getattr(program, verb)(address), hidden)
    assert telling == []
    assert {f"/api/v1/boards/{board.slug}/", f"/api/v1/boards/{board.slug}/submissions/"} <= answered
    rows = program.get(f"boards/{board.slug}/submissions/").json()["results"]
    assert [row["run_id"].partition("-")[2] for row in rows] == ["green"]
    client.raise_request_exception = False
    _answered, telling = found_in_api(
        lambda verb, address: getattr(client, verb)(address, content_type="application/json"), hidden
    )
    assert telling == []


@pytest.mark.timeout(300)
def test_the_walk_finds_the_entry_for_its_team_the_organizers_and_everybody_once_it_is_revealed(
    board: Board, hidden: list[Submission], olga: User, client: Client
) -> None:
    for user in (olga, User.objects.get(username="zqkxvuser")):
        program = Program(user, "read")
        _answered, telling = found_in_api(lambda _verb, address, by=program: by.get(address), hidden[:1], ("get",))
        at = f"get /api/v1/board-submissions/{hidden[0].public_id}/"
        assert at in dict(telling)
    Submission.objects.filter(pk=hidden[0].pk).update(embargo_until=datetime(2020, 1, 1, tzinfo=UTC).date())
    answers = walk(board, client)
    places = {place for place, answer in answers.items() if told(answer, place)}
    for name in ("board", "time", "atom", "embed", "everything", "compare"):
        address = reverse(f"boards:{name}", args=[board.slug])
        assert any(place.startswith(address) for place in places), name
