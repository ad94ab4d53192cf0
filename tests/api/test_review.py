"""Through the API: people, the audit, review, pilots, drafts, and what waits for a person at a platform."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from api.models import StoredAnswer
from core.alarms import alarm_raise
from core.models import Alarm, Lab, User
from judgments import summarizing
from judgments.models import PairDecision, PairReport, WorkerNote
from platforms.models import Message, Operation, Payment, Publication, PublishedHit, Submission
from pools.models import Campaign, Pair
from review import jobs as review_jobs
from runs import jobs as pool_jobs
from runs.models import Collection
from tasks.models import Assignment
from tasks.names import pseudonym
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem
from tests.judgments.judged import judge_all

pytestmark = pytest.mark.django_db


def results(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.content
    return list(answer.json()["results"])


def test_an_admins_program_manages_the_labs_people_and_reads_its_audit(lab: Lab, rita: User, program: Program) -> None:
    anna = Program(factories.member(lab, "admin", "anna"))
    people = {row["user"]: row for row in results(program.get(f"labs/{lab.pk}/people/"))}
    assert {name: row["role"] for name, row in people.items()} == {"rita": "researcher", "anna": "admin"}
    of_rita, of_anna = (f"labs/{lab.pk}/people/{people[name]['id']}/" for name in ("rita", "anna"))
    assert_problem(anna.patch(of_anna, {"role": "viewer"}), 409, says="only admin")
    assert_problem(anna.patch(of_rita, {"role": "king"}), 400, field="role")
    assert_problem(anna.delete(of_anna), 409, says="only admin")
    assert anna.patch(of_rita, {"role": "viewer", "why": "She has left."}).json()["role"] == "viewer"

    sent = {"role": "researcher", "email": "new@example.org"}
    invited = anna.post(f"labs/{lab.pk}/invitations/", sent, Idempotency_Key="new").json()
    assert anna.post(f"labs/{lab.pk}/invitations/", sent, Idempotency_Key="new").json() == invited | {"link": None}
    assert invited["link"] not in json.dumps(list(StoredAnswer.objects.values("content")))
    path = invited["link"].partition("/invited/")[2]
    assert Client().get(f"/invited/{path}").status_code == 200
    assert [row["email"] for row in results(anna.get(f"labs/{lab.pk}/invitations/"))] == ["new@example.org"]
    assert anna.delete(f"labs/{lab.pk}/invitations/{invited['id']}/").status_code == 204
    assert Client().get(f"/invited/{path}").status_code == 404

    entries = results(anna.get(f"labs/{lab.pk}/audit/?subject=core_lab_members"))
    assert "changed the role of rita" in entries[0]["what"]
    assert (entries[0]["who"], entries[0]["changes"]) == ("anna", {"role": ["researcher", "viewer"]})
    assert (entries[0]["why"], entries[0]["address"]) == ("She has left.", "127.0.0.0/24")
    for is_found, query in (
        (True, "q=rita"),
        (True, "who=anna&about=people"),
        (False, "who=berta"),
        (False, "about=money"),
    ):
        rows = results(anna.get(f"labs/{lab.pk}/audit/?{query}"))
        assert any("changed the role of rita" in row["what"] for row in rows) is is_found, query
    assert results(anna.get(f"labs/{lab.pk}/audit/?since=2100-01-01T00:00:00Z")) == []
    assert anna.delete(of_rita).status_code == 204
    assert not lab.memberships.filter(user=rita).exists()


def test_many_are_decided_on_at_once_and_it_is_undone(campaign: Campaign, rita: User, program: Program) -> None:
    judge_all(campaign)
    address = f"campaigns/{campaign.pk}/bulk-decisions/"
    work = campaign.assignments.order_by("pk")[:2]
    sent = {"action": "exclude", "assignments": [row.pk for row in work]}
    preview = program.post(f"{address}preview/", sent).json()
    assert (preview["chosen"], preview["change"]) == (2, 2)
    assert not campaign.bulk_decisions.exists()
    assert_problem(program.post(address, sent), 400, says="reason")
    assert_problem(program.post(address, {"action": "exclude", "why": "x"}), 400, field="assignments")
    assert_problem(program.post(address, sent | {"assignments": [10**9], "why": "x"}), 400, field="assignments")
    assert_problem(program.post(address, {"action": "bar", "workers": ["nobody"], "why": "x"}), 400, field="workers")

    bulk = program.post(address, sent | {"why": "Too fast."}).json()
    review_jobs.decide()

    bulk_address = f"{address}{bulk['id']}/"
    assert program.get(bulk_address).json()["rows"] == {"done": 2}
    assert campaign.assignments.filter(verdict=Assignment.Verdict.EXCLUDED).count() == 2
    assert program.post(f"{bulk_address}undo/").status_code == 202
    review_jobs.decide()
    assert not campaign.assignments.filter(verdict=Assignment.Verdict.EXCLUDED).exists()
    assert [row["by"] for row in results(program.get(address))] == ["rita"]
    name = pseudonym(campaign, work[0].worker_id)
    barred = program.post(address, {"action": "bar", "workers": [name], "why": "Careless."})
    assert barred.json()["rows"] == {"waiting": 1}
    poor = Program(rita, "read", "decide")
    assert_problem(poor.post(address, {"action": "pay", "workers": [name], "why": "x"}), 403, says="spend")


def test_reports_notes_and_alarms_are_read_and_decided_on(campaign: Campaign, program: Program) -> None:
    judge_all(campaign)
    work = campaign.assignments.order_by("pk")[0]
    item = work.hit.items.filter(pair__isnull=False).order_by("pk")[0]
    at = timezone.now()
    PairReport.objects.create(assignment=work, item=item, reason="broken", note="Cut off.", made_at=at)
    note = WorkerNote.objects.create(assignment=work, text="I was careful.", made_at=at)
    alarm_raise(of=campaign, kind="stalled", text="Nobody comes.", at=at)
    base = f"campaigns/{campaign.pk}/"

    (row,) = results(program.get(f"{base}reports/"))
    assert (row["pair"], row["is_open"], row["reports"][0]["note"]) == (item.pair_id, True, "Cut off.")
    ruling = {"decision": "set_aside", "why": "It is cut off."}
    assert program.post(f"{base}reports/{item.pair_id}/decide/", ruling).json()["is_set_aside"] is True
    assert_problem(program.post(f"{base}reports/{10**9}/decide/", ruling), 404, says="no such pair")
    other = Pair.objects.filter(pool__campaign=campaign).exclude(pk=item.pair_id).earliest("pk")
    assert_problem(program.post(f"{base}reports/{other.pk}/decide/", ruling), 404, says="Nobody has reported")
    page = Client()
    page.force_login(campaign.lab.members.earliest("pk"))
    refused = page.post(reverse("review:reports", args=[campaign.pk]), {"pair": other.pk, **ruling})
    assert refused.status_code == 404 and "Nobody has reported this pair." in refused.text
    assert PairDecision.objects.get().pair_id == item.pair_id
    assert [row["text"] for row in results(program.get(f"{base}notes/?is_read=false"))] == ["I was careful."]
    assert program.post(f"{base}notes/{note.pk}/read/").status_code == 204
    assert results(program.get(f"{base}notes/?is_read=false")) == []
    assert [row["kind"] for row in results(program.get(f"{base}alarms/"))] == ["stalled"]


@pytest.fixture
def split(lab: Lab, tmp_path: Path) -> Campaign:
    """A campaign over a pair of one query, which Ann judged for a, and Ben for b."""
    collection = factories.collection(
        tmp_path, in_lab=lab, qrels={"q1": ["p1"]}, tops={"red": {"q1": ["p1"]}, "green": {"q1": ["p2"]}}, name="split"
    )
    campaign = factories.campaign(collection, "split", overlap=2, pairs_per_hit=1, tests_per_hit=2)
    for name, prefers in (("Ann", "a"), ("Ben", "b")):
        factories.do(factories.worker(campaign, name), campaign, prefer=prefers)
    summarizing.campaign_summarize(campaign=campaign)
    return campaign


def test_a_disagreement_is_settled_and_taken_back_but_not_over_what_nobody_saw(
    split: Campaign, program: Program, viewer: Program
) -> None:
    base = f"campaigns/{split.pk}/"
    (row,) = results(program.get(f"{base}disagreements/?is_decided=false"))
    assert (row["query"], row["for_a"], row["for_b"], row["decision"]) == ("q1", 1, 1, None)
    pair = f"{base}disagreements/{row['pair']}/"
    sent = {"choice": "a", "note": "It names the year."}
    assert_problem(program.post(f"{pair}decide/", {"choice": "king"}), 400, field="choice")
    assert_problem(program.post(f"{base}disagreements/{10**9}/decide/", sent), 404)
    assert not split.adjudications.exists()

    decision = program.post(f"{pair}decide/", sent).json()["decision"]
    assert (decision["choice"], decision["by"], decision["undone_at"]) == ("a", "rita", None)
    assert_problem(program.post(f"{pair}decide/", {"choice": "b"}), 409, says="in the meantime")
    assert [row["decision"] for row in results(program.get(f"{base}disagreements/?is_decided=true"))] == [decision]
    assert results(program.get(f"{base}disagreements/?is_decided=false")) == []
    other = program.post(f"{pair}decide/", {"choice": "b", "seen": decision["id"]}).json()["decision"]

    assert_problem(program.post(f"{pair}undo/", {"seen": decision["id"]}), 409, says="in the meantime")
    assert program.post(f"{pair}undo/", {"seen": other["id"]}).json()["decision"] is None
    content = viewer.get(pair).json()
    assert (content["for_a"], content["for_b"], content["decision"]) == (1, 1, None)
    rows = results(viewer.get(f"{base}adjudications/"))
    assert [(row["id"], row["undone_by"]) for row in rows] == [(other["id"], "rita"), (decision["id"], "rita")]


def test_a_draft_is_counted_before_it_is_made_and_changed_after(collection: Collection, program: Program) -> None:
    sent = {"collection": collection.pk, "name": "typed", "runs": "all", "reward": "1.00"}
    preview = program.post("campaigns/preview/", sent).json()
    assert not Campaign.objects.exists()
    program.post("campaigns/", sent)
    pool_jobs.work()
    draft = Campaign.objects.get()
    assert (preview["pairs"], preview["is_exact"]) == (draft.pair_count, True)
    assert Decimal(preview["total"]) == Decimal(program.get(f"campaigns/{draft.pk}/bill/").json()["total"])

    two = list(collection.runs.order_by("pk").values_list("pk", flat=True)[:2])
    changed = program.patch(f"campaigns/{draft.pk}/settings/", {"runs": two, "overlap": 3})
    assert changed.status_code == 202
    pool_jobs.work()
    content = program.get(f"campaigns/{draft.pk}/").json()
    assert (content["runs"], content["settings"]["overlap"], content["settings"]["reward"]) == (two, 3, "1.00")
    assert_problem(program.patch(f"campaigns/{draft.pk}/settings/", {"overlap": 0}), 400, field="overlap")


def test_a_campaign_that_has_started_keeps_its_settings_but_not_how_results_are_read(
    campaign: Campaign, program: Program
) -> None:
    assert_problem(program.patch(f"campaigns/{campaign.pk}/settings/", {"overlap": 2}), 409, says="started")
    address = f"campaigns/{campaign.pk}/results/settings/"
    assert program.patch(address, {"error_rate": "0.1"}).json()["settings"]["error_rate"] == "0.100"
    assert_problem(program.patch(address, {"overlap": 2}), 400, field="overlap")


def test_how_many_judgments_are_needed_is_as_on_the_page(campaign: Campaign, program: Program) -> None:
    address = f"campaigns/{campaign.pk}/results/plan/"
    answer = program.get(address).json()
    assert (answer["error_rate"], answer["observed"]) == (0.3, None)
    page = Client()
    page.force_login(program.user)
    planned = page.get(f"/campaigns/{campaign.pk}/results/plan/").context["plan"]
    plan_rows = [(row["overlap"], row["total"], row["same"], row["kept"]) for row in answer["overlaps"]]
    assert plan_rows == [(row.overlap, str(row.bill.total), row.same, row.included) for row in planned.rows]
    sure = program.get(f"{address}?error_rate=0").json()
    assert {row["same"] for row in sure["overlaps"]} == {1.0}
    for wrong in ("0.51", "-1", "NaN", "many"):
        assert_problem(program.get(f"{address}?error_rate={wrong}"), 400, field="error_rate")


def test_a_pilots_lessons_and_its_rest(campaign: Campaign, program: Program) -> None:
    judge_all(campaign, hits=1)
    campaign.hits.filter(number=3).update(is_held=True, needed=0)
    lessons = program.get(f"campaigns/{campaign.pk}/pilot/").json()
    assert (lessons["held"], lessons["assignments"] > 0, lessons["agreement"]["pairs"]) == (1, True, 0)
    assert program.post(f"campaigns/{campaign.pk}/pilot/launch-rest/").json() == {"launched": 1}
    assert program.post(f"campaigns/{campaign.pk}/pilot/launch-rest/").json() == {"launched": 0}


def test_what_waits_for_a_person_at_a_platform(campaign: Campaign, program: Program) -> None:
    judge_all(campaign)
    base = f"campaigns/{campaign.pk}/"
    assert_problem(program.get(f"{base}messages/"), 404)
    publication = Publication.objects.create(campaign=campaign, title="Mine", description="Mine")
    assert_problem(program.get(f"{base}messages/"), 404, says="not published")
    at = timezone.now()
    Publication.objects.filter(pk=publication.pk).update(state="open", published_at=at)
    work, other = campaign.assignments.order_by("pk")[:2]
    published = PublishedHit.objects.create(
        publication=publication, hit=work.hit, max_assignments=1, platform_hit_id="H", posted_at=at, expires_at=at
    )
    submission = Submission.objects.create(
        publication=publication, published_hit=published, assignment=work, platform_assignment_id="S",
        platform_worker_id="W", status="Submitted", submitted_at=at,
    )  # fmt: skip
    Alarm.objects.create(of=publication, kind="funds", text="The account cannot pay.", raised_at=at)
    heard = Message.objects.create(
        publication=publication, worker=work.worker, state="received", subject="Why?", text="Why?", at=at
    )
    owed = Payment.objects.create(
        publication=publication, assignment=other, purpose="compensation", amount=Decimal(1), fee=Decimal(0), owed_at=at
    )

    assert [row["kind"] for row in results(program.get(f"{base}publication/alarms/"))] == ["funds"]
    (row,) = results(program.get(f"{base}publication/submissions/?status=Submitted"))
    assert (row["assignment"], row["decision"]) == (work.pk, "")
    address = f"{base}publication/submissions/{submission.pk}/"
    assert_problem(program.post(f"{address}reject/", {}), 400, field="why")
    ugly = {"why": "It was late.", "category": "UGLY"}
    assert_problem(program.post(f"{address}reject/", ugly), 400, says="no rejection category “UGLY”")
    decider = Program(program.user, "read", "decide")
    assert_problem(decider.post(f"{address}approve/", {"why": "Fine work."}), 403, says="spend")
    assert not Operation.objects.exists()
    assert program.post(f"{address}approve/", {"why": "Fine work."}).json()["decision"] == "approve"
    assert_problem(program.post(f"{address}reject/", {"why": "On second thought."}), 409)
    assert Operation.objects.filter(submission=submission, kind="approve").count() == 1

    declined = program.post(f"{base}publication/payments/{owed.pk}/decline/", {"why": "It was submitted after all."})
    assert declined.json().get("state") == "refused"
    assert_problem(program.post(f"{base}publication/payments/{10**9}/offer/"), 404)

    (row,) = results(program.get(f"{base}messages/?state=received"))
    name = pseudonym(campaign, work.worker_id)
    assert (row["worker"], row["by"]) == (name, None)
    written = program.post(f"{base}workers/{name}/messages/", {"subject": "Re: Why?", "text": "Because."})
    assert (written.status_code, written.json()["state"]) == (202, "planned")
    heard.refresh_from_db()
    assert heard.state == "answered"
    Message.objects.filter(pk=heard.pk).update(state="received")
    assert program.post(f"{base}messages/{heard.pk}/set-aside/").status_code == 204
    assert_problem(program.post(f"{base}publication/extend/", {"until": "2001-01-01"}), 400, field="until")
