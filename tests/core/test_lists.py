"""Lists as files: all rows that the filter leaves, to those who may see the page."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from api import webhooks
from core.lists import BATCH, FEW
from core.models import Lab, User
from judgments import services as judgment_services
from judgments import summarizing, worker_reports
from judgments.models import WorkerNote
from machines.answers import machine_judge_import
from pools.models import Campaign, Pair
from review import adjudicating, deciding, reports
from runs.models import Collection, Job, Query, Run
from tasks.models import Worker
from tasks.names import pseudonym
from tests import factories

pytestmark = pytest.mark.django_db


def rows_of(client: Client, address: str, **filters: str) -> list[dict[str, str]]:
    """The lines of a file."""
    answer = client.get(address, {"csv": "list", **filters})
    assert answer.status_code == 200, answer.status_code
    assert answer["Content-Type"] == "text/csv; charset=utf-8" and answer.streaming
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))  # type: ignore[attr-defined]


@pytest.fixture
def page(client: Client, rita: User, lab: Lab) -> Client:
    """Rita's browser."""
    client.force_login(rita)
    return client


def test_lists_of_campaigns_runs_collections_and_queries_come_as_csv(page: Client, campaign: Campaign) -> None:
    collection = campaign.collection
    [row] = rows_of(page, reverse("campaigns:campaigns"))
    expected: dict[str, Any] = {"campaign": "pilot", "state": "open", "hits": "3", "pairs": "7", "collection": "small"}
    assert row.items() >= expected.items()
    assert row["created"] == campaign.created_at.isoformat()
    assert [run["run"] for run in rows_of(page, reverse("runs:runs"))] != []
    [row] = rows_of(page, reverse("runs:collections"))
    assert (row["collection"], row["queries"], row["runs"]) == ("small", "4", "3")
    queries = rows_of(page, reverse("judgments:queries", args=[campaign.pk]))
    assert [(query["query"], query["pairs"]) for query in queries] == [
        ("q1", "3"),
        ("q2", "3"),
        ("q3", "1"),
        ("q4", "0"),
    ]
    runs = rows_of(page, reverse("pools:collection", args=[collection.pk]), csv="runs")
    assert [run["run"] for run in runs] == ["blue", "green", "red"]
    assert {run["released"] for run in runs} == {"yes"}
    people = rows_of(page, reverse("core:people", args=[campaign.lab_id]))
    assert [(person["person"], person["role"]) for person in people] == [("rita", "researcher")]
    text = page.get(reverse("pools:collection", args=[collection.pk])).text
    assert 'href="?csv=runs"' in text and 'href="?csv=campaigns"' in text
    missing = page.get(reverse("campaigns:campaigns"), {"csv": "nothing"})
    assert missing["Content-Type"].startswith("text/html")


def test_lists_of_what_workers_meet_and_report_come_as_csv_without_a_name_or_word_of_theirs(
    page: Client, campaign: Campaign, alice: Worker, bob: Worker
) -> None:
    assignment = factories.take(alice, campaign)
    item = next(item for item in assignment.items.order_by("position") if item.pair_id)
    fields = {"assignment_id": assignment.pk, "position": item.position, "at": timezone.now()}
    worker_reports.pair_report(reason="broken", note="Call me, Alice", **fields)
    factories.judge(assignment, only={each.position for each in assignment.items} - {item.position})
    judgment_services.assignment_finish(assignment=assignment, at=timezone.now())
    assert item.pair is not None

    def at(name: str) -> str:
        return reverse(name, args=[campaign.pk])

    [reported] = rows_of(page, at("review:reports"))
    assert (
        reported.items() >= {"pair": str(item.pair_id), "workers": "1", "reasons": "broken:1", "waiting": "yes"}.items()
    )
    assert reported["a"] == item.pair.a.pid and reported["query"] == item.pair.pool.query.qid
    tests = rows_of(page, at("tasks:tests"), csv="reviewed")
    assert len(tests) == campaign.test_pairs.count() and {row["state"] for row in tests} == {"confirmed"}
    assert all(row["relevant_text"] and row["question"] for row in tests)
    assert rows_of(page, at("tasks:tests"), csv="suggested") == []
    panel = rows_of(page, at("tasks:panel"))
    names = [pseudonym(campaign, worker.pk) for worker in (alice, bob)]
    assert {row["worker"]: row["assignments"] for row in panel} == dict(zip(names, "10", strict=True))
    assert {row["consented"] for row in panel} == {"yes"}
    [consent] = rows_of(page, at("tasks:wording"), csv="versions")
    assert consent["version"] == "1" and consent["text"] == campaign.consent_texts.get().text
    everything = [*reported.values(), *(value for row in [*panel, *tests] for value in row.values())]
    assert not any("Alice" in value or "Bob" in value for value in everything)


def test_notes_machine_judges_jobs_and_webhooks_come_as_csv(
    page: Client, campaign: Campaign, rita: User, alice: Worker, bob: Worker
) -> None:
    lab, collection, at = campaign.lab, campaign.collection, timezone.now()
    lab.memberships.update(role="admin")
    for worker in (alice, bob):
        done = factories.do(worker, campaign)
        WorkerNote.objects.create(assignment=done, text="Call me, I am Alice", made_at=at)
    read = WorkerNote.objects.latest("id")
    reports.note_mark_read(campaign=campaign, note_id=read.pk, by=rita, at=at)
    address = reverse("review:reports", args=[campaign.pk])
    [unread] = rows_of(page, address, csv="notes")
    assert (unread["worker"], unread["read_by"], unread["read"]) == (pseudonym(campaign, alice.pk), "", "")
    every = rows_of(page, address, **{"csv": "notes", "notes-state": ""})
    assert [row["read_by"] for row in every] == ["rita", ""]
    assert not any("Alice" in value for row in every for value in row.values())

    for name, model in (("careful", "=7b"), ("plain", "7b")):
        answers = io.BytesIO(f"q1 p1 p2 p1\nq1 p2 p1 {'p1' if name == 'plain' else '='}\n".encode())
        about = {"filename": f"{name}.txt", "model": model, "prompt": "Which?", "by": rita, "at": at}
        machine_judge_import(collection=collection, name=name, source=answers, **about)
    [judge] = rows_of(page, reverse("machines:machines", args=[collection.pk]), name="care")
    assert (judge["name"], judge["model"], judge["answers"], judge["pairs"]) == ("careful", "'=7b", "2", "1")

    about = {"lab": lab, "collection": collection, "asked_by": rita, "asked_at": at, "request": {}}
    Job.objects.create(kind="run", name="bm25", state="refused", error="line 3", ended_at=at, **about)
    Job.objects.create(kind="run", name="done", state="done", ended_at=at, **about)
    for name, arguments in (("runs:runs", []), ("pools:collection", [collection.pk])):
        [job] = rows_of(page, reverse(name, args=arguments), csv="jobs")
        assert (job["name"], job["state"], job["error"], job["asked_by"]) == ("bm25", "refused", "line 3", "rita")

    hook, secret = webhooks.webhook_create(
        lab=lab, url="https://hooks.example.org/x", events=["alarm.raised", "job.failed"], by=rita, at=at
    )
    webhooks.webhook_test(webhook=hook, at=at)
    [row] = rows_of(page, reverse("api:webhooks", args=[lab.pk]))
    assert (row["url"], row["events"]) == ("https://hooks.example.org/x", "alarm.raised job.failed")
    [sent] = rows_of(page, reverse("api:webhook", args=[lab.pk, hook.pk]))
    assert (sent["event"], sent["tries"], sent["taken"]) == ("webhook.test", "0", "")
    assert secret not in str([row, sent])
    outsider = Client()
    outsider.force_login(factories.member(lab, "researcher"))
    assert outsider.get(reverse("api:webhook", args=[lab.pk, hook.pk]), {"csv": "list"}).status_code == 403


def test_disagreements_come_as_csv_with_what_was_decided(page: Client, lab: Lab, rita: User, tmp_path: Path) -> None:
    tops = {"red": {"q1": ["p1"], "q2": ["p3"]}, "green": {"q1": ["p2"], "q2": ["p4"]}}
    collection = factories.collection(tmp_path, in_lab=lab, qrels={"q1": ["p1"], "q2": ["p3"]}, tops=tops, name="split")
    campaign = factories.campaign(collection, "split", overlap=2, pairs_per_hit=2, tests_per_hit=2)
    for name, prefers in (("Ann", "a"), ("Ben", "b")):
        factories.do(factories.worker(campaign, name), campaign, prefer=prefers)
    summarizing.campaign_summarize(campaign=campaign)
    pair = Pair.objects.get(pool__campaign=campaign, pool__query__qid="q1")
    decided = {"campaign": campaign, "pair": pair, "expected": 0, "by": rita, "at": timezone.now()}
    adjudicating.pair_adjudicate(choice="b", note="=2+2", **decided)

    address = reverse("review:disagreements", args=[campaign.pk])
    assert [row["query"] for row in rows_of(page, address)] == ["q2"]
    [row] = rows_of(page, address, state="settled")
    assert (row["a"], row["b"], row["for_a"], row["for_b"]) == ("p1", "p2", "1", "1")
    assert (row["decision"], row["note"], row["decided_by"]) == ("b", "'=2+2", "rita")


def test_a_file_has_every_row_that_the_filter_leaves_sorted_and_no_formula(
    page: Client, collection: Collection
) -> None:
    like = Run.objects.filter(collection=collection).earliest("id")
    Run.objects.bulk_create(
        Run(lab=like.lab, collection=collection, name=f"=run {n:04}", census=like.census, sha256=str(n), original="a")
        for n in range(BATCH + 5)
    )
    runs = rows_of(page, reverse("runs:runs"), name="=run", sort="-name")
    assert len(runs) == BATCH + 5
    assert [runs[0]["run"], runs[-1]["run"]] == [f"'=run {BATCH + 4}", "'=run 0000"]
    text = page.get(reverse("runs:runs"), {"name": "=run", "sort": "-name"}).text
    assert "?name=%3Drun&amp;sort=-name&amp;csv=list" in text


def test_a_file_is_for_those_who_may_see_the_page(campaign: Campaign) -> None:
    outsider = Client()
    outsider.force_login(factories.member(factories.lab("Elsewhere"), "admin"))
    assert rows_of(outsider, reverse("campaigns:campaigns")) == []
    assert outsider.get(reverse("judgments:queries", args=[campaign.pk]), {"csv": "list"}).status_code == 404
    assert Client().get(reverse("runs:runs"), {"csv": "list"}).status_code == 302
    assert Query.objects.exists()


def test_decisions_and_what_became_of_each_row_of_a_decision_on_many_come_as_csv(
    page: Client, campaign: Campaign, alice: Worker, rita: User
) -> None:
    done = factories.do(alice, campaign)
    chosen, at = campaign.assignments.all(), timezone.now()
    bulk = deciding.bulk_create(campaign=campaign, action="exclude", chosen=chosen, why="=Odd", by=rita, at=at)
    deciding.bulk_run(bulk=bulk, at=at, seconds=60)
    expected: dict[str, Any] = {"kind": "excluded", "assignment": str(done.pk), "by": "rita", "why": "'=Odd"}
    for address in (
        reverse("review:work", args=[campaign.pk]),
        reverse("review:assignment", args=[campaign.pk, done.pk]),
        reverse("review:worker", args=[campaign.pk, alice.pk]),
    ):
        [row] = rows_of(page, address, csv="decisions")
        assert row.items() >= expected.items() and "Alice" not in str(row)
    [row] = rows_of(page, reverse("review:bulk", args=[campaign.pk, bulk.pk]))
    assert (row["assignment"], row["state"], row["error"]) == (str(done.pk), "done", "")


def test_a_short_list_has_no_filter_unless_the_filter_leaves_rows_out(page: Client, campaign: Campaign) -> None:
    def has_filter(**filters: str) -> bool:
        return 'role="search" class="row end"' in page.get(reverse("campaigns:campaigns"), filters).content.decode()

    assert not has_filter()
    assert has_filter(name="nothing like it")
    Campaign.objects.update(archived_at=timezone.now())
    assert has_filter()
    Campaign.objects.update(archived_at=None)
    for number in range(FEW):
        factories.campaign(campaign.collection, f"campaign {number}")
    assert has_filter()


def test_the_only_collection_need_not_be_chosen(page: Client, collection: Collection) -> None:
    answer = page.get(reverse("campaigns:campaign_new"))
    assert answer.headers["Location"] == f"{reverse('campaigns:campaign_new')}?collection={collection.pk}"
    Collection.objects.create(lab=collection.lab, name="another", language="en")
    assert page.get(reverse("campaigns:campaign_new")).status_code == 200
