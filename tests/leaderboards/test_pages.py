"""The pages of participants and organizers: what each role can do and see, through forms alone."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from core.jobs import send_mails
from core.mail import mail_send
from core.models import Lab, Mail, User
from evaluation.boards import packages
from leaderboards import boards, evaluating, jobs, selectors
from leaderboards import teams as teams_services
from leaderboards.models import Board, Submission, Team, TeamInvitation, TeamMember
from runs.models import Collection
from tests import factories
from tests.leaderboards import taking_part
from tests.leaderboards.taking_part import DAY, NOW
from tests.rows import fresh

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def queue_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is evaluated before a test says so."""
    monkeypatch.setattr("leaderboards.views.start", lambda *_arguments: None)
    monkeypatch.setattr("leaderboards.organizing_views.start", lambda *_arguments: None)


def browser(user: User) -> Client:
    """Somebody's browser."""
    client = Client()
    client.force_login(user)
    return client


def address(name: str, *arguments: object) -> str:
    return reverse(f"leaderboards:{name}", args=arguments)


def file(name: str, content: bytes | str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)


def today(name: str) -> str:
    """An id of today's."""
    return f"{timezone.now():%Y%m%d}-{name}"


def plain(team: Team, board: Board, name: str = "red", hits: int = 2, **fields: Any) -> dict[str, Any]:
    """The form of a run as plain files."""
    return {
        "team": team.pk, "season": board.seasons.get().pk, "run_id": today(name), "policy": 1, "accept": "on",
        "dev": file("dev.txt", taking_part.run(taking_part.DEV, hits)),
        "eval": file("eval.txt", taking_part.run(taking_part.EVAL, hits)),
        "description": "A red run", "type": "full ranking",
    } | fields  # fmt: skip


def test_an_organizer_makes_a_board_with_season_policy_and_key_by_forms(collection: Collection, olga: User) -> None:
    client = browser(olga)
    fields = {
        "collection": collection.pk, "name": "My board", "slug": "mine", "hits": 100, "order": "rank",
        "about": "What it measures.",
    }  # fmt: skip
    for measures, says in (
        ("ERR@10", "Measure &#x27;ERR@10&#x27; where there are RR, nDCG, Judged, Success, P, R, AP and Compat"),
        ("nDCG@101, RR@10", "nDCG@101 needs more passages of a query than the 100 that the board takes"),
        ("Judged@10, RR@10", "Judged@10 cannot come first"),
        (" ,", "Name at least one measure"),
    ):
        refused = client.post(address("board_new"), fields | {"measures": measures})
        assert refused.status_code == 400 and says in refused.text.replace("&#39;", "&#x27;"), measures
    answer = client.post(address("board_new"), fields | {"measures": "ndcg@10, Judged@10,MRR@10, nDCG@10, AP(rel=2)"})
    assert answer.headers["Location"] == address("organize", "mine")
    board = Board.objects.get(slug="mine")
    assert board.measures == ["nDCG@10", "Judged@10", "RR@10", "AP(rel=2)"] and not board.is_public
    refused = client.post(address("board_edit", "mine"), {"name": "My board", "is_public": "on"})
    assert refused.status_code == 409 and "needs a season" in refused.text
    files = {part: file(name, content) for part, (name, content) in taking_part.season_files().items()}
    broken = client.post(
        address("season_new", "mine"), {"name": "2026", **files, "dev_qrels": file("q.txt", "d1 0 p\n")}
    )
    assert "q.txt, line 1" in broken.text and not board.seasons.exists()
    strange = client.post(
        address("season_new", "mine"), {"name": "2026", **_again(files), "eval_qrels": file("q.txt", "other 0 p 1\n")}
    )
    assert "query that eval-queries.tsv does not have" in strange.text and not board.seasons.exists()
    client.post(address("season_new", "mine"), {"name": "2026", **_again(files)})
    assert board.seasons.get().files.count() == 4
    client.post(address("board_edit", "mine"), {"name": "Our board", "is_public": "on"})
    old = board.keys.get()
    client.post(address("board_act", "mine"), {"do": "key"})
    assert fresh(old).retired_at is not None and board.keys.filter(retired_at=None).count() == 1
    form = {name: client.get(address("policy_new", "mine")).context["form"][name].value() for name in
            ("text", "quota_days", "embargo_months", "release_rule", "promised_days", "alike_threshold")}  # fmt: skip
    assert "Say what changed" in client.post(address("policy_new", "mine"), {**form, "quota_runs": 5}).text
    client.post(address("policy_new", "mine"), {**form, "quota_runs": 5, "why": "More"})
    assert list(board.policies.order_by("number").values_list("quota_runs", flat=True)) == [2, 5]
    page = client.get(address("organize", "mine")).text
    assert "Version 2" in page and "Our board" in page and "PRIVATE" not in page


def test_what_is_wrong_stands_beside_its_field_and_the_page_begins_there(board: Board, olga: User) -> None:
    client = browser(olga)

    def wrong(page: str, field: str, data: dict[str, Any], *names: str) -> str:
        """What stands beside a field that alone has an error, and is where the page begins."""
        answer = client.post(address(page, *names), data)
        form = answer.context["form"]
        assert answer.status_code in (400, 409) and list(form.errors) == [field], (form.errors, field)
        assert answer.text.count(" autofocus") == 1
        assert re.search(rf'<[^>]*name="{field}"[^>]* autofocus', answer.text), field
        return str(form.errors[field][0])

    new = {"collection": board.collection_id, "measures": "RR@10", "hits": 10, "order": "rank", "name": "Another"}
    assert "Choose another" in wrong("board_new", "slug", new | {"slug": board.slug})
    assert "of this name" in wrong("board_new", "name", new | {"slug": "another", "name": board.name})
    assert "cannot come first" in wrong("board_new", "measures", new | {"slug": "another", "measures": "Judged@10"})
    names = {"organization": "Example University", "group": "IR"}
    client.post(address("team_new", board.slug), names)
    assert "a team of this name" in wrong("team_new", "group", names, board.slug)
    assert "says nothing" in wrong("team_new", "organization", names | {"organization": "Anonymous"}, board.slug)
    values = client.get(address("policy_new", board.slug)).context["form"].initial
    initial = {name: "" if value is None else value for name, value in values.items()}
    assert "Say what changed" in wrong("policy_new", "why", initial, board.slug)
    past = initial | {"why": "More", "begins": "2020-01-01"}
    assert "begins now or later" in wrong("policy_new", "begins", past, board.slug)
    season = {"name": "Second", **_again(dict.fromkeys(taking_part.season_files()))}
    damaged = season | {"dev_qrels": file("q.txt", "d1 0 p\n")}
    assert wrong("season_new", "dev_qrels", damaged, board.slug).startswith("q.txt, line 1: ")
    season = {"name": board.seasons.get().name, **_again(dict.fromkeys(taking_part.season_files()))}
    assert "of this name" in wrong("season_new", "name", season, board.slug)
    season = {"name": "Second", **_again(dict.fromkeys(taking_part.season_files())), "closes": "2020-01-01"}
    assert "after it opens" in wrong("season_new", "closes", season, board.slug)


def _again(files: Mapping[str, object]) -> dict[str, SimpleUploadedFile]:
    return {part: file(name, content) for part, (name, content) in taking_part.season_files().items() if part in files}


def test_the_three_roles_from_an_invitation_to_a_published_entry(board: Board, olga: User) -> None:
    organizer = browser(olga)
    organizer.post(address("board_act", board.slug), {"do": "invite", "email": "nina@example.org"})
    link = re.search(r"/leaderboards/invited/[^<\s]+", organizer.get(address("organize", board.slug)).text)
    assert link is not None
    nina = Client()
    joined = nina.post(link[0], {"username": "nina", "password1": "six quiet cellos", "password2": "six quiet cellos"})
    assert joined.headers["Location"] == address("take_part", board.slug)
    assert nina.get(link[0]).status_code == 404, "it works once"
    assert "You are in no team yet" in nina.get(address("take_part", board.slug)).text
    anonymous = nina.post(address("team_new", board.slug), {"organization": "Anonymous", "group": "x"})
    assert anonymous.status_code == 409 and "says nothing" in anonymous.text
    nina.post(address("team_new", board.slug), {"organization": "Example University", "group": "Violas"})
    team = Team.objects.get()
    page = nina.get(address("submit", board.slug)).text
    assert "At most 2 runs" in page and str(board.keys.get()) in page
    sent = nina.post(address("submit", board.slug), plain(team, board))
    submission = Submission.objects.get()
    assert sent.headers["Location"] == address("submission", submission.public_id)
    jobs.evaluate()
    text = nina.get(address("submission", submission.public_id)).text
    assert "RR@10 (dev)" in text and "0.500" in text and "(eval" not in text and "Decide" not in text
    assert "the sealed package, the site itself" in text and "leaderboards.jobs.evaluate" in text
    decide = address("decide", submission.public_id)
    assert nina.post(decide, {"do": "publish", "reason": "Mine"}).status_code == 404
    early = organizer.post(decide, {"do": "publish", "reason": "Fine"})
    assert early.status_code == 409 and "Confirm the team" in early.text
    organizer.post(address("board_act", board.slug), {"do": "confirm", "team": team.pk, "reason": "I know her"})
    assert "eval, for organizers only" in organizer.get(address("submission", submission.public_id)).text
    organizer.post(decide, {"do": "publish", "reason": "Fine"})
    submission.refresh_from_db()
    assert submission.state == "published" and submission.release.is_shown
    assert "eval, as shown" in nina.get(address("submission", submission.public_id)).text
    nina.post(address("submission_act", submission.public_id), {"do": "write", "text": "Thank you"})
    assert "Thank you" in organizer.get(address("submission", submission.public_id)).text
    public = Client().get(reverse("boards:board", args=[board.slug])).text
    assert "A red run" in public and "0.500" in public


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"run_id": "red"}, "run_id", "yyyymmdd-name"),
        ({"run_id": "20200101-red"}, "run_id", "more than one day"),
        ({"eval": ""}, "eval", "This run is missing"),
        ({"dev": "", "eval": ""}, "package", "or two plain files"),
        ({"package": file("x", b"BKSEAL")}, "package", "but not both"),
        ({"description": "anonymous"}, "description", "anonymous"),
        ({"paper": "ftp://example.org"}, "paper", "http"),
        ({"embargo_until": "2099-01-01"}, "embargo_until", "is the latest"),
        ({"accept": ""}, "accept", "required"),
        ({"parameters": "-1"}, "parameters", "greater than or equal to 0"),
        ({"energy_kwh": "nan"}, "energy_kwh", "Enter a number"),
        ({"query_latency_ms": "1e30"}, "query_latency_ms", "a number from 0 on"),
        ({"dev": file("20261101-red.key.bin", "x")}, "dev", "It is burnt"),
    ],
)
def test_what_is_wrong_with_a_run_is_said_beside_its_field(
    board: Board, team: Team, paul: User, fields: dict[str, Any], field: str, message: str
) -> None:
    answer = browser(paul).post(address("submit", board.slug), plain(team, board, **fields))
    assert answer.status_code == 400
    assert message in " ".join(answer.context["form"].errors[field])
    assert not Submission.objects.exists()


@pytest.mark.parametrize("part", ["dev", "package"])
def test_a_key_in_the_clear_is_called_burnt_by_its_content_too(board: Board, team: Team, paul: User, part: str) -> None:
    key = {part: file("dev.txt", "vJ0Yb1Cl7ZcG3wzYk1q5o8Jx2m4T6uR9sE0hQdPLaXk=\n")}
    fields = plain(team, board, **({"dev": "", "eval": ""} | key if part == "package" else key))
    answer = browser(paul).post(address("submit", board.slug), fields)
    assert answer.status_code in (400, 409) and "It is burnt" in answer.text and not Submission.objects.exists()


def test_what_a_run_costs_is_kept_with_its_metadata(board: Board, team: Team, paul: User) -> None:
    costs = {"parameters": "110000000", "query_latency_ms": "12.5", "query_hardware": "one A100", "energy_kwh": ""}
    assert browser(paul).post(address("submit", board.slug), plain(team, board, **costs)).status_code == 303
    jobs.evaluate()
    metadata = Submission.objects.get().metadata
    assert metadata["parameters"] == 110e6 and metadata["query_hardware"] == "one A100"
    assert metadata["query_latency_ms"] == 12.5 and "energy_kwh" not in metadata


def test_what_the_policy_forbids_now_is_said_before_anything_is_uploaded(board: Board, team: Team, paul: User) -> None:
    client = browser(paul)
    for name in ("one", "two"):
        assert client.post(address("submit", board.slug), plain(team, board, name)).status_code == 303
    page = client.get(address("submit", board.slug))
    assert "2 of 2 runs in 30 days. The next can be sent from" in page.text
    assert '<form method="post" enctype' not in page.text
    third = client.post(address("submit", board.slug), plain(team, board, "three"))
    assert third.status_code == 409 and board.submissions.count() == 2


def test_a_sealed_package_is_uploaded_and_one_for_another_id_is_refused(board: Board, team: Team, paul: User) -> None:
    client = browser(paul)
    sealed = taking_part.package(board, today("red"))
    without = {"dev": "", "eval": "", "description": ""}
    other = plain(team, board, "blue", package=file("blue.sealed", sealed)) | without
    refused = client.post(address("submit", board.slug), other)
    assert refused.status_code == 409 and "was sealed for" in refused.text
    sent = client.post(
        address("submit", board.slug), plain(team, board, "red", package=file("red.sealed", sealed)) | without
    )
    assert sent.status_code == 303
    assert evaluating.submission_evaluate(submission_id=board.submissions.get().pk, at=timezone.now())
    assert board.submissions.get().description == taking_part.METADATA["model_description"]


@pytest.mark.parametrize("why", ["quota", "taken", "policy"])
def test_no_file_of_a_run_that_cannot_be_sent_is_read(
    board: Board, team: Team, paul: User, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = plain(team, board, "late")
    if why == "policy":
        form["policy"] = 7
    elif why == "taken":
        taking_part.send(board, team, paul, "late", timezone.now())
        monkeypatch.setattr("leaderboards.forms.SubmitForm.clean_run_id", lambda form: form.cleaned_data["run_id"])
    else:
        for name in ("one", "two"):
            taking_part.send(board, team, paul, name, timezone.now())

    def read(*_arguments: object) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr("leaderboards.submitting.submission_seal", read)
    monkeypatch.setattr("leaderboards.submitting.submission_send", read)
    assert browser(paul).post(address("submit", board.slug), form).status_code == 409


def test_an_upload_that_is_too_large_is_refused_before_it_is_read(board: Board, team: Team, paul: User) -> None:
    class Unreadable(io.BytesIO):
        def read(self, *_arguments: Any) -> bytes:
            raise AssertionError("it was read")

    answer = browser(paul).generic(
        "POST", address("submit", board.slug), content_type="multipart/form-data; boundary=x",
        CONTENT_LENGTH="900000000", **{"wsgi.input": Unreadable()},
    )  # fmt: skip
    assert answer.status_code == 413


def pages(board: Board, team: Team, submission: Submission) -> dict[str, list[str]]:
    """What each page needs: addresses by whom they are for."""
    at_board = ("take_part", "submit", "dev", "team_new")
    organizers = ("organize", "board_edit", "policy_new", "season_new", "order")
    return {
        "everybody": [address("boards"), *(address(name, board.slug) for name in at_board)],
        "team": [address("team", board.slug, team.public_id), address("submission", submission.public_id)],
        "organizers": [address("board_new"), *(address(name, board.slug) for name in organizers)],
    }


def test_each_role_opens_its_pages_and_no_others(
    board: Board, team: Team, paul: User, olga: User, rita: User, lab: Lab
) -> None:
    submission = taking_part.evaluated(board, team, paul)
    paths = pages(board, team, submission)
    team_page, submission_page = paths["team"]
    stranger, viewer = factories.user("mallory"), factories.member(lab, "viewer", "victor")
    browsers = {user: browser(user) for user in (paul, olga, rita, stranger, viewer)}
    for user, client in browsers.items():
        for page in paths["everybody"]:
            assert client.get(page).status_code in (200, 303), (user, page)
    status = {user: [browsers[user].get(page).status_code for page in paths["organizers"]] for user in browsers}
    assert status[olga] == status[rita] == [200] * 6
    assert status[paul] == status[stranger] == [403, 404, 404, 404, 404, 404]
    assert status[viewer] == [403, 200, 403, 403, 403, 403]
    assert {user: browsers[user].get(submission_page).status_code for user in browsers} == {
        paul: 200, olga: 200, rita: 200, stranger: 404, viewer: 404,
    }  # fmt: skip
    assert {user: browsers[user].get(team_page).status_code for user in browsers} == {
        paul: 200, olga: 404, rita: 404, stranger: 404, viewer: 404,
    }  # fmt: skip
    for page in (*paths["team"], *paths["organizers"], *paths["everybody"]):
        assert Client().get(page).status_code == 302, "nobody sees it without logging in"


def test_a_team_on_one_board_sees_no_other_board_that_is_not_public(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    secret = boards.board_create(
        lab=board.lab, collection=board.collection, slug="secret", name="Secret board", measures=["RR@10"], hits=10,
        by=olga, at=taking_part.NOW,
    )  # fmt: skip
    client = browser(paul)
    assert "Secret board" not in client.get(address("boards")).text
    for page in ("take_part", "submit", "dev", "terms"):
        assert client.get(address(page, secret.slug)).status_code == 404, page
    TeamInvitation.objects.create(
        board=secret, made_at=taking_part.NOW, expires_at=taking_part.NOW, accepted_at=taking_part.NOW, accepted_by=paul
    )
    assert client.get(address("take_part", secret.slug)).status_code == 200


def test_nobody_decides_or_acts_without_the_right(board: Board, team: Team, paul: User, lab: Lab) -> None:
    submission = taking_part.evaluated(board, team, paul)
    vera = factories.user("vera")
    taking_part.team(board, vera, "Green")
    viewer = factories.member(lab, "viewer", "victor")
    for user, expected in ((paul, 404), (vera, 404), (viewer, 403)):
        sent = browser(user).post(address("decide", submission.public_id), {"do": "publish", "reason": "x"})
        assert sent.status_code == expected, user
        acted = browser(user).post(address("board_act", board.slug), {"do": "confirm", "team": team.pk, "reason": "x"})
        assert acted.status_code in (403, 404)
    for user in (vera, viewer):
        withdrawn = browser(user).post(address("submission_act", submission.public_id), {"do": "withdraw"})
        assert withdrawn.status_code == 404
    submission.refresh_from_db()
    assert submission.state == "waiting" and not board.decisions.filter(submission=submission).exists()


def test_no_answer_to_a_participant_has_the_hidden_qrels_or_a_score_before_it_is_shown(
    board: Board, team: Team, paul: User
) -> None:
    submission = taking_part.evaluated(board, team, paul, hits=3)
    client, paths = browser(paul), pages(board, team, submission)
    secret = board.seasons.get().files.get(part="eval_qrels")
    for page in (*paths["everybody"], *paths["team"]):
        text = client.get(page, follow=True).text
        assert "ep1" not in text and str(secret.file.name) not in text and "PRIVATE KEY" not in text
        assert "(eval" not in text, page


def test_a_dev_run_is_scored_by_its_form(board: Board, paul: User) -> None:
    client = browser(paul)
    sent = {"season": board.seasons.get().pk, "file": file("mine.txt", taking_part.run(taking_part.DEV, 3))}
    assert client.post(address("dev", board.slug), sent).status_code == 303
    jobs.score_dev()
    assert "RR@10 0.750" in client.get(address("dev", board.slug)).text


def test_metadata_are_asked_for_and_decided_on_by_forms(board: Board, team: Team, paul: User, olga: User) -> None:
    submission = taking_part.published(board, team, paul, olga)
    act, decide = address("submission_act", submission.public_id), address("decide", submission.public_id)
    form = {"do": "metadata", "kind": "links", "team_words": submission.team_words, "why": "It is out",
            "description": submission.description, "paper": "example.org/p"}  # fmt: skip
    client = browser(paul)
    wrong = client.post(act, {**form, "why": ""})
    assert wrong.status_code == 400 and "This field is required" in wrong.text
    assert client.post(act, {**form, "paper": "javascript:x"}).status_code == 409
    assert client.post(act, form).status_code == 303
    request = submission.metadata_requests.get()
    page = browser(olga).get(address("submission", submission.public_id)).text
    assert "https://example.org/p" in page and "Accept the request" in page
    browser(olga).post(decide, {"do": "accept", "request": request.pk, "reason": "Fine"})
    submission.refresh_from_db()
    assert submission.paper == "https://example.org/p"

    costs = form | {"kind": "costs", "parameters": "110000000", "training_hardware": "8 A100"}
    assert "greater than or equal to 0" in client.post(act, costs | {"energy_kwh": "-1"}).text
    assert client.post(act, costs).status_code == 303
    request = submission.metadata_requests.latest("pk")
    assert request.before == {"parameters": "", "training_hardware": ""}
    browser(olga).post(decide, {"do": "accept", "request": request.pk, "reason": "Plausible"})
    assert "110,000,000" in Client().get(reverse("boards:entry", args=[board.slug, submission.public_id])).text
    assert client.post(act, costs | {"parameters": "", "query_latency_ms": "2.50"}).status_code == 303
    request = submission.metadata_requests.latest("pk")
    assert request.before == {"parameters": "110000000", "query_latency_ms": ""}
    assert request.after == {"parameters": "", "query_latency_ms": "2.5"}
    browser(olga).post(decide, {"do": "accept", "request": request.pk, "reason": "They measured"})
    submission.refresh_from_db()
    stored = {name: submission.metadata.get(name) for name in ("parameters", "query_latency_ms", "training_hardware")}
    assert stored == {"parameters": None, "query_latency_ms": 2.5, "training_hardware": "8 A100"}


def test_a_refused_decision_is_told_on_its_page_with_what_was_typed(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    submission = taking_part.published(board, team, paul, olga)
    decide = address("decide", submission.public_id)
    refused = browser(olga).post(decide, {"do": "flag", "flag": "Trained on the answers", "reason": " "})
    assert refused.status_code == 409 and "Say why: the reason is kept" in refused.text
    assert re.search(r"<details open><summary>Say something[^§]*>Trained on the answers</textarea>", refused.text)
    assert not submission.decisions.filter(kind="flag").exists()
    page = browser(olga).get(address("submission", submission.public_id)).text
    forms = re.findall(rf'action="{decide}".*?</form>', page, re.DOTALL)
    decisions = [re.findall(r'name="do" value="([^"]+)"', form) for form in forms]
    assert decisions == [["flag"], ["variant"], ["baseline"], ["old metadata"]], "one decision, one form"


def test_publishing_and_confirming_need_one_press_and_keep_the_reason_that_was_offered(
    board: Board, paul: User, olga: User
) -> None:
    team = taking_part.team(board, paul)
    submission = taking_part.evaluated(board, team, paul)
    organizer = browser(olga)
    for name, of, do in (("organize", board.slug, "confirm"), ("submission", submission.public_id, "publish")):
        page = organizer.get(address(name, of)).text
        form = next(form for form in re.findall(r"<form.*?</form>", page, re.DOTALL) if f'value="{do}"' in form)
        fields = dict(re.findall(r'name="(team|runs)" [^>]*value="([^"]+)"', form))
        reason = re.search(r'name="reason"[^>]*value="([^"]+)"|name="reason"[^>]*>([^<]+)<', form)
        action = re.search(r'action="([^"]+)"', form)
        assert reason is not None and action is not None
        organizer.post(action[1], {**fields, "do": do, "reason": reason[1] or reason[2]})
    assert fresh(submission).state == "published"
    rows = board.decisions.order_by("pk").values_list("kind", "reason")
    assert list(rows) == [("confirm", "We know who they are."), ("publish", "It meets the policy.")]


def openssl(*words: object) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def test_metadata_of_the_old_scripts_become_a_request_if_they_open_with_the_packages_key(
    board: Board, team: Team, paul: User, olga: User, tmp_path: Path
) -> None:
    submission = taking_part.published(board, team, paul, olga)
    decide, page = address("decide", submission.public_id), address("submission", submission.public_id)
    private, public, key = (tmp_path / name for name in ("private.pem", "public.pem", "key.bin"))
    openssl("genrsa", "-out", private, "2048")
    openssl("rsa", "-in", private, "-pubout", "-out", public)
    openssl("rand", "-base64", "-out", key, "32")
    openssl("rsautl", "-encrypt", "-inkey", public, "-pubin", "-in", key, "-out", f"{key}.enc")
    new = {"team": "Example University", "model_description": "A redder run", "type": "reranking", "energy_kwh": 3,
           "code": "example.org/code"}  # fmt: skip

    def sent(run_id: str, body: object, **other: bytes) -> dict[str, Any]:
        (tmp_path / "m.json").write_text(f"// under the old key\n{json.dumps(body)}")
        words = ("-in", tmp_path / "m.json", "-out", tmp_path / "m.enc", "-pass", f"file:{key}", "-pbkdf2")
        openssl("enc", "-aes-256-cbc", "-salt", *words)
        contents = {"metadata": (tmp_path / "m.enc").read_bytes(), "key": Path(f"{key}.enc").read_bytes()} | other
        names = {"metadata": f"{run_id}-metadata.json.enc", "key": f"{run_id}.key.bin.enc"}
        files = {f"old-{part}": file(name, contents[part]) for part, name in names.items()}
        private_key = file("private.pem", contents.get("private", private.read_bytes()))
        return {"do": "old metadata", "old-why": "It came by mail.", "old-private": private_key, **files}

    def refused(values: dict[str, Any]) -> str:
        answer = browser(olga).post(decide, values)
        assert answer.status_code in (400, 409) and "PRIVATE KEY" not in answer.text
        return answer.text

    run_id = submission.run_id
    assert "Take metadata of the old scripts" not in browser(paul).get(page).text
    assert browser(paul).post(decide, sent(run_id, new)).status_code in (403, 404)
    assert f"and this is “{run_id}”" in refused(sent("20210303-other", new))
    assert "sealed for another key" in refused(sent(run_id, new, key=bytes(256)))
    assert "cut, or is not what openssl" in refused(sent(run_id, new, metadata=b"Salted__"))
    assert "private key in PEM without a password" in refused(sent(run_id, new, private=b"nothing"))
    assert "no key in PEM" in refused(sent(run_id, new, private="ä".encode()))
    assert "model_description is missing" in refused(sent(run_id, {"team": "Red", "type": "reranking"}))
    assert not submission.metadata_requests.exists()

    assert browser(olga).post(decide, sent(run_id, new)).status_code == 303
    request = submission.metadata_requests.get()
    assert (request.kind, request.state, request.asked_by) == ("old_key", "open", olga)
    assert request.after == {
        "team_words": "Example University", "description": "A redder run", "code": "https://example.org/code",
        "energy_kwh": "3",
    }  # fmt: skip
    browser(olga).post(decide, {"do": "accept", "request": request.pk, "reason": "Their key"})
    submission.refresh_from_db()
    assert (submission.description, submission.type, submission.metadata["energy_kwh"]) == (
        "A redder run", "full ranking", 3,
    )  # fmt: skip
    assert "Nothing would change" in refused(sent(run_id, new))


def test_whoever_asks_gets_a_link_by_mail_and_organizers_do_not_see_it(board: Board, olga: User, settings: Any) -> None:
    settings.HAS_MAIL = True
    answer = Client().post(address("ask", board.slug), {"email": "nina@example.org"})
    assert answer.status_code == 200 and "on its way" in answer.text
    [sent] = mail.outbox
    link = re.search(r"/leaderboards/invited/\S+", sent.body)
    assert sent.to == ["nina@example.org"] and link is not None
    page = browser(olga).get(address("organize", board.slug)).text
    assert "nina@example.org" in page and "/leaderboards/invited/" not in page
    new = {"username": "nina", "password1": "six quiet cellos", "password2": "six quiet cellos"}
    assert Client().post(link[0], new).status_code == 302
    nina = User.objects.get(username="nina")
    assert nina.email == "nina@example.org" and TeamInvitation.objects.get().email == ""
    assert Client().get(address("ask", "no-such-board")).status_code == 404


def test_mails_tell_the_team_of_each_state_and_the_organizers_of_what_arrives(
    board: Board, team: Team, paul: User, olga: User, settings: Any
) -> None:
    settings.HAS_MAIL = True
    User.objects.filter(pk=olga.pk).update(email="olga@example.org")
    submission = taking_part.evaluated(board, team, paul, hits=3)
    send_mails()
    by = {who: [sent.subject for sent in mail.outbox if sent.to == [f"{who}@example.org"]] for who in ("paul", "olga")}
    what = ["received", "being evaluated", "checked", "waiting for the organizers"]
    assert by["paul"] == [f"Small board: {submission.run_id}: {state}" for state in what]
    assert by["olga"] == [by["paul"][0], by["paul"][3]]
    assert send_mails() == "sent: 0" and len(mail.outbox) == 6
    assert not any("0.75" in sent.body or "3/4" in sent.body for sent in mail.outbox)
    assert f"/leaderboards/submissions/{submission.public_id}/" in mail.outbox[0].body


def test_a_mail_that_is_not_taken_is_tried_again(
    board: Board, team: Team, paul: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HAS_MAIL = True
    taking_part.send(board, team, paul)

    def refuse(**_named: object) -> None:
        raise OSError("no")

    with monkeypatch.context() as patch:
        patch.setattr("core.mail.mail_send", refuse)
        assert send_mails() == "sent: 0"
    row = Mail.objects.get()
    assert row.tries == 1 and row.retry_at is not None
    assert send_mails() == "sent: 0"
    Mail.objects.update(retry_at=timezone.now())
    assert send_mails() == "sent: 1"


def test_one_mail_that_cannot_be_made_stops_no_other(
    board: Board, team: Team, paul: User, olga: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HAS_MAIL = True
    User.objects.filter(pk=olga.pk).update(email="olga@example.org")
    taking_part.send(board, team, paul)
    usual = mail_send

    def sometimes(*, to: str, subject: str, text: str) -> None:
        if to == "paul@example.org":
            raise ValueError("an address that no server takes")
        usual(to=to, subject=subject, text=text)

    monkeypatch.setattr("core.mail.mail_send", sometimes)
    assert send_mails() == "sent: 1"
    assert [sent.to for sent in mail.outbox] == [["olga@example.org"]]
    assert Mail.objects.get(to=paul).tries == 1


def test_an_organizer_who_takes_part_does_not_see_what_their_own_run_scores(
    board: Board, team: Team, olga: User
) -> None:
    organizers = taking_part.team(board, olga, "Organizers")
    submission = taking_part.evaluated(board, organizers, olga, hits=3)
    page = browser(olga).get(address("submission", submission.public_id)).text
    assert "(dev)" in page and "(eval" not in page


def test_an_organizer_who_sees_an_eval_score_is_written_down_and_shown_to_the_team(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    submission = taking_part.evaluated(board, team, paul, hits=3)
    place = address("submission", submission.public_id)
    browser(paul).get(place)
    assert not submission.openings.filter(what="scores").exists()
    for _again in range(2):
        page = browser(olga).get(place).text
        assert "(eval, for organizers only)" in page and "the eval scores, olga" in page
    assert submission.openings.get(what="scores").by == olga
    assert "the eval scores, olga" in browser(paul).get(place).text
    other = taking_part.published(board, taking_part.team(board, factories.user("vera"), "B", confirmed_by=olga),
                                  User.objects.get(username="vera"), olga, "shown")  # fmt: skip
    browser(olga).get(address("submission", other.public_id))
    assert not other.openings.filter(what="scores").exists(), "what everybody sees is no opening"


def test_a_run_that_is_compared_with_one_under_embargo_names_it_to_its_own_team_alone(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    best = taking_part.published(board, team, paul, olga, "one", hits=3)
    Submission.objects.filter(pk=best.pk).update(embargo_until=timezone.now().date() + 30 * DAY)
    second, vera = taking_part.team(board, paul, "Blue", confirmed_by=olga), factories.user("vera")
    TeamMember.objects.create(team=second, user=vera, joined_at=NOW)
    again = taking_part.published(board, second, paul, olga, "two", hits=2)
    place = address("submission", again.public_id)
    assert f"no gain over {best.run_id}" in browser(paul).get(place).text
    page = browser(vera).get(place).text
    assert "no gain over an earlier entry of the same people" in page and best.run_id not in page


def test_what_organizers_decide_on_is_listed_a_page_at_a_time_and_nothing_is_cut(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    teams_made = Team.objects.bulk_create(
        Team(lab=board.lab, organization="Many", group=f"G{number:03}", created_at=NOW) for number in range(230)
    )
    people = User.objects.bulk_create(
        User(username=f"person{number}", email=f"person{number}@many.example") for number in range(230)
    )
    TeamMember.objects.bulk_create(
        TeamMember(team=team, user=user, joined_at=NOW) for team, user in zip(teams_made, people, strict=True)
    )
    TeamMember.objects.create(team=teams_made[7], user=people[0], joined_at=NOW)
    Submission.objects.bulk_create(
        Submission(board=board, season=board.seasons.get(), team=team, policy=board.policies.get(), run_id=f"r{number}",
                   state="waiting", waiting_since=NOW, arrived_at=NOW)
        for number in range(120)
    )  # fmt: skip
    for number in range(25):
        email = f"new{number}@example.org"
        teams_services.invitation_add(board=board, team=None, email=email, by=olga, at=timezone.now())
    client, place = browser(olga), address("organize", board.slug)
    with CaptureQueriesContext(connection) as queries:
        page = client.get(place).text
    assert len(queries) < 150
    for text in ("1 to 50 of 120", "1 to 20 of 231", "1 to 20 of 229", "1 to 20 of 25"):
        assert text in page
    assert "r119" in client.get(place + "?waiting=3").text
    first, last = (f'<th role="rowheader" scope="row">G{number}, Many</th>' for number in ("000", "229"))
    assert first in page and first not in client.get(place + "?teams=2").text
    assert last not in page and last in client.get(place + "?teams=12").text
    alike = selectors.teams_alike(board)
    assert len(alike) == 229
    assert [pair.why for pair in alike if pair.second == teams_made[7]] == ["both have or had person0"]
    assert all(pair.first == teams_made[0] for pair in alike)


def test_what_waits_longer_than_promised_comes_first_for_organizers_and_is_a_number_for_everybody(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    at = timezone.now()
    days = {"new": 13, "late": 15, "later": 20}
    Submission.objects.bulk_create(
        Submission(board=board, season=board.seasons.get(), team=team, policy=board.policies.get(), run_id=name,
                   state="waiting", waiting_since=at - days[name] * DAY, arrived_at=at - DAY, package_sha256=name)
        for name in days
    )  # fmt: skip
    page = browser(olga).get(address("organize", board.slug)).text
    waiting = page.partition('id="waiting"')[2].partition("</table>")[0]
    rows = waiting.partition("<tbody ")[2].split("</tr>")[:-1]
    assert [next(name for name in days if f">{name}</a>" in row) for row in rows] == ["later", "late", "new"]
    assert ["later than promised" in row for row in rows] == [True, True, False]
    place = reverse("boards:board", args=[board.slug])
    public = Client().get(place).text
    assert "<dt>Waiting longer than promised<dd>2<" in public and "later</a>" not in public
    Submission.objects.update(waiting_since=at)
    assert "Waiting longer than promised" not in Client().get(place).text


def test_an_address_is_invited_to_a_team_once_at_a_time(board: Board, team: Team, paul: User) -> None:
    page = address("team", board.slug, team.public_id)
    teams_services.invitation_add(board=board, team=team, email="nora@example.org", by=None, at=timezone.now())
    assert browser(paul).post(page, {"email": "nora@example.org"}).status_code == 303, "nobody had invited them"
    again = browser(paul).post(page, {"email": "Nora@Example.org"})
    assert again.status_code == 409 and "This address is already invited." in again.text
    assert TeamInvitation.objects.count() == 2


def test_invitations_that_nobody_accepted_are_forgotten_a_month_after_they_expired(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    invitations = [teams_services.invitation_add(board=board, team=team, email=f"{name}@example.org", by=paul, at=at)
            for name, at in (("a", NOW), ("b", NOW + DAY), ("c", NOW))]  # fmt: skip
    teams_services.invitation_accept(invitation=invitations[2], user=olga, at=NOW)
    until = invitations[0].expires_at + 30 * DAY
    assert teams_services.invitations_forget(at=until) == 0
    assert teams_services.invitations_forget(at=until + DAY / 2) == 1
    assert set(TeamInvitation.objects.values_list("pk", flat=True)) == {invitations[1].pk, invitations[2].pk}
    assert jobs.forget() == "forgotten: 0"


def test_a_button_that_is_not_known_says_so(board: Board, team: Team, paul: User, olga: User) -> None:
    submission = taking_part.evaluated(board, team, paul)
    for user, name, argument in (
        (paul, "submission_act", submission.public_id),
        (olga, "decide", submission.public_id),
        (olga, "board_act", board.slug),
    ):
        assert browser(user).post(address(name, argument), {"do": "?"}).status_code == 400


def test_organizers_see_which_runs_are_nearly_the_same_and_teams_only_that_theirs_was_opened(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    vera = factories.user("vera")
    other = taking_part.team(board, vera, "Green")
    first = taking_part.evaluated(board, team, paul, "one", hits=3)
    second = taking_part.evaluated(board, other, vera, "two", hits=3)
    different = taking_part.evaluated(board, other, vera, "three", hits=0)
    assert [row["keys"] for row in second.alike] == [[str(first.pk)]] and first.alike == []
    assert first.openings.filter(what="artifact").count() == 2
    assert all(row["method"] or row["similarity"] >= 0.8 for row in different.alike)
    page = browser(olga).get(address("submission", second.public_id)).text
    assert "Nearly the same as" in page and first.run_id in page
    for user, submission in ((vera, second), (paul, first)):
        text = browser(user).get(address("submission", submission.public_id)).text
        unseen = first if submission == second else second
        assert "Nearly the same as" not in text and unseen.run_id not in text


def test_what_seal_needs_is_served_of_public_boards_and_seals_what_the_board_opens(
    board: Board, team: Team, paul: User, tmp_path: Any
) -> None:
    answer = Client().get(address("terms", board.slug))
    board_terms = packages.read_terms(answer.content, name="small.json")
    assert board_terms.board == board.slug and board_terms.public_key == board.keys.get().public_pem
    (tmp_path / "board.json").write_bytes(answer.content)
    (tmp_path / "metadata.json").write_text(json.dumps(taking_part.METADATA))
    for half, relevant in (("dev", taking_part.DEV), ("eval", taking_part.EVAL)):
        (tmp_path / f"{half}.txt").write_text(taking_part.run(relevant, 3))
        (tmp_path / f"{half}.tsv").write_bytes(taking_part.season_files()[f"{half}_queries"][1])
    command = [sys.executable, "-m", "evaluation", "seal", "--id", today("red"), "--output", str(tmp_path / "p.sealed")]
    for option, name in (
        *(("board", "board.json"), ("metadata", "metadata.json"), ("dev", "dev.txt"), ("eval", "eval.txt")),
        *(("dev-queries", "dev.tsv"), ("eval-queries", "eval.tsv")),
    ):
        command += [f"--{option}", str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    sealed = (tmp_path / "p.sealed").read_bytes()
    submission = taking_part.evaluated(board, team, paul, "red", timezone.now(), sealed=sealed)
    assert submission.scores.get(part="eval").fraction == "3/4"
    Board.objects.filter(pk=board.pk).update(is_public=False)
    assert Client().get(address("terms", board.slug)).status_code == 404
    assert browser(paul).get(address("terms", board.slug)).status_code == 200


def test_whoever_is_in_no_lab_is_led_to_what_they_can_use_alone(board: Board, paul: User, olga: User) -> None:
    lab_pages = [reverse(name) for name in ("runs:collections", "runs:runs", "review:workers", "platforms:costs")]
    page = browser(paul).get(reverse("leaderboards:boards"))
    assert page.status_code == 200 and f'<a class="brand" href="{reverse("leaderboards:boards")}"' in page.text
    assert not any(f'href="{address}"' in page.text for address in [*lab_pages, reverse("campaigns:campaigns")])
    assert f'href="{reverse("core:labs")}"' not in page.text and f'href="{reverse("api:tokens")}"' in page.text
    home = browser(paul).get(reverse("home"), follow=True)
    assert home.redirect_chain[-1][0] == reverse("leaderboards:boards")
    assert "How to take part" in home.text and f'href="{address("submit", board.slug)}"' in home.text
    submission = taking_part.send(board, taking_part.team(board, paul), paul)
    home = browser(paul).get(reverse("leaderboards:boards")).text
    assert f'href="{address("submission", submission.public_id)}"' in home and "How to take part" not in home
    assert submission.run_id not in browser(olga).get(reverse("leaderboards:boards")).text
    page = browser(olga).get(reverse("leaderboards:boards"))
    of_rail = [*(page for page in lab_pages if page != reverse("runs:runs")), reverse("core:labs")]
    assert all(f'href="{address}"' in page.text for address in of_rail)
    assert f'<a class="brand" href="{reverse("campaigns:campaigns")}"' in page.text
