"""Settling disagreements: a person decides on a pair side by side, that counts instead of its judgments, and can be
taken back.
"""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser

from core.errors import NotNow, NotYours
from core.models import AuditEntry, Lab, User
from evaluation.files.preferences import read_preferences
from evaluation.judging.tournament import derive
from judgments import quality, summarizing, worker_reports
from judgments.evidence import Evidence
from judgments.models import Acceptance, Adjudication, Disagreement, Judgment
from pools.models import Campaign, Pair
from results.findings import findings
from results.inputs import inputs_of
from results.sections.stored import to_json
from results.sections.whole import compute, read
from results.versions import version_add
from review import adjudicating
from tasks.models import Worker
from tasks.names import pseudonym
from tests import browser, factories
from tests.looking import looks_right


@pytest.fixture
def split(lab: Lab, tmp_path: Path) -> Campaign:
    """A campaign over two queries with a pair each, both judged by Ann for a, by Ben for b, and by Cem for b."""
    tops = {"red": {"q1": ["p1"], "q2": ["p3"]}, "green": {"q1": ["p2"], "q2": ["p4"]}}
    qrels = {"q1": ["p1"], "q2": ["p3"]}
    collection = factories.collection(tmp_path, in_lab=lab, qrels=qrels, tops=tops, name="split")
    campaign = factories.campaign(collection, "split", overlap=3, pairs_per_hit=2, tests_per_hit=2)
    for name, prefers in (("Ann", "a"), ("Ben", "b"), ("Cem", "b")):
        factories.do(factories.worker(campaign, name), campaign, prefer=prefers)
    summarizing.campaign_summarize(campaign=campaign)
    return campaign


def pair_on(campaign: Campaign, qid: str) -> Pair:
    return Pair.objects.get(pool__campaign=campaign, pool__query__qid=qid)


def page_of(pair: Pair) -> str:
    return reverse("review:disagreement", args=[pair.pool.campaign_id, pair.pk])


def seen_on(client: Client, pair: Pair) -> dict[str, str]:
    """What the form on a pair's page says of the decision that it was shown with."""
    (key,) = set(re.findall(r'name="seen" value="(\d+)"', client.get(page_of(pair)).text))
    return {"seen": key}


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(content.decode().splitlines(), delimiter="\t"))


def test_a_person_settles_a_pair_beside_its_judgments_and_goes_on_to_the_next(
    client: Client, split: Campaign, rita: User
) -> None:
    client.force_login(rita)
    first, second = pair_on(split, "q1"), pair_on(split, "q2")
    report = Judgment.objects.filter(item__pair=first).first()
    assert report is not None
    worker_reports.note_write(assignment_id=report.assignment_id, text="I was not sure about this.", at=timezone.now())
    answer = client.get(reverse("review:disagreements", args=[split.pk]))
    assert [row.pair for row, _decided in answer.context["rows"]] == [first, second]
    assert "1 to 2" in answer.text

    page = client.get(page_of(first)).text
    for text in (first.a.text, first.b.text, "Judgments for A: 1; for B: 2.", "I was not sure about this."):
        assert text in page
    for worker in Worker.objects.filter(assignments__campaign=split):
        assert pseudonym(split, worker.pk) in page and worker.label not in page

    judgments = list(Judgment.objects.values_list("pk", "preferred"))
    assert Evidence(split).derived.qrels == (("q1", "p2"), ("q2", "p4"))
    following = client.post(page_of(first), {"choice": "a", "note": "It answers the question."}, follow=True)
    assert following.redirect_chain == [(f"{page_of(second)}?after={first.pk}", 303)]
    assert "You decided on the pair before: passage A" in following.text
    assert Evidence(split).derived.qrels == (("q1", "p1"), ("q2", "p4"))
    assert list(Judgment.objects.values_list("pk", "preferred")) == judgments

    query = client.get(reverse("results:query", args=[split.pk, first.pool_id])).text
    assert "settled: passage 1" in query and "1 to 2" in query and page_of(first) in query
    settled = client.get(reverse("review:disagreements", args=[split.pk]), {"state": "settled"})
    assert [(row.pair, by.by) for row, by in settled.context["rows"]] == [(first, rita)]
    last = client.post(page_of(second), {"choice": "unsure"}, follow=True)
    assert "Every disagreement is settled." in last.text
    assert Evidence(split).derived.qrels == (("q1", "p1"), ("q2", "p4"))  # the judgments still decide


def test_a_decision_is_taken_back_and_decided_anew_and_every_step_is_kept(
    client: Client, split: Campaign, rita: User
) -> None:
    client.force_login(rita)
    pair, before = pair_on(split, "q1"), Campaign.objects.get(pk=split.pk).revision
    for data in ({"choice": "a", "note": "First."}, {"choice": "a", "note": "First."}, {"undo": "yes"}):
        assert client.post(page_of(pair), data | seen_on(client, pair)).status_code == 303
    assert Campaign.objects.get(pk=split.pk).revision == before + 2
    assert Evidence(split).derived.qrels == (("q1", "p2"), ("q2", "p4"))
    client.post(page_of(pair), {"choice": "a"} | seen_on(client, pair))
    client.post(page_of(pair), {"choice": "tie"} | seen_on(client, pair))
    rows = list(Adjudication.objects.order_by("id").values_list("choice", "note", "undone_by"))
    assert rows == [("a", "First.", rita.pk), ("a", "", rita.pk), ("tie", "", None)]
    assert Evidence(split).derived.qrels == (("q1", "p1"), ("q1", "p2"), ("q2", "p4"))

    entries = AuditEntry.objects.filter(subject="judgments_adjudication").order_by("id")
    actions = ["insert", "update", "insert", "update", "insert"]
    assert [entry.action for entry in entries] == actions and entries[0].why == "First."
    for statement in ("UPDATE judgments_adjudication SET choice = 'b'", "DELETE FROM judgments_adjudication"):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)


def test_a_decision_that_somebody_else_made_meanwhile_is_neither_replaced_nor_taken_back_unseen(
    client: Client, split: Campaign, rita: User
) -> None:
    pair = pair_on(split, "q1")
    client.force_login(rita)
    unsettled = seen_on(client, pair)
    sam = factories.member(split.lab, "researcher")
    adjudicating.pair_adjudicate(campaign=split, pair=pair, choice="b", expected=0, by=sam, at=timezone.now())
    refused = client.post(page_of(pair), {"choice": "a"} | unsettled)
    assert refused.status_code == 409 and f"by {sam}" in refused.text
    assert client.post(page_of(pair), {"choice": "b"} | unsettled).status_code == 303  # the same: nothing is lost

    earlier = seen_on(client, pair)
    standing = Adjudication.objects.get()
    assert (standing.choice, standing.by, standing.undone_at) == ("b", sam, None)
    anew = {"choice": "tie", "expected": standing.pk, "by": sam, "at": timezone.now()}
    adjudicating.pair_adjudicate(campaign=split, pair=pair, **anew)
    assert client.post(page_of(pair), {"undo": "yes"} | earlier).status_code == 409
    assert Adjudication.objects.get(undone_at=None).choice == "tie"
    adjudicating.adjudication_undo(
        campaign=split, pair=pair, expected=Adjudication.objects.get(undone_at=None).pk, by=sam, at=timezone.now()
    )
    assert client.post(page_of(pair), {"choice": "b"} | earlier).status_code == 409
    assert not Adjudication.objects.filter(undone_at=None).exists()


def test_only_a_pair_whose_judgments_disagree_is_settled_and_only_by_who_may(
    client: Client, split: Campaign, campaign: Campaign, alice: Worker, rita: User
) -> None:
    pair = pair_on(split, "q1")
    factories.do(alice, campaign)
    agreed = Pair.objects.filter(acceptances__assignment__worker=alice).first()
    assert agreed is not None
    fields: dict[str, Any] = {"choice": "a", "expected": 0, "by": rita, "at": timezone.now()}
    with pytest.raises(NotNow):
        adjudicating.pair_adjudicate(campaign=campaign, pair=agreed, **fields)
    with pytest.raises(NotYours):
        adjudicating.pair_adjudicate(campaign=campaign, pair=pair, **fields)
    client.force_login(factories.member(split.lab, "viewer"))
    assert client.get(page_of(pair)).status_code == 200
    assert client.post(page_of(pair), {"choice": "a"}).status_code == 403
    client.force_login(rita)
    assert client.post(page_of(pair), {"choice": "left"}).status_code == 400
    assert not Adjudication.objects.exists()


@pytest.mark.parametrize("choice", ["a", "tie"])
def test_exports_say_what_was_settled_and_keep_what_workers_said_apart_from_what_the_qrels_follow_from(
    split: Campaign, rita: User, tmp_path: Path, choice: str
) -> None:
    plain = factories.exported(split)
    assert (
        rows(plain["adjudications.tsv"]) == []
        and "pairs adjudicated" not in json.loads(plain["manifest.json"])["counts"]
    )
    pair, at = pair_on(split, "q1"), timezone.now()
    adjudicating.pair_adjudicate(campaign=split, pair=pair, choice=choice, note="Why\tnot.", expected=0, by=rita, at=at)
    files = factories.exported(split)
    (row,) = rows(files["adjudications.tsv"])
    assert (row["query"], row["choice"], row["a_preferred"], row["b_preferred"]) == ("q1", choice, "1", "2")
    assert row["by"] == pseudonym(split, rita.pk, "person") and row["note"] == "Why not." and not row["undone_at"]
    assert b"rita" not in b"".join(files.values())
    pairs = {row["query"]: row for row in rows(files["pairs.tsv"])}
    assert (pairs["q1"]["a_preferred"], pairs["q1"]["adjudicated"], pairs["q2"]["adjudicated"]) == ("1", choice, "")
    judged = {row["query"]: row["preferred"] for row in rows(files["judged-pairs.tsv"])}
    assert judged == {"q1": "a" if choice == "a" else "", "q2": "b"}
    counts = json.loads(files["manifest.json"])["counts"]
    assert (counts["judgments accepted"], counts["pairs adjudicated"]) == (6, 1)
    assert files["judgments.tsv"] == plain["judgments.tsv"]

    assert files["preferences.txt"] == plain["preferences.txt"] == plain["counted-preferences.txt"]
    played = tmp_path / "counted-preferences.txt"
    played.write_bytes(files["counted-preferences.txt"])
    pools = {"q1": ("p1", "p2"), "q2": ("p3", "p4")}
    qrels = derive(pools, read_preferences(played, ties=True)).qrels
    assert [f"{query} 0 {pid} 1" for query, pid in qrels] == files["preference-qrels.txt"].decode().splitlines()


def test_results_say_how_many_were_settled_and_agreement_is_the_workers_alone(split: Campaign, rita: User) -> None:
    before = to_json(compute(inputs_of(split)))
    pair, at = pair_on(split, "q1"), timezone.now()
    adjudicating.pair_adjudicate(campaign=split, pair=pair, choice="a", expected=0, by=rita, at=at)
    after = to_json(compute(inputs_of(split)))
    assert (before["adjudicated"], after["adjudicated"]) == (0, 1)
    assert after["agreement"] == before["agreement"] and after["judgments"] == before["judgments"] == 6
    assert (before["changed"], after["changed"]) == (2, 1)
    text = " ".join(sentence for finding in findings(read(after)) for sentence in finding.sentences)
    assert "1 pair whose judgments disagreed was adjudicated by a person" in text


def test_how_certain_an_answer_is_follows_from_the_workers_judgments_not_from_one_decision(
    split: Campaign, rita: User
) -> None:
    by_query = {answer["qid"]: answer for answer in to_json(compute(inputs_of(split)))["stability"]}
    pair, at = pair_on(split, "q1"), timezone.now()
    adjudicating.pair_adjudicate(campaign=split, pair=pair, choice="a", expected=0, by=rita, at=at)
    settled = {answer["qid"]: answer for answer in to_json(compute(inputs_of(split)))["stability"]}
    assert (by_query["q1"]["best"], settled["q1"]["best"]) == (["p2"], ["p1"])
    assert settled["q1"]["share"] == pytest.approx(1 - by_query["q1"]["share"])  # three judgments cannot tie
    assert settled["q2"] == by_query["q2"]


def test_a_decision_counts_only_while_the_judgments_disagree(client: Client, split: Campaign, rita: User) -> None:
    pair = pair_on(split, "q1")
    adjudicating.pair_adjudicate(campaign=split, pair=pair, choice="a", expected=0, by=rita, at=timezone.now())
    version = version_add(campaign=split, why="Settled.", by=rita, at=timezone.now())
    assert version.adjudicated == 1
    client.force_login(rita)
    version_page = reverse("results:version", args=[split.collection_id, version.number])
    assert "1 pair whose judgments disagreed was decided by a person" in client.get(version_page).text

    work = Worker.objects.get(label="Ann").assignments.get()
    quality.assignment_exclude(assignment=work, why="Careless.", by=rita, at=timezone.now())
    factories.do(factories.worker(split, "Dan"), split, prefer="b")
    assert Evidence(split).derived.qrels == (("q1", "p2"), ("q2", "p4"))
    files = factories.exported(split)
    assert b"q1 0 p2 1" in files["preference-qrels.txt"] and b"adjudicated" not in files["pairs.tsv"]
    assert files["counted-preferences.txt"] == files["preferences.txt"]
    assert to_json(compute(inputs_of(split)))["adjudicated"] == 0
    assert version_add(campaign=split, why="Redone.", by=rita, at=timezone.now()).adjudicated == 0
    page, query = (
        client.get(address).text for address in (page_of(pair), reverse("results:query", args=[split.pk, pair.pool_id]))
    )
    assert "so they count, and what was decided does not" in page and "Settled:" not in page
    assert "decided, but not counted: the judgments do not disagree" in query and "settled: passage" not in query


def test_disagreements_are_counted_anew_when_work_is_excluded_and_narrowed_to_a_worker(
    client: Client, split: Campaign, rita: User
) -> None:
    client.force_login(rita)
    ann = Worker.objects.get(label="Ann")
    address = reverse("review:disagreements", args=[split.pk])
    of_ann = client.get(address, {"worker": ann.pk})
    assert len(of_ann.context["rows"]) == 2 and pseudonym(split, ann.pk) in of_ann.text
    stranger = factories.worker(split, "Dan")
    assert not client.get(address, {"worker": stranger.pk}).context["rows"]
    assert f"{address}?worker={ann.pk}" in client.get(reverse("review:worker", args=[split.pk, ann.pk])).text
    work = ann.assignments.get()
    quality.assignment_exclude(assignment=work, why="Careless.", by=rita, at=timezone.now())
    summarizing.campaign_summarize(campaign=split)
    assert not Disagreement.objects.exists()
    assert "do not disagree now" in client.get(page_of(pair_on(split, "q1"))).text


def test_whoever_settles_one_workers_disagreements_is_not_told_that_all_are_settled(
    client: Client, split: Campaign, rita: User
) -> None:
    client.force_login(rita)
    ann, pair, other = Worker.objects.get(label="Ann"), pair_on(split, "q1"), pair_on(split, "q2")
    Acceptance.objects.filter(pair=other, worker=ann).update(worker=factories.worker(split, "Dan"))
    page = client.post(f"{page_of(pair)}?worker={ann.pk}", {"choice": "a"}, follow=True).text
    assert "Every disagreement on pairs that this worker judged is settled." in page
    assert "Every disagreement is settled." not in page
    following = client.post(page_of(pair), {"choice": "b"} | seen_on(client, pair), follow=True)
    assert following.redirect_chain == [(f"{page_of(other)}?after={pair.pk}", 303)]


@pytest.mark.django_db(transaction=True)
def test_disagreements_are_settled_with_the_keyboard_alone_and_the_pages_fit(
    split: Campaign, rita: User, live_server: Any, settings: Any, chromium: Browser
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    settings.RATELIMIT_ENABLE = False
    first, second = pair_on(split, "q1"), pair_on(split, "q2")
    page = browser.sign_in(chromium.new_context(base_url=live_server.url), live_server.url, rita)
    page.goto(reverse("review:disagreements", args=[split.pk]))
    looks_right(page)
    page.get_by_role("link", name="Settle them one by one").click()
    page.wait_for_url(lambda url: page_of(first) in url)
    page.keyboard.press("n")
    page.wait_for_url(lambda url: page_of(second) in url)
    page.keyboard.press("2")
    page.wait_for_url(lambda url: page_of(first) in url)
    page.get_by_label("Note").fill("1")  # what is typed decides nothing
    looks_right(page)
    page.get_by_role("heading", name="Judgments").click()
    page.keyboard.press("u")
    page.get_by_text("The decision is taken back").wait_for()
    assert page_of(second) in page.url
    assert list(Adjudication.objects.values_list("pair", "choice", "undone_by")) == [(second.pk, "b", rita.pk)]
