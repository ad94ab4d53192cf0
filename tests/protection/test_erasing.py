"""Erasing workers: what goes and what stays, that exports stay the same, and that it is all or nothing."""

import io
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection, models, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.audit.notes import entry_note
from core.errors import NotNow, NotYours
from core.models import Alarm, AuditEntry, Lab, Membership, User
from judgments import quality
from judgments.models import Decision, Judgment, PairReport, StoredFile, WorkerNote
from platforms.models import Operation, Payment, Publication, PublishedHit, Submission
from platforms.money import pay_desk
from platforms.submitted import submission_store
from pools.models import Campaign
from protection import erasing, releasing
from protection import jobs as protection_jobs
from protection.models import Retention
from runs.models import Query
from tasks.links import assignment_token, home_of, home_token
from tasks.models import Assignment, Worker
from tasks.names import pseudonym
from tests import factories

pytestmark = pytest.mark.django_db
WORKER_ID, ASSIGNMENT_ID = "A1SECRETWORKER", "3SECRETASSIGNMENT"
NAME = "Alice Liddell"
SECRETS = (WORKER_ID, ASSIGNMENT_ID, NAME, "she told me", "a2f0digest", "RECEIPT-9")


@pytest.fixture
def worker(campaign: Campaign, rita: User) -> Worker:
    """Alice, who came from a platform, worked, was paid, was barred with a reason, and let in again."""
    alice = factories.worker(campaign, "Alice")
    assignment = factories.do(alice, campaign)
    now = timezone.now()
    publication = Publication.objects.create(campaign=campaign, state="open", title="Mine", description="Mine")
    platform = publication.platform
    alice.label, alice.external_id, alice.platform = NAME, WORKER_ID, platform
    alice.save()
    Assignment.objects.filter(pk=assignment.pk).update(
        platform_assignment_id=ASSIGNMENT_ID, came_from="a2f0digest", receipt="RECEIPT-9"
    )
    published = PublishedHit.objects.create(
        publication=publication, hit=assignment.hit, max_assignments=1, platform_hit_id="H", posted_at=now
    )
    submission = Submission.objects.create(
        publication=publication, published_hit=published, assignment=assignment, platform_assignment_id=ASSIGNMENT_ID,
        platform_worker_id=WORKER_ID, status="Approved", submitted_at=now, decision="approve", decided_by=rita,
        decided_at=now, receipt="RECEIPT-9", reason="she told me so",
    )  # fmt: skip
    payment = Payment.objects.create(
        publication=publication, assignment=assignment, submission=submission, purpose="reward", amount="2.00",
        fee="0.40", state="paid", owed_at=now, paid_at=now, evidence={"AssignmentId": ASSIGNMENT_ID},
        why="she told me so",
    )  # fmt: skip
    operation = Operation.objects.create(
        publication=publication, kind="bonus", submission=submission, payment=payment, state="done", next_try=now,
        ended_at=now, request={"WorkerId": WORKER_ID}, result={"said": WORKER_ID}, error=f"about {WORKER_ID}",
    )  # fmt: skip
    Alarm.objects.create(
        of=publication, kind="refused", about="operation", about_id=operation.pk, text=f"about {WORKER_ID}",
        raised_at=now, settled_at=now,
    )  # fmt: skip
    WorkerNote.objects.create(assignment=assignment, text="she told me, said I", made_at=now)
    PairReport.objects.create(
        assignment=assignment, item=assignment.items[0], reason="other", note="she told me, wrote I", made_at=now
    )
    alice.refresh_from_db()
    quality.worker_bar(worker=alice, campaign=campaign, why="she told me a lie", by=rita, at=now)
    alice.refresh_from_db()
    return alice


def everything() -> str:
    """All rows of all tables, as text."""
    rows = []
    with connection.cursor() as cursor:
        for table in sorted(connection.introspection.table_names(cursor)):
            copied = io.BytesIO()
            cursor.copy_expert(f'COPY (SELECT * FROM "{table}" t ORDER BY t::text) TO STDOUT', copied)
            rows.append(f"{table}\n{copied.getvalue().decode()}")
    return "".join(rows)


def pay(campaign: Campaign, by: User) -> None:
    """Mark everybody whom no platform pays as paid."""
    at, owed = timezone.now(), pay_desk.desk_of(campaign).by_hand.to_pay
    pay_desk.payments_mark(campaign=campaign, chosen=None, expected=owed, by=by, at=at, paid_on=at.date())


def erase(worker: Worker) -> erasing.Plan:
    return erasing.worker_erase(worker=worker, at=timezone.now())


def test_after_an_erasure_no_table_says_who_it_was_and_exports_are_the_same_bytes(
    worker: Worker, campaign: Campaign
) -> None:
    before = everything()
    assert all(secret in before for secret in SECRETS)
    exported = factories.exported(campaign)
    judgments = list(Judgment.objects.values())
    money = list(Payment.objects.values("amount", "fee", "token", "state", "paid_at"))
    erase(worker)
    after = everything()
    assert [secret for secret in SECRETS if secret in after] == []
    assert factories.exported(campaign) == exported
    assert list(Judgment.objects.values()) == judgments
    assert list(Payment.objects.values("amount", "fee", "token", "state", "paid_at")) == money
    assert list(Decision.objects.filter(worker=worker).values_list("kind", flat=True)) == ["barred"]
    assert AuditEntry.objects.filter(subject="judgments_decision", worker_id=worker.pk).exists()


def test_the_reason_of_an_erasure_is_kept_without_what_names_the_worker(worker: Worker) -> None:
    names = WORKER_ID, NAME
    erasing.worker_erase(worker=worker, at=timezone.now(), why=f"{names[0]} ({names[1].upper()}) wrote on 3 May")
    assert AuditEntry.objects.get(subject="erasure").why == "… (…) wrote on 3 May"
    assert [secret for secret in SECRETS if secret in everything()] == []


def test_erasing_again_changes_nothing(worker: Worker) -> None:
    erase(worker)
    after = everything()
    assert erase(worker).is_done
    assert everything() == after


def test_an_erasure_that_is_cut_short_anywhere_leaves_everything_as_it_was(worker: Worker) -> None:
    before, statements = everything(), 0

    def cut(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal statements
        statements += not sql.startswith(("SAVEPOINT", "RELEASE", "ROLLBACK"))
        if statements > last and not sql.startswith("ROLLBACK"):
            raise KeyboardInterrupt
        return execute(sql, params, many, context)

    for last in range(2, 200, 4):
        statements = 0
        try:
            with connection.execute_wrapper(cut), transaction.atomic():
                erase(worker)
            break
        except KeyboardInterrupt:
            assert everything() == before, f"cut after statement {last}"
    else:
        pytest.fail("it never ended")
    assert last > 20
    assert WORKER_ID not in everything()


@pytest.mark.parametrize(
    "what", ["owed", "undecided", "planned", "judging", "message received", "message planned", "message sending"]
)
def test_while_money_is_unsettled_or_the_worker_judges_nothing_is_erased_and_the_reason_is_said(
    what: str, worker: Worker, campaign: Campaign
) -> None:
    if what == "owed":
        Payment.objects.update(state="owed", paid_at=None)
    elif what == "undecided":
        Submission.objects.update(decision="", decided_by=None, decided_at=None)
    elif what == "planned":
        Operation.objects.update(state="planned", ended_at=None)
    elif what.startswith("message"):
        Publication.objects.get().messages.create(
            worker=worker, state=what.removeprefix("message "), subject="Pay", text="When?", at=timezone.now()
        )
    else:
        Worker.objects.update(barred_at=None)
        factories.take(worker, campaign)
    before = everything()
    plan = erasing.erasure_plan(worker, at=timezone.now())
    assert len(plan.obstacles) == 1
    with pytest.raises(NotNow, match="cannot be erased yet"):
        erase(worker)
    assert everything() == before


def test_links_of_an_erased_worker_lead_nowhere(worker: Worker, campaign: Campaign) -> None:
    home, task = home_token(worker, campaign), assignment_token(Assignment.objects.get(worker=worker))
    assert home_of(home).worker == worker
    erase(worker)
    with pytest.raises(NotYours):
        home_of(home)
    from tasks.links import assignment_of

    with pytest.raises(NotYours):
        assignment_of(task)


def test_what_the_platform_says_of_erased_work_again_is_not_stored_again(worker: Worker) -> None:
    from platforms.reviewing.protocol import Work

    erase(worker)
    before = everything()
    fields = dict.fromkeys(Work._fields) | {
        "assignment_id": ASSIGNMENT_ID,
        "worker_id": WORKER_ID,
        "status": "Approved",
    }
    stored = submission_store(published_hit=PublishedHit.objects.get(), work=Work(**fields), at=timezone.now())  # type: ignore[arg-type]
    assert not stored
    assert everything() == before


def test_a_worker_is_found_by_id_name_number_and_pseudonym_in_ones_own_labs(
    worker: Worker, campaign: Campaign, lab: Lab
) -> None:
    hers, others = Lab.objects.filter(pk=lab.pk), Lab.objects.exclude(pk=lab.pk)
    name = pseudonym(campaign, worker.pk)
    for words in (WORKER_ID, NAME, NAME.lower(), str(worker.pk), name, f" {name.upper()} "):
        assert list(erasing.workers_called(hers, words)) == [worker]
        assert list(erasing.workers_called(others, words)) == []
    assert list(erasing.workers_called(hers, "")) == []
    erase(worker)
    assert list(erasing.workers_called(hers, WORKER_ID)) == []
    assert list(erasing.workers_called(hers, name)) == [worker]


def test_a_worker_whom_the_lab_still_owes_is_erased_only_by_somebody_who_writes_it_off(
    campaign: Campaign, alice: Worker, ada: User, client: Client
) -> None:
    done = factories.do(alice, campaign)
    debt = f"{campaign.money(done.owed)} ({campaign.name})"
    client.force_login(ada)
    address = reverse("protection:protection_worker", args=[alice.pk])
    assert debt in client.get(address).content.decode()
    assert client.post(address, {"why": "Asked."}).status_code == 400
    with pytest.raises(NotNow, match="say that the debt is written off"):
        erase(alice)
    assert erasing.worker_erase(worker=alice, at=timezone.now(), write_off=True).owed == [(campaign, done.owed)]
    assert AuditEntry.objects.get(subject="erasure").changes == {"written_off": debt}
    alice.refresh_from_db()
    assert alice.erased_at is not None


def test_the_page_erases_whom_the_lab_owes_once_it_is_written_off_and_asks_nothing_about_others(
    campaign: Campaign, alice: Worker, bob: Worker, rita: User, ada: User, client: Client
) -> None:
    done = factories.do(alice, campaign)
    client.force_login(ada)
    paid = reverse("protection:protection_worker", args=[bob.pk])
    assert "write_off" not in client.get(paid).content.decode()
    address = reverse("protection:protection_worker", args=[alice.pk])
    assert client.post(address, {"why": "", "write_off": "on"}).status_code == 303
    alice.refresh_from_db()
    assert alice.erased_at is not None and done.owed > 0


def test_reasons_and_entries_of_the_audit_are_changed_by_an_erasure_and_in_no_other_way(worker: Worker) -> None:
    for statement in ("UPDATE judgments_decision SET why = ''", "DELETE FROM judgments_decision"):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            connection.cursor().execute(statement)


def test_a_worker_gets_all_that_is_stored(worker: Worker) -> None:
    data = json.loads(json.dumps(erasing.personal_data(worker), default=str))
    assert data["worker"]["external_id"] == WORKER_ID
    assert len(data["judgments"]) == Judgment.objects.filter(assignment__worker=worker).count() > 0
    assert (data["payments"][0]["amount"], data["payments"][0]["why"]) == ("2.00", "she told me so")
    assert data["decisions"][0]["why"] == "she told me a lie"
    assert {"question", "left", "right", "kind"} <= set(data["judgments"][0]["compared"]) | {"left", "right"}


def test_every_relation_to_a_worker_is_thought_of() -> None:
    """Whoever adds a table about workers says here what becomes of it, and in protection/erasing.py does it."""
    expected = {
        "tasks.Invitation", "tasks.Consent", "tasks.Assignment", "judgments.Judgment", "judgments.Acceptance",
        "judgments.ReusedJudgment", "judgments.Decision", "platforms.Submission", "platforms.Payment",
        "platforms.Operation", "judgments.PairReport",
        "judgments.WorkerNote",
        "platforms.Message",
        "platforms.HandPayment",
        "tasks.PayDetail",
        "judgments.AssignmentSummary",
        "judgments.WorkerSummary",
        "review.BulkRow",
        "tasks.Practice",
        "tasks.PanelVisit",
    }  # fmt: skip
    about = {
        relation.related_model._meta.label
        for model in (Worker, Assignment, Submission)
        for relation in model._meta.get_fields(include_hidden=True)
        if isinstance(relation, models.ForeignObjectRel) and relation.related_model is not model
    }
    assert about == expected


# --- campaigns and periods


def test_a_campaigns_workers_are_erased_once_it_is_closed_but_for_those_who_are_owed(
    worker: Worker, campaign: Campaign, bob: Worker, rita: User
) -> None:
    factories.do(bob, campaign)
    with pytest.raises(NotNow):
        erasing.campaign_erase(campaign=campaign, at=timezone.now())
    Campaign.objects.update(state="closed")
    campaign.refresh_from_db()
    Payment.objects.update(state="owed", paid_at=None)
    erased, refusals = erasing.campaign_erase(campaign=campaign, at=timezone.now())
    assert (erased, set(refusals)) == (0, {worker.pk, bob.pk})
    pay(campaign, rita)
    erased, refusals = erasing.campaign_erase(campaign=campaign, at=timezone.now())
    assert (erased, set(refusals)) == (1, {worker.pk})
    Payment.objects.update(state="paid", paid_at=timezone.now())
    assert protection_jobs.erase_campaign(campaign.pk, "The study is over") == "workers erased: 1, kept: 0"
    assert protection_jobs.erase_campaign(campaign.pk) == "workers erased: 0, kept: 0"
    assert not Worker.objects.exclude(label="").exists()


def test_an_erasure_that_fails_unexpectedly_stops_no_other(
    worker: Worker, campaign: Campaign, bob: Worker, rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    factories.do(bob, campaign)
    pay(campaign, rita)
    Campaign.objects.update(state="closed")
    campaign.refresh_from_db()
    forget = erasing.worker_forget

    def fail(*, worker_id: int) -> int:
        if worker_id == worker.pk:
            raise ValueError(WORKER_ID)
        return forget(worker_id=worker_id)

    monkeypatch.setattr(erasing, "worker_forget", fail)
    erased, refusals = erasing.campaign_erase(campaign=campaign, at=timezone.now())
    assert (erased, refusals) == (1, {worker.pk: "It failed (ValueError). The log says more."})
    worker.refresh_from_db()
    assert worker.external_id == WORKER_ID


def test_periods_of_a_lab_are_kept_by_a_job_and_doing_it_again_changes_nothing(
    worker: Worker, campaign: Campaign, lab: Lab
) -> None:
    Campaign.objects.update(state="closed")
    assert protection_jobs.keep_periods() == "workers erased: 0, entries removed: 0"
    erasing.retention_set(lab=lab, worker_days=90, audit_days=None)
    assert protection_jobs.keep_periods() == "workers erased: 0, entries removed: 0"
    past = timezone.now() - timedelta(days=91)
    Worker.objects.update(came_at=past)
    Assignment.objects.update(taken_at=past)
    worker.invitations.update(created_at=past)
    Campaign.objects.update(state="paused")
    assert protection_jobs.keep_periods() == "workers erased: 0, entries removed: 0"
    Campaign.objects.update(state="closed")
    assert protection_jobs.keep_periods() == "workers erased: 1, entries removed: 0"
    assert protection_jobs.keep_periods() == "workers erased: 0, entries removed: 0"
    old = entry_note(subject="export", action="made", lab_id=lab.pk)
    for lab_id in (lab.pk, lab.pk + 1):
        old.pk, old.at, old.lab_id = None, timezone.now() - timedelta(days=40), lab_id
        old.save(force_insert=True)
    erasing.retention_set(lab=lab, worker_days=None, audit_days=30)
    assert protection_jobs.keep_periods() == "workers erased: 0, entries removed: 1"
    assert AuditEntry.objects.filter(lab_id=lab.pk + 1).count() == 1


def test_a_lab_reads_how_many_were_erased_who_was_not_and_why(
    browser: Client, worker: Worker, campaign: Campaign, lab: Lab
) -> None:
    client = browser
    erasing.retention_set(lab=lab, worker_days=90, audit_days=None)
    labs, page = reverse("protection:protection"), reverse("protection:protection_lab", args=[lab.pk])
    assert "not yet: within an hour" in client.get(labs).text and "Last carried out" not in client.get(page).text
    past = timezone.now() - timedelta(days=91)
    Worker.objects.update(came_at=past)
    Assignment.objects.update(taken_at=past)
    worker.invitations.update(created_at=past)
    protection_jobs.keep_periods()
    text = client.get(page).text
    assert "0 workers were erased." in text
    assert "1 worker is past the period and could not be erased yet." in text
    assert (
        f"{pseudonym(campaign, worker.pk)}</a>" in text
        and "The worker takes part in a campaign that is not closed." in text
    )
    assert "0 workers erased" in client.get(labs).text and ">1 not yet</a>" in client.get(labs).text
    Campaign.objects.update(state="closed")
    protection_jobs.keep_periods()
    assert "1 worker was erased. Nobody past the period is left." in client.get(page).text
    protection_jobs.keep_periods()
    assert "0 workers were erased. Nobody past the period is left." in client.get(page).text
    erasing.retention_set(lab=lab, worker_days=None, audit_days=None)
    assert "Last carried out" not in client.get(page).text
    assert not AuditEntry.objects.filter(subject="protection_retentionresult").exists()


# --- the release bundle


def test_a_bundle_is_offered_and_a_planted_id_keeps_it_back_and_names_the_file(
    worker: Worker, campaign: Campaign, rita: User
) -> None:
    assert protection_jobs.make_bundle(campaign.pk) == "made"
    bundle = StoredFile.objects.get(kind="bundle", state="current")
    Query.objects.filter(collection=campaign.collection).update(text=f"who is {WORKER_ID.lower()}?")
    assert protection_jobs.make_bundle(campaign.pk) == "not made"
    alarm = Alarm.objects.get(kind="bundle", settled_at=None)
    assert "judged-pairs.tsv, line 2" in alarm.text
    assert WORKER_ID not in alarm.text
    assert alarm.retry_at is None
    assert StoredFile.objects.get(kind="bundle", state="current") == bundle
    Query.objects.update(text="what?")
    assert protection_jobs.make_bundle(campaign.pk) == "made"
    assert not Alarm.objects.filter(settled_at=None).exists()


@pytest.mark.parametrize("around", ["{}", "x {}, y", '"{}"', "https://example.org/{}?a=b", "{}.", "({})", "id={}"])
def test_ids_are_found_whatever_is_around_them(around: str, worker: Worker, campaign: Campaign, tmp_path: Any) -> None:
    path = tmp_path / "file.tsv"
    for secret in (WORKER_ID, ASSIGNMENT_ID):
        path.write_text("nothing\n" + around.format(secret) + "\n")
        with pytest.raises(releasing.IdentityFound, match=r"file\.tsv, line 2"):
            releasing.bundle_check(campaign, [path])
    path.write_text("nothing at all, and no id\n")
    releasing.bundle_check(campaign, [path])


@pytest.mark.parametrize("label", ["o'brien@example.org", "Jürgen42X", "ÄNNE@EXAMPLE.ORG"])
def test_addresses_on_the_panel_are_found_in_any_script(label: str, campaign: Campaign, tmp_path: Any) -> None:
    factories.worker(campaign, label)
    path = tmp_path / "file.tsv"
    path.write_text(f"nothing\nasked by ({label.lower()}), twice\n")
    with pytest.raises(releasing.IdentityFound, match=r"file\.tsv, line 2"):
        releasing.bundle_check(campaign, [path])


# --- pages


@pytest.fixture
def browser(worker: Worker, rita: User) -> Iterator[Client]:
    """An admin of the lab."""
    Membership.objects.filter(user=rita).update(role="admin")
    client = Client()
    client.force_login(rita)
    return client


def test_an_admin_of_the_lab_finds_reads_downloads_and_erases(
    browser: Client, worker: Worker, campaign: Campaign
) -> None:
    html = browser.get(reverse("protection:protection"), {"who": WORKER_ID}).content.decode()
    address = reverse("protection:protection_worker", args=[worker.pk])
    assert address in html
    page = browser.get(address).content.decode()
    assert pseudonym(campaign, worker.pk) in page
    assert WORKER_ID not in page
    data = browser.get(reverse("protection:protection_data", args=[worker.pk]))
    assert data.json()["worker"]["label"] == NAME
    assert browser.post(address, {"why": "Asked"}).status_code == 303
    assert "Nothing: nothing here says who it is." in browser.get(address).content.decode()
    assert "attachment" in data["Content-Disposition"]


def test_others_see_nothing_of_it(worker: Worker, campaign: Campaign, rita: User) -> None:
    ruth = factories.user("ruth")
    other = factories.lab("Ruth's lab", ruth)
    Membership.objects.filter(lab=other).update(role="admin")
    pages = [
        reverse("protection:protection_worker", args=[worker.pk]),
        reverse("protection:protection_data", args=[worker.pk]),
        reverse("protection:protection_lab", args=[campaign.lab_id]),
        reverse("protection:protection_campaign", args=[campaign.pk]),
    ]
    before = everything()
    admin_elsewhere, researcher = Client(), Client()
    admin_elsewhere.force_login(ruth)
    researcher.force_login(rita)
    assert [admin_elsewhere.get(page).status_code for page in pages] == [404] * 4
    assert [admin_elsewhere.post(page).status_code for page in pages[::2]] == [404] * 2
    assert (
        WORKER_ID
        not in admin_elsewhere.get(reverse("protection:protection"), {"who": WORKER_ID})
        .content.decode()
        .split("value=")[0]
    )
    assert [researcher.get(page).status_code for page in pages] == [403, 403, 403, 200]
    assert researcher.post(reverse("protection:protection_erase", args=[campaign.pk])).status_code == 403
    assert [row for row in everything().split("\n") if WORKER_ID in row] == [
        row for row in before.split("\n") if WORKER_ID in row
    ]


def test_periods_are_set_on_a_page_and_recorded(browser: Client, lab: Lab) -> None:
    page = reverse("protection:protection_lab", args=[lab.pk])
    assert browser.post(page, {"worker_days": "0", "audit_days": "7"}).status_code == 400
    assert not Retention.objects.exists()
    assert browser.post(page, {"worker_days": "180", "audit_days": ""}).status_code == 303
    assert browser.post(page, {"worker_days": "180", "audit_days": ""}).status_code == 303
    assert Retention.objects.get().worker_days == 180
    assert [entry.changes for entry in AuditEntry.objects.filter(subject="protection_retention")] == [
        {"worker_days": [None, 180]}
    ]
    for days, words in ((180, '180 <span class="unit">days'), (1, '1 <span class="unit">day<')):
        Retention.objects.update(worker_days=days)
        assert words in browser.get(reverse("protection:protection")).text
