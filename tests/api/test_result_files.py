"""Through the API: files of results, one query, machine judges beside people, scores on a version."""

import io
import zipfile

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.models import User
from judgments.models import StoredFile
from pools.models import Campaign
from results import jobs as result_jobs
from results import refreshing
from results import selectors as result_selectors
from results.versions import version_add
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem
from tests.results.conftest import judged  # noqa: F401
from tests.results.test_machines import answers, store

pytestmark = pytest.mark.django_db


@pytest.fixture
def program(judged: Campaign) -> Program:  # noqa: F811
    """A program of Rita's."""
    return Program(User.objects.get(username="rita"))


@pytest.fixture
def viewer(judged: Campaign) -> Program:  # noqa: F811
    """A program of somebody who may look."""
    return Program(factories.member(judged.lab, "viewer"))


def test_files_of_the_results_are_those_of_the_pages(
    judged: Campaign,  # noqa: F811
    program: Program,
) -> None:
    base, page = f"campaigns/{judged.pk}/results/", Client()
    page.force_login(program.user)
    for name, of_page in (
        ("report.zip", reverse("results:report", args=[judged.pk])),
        ("confidence-sets.txt", reverse("results:confidence_sets", args=[judged.pk])),
        ("tables/leaderboard.csv", reverse("results:file", args=[judged.pk, "leaderboard", "csv"])),
        ("tables/leaderboard.tex", reverse("results:file", args=[judged.pk, "leaderboard", "tex"])),
    ):
        answer = program.get(f"{base}{name}")
        content = b"".join(answer.streaming_content)
        assert content and content == b"".join(page.get(of_page).streaming_content), name
        assert program.get(f"{base}{name}", If_None_Match=answer["ETag"]).status_code == 304
    figures = StoredFile.objects.filter(campaign=judged, name__startswith="figures/", name__endswith=".svg")
    name = figures.values_list("name", flat=True)[0]
    assert b"<svg" in b"".join(program.get(f"{base}{name}").streaming_content)
    for name in ("tables/leaderboard.exe", "tables/odd.csv", "figures/odd.svg", "figures/odd.exe"):
        assert_problem(program.get(f"{base}{name}"), 404)
    report = zipfile.ZipFile(io.BytesIO(b"".join(program.get(f"{base}report.zip").streaming_content)))
    assert report.testzip() is None


def test_one_query_has_its_passages_pairs_and_best_known_answers(
    judged: Campaign,  # noqa: F811
    viewer: Program,
) -> None:
    row = viewer.get(f"campaigns/{judged.pk}/queries/").json()["results"][0]
    query = viewer.get(f"campaigns/{judged.pk}/queries/{row['id']}/").json()
    assert (query["qid"], query["text"], len(query["passages"])) == (row["qid"], row["text"], row["passages"])
    assert query["is_complete"] and len(query["pairs"]) == row["pairs"]
    assert all(passage["text"] for passage in query["passages"])
    assert sum(passage["wins"] for passage in query["passages"]) == sum(
        pair["for_a"] + pair["for_b"] for pair in query["pairs"]
    )
    best = {passage["pid"] for passage in query["passages"] if passage["best"]}
    client = Client()
    client.force_login(User.objects.get(username="rita"))
    exported = factories.exported(judged)["preference-qrels.txt"].decode()
    assert best == {line.split()[2] for line in exported.splitlines() if line.split()[0] == row["qid"]}
    assert_problem(viewer.get(f"campaigns/{judged.pk}/queries/{10**9}/"), 404)


def test_machine_judges_are_beside_people_and_have_files(
    judged: Campaign,  # noqa: F811
    program: Program,
    viewer: Program,
) -> None:
    judge = store(judged)
    beside = f"campaigns/{judged.pk}/machines/"
    winners = f"{beside}{judge.pk}/preference-qrels.txt"
    assert "pairs" not in viewer.get(beside).json()["judges"][0]
    assert_problem(program.get(winners), 404, says="not yet")
    result_jobs.compare_machines()
    [row] = viewer.get(beside).json()["judges"]
    assert (row["judge"], row["model"], row["pairs"], row["agree"]) == ("gpt", "=gpt", 7, 3)
    assert program.get(winners).content
    imported = f"collections/{judged.collection_id}/machine-judges/{judge.pk}/answers.txt"
    assert b"".join(program.get(imported).streaming_content).decode() == answers(judged)


def test_scores_on_a_version_beside_those_on_other_qrels(
    judged: Campaign,  # noqa: F811
    viewer: Program,
) -> None:
    version_add(campaign=judged, by=None, at=timezone.now(), why="First.", parent=0)
    address = f"collections/{judged.collection_id}/versions/1/scores/"
    assert viewer.get(address).json()["waiting"] == 3
    result_jobs.score_versions()
    scores = viewer.get(address).json()
    keys = [column["key"] for column in scores["columns"]]
    assert scores["waiting"] == 0 and len(scores["rows"]) == 3 and scores["unreadable"] == {}
    beside = viewer.get(f"{address}?beside=1").json()
    assert [row[keys.index("change")] for row in beside["rows"]] == [0, 0, 0]
    other = viewer.get(f"{address}?measure=nDCG%4010").json()
    assert (scores["measure"], other["measure"], len(other["rows"])) == ("RR@10", "nDCG@10", 3)
    assert [column["key"] for column in other["columns"]][2] == "score"
    assert_problem(viewer.get(f"{address}?measure=nDCG%4011"), 400, field="measure")
    assert_problem(viewer.get(f"{address}?beside=odd"), 400, field="beside")
    assert_problem(viewer.get(f"{address}?beside=9"), 404)


def test_runs_that_came_later_are_scored_when_asked_and_the_earlier_report_stays(
    judged: Campaign,  # noqa: F811
    program: Program,
) -> None:
    base = f"campaigns/{judged.pk}/results/"
    Campaign.objects.filter(pk=judged.pk).update(fixed_runs=list(judged.runs.values_list("pk", flat=True)))
    judged.result.final_at = timezone.now()
    judged.result.save()
    data = result_selectors.whole_data(judged)
    before = b"".join(program.get(f"{base}report.zip").streaming_content)
    assert_problem(program.post(f"{base}later-runs/"), 409)
    run = factories.run(judged.collection, "late", {"q1": ["p1", "p3"]})
    assert program.patch(f"runs/{run.pk}/", {"models_used": "gpt-4o"}).json()["models_used"] == "gpt-4o"
    results = program.get(base).json()
    assert results["later_runs"] == ["late"] and results["final_at"]
    assert program.post(f"{base}later-runs/").json() == {"scored": 1}
    refreshing.result_refresh(campaign=judged)
    (listed,) = program.get(f"{base}earlier/").json()
    assert listed["number"] == 1
    assert program.get(f"{base}earlier/1/").json() == listed | {"data": data}
    assert_problem(program.get(f"{base}earlier/2/"), 404)
    assert b"".join(program.get(f"{base}earlier/1/report.zip").streaming_content) == before
    assert_problem(program.get(f"{base}earlier/2/report.zip"), 404)
