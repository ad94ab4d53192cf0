"""Organizing a leaderboard with a program, and what teams ask organizers."""

import json
from datetime import date, timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from core.models import Lab, User
from leaderboards import jobs, teams
from leaderboards.models import Board, Decision, DevScoring, PolicyVersion, Submission, Team, UpkeepRound
from leaderboards.upkeep import jobs as upkeep_jobs
from leaderboards.upkeep import rounds as upkeep_rounds
from results import versions
from runs.models import Collection
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem
from tests.leaderboards import taking_part, upkept
from tests.leaderboards.public_boards import public_board
from tests.leaderboards.test_importing import DOCUMENTS
from tests.results.judging import judged, new_run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is evaluated before a test says so."""
    for module in ("leaderboards", "organizing"):
        monkeypatch.setattr(f"api.resources.{module}.soon", lambda *_arguments: lambda: None)


@pytest.fixture
def olga(lab: Lab) -> User:
    return factories.member(lab, "organizer", "olga")


@pytest.fixture
def paul(db: None) -> User:
    return factories.user("paul")


@pytest.fixture
def board(collection: Collection, olga: User) -> Board:
    return taking_part.make(collection, olga, timezone.now() - timedelta(days=60))


@pytest.fixture
def waiting(board: Board, paul: User) -> Submission:
    """A run of a team that is not confirmed, anonymous for a while."""
    team = taking_part.team(board, paul)
    until = f"{timezone.now() + timedelta(days=100):%Y/%m/%d}"
    return taking_part.evaluated(board, team, paul, at=timezone.now(), hits=3, embargo_until=until)


def files() -> dict[str, SimpleUploadedFile]:
    """A season's files."""
    return {part: SimpleUploadedFile(*sent) for part, sent in taking_part.season_files().items()}


def test_an_organizer_makes_a_board_with_a_season_a_policy_and_a_key(collection: Collection, olga: User) -> None:
    program = Program(olga)
    sent = {"collection": collection.pk, "slug": "ours", "name": "Ours", "measures": ["RR@10"], "hits": 10}
    assert program.post("boards/", sent).status_code == 201
    assert program.post("boards/", sent).status_code == 409
    board = Board.objects.get()
    refused = program.patch("boards/ours/settings/", {"is_public": True})
    assert refused.status_code == 409 and refused["Content-Type"] == "application/problem+json"
    season = program.upload("boards/ours/seasons/", name="First", **files())
    assert season.status_code == 201 and season.json()["number"] == 1
    assert "sha256" in season.json()["files"][0] and "ep1" not in season.text
    wrong = files() | {"dev_qrels": SimpleUploadedFile("dev.txt", b"nobody 0 p 1\n")}
    bad = program.upload("boards/ours/seasons/", name="Second", **wrong)
    assert bad.status_code == 409 and "dev.txt" in bad.text and board.seasons.count() == 1
    changed = program.patch("boards/ours/settings/", {"is_public": True, "about": "What it measures"})
    assert changed.json()["is_public"] and changed.json() == program.get("boards/ours/settings/").json()
    policy = program.post("boards/ours/policies/", {"quota_runs": 3, "why": "There is room"})
    assert policy.status_code == 201
    stored = board.policies.latest("number")
    assert (stored.number, stored.quota_runs, stored.quota_days, stored.why) == (2, 3, 30, "There is room")
    assert program.post("boards/ours/policies/", {"quota_runs": 0, "why": "No"}).status_code == 400
    assert program.post("boards/ours/policies/", {"quota_runs": 1}).status_code == 400
    assert PolicyVersion.objects.count() == 2
    assert program.post("boards/ours/keys/").status_code == 201
    keys = program.get("boards/ours/keys/")
    assert [row["retired_at"] is None for row in keys.json()["results"]] == [True, False]
    assert "PRIVATE" not in keys.text
    closed = program.post("boards/ours/seasons/1/close/")
    assert closed.status_code == 200 and closed.json()["closes_at"]
    assert program.post("boards/ours/seasons/1/publish-qrels/").json()["eval_qrels_published_at"]
    assert program.post("boards/ours/seasons/7/close/").status_code == 404


def test_an_organizer_confirms_decides_writes_and_extends_and_the_team_sees_why(
    board: Board, waiting: Submission, olga: User, paul: User
) -> None:
    organizer, member, at = Program(olga), Program(paul), f"board-submissions/{waiting.public_id}"
    sound = {"kind": "publish", "reason": "A sound run"}
    unconfirmed = organizer.post(f"{at}/decisions/", sound)
    assert unconfirmed.status_code == 409 and "Confirm the team first" in unconfirmed.text
    team = Team.objects.get()
    place = f"boards/{board.slug}/teams/{team.public_id}"
    assert organizer.post(f"{place}/confirm/", {"reason": " "}).status_code == 400
    assert organizer.post(f"{place}/confirm/", {"reason": "I met them"}).json()["confirmed_at"]
    assert organizer.post(f"{place}/exempt/", {"reason": "Our fault", "runs": 1}).status_code == 201
    for sent in ({"kind": "extend", "reason": "x"}, {"kind": "publish", "reason": "x", "flag": "y"}, {"kind": "no"}):
        assert organizer.post(f"{at}/decisions/", sent).status_code == 400
    published = organizer.post(f"{at}/decisions/", sound)
    assert published.status_code == 201 and published.json()["state"] == "published"
    assert organizer.post(f"{at}/decisions/", sound).status_code == 409
    assert Decision.objects.filter(kind="publish").count() == 1
    later = date.today() + timedelta(days=150)
    extended = organizer.post(f"{at}/decisions/", {"kind": "extend", "reason": "Review", "until": f"{later}"})
    assert extended.json()["embargo_until"] == f"{later}"
    earlier = {"kind": "extend", "reason": "Review", "until": f"{date.today()}"}
    assert organizer.post(f"{at}/decisions/", earlier).status_code == 409
    assert organizer.post(f"{at}/messages/", {"text": "Which tokenizer?"}).json()["is_organizers"]
    assert not member.post(f"{at}/messages/", {"text": "WordPiece"}).json()["is_organizers"]
    assert [row["text"] for row in member.get(f"{at}/messages/").json()["results"]] == ["WordPiece", "Which tokenizer?"]
    decisions = member.get(f"{at}/decisions/").json()["results"]
    assert [(row["kind"], row["reason"], row["by"]) for row in decisions] == [
        ("extend", "Review", "olga"), ("publish", "A sound run", "olga")
    ]  # fmt: skip
    assert {row["what"] for row in member.get(f"{at}/openings/").json()["results"]} >= {"package"}


def test_other_metadata_is_asked_for_decided_on_and_taken_back(
    board: Board, waiting: Submission, olga: User, paul: User
) -> None:
    organizer, member = Program(olga), Program(paul)
    place = f"board-submissions/{waiting.public_id}/metadata-requests/"
    change: dict[str, Any] = {"kind": "links", "after": {"paper": "https://example.org/p"}, "why": "It has appeared"}
    assert organizer.post(place, change).status_code == 404
    answer = member.post(place, change)
    assert answer.status_code == 201 and answer.json()["state"] == "open"
    assert member.post(place, change).status_code == 409
    other = member.post(place, change | {"after": {"team_words": "Blue"}})
    assert other.status_code == 400 and "changes paper, code, and not team_words" in other.text
    key = answer.json()["id"]
    assert member.post(f"{place}{key}/decide/", {"accept": True, "reason": "Mine"}).status_code == 404
    decided = organizer.post(f"{place}{key}/decide/", {"accept": True, "reason": "It is theirs"})
    assert decided.json()["state"] == "accepted"
    waiting.refresh_from_db()
    assert waiting.paper == "https://example.org/p"
    second = member.post(place, change | {"after": {"paper": ""}}).json()["id"]
    assert member.post(f"{place}{second}/take-back/").json()["state"] == "taken_back"
    assert [row["state"] for row in member.get(place).json()["results"]] == ["taken_back", "accepted"]
    assert member.post(f"{place}999/take-back/").status_code == 404


def test_teams_are_founded_and_dev_runs_scored(board: Board, olga: User, paul: User) -> None:
    organizer, member = Program(olga), Program(paul)
    place = f"boards/{board.slug}/teams/"
    founded = member.post(place, {"organization": "Example University", "group": "Red"})
    assert founded.status_code == 201 and founded.json()["members"] == ["paul"]
    taking_part.team(board, factories.user("vera"), "Green")
    assert len(member.get(place).json()["results"]) == 1 and len(organizer.get(place).json()["results"]) == 2
    run = SimpleUploadedFile("dev.txt", taking_part.run(taking_part.DEV, 3).encode())
    scoring = member.upload(f"boards/{board.slug}/dev-scorings/", file=run)
    assert scoring.status_code == 201 and scoring.json()["state"] == "waiting"
    jobs.score_dev()
    [row] = member.get(f"boards/{board.slug}/dev-scorings/").json()["results"]
    assert row["state"] == "done" and row["scores"] == {"RR@10": "0.750"}
    assert organizer.get(f"boards/{board.slug}/dev-scorings/").json()["results"] == []
    missing = member.upload(f"boards/{board.slug}/dev-scorings/", file=SimpleUploadedFile("d", b"x"), season=9)
    assert missing.status_code == 400 and DevScoring.objects.count() == 1


def test_a_round_of_upkeep_is_set_up_listed_approved_and_ended(
    collection: Collection, rita: User, olga: User, paul: User
) -> None:
    pilot = judged(collection)
    versions.version_add(campaign=pilot, why="The start.", by=None, at=timezone.now())
    new_run(collection, "texts", {"q1": ["p0"]})
    board = upkept.board(collection)
    upkept.entry(board, "new", {"q1": ["p0"]})
    template = upkept.turn_on(board, pilot, rita).template
    assert template is not None
    researcher, place = Program(rita), f"boards/{board.slug}/upkeep/"
    chosen = {
        "is_on": True, "template": template.pk, "tests_from": pilot.pk, "fewest": 1, "every_days": 0,
        "year_dollars": "500.00",
    }  # fmt: skip
    assert researcher.put(place, chosen).json()["year_dollars"] == "500.00"
    assert researcher.get(place).json()["campaign_dollars"] == "100.00"
    for wrong in ({"is_on": True}, chosen | {"template": 10**6}, chosen | {"fewest": 0}, chosen | {"year_dollars": -1}):
        assert researcher.put(place, wrong).status_code in (400, 404, 409)
    upkeep_jobs.keep_up()
    [round] = researcher.get(f"{place}rounds/").json()["results"]
    assert (round["state"], round["challengers"], round["spent"]) == ("proposed", 1, None)
    for program in (Program(olga), Program(rita, "read", "write")):  # who may not spend, or with what may not
        assert program.post(f"{place}rounds/1/approve/", {"reason": "Yes"}).status_code == 403
    assert Program(paul).get(f"{place}rounds/").status_code == 404
    approved = researcher.post(f"{place}rounds/1/approve/", {"reason": "Yes"}).json()
    assert (approved["state"], approved["decided_by"]) == ("approved", "rita")
    refused = researcher.post(f"{place}rounds/1/go-on/", {"reason": "They come"})
    assert refused.status_code == 409 and "does not wait for workers who qualify" in refused.text
    upkeep_rounds.obstacle_note(
        round=UpkeepRound.objects.get(), why="Nobody qualifies.", at=timezone.now(), nobody_qualifies=True
    )
    going_on = researcher.post(f"{place}rounds/1/go-on/", {"reason": "They come"}).json()
    assert going_on["although_nobody_qualifies"] and going_on["reason"].endswith("They come")
    assert researcher.post(f"{place}rounds/1/end/", {"reason": "Later"}).json()["state"] == "declined"
    assert researcher.post(f"{place}rounds/1/approve/", {"reason": "Yes"}).status_code == 409
    assert researcher.post(f"{place}rounds/2/end/", {"reason": "None"}).status_code == 404
    assert UpkeepRound.objects.count() == 1
    rows = researcher.get(f"boards/{board.slug}/versions/").json()
    assert [row["number"] for row in rows] == [1] and rows[0]["why"] == "The start."


def test_participants_and_strangers_organize_nothing(board: Board, waiting: Submission, paul: User) -> None:
    team = Team.objects.get()
    at, of_board = f"board-submissions/{waiting.public_id}", f"boards/{board.slug}"
    before = json.dumps([Decision.objects.count(), board.policies.count(), board.keys.count(), board.seasons.count()])
    for user in (paul, factories.user("mallory")):
        program = Program(user)
        for answer in (
            program.patch(f"{of_board}/settings/", {"name": "Mine"}),
            program.post(f"{of_board}/policies/", {"why": "x", "quota_runs": 99}),
            program.upload(f"{of_board}/seasons/", name="Mine", **files()),
            program.post(f"{of_board}/seasons/1/close/"),
            program.post(f"{of_board}/keys/"),
            program.get(f"{of_board}/upkeep/"),
            program.put(f"{of_board}/upkeep/", {"is_on": False}),
            program.post(f"{of_board}/teams/{team.public_id}/confirm/", {"reason": "I am"}),
            program.post(f"{of_board}/teams/{team.public_id}/exempt/", {"reason": "More", "runs": 9}),
            program.post(f"{at}/decisions/", {"kind": "publish", "reason": "Mine"}),
        ):
            assert answer.status_code in (403, 404), answer.text
    assert before == json.dumps(
        [Decision.objects.count(), board.policies.count(), board.keys.count(), board.seasons.count()]
    )
    stranger = Program(User.objects.get(username="mallory"))
    for what in ("", "decisions/", "messages/", "openings/", "metadata-requests/"):
        assert stranger.get(f"{at}/{what}").status_code == 404
    assert stranger.post(f"{at}/messages/", {"text": "Hello"}).status_code == 404


def test_spot_checks_are_listed_and_made(board: Board, olga: User, paul: User, waiting: Submission) -> None:
    team = waiting.team
    assert team is not None
    Submission.objects.update(state="published", published_at=timezone.now())
    assert jobs.draw_spot_checks() == "drawn: 1"
    program = Program(olga)
    (check,) = program.get(f"boards/{board.slug}/spot-checks/").json()["results"]
    assert (check["submission"], check["done_by"], check["note"]) == (waiting.public_id, None, "")
    address = f"boards/{board.slug}/spot-checks/{check['id']}/"
    assert program.post(address, {"note": " "}).status_code == 400
    assert Program(paul).post(address, {"note": "Fine."}).status_code == 404
    done = program.post(address, {"note": "The run fits its paper."})
    assert done.status_code == 200 and done.json()["done_by"] == "olga"
    assert program.post(address, {"note": "Again."}).status_code == 409
    assert program.post(f"boards/{board.slug}/spot-checks/99999/", {"note": "Fine."}).status_code == 404
    changed = program.patch(f"boards/{board.slug}/settings/", {"spot_checks": 0})
    assert changed.json()["spot_checks"] == 0
    assert program.patch(f"boards/{board.slug}/settings/", {"spot_checks": 51}).status_code == 400


def test_people_are_invited_to_a_board_and_to_a_team_by_links(board: Board, olga: User, paul: User) -> None:
    program, address = Program(olga), f"boards/{board.slug}/invitations/"
    created = program.post(address, {"email": "anna@example.org"})
    assert created.status_code == 201, created.text
    assert created.json()["team"] is None and "/invited/" in created.json()["link"]
    assert Client().get(created.json()["link"]).status_code == 200
    for_team = teams.invitation_add(board=board, team=None, email="zoe@example.org", by=None, at=timezone.now())
    by_id = {row["id"]: row for row in program.get(address).json()["results"]}
    # Links are signed when they are shown, so those of two seconds differ.
    links = [row["link"].rsplit(":", 2)[0] for row in (by_id[created.json()["id"]], created.json())]
    assert by_id[for_team.pk]["link"] is None and links[0] == links[1]
    assert Client().get(by_id[created.json()["id"]]["link"]).status_code == 200
    assert program.post(address, {"email": "nobody"}).status_code == 400
    assert program.delete(f"{address}{created.json()['id']}/").status_code == 204
    assert Client().get(created.json()["link"]).status_code == 404
    assert program.delete(f"{address}99999/").status_code == 404
    assert Program(paul).get(address).status_code in (403, 404)

    team = taking_part.team(board, paul)
    member, of_team = Program(paul), f"boards/{board.slug}/teams/{team.public_id}/invitations/"
    invited = member.post(of_team, {}).json()
    assert (invited["team"], invited["email"]) == (team.public_id, "")
    assert [row["id"] for row in member.get(of_team).json()["results"]] == [invited["id"]]
    assert invited["id"] not in {row["id"] for row in program.get(address).json()["results"]}
    assert program.get(of_team).status_code == 404, "organizers are not in the team"
    assert program.delete(f"{address}{invited['id']}/").status_code == 404
    assert member.delete(f"{of_team}{for_team.pk}/").status_code == 404
    assert member.delete(f"{of_team}{invited['id']}/").status_code == 204
    assert member.get(of_team).json()["results"] == []


def test_the_file_of_another_leaderboard_becomes_entries(collection: Collection, olga: User) -> None:
    target, stranger = public_board(collection), Program(factories.user("zoe"))
    address, program = f"boards/{target.slug}/import/", Program(olga)

    def send(by: Program, text: str, **fields: Any) -> Any:
        return by.upload(address, file=SimpleUploadedFile("board.csv", text.encode()), **fields)

    assert_problem(send(stranger, DOCUMENTS), 404)
    assert_problem(send(program, DOCUMENTS, season=9), 400, field="season")
    assert_problem(send(program, DOCUMENTS.replace("2020/08/11", "11.8.2020", 1)), 400, field="file")
    assert_problem(send(program, DOCUMENTS.replace("0.390", "a lot")), 400, field="file", says="line 2")
    assert not target.submissions.exists()
    answer = send(program, DOCUMENTS, season=1)
    assert answer.status_code == 201 and answer.json()["entries"] == target.submissions.count() == 4
    assert answer.json()["summary"]["trophies"] == 2
    assert_problem(send(program, DOCUMENTS), 409)
