"""Versions of the preference qrels: what they hold, who may make them, and the runs' scores on them."""

import hashlib
import io
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.errors import NotNow, Refused
from core.models import User
from platforms.models import Publication
from pools import selectors as pool_selectors
from pools.models import Campaign, QrelsVersion, VersionQuery
from results import jobs as result_jobs
from results import scoring, version_requests, versions
from results.findings import findings
from results.inputs import inputs_of
from results.models import VersionRequest, VersionScore
from results.sections.stored import to_json
from results.sections.whole import compute, read
from runs import services as run_services
from runs.models import Collection
from tasks.models import Platform
from tests import factories
from tests.evaluation.command import json_of
from tests.results.judging import judge, judged, new_run, pilot
from tests.words import text_of

QRELS = {"q1": ["p1"], "q2": ["p4"], "q3": ["p7"], "q4": ["p9"]}
ORIGINAL = "".join(f"{query} 0 {passage} 1\n" for query, (passage,) in QRELS.items())


def add(campaign: Campaign, why: str = "First judgments.", **how: object) -> QrelsVersion:
    return versions.version_add(campaign=campaign, why=why, by=None, at=timezone.now(), **how)  # type: ignore[arg-type]


def answers(version: QrelsVersion) -> dict[str, str]:
    return {query: " ".join(pids) for query, pids in pool_selectors.version_answers(version).items()}


def page(name: str, version: QrelsVersion, *more: object) -> str:
    return reverse(f"results:{name}", args=[version.collection_id, version.number, *more])


# --- making them


def test_the_first_version_has_what_the_campaign_settled(collection: Collection, rita: User) -> None:
    campaign = pilot(collection)
    version = versions.version_add(campaign=campaign, why=" Judged twice. ", by=rita, at=timezone.now())
    assert answers(version) == {"q1": "p1", "q2": "p4", "q3": "p7", "q4": "p9"}
    assert (version.number, version.why, version.made_by) == (1, "Judged twice.", rita)
    assert (version.added, version.changed, version.unchanged, version.unsettled) == (4, 0, 0, 0)
    exported = factories.exported(campaign)["preference-qrels.txt"]
    assert "".join(versions.qrels_lines(pool_selectors.version_answers(version))).encode() == exported
    assert version.sha256 == hashlib.sha256(exported).hexdigest()
    assert (version.queries, version.qrels) == (4, 4)


def test_queries_that_the_next_campaign_does_not_settle_keep_their_answers(collection: Collection) -> None:
    add(pilot(collection))
    new_run(collection, "new", {"q1": ["p0"], "q2": ["p5"]})
    second = judged(collection, "second", runs=["new", "red"], selection="list", query_list="q1 q2")
    version = add(second, "A new run.")
    assert answers(version) == {"q1": "p0", "q2": "p4", "q3": "p7", "q4": "p9"}
    assert (version.number, version.added, version.changed, version.unchanged) == (2, 0, 1, 3)
    rows = version.settled.order_by("query__qid").values_list("query__qid", "kind", "before", "after")
    assert list(rows) == [("q1", "changed", ["p1"], ["p0"]), ("q2", "confirmed", ["p4"], ["p4"])]


def test_what_a_version_changed_comes_as_csv(collection: Collection, researcher: Client) -> None:
    add(pilot(collection))
    new_run(collection, "new", {"q1": ["p0"], "q2": ["p5"]})
    version = add(judged(collection, "second", runs=["new", "red"], selection="list", query_list="q1 q2"), "A new run.")
    sent = researcher.get(page("version", version), {"csv": "changes"})
    assert b"".join(sent.streaming_content).decode().splitlines() == ["query,kind,before,after", "q1,changed,p1,p0"]


def test_a_query_that_lacks_judgments_is_left_out_and_counted(collection: Collection) -> None:
    campaign = judged(collection, hits=1)
    version = add(campaign)
    assert 0 < version.queries < 4
    assert version.unsettled == 4 - version.queries
    judge(campaign)
    following = add(campaign, "All is judged now.")
    assert (following.number, following.queries, following.unsettled) == (2, 4, 0)
    assert following.added == version.unsettled
    assert answers(version).items() < answers(following).items()


def test_nothing_is_made_without_a_reason_a_settled_query_or_a_change(collection: Collection) -> None:
    untouched = factories.campaign(collection, "untouched", selection="list", query_list="q1")
    with pytest.raises(NotNow, match="“untouched” has not settled any query yet"):
        add(untouched)
    draft = factories.campaign(collection, "draft", start=False)
    with pytest.raises(Refused, match="has not started"):
        add(draft)
    check = judged(collection, "check", runs=["red"], design="champion_check")
    with pytest.raises(Refused, match="finds no best known answers"):
        add(check)
    campaign = judged(collection)
    with pytest.raises(Refused, match="Say in a sentence why"):
        add(campaign, "  ")
    assert not QrelsVersion.objects.exists()
    add(campaign)
    with pytest.raises(NotNow, match="Nothing would change: version 1 has the same"):
        add(campaign)
    assert QrelsVersion.objects.count() == 1


def test_no_version_is_made_from_a_trial_in_the_sandbox(collection: Collection) -> None:
    trial = pilot(collection)
    publication = Publication.objects.create(campaign=trial, platform=Platform.MTURK_SANDBOX)
    assert versions.why_no_version(trial) == "", "terms alone publish nothing: this was judged by links"
    Publication.objects.filter(pk=publication.pk).update(state=Publication.State.STOPPED)
    with pytest.raises(Refused, match="was a trial"):
        add(trial)
    assert not QrelsVersion.objects.exists()


def test_of_two_who_add_a_version_at_once_one_is_told(collection: Collection, rita: User) -> None:
    first, second = pilot(collection), judged(collection, "second", runs=["red"])
    versions.version_add(campaign=first, why="Mine.", by=rita, at=timezone.now(), parent=0)
    with pytest.raises(NotNow, match="Version 1 has been added in the meantime by rita, from the campaign “pilot”"):
        add(second, "Mine too.", parent=0)
    assert QrelsVersion.objects.count() == 1
    with pytest.raises(NotNow, match="Version 1 has been added"):
        add(second, "Mine too.", parent=7)


def test_the_database_refuses_to_change_or_delete_a_version(collection: Collection) -> None:
    version = add(pilot(collection))
    changes = (
        lambda: QrelsVersion.objects.filter(pk=version.pk).update(why="Something else."),
        lambda: VersionQuery.objects.filter(version=version).update(after=[]),
        lambda: VersionQuery.objects.filter(version=version).delete(),
    )
    for change in changes:
        with pytest.raises(DatabaseError, match="is append-only"), transaction.atomic():
            change()


def test_what_only_a_run_that_is_not_for_release_brought_is_not_in_a_version(collection: Collection) -> None:
    secret = new_run(collection, "secret", {"q1": ["p0"]})
    run_services.run_release(run=secret, is_released=False)
    version = add(judged(collection))
    assert answers(version) == {"q2": "p4", "q3": "p7", "q4": "p9"}
    assert (version.held_back, version.added) == (1, 3)
    campaign = Campaign.objects.get()
    inputs = inputs_of(campaign)
    data = to_json(compute(inputs, inputs.held_back(inputs.withheld), is_release=True))
    assert (data["held_back"], data["answered"], data["compare"]["queries"], data["incomplete"]) == (1, 3, 3, 0)
    assert {row["qid"] for row in data["stability"]} == {"q2", "q3"}, "as the other answers of the report"
    limits = findings(read(data))[-1]
    words = "1 query is left out here, in the qrels and in every score"
    assert any(sentence.startswith(words) for sentence in limits.sentences)
    run_services.run_release(run=secret, is_released=True)
    assert answers(add(Campaign.objects.get(), "It is for release now."))["q1"] == "p0"


# --- scores


def write_files(version: QrelsVersion, researcher: Client, folder: Path) -> tuple[Path, Path, list[Path]]:
    """A version's qrels as downloaded, the original qrels, and the runs as they were uploaded."""
    qrels, original, runs = folder / "preference.txt", folder / "original.txt", []
    qrels.write_bytes(researcher.get(page("version_file", version, "txt")).content)
    original.write_text(ORIGINAL)
    for run in version.collection.runs.order_by("name"):
        with run.original.open("rb") as file:
            runs.append(folder / f"{run.name}.txt")
            runs[-1].write_bytes(file.read())
    return qrels, original, runs


def test_scores_are_those_of_the_commands_on_the_downloaded_file(
    collection: Collection, researcher: Client, tmp_path: Path
) -> None:
    new_run(collection, "other", {"q1": ["p3", "p1"], "q2": ["p4"], "q3": ["x", "p7"], "q4": ["y"]})
    version = add(judged(collection, runs=["red", "green"]))
    assert result_jobs.score_versions(collection.pk) == "runs scored: 4"
    assert result_jobs.score_versions() == "runs scored: 0"
    qrels, original, runs = write_files(version, researcher, tmp_path)
    assert hashlib.sha256(qrels.read_bytes()).hexdigest() == version.sha256
    scored = json_of("score", "--qrels", qrels, *runs)
    board = json_of("leaderboard", "--json", "--qrels", original, "--preference-qrels", qrels, *runs)
    stored = {row.run.name: row for row in VersionScore.objects.select_related("run")}
    assert set(stored) == {"blue", "green", "other", "red"}
    on_board = board["runs"]
    for name, row in stored.items():
        assert row.rr == scored["runs"][name]["mean"]
        assert row.found == scored["runs"][name]["answered"]
        assert row.rr == on_board[name]["preference"]["mean"]
        assert [row.low, row.high] == list(on_board[name]["preference"]["t"])
        assert row.original == on_board[name]["original"]["mean"]
        assert [row.original_low, row.original_high] == list(on_board[name]["original"]["t"])
    text = text_of(researcher, page("version_scores", version))
    assert f"Kendall's tau between the two orders of the runs is {board['tau']:.3f}." in text
    assert all(f"{row.rr:.4f}" in text for row in stored.values())


def test_versions_are_scored_by_the_other_measures_of_their_campaign_too(
    collection: Collection, researcher: Client, tmp_path: Path
) -> None:
    new_run(collection, "other", {"q1": ["p3", "p1"], "q2": ["p4"], "q3": ["x", "p7"]})
    campaign = judged(collection, runs=["red", "green"])
    Campaign.objects.filter(pk=campaign.pk).update(measures="nDCG@3, RR@10, Compat@3")
    version = add(campaign)
    result_jobs.score_versions()
    qrels, original, runs = write_files(version, researcher, tmp_path)
    files = ("--qrels", original, "--preference-qrels", qrels, *runs)
    for measure in ("nDCG@3", "Compat@3"):
        board = json_of("leaderboard", "--json", "--measure", measure, *files)
        for row in VersionScore.objects.select_related("run"):
            scores, stored = board["runs"][row.run.name], row.others[measure]
            assert stored["mean"] == pytest.approx(scores["preference"]["mean"])
            assert stored["original"] == pytest.approx(scores["original"]["mean"])
    address = page("version_scores", version)
    html = researcher.get(address, {"measure": "nDCG@3"}).content.decode()
    assert "<option selected>nDCG@3</option>" in html and html.count("<option>RR@10</option>") == 1
    assert "Mean nDCG@3 over" in html and f"{VersionScore.objects.earliest('pk').others['nDCG@3']['mean']:.4f}" in html
    assert "?measure=nDCG%403&amp;sort=score" in html
    head = researcher.get(page("version_scores_file", version, "csv"), {"measure": "Compat@3"}).content.decode()
    assert head.splitlines()[0] == "rank,run,score,interval_low,interval_high,queries,other_rank,other,change"
    assert "Mean RR@10 over" in text_of(researcher, address + "?measure=bogus")

    assert result_jobs.score_versions() == "runs scored: 0"
    Campaign.objects.filter(pk=campaign.pk).update(measures="")
    assert result_jobs.score_versions() == f"runs scored: {len(runs)}"
    assert "nDCG" not in text_of(researcher, address)


def test_a_run_that_comes_later_or_goes_is_scored_on_all_versions_or_on_none(collection: Collection) -> None:
    campaign = judged(collection, hits=1)
    add(campaign)
    judge(campaign)
    add(campaign, "All is judged.")
    result_jobs.score_versions()
    assert VersionScore.objects.count() == 2 * 3
    new = factories.run(collection, "new", {"q1": ["p1"]})
    assert result_jobs.score_versions() == "runs scored: 1"
    assert VersionScore.objects.filter(run=new).count() == 2
    run_services.run_delete(run=new)
    assert VersionScore.objects.count() == 2 * 3
    assert result_jobs.score_versions() == "runs scored: 0"


def test_a_new_version_leaves_the_scores_on_earlier_ones_as_they_are(collection: Collection) -> None:
    campaign = judged(collection, hits=1)
    first = add(campaign)
    result_jobs.score_versions()
    scored = set(VersionScore.objects.values_list("run", "scored_at"))
    judge(campaign)
    second = add(campaign, "All is judged.")
    run = collection.runs.get(name="red")
    VersionScore.objects.filter(version=first, run=run).update(software="0.0/0")
    assert result_jobs.score_versions() == "runs scored: 3"
    assert VersionScore.objects.filter(version=second, software=scoring.SOFTWARE).count() == 3
    rows = set(VersionScore.objects.filter(version=first).values_list("run", "scored_at"))
    assert {pk for pk, at in rows - scored} == {run.pk}
    assert not VersionScore.objects.exclude(software=scoring.SOFTWARE).exists()


def test_a_killed_job_goes_on_where_it_stopped(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    add(pilot(collection))
    monkeypatch.setattr(scoring, "RUNS", 1)
    store, stored = scoring._store, []

    def killed(scores: list[VersionScore]) -> int:
        if stored:
            raise SystemExit
        stored.append(store(scores))
        return 1

    with monkeypatch.context() as patch:
        patch.setattr(scoring, "_store", killed)
        with pytest.raises(SystemExit):
            result_jobs.score_versions()
    assert VersionScore.objects.count() == 1
    assert result_jobs.score_versions() == "runs scored: 2"
    assert VersionScore.objects.count() == 3


def test_a_run_whose_file_is_missing_keeps_no_other_from_being_scored(
    collection: Collection, researcher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = add(pilot(collection))
    run = collection.runs.get(name="green")
    name, storage = str(run.artifact.name), run.artifact.storage
    with storage.open(name) as file:
        content = file.read()
    storage.delete(name)
    assert result_jobs.score_versions() == "runs scored: 3"
    text = text_of(researcher, page("version_scores", version))
    assert "1 run is not scored, because its file cannot be read" in text
    assert "The file of the run green is missing" in text
    assert result_jobs.score_versions() == "runs scored: 0"
    storage.save(name, io.BytesIO(content))
    monkeypatch.setattr(scoring, "REST", -scoring.REST)
    assert result_jobs.score_versions() == "runs scored: 1"
    assert not VersionScore.objects.exclude(error="").exists()


# --- pages


def test_a_researcher_makes_a_version_looks_at_it_and_compares_two(
    collection: Collection, researcher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_jobs.add_versions, "delay", lambda _asked: None)
    assert "Versions" not in text_of(researcher, reverse("pools:collection", args=[collection.pk]))
    campaign = judged(collection)
    form = reverse("results:version_new", args=[campaign.pk])
    assert "This will be the first version" in text_of(researcher, form)
    assert researcher.post(form, {"why": "", "parent": "0"}).status_code == 400
    waiting = researcher.post(form, {"why": "The first round.", "parent": "0"}, follow=True).redirect_chain[-1][0]
    assert not QrelsVersion.objects.exists()
    assert "Waiting to start." in text_of(researcher, waiting)
    again = researcher.post(form, {"why": "At once.", "parent": "0"})
    assert again.status_code == 409
    assert "A version is being made from this campaign already." in unescape(again.content.decode())
    assert result_jobs.add_versions(VersionRequest.objects.get().pk) == "versions made: 1"
    assert result_jobs.add_versions() == "versions made: 0"
    assert VersionScore.objects.filter(version=QrelsVersion.objects.get()).exists()
    added = page("version", QrelsVersion.objects.get())
    assert researcher.get(waiting, headers={"HX-Request": "true"}).headers["Location"] == added
    answer = researcher.get(waiting, follow=True)
    assert answer.redirect_chain == [(added, 303)]
    refused = researcher.post(form, {"why": "Again.", "parent": "0"}, follow=True).redirect_chain[-1][0]
    result_jobs.add_versions()
    assert "Version 1 has been added in the meantime by rita" in text_of(researcher, refused)
    once_more = researcher.get(f"{form}?again={VersionRequest.objects.latest('pk').pk}").content.decode()
    assert 'name="parent" value="1"' in once_more
    assert "Again." in once_more

    new_run(collection, "new", {"q1": ["p0"]})
    add(judged(collection, "second", runs=["new"]), "A new run.")
    result_jobs.score_versions()
    first, second = QrelsVersion.objects.order_by("number")
    text = text_of(researcher, page("version", second))
    assert "Before p1 Text of passage p1" in text
    assert "Now p0 Text of passage p0" in text
    assert second.sha256 in text
    assert "There is a newer version." in text_of(researcher, page("version", first))
    text = text_of(researcher, reverse("pools:collection", args=[collection.pk]))
    assert text.index("Version 2") < text.index("Version 1")
    beside = text_of(researcher, page("version_scores", second) + "?beside=1&sort=-run")
    assert "All runs on versions 2 and 1" in beside
    assert beside.index(" red ") < beside.index(" blue ")
    table = researcher.get(page("version_scores_file", second, "csv") + "?beside=1").content.decode().splitlines()
    assert table[0] == "rank,run,rr,interval_low,interval_high,found,other_rank,other,change"
    assert len(table) == 5
    assert researcher.get(page("version_scores_file", second, "tex")).status_code == 200
    tabs = researcher.get(page("version_file", second, "tsv")).content.decode()
    assert tabs.splitlines()[0] == "q1\t0\tp0\t1"


@pytest.mark.parametrize(
    ("name", "more", "query"),
    [("version_file", ["exe"], ""), ("version_scores_file", ["exe"], ""), ("version_scores", [], "?beside=7")],
)
def test_what_is_not_there_is_not_found(
    collection: Collection, researcher: Client, name: str, more: list[str], query: str
) -> None:
    version = add(pilot(collection))
    assert researcher.get(page(name, version, *more) + query).status_code == 404


def test_a_version_that_fails_again_and_again_is_given_up_with_a_message(
    collection: Collection, rita: User, researcher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = pilot(collection)
    request = version_requests.version_ask(campaign=campaign, why="Once.", parent=0, by=rita, at=timezone.now())

    def fail(**_given: Any) -> None:
        raise RuntimeError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(version_requests, "version_add", fail)
        patch.setattr(version_requests, "MOST_TRIES", 2)
        for _turn in range(2):
            with pytest.raises(RuntimeError):
                result_jobs.add_versions()
        assert result_jobs.add_versions() == "versions made: 0"  # nothing is left to try
    text = text_of(researcher, reverse("results:version_asked", args=[campaign.pk, request.pk]))
    assert "could not be made (RuntimeError: no room)" in text
    version_requests.version_ask(campaign=campaign, why="Again.", parent=0, by=rita, at=timezone.now())
    VersionRequest.objects.filter(ended_at=None).update(tries=version_requests.MOST_TRIES - 1)
    assert result_jobs.add_versions() == "versions made: 1"
    assert not version_requests.requests_open().exists()
