"""Packages and dev runs that go straight to the bucket, and do not pass through a web server."""

import os
import threading
from contextlib import nullcontext
from typing import Any

import httpx
import pytest
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser

from core.errors import Refused
from core.models import User
from evaluation.boards.sealing import seal
from leaderboards import evaluating, submitting
from leaderboards.models import Board, Team
from runs import sending
from runs.models import Collection, DirectUpload
from tests import browser, factories
from tests.api.conftest import Program
from tests.buckets import Gate, endpoint, gate
from tests.conftest import RunningSite
from tests.leaderboards import taking_part
from tests.looking import looks_right

__all__ = ["endpoint", "gate"]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def files_of_boards_in_the_bucket(collection: Collection, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is evaluated before a test says so."""
    monkeypatch.setattr("leaderboards.views.start", lambda *_arguments: None)
    monkeypatch.setattr("api.resources.leaderboards.soon", lambda *_arguments: lambda: None)


@pytest.fixture
def page(client: Client, team: Team, paul: User) -> Client:
    client.force_login(paul)
    return client


def begin(page: Client, size: int) -> Any:
    return page.post(reverse("leaderboards:sending_begin"), {"name": "red.sealed", "size": size})


def send(page: Client, content: bytes) -> str:
    """Send a file whole. Its token."""
    state = begin(page, len(content)).json()
    for part in state["parts"]:
        httpx.put(part["url"], content=content[part["start"] :][: part["size"]], trust_env=False).raise_for_status()
    finished = page.post(reverse("leaderboards:sending_continue", args=[state["token"]])).json()
    assert finished["parts"] == []
    return str(finished["token"])


def fields(board: Board, team: Team, run_id: str) -> dict[str, Any]:
    season = board.seasons.get().pk
    return {"team": team.pk, "season": season, "run_id": run_id, "policy": 1, "accept": "on"}


def today(name: str) -> str:
    return f"{timezone.now():%Y%m%d}-{name}"


def test_a_package_that_was_sent_to_the_bucket_stays_where_it_is_and_is_evaluated_from_there(
    page: Client, board: Board, team: Team
) -> None:
    address, form = reverse("leaderboards:submit", args=[board.slug]), fields(board, team, today("red"))
    package = taking_part.package(board, today("red"))
    token = send(page, package)
    other = page.post(address, fields(board, team, today("blue")) | {"package-token": token})
    assert other.status_code == 409 and "was sealed for" in other.text
    assert page.post(address, form | {"package-token": token}).status_code == 303
    submission = board.submissions.get()
    assert submission.package.name.startswith("uploads/") and submission.package.read() == package
    assert submission.package_size == len(package) and not DirectUpload.objects.exists()
    again = page.post(address, fields(board, team, today("again")) | {"package-token": token})
    assert again.status_code == 404 and board.submissions.count() == 1
    assert evaluating.submission_evaluate(submission_id=submission.pk, at=timezone.now())
    submission.refresh_from_db()
    assert submission.state == "waiting" and not default_storage.exists("boards/packages")


def test_of_two_submissions_at_once_the_second_is_refused_and_its_file_is_nobodys(
    page: Client, board: Board, team: Team, paul: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = board.policies.get(), board.seasons.get()
    monkeypatch.setattr(submitting, "send_check", lambda **_about: allowed)
    package = taking_part.package(board, today("red"))
    about = {"board": board, "team": team, "run_id": today("red"), "package": package, "policy_number": 1, "by": paul}
    for number in range(2):
        file = sending.file_received(token=send(page, package), user=paul)
        with nullcontext() if not number else pytest.raises(Refused, match="was submitted before"):
            submitting.submission_send(received=file, at=timezone.now(), **about)
    assert board.submissions.get().package.read() == package
    assert default_storage.exists(DirectUpload.objects.get().file.name)


def test_a_dev_run_goes_there_too_and_is_gone_once_it_is_scored(page: Client, board: Board, paul: User) -> None:
    token = send(page, taking_part.run(taking_part.DEV, 2).encode())
    address = reverse("leaderboards:dev", args=[board.slug])
    assert page.post(address, {"season": board.seasons.get().pk, "file-token": token}).status_code == 303
    scoring = paul.dev_scorings.get()
    name = scoring.file.name
    assert name.startswith("uploads/") and default_storage.exists(name)
    assert evaluating.dev_scoring_do(scoring_id=scoring.pk, at=timezone.now())
    scoring.refresh_from_db()
    assert scoring.scores == {"RR@10": "1/2"}, scoring.diagnostics
    assert not default_storage.exists(name)


def test_who_takes_part_may_send_as_much_as_a_board_takes(page: Client, settings: Any) -> None:
    settings.BOARD_UPLOAD_MEGABYTES = 1
    assert begin(page, 1_000_001).status_code == 409
    for number in range(11):
        assert begin(page, 1_000_000).status_code == (201 if number < 10 else 409)
    assert page.post(reverse("runs:sending_begin"), {"name": "x", "size": 1}).status_code == 403


def test_nobody_sends_anything_where_there_is_no_board(client: Client, paul: User) -> None:
    client.force_login(paul)
    assert begin(client, 1).status_code == 403 and not DirectUpload.objects.exists()
    assert begin(Client(), 1).status_code == 302


def test_a_package_is_fetched_at_once_and_no_more_often(page: Client, board: Board, team: Team, gate: Gate) -> None:
    package = seal({"dev.txt": os.urandom(3_000_000)}, to=board.keys.get().public_pem, board="small", run_id=today("x"))
    form = fields(board, team, today("x")) | {"package-token": send(page, package)}
    before = gate.requests
    assert page.post(reverse("leaderboards:submit", args=[board.slug]), form).status_code == 303
    assert gate.requests - before == 1


def test_a_program_of_a_participant_submits_by_a_token(board: Board, team: Team, paul: User) -> None:
    program, run_id = Program(paul), today("red")
    package = taking_part.package(board, run_id)
    upload = program.post("uploads/", {"name": "p.sealed", "size": len(package)}).json()
    httpx.put(upload["parts"][0]["url"], content=package, trust_env=False).raise_for_status()
    assert program.post(f"uploads/{upload['token']}/finish/").json()["parts"] == []
    sent = {"team": team.public_id, "run_id": run_id, "policy": 1, "package": upload["token"]}
    assert program.upload(f"boards/{board.slug}/submissions/", **sent).status_code == 201
    assert board.submissions.get().package.name.startswith("uploads/")
    assert Program(factories.user("quin")).post("uploads/", {"name": "x", "size": 1}).status_code == 201
    Board.objects.update(is_public=False)
    assert Program(factories.user("rob")).post("uploads/", {"name": "x", "size": 1}).status_code == 403


@pytest.mark.django_db(transaction=True)
def test_in_a_browser_a_large_package_passes_by_the_web_server(
    board: Board, team: Team, paul: User, gate: Gate, site: RunningSite, chromium: Browser, tmp_path: Any
) -> None:
    run_id = today("large")
    package = seal({"dev.txt": os.urandom(6_000_000)}, to=board.keys.get().public_pem, board="small", run_id=run_id)
    (tmp_path / "large.sealed").write_bytes(package)
    with Gate(site.url.removeprefix("http://")) as front:
        threading.Thread(target=front.serve_forever, daemon=True).start()
        gate.origins = {front.url}
        page = browser.sign_in(chromium.new_context(base_url=front.url), front.url, paul)
        page.goto(front.url + reverse("leaderboards:submit", args=[board.slug]))
        page.get_by_label("Id of the run").fill(run_id)
        page.get_by_label("Sealed package").set_input_files(tmp_path / "large.sealed")
        page.get_by_label("I have read the policy").check()
        page.get_by_role("button", name="Submit").click()
        page.get_by_text("The run has arrived.").wait_for(timeout=60_000)
        looks_right(page)
        assert front.received < 100_000 and gate.received > len(package)
        front.shutdown()
    assert board.submissions.get().package_size == len(package)
