"""What programs do with campaigns: wording, test pairs, work, terms, copies."""

from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from judgments.models import Decision
from platforms.models import Publication
from platforms.money.bills import remaining_bill
from pools.models import Campaign
from runs import background
from runs.models import Collection
from tasks.models import Assignment, TestPair, Worker
from tasks.names import pseudonym
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem

pytestmark = pytest.mark.django_db


def test_a_draft_is_worded_tested_and_started(program: Program, collection: Collection) -> None:
    factories.elsewhere(collection)
    draft = factories.campaign(collection, tests=0, start=False, tests_per_hit=1)
    address = f"campaigns/{draft.pk}/"
    assert program.get(f"{address}obstacles/").json()["obstacles"]

    words = {"question": "Which is better?", "name": "worded"}
    assert program.patch(address, words).json()["settings"]["question"] == "Which is better?"
    assert program.put(f"{address}consent/", {"text": "You agree."}).json() == {"version": 1, "text": "You agree."}
    assert program.get(f"{address}consent/").json()["text"] == "You agree."
    suggested = program.post(f"{address}test-pairs/suggest/", {"count": 3}).json()
    keys = [test["id"] for test in suggested]
    assert_problem(
        program.post(f"{address}test-pairs/decide/", {"test_pairs": [*keys, 10**9], "decision": "confirm"}), 404
    )
    confirming = {"test_pairs": keys, "decision": "confirm"}
    for key in keys[1:]:
        assert program.post(f"{address}test-pairs/{key}/open/").json()["off_topic_text"]
    assert_problem(program.post(f"{address}test-pairs/decide/", confirming), 409, says="you have not opened it")
    assert not TestPair.objects.filter(state=TestPair.State.CONFIRMED).exists()
    assert_problem(program.post(f"{address}test-pairs/{10**9}/open/"), 404)
    browser = Client()
    browser.force_login(program.user)
    browser.post(reverse("tasks:tests_decide", args=[draft.pk]), {"read_one": keys[0]})  # what is read there counts
    assert program.post(f"{address}test-pairs/decide/", confirming).status_code == 200

    assert program.get(f"{address}obstacles/").json()["obstacles"] == []
    assert program.post(f"{address}start/").json()["state"] == "packing"
    assert_problem(program.patch(address, {"name": "kept", "question": "Another?"}), 409)
    draft.refresh_from_db()
    assert draft.name == "worded"  # all of a change, or nothing


def test_a_draft_gets_a_worked_example_of_its_own(
    program: Program, viewer: Program, collection: Collection, campaign: Campaign
) -> None:
    draft = factories.campaign(collection, "draft", start=False)
    address, empty = f"campaigns/{draft.pk}/example/", dict.fromkeys(["query", "better", "worse", "explanation"], "")
    example = {"query": "how tall", "better": "So tall.", "worse": "Far away.", "explanation": "It says how tall."}
    assert viewer.get(address).json() == empty
    assert_problem(program.put(address, example | {"worse": " "}), 400, field="worse", says="all four")
    assert_problem(program.put(address, {"query": "how tall"}), 400, field="better")
    assert_problem(program.put(f"campaigns/{campaign.pk}/example/", example), 409, says="has started")
    draft.refresh_from_db()
    assert draft.example_query == ""

    assert program.put(address, example).json() == example
    draft.refresh_from_db()
    assert (draft.example_query, draft.example_why) == ("how tall", "It says how tall.")
    assert program.put(address, empty).json() == empty


def test_a_copy_has_the_settings_but_for_those_that_are_sent(program: Program, campaign: Campaign) -> None:
    job = program.post(f"campaigns/{campaign.pk}/copy/", {"name": "twice", "overlap": 2, "redo_rate": "0.25"})
    assert job.status_code == 202
    background.job_do(job_id=job.json()["id"])

    done = program.get(job["Location"]).json()
    copy = program.get(f"campaigns/{done['campaign']}/").json()
    assert (copy["name"], copy["settings"]["overlap"], copy["settings"]["redo_rate"]) == ("twice", 2, "0.250")
    assert copy["settings"]["pairs_per_hit"] == campaign.pairs_per_hit
    assert copy["runs"] == program.get(f"campaigns/{campaign.pk}/").json()["runs"]


def test_work_is_decided_on_by_pseudonym_and_with_a_reason(program: Program, campaign: Campaign, alice: Worker) -> None:
    done = factories.do(alice, campaign)
    name = pseudonym(campaign, alice.pk)
    address = f"campaigns/{campaign.pk}/"
    [worker] = program.get(f"{address}workers/").json()["results"]
    assert (worker["worker"], worker["assignments"]) == (name, 1)
    assert program.get(f"{address}assignments/{done.pk}/").json()["worker"] == name
    assert "Alice" not in program.get(f"{address}assignments/").text

    assert_problem(program.post(f"{address}assignments/{done.pk}/exclude/", {}), 400, field="why")
    excluded = program.post(f"{address}assignments/{done.pk}/exclude/", {"why": "Too fast."}).json()
    assert excluded["verdict"] == Assignment.Verdict.EXCLUDED
    program.post(f"{address}assignments/{done.pk}/include/", {"why": "Not so fast."})
    assert program.post(f"{address}workers/{name}/bar/", {"why": "Enough."}).json()["barred"] is True
    assert program.post(f"{address}workers/{name}/unbar/", {"why": "Sorry."}).json()["barred"] is False

    decided = program.get(f"{address}decisions/").json()["results"]
    kinds = [Decision.Kind.UNBARRED, Decision.Kind.BARRED, Decision.Kind.RESTORED, Decision.Kind.EXCLUDED]
    assert [decision["kind"] for decision in decided] == kinds
    assert {decision["by"] for decision in decided} == {"rita"}
    assert_problem(program.get(f"{address}workers/{'0' * 16}/"), 404)


def test_terms_are_set_and_nothing_is_published_at_another_amount(program: Program, campaign: Campaign) -> None:
    address = f"campaigns/{campaign.pk}/publication/"
    assert_problem(program.get(address), 404)
    assert_problem(program.patch(address, {"lifetime_days": 9999}), 400, field="lifetime_days")
    assert not Publication.objects.exists()

    terms = {"platform": "marketplace", "countries": ["US", "GB"], "approved": None, "lifetime_days": 3.5}
    changed = program.patch(address, terms).json()
    assert changed["terms"] | terms == changed["terms"]
    assert program.patch(address, {"keywords": "words"}).json()["terms"]["countries"] == ["US", "GB"]
    publication = Publication.objects.get(campaign=campaign)
    assert Decimal(changed["amount"]) == remaining_bill(publication).total

    assert_problem(program.post(f"{address}publish/", {"amount": "0.01"}), 400, field="amount")
    assert_problem(program.post(f"{address}publish/", {}), 400, field="amount")
    assert_problem(program.post(f"{address}stop/"), 409)
    publication.refresh_from_db()
    assert (publication.state, publication.published_at) == (Publication.State.DRAFT, None)
