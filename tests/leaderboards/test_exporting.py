"""The export of all opened runs: what is in it, who may have it, and who is told."""

import csv
import io
import json
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from core.errors import BadRequest, NotNow
from core.models import Mail, User
from leaderboards import exporting, submitting
from leaderboards.models import Board, Opening, Team
from tests import factories
from tests.leaderboards.taking_part import NOW, evaluated, published


def opened(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_an_export_has_runs_metadata_scores_and_queries_by_id_and_each_team_is_told(
    board: Board, team: Team, paul: User, olga: User, settings: Any
) -> None:
    red = published(board, team, paul, olga)
    blue = evaluated(board, team, paul, "blue", at=NOW + timedelta(days=1))
    settings.HAS_MAIL = True
    client = Client()
    client.force_login(olga)
    answer = client.post(reverse("leaderboards:export", args=[board.slug]), {"reason": "A study of measures."})
    assert answer.status_code == 200 and answer.headers["Content-Type"] == "application/zip"
    files = opened(answer.getvalue())

    rows = list(csv.DictReader(io.StringIO(files["runs.csv"].decode())))
    assert [(row["id"], row["state"]) for row in rows] == [(red.run_id, "published"), (blue.run_id, "waiting")]
    assert json.loads(files[f"metadata/{red.run_id}.json"]) == red.metadata
    scores = list(csv.DictReader(io.StringIO(files["scores.csv"].decode())))
    for score in red.scores.filter(version=None):
        of = (red.run_id, score.part, score.measure)
        (row,) = [score for score in scores if (score["id"], score["part"], score["measure"]) == of]
        assert row["fraction"] == score.fraction and row["qrels"] == "original"
        lines = files[f"queries/{red.run_id}-{score.part}-{score.measure}.tsv"].decode().splitlines()
        values = [float(line.split("\t")[1]) for line in lines]
        assert sum(values) / len(values) == pytest.approx(score.value) and len(values) == score.query_count
        assert all(line.split("\t")[0] for line in lines)
        ranks = [int(line.split("\t")[2]) for line in lines]
        assert values == [1 / rank if rank else 0.0 for rank in ranks]
        assert any(ranks)
    for part in ("dev", "eval"):
        run = [line.split() for line in files[f"runs/{red.run_id}-{part}.txt"].decode().splitlines()]
        assert run and all(len(line) == 6 and line[5] == red.run_id for line in run)
        assert run[0][3] == "1"

    for submission in (red, blue):
        (opening,) = submission.openings.filter(what=Opening.What.EXPORT)
        assert (opening.by, opening.why) == (olga, "A study of measures.")
        mail = Mail.objects.get(subject__contains=submission.run_id, text__contains="A study of measures.")
        assert mail.to == paul and "is in an export" in mail.subject
    client.force_login(paul)
    assert "A study of measures." in client.get(reverse("leaderboards:submission", args=[red.public_id])).text


def test_withdrawn_runs_are_left_out(board: Board, team: Team, paul: User, olga: User) -> None:
    red = published(board, team, paul, olga)
    blue = evaluated(board, team, paul, "blue", at=NOW + timedelta(days=1))
    submitting.submission_withdraw(submission=red, by=paul, why="A bug.", at=NOW + timedelta(days=2))
    submissions = exporting.export_begin(board=board, why="A study.", by=olga, at=NOW + timedelta(days=3))
    assert submissions == [blue]
    assert not red.openings.filter(what=Opening.What.EXPORT).exists()


def test_an_export_needs_a_reason_a_run_and_somebody_who_takes_no_part(
    board: Board, team: Team, paul: User, olga: User
) -> None:
    client = Client()
    page = reverse("leaderboards:export", args=[board.slug])
    with pytest.raises(NotNow, match="No run has been evaluated"):
        exporting.export_begin(board=board, why="A study.", by=olga, at=NOW)
    published(board, team, paul, olga)
    with pytest.raises(BadRequest, match="Say why"):
        exporting.export_begin(board=board, why="  ", by=olga, at=NOW)
    for stranger, status in ((paul, 404), (factories.member(board.lab, "viewer", "vera"), 403)):
        client.force_login(stranger)
        assert client.post(page, {"reason": "x"}).status_code == status
    factories.member(board.lab, "organizer", "otto")
    team.members.create(user=User.objects.get(username="otto"), joined_at=NOW)
    with pytest.raises(NotNow, match="You take part"):
        exporting.export_begin(board=board, why="A study.", by=User.objects.get(username="otto"), at=NOW)
    assert not Opening.objects.filter(what=Opening.What.EXPORT).exists()
