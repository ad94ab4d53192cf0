"""The page of reported pairs and workers' notes: what waits for a person is seen, decided with a reason, and gone."""

import csv
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.models import User
from judgments import quality, reported, watching, worker_reports
from judgments import selectors as judgment_selectors
from judgments.evidence import Evidence
from judgments.models import PairDecision, PairReport, WorkerNote
from pools.models import Campaign, Pair
from review import jobs as review_jobs
from tasks.models import Assignment, Hit, Worker
from tasks.names import pseudonym
from tests import factories
from tests.judgments.test_reports import do_reporting, finish, items_of, report


def page_of(campaign: Campaign) -> str:
    return reverse("review:reports", args=[campaign.pk])


def decide(client: Client, pair: Pair, kind: str, why: str = "I read it.") -> Any:
    address = page_of(pair.pool.campaign)
    return client.post(address, {"pair": pair.pk, "decision": kind, "why": why}, follow=True)


def test_a_reported_pair_that_is_dismissed_is_offered_again(
    client: Client, campaign: Campaign, alice: Worker, bob: Worker, carol: Worker, rita: User
) -> None:
    client.force_login(rita)
    first, pair = do_reporting(alice, campaign)
    do_reporting(bob, campaign, pair)
    assert Hit.objects.get(pk=first.hit_id).needed == 0

    page = client.get(page_of(campaign)).text
    for text in (pair.pool.query.text, pair.a.text, pair.b.text, "reported by 2 workers", "broken or cut off"):
        assert text in page
    assert "set aside</span>" in page
    assert pseudonym(campaign, alice.pk) in page and "Alice" not in page

    assert decide(client, pair, "asked", " ").status_code == 400 and not PairDecision.objects.exists()
    assert "The reports are dismissed" in decide(client, pair, "asked", "It reads well.").text
    assert Hit.objects.get(pk=first.hit_id).needed == 1
    assert pair.pk in [item.pair_id for item in factories.do(carol, campaign).items]
    assert Evidence(campaign, pair.pool).preferences

    assert "No reported pair waits for a decision." in client.get(page_of(campaign)).text
    settled = client.get(page_of(campaign), {"state": "settled"}).text
    assert "It reads well." in settled and "rita" in settled and "Asked about again" in settled
    assert "Dismiss the reports" not in settled


def test_a_campaign_ends_without_a_pair_that_is_set_aside(
    client: Client, campaign: Campaign, alice: Worker, carol: Worker, rita: User
) -> None:
    client.force_login(rita)
    first, pair = do_reporting(alice, campaign)
    assert Hit.objects.get(pk=first.hit_id).needed == 1
    assert "The pair is set aside" in decide(client, pair, "set_aside").text
    while Hit.objects.filter(campaign=campaign, needed__gt=0).exists():
        assert factories.do(carol, campaign).hit_id != first.hit_id
    assert Evidence(campaign).derived.incomplete == (pair.pool.query.qid,)
    assert "No reported pair waits for a decision." in client.get(page_of(campaign)).text


def test_the_campaigns_page_counts_what_workers_reported_and_wrote_until_somebody_decides(
    client: Client, campaign: Campaign, alice: Worker, rita: User
) -> None:
    client.force_login(rita)
    assert watching.needs_of(campaign) == []
    assignment = factories.take(alice, campaign)
    two = items_of(assignment)[:2]
    for item in two:
        report(assignment, item)
    assert watching.needs_of(campaign) == []  # the worker may judge them after all
    factories.judge(assignment, only={item.position for item in assignment.items} - {item.position for item in two})
    assert finish(assignment).verdict == Assignment.Verdict.HELD
    note = worker_reports.note_write(assignment_id=assignment.pk, text="Both were cut off.", at=timezone.now())

    page = client.get(reverse("campaigns:campaign", args=[campaign.pk])).text
    work = reverse("review:work", args=[campaign.pk])
    for address, text in (
        (page_of(campaign), "Decide on 2 reported pairs."),
        (
            f"{work}?verdict=held",
            "Use or exclude the data of 1 assignment that reported many pairs, or failed an unproven test pair.",
        ),
        (f"{page_of(campaign)}#notes", "Read 1 note of a worker."),
    ):
        assert f'<a href="{address}">{text}</a>' in page
    assert str(assignment.pk) in client.get(work, {"verdict": "held"}).text

    assert "Both were cut off." in client.get(page_of(campaign)).text
    for _time in range(2):
        assert "Both were cut off." not in client.post(page_of(campaign), {"note": note.pk}, follow=True).text
    note.refresh_from_db()
    assert note.read_by == rita
    assert "Read by rita" in client.get(page_of(campaign), {"notes-state": "read"}).text
    for item in two:
        assert item.pair is not None
        decide(client, item.pair, "asked")
    assert [need.address for need in watching.needs_of(campaign)] == [f"{work}?verdict=held"]


def test_a_viewer_looks_and_cannot_decide_and_another_lab_sees_nothing(
    client: Client, campaign: Campaign, alice: Worker, tmp_path: Path
) -> None:
    assignment, pair = do_reporting(alice, campaign)
    note = worker_reports.note_write(assignment_id=assignment.pk, text="It was cut off.", at=timezone.now())
    posts: list[dict[str, Any]] = [{"pair": pair.pk, "decision": "asked", "why": "No."}, {"note": note.pk}]

    client.force_login(factories.member(campaign.lab, "viewer"))
    page = client.get(page_of(campaign)).text
    assert "reported by 1 worker" in page and "It was cut off." in page
    assert "Dismiss" not in page.partition("Dismissed:")[0] and "Mark as read" not in page
    assert [client.post(page_of(campaign), data).status_code for data in posts] == [403, 403]

    outsider = factories.member(factories.lab("Elsewhere"), "admin")
    client.force_login(outsider)
    assert client.get(page_of(campaign)).status_code == 404
    assert [client.post(page_of(campaign), data).status_code for data in posts] == [404, 404]
    elsewhere = factories.campaign(factories.small(tmp_path, outsider.memberships.get().lab), "theirs", start=False)
    assert [client.post(page_of(elsewhere), data).status_code for data in posts] == [404, 404]
    assert not PairDecision.objects.exists() and not WorkerNote.objects.exclude(read_at=None).exists()


def test_a_reported_test_pair_is_dropped_and_who_failed_it_alone_is_welcome_again(
    client: Client, campaign: Campaign, alice: Worker, bob: Worker, carol: Worker, rita: User
) -> None:
    client.force_login(rita)
    Campaign.objects.update(report_share="0.4")
    reporting = factories.take(alice, campaign)
    first, second = items_of(reporting, tests=True)
    report(reporting, first, note="Both are about it.")
    factories.judge(reporting, only={item.position for item in reporting.items} - {first.position})
    assert finish(reporting).verdict == Assignment.Verdict.ACCEPTED
    test = first.test
    assert test is not None and second.test is not None

    page = client.get(page_of(campaign)).text
    for text in (test.question, test.relevant_text, test.off_topic_text, "Both are about it."):
        assert text in page
    assert second.test.question not in page and "Alice" not in page

    def fail(worker: Worker, tests: set[int]) -> Assignment:
        """Take the HIT with both test pairs, and fail these."""
        quality.assignment_exclude(assignment=reporting, why="Again.", by=rita, at=timezone.now())
        assignment = Assignment.objects.create(
            campaign=campaign, hit=reporting.hit, worker=worker, taken_at=timezone.now(), leased_until=timezone.now()
        )
        for item in assignment.items:
            factories.judge(assignment, only=[item.position], fail_tests=item.test_id in tests)
        return finish(assignment)

    wronged, careless = fail(bob, {test.pk}), fail(carol, {test.pk, second.test.pk})
    assert wronged.verdict == careless.verdict == Assignment.Verdict.EXCLUDED
    data = {"test": test.pk, "why": " "}
    assert client.post(page_of(campaign), data).status_code == 400
    answer = client.post(page_of(campaign), data | {"why": "Both answer it."}, follow=True)
    assert "The test pair is dropped" in answer.text
    review_jobs.decide()
    for row in (wronged, careless, bob, carol):
        row.refresh_from_db()
    assert (wronged.verdict, bob.barred_at) == (Assignment.Verdict.ACCEPTED, None)
    assert careless.verdict == Assignment.Verdict.EXCLUDED and carol.barred_at is not None
    assert judgment_selectors.failed_tests(wronged) == []
    settled = client.get(page_of(campaign), {"tests-state": "dropped"}).text
    assert "Both answer it." in settled and "Drop this test pair" not in settled
    assert client.post(page_of(campaign), {"test": test.pk, "why": "Again."}).status_code == 303
    assert campaign.bulk_decisions.count() == 2


def test_however_often_a_test_pair_is_reported_no_other_loses_its_reports(
    client: Client, campaign: Campaign, alice: Worker, rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reported, "MOST_REPORTS", 2)
    client.force_login(rita)
    assignment = factories.take(alice, campaign)
    earlier, later = items_of(assignment, tests=True)
    report(assignment, earlier, note="The earlier one.")
    factories.judge(assignment, only={item.position for item in assignment.items} - {earlier.position})
    finish(assignment)
    for number in range(5):
        at = timezone.now()
        another = Assignment.objects.create(
            campaign=campaign,
            hit=assignment.hit,
            worker=factories.worker(campaign, f"Dan {number}"),
            state=Assignment.State.SUBMITTED,
            taken_at=at,
            leased_until=at,
            finished_at=at,
        )
        reason = "broken" if number else "other"
        PairReport.objects.create(assignment=another, item=later, reason=reason, note=f"Note {number}.", made_at=at)

    rows = csv.DictReader(client.get(page_of(campaign), {"csv": "tests"}).getvalue().decode().splitlines())
    assert earlier.test is not None and later.test is not None
    assert {(int(row["test_pair"]), row["workers"], row["reasons"]) for row in rows} == {
        (earlier.test.pk, "1", "broken:1"),
        (later.test.pk, "5", "broken:4 other:1"),
    }
    page = client.get(page_of(campaign)).text
    assert "The earlier one." in page and "reported by 1 worker<" in page and "reported by 5 workers<" in page
    assert [f"Note {number}." in page for number in range(5)] == [False, False, False, True, True]
    assert "and 3 earlier reports" in page and page.count('<li class="quiet">and') == 1
