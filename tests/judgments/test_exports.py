"""What leaves: complete, the same every time, and without anybody's name."""

import csv
import hashlib
import io
import json
import re
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command

from core.models import Lab
from judgments import exports
from judgments import selectors as judgment_selectors
from judgments.models import StoredFile
from pools.models import Campaign
from pools.services import campaign_create
from results import report
from results.refreshing import result_refresh
from runs.services import run_release
from tasks.models import Worker
from tasks.names import pseudonym
from tests import factories
from tests.evaluation.command import run_cli


@pytest.fixture
def judged(campaign: Campaign, alice: Worker, bob: Worker, carol: Worker) -> Campaign:
    """All pairs judged for `a`, with one excluded assignment and one changed mind on the way."""
    factories.do(bob, campaign, fail_tests=True)
    assignment = factories.take(alice, campaign)
    factories.judge(assignment, only=[1], prefer="b")
    factories.do(alice, campaign)
    factories.do(carol, campaign)
    factories.do(alice, campaign)
    return campaign


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode()), delimiter="\t"))


def test_exporting_twice_gives_the_same_bytes(judged: Campaign) -> None:
    assert factories.exported(judged) == factories.exported(judged)


def test_the_preference_qrels_are_the_tournaments_winners(judged: Campaign) -> None:
    files = factories.exported(judged)
    assert files["preference-qrels.txt"].decode() == "q1 0 p1 1\nq2 0 p4 1\nq3 0 p7 1\nq4 0 p9 1\n"
    assert files["preference-qrels.csv"].decode() == "qid,docno,label\nq1,p1,1\nq2,p4,1\nq3,p7,1\nq4,p9,1\n"
    assert files["preference-qrels.tsv"].decode() == "q1\t0\tp1\t1\nq2\t0\tp4\t1\nq3\t0\tp7\t1\nq4\t0\tp9\t1\n"


def test_graded_qrels_have_every_passage_of_the_pools_the_winners_on_top(judged: Campaign) -> None:
    files = factories.exported(judged)
    rows = [line.split() for line in files["graded-preference-qrels.txt"].decode().splitlines()]
    best = {(row[0], row[2]) for row in map(str.split, files["preference-qrels.txt"].decode().splitlines())}
    pools: dict[str, dict[str, int]] = {}
    for query, _, passage, grade in rows:
        pools.setdefault(query, {})[passage] = int(grade)
    members = {pool.query.qid: {row.passage.pid for row in pool.candidates.all()} for pool in judged.pools.all()}
    assert {query: {*grades} for query, grades in pools.items()} == members
    for query, grades in pools.items():
        assert {passage for passage, grade in grades.items() if grade == max(grades.values())} == {
            passage for of, passage in best if of == query
        }
        # The smaller id always wins, so grades fall along the ids.
        assert [passage for passage, _ in sorted(grades.items(), key=lambda row: -row[1])] == sorted(grades)
        assert sorted(grades.values()) == list(range(1, len(grades) + 1))


def test_original_and_preference_qrels_stand_together_once_each(
    collection: object, alice: Worker, campaign: Campaign
) -> None:
    for _hit in range(3):
        factories.do(alice, campaign, prefer="b")
    merged = factories.exported(campaign)["original-and-preference-qrels.txt"].decode().splitlines()
    assert merged == [
        "q1 0 p1 1", "q2 0 p4 1", "q3 0 p7 1", "q4 0 p9 1",
        "q1 0 p3 1", "q2 0 p6 1", "q3 0 p8 1",
    ]  # fmt: skip


def test_graded_qrels_keep_their_grades_beside_the_best_known_answers(lab: Lab, tmp_path: Path) -> None:
    qrels = {"q1": {"p1": 3, "p2": 0}, "q2": {"p4": 2, "p5": 1}}
    tops = {"red": {"q1": ["p1"], "q2": ["p5"]}, "green": {"q1": ["p2"], "q2": ["p6"]}}
    graded = factories.campaign(factories.collection(tmp_path, in_lab=lab, qrels=qrels, tops=tops))
    while graded.hits.filter(needed__gt=0).exists():
        factories.do(factories.worker(graded, f"judge {graded.assignments.count()}"), graded)
    files = factories.exported(graded)
    assert files["preference-qrels.txt"].decode().splitlines() == ["q1 0 p1 1", "q2 0 p4 1"]
    merged = files["original-and-preference-qrels.txt"].decode().splitlines()
    assert merged == ["q1 0 p1 3", "q1 0 p2 0", "q2 0 p4 2", "q2 0 p5 1"]


@pytest.mark.parametrize(("votes", "best"), [("aab", ["p1"]), ("abb", ["p2"]), ("ab", ["p1", "p2"])])
def test_several_judgments_a_pair_are_counted_one_by_one_and_a_tie_stays_one(
    lab: Lab, tmp_path: Path, votes: str, best: list[str]
) -> None:
    tops = {"red": {"q1": ["p1"]}, "green": {"q1": ["p2"]}}
    collection = factories.collection(tmp_path, in_lab=lab, qrels={"q1": {"p1": 2}}, tops=tops)
    campaign = factories.campaign(collection, overlap=len(votes))
    for number, preferred in enumerate(votes):
        factories.do(factories.worker(campaign, f"judge {number}"), campaign, prefer=preferred)
    files = factories.exported(campaign)
    assert files["preference-qrels.txt"].decode().splitlines() == [f"q1 0 {pid} 1" for pid in best]
    (pair,) = rows(files["pairs.tsv"])
    outcome = (pair["a_preferred"], pair["b_preferred"], pair["needed"])
    assert outcome == (str(votes.count("a")), str(votes.count("b")), str(len(votes)))
    merged = files["original-and-preference-qrels.txt"].decode().splitlines()
    assert merged == ["q1 0 p1 2"] + (["q1 0 p2 1"] if "p2" in best else [])


def test_every_judgment_is_there_with_what_became_of_it(judged: Campaign) -> None:
    records = rows(factories.exported(judged)["judgments.tsv"])
    assert sum(record["accepted"] == "true" for record in records) == 7
    assert sum(record["verdict"] == "excluded" for record in records) == 5
    assert {record["kind"] for record in records} == {"pair", "test"}
    for record in records:
        assert record["preferred"] in (record["a"], record["b"])
        assert record["left"] in (record["a"], record["b"])
        assert float(record["seconds"]) == 9.0
    as_json = [json.loads(line) for line in factories.exported(judged)["judgments.jsonl"].splitlines()]
    assert [str(record["judgment"]) for record in as_json] == [record["judgment"] for record in records]


def test_every_pair_is_there_with_its_outcome(judged: Campaign) -> None:
    records = rows(factories.exported(judged)["pairs.tsv"])
    assert len(records) == 7
    assert all((record["a_preferred"], record["b_preferred"]) == ("1", "0") for record in records)


def test_every_judged_pair_is_there_with_its_texts_and_which_is_the_qrel(
    campaign: Campaign, alice: Worker, bob: Worker
) -> None:
    passage = campaign.collection.passages.get(pid="p1")
    passage.text = "Two lines,\nand\ta tab."
    passage.save()
    factories.do(alice, campaign)
    files = factories.exported(campaign)
    records = rows(files["judged-pairs.tsv"])
    assert len(records) == 3  # of the seven that are asked, as four are not judged
    for record in records:
        assert (record["preferred"], record["category"]) == ("a", "")
        assert record["qrel"] == ("a" if record["a"] in ("p1", "p4", "p7") else "")
        query = campaign.collection.queries.get(qid=record["query"])
        assert record["query_text"] == query.text
        for side in "ab":
            stored = campaign.collection.passages.get(pid=record[side]).text
            assert record[f"{side}_text"] == " ".join(stored.split())
    whole = [json.loads(line) for line in files["judged-pairs.jsonl"].splitlines()]
    assert [(row["a"], row["b"]) for row in whole] == [(row["a"], row["b"]) for row in records]
    assert all(row["a_text"] == passage.text for row in whole if row["a"] == "p1")


def test_the_judged_pairs_of_a_champion_check_have_the_papers_categories(lab: Lab, tmp_path: Path) -> None:
    tops = {"only": {"q1": ["p1", "p2"], "q2": ["p3"], "q3": ["p5"]}}
    qrels = {"q1": ["p1"], "q2": ["p4"], "q3": ["p6"]}
    collection = factories.collection(tmp_path, in_lab=lab, qrels=qrels, tops=tops)
    campaign = factories.campaign(collection, design="champion_check")
    factories.do(factories.worker(campaign, "Wim"), campaign, prefer="a")
    records = rows(factories.exported(campaign)["judged-pairs.tsv"])
    pairs = [(record["query"], record["category"], record["qrel"], record["preferred"]) for record in records]
    assert pairs == [("q1", "A", "a", "a"), ("q2", "B", "b", "a"), ("q3", "B", "b", "a")]


def test_what_only_a_run_given_in_confidence_brought_stays(judged: Campaign, tmp_path: Path) -> None:
    before = factories.exported(judged)
    red, (revision,) = judged.runs.get(name="red"), [Campaign.objects.get(pk=judged.pk).revision]
    run_release(run=red, is_released=False)  # it alone brought p2 for q1 and p5 for q2
    assert Campaign.objects.get(pk=judged.pk).revision > revision
    files = factories.exported(judged)
    manifest = json.loads(files.pop("manifest.json"))
    assert manifest["withheld passages"] == 2
    for name, content in files.items():
        assert not re.search(rb"\bp[25]\b", content), name
    assert len(rows(files["pairs.tsv"])) == 3  # of 7: p1 p3, p4 p6, p7 p8
    assert {record["kind"] for record in rows(files["judgments.tsv"])} == {"pair", "test"}

    result_refresh(campaign=judged, anew=True)
    stored = judgment_selectors.stored_file(judged, StoredFile.Kind.RESULT, report.ARCHIVE)
    assert stored is not None
    with zipfile.ZipFile(stored.file) as archive:
        for name in archive.namelist():
            if name.endswith((".csv", ".tex", ".html", ".json", ".txt", ".tsv", ".jsonl")):
                assert not re.search(rb"\bp[25]\b", archive.read(name)), name
    run_release(run=red, is_released=True)
    assert factories.exported(judged) == before


def test_a_best_known_answer_that_may_not_leave_is_in_no_qrels(campaign: Campaign, alice: Worker) -> None:
    for _hit in range(3):
        factories.do(alice, campaign, prefer="b")
    run_release(run=campaign.runs.get(name="green"), is_released=False)  # it alone brought p3, p6 and p8, which won
    files = factories.exported(campaign)
    assert files["preference-qrels.txt"].decode().splitlines() == ["q4 0 p9 1"]
    assert files["original-and-preference-qrels.txt"].decode().splitlines() == [
        "q1 0 p1 1", "q2 0 p4 1", "q3 0 p7 1", "q4 0 p9 1",
    ]  # fmt: skip


def test_no_identity_leaves(judged: Campaign, alice: Worker) -> None:
    everything = b"".join(factories.exported(judged).values()).decode()
    for secret in ("Alice", "Bob", "Carol", judged.link, bytes(judged.pseudonym_key).hex()):
        assert secret not in everything
    other = campaign_create(lab=judged.lab, collection=judged.collection, runs=judged.runs.all(), name="other campaign")
    assert pseudonym(judged, alice.pk) in everything
    assert pseudonym(judged, alice.pk) != exports.pseudonym(other, alice.pk)


def test_the_manifest_says_what_the_files_are_and_came_from(judged: Campaign) -> None:
    files = factories.exported(judged)
    manifest = json.loads(files["manifest.json"])
    assert set(manifest["files"]) == set(files) - {"manifest.json"}
    for name, entry in manifest["files"].items():
        assert entry["sha256"] == hashlib.sha256(files[name]).hexdigest()
    assert manifest["settings"]["order"] == "score"
    assert manifest["settings"]["seed"] == 1
    assert manifest["counts"]["judgments accepted"] == 7
    assert manifest["counts"]["assignments"]["excluded"] == 1
    assert manifest["counts"]["qrels"] == {"pools": 4, "single": 4, "deadlocks": {}, "incomplete": 0}
    assert [run["name"] for run in manifest["runs"]] == ["blue", "green", "red"]


def test_a_pool_that_waits_for_judgments_has_no_qrel_yet(campaign: Campaign) -> None:
    files = factories.exported(campaign)
    assert files["preference-qrels.txt"].decode() == "q4 0 p9 1\n"
    assert json.loads(files["manifest.json"])["counts"]["qrels"]["incomplete"] == 3


def test_the_command_writes_what_the_archive_holds(
    judged: Campaign, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    call_command("export_campaign", "pilot", to=tmp_path / "out")
    capfdbinary.readouterr()
    call_command("export_campaign", "pilot", to=Path("-"))
    with zipfile.ZipFile(io.BytesIO(capfdbinary.readouterr().out)) as archive:
        inside = {name: archive.read(name) for name in archive.namelist()}
    assert list(inside) == list(exports.NAMES)
    assert inside == {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}


def test_the_exports_agree_with_the_command_line_of_evaluation(judged: Campaign, tmp_path: Path) -> None:

    call_command("export_campaign", "pilot", to=tmp_path)
    derived = run_cli("qrels", str(tmp_path / "preferences.txt")).out
    assert set(derived.splitlines()) | {"q4 0 p9 1"} == set(
        (tmp_path / "preference-qrels.txt").read_text().splitlines()
    )


@pytest.mark.django_db(transaction=True)
def test_an_export_shows_one_moment_whatever_is_judged_meanwhile(
    transactional_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connection

    from evaluation.judging.designs.all_pairs import AllPairs
    from judgments.evidence import Evidence

    lab = factories.lab("Busy", factories.user("bea"))
    collection = factories.collection(tmp_path, in_lab=lab, qrels={"q1": ["p1"]}, tops={"run": {"q1": ["p2"]}})
    campaign = factories.campaign(collection)
    alice = factories.worker(campaign, "Alice")
    real = AllPairs.derive

    def judged_by_another() -> None:
        factories.do(alice, campaign)
        connection.close()

    derived = []

    def derived_then_judged(design: AllPairs, evidence: Evidence) -> object:
        derived.append(real(design, evidence))
        if len(derived) == 1:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(judged_by_another).result()
        return derived[-1]

    monkeypatch.setattr(AllPairs, "derive", derived_then_judged)
    files = factories.exported(campaign)
    assert files["preference-qrels.txt"] == files["preferences.txt"] == b""
    monkeypatch.undo()
    assert factories.exported(campaign)["preference-qrels.txt"] == b"q1 0 p1 1\n"
