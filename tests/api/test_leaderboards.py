"""Taking part in a leaderboard with a program."""

import io
import json
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from core.models import Lab, User
from evaluation.boards.packages import read_terms
from leaderboards import jobs, publishing
from leaderboards.models import Board
from runs.models import Collection
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem
from tests.leaderboards import taking_part

pytestmark = pytest.mark.django_db


@pytest.fixture
def olga(lab: Lab) -> User:
    return factories.member(lab, "organizer", "olga")


@pytest.fixture
def board(collection: Collection, olga: User, monkeypatch: pytest.MonkeyPatch) -> Board:
    """A public board; nothing is evaluated before a test says so."""
    monkeypatch.setattr("api.resources.leaderboards.soon", lambda *_arguments: lambda: None)
    return taking_part.make(collection, olga)


def send(program: Program, board: Board, team: str, name: str = "red", **fields: Any) -> Any:
    """A run that is sent today."""
    run_id = f"{timezone.now():%Y%m%d}-{name}"
    package = SimpleUploadedFile("p.sealed", taking_part.package(board, run_id, hits=3))
    sent = {"team": team, "run_id": run_id, "policy": 1, "package": package} | fields
    return program.upload(f"boards/{board.slug}/submissions/", **sent)


def test_a_program_reads_what_a_board_asks_for_submits_and_follows_the_states(board: Board, olga: User) -> None:
    paul = factories.user("paul")
    team = taking_part.team(board, paul, confirmed_by=olga)
    program = Program(paul)
    [row] = program.get("boards/").json()["results"]
    single = program.get(f"boards/{board.slug}/").json()
    assert row == single and single["teams"][0] == {
        "id": team.public_id, "name": str(team), "used": 0, "runs": 2, "days": 30, "next_at": None,
    }  # fmt: skip
    content = program.get(f"boards/{board.slug}/").content
    assert b"PRIVATE" not in content and read_terms(_json(single["terms"]), name="board").board == board.slug
    sent = send(program, board, team.public_id)
    assert sent.status_code == 201 and sent.json()["state"] == "received"
    jobs.evaluate()
    key = sent.json()["id"]
    waiting = program.get(f"board-submissions/{key}/").json()
    assert waiting["state"] == "waiting" and waiting["dev"] == {"RR@10": "0.750"} and waiting["eval"] is None
    assert [event["state"] for event in waiting["events"]] == ["received", "evaluating", "checked", "waiting"]
    assert "ep1" not in str(waiting) and "3/4" not in str(waiting)
    submission = board.submissions.get()
    publishing.submission_publish(submission=submission, reason="Fine", by=olga, at=timezone.now())
    assert program.get(f"board-submissions/{key}/").json()["eval"] == "0.750"
    assert send(program, board, team.public_id, "blue").status_code == 201
    third = send(program, board, team.public_id, "green")
    assert third.status_code == 409 and "2 of 2 runs" in third.json()["detail"]
    canceled = program.post(f"board-submissions/{board.submissions.latest('pk').public_id}/cancel/")
    assert canceled.json()["state"] == "canceled"
    withdrawn = program.post(f"board-submissions/{key}/withdraw/", {"why": "A bug"})
    assert withdrawn.json()["state"] == "withdrawn" and withdrawn.json()["events"][-1]["note"] == "A bug"


def _json(value: Any) -> bytes:

    return json.dumps(value).encode()


def test_nobody_submits_or_sees_for_another_team_or_with_a_token_that_only_reads(board: Board, olga: User) -> None:
    paul, vera = factories.user("paul"), factories.user("vera")
    team = taking_part.team(board, paul, confirmed_by=olga)
    taking_part.team(board, vera, "Green")
    assert send(Program(vera), board, team.public_id).status_code == 404
    assert send(Program(paul, "read"), board, team.public_id).status_code == 403
    assert not board.submissions.exists()
    key = send(Program(paul), board, team.public_id).json()["id"]
    stranger = Program(vera)
    for answer in (
        stranger.get(f"board-submissions/{key}/"),
        stranger.post(f"board-submissions/{key}/cancel/"),
        Program(olga).post(f"board-submissions/{key}/withdraw/"),
    ):
        assert answer.status_code == 404
    assert stranger.get(f"boards/{board.slug}/submissions/").json()["results"] == []
    assert len(Program(olga).get(f"boards/{board.slug}/submissions/").json()["results"]) == 1
    Board.objects.filter(pk=board.pk).update(is_public=False)
    assert Program(factories.user("mallory")).get(f"boards/{board.slug}/").status_code == 404


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"policy": 2}, 409, "version 1 now"),
        ({"run_id": "red"}, 409, "yyyymmdd-name"),
        ({"package": SimpleUploadedFile("x", b"nothing")}, 409, "BKSEAL"),
        ({"team": "nobody"}, 404, "no such team"),
        ({"colour": "red"}, 400, "no such field"),
    ],
)
def test_what_cannot_be_taken_says_why(
    board: Board, olga: User, fields: dict[str, Any], status: int, message: str
) -> None:
    paul = factories.user("paul")
    team = taking_part.team(board, paul, confirmed_by=olga)
    answer = send(Program(paul), board, **({"team": team.public_id} | fields))
    assert answer.status_code == status and message in answer.text
    assert not board.submissions.exists()


def test_somebody_leaves_a_team_and_the_last_one_of_a_team_that_has_sent_something_stays(
    board: Board, olga: User
) -> None:
    paul, quinn = factories.user("paul"), factories.user("quinn")
    team = taking_part.team(board, paul, confirmed_by=olga)
    team.members.create(user=quinn, joined_at=timezone.now())
    of_paul, of_quinn = Program(paul), Program(quinn)
    address = f"boards/{board.slug}/teams/{team.public_id}/leave/"
    assert send(of_paul, board, team.public_id).status_code == 201
    assert_problem(Program(factories.user("zoe")).post(address), 404)
    assert of_quinn.post(address).status_code == 204
    assert_problem(of_quinn.post(address), 404)
    assert_problem(of_paul.post(address), 409, says="last member")


def test_a_board_is_downloaded_as_everybody_may_see_it(board: Board, olga: User) -> None:
    stranger = Program(factories.user("zoe"))
    address = f"boards/{board.slug}/board.zip"
    answer = stranger.get(address)
    content = b"".join(answer.streaming_content)
    assert content == b"".join(Client().get(f"/boards/{board.slug}/board.zip").streaming_content)
    assert zipfile.ZipFile(io.BytesIO(content)).testzip() is None
    assert stranger.get(address, If_None_Match=answer["ETag"]).status_code == 304
    Board.objects.filter(pk=board.pk).update(is_public=False)
    assert_problem(stranger.get(address), 404)
    assert Program(olga).get(address).status_code == 200
