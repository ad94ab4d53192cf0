"""Through the API: panels, what was scored or judged elsewhere, and what machines judged."""

import json
from urllib.parse import urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from api.models import StoredAnswer
from machines.models import MachineAnswer, MachineJudge
from pools.models import Campaign
from runs import background
from runs.models import Collection, Job, OutsideScores, PreferenceImport
from tasks import links, outside_panels
from tasks import selectors as task_selectors
from tasks.models import Worker
from tasks.names import pseudonym
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem

pytestmark = pytest.mark.django_db


def file(content: str, name: str = "scores.tsv") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content.encode())


# --- panels


def test_people_get_personal_links_that_are_listed_and_stored_nowhere_else(
    campaign: Campaign, program: Program
) -> None:
    address, sent = f"campaigns/{campaign.pk}/panel/", {"names": [" Ann ", "ben@example.org", "Ann"]}
    assert_problem(program.post(address, {"names": []}), 400, field="names")
    assert_problem(program.post(address, {"names": ["Ann", "  "]}), 400, field="names")
    assert_problem(program.post(address, {"names": ["x" * 101]}), 400, field="names")
    assert not Worker.objects.filter(label="Ann").exists()

    members = program.post(address, sent, Idempotency_Key="once").json()["members"]
    again = program.post(address, sent, Idempotency_Key="once").json()["members"]
    assert [member["name"] for member in members] == ["Ann", "ben@example.org"]
    assert again == [member | {"name": None, "link": None} for member in members]
    ann = Worker.objects.get(label="Ann")
    assert links.home_of(members[0]["link"].rstrip("/").rpartition("/")[2]) == (ann, campaign)
    stored = json.dumps(list(StoredAnswer.objects.values("content")))
    assert members[0]["link"] not in stored and "ben@example.org" not in stored
    assert members[0]["worker"] == pseudonym(campaign, ann.pk)

    factories.do(ann, campaign)
    [member] = program.get(f"{address}?name=an").json()["results"]
    assert (member["name"], member["assignments"], member["consented"]) == ("Ann", 1, False)
    assert Client().get(urlsplit(member["link"]).path)["Location"].endswith("/consent/")
    assert len(program.get(address).json()["results"]) == 2
    assert program.post(address, {"names": ["Ann"]}).json()["members"][0]["assignments"] == 1
    assert campaign.invitations.count() == 2


def test_an_outside_panel_is_set_up_changed_and_deleted_until_somebody_has_come(
    campaign: Campaign, program: Program
) -> None:
    address, sent = f"campaigns/{campaign.pk}/outside-panel/", {"name": "Connect", "finished_exit": "DONE"}
    assert_problem(program.get(address), 404, says="no outside panel")
    for wrong, field in (
        ({"name": "a: b"}, "name"),
        ({"finished_exit": "http://panel.example.org/"}, "finished_exit"),
        ({"person_parameter": "assignmentId"}, "session_parameter"),
    ):
        assert_problem(program.put(address, sent | wrong), 400, field=field)
    assert program.put(address, sent).json()["person_parameter"] == "participantId"
    assert program.put(address, sent | {"failed_exit": "FAIL"}).json()["failed_exit"] == "FAIL"
    assert program.delete(address).status_code == program.delete(address).status_code == 204
    panel = outside_panels.outside_panel_set(campaign=campaign, **sent)
    text = task_selectors.current_consent(campaign)
    assert text is not None
    visitor = outside_panels.Visitor(panel, "p1", "s1")
    outside_panels.visit_begin(visitor=visitor, text=text, at=timezone.now())
    [session] = program.get(f"{address}sessions/").json()["results"]
    assert (session["person"], session["session"], session["outcome"], session["owed"]) == (
        "p1",
        "s1",
        "at work",
        "0.00",
    )
    assert_problem(program.delete(address), 409)
    assert_problem(program.put(address, sent | {"name": "Another"}), 409)


# --- scores from elsewhere


def test_scores_from_elsewhere_are_stored_replaced_and_deleted(
    collection: Collection, program: Program, viewer: Program
) -> None:
    address = f"collections/{collection.pk}/outside-scores/"
    assert_problem(viewer.get(address), 404)
    assert_problem(program.upload(address, "put", source="x"), 400, field="file")
    assert_problem(program.upload(address, "put", file=file("red 0.5\n")), 400, field="source")
    wrong = {"red high\n": "scores.tsv, line 1", "mauve 0.5\n": "none of the", "red 0.5\n" * 200_000: "1 MB"}
    for content, says in wrong.items():
        refused = program.upload(address, "put", source="x", file=file(content))
        assert_problem(refused, 400, field="file", says=says)
    assert not OutsideScores.objects.exists()

    stored = program.upload(
        address, "put", source="A leaderboard, MRR@10", file=file("green 0.25 2\nred 0.5 1\nmauve 0.1\n")
    ).json()
    assert stored["scores"] == [
        {"run": "red", "score": 0.5, "rank": 1},
        {"run": "green", "score": 0.25, "rank": 2},
        {"run": "mauve", "score": 0.1, "rank": None},
    ]
    assert (stored["source"], stored["unknown"]) == ("A leaderboard, MRR@10", 1)
    assert viewer.get(address).json() == stored
    assert (
        program.upload(address, "put", source="Another", file=file("red 0.75\n")).json()["scores"][0]["score"] == 0.75
    )
    assert OutsideScores.objects.count() == 1
    assert program.delete(address).status_code == 204
    assert program.delete(address).status_code == 204
    assert not OutsideScores.objects.exists()


def test_a_collection_says_how_much_it_holds(collection: Collection, program: Program) -> None:
    bare = collection.passages.first()
    assert bare is not None
    collection.passages.filter(pk=bare.pk).update(text="")
    assert program.get(f"collections/{collection.pk}/").json()["size"] == {
        "queries": collection.queries.count(),
        "queries_without_text": 0,
        "qrels": collection.qrels.count(),
        "passages": collection.passages.count(),
        "passages_without_text": 1,
        "runs": collection.runs.count(),
    }
    assert collection.runs.exists() and collection.qrels.exists()


# --- files of a collection


def test_a_job_says_why_passages_were_not_stored(collection: Collection, program: Program) -> None:
    address = f"collections/{collection.pk}/files/"
    other = file("p1\tAnother text.\n", "corpus.tsv")
    job_shape = program.upload(address, passages=other, keep="all").json()
    background.job_do(job_id=job_shape["id"])
    job = program.get(f"jobs/{job_shape['id']}/").json()
    assert job["state"] == "refused"
    assert "corpus.tsv: passage p1 already has a different text in the collection." in job["error"]
    queries, other = file("new1\tWho?\n", "queries.tsv"), file("p1\tAnother text.\n", "corpus.tsv")
    job_shape = program.upload(address, queries=queries, passages=other, keep="all").json()
    background.job_do(job_id=job_shape["id"])
    job = program.get(f"jobs/{job_shape['id']}/").json()
    assert (job["state"], job["counts"]["refused"]) == ("done", 1)
    assert "passage p1 already has a different text" in job["complaints"]["files"]["corpus.tsv"]


# --- judgments from elsewhere


def test_preferences_from_elsewhere_are_imported_by_a_job_listed_and_deleted(
    collection: Collection, program: Program, viewer: Program
) -> None:
    address = f"collections/{collection.pk}/preferences/"
    assert_problem(program.upload(address, note="By hand."), 400, field="file")
    assert_problem(program.upload(address, file=file("q1 p1 p2 p1\n")), 400, field="note")
    assert not Job.objects.exists()

    job = program.upload(address, file=file("q1 p1 p2 p9\n", "old.txt"), note="By hand.").json()
    background.job_do(job_id=job["id"])
    failed = program.get(f"jobs/{job['id']}/").json()
    assert failed["state"] != "done"
    assert "line 1" in json.dumps([failed["error"], failed["complaints"]])
    assert not PreferenceImport.objects.exists()

    job = program.upload(address, file=file("q1 p1 p2 p1\nq1 p2 p1 p1\n", "old.txt"), note="By hand.").json()
    background.job_do(job_id=job["id"])
    assert program.get(f"jobs/{job['id']}/").json()["state"] == "done"
    [row] = viewer.get(address).json()["results"]
    assert (row["name"], row["note"], row["judgment_count"], row["pair_count"]) == ("old", "By hand.", 2, 1)
    row_address = f"{address}{row['id']}/"
    assert viewer.get(row_address).json() == row
    assert program.delete(row_address).status_code == 204
    assert_problem(program.delete(row_address), 404)
    assert not PreferenceImport.objects.exists()


def test_judgments_from_elsewhere_become_a_campaign(collection: Collection, program: Program) -> None:
    address = f"collections/{collection.pk}/judgments/"
    lines = "q1 p1 p2 p1 ann\nq1 p1 p2 p2 bob\n"
    assert_problem(program.upload(address), 400, field="file")
    assert_problem(program.upload(address, file=file(lines), question="x" * 301), 400, field="question")
    sent = {"name": "of 2021", "note": "Students.", "question": "Which one?"}
    job = program.upload(address, file=file(lines, "old.txt"), **sent).json()
    background.job_do(job_id=job["id"])
    done = program.get(f"jobs/{job['id']}/").json()
    answer = program.get(f"campaigns/{done['campaign']}/").json()
    assert (answer["name"], answer["state"], answer["settings"]["question"]) == ("of 2021", "closed", "Which one?")
    assert Campaign.objects.get(pk=answer["id"]).origin["judgments"] == 2
    again = program.upload(address, file=file(lines, "again.txt"), name="twice").json()
    background.job_do(job_id=again["id"])
    assert "already been imported" in program.get(f"jobs/{again['id']}/").json()["error"]
    assert Campaign.objects.count() == 1


# --- what machines judged


def test_a_machines_answers_are_imported_by_a_job_listed_and_deleted(
    collection: Collection, program: Program, viewer: Program
) -> None:
    address = f"collections/{collection.pk}/machine-judges/"
    about = {"model": "model-7b", "prompt": "Which is better?"}
    assert_problem(program.upload(address, **about), 400, field="file")
    assert_problem(program.upload(address, file=file("q1 p1 p2 p1\n"), model="model-7b"), 400, field="prompt")
    assert_problem(program.upload(address, file=file("q1 p1 p2 p1\n"), prompt="?", model="x" * 201), 400, field="model")
    assert not Job.objects.exists()

    answer = program.upload(address, file=file("q1 p1 p2 p1\nq1 p1 p2 p3\n", "gpt.txt"), **about)
    assert (answer.status_code, answer["Location"]) == (202, f"/api/v1/jobs/{answer.json()['id']}/")
    background.job_do(job_id=answer.json()["id"])
    refused = program.get(f"jobs/{answer.json()['id']}/").json()
    assert (refused["kind"], refused["state"]) == ("machine", "refused") and "gpt.txt, line 2" in refused["error"]
    assert not MachineJudge.objects.exists()

    answer = program.upload(address, file=file("q1 p1 p2 p1\nq1 p2 p1 =\n", "gpt.txt"), **about)
    background.job_do(job_id=answer.json()["id"])
    done = program.get(f"jobs/{answer.json()['id']}/").json()
    assert (done["state"], done["counts"]) == ("done", {"answers": 2, "machine_pairs": 1})
    [row] = viewer.get(f"{address}?model=7B").json()["results"]
    assert (row["name"], row["model"], row["answer_count"], row["pair_count"]) == ("gpt", "model-7b", 2, 1)
    assert viewer.get(f"{address}?name=other").json()["results"] == []
    row_address = f"{address}{row['id']}/"
    assert viewer.get(row_address).json() == row | {"prompt": "Which is better?"}
    assert program.delete(row_address).status_code == 204
    assert_problem(program.delete(row_address), 404)
    assert not MachineAnswer.objects.exists()
