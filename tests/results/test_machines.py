"""Machine judges beside a campaign's people: compared by a job, shown on a page of their own, and in nothing else."""

import csv
import io
import json
import zipfile
from copy import copy
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evaluation.files.answers import Answer
from evaluation.files.preferences import Preference
from evaluation.statistics.agreement import agreement
from judgments import exports
from judgments.evidence import Evidence
from judgments.models import StoredFile
from machines.answers import machine_judge_import
from machines.models import MachineJudge
from pools.models import Campaign
from pools.selectors import withheld_passages
from protection import releasing
from results import jobs as result_jobs
from results import machines, refreshing
from results.inputs import inputs_of
from results.models import MachineComparison
from results.sections.stored import to_json
from results.sections.whole import compute
from tests.evaluation.command import json_of


def people_of(campaign: Campaign) -> list[Preference]:
    return sorted(Evidence(campaign).preferences)


def answers(campaign: Campaign) -> str:
    """Agrees with people but for the first pair, on which it disagrees, the second, which it ties by answering both
    ways, the third, where it finds both equal, and the fourth, which it does not answer.
    """
    lines = []
    for number, (query, a, b, preferred) in enumerate(people_of(campaign)):
        other = a if preferred == b else b
        match number:
            case 0:
                lines.append(f"{query} {b} {a} {other}")
            case 1:
                lines += [f"{query} {a} {b} {a}", f"{query} {b} {a} {b}"]
            case 2:
                lines.append(f"{query} {a} {b} =")
            case 3:
                lines.append(f"{query} {a} {b} !")
            case _:
                lines += [f"{query} {a} {b} {preferred}", f"{query} {b} {a} !"]
    return "".join(f"{line}\n" for line in lines)


def store(campaign: Campaign, name: str = "gpt", content: str = "") -> MachineJudge:
    source = io.BytesIO((content or answers(campaign)).encode())
    return machine_judge_import(
        collection=campaign.collection, name=name, source=source, filename=f"{name}.txt", model="=gpt", prompt="Which?",
        by=None, at=timezone.now(),
    )  # fmt: skip


def test_a_machine_is_compared_once_by_a_job_and_again_once_judgments_have_changed(judged: Campaign) -> None:
    store(judged)
    assert result_jobs.compare_machines() == "machine judges compared: 1"
    assert result_jobs.compare_machines() == "machine judges compared: 0"
    comparison = MachineComparison.objects.get()
    data = comparison.data
    assert {name: data[name] for name in ("pairs", "decisive", "agree", "ties", "missing")} == {
        "pairs": 7, "decisive": 4, "agree": 3, "ties": 2, "missing": 1
    }  # fmt: skip
    assert data["share"] == 0.75
    assert data["interval"] == pytest.approx([0.3006, 0.9544], abs=1e-4)
    assert data["first"]["left"] + data["first"]["right"] == 6
    assert set(comparison.runs) == {"red", "green", "blue"}
    store(judged, "second", "q1 p1 p2 p1\n")
    assert result_jobs.compare_machines() == "machine judges compared: 1"
    Campaign.objects.filter(pk=judged.pk).update(revision=judged.revision + 1)
    assert result_jobs.compare_machines() == "machine judges compared: 0"  # the results have not followed yet
    refreshing.result_refresh(campaign=judged)
    assert result_jobs.compare_machines() == "machine judges compared: 2"


def test_the_command_line_counts_the_same(judged: Campaign, tmp_path: Path) -> None:
    store(judged)
    result_jobs.compare_machines()
    people, machine = tmp_path / "people.txt", tmp_path / "machine.txt"
    people.write_text("".join(f"{' '.join(map(str, row))}\n" for row in people_of(judged)))
    machine.write_text(answers(judged))
    runs = []
    for run in judged.runs.order_by("name"):
        runs.append(str(tmp_path / f"{run.name}.txt"))
        Path(runs[-1]).write_bytes(run.original.read())
    printed = json_of("agreement", "--human", str(people), "--machine", str(machine), "--json", *runs)
    comparison = MachineComparison.objects.get()
    orders = printed.pop("orders")
    assert orders.pop("runs") == comparison.runs
    assert orders == comparison.data["orders"]
    assert printed.items() <= comparison.data.items()


def test_what_people_judged_gives_the_same_bytes_with_and_without_machines(judged: Campaign, tmp_path: Path) -> None:
    def everything(folder: Path) -> dict[str, bytes]:
        folder.mkdir()
        exports.write_files(exports.Source(judged), folder)
        files = {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
        files["results"] = json.dumps(to_json(compute(inputs_of(judged))), sort_keys=True).encode()
        releasing.bundle_make(campaign=judged, at=at)
        bundle = StoredFile.objects.get(campaign=judged, kind=StoredFile.Kind.BUNDLE, state=StoredFile.State.CURRENT)
        with bundle.file.open() as file, zipfile.ZipFile(file) as archive:
            files |= {f"bundle/{name}": archive.read(name) for name in archive.namelist()}
        return files

    at = judged.created_at
    before = everything(tmp_path / "before")
    store(judged, "unmistakable")
    result_jobs.compare_machines()
    after = everything(tmp_path / "after")
    assert after == before
    assert "bundle/preferences.txt" in before
    assert not any(b"unmistakable" in content for content in after.values())


def test_the_page_shows_each_machine_beside_people_and_its_files_name_it(member: Client, judged: Campaign) -> None:
    page = reverse("results:machines", args=[judged.pk])
    assert "The collection has no machine judges." in member.get(page).content.decode()
    judge = store(judged)
    assert "Not all of these have been compared yet." in member.get(page).content.decode()
    result_jobs.compare_machines()
    html = member.get(page).content.decode()
    assert "75.0%" in html and "30.1 to 95.4%" in html
    assert "Not all of these" not in html
    assert page in member.get(reverse("results:results", args=[judged.pk])).content.decode()

    rows = list(csv.DictReader(io.StringIO(member.get(page[:-1] + ".csv").content.decode())))
    assert [(row["judge"], row["model"], row["agree"], row["missing"]) for row in rows] == [("gpt", "'=gpt", "3", "1")]
    data = member.get(page[:-1] + ".json").json()
    assert data["judges"][0]["prompt"] == "Which?"
    assert set(data["judges"][0]["runs"]) == {"red", "green", "blue"}
    assert member.get(page[:-1] + ".tex").status_code == 404

    answer = member.get(f"{page}{judge.pk}/answers.txt")
    assert b"".join(answer).decode() == answers(judged)  # type: ignore[arg-type]
    assert 'machine-gpt-answers.txt"' in answer["Content-Disposition"]
    qrels = member.get(f"{page}{judge.pk}/qrels.txt").content.decode().splitlines()
    assert qrels == sorted(qrels) and all(line.endswith(" 1") for line in qrels)
    assert member.get(f"{page}{judge.pk}/other.txt").status_code == 404
    assert member.get(f"{page}{judge.pk + 1}/qrels.txt").status_code == 404


def test_what_is_not_for_release_is_in_no_qrels_of_a_machine(judged: Campaign) -> None:
    store(judged)
    result_jobs.compare_machines()
    lines = set(MachineComparison.objects.get().qrels.splitlines())
    judged.runs.update(is_released=False)
    withheld = {f"{query} 0 {pid} 1" for query, pid in withheld_passages(judged)}
    assert lines & withheld
    Campaign.objects.filter(pk=judged.pk).update(revision=judged.revision + 1)
    judged.refresh_from_db()
    refreshing.result_refresh(campaign=judged)
    assert result_jobs.compare_machines() == "machine judges compared: 1"
    held_back = {line.split()[0] for line in lines & withheld}  # what is left of their winners would be wrong
    assert set(MachineComparison.objects.get().qrels.splitlines()) == {
        line for line in lines if line.split()[0] not in held_back
    }


def test_another_design_has_no_winners_to_order_runs_by(judged: Campaign) -> None:
    Campaign.objects.filter(pk=judged.pk).update(design="champion_check")
    store(judged)
    result_jobs.compare_machines()
    comparison = MachineComparison.objects.get()
    assert comparison.data["pairs"] == 7
    assert (comparison.data["orders"], comparison.runs, comparison.qrels) == (None, {}, "")


def test_a_judge_has_a_page_with_the_scores_it_helps_with_and_whether_it_favours_its_own(
    member: Client, judged: Campaign
) -> None:
    judge = store(judged)
    page = reverse("results:machine", args=[judged.pk, judge.pk])
    assert member.get(page).status_code == 404
    result_jobs.compare_machines()
    html = member.get(page).content.decode()
    assert "Whether it may stand in for a person cannot be said." in html and "No run is said to use" in html
    rows = list(csv.DictReader(io.StringIO(member.get(f"{page}tables/scores.csv").content.decode())))
    assert {row["run"] for row in rows} == {"red", "green", "blue"}
    assert all(row["mean"] == row["people"] and row["weight"] == "0.0" for row in rows)  # people judged every query
    assert member.get(f"{page}tables/differences.tex").content.decode().count("\\\\") == 3
    assert member.get(f"{page}tables/other.csv").status_code == 404

    edit = reverse("runs:run_models", args=[judged.runs.get(name="blue").pk])
    member.post(edit, {"models_used": "bge-m3, =GPT"})
    assert result_jobs.compare_machines() == "machine judges compared: 1"
    assert result_jobs.compare_machines() == "machine judges compared: 0"
    data = MachineComparison.objects.get().data
    assert (data["theirs"], data["favour"]["own"], data["favour"]["others"]) == (["blue"], 1, 2)
    assert "the runs of its own model (1: blue)" in member.get(page).content.decode()
    assert "bge-m3, =GPT" in member.get(reverse("pools:run", args=[judged.runs.get(name="blue").pk])).content.decode()


def test_queries_outside_of_a_sample_help_where_a_machine_answered_them(judged: Campaign) -> None:
    """The campaign's queries become the rest of a sample, since the collection has no others."""
    store(judged)
    inputs = inputs_of(judged)
    people = inputs.people()
    whole, rest = inputs.evidence, copy(inputs.evidence)
    gone = sorted({query for query, _passage in people.qrels if len(whole.pools[query]) > 1})[0]
    judged.selection = Campaign.Selection.SAMPLE
    rest.pools = {query: pool for query, pool in whole.pools.items() if query != gone}
    rest.counted = [row for row in whole.counted if row.query != gone]
    some = inputs._replace(campaign=judged, evidence=rest, waiting=frozenset())
    further = machines.further_of(some)
    assert further.pools == {gone: whole.pools[gone]}
    board = machines.board_of(some, further)
    answers = [Answer(row.query, row.a, row.b, str(row.preferred)) for row in whole.preferences]
    agreed = agreement(some.votes)
    scores = machines.compare(some, some.people(), board, agreed, {}, answers, (), further).scores
    alone = machines.compare(some, some.people(), board, agreed, {}, answers).scores
    assert (scores["queries"], scores["further"]) == (alone["queries"], 1)
    assert alone["further"] == 0
