"""Judgments that are made once count for a collection: imported, reused, never twice."""

import io
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.errors import NotNow, Refused
from evaluation.files.preferences import read_preferences
from evaluation.judging.tournament import derive
from judgments import quality, reusing
from judgments import selectors as judgment_selectors
from judgments import services as judgment_services
from judgments.evidence import Evidence
from judgments.jobs import make_exports
from judgments.models import Judgment, Reuse, ReusedJudgment
from judgments.summarizing import campaign_summarize
from judgments.weighing import weighed_pairs
from platforms.models import Publication
from platforms.money.bills import campaign_bill
from platforms.publishing.publications import publication_publish
from platforms.terms import publication_likely, publication_write
from pools import preference_imports
from pools.models import Campaign, Pair
from pools.reuse import reused_pairs
from results.finishing import campaigns_finish
from results.inputs import inputs_of
from results.jobs import compute_results
from results.refreshing import out_of_step, result_refresh
from results.sections.whole import compute
from results.selectors import result_status
from review.adjudicating import disagreements, pair_case
from runs import background
from runs import services as run_services
from runs.models import Collection, ImportedPreference, Job, Passage, PreferenceImport, Query
from tasks import services as task_services
from tasks.models import Assignment, Item, Platform
from tasks.services import NoWork
from tests import factories
from tests.rows import fresh
from tests.worlds import lay_out

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return factories.small(tmp_path, factories.lab())


def rows_of(collection: Collection) -> list[tuple[str, str, str, str]]:
    """The judgments that count in a collection."""
    return [tuple(row.preference) for row in judgment_selectors.collection_preferences(collection)]


def test_a_collection_has_the_judgments_that_count_of_all_its_campaigns_and_imports_oldest_first(
    collection: Collection, tmp_path: Path
) -> None:
    now = timezone.now()
    imported = PreferenceImport.objects.create(
        collection=collection, name="old", sha256="0" * 64, judgment_count=1, pair_count=1, imported_at=now
    )
    query, a, b = collection.queries.get(qid="q2"), *collection.passages.filter(pid__in=["p4", "p5"]).order_by("pid")
    ImportedPreference.objects.create(source=imported, line=1, query=query, a=a, b=b, prefers_a=False)
    first = factories.campaign(collection, "first", runs=["red"])
    second = factories.campaign(collection, "second", runs=["green"])
    for campaign, name, prefer in ((second, "ann", "b"), (first, "bob", "a")):
        factories.do(factories.worker(campaign, name), campaign, prefer=prefer)
    elsewhere = factories.small(tmp_path, factories.lab("Another lab"))
    other = factories.campaign(elsewhere, "other")
    factories.do(factories.worker(other, "cleo"), other)

    rows = judgment_selectors.collection_preferences(collection)

    sources = {row.campaign_id for row in rows}
    assert sources == {None, first.pk, second.pk}, "no other lab's judgments"
    assert rows[0][:4] == ("q2", "p4", "p5", "p5")
    assert (rows[0].import_id, rows[0].campaign_id, rows[0].worker_id) == (imported.pk, None, None)
    assert [row.at for row in rows] == sorted(row.at for row in rows)
    assert sorted(rows_of(collection)[1:]) == sorted(
        tuple(row) for campaign in (first, second) for row in Evidence(campaign).preferences
    )
    assert judgment_selectors.collection_preferences(collection, before=now) == []
    assert (
        judgment_selectors.collection_preferences(collection, before=now + timedelta(microseconds=1))[:1] == (rows[:1])
    )


def test_what_was_excluded_does_not_count_in_the_collection(collection: Collection) -> None:
    campaign = factories.campaign(collection)
    work = factories.do(factories.worker(campaign, "ann"), campaign)
    assert rows_of(collection)
    quality.assignment_exclude(assignment=work, why="careless", by=factories.user(), at=timezone.now())
    assert rows_of(collection) == []


# --- reuse


def judged(collection: Collection, name: str = "first", **settings: Any) -> Campaign:
    """A campaign over the collection that is judged, by as many workers as it asks for."""
    campaign = factories.campaign(collection, name, **settings)
    for number in range(campaign.overlap * campaign.hits.count()):
        factories.do(factories.worker(campaign, f"{name} {number}"), campaign, prefer="b")
    assert not Evidence(campaign).waiting
    return campaign


def first_of(collection: Collection, *runs: str) -> Campaign:
    """Such a campaign as the first over the collection of tests, made once: of some runs, or of all."""
    name = f"the first campaign that others reuse, over {' '.join(runs)} of collection {collection.pk}"
    lay_out(name, lambda: judged(collection, runs=runs or None))
    return Campaign.objects.get(collection=collection, name="first")


def preference_import(collection: Collection, *rows: tuple[str, str, str, str], name: str = "old") -> PreferenceImport:
    lines = "".join(" ".join(row) + "\n" for row in rows)
    return preference_imports.preferences_import(
        collection=collection,
        name=name,
        source=io.BytesIO(lines.encode()),
        filename=f"{name}.txt",
        note="Judged by hand.",
        by=None,
        at=timezone.now(),
    )


def test_a_second_campaign_asks_only_about_what_was_not_judged(collection: Collection) -> None:
    first = first_of(collection, "red", "blue")  # q1: p1 p2; q2: p4 p5
    assert first.reused_pair_count == 0

    second = factories.campaign(collection, "second", pairs_per_hit=2)

    assert (second.pair_count, second.reused_pair_count) == (7, 2)
    pairs = {
        (item.pair.a.pid, item.pair.b.pid) for item in Item.objects.filter(hit__campaign=second, pair__isnull=False)
    }
    assert pairs == {("p1", "p3"), ("p2", "p3"), ("p4", "p6"), ("p5", "p6"), ("p7", "p8")}
    assert campaign_bill(publication_likely(second)).assignments == second.hits.count() == 3
    progress = judgment_selectors.judging_progress(second)
    assert (progress.pairs, progress.done, progress.accepted, progress.reused) == (7, 2, 0, 2)
    accepted = Evidence(second).preferences
    assert accepted == Evidence(first).preferences
    assert Evidence(second).waiting == {"q1", "q2", "q3"}
    assert len(rows_of(collection)) == 2, "what was reused does not count twice in the collection"


def test_the_reused_judgments_decide_with_the_new_ones(collection: Collection) -> None:
    first_of(collection, "red", "blue")
    second = judged(collection, "second")
    afresh = judged(collection, "afresh", reuse="nothing")
    assert afresh.reused_pair_count == 0
    assert Evidence(second).derived == Evidence(afresh).derived
    assert Evidence(second).preferences == Evidence(afresh).preferences
    inputs = inputs_of(second)
    assert (second.pair_count, len(inputs.evidence.preferences), inputs.waiting) == (7, 7, frozenset())


def test_a_campaign_whose_pairs_are_all_judged_needs_no_test_pairs_and_no_crowd(collection: Collection) -> None:
    first = first_of(collection)

    second = factories.campaign(collection, "second", tests=0)

    assert second.state == Campaign.State.OPEN
    assert (second.reused_pair_count, second.hits.count()) == (7, 0)
    assert campaign_bill(publication_likely(second)).total == 0
    assert Evidence(second).derived == Evidence(first).derived
    assert out_of_step().filter(pk=second.pk).exists()
    compute_results(second.pk)
    make_exports(second.pk)
    status = result_status(second)
    assert (status.stale, status.judgments) == (False, 7)
    assert factories.exported(second)["preference-qrels.txt"] == factories.exported(first)["preference-qrels.txt"]
    campaigns_finish(at=timezone.now())
    second.refresh_from_db()
    assert second.is_finished
    with pytest.raises(NoWork, match="All tasks are done"):
        factories.take(factories.worker(second, "late"), second)


def test_a_draft_with_nothing_left_to_judge_asks_for_no_further_steps(collection: Collection, client: Client) -> None:
    first_of(collection, "red", "blue")
    client.force_login(factories.user("ria", is_staff=True))
    for runs, steps in ((["red", "blue"], False), (["red", "green"], True)):
        draft = factories.campaign(collection, " ".join(runs), runs=runs, tests=0, start=False)
        answer = client.get(reverse("campaigns:campaign", args=[draft.pk]))
        page = " ".join(answer.content.decode().split())
        assert (answer.context["next_step"] is not None) == steps
        assert ("Nothing is left to judge, so the results follow at once." in page) != steps


def test_without_enough_judged_pairs_a_campaign_still_needs_test_pairs(collection: Collection) -> None:
    first_of(collection, "red", "blue")
    with pytest.raises(Refused, match="at least 3 confirmed test pairs"):
        factories.campaign(collection, "second", tests=0)


@pytest.mark.parametrize(
    "differs", [{"question": "Which passage is funnier?"}, {"language": "de"}, {"reuse": "nothing"}]
)
def test_judgments_of_another_question_or_against_the_setting_are_not_reused(
    collection: Collection, differs: dict[str, str]
) -> None:
    first_of(collection)
    second = factories.campaign(collection, "second", **differs)
    assert second.reused_pair_count == 0
    assert Evidence(second).waiting == {"q1", "q2", "q3"}


def test_what_was_judged_in_a_sandbox_counts_in_that_trial_alone(collection: Collection) -> None:
    trial = first_of(collection)
    publication = Publication.objects.create(campaign=trial, platform=Platform.MTURK_SANDBOX)
    draft = factories.campaign(collection, "second", start=False)
    assert reused_pairs(draft) == 7, "terms alone publish nothing: this was judged by links"
    Publication.objects.filter(pk=publication.pk).update(state=Publication.State.STOPPED)

    assert reused_pairs(draft) == 0
    assert rows_of(collection) == []
    assert Evidence(trial).preferences
    client = Client()
    client.force_login(factories.user("ria", is_staff=True))
    page = " ".join(client.get(reverse("campaigns:campaign", args=[draft.pk])).content.decode().split())
    assert "1 other campaign over this collection was a trial" in page
    assert "asked another question" not in page
    factories.begin(draft)
    assert draft.reused_pair_count == 0

    Publication.objects.filter(pk=publication.pk).update(platform=Platform.MARKETPLACE)
    assert factories.campaign(collection, "third").reused_pair_count == 7
    assert len(rows_of(collection)) == 7


def test_a_pair_with_fewer_judgments_than_needed_is_asked_about_in_full(collection: Collection) -> None:
    first_of(collection, "red", "blue")
    judged(collection, "again", runs=["red", "blue"], reuse="nothing", selection="list", query_list="q1")
    twice = factories.campaign(collection, "twice", overlap=2)
    assert twice.reused_pair_count == 1, "p1 and p2 were judged twice, p4 and p5 once"
    rows = judgment_selectors.reused_judgments(twice)
    assert [(row.query, row.a, row.b, row.slot) for row in rows] == [("q1", "p1", "p2", 1), ("q1", "p1", "p2", 2)]
    assert rows[0].made_at < rows[1].made_at
    assert len({vote.worker for vote in inputs_of(twice).votes}) == 2
    p4 = Pair.objects.get(pool__campaign=twice, a__pid="p4", b__pid="p5")
    assert not p4.is_reused
    assert p4.reused.count() == 0
    assert {item.hit.needed for item in p4.items.all()} == {2}


def test_one_worker_fills_one_slot_however_often_they_judged_the_pair(collection: Collection) -> None:
    first = factories.campaign(collection, runs=["red", "blue"])
    again = factories.campaign(collection, "again", runs=["red", "blue"], reuse="nothing")
    ann = factories.worker(first, "ann")
    factories.do(ann, first)
    factories.worker(again, "ann")
    hit = again.hits.get()
    assignment = Assignment.objects.create(  # next_hit() would not give it to them
        campaign=again, hit=hit, worker=ann, taken_at=timezone.now(), leased_until=timezone.now() + timedelta(hours=1)
    )
    factories.judge(assignment)
    judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
    assert len(rows_of(collection)) == 4
    assert factories.campaign(collection, "twice", overlap=2).reused_pair_count == 0
    assert factories.campaign(collection, "once").reused_pair_count == 2


def test_imported_preferences_are_reused_by_those_who_say_so(collection: Collection) -> None:
    imported = preference_import(collection, ("q1", "p2", "p1", "p2"), ("q2", "p4", "p6", "p4"))
    assert factories.campaign(collection, "without").reused_pair_count == 0
    campaign = factories.campaign(collection, "with", reuse="all")
    assert campaign.reused_pair_count == 2
    (source,) = judgment_selectors.reuses_of(campaign)
    assert (source.imported, source.source, source.judgment_count) == (imported, None, 2)
    rows = judgment_selectors.reused_judgments(campaign)
    assert [(*row.preference, row.line, row.worker_id, row.counts) for row in rows] == [
        ("q1", "p1", "p2", "p2", 1, None, True),
        ("q2", "p4", "p6", "p4", 2, None, True),
    ]
    with pytest.raises(NotNow, match="campaigns reuse them: with"):
        preference_imports.preference_import_delete(preference_import=imported)
    assert imported.preferences.count() == 2


TIED = (
    *(("q1", "p1", "p2", "p1"), ("q1", "p2", "p1", "="), ("q1", "p1", "p3", "p1"), ("q1", "p1", "p3", "p1")),
    *(("q1", "p2", "p3", "="), ("q1", "p2", "p3", "="), ("q2", "p4", "p5", "="), ("q2", "p4", "p5", "=")),
    *(("q2", "p4", "p6", "="), ("q2", "p6", "p4", "="), ("q2", "p6", "p5", "p6"), ("q2", "p5", "p6", "=")),
    *(("q3", "p7", "p8", "p8"), ("q3", "p7", "p8", "p7")),
)


def test_reused_ties_are_half_a_win_for_both_and_exported_as_ties(collection: Collection, tmp_path: Path) -> None:
    preference_import(collection, *TIED)
    campaign = factories.campaign(collection, "tied", tests=0, reuse="all", overlap=2)
    assert (campaign.state, campaign.reused_pair_count) == (Campaign.State.OPEN, 7)
    derived = Evidence(campaign).derived
    assert derived.qrels == (("q1", "p1"), ("q2", "p6"), ("q3", "p7"), ("q3", "p8"), ("q4", "p9"))

    files = {name: content.decode() for name, content in factories.exported(campaign).items()}

    assert sorted(files["preferences.txt"].splitlines()) == sorted(
        " ".join((query, *sorted((a, b)), preferred)) for query, a, b, preferred in TIED
    )
    path = tmp_path / "preferences.txt"
    path.write_text(files["preferences.txt"])
    judgments = list(read_preferences(path, ties=True))
    assert derive(Evidence(campaign).pools, judgments).qrels == derived.qrels
    reused = [json.loads(line)["preferred"] for line in files["reused-judgments.jsonl"].splitlines()]
    assert reused.count("=") == 8
    pairs = {row["a"] + row["b"]: row for row in map(json.loads, files["pairs.jsonl"].splitlines())}
    counts = ("a_preferred", "b_preferred", "ties")
    assert [pairs["p1p2"][name] for name in counts] == [1, 0, 1]
    assert [pairs["p4p5"][name] for name in counts] == [0, 0, 2]
    assert len(files["judged-pairs.jsonl"].splitlines()) == 7, "a pair of which everything is a tie was judged"
    elsewhere = factories.small(tmp_path, factories.lab("Another lab"))
    rows = [(row.query, row.a, row.b, row.preferred or "=") for row in judgments]
    assert preference_import(elsewhere, *rows).judgment_count == len(TIED)


def test_a_reused_tie_disagrees_with_nobody_and_weighs_nothing(collection: Collection, client: Client) -> None:
    preference_import(collection, *TIED)
    campaign = factories.campaign(collection, "tied", tests=0, reuse="all", overlap=2, weighing="mace")
    assert weighed_pairs(campaign) == {}, "two unknown people weigh the same"
    campaign_summarize(campaign=campaign)
    (disagreement,) = disagreements(campaign)
    assert (disagreement.pair.a.pid, disagreement.for_a, disagreement.for_b) == ("p7", 1, 1)
    case = pair_case(campaign, Pair.objects.get(pool__campaign=campaign, a__pid="p1", b__pid="p2"))
    assert (case.for_a, case.for_b, case.disagrees, [row.prefers_a for row in case.judgments]) == (
        *(1, 0, False, [True, None]),
    )

    compute_results(campaign.pk)

    assert result_status(campaign).judgments == len(TIED)
    assert compute(inputs_of(campaign)).triples == (0, 0), "a tie decides no pair"
    client.force_login(factories.user("ria", is_staff=True))
    pools = {pool.query.qid: pool.pk for pool in campaign.pools.select_related("query")}
    page = " ".join(client.get(reverse("results:query", args=[campaign.pk, pools["q1"]])).content.decode().split())
    assert "1 to 0, 1 tie" in page and "0 to 0, 2 ties" in page and "<td>tie</td>" in page
    assert "waiting for judgments" not in page
    answer = client.get(reverse("review:disagreement", args=[campaign.pk, case.pair.pk])).content.decode()
    assert answer.count("<td>tie</td>") == 1


def test_what_is_excluded_at_its_source_stays_and_is_said(collection: Collection) -> None:
    first = first_of(collection, "red", "blue")
    second = factories.campaign(collection, "second")
    before = Evidence(second).preferences
    work = first.assignments.get()

    quality.assignment_exclude(assignment=work, why="careless", by=factories.user(), at=timezone.now())

    assert Evidence(second).preferences == before
    (reuse,) = judgment_selectors.reuses_of(second)
    assert (reuse.source, reuse.judgment_count) == (first, 2)
    assert [row.counts for row in judgment_selectors.reused_judgments(second)] == [False, False]
    files = factories.exported(second)
    assert [json.loads(line)["counts"] for line in files["reused-judgments.jsonl"].splitlines()] == [False, False]
    make_exports(second.pk)
    client = Client()
    client.force_login(factories.user("ria", is_staff=True))
    page = client.get(reverse("campaigns:plan", args=[second.pk])).text
    assert "2 of the reused judgments were excluded later" in page
    revision = second.revision
    assert fresh(second).revision == revision + 1, "its exports are made again"
    third = factories.campaign(collection, "third")
    assert third.reused_pair_count == 0


def test_packing_again_reuses_nothing_twice(collection: Collection) -> None:
    first_of(collection, "red", "blue")
    second = factories.campaign(collection, "second")
    assert not task_services.campaign_pack(campaign_id=second.pk)
    assert ReusedJudgment.objects.filter(reuse__campaign=second).count() == 2


def test_a_packing_that_fails_half_way_leaves_nothing(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    first_of(collection, "red", "blue")
    second = factories.campaign(collection, "second", start=False)
    task_services.campaign_launch(campaign=second)
    monkeypatch.setattr("tasks.services.next_ids", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        task_services.campaign_pack(campaign_id=second.pk)
    second.refresh_from_db()
    assert (second.state, second.reused_pair_count) == (Campaign.State.PACKING, 0)
    assert not Reuse.objects.exists()
    assert not Pair.objects.filter(is_reused=True).exists()
    monkeypatch.undo()
    assert task_services.campaign_pack(campaign_id=second.pk)
    assert ReusedJudgment.objects.count() == 2


def test_the_same_texts_under_other_ids_are_the_same_pair(collection: Collection) -> None:
    first_of(collection, "red", "blue")  # b is preferred: p2 over p1, p5 over p4
    text = Passage.objects.get(collection=collection, pid="p1").text
    twins = io.BytesIO(f"z1\t{text}\n".encode())
    twins.name = "twins.tsv"
    run_services.collection_import(lab=collection.lab, name="small", passages=twins, keep="all")
    factories.run(collection, "twin", {"q1": ["z1"], "q2": ["p4"]})
    preference_import(collection, ("q1", "z1", "p3", "z1"))
    campaign = factories.campaign(collection, "second", reuse="all")
    rows = {row[:3]: row.preference.preferred for row in judgment_selectors.reused_judgments(campaign)}
    assert rows == {("q1", "p1", "p2"): "p2", ("q1", "p1", "p3"): "p1", ("q2", "p4", "p5"): "p5"}


def test_a_draft_says_what_is_left_to_ask(collection: Collection) -> None:
    first_of(collection, "red", "blue")
    draft = factories.campaign(collection, "second", start=False)
    assert reused_pairs(draft) == 2
    assert campaign_bill(publication_likely(draft)).hits == 1
    assert campaign_bill(publication_likely(draft), pairs=7).hits == 1
    draft.pairs_per_hit = 1
    assert campaign_bill(publication_likely(draft)).hits == 5


def test_the_job_that_creates_a_draft_counts_what_it_reuses_and_pages_do_not(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    first_of(collection, "red", "blue")
    draft = factories.campaign(collection, "second", start=False)
    request = {"runs": list(draft.runs.values_list("pk", flat=True)), "settings": {}, "draft": draft.pk}
    about = {"lab": draft.lab, "collection": collection, "name": "second", "asked_at": timezone.now()}
    about["outcome_id"] = draft.pk
    job = Job.objects.create(**about, kind=Job.Kind.CAMPAIGN, request=request)
    with django_capture_on_commit_callbacks(execute=True):
        background.job_do(job_id=job.pk)
    job.refresh_from_db()
    assert (job.state, job.outcome_id) == (Job.State.DONE, draft.pk)
    monkeypatch.setattr(reusing, "_COUNT_STORED", "a count that no page may do")
    draft.refresh_from_db()
    assert reused_pairs(draft) == 2


def test_the_job_that_computes_results_counts_what_other_numbers_of_judgments_would_reuse_and_pages_do_not(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_of(collection, "red", "blue")
    campaign = factories.campaign(collection, "second", overlap=2)
    assert [reused_pairs(campaign, overlap=overlap) for overlap in (1, 2, 3)] == [2, 0, 0]
    cache.clear()
    result_refresh(campaign=campaign)
    monkeypatch.setattr(reusing, "_COUNT_STORED", "a count that no page may do")
    assert [reused_pairs(campaign, overlap=overlap) for overlap in (1, 2, 3)] == [2, 0, 0]


def test_pages_count_again_after_a_minute_while_a_source_changes_and_decisions_count_at_once(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = first_of(collection)
    draft = factories.campaign(collection, "second", start=False, tests=0)
    assert reused_pairs(draft) == 7
    work = first.assignments.order_by("id").first()
    assert work is not None
    quality.assignment_exclude(assignment=work, why="careless", by=factories.user(), at=timezone.now())

    assert reused_pairs(draft) == 7, "what pages show"
    with pytest.raises(Refused, match="at least 3 confirmed test pairs"):
        task_services.campaign_launch(campaign=draft)
    left = reused_pairs(draft, afresh=True)
    assert left < 7
    assert reused_pairs(draft) == left, "what was counted last"
    quality.assignment_restore(assignment=work, why="fine", by=factories.user("ria"), at=timezone.now())
    assert reused_pairs(draft) == left
    monkeypatch.setattr(reusing, "ESTIMATE_SECONDS", 0)
    assert reused_pairs(draft) == 7


def test_a_draft_counts_again_when_texts_come(collection: Collection) -> None:
    preference_import(collection, ("q1", "p2", "p3", "p2"))
    factories.run(collection, "twin", {"q1": ["z2", "p3"]})
    settings = {"depth": 2, "qrel_policy": "none", "selection": "list", "query_list": "q1", "reuse": "all"}
    draft = factories.campaign(collection, "second", runs=["twin"], start=False, **settings)
    others = factories.campaign(collection, "started", runs=["red"])
    assert (draft.pair_count, reused_pairs(draft)) == (1, 0)
    text = Passage.objects.get(collection=collection, pid="p2").text
    twins = io.BytesIO(f"z2\t{text}\n".encode())
    twins.name = "twins.tsv"

    run_services.collection_import(lab=collection.lab, name="small", passages=twins, keep="all")

    revision = others.revision
    draft.refresh_from_db()
    others.refresh_from_db()
    assert (draft.pair_count, reused_pairs(draft)) == (1, 1)
    assert others.revision == revision, "what has started keeps what it was packed with"


def test_exports_say_where_each_reused_judgment_comes_from(collection: Collection) -> None:
    first = first_of(collection, "red", "blue")
    preference_import(collection, ("q3", "p8", "p7", "p8"))
    second = factories.campaign(collection, "second", reuse="all")
    files = factories.exported(second)
    rows = [json.loads(line) for line in files["reused-judgments.jsonl"].splitlines()]
    assert [(row["query"], row["preferred"], row["source"], row["name"], row["line"]) for row in rows] == [
        ("q1", "p2", "campaign", "first", None),
        ("q2", "p5", "campaign", "first", None),
        ("q3", "p8", "import", "old", 1),
    ]
    keys = {judgment.pk for judgment in Judgment.objects.filter(assignment__campaign=first)}
    assert {row["judgment"] for row in rows[:2]} <= keys
    assert not any("worker" in row for row in rows)
    assert files["preferences.txt"] == b"q1 p1 p2 p2\nq2 p4 p5 p5\nq3 p7 p8 p8\n"
    assert files["pairs.jsonl"].count(b"\n") == 7
    assert files["judgments.jsonl"] == b""
    reused = json.loads(files["manifest.json"])["reused"]
    assert (reused["pairs"], reused["judgments"]) == (3, 3)
    assert [(source.get("campaign"), source.get("import"), source["judgments"]) for source in reused["sources"]] == [
        ("first", None, 2),
        (None, "old", 1),
    ]
    assert "reused" not in json.loads(factories.exported(first)["manifest.json"])


def test_the_page_of_a_query_names_the_sources_of_its_reused_judgments(collection: Collection) -> None:
    first = first_of(collection, "red", "blue")
    preference_import(collection, ("q3", "p8", "p7", "p8"))
    second = factories.campaign(collection, "second", reuse="all")
    client = Client()
    client.force_login(factories.user("ria", is_staff=True))

    def page(qid: str) -> str:
        pool = second.pools.get(query__qid=qid)
        return client.get(reverse("results:query", args=[second.pk, pool.pk])).content.decode()

    assert reverse("campaigns:campaign", args=[first.pk]) in page("q1") and "reused" in page("q1")
    assert "old" in page("q3") and "imported" in page("q3")
    assert "excluded there later" not in page("q1")
    work = first.assignments.get()
    quality.assignment_exclude(assignment=work, why="careless", by=factories.user(), at=timezone.now())
    assert "excluded there later" in page("q1")


def test_a_draft_names_what_it_reuses_and_what_it_does_not(collection: Collection) -> None:
    first = first_of(collection, "red", "blue")
    factories.campaign(collection, "other", question="Which is funnier?", reuse="nothing")
    draft = factories.campaign(collection, "second", start=False)
    client = Client()
    client.force_login(factories.user("ria", is_staff=True))
    page = " ".join(client.get(reverse("campaigns:campaign", args=[draft.pk])).content.decode().split())
    assert "7 pairs to compare (all pairs), 2 of them already judged and 5 to ask about, in 1 HIT." in page
    assert reverse("campaigns:campaign", args=[first.pk]) in page
    assert "1 other campaign over this collection asked another question" in page


def test_what_has_no_hits_is_not_published(collection: Collection) -> None:
    first_of(collection)
    second = factories.campaign(collection, "second", tests=0)
    publication = publication_write(campaign=second)
    with pytest.raises(Refused, match="There is nothing to publish: every pair was judged before"):
        publication_publish(publication=publication, at=timezone.now())


@pytest.mark.django_db(transaction=True)
def test_campaigns_that_are_packed_at_once_do_not_wait_for_each_other(collection: Collection) -> None:
    first_of(collection, "red", "blue")
    drafts = [factories.campaign(collection, f"draft {number}", start=False) for number in range(4)]
    for draft in drafts:
        task_services.campaign_launch(campaign=draft)

    def pack(number: int) -> bool:
        try:
            return task_services.campaign_pack(campaign_id=drafts[number // 2].pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        packed = list(pool.map(pack, range(8)))

    assert sum(packed) == 4, "each once"
    for draft in drafts:
        draft.refresh_from_db()
        assert (draft.state, draft.reused_pair_count) == (Campaign.State.OPEN, 2)
        assert ReusedJudgment.objects.filter(reuse__campaign=draft).count() == 2


def test_a_thirteenth_run_costs_its_new_pairs_and_not_all(data: Path, tmp_path: Path) -> None:
    before, after = {"made-up": (919, 1091), "trec-dl-2021": (1277, 1514)}[data.name]
    new = after - before
    hits = -(-new // 10)
    lab = factories.lab()
    collection = run_services.collection_import(
        lab=lab, name="passages", language="en", qrels=str(data / "sparse-qrels.txt")
    ).collection
    runs = sorted((data / "runs").glob("*.gz"))[:13]
    for path in runs[:12]:
        with path.open("rb") as file:
            run_services.run_import(collection=collection, name=path.name, source=file, filename=path.name)
    first = factories.campaign(collection, "twelve", reuse="all", start=False)
    pairs = set(Pair.objects.filter(pool__campaign=first).values_list("pool__query__qid", "a__pid", "b__pid"))
    oracle = [row for row in read_preferences(data / "oracle-preferences.txt.gz") if row[:3] in pairs]
    preference_import(collection, *oracle, name="oracle")  # type: ignore[arg-type]
    with runs[12].open("rb") as file:
        run_services.run_import(collection=collection, name=runs[12].name, source=file, filename=runs[12].name)
    Query.objects.filter(collection=collection).update(text="A question.")
    factories.analyze()

    draft = factories.campaign(collection, "thirteen", reuse="all", start=False)

    assert (first.pair_count, draft.pair_count, reused_pairs(draft)) == (before, after, before)
    bill = campaign_bill(publication_likely(draft))
    assert bill.hits == hits
    Passage.objects.filter(collection=collection).update(text="A passage.")
    factories.analyze()
    factories.begin(first)
    factories.begin(draft)
    assert (first.hits.count(), draft.hits.count()) == (0, hits)
    assert Item.objects.filter(hit__campaign=draft, pair__isnull=False).count() == new
    assert not Evidence(first).waiting
    pools = Evidence(first).pools
    assert Evidence(first).derived == derive(pools, oracle)
